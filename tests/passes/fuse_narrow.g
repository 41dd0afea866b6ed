# RUN: %gc -march=x86-64-v3 -O2 --precision=bf16 --emit=ir %s -o - | FileCheck-14 %s
# Of a gelu whose gradient is computed from a narrowed input, the whole derivative belongs to the epilogue of the
# gradient's product, which reads the input alone beside its operands: live ranges do not grow.
# CHECK-LABEL: entry train
# CHECK: = kernel {{.*}} {name = "matmul+add+convert+{{[0-9]+}}"} : bf16[96,128], bf16[96,128] "h.0.up"
# CHECK-NOT: = kernel {{.*}} backward "h.{{[0-9]}}.gelu"
# CHECK: return
entry train(x : f32[96, 32], t : f32[96, 32]) {
  for l in 0..3 { scope h[l] { x = x + (x |> linear(128) as up |> gelu(approx = true) |> linear(32) as down) } }
  minimize mse(x, t) with sgd(0.1)
  return x
}
