# RUN: split-file-14 %s %t
# RUN: %gc --check-gradients train %t/right.g -D N=3 | FileCheck-14 --check-prefix=RIGHT %t/right.g
# RUN: (%gc --check-gradients train %t/wrong.g || echo $?) 2>&1 | FileCheck-14 --check-prefix=WRONG %t/wrong.g
# RUN: %gc --check-gradients train %t/kink.g | FileCheck-14 --check-prefix=KINK %t/kink.g
# RUN: %gc --check-gradients train %t/near.g | FileCheck-14 --check-prefix=NEAR %t/near.g
# RUN: %gc --check-gradients train %t/zero.g | FileCheck-14 --check-prefix=ZERO %t/zero.g
# RUN: %gc --check-gradients train %t/mask.g | FileCheck-14 --check-prefix=MASK %t/mask.g
# RUN: %gc --check-gradients train %t/none.g | FileCheck-14 --check-prefix=NONE %t/none.g
# RUN: (%gc --check-gradients train %t/nan.g || echo $?) 2>&1 | FileCheck-14 --check-prefix=NAN %t/nan.g
# RUN: (%gc --check-gradients tran %t/right.g || echo $?) 2>&1 | grep -A1 "right.g has no entry 'tran'; it has train, test$" | grep -x 2
# RUN: (%gc --check-gradients test %t/right.g || echo $?) 2>&1 | grep -A1 'entry test takes no gradient outside of a scan; an entry with minimize does$' | grep -x 2
# RUN: (%gc --check-gradients train %t/right.g -O2 || echo $?) 2>&1 | grep -A1 'error: -O does not go with --check-gradients' | grep -x 2
# RUN: (%gc --check-gradients train %t/data.g || echo $?) 2>&1 | grep -A1 'entry train cannot run on random inputs: ' | grep -x 1
#--- right.g
# Labels are drawn within what they index, dropout draws the same in every run, a gradient may be by an input.
# RIGHT: entry train, loss {{[0-9.]+}} on random inputs
# RIGHT-NEXT: x {{ *}}f32[3,4] {{.*}} differs by {{[0-9.]+e-(0[6-9]|1)}}
# RIGHT-NEXT: entry train, loss
# RIGHT-NEXT: net.a.b {{.*}} differs by {{[0-9.]+e-(0[6-9]|1)}}
# RIGHT-NEXT: net.a.w {{.*}} differs by {{[0-9.]+e-(0[6-9]|1)}}
# RIGHT-NEXT: net.table.w {{.*}} differs by {{[0-9.]+e-(0[6-9]|1)}}
# RIGHT-NEXT: the gradients agree with finite differences
let N = 2
def net(x, id) { return dropout(tanh(linear(x, 5) as a), 0.5) + embed(id, 7, 5) as table }
entry train(x : f32[N, 4], id : i32[N], label : u8[N]) {
  loss = mean(xent(net(x, id), label))
  g = grad(mean(square(x) + 0), x)
  minimize loss with sgd(0.1)
  return loss, size = sum(g * g)
}
def square(x) { return x * x }
entry test(x : f32[N, 4], id : i32[N]) { return y = net(x, id) }
#--- wrong.g
# WRONG: good {{.*}} differs by {{[0-9.]+e-(0[5-9]|1)}}
# WRONG: half {{.*}} WRONG
# WRONG: error: the gradient of half is not the derivative of the loss: at [{{[0-2]}}] it is [[G:-?[0-9.]+]], differences say
# WRONG-NEXT: wrong.g:{{[0-9]+}}:34: note: stop_gradient holds a value constant here, differences do not
# WRONG: wrong.g:{{[0-9]+}}:21: note: stop_gradient holds a value constant here, differences do not
# WRONG-NOT: note:
# WRONG: 1
entry train(x : f32[3]) {
  param half : f32[3] = const(0.7)
  param good : f32[3] = const(0.2)
  for i in 0..2 { half = half * (stop_gradient(x) * 0 + 1) }
  loss = sum(half * stop_gradient(half) * x + good * good)
  minimize loss with sgd(0.1)
  return loss
}
#--- kink.g
# KINK: good {{.*}} differs by {{[0-9.]+e-(0[5-9]|1)}}
# KINK-NEXT: half {{.*}} differs by {{.*}} at a kink, not checked
# KINK: the gradients agree with finite differences, but for those at a kink of the loss
entry train(x : f32[3]) {
  param half : f32[3] = zeros()
  param good : f32[3] = const(0.2)
  loss = sum(relu(half) * x * x + good * good)
  minimize loss with sgd(0.1)
  return loss
}
#--- near.g
# The first step crosses the kink of relu, a shorter one does not.
# NEAR: half {{.*}} differs by {{[0-9.]+e-(0[5-9]|1)[^ ]*$}}
# NEAR: the gradients agree with finite differences{{$}}
entry train(x : f32[3]) {
  param half : f32[3] = const(4e-7)
  loss = sum(relu(half) * x * x) + 1e-3
  minimize loss with sgd(0.1)
  return loss
}
#--- zero.g
# What batch norm takes away has no gradient, but the loss is rounded.
# ZERO: c.b {{ *}}f32[4] {{.*}} zero, but for rounding{{$}}
# ZERO: c.w {{.*}} differs by {{[0-9.]+e-(0[5-9]|1)}}
# ZERO: the gradients agree with finite differences{{$}}
entry train(x : f32[8, 3, 6, 6], label : u8[8]) {
  h = tanh(bn(conv(x, 4, 3) as c) as norm)
  loss = mean(xent(linear(mean(h, axis = [2, 3]), 4) as out, label))
  minimize loss with sgd(0.1)
  return loss
}
#--- mask.g
# Labels that went through floats: they are zeros, but not the images.
# MASK: mask holds zeros, as other numbers were too large for an index
# MASK: out.b {{.*}} differs by
# MASK: out.w {{.*}} norm {{[0-9.e-]*[1-9]}} differs by
# MASK: the gradients agree with finite differences{{$}}
entry train(image : u8[2, 3, 4, 4], mask : u8[2, 4, 4]) {
  y = transpose(conv(f32(image) / 255, 3, 1) as out, [0, 2, 3, 1])
  loss = mean(xent(y, i32(f32(mask))))
  minimize loss with sgd(0.1)
  return loss
}
#--- none.g
# NONE: all gradients are zero on these inputs, so none was compared{{$}}
entry train(id : i32[2]) {
  param w : f32[9, 3] = normal()
  loss = sum(gather(w, id) * 0)
  minimize loss with sgd(0.1)
  return loss
}
#--- nan.g
# NAN: error: the loss of entry train is not finite on random inputs
# NAN: 1
entry train(x : f32[8, 3]) {
  loss = mean(sqrt(linear(x, 1) - 50))
  minimize loss with sgd(0.1)
  return loss
}
#--- data.g
entry train(id : i32[2], at : i32[]) {
  param w : f32[9, 3] = normal()
  loss = sum(gather(w, id * 0 + 9) * f32(at))
  minimize loss with sgd(0.1)
  return loss
}
