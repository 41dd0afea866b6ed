entry f(t0 : u8[72057594037927936], t1 : i32[72057594037927936]) {
  y = gather(t0, t1)
  return y = y
}
