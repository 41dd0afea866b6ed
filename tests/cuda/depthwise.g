# gradients with respect to the filters of depthwise convolutions: several filters a channel, strides, dilation, more padding
# than a filter needs, filters wider than a thread has taps, chunks of several images and of some rows of one, in several
# parts; more sums than scratch holds at a time; f64, a bounded batch, work fused behind
entry several(x : f32[9, 6, 17, 13], w : f32[12, 1, 3, 3], y : f32[9, 12, 17, 13]) {
  return dw = 0.5 * grad(sum(conv2d(x, w, 1, 1, groups = 6) * y), w)
}
entry strided(x : f32[6, 5, 31, 29], w : f32[5, 1, 5, 4], y : f32[6, 5, 14, 10]) {
  return dw = grad(sum(conv2d(x, w, [2, 3], [2, 5], dilation = [2, 3], groups = 5) * y), w)
}
entry tiny(x : f32[40, 25, 7, 7], w : f32[25, 1, 7, 7], y : f32[40, 25, 7, 7]) {
  return dw = grad(sum(conv2d(x, w, 1, 3, groups = 25) * y), w)
}
entry rows(x : f32[1, 22, 53, 40], w : f32[22, 1, 3, 3], y : f32[1, 22, 53, 40]) {
  return dw = grad(sum(conv2d(x, w, 1, 1, groups = 22) * y), w)
}
entry wide(x : f32[7, 1, 28, 28], w : f32[1, 1, 19, 21], y : f32[7, 1, 28, 28]) {
  return dw = grad(sum(conv2d(x, w, 1, [9, 10]) * y), w)
}
entry double(x : f64[9, 3, 12, 14], w : f64[3, 1, 3, 5], y : f64[9, 3, 12, 12]) {
  return dw = grad(sum(conv2d(x, w, 1, [1, 1], groups = 3) * y), w)
}
entry bounded(x : f32[n <= 30, 3, 11, 9], y : f32[n, 3, 11, 9]) {
  param w : f32[3, 1, 3, 3] = 1
  return dw = grad(sum(conv2d(x, w, 1, 1, groups = 3) * y), w)
}
