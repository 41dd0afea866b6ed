entry f(image : u8[4, 8], w : f32[8, 2]) {
  return y = image @ w
}
