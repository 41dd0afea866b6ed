# Convolutions of halves on tensor cores whose operands are gathered, and their gradients, in which errors are planted: strides
# that leave boxes with holes, groups, dilation, chunks of channels and taps that end within each, phases with some of the taps.
entry forward(x : f32[3, 11, 19, 18], w : f32[20, 11, 3, 2]) { return z = f32(conv2d(bf16(x), bf16(w), 4, 1)) }
entry grouped(x : f32[2, 26, 18, 23], w : f32[70, 13, 3, 2]) {
  return z = f32(conv2d(f16(x), f16(w), [4, 5], [2, 0], dilation = [1, 3], groups = 2))
}
entry image_grad(dy : f32[2, 20, 5, 4], w : f32[20, 7, 3, 3], x : f32[2, 7, 9, 8]) {
  return dx = grad(sum(f32(conv2d(f16(x), f16(w), 2, 1)) * dy), x)
}
entry taps_grad(dy : f32[2, 32, 5, 4], w : f32[32, 7, 3, 3], x : f32[2, 7, 9, 8]) {
  return dx = grad(sum(f32(conv2d(bf16(x), bf16(w), 2, 1)) * dy), x)
}
entry filter_grad(x : f32[3, 7, 11, 9], w : f32[18, 7, 3, 2], y : f32[3, 18, 6, 5]) {
  return dw = grad(sum(f32(conv2d(f16(x), f16(w), 2, 1)) * y), w)
}
