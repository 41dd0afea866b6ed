def net(image : f32[n, c, h, w]) {
  return image
}
entry f(image : f32[64, 100]) {
  return y = net(image)
}
