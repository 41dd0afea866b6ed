# RUN: %gc %s --emit=c -o - | FileCheck-14 %s
# Steps with equal tables of arguments, of dead bytes or of results share one: the other steps have none of their own.
# CHECK: static const GcArg e0_a0[]
# CHECK-NEXT: static const GcResult e0_r0[]
# CHECK: static const GcArg e0_a1[]
# CHECK-NEXT: static const GcRange e0_d1[]
# CHECK-NEXT: static const GcArg e0_a2[]
# CHECK-NEXT: static const GcResult e0_r5[]
# CHECK: e0_steps[]
# CHECK-NEXT: e0_a0, 3, 0, NULL,{{.*}}results = e0_r0,
# CHECK-NEXT: e0_a1, 3, 1, e0_d1,{{.*}}results = e0_r0,
# CHECK-NEXT: e0_a2, 3, 1, NULL,{{.*}}results = e0_r0,
# CHECK-NEXT: e0_a1, 3, 1, e0_d1,{{.*}}results = e0_r0,
# CHECK-NEXT: e0_a2, 3, 1, NULL,{{.*}}results = e0_r0,
# CHECK-NEXT: e0_a1, 3, 1, e0_d1,{{.*}}results = e0_r5,
entry f(x : f32[64, 64], w : f32[64, 64]) {
  return y = relu(relu(relu(relu(relu(x @ w) @ w) @ w) @ w) @ w) @ w
}
