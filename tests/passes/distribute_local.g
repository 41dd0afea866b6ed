# RUN: %gc %s --passes="local-batch-norm,fold,cse,dce,autodiff,distribute{ranks=4},fold,cse,dce" --emit=ir | FileCheck-14 %s
# RUN: %gc %s --passes="autodiff,distribute{ranks=4},fold,cse,dce" --emit=ir | FileCheck-14 --check-prefix=GLOBAL %s

# Of a batch norm by each rank's rows nothing waits for a message but the running averages, and what passes over x for
# these is what normalizes.
hyper lr = 0.1
entry train(x : f32[8, 30]) {
  loss = mean(tanh(bn(x) as n) ** 2)
  minimize loss with sgd(lr)
  return loss
}
# CHECK: entry train(%x : f32[2,30]) training ranks 4
# CHECK-NOT: all_gather
# CHECK-COUNT-1: sub {{.*}} : f32[2,30]
# CHECK-NOT: sub {{.*}} : f32[2,30]
# CHECK: tanh {{.*}} : f32[2,30]
# CHECK: return

# GLOBAL: all_gather {{.*}} : f32[244]
# GLOBAL: sub {{.*}} : f32[2,30]
# GLOBAL: tanh {{.*}} : f32[2,30]

# What is made of the mean is looked at once, and not once for each way to it.
entry deep(x : f32[8, 30]) {
  param w : f32[30] = ones()
  m = mean(x, axis = 0)
  for i in 0..40 { m = 0.5 * m + 0.5 * m * m }
  loss = mean(tanh(batch_norm(x, m, var(x, axis = 0)) * w) ** 2)
  minimize loss with sgd(lr)
  return loss
}
# CHECK: entry deep
# CHECK-NOT: all_gather
# CHECK: return
