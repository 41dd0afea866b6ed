# Products by quantized matrices, whose integers lie by rows and by columns: groups, chains of 1,024, k-tiles, columns and
# words that are left over.
# few rows, of which a warp reads the integers into registers
entry quantized(x : f32[3, 1101], q : i8[1101, 90], s : bf16[35, 90], p : u8[551, 90]) {
  return a = relu(x @ dequantize(q, s)) + 1, b = x @ dequantize(p, s, extent = 1101)
}
entry quantized_turned(x : f32[2, 2104], q : i8[70, 2104], s : bf16[70, 66], y : f32[5, 96], p : u8[70, 48], t : bf16[70, 3]) {
  return a = x @ dequantize(q, s, axis = 1)', b = tanh(y @ dequantize(p, t, axis = 1)')
}
entry quantized_rows(x : f32[n <= 30, 1100], q : i8[1100, 50], s : bf16[35, 50]) { return y = x @ dequantize(q, s) }
# four columns of a thread; two steps and a part
entry quantized_columns(x : f32[1, 70], q : i8[70, 67584], s : bf16[3, 67584], y : f32[2, 133], p : u8[67, 67584], r : bf16[5, 67584]) {
  return a = x @ dequantize(q, s), b = y @ dequantize(p, r, extent = 133)
}
# in tiles of 128, 64 and 32, which make numbers of integers on their way to shared memory; parts of the depth
entry tiles(x : f32[126, 1101], q : i8[1101, 254], s : bf16[35, 254]) { return y = relu(x @ dequantize(q, s)) + 1 }
entry tiles_turned(x : f32[128, 312], q : i8[126, 312], s : bf16[126, 10], p : u8[128, 156], r : bf16[128, 20]) {
  return a = x @ dequantize(q, s, axis = 1)', b = tanh(x @ dequantize(p, r, axis = 1, group = 16)')
}
entry small_groups(x : f32[33, 141], q : i8[141, 36], s : bf16[18, 36], p : u8[71, 35], r : bf16[18, 35], y : f32[40, 104], u : u8[41, 52], v : bf16[41, 13]) {
  return a = relu(x @ dequantize(q, s, group = 8)), b = x @ dequantize(p, r, group = 8, extent = 141), c = y @ dequantize(u, v, axis = 1, group = 8)'
}
entry parts(x : f32[16, 2060], q : u8[1030, 16], s : bf16[258, 16], p : i8[15, 2060], r : bf16[15, 258]) {
  return a = x @ dequantize(q, s, group = 8), b = tanh(x @ dequantize(p, r, axis = 1, group = 8)')
}
