# args: --emit=cuda
entry write(x : f32[t <= 9, 3]) {
  state cache : f32[20, 3] = zeros()
  cache := dynamic_update(cache, x, 0, axis = 0)
  return cache
}
