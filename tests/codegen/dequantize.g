# RUN: %gc %s -O2 --target=cuda --precision=bf16 --emit=cuda -o %t.cu && grep -E '^/[*] [a-z0-9 ]+: ' %t.cu | FileCheck-14 %s
# One kernel reads integers of 8 and 4 bits and their scales, and stores what tensor cores multiply.
entry bytes(x : bf16[64, 64], q : i8[64, 40], s : bf16[2, 40]) { return y = f32(x) @ dequantize(q, s) }
entry pairs(x : bf16[64, 64], q : u8[40, 32], s : bf16[40, 2]) { return y = f32(x) @ dequantize(q, s, axis = 1)' }
# CHECK:      /* {{.*}}mul convert: bf16[2,32,40] */
# CHECK-NEXT: /* matmul: f32[64,40] */
# CHECK-NEXT: /* {{.*}}mul convert: bf16[40,2,16,2] */
# CHECK-NEXT: /* matmul: f32[64,40] */
# CHECK-NOT:  /*
