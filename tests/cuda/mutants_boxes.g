# Convolutions of halves of few channels by boxes of the image, several of a block, in which errors are planted.
entry tensor_boxes(x : f32[3, 264, 20, 14], w : f32[1188, 2, 3, 4]) { # several of a block
  return z = f32(conv2d(bf16(x), bf16(w), 1, [0, 2], groups = 132))
}
entry tensor_boxes_grad(x : f32[3, 1188, 19, 14], w : f32[264, 9, 3, 2], y : f32[3, 264, 19, 14]) {
  return dx = grad(sum(f32(conv2d(f16(x), f16(w), 1, [1, 1], dilation = [1, 2], groups = 132)) * y), x)
}
entry tensor_filter_boxes(x : f32[4, 99, 20, 14], w : f32[297, 3, 5, 5], y : f32[4, 297, 16, 14]) {
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(w), 1, [0, 2], groups = 33)) * y), w)
}
