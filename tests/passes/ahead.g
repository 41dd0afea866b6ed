# RUN: %gc --emit=ir --passes=fold,cse,dce,autodiff,fold,cse,dce,ahead{always=1} --verify-each --remarks=ahead %s -o %t.ir 2>&1 | FileCheck-14 %s --check-prefix=SAYS
# RUN: FileCheck-14 %s <%t.ir
# RUN: %gc %t.ir -x ir --passes=dce --emit=ir -o %t.again && diff %t.ir %t.again
# RUN: %gc --remarks=ahead --target=cpu --emit=ir %s -o %t.host 2>&1 | FileCheck-14 %s --allow-empty --check-prefix=HOST
# What follows from the batch and random numbers alone is cut where few bytes cross: images behind their flip, and not
# what is drawn for the step's own values.
def net(x : u8[n, 48]) {
  x = reshape(f32(x) / 255, [n, 3, 4, 4]) |> random_flip
  h = flatten(relu(conv(x, 8, 3) as c))
  return linear(dropout(h, 0.5), 4) as last
}
entry train(x : u8[16, 48], y : u8[16]) {
  loss = mean(xent(net(x), y))
  minimize loss with sgd(0.1)
  return loss
}
# SAYS: remark: the preparation of the next batch runs beside the step: {{.*}}; 3,072 bytes of 1 value cross, in two buffers [ahead]
# HOST-NOT: runs beside the step
# CHECK-LABEL: entry train(%x : u8[16,48], %y : u8[16], %x{{[^ ]*}} : f32[16,3,4,4]) training
# CHECK-NOT: random_uniform {key = "net.random_flip#"
# CHECK: conv %x
# CHECK: dropout
# CHECK-LABEL: ahead(%x : u8[16,48], %y : u8[16])
# CHECK: random_uniform {key = "net.random_flip#"
# CHECK-NOT: dropout
# CHECK: return %{{[^ ]+}} {names = "

# What the entry returns is made in the step, and so are convolutions.
entry shown(x : u8[16, 48], y : u8[16]) {
  a = reshape(f32(x) / 255, [16, 3, 4, 4]) |> random_flip
  loss = mean(xent(linear(flatten(a), 4) as shown, y))
  minimize loss with sgd(0.1)
  return loss, a
}
# CHECK-LABEL: entry shown
# CHECK: random_uniform
# CHECK-LABEL: ahead(
entry edges(x : u8[16, 48], y : u8[16]) {
  a = conv2d(reshape(f32(x) / 255, [16, 3, 4, 4]) |> random_flip, ones([2, 3, 3, 3]))
  loss = mean(xent(linear(flatten(a), 4) as edges, y))
  minimize loss with sgd(0.1)
  return loss
}
# CHECK-LABEL: entry edges
# CHECK: = conv %
# CHECK-LABEL: ahead(

# A product of two extents is no axis of an input: what has it does not cross.
entry joined(x : f32[n <= 4, t <= 9, 8], y : f32[n, t]) {
  h = linear(reshape(sigmoid(x) * x, [n * t, 8]), 1) as o
  loss = mse(reshape(h, [n, t]), y)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK-LABEL: entry joined(%x : f32[n<=4,t<=9,8], %y : f32[n<=4,t<=9], %ahead : f32[n<=4,t<=9,8])
# CHECK-LABEL: ahead(%x
# CHECK: return %{{[^ ]+}} {names = "
