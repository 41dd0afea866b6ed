entry f(image : u8[4, 8]) {
  return y = image * 0.5
}
