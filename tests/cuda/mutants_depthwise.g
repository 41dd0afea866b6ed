# Convolutions of one channel a group and their gradients, in which errors are planted: strides, dilation, filters of fewer
# columns than padding, several filters of a channel, blocks of several planes, planes of several blocks.
entry planes(x : f32[3, 3, 13, 11], w : f32[6, 1, 3, 4]) { return z = conv2d(x, w, [2, 1], [1, 3], dilation = [1, 2], groups = 3) }
entry slabs(x : f32[1, 2, 65, 98], w : f32[2, 1, 3, 3]) { return z = conv2d(x, w, 1, 1, groups = 2) }
entry planes_grad(x : f32[3, 3, 13, 9], w : f32[3, 1, 4, 3], y : f32[3, 3, 12, 9]) {
  return dx = grad(sum(conv2d(x, w, 1, [1, 2], dilation = [1, 2], groups = 3) * y), x)
}
entry filters(x : f32[9, 3, 14, 21], w : f32[6, 1, 3, 4], y : f32[9, 6, 6, 21]) {
  return dw = grad(sum(conv2d(x, w, [2, 1], [2, 3], dilation = [3, 2], groups = 3) * y), w)
}
entry filter_slabs(x : f32[3, 2, 20, 64], w : f32[2, 1, 3, 10], y : f32[3, 2, 20, 63]) {
  return dw = grad(sum(conv2d(x, w, 1, [1, 4], groups = 2) * y), w)
}
