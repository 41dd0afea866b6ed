# RUN: %gc %s --passes="fold,cse,dce,autodiff,distribute{ranks=2},fold,cse,dce" --emit=ir | FileCheck-14 %s

# The batch is n: t is in a sum, and of an axis that is not the first.
# CHECK: entry train(%e : f32[t<=8,4], %x : f32[n<=4,4], %y : f32[1,{{.*}}]) training ranks 2
entry train(e : f32[t <= 8, 4], x : f32[n <= 8, 4], y : f32[1, t + 1]) {
  loss = mean((linear(x, 1) as a) ** 2) + mean(e) + mean(y)
  minimize loss with sgd(0.1)
  return loss
}

# An entry without a batch that does not train is every rank's.
# CHECK: entry test(%x : f32[n<=8,4],
entry test(x : f32[n <= 8, 4], e : f32[n + 1, 4]) { return loss = mean(x) + mean(e) }

# Images are cropped where they are, also of a shorter last batch.
# CHECK: entry crop(%x : f32[n<=4,3,8,8]) training ranks 2
entry crop(x : f32[n <= 8, 3, 8, 8]) {
  loss = mean((linear(flatten(random_crop(x, 2)), 2) as b) ** 2)
  minimize loss with sgd(0.1)
  return loss
}

# Rows behind the time, to which a bias is added, and dead gradients of a loop, need no rows of other ranks.
# CHECK: entry loop(%x : f32[n<=4,5,6]) training ranks 2
# CHECK-NOT: all_gather
# CHECK: return
entry loop(x : f32[n <= 8, 5, 6]) {
  z = linear(transpose(x, [1, 0, 2]), 4) as below
  h = zeros([n, 4])
  hs = scan i in 0..5 {
    h = tanh(z[i] + linear(h, 4, bias = false) as cell)
    yield h
  }
  loss = mean(hs ** 2)
  minimize loss with sgd(0.1)
  return loss
}

# Nor do tables that are the same in all rows, of which there are several for each of the batch, in front of a loop and in it.
# CHECK: entry tables(%x : f32[n<=4,5,4]) training ranks 2
# CHECK-NOT: all_gather
# CHECK: cos {{.*}} : f32[5*(n<=4),4]
# CHECK-NOT: all_gather
# CHECK: return
entry tables(x : f32[n <= 8, 5, 4]) {
  param w : f32[4] = ones()
  b = broadcast(w, [5 * n, 4])
  h = reshape(transpose(x, [1, 0, 2]), [5 * n, 4]) * cos(f32(bf16(b)))
  h = reshape(h, [5, n, 4])
  s = scan i in 0..3 {
    h = tanh(reshape(linear(reshape(h, [5 * n, 4]), 4, bias = false) as cell + b, [5, n, 4]))
    yield sum(h)
  }
  loss = mean(h ** 2) + mean(s)
  minimize loss with sgd(0.1, momentum = 0.9)
  return loss
}

# Nor do parts of a bounded length that trade places, and rows that are quantized along their columns.
# CHECK: entry moved(%x : f32[n<=4,t<=3,32]) training ranks 2
# CHECK-NOT: all_gather
# CHECK: dynamic_update {{.*}} : f32[n<=4,t<=3,32]
# CHECK-NOT: all_gather
# CHECK: quantize {{.*}} : i8[n<=4,t<=3,32]
# CHECK-NOT: all_gather
# CHECK: return
entry moved(x : f32[n <= 8, t <= 3, 32]) {
  h = concat([x[:, 1:], x[:, 0:1]], axis = 1) + linear(x, 32) as first
  h = concat([h[:, 1:], h[:, 0:1]], axis = 1)
  q, s = quantize(stop_gradient(h), axis = 2)
  h = h + stop_gradient(dequantize(q, s, axis = 2) - h)
  loss = mean((linear(h, 2) as moved) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
