def net(image : u8[n, 784]) {
  return f32(image)
}
entry f(image : u8[64, 100]) {
  return y = net(image)
}
