# What windows need of an extent is known of optimized IR that is read back.
# RUN: %gc -O2 --target=cpu %s --emit=ir -o %t.ir && %gc -x ir %t.ir --target=cpu --emit=ir -o %t.read && cmp %t.ir %t.read
# RUN: %gc -x ir %t.ir --target=cpu --emit=c -o - | FileCheck-14 %s
# CHECK: {"h", 10, 3, "conv at {{.*}}:7:7"}, {"v", 5, 2, "conv at {{.*}}:7:7"}
entry train(x : f32[n <= 3, 3, 4 * h <= 40, 4 * v <= 20]) {
  param w : f32[4, 3, 9, 5] = normal(1)
  a = conv2d(x, w)
  loss = mean(tanh(a))
  minimize loss with sgd(0.1)
  return loss
}
