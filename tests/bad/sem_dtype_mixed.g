entry f(image : u8[4, 8], w : f32[4, 8]) {
  return y = image * w
}
