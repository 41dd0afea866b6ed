import "layers.g"
let N : i32 = 64
entry f(x : int[4], y : f32[4]) { return y = x }
entry g(x : f32[4]) { return {"loss": x} }
entry h(x : f32[4]) {
  w = param(10, 10)
  return y = l2(net.params)
}
/* a comment
   of "two" lines */ let M = 64 ** ** 2
@jit
def net(x) {
  """ A net * of """ y = x y
  ys = [x * i for i in 0..4]
  for i, row in enumerate(x) { y = row }
  param w = zeros([10, 1])
  """ The "rest
      is * words.
  """
  return relu(x
}
entry k(x : f32[1..64, 10]) { return y = sum(x) }
/** to the end **/
entry l(x : f32[4) { return y = x }
/*
