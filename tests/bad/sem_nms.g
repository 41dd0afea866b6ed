entry e(b : f32[1, 5, 4], s : f32[1, 2, 6]) { return y = nms(b, s, 3) }
entry f(b : f32[1, 5, 4], s : f32[1, 2, 5], l : f32[2]) { return y = nms(b, s, 3, limit = l) }
entry g(b : f32[1, 5, 4], s : f32[1, 2, 5]) { return y = nms(b, s, 0) }
entry h(b : f32[5, 4], s : f32[2, 5]) { return y = nms(b, s, 3, 0.5) }
