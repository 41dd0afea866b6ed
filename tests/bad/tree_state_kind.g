state a = like 3
state b = like params(3)
state c = like params("net")
state d = like states("net")
entry f(x : f32[4, 3]) {
  c := params("net")
  y = linear(x, 3) as net
  c := 0
  c := params("net")["net.w"]
  c := params("net.b")
  return y, c
}
entry g(x : f32[4, 3]) {
  scope c { scope net { state w : f32[3, 3] = zeros() } }
  return y = x + norm(c)
}
