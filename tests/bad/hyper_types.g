hyper wide : f64 = 0.5
hyper rows : f32[3] = 1
hyper half : i32 = 0.5
hyper great : i32 = 2147483648
hyper on : bool = 1
hyper rate = [1, 2]
hyper topk : i32 = true
hyper ok : i32 = -2147483648
entry f(x : f32[3]) {
  return y = x * (wide + rows + half + great + on + rate + topk), ok
}
