# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# RUN: %gc --emit=ir --passes=fold,dce %s | FileCheck-14 %s --check-prefix=FOLD
# RUN: %gc --emit=ir --passes=fold,cse,dce %s -o %t.ir && %gc -x ir --emit=ir --passes= %t.ir -o %t.again && cmp %t.ir %t.again
# Integers of 8 bits are i8, those of 4 bits pairs in u8, along the first axis unless it says another one; the last
# group is shorter, and an odd number of integers has its extent said. u8 and i8 meet in i32. A product reads the
# integers if the groups are along its depth, and gathered rows are dequantized alone.
entry f(x : f32[3, 71], w : f32[71, 10], b : u8[2], c : i8[2]) {
  q, s = quantize(w)
  p, r = quantize(w, bits = 4, group = 16)
  y = x @ dequantize(q, s) + x @ dequantize(p, r, group = 16, extent = 71)
  return y, z = sum(q), i = c + b
}

# CHECK:      entry f(%x : f32[3,71], %w : f32[71,10], %b : u8[2], %c : i8[2])
# CHECK:        %s = quantize_scale %w {bits = 8, group = 32} : bf16[3,10]
# CHECK-NEXT:   %q = quantize %w, %s {bits = 8, group = 32} : i8[71,10]
# CHECK-NEXT:   %r = quantize_scale %w {bits = 4, group = 16} : bf16[5,10]
# CHECK-NEXT:   %p = quantize %w, %r {bits = 4, group = 16} : u8[36,10]
# CHECK-NEXT:   %[[D:.*]] = dequantize %q, %s {bits = 8, group = 32} : f32[71,10]
# CHECK-NEXT:   matmul %x, %[[D]] : f32[3,10]
# CHECK:        convert %q : i32[71,10]
# CHECK:        %i = add {{.*}} : i32[2]

# FOLD:         quantized_matmul %x, %q, %s {bits = 8, group = 32} : f32[3,10]
# FOLD:         quantized_matmul %x, %p, %r {bits = 4, group = 16} : f32[3,10]

entry t(x : f32[3, 64], w : f32[10, 64], ids : u8[4]) {
  q, s = quantize(w, axis = -1)
  return y = x @ dequantize(q, s, axis = 1)', z = gather(dequantize(q, s, axis = 1), ids)
}

# FOLD:       entry t
# FOLD:         quantized_matmul %x, %q, %s {axis = 1, bits = 8, group = 32} : f32[3,10]
# FOLD-NEXT:    %[[Q:.*]] = gather %q, %ids : i8[4,64]
# FOLD-NEXT:    %[[S:.*]] = gather %s, %ids : bf16[4,2]
# FOLD-NEXT:    %z = dequantize %[[Q]], %[[S]] {axis = 1, bits = 8, group = 32} : f32[4,64]

# Rows of a number that is known when the program runs are gathered as integers, too.
entry n(w : f32[10, 64], ids : u8[2, t <= 9]) {
  q, s = quantize(w, bits = 4, axis = -1)
  y = gather(dequantize(q, s, axis = 1), ids)
  p, r = quantize(y, axis = 2)
  return y, z = dequantize(p, r, axis = 2)
}

# FOLD:       entry n
# FOLD:         gather %q, %ids : u8[2,t<=9,32]
# FOLD:         %y = dequantize {{.*}} {axis = 2, bits = 4, group = 32} : f32[2,t<=9,64]
# FOLD:         %p = quantize %y, %r {axis = 2, bits = 8, group = 32} : i8[2,t<=9,64]
# FOLD:         %z = dequantize %p, %r {axis = 2, bits = 8, group = 32} : f32[2,t<=9,64]
