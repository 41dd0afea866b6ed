# RUN: %gc %s -O2 --target=cuda --precision=bf16 --emit=cuda -o %t.cu && grep -E '^/[*] [a-z0-9 ]+: ' %t.cu | FileCheck-14 %s
# Where rows and columns are many, one kernel reads integers of 8 and 4 bits and their scales, and stores what tensor cores multiply.
entry bytes(x : bf16[4096, 1024], q : i8[1024, 4096], s : bf16[32, 4096]) { return y = f32(x) @ dequantize(q, s) }
entry pairs(x : bf16[4096, 1024], q : u8[4096, 512], s : bf16[4096, 32]) { return y = f32(x) @ dequantize(q, s, axis = 1)' }
# CHECK:      /* {{.*}}mul: bf16[32,32,4096] */
# CHECK-NEXT: /* matmul: f32[4096,4096] */
# CHECK-NEXT: /* {{.*}}mul: bf16[4096,32,16,2] */
# CHECK-NEXT: /* matmul: f32[4096,4096] */
# CHECK-NOT:  /*
