# Products that are too large to be run in the interpreter: deeper than one chain of sums, in the largest tile,
# with and without edges, in every order of the operands.
entry edges(x : f32[1500, 4100], w : f32[4100, 1500], y : f32[1500, 4100], v : f32[4100, 1500], u : f32[1500]) {
  return a = relu(x @ w + u), b = x @ y', c = v' @ w, d = v' @ y'
}
entry even(x : f32[1536, 4096], w : f32[4096, 1536], y : f32[1536, 4096], v : f32[4096, 1536]) {
  return a = x @ w, b = x @ y', c = v' @ w, d = v' @ y'
}
entry flat(x : f32[100, 4099], w : f32[4099, 25087], y : f32[25087, 4099], v : f32[4099, 100]) {
  return a = x @ w, b = x @ y', c = v' @ w, d = v' @ y'
}
