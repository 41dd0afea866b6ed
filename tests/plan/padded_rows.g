# RUN: %gc %s --target=cuda --precision=bf16 -O2 --emit=ir -o - | FileCheck-14 %s
# RUN: %gc %s --target=cuda --precision=bf16 -O2 --memory-limit=1M --emit=ir -o - | FileCheck-14 %s --check-prefix=PLAIN
# RUN: %gc %s --target=cuda --arch=sm_75 --precision=bf16 -O2 --emit=ir -o - | FileCheck-14 %s --check-prefix=PLAIN
# RUN: %gc %s --target=cpu --precision=bf16 -O2 --emit=ir -o - | FileCheck-14 %s --check-prefix=PLAIN
# RUN: %gc %s --target=cuda -O2 --emit=ir -o - | FileCheck-14 %s --check-prefix=PLAIN
# Rows of a product's operand on tensor cores begin at multiples of 16 bytes, if that costs a 32nd of them at most,
# they may lie anywhere, and only products read them. The padding counts in the plan.
# PLAIN-NOT: panels 264

# 20 rows of 264 halves
entry padded(x : f32[4, 5, 257], w : f32[257, 16]) {
  return y = reshape(relu(x), [20, 257]) @ w
}
# CHECK-LABEL: entry padded
# CHECK: kernel %x {{.*}} : bf16[4,5,257] panels 264

# in place of the operand: the reshape of rows that are padded moves none of them
entry reshaped(x : f32[4, 5, 257], w : f32[257, 16]) {
  a = softmax(x)
  return y = reshape(a, [20, 257]) @ w, z = a @ w
}
# CHECK-LABEL: entry reshaped
# CHECK: bf16[4,5,257] panels 264
# CHECK: [[R:%[0-9]+]] = reshape [[A:%[a-z0-9.]+]] : bf16[20,257] panels 264 {{.*}} in place of [[A]]

# 33 halves would be padded by seven
entry narrow(x : f32[20, 33], w : f32[33, 16]) { return y = relu(x) @ w }
# CHECK-LABEL: entry narrow
# CHECK-NOT: panels

# returned, so read by others
entry returned(x : f32[20, 257], w : f32[257, 16]) {
  a = bf16(relu(x))
  return a, y = a @ bf16(w)
}
# CHECK-LABEL: entry returned
# CHECK-NOT: panels

# rows of 256 halves begin at multiples of 16 bytes as they are
entry even(x : f32[20, 256], w : f32[256, 16]) { return y = relu(x) @ w }
# CHECK-LABEL: entry even
# CHECK-NOT: panels
