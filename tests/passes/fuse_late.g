# RUN: %gc -march=x86-64-v3 -O2 --emit=ir %s -o - | FileCheck-14 %s
# RUN: %gc -march=x86-64-v3 -O2 --dump-plan=json %s | tr ',' '\n' | sed -n 's/.*"arena_bytes": *//p' | uniq | wc -l | grep -x 1
# What the backward pass computes of a gelu's input alone is computed there: the kernel of the product
# gives the gelu and its input, not each part of the derivative. A batch of one axis or of two takes the
# same bytes.
# CHECK-LABEL: entry two
# CHECK: = kernel {{.*}} {name = "matmul+add+mul+4"} : f32[96,128], f32[96,128] "net.h.0.up"
# CHECK: = kernel {{.*}} {name = "matmul+add+mul+4"} : f32[96,128], f32[96,128] "net.h.1.up"
# CHECK-LABEL: entry three
# CHECK: = kernel {{.*}} {name = "matmul+add+mul+4"} : f32[96,128], f32[8,12,128] "net.h.0.up"
# CHECK: = kernel {{.*}} {name = "matmul+add+mul+4"} : f32[96,128], f32[8,12,128] "net.h.1.up"
def net(x) {
  for l in 0..3 { scope h[l] { x = x + (x |> linear(128) as up |> gelu |> linear(32) as down) } }
  return x
}
entry two(x : f32[96, 32], t : f32[96, 32]) {
  loss = mean((net(x) - t) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
entry three(x : f32[8, 12, 32], t : f32[8, 12, 32]) {
  loss = mean((net(x) - t) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
