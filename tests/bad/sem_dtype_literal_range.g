entry f(image : u8[4, 8]) {
  return y = image + 300
}
