entry f(x : f32[3], n : i32) {
  for i in 0..n { x = x * 2 }
  return y = x
}
