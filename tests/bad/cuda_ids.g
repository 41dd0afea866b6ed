# args: --emit=cuda
entry f(table : f32[4, 1], ids : i32[3000000000], dy : f32[3000000000, 1]) {
  return y = grad(sum(gather(table, ids) * dy), table)
}
