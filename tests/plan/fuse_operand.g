# RUN: %gc --emit=ir %s | FileCheck-14 %s
# A product reads its operand from memory; what is computed behind the product reads it there, too,
# and does not work it out again.
# CHECK: %s = reverse
# CHECK: kernel %{{.*}}, %s {name = "matmul+sub"}
# CHECK-NOT: reverse
# CHECK: yield
entry f(x : f32[4, 4]) {
  s = exp(x)[::-1]
  return y = s - exp(x) @ s
}
