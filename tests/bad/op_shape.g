# shapes: compile-time lists that fit, axes that are there and named once
entry f(x : f32[3, 4], n : i32[2]) {
  y = reshape(x, n)
  y = reshape(x, [3, 0])
  y = transpose(x, perm = [0, 0])
  y = transpose(x, perm = [0, 2])
  y = broadcast(x, [3, 4, 2])
  y = broadcast(x, [4])
  y = pad(x, -1, 0)
  y = pad(x, 1, 1, value = n)
  y = concat(x)
  y = concat([x, x], axis = 2)
  y = concat([x, n])
  y = stack([x, x], axis = 4)
  y = split(x, 3, axis = 1)
  y = split(x, [1, 2, 2], axis = 1)
  y = split(x, 2, axis = -3)
  y = reverse(x, axis = 2)
  y = reverse(x, axis = [0, 0])
  return y
}
