# Products of few rows, in which errors are planted: operands that go from memory to registers, with more parts of the depth
# than warps, and a last part, a last step and columns that are left over; stored along and across the depth.
entry halves(x : bf16[10, 4106], w : bf16[4106, 44]) { return y = f32(x @ w) }
entry odd_rows(x : f16[7, 267], w : f16[267, 24]) { return y = f32(x @ w) }
entry across(x : f16[138, 13], w : f16[138, 44]) { return y = f32(x' @ w) }
entry few_bytes(x : bf16[10, 2306], q : i8[2306, 44], s : bf16[10, 44]) { return y = f32(x @ dequantize(q, s, group = 256, dtype = bf16)) }
entry few_nibbles(x : f16[7, 2100], q : u8[1050, 50], s : bf16[263, 50]) { return y = f32(x @ dequantize(q, s, group = 8, dtype = f16)) }
# Quantized, of chains of 1,024: more of them than warps.
entry bytes(x : f32[3, 1101], q : i8[1101, 90], s : bf16[35, 90]) { return y = x @ dequantize(q, s) }
entry wide(x : f32[3, 70], q : i8[70, 1032], s : bf16[3, 1032]) { return y = x @ dequantize(q, s) }
entry nibbles(x : f32[2, 8330], q : u8[4165, 6], s : bf16[261, 6]) { return y = x @ dequantize(q, s) }
entry words_turned(x : f32[2, 4232], q : u8[37, 2116], s : bf16[37, 133]) { return y = x @ dequantize(q, s, axis = 1)' }
entry bytes_turned(x : f32[5, 360], q : i8[70, 360], s : bf16[70, 12]) { return y = x @ dequantize(q, s, axis = 1)' }
# Sums of columns, whose warps do chunks of rows: two rounds of them.
entry by_warps(x : f32[4200, 70], b : f32[70]) { return y = sum(x * x, axis = 0) + b }
