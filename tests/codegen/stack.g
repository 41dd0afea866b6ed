# RUN: %gc -march=x86-64-v3 --emit=c %s -o %t.c
# RUN: cc -std=gnu17 -O1 -march=x86-64-v3 -Werror=frame-larger-than=1700000 -I%S/../../runtime -c %t.c -o %t.o
# No kernel takes more of the stack than a thread has where the system's limit is none: 2 MiB. Rows of
# exps that are kept, and packed rows of a transposed operand, are bounded by what is left.
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
