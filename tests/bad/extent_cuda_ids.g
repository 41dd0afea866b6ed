# args: --emit=cuda
entry rows(ids : u8[2, t <= 9]) {
  param table : f32[5, 3] = normal(1)
  return y = gather(table, ids)
}
