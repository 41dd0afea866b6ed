entry f(table : f32[10, 4], ids : f32[3]) {
  return y = gather(table, ids)
}
