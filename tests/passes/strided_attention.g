# RUN: %gc --target=cuda --emit=ir %s -o - | grep -E '^(entry|  [^ ])' | FileCheck-14 %s
# RUN: %gc -march=x86-64-v3 --emit=ir %s -o - | grep -E '^(entry|  [^ ])' | FileCheck-14 %s
# Views of attention's operands are in its kernel, and what transposes and concatenates its results; views that others
# read as well stay.
entry joined(x : f32[2, 37, 144], w : f32[2, 37, 48]) {
  q, k, v = split(x * 2, 3, axis = -1)
  y = from_heads(attention(to_heads(q, 3), to_heads(k, 3), to_heads(v, 3), causal = true))
  return y, dx = grad(sum(y * w), x) * 3
}
# CHECK-LABEL: entry joined
# CHECK: = kernel %{{[0-9]+}} {name = "attention+transpose"} : f32[2,3,37], f32[2,37,3,16]
# CHECK-NOT: = {{slice|transpose|concat}}
# CHECK: = kernel {{.*}} {name = "attention_grad+{{.*}}"} : f32[2,37,144] backward
# CHECK-NOT: = {{slice|transpose|concat}}
# CHECK: return
entry read(x : f32[2, 37, 48]) {
  q = to_heads(x * 2, 3)
  return y = from_heads(attention(q, q, q)), q
}
# CHECK-LABEL: entry read
# CHECK: = kernel %{{[0-9]+}} {name = "attention+transpose"} : {{.*}} (%{{[0-9]+}} : f32[2,37,48])
# CHECK: %q{{.*}} = transpose
entry odd(x : f32[2, 17, 16]) {
  z = x * 2
  return y = attention(z[:, :, :8], z[:, :, 4:12], z[:, :, 8:])
}
# CHECK-LABEL: entry odd
# CHECK: %[[K:[0-9]+]] = slice %z {starts = [0, 0, 4]
# CHECK: = kernel %z, %[[K]] {name = "attention"} : {{.*}} (%{{.*}} : f32[2,17,16], %{{.*}} : f32[2,17,8])
# The backward pass would keep all of it for the values alone: they are copied.
entry part(x : f32[2, 37, 144], u : f32[48, 48]) {
  q, k, v = split(x * 2, 3, axis = -1)
  y = from_heads(attention(tanh(to_heads(q, 3)), tanh(to_heads(k, 3)), to_heads(v, 3)))
  return y, dx = grad(sum(tanh(y @ u)), x) * 3
}
# CHECK-LABEL: entry part
# CHECK: %[[V:v[.0-9]*]] = slice
# CHECK: = kernel {{.*}}%[[V]] {name = "attention+transpose"}
