# RUN: %gc -march=x86-64-v3 -O2 --emit=ir --remarks=fuse %s -o %t.ir 2> %t.why
# RUN: sed -n '/^entry forward/,/^}/p' %t.ir | sed -nE 's/^  %.* = kernel .*name = "([^"]*)".*/\1/p; s/^  %.* = (attention|slice|transpose) .*/\1/p' | tr '\n' ' ' | FileCheck-14 --check-prefix=FORWARD %s
# RUN: FileCheck-14 --check-prefix=MISSED %s < %t.why
# RUN: %gc -march=x86-64-v3 -O2 --emit=c %s -o - | grep -oE '"(two|three|four)", .*_steps, [0-9]+' | FileCheck-14 --check-prefix=LAUNCHES %s
# RUN: %gc -O2 --emit=cuda %s -o - | FileCheck-14 --check-prefix=CUDA %s
# A block of a transformer: every bias, gelu, dropout and residual stands behind its product. Kernels between the
# products are the norms and the attention, which reads and stores heads where they lie.
# FORWARD: layer_norm+mul+add matmul+add attention+transpose matmul+add+add layer_norm+mul+add matmul+add+mul+4 matmul+add+add
# CUDA: matmul reshape broadcast add add: f32[3,20,32]
# CUDA: matmul reshape broadcast add {{.*}}erf{{.*}}mul: f32[3,20,128]
# A net has as many launches whatever axes its rows have, in training, too.
# LAUNCHES: "two", {{.*}} [[N:[0-9]+]]
# LAUNCHES: "three", {{.*}} [[N]]
# LAUNCHES: "four", {{.*}} [[N]]
let C = 32
def block(x) {
  x = x + mha(layernorm(x) as n1, 4, causal = true) as attn
  return x + (layernorm(x) as n2 |> linear(4 * C) as up |> gelu |> linear(C) as down)
}
entry forward(x : f32[3, 20, C]) { return y = block(x) as block }
def net(x) {
  for l in 0..2 { scope h[l] { x = x + dropout(x |> linear(4 * C) as up |> gelu |> linear(C) as down, 0.1) } }
  return x
}
entry two(x : f32[60, C], t : f32[60, C]) {
  loss = mean((net(x) - t) ** 2)
  minimize loss with adamw(0.1)
  return loss
}
entry three(x : f32[3, 20, C], t : f32[3, 20, C]) {
  loss = mean((net(x) - t) ** 2)
  minimize loss with adamw(0.1)
  return loss
}
entry four(x : f32[3, 5, 4, C], t : f32[3, 5, 4, C]) {
  loss = mean((net(x) - t) ** 2)
  minimize loss with adamw(0.1)
  return loss
}
# MISSED: fuse_block.g:[[# @LINE + 1]]:{{[0-9]+}}: remark: relu does not join add of {{.*}}fuse_block.g:[[# @LINE + 1]]:{{[0-9]+}}: a reshape stands between [fuse-missed]
entry heads(x : f32[3, 20, C]) { return y = relu(reshape(linear(x, C) as p, [3, 20, 4, 8])) }
