# Products of halves by quantized matrices on tensor cores, whose blocks make numbers of integers on their way to shared
# memory: by rows and by columns, columns and depths left over, words of one to eight bytes, groups of less and of more than a
# k-tile, parts of the depth, rows that the run decides, work fused behind; a thread's sums in the CPU's order off them.
entry rows(x : bf16[126, 1100], q : i8[1100, 254], s : bf16[35, 254], p : u8[550, 45], r : bf16[138, 45]) {
  a = relu(f32(x @ dequantize(q, s, dtype = bf16))) + 1
  return a, b = f32(x @ dequantize(p, r, group = 8, dtype = bf16))
}
entry columns(x : f16[66, 312], q : i8[126, 312], s : bf16[126, 10], p : u8[129, 156], r : bf16[129, 20]) {
  w = dequantize(q, s, axis = 1, dtype = f16)
  return a = f32(x @ w'), b = f32(tanh(x @ dequantize(p, r, axis = 1, group = 16, dtype = f16)'))
}
entry parts(x : bf16[34, 2306], q : i8[2306, 40], s : bf16[10, 40], p : u8[30, 1156], r : bf16[30, 5], z : bf16[34, 2312]) {
  a = f32(x @ dequantize(q, s, group = 256, dtype = bf16))
  return a, b = f32(z @ dequantize(p, r, axis = 1, group = 512, dtype = bf16)')
}
entry bounded(x : f16[n <= 50, 170], q : i8[170, 96], s : bf16[6, 96]) { return y = f32(x @ dequantize(q, s, dtype = f16)) }
entry one(x : bf16[1, 96], q : u8[24, 48], s : bf16[24, 6]) { return y = f32(x @ dequantize(q, s, axis = 1, group = 16, dtype = bf16)') }
# few rows, whose numbers a thread makes in registers: 2, 4 and 8 columns of a thread, parts that end within a group, depths
# and columns that are left over, groups of less and of more than a step
entry few(x : bf16[5, 2306], q : i8[2306, 40], s : bf16[10, 40], y : f16[11, 267], p : i8[267, 50], r : bf16[34, 50]) {
  a = relu(f32(x @ dequantize(q, s, group = 256, dtype = bf16))) + 1
  return a, b = f32(y @ dequantize(p, r, group = 8, dtype = f16))
}
entry nibbles(x : f16[16, 1110], q : u8[555, 44], s : bf16[70, 44], y : bf16[1, 96], p : u8[48, 2104], r : bf16[3, 2104]) {
  a = f32(x @ dequantize(q, s, group = 16, dtype = f16))
  return a, b = f32(tanh(y @ dequantize(p, r, dtype = bf16)))
}
entry bounded_few(x : bf16[n <= 14, 600], q : i8[600, 96], s : bf16[19, 96]) { return y = f32(x @ dequantize(q, s, dtype = bf16)) }
# integers on both sides: floats of the left ones, by the right ones as they are stored
entry both(x : f32[5, 600], q : i8[600, 44], s : bf16[19, 44], p : u8[40, 300], r : bf16[40, 19]) {
  i, scale = quantize(x, axis = 1)
  j, wide = quantize(x, bits = 16, axis = 1)
  a = dequantize(i, scale, axis = 1) @ dequantize(q, s)
  return a, b = relu(dequantize(j, wide, axis = 1, bits = 16) @ dequantize(p, r, axis = 1)')
}
