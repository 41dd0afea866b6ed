# indices that are data, and places that are there
entry f(x : f32[3, 4], n : i32[3], s : i32[], r : f32[]) {
  y = take_along(x, n)
  y = take_along(x, n, axis = 2)
  y = take_along(x, x)
  y = dynamic_slice(x, s, 4)
  y = dynamic_slice(x, r, 1)
  y = dynamic_slice(x, n, 1)
  y = dynamic_slice(x, s, 1, axis = 2)
  y = dynamic_slice(x, s, s)
  y = dynamic_update(x, x[:, 0:2], s)
  y = dynamic_update(x, n, s, axis = 0)
  y = dynamic_update(x, x, s, axis = -3)
  y = dynamic_update(x, i32(x), s)
  y = scatter_add(x, n, x[0])
  y = scatter_add(x, x, x)
  y = scatter_add(x, n, i32(x))
  y = x[3]
  y = x[-4]
  return y
}
