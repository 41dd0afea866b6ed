import "layers.g"
let N : i32 = 64
entry f(x : int[4], y : f32[4]) { return y = x }
entry g(x : f32[4]) { return {"loss": x} }
entry h(x : f32[4]) {
  w = param(10, 10)
  return y = l2(net.params)
}
