# Convolutions of one channel a group and their gradients, in which errors are planted: strides, dilation, filters of fewer
# columns than padding, several filters of a channel, blocks of several planes, planes of several blocks, rows of a run's length.
entry planes(x : f32[3, 3, 15, 74], w : f32[9, 1, 3, 4]) { return z = conv2d(x, w, [2, 1], [0, 3], dilation = [1, 2], groups = 3) }
entry slabs(x : f32[1, 2, 65, 98], w : f32[2, 1, 3, 3]) { return z = conv2d(x, w, 1, 1, groups = 2) }
entry bounded(x : f32[3, 3, 13, n <= 260], w : f32[3, 1, 3, 3]) { return z = conv2d(x, w, 1, [0, 1], groups = 3) }
entry planes_grad(x : f32[3, 3, 13, 25], w : f32[3, 1, 4, 3], y : f32[3, 3, 12, 25]) {
  return dx = grad(sum(conv2d(x, w, 1, [1, 2], dilation = [1, 2], groups = 3) * y), x)
}
entry filters(x : f32[9, 3, 13, 42], w : f32[6, 1, 3, 4], y : f32[9, 6, 6, 21]) {
  return dw = grad(sum(conv2d(x, w, 2, [2, 3], dilation = [3, 2], groups = 3) * y), w)
}
entry filter_slabs(x : f32[3, 2, 20, 71], w : f32[2, 1, 3, 10], y : f32[3, 2, 20, 64]) {
  return dw = grad(sum(conv2d(x, w, 1, 1, groups = 2) * y), w)
}
