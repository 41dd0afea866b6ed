entry f(x : f32[4, 8], t : u8[5]) {
  return y = xent(x, t)
}
