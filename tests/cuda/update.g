# dynamic_update of what a map computes: in place and not, along any axis, of bounded rows.
entry row(x : f32[2, 3, 8], at : u8[2]) {
  state rows : f32[2, 16, 8] = zeros()
  rows := dynamic_update(rows, tanh(x) * 3, i32(at[0]) % 13, axis = 1)
  return y = rows * 2
}
entry halves(x : bf16[1, 4, 1, 16], at : u8[1]) {
  state cache : bf16[1, 4, 32, 16] = zeros()
  y = f32(reshape(x, [1, 4, 1, 2, 8]))
  cache := dynamic_update(cache, bf16(reshape(y * 2 + reverse(y, axis = 3), [1, 4, 1, 16])), i32(at[0]) % 32, axis = 2)
  return z = f32(cache)
}
entry apart(x : f32[5, 4, 6], y : f32[5, 2, 6], at : u8[1]) {
  z = dynamic_update(x, y * 3 + 1, i32(at[0]) % 3, axis = 1)
  return z, w = x + 1
}
entry last(x : f32[5, 9], y : f32[5, 2], at : u8[1]) { return z = dynamic_update(x * 2, y * 3 + 1, i32(at[0]) % 8, axis = 1) * 5, x }
entry both(x : f32[4, 6], at : u8[1]) { return z = dynamic_update(x, sin(x[:2]), i32(at[0]) % 3), x }
