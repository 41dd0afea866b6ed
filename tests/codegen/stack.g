# RUN: %gc -march=x86-64-v3 --emit=c %s -o %t.c
# RUN: cc -std=gnu17 -O1 -march=x86-64-v3 -Werror=frame-larger-than=16384 -I%S/../../runtime -c %t.c -o %t.o
# RUN: cc -std=gnu17 -O3 -march=x86-64-v3 -Werror=frame-larger-than=16384 -I%S/../../runtime -c %t.c -o %t.o
# Kernels run on the stack of a library's caller, of which they take at most 64 KiB: packed operands, partial sums and
# rows of saved exponentials are in the thread's workspace.
entry many(x : f32[8, 60000]) {
  y = softmax(x)
  for i in 2..20 { y = y + softmax(x * i) }
  return y
}
entry packed(x : f32[1024, 512], y : f32[1024, 512]) { return z = x' @ y }
entry wide(x : f64[1024, 512], y : f64[1024, 512]) { return z = relu(x' @ y) }
entry chains(x : f64[600, 3000], y : f64[3000, 600]) { return z = relu(x @ y) }
entry deep(x : f32[3000, 512], y : f32[3000, 512]) { return z = x' @ y, r = relu(y' @ x) }
entry deep_wide(x : f64[8000, 512], y : f64[8000, 512]) { return z = x' @ y, r = relu(y' @ x) }
entry halves(x : bf16[300, 3000], y : f16[3000, 600]) { return z = f32(x) @ f32(y), a = argmax(x), s = sum(x) }
entry images(x : f32[8, 64, 56, 56], dy : f32[8, 64, 56, 56]) {
  param w : f32[64, 64, 3, 3] = he()
  loss = sum(conv2d(x, w, pad = 1) * dy)
  return g = grad(loss, w)
}
entry heads(q : f16[2, 8, 300, 128], k : f16[2, 8, 300, 128], v : f16[2, 8, 300, 128]) {
  y = attention(q, k, v, causal = true)
  dq, dk, dv = grad(sum(f32(y)), [q, k, v])
  return y, dq, dk, dv
}
