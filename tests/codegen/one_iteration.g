# RUN: %gc %s -O2 -march=x86-64-v3 --emit=c -o - | FileCheck-14 %s
# Loops of one iteration and factors of 0 and 1 leave no trace in the text of a product or a convolution.
entry f(x : f32[8, 32], w : f32[32, 16]) { return y = x @ w }
entry g(x : f32[32, 16, 8, 8]) { return y = conv(x, 16, 3) as c }
# CHECK: _matmul{{.*}}(void
# CHECK-NOT: {{ [*+] 0[^-0-9.xu]| [*/] 1[^-0-9.]|for \(long (bt|k0|i0|g0) }}
# CHECK: tile_f32
# CHECK: _conv{{.*}}(void
# CHECK-NOT: {{ [*+] 0[^-0-9.xu]| [*/] 1[^-0-9.]|i < 1;|for \(long (g|q) }}
# CHECK: window_
