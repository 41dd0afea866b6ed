# new tensors: shapes and counts known when compiling, dtypes
entry f(x : f32[3], n : i32[3], s : i32[]) {
  y = iota(s)
  y = iota(0)
  y = iota(2.5)
  y = iota(3, dtype = "f32")
  y = full([3])
  y = full([3], 1, dtype = 32)
  y = zeros([3, -1])
  y = zeros()
  y = zeros([3], dtype = x)
  y = ones(x)
  y = ones([2], dtype = "u8")
  y = const("a", [3])
  y = const(1, [3], dtype = true)
  y = one_hot(x, 4)
  y = one_hot(n, -4)
  y = one_hot(n, 4, dtype = 1)
  y = causal(s)
  y = causal(1.5)
  return y
}
