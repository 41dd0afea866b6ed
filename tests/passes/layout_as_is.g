# A weight that one product reads transposed and another one as it lies, with too few columns for panels of its own,
# stays row-major: the second would take the panels of the first for rows.
# RUN: %gc %s -O2 -march=x86-64-v3 --emit=ir | FileCheck-14 %s
# CHECK: param @w : f32[80,10]
# CHECK-NOT: panels
entry f(x : f32[6, 80]) {
  param w : f32[80, 10] = normal()
  y = tanh(x @ w)
  return y, d = grad(sum(y), x)
}
