entry f(x : f32[3], n : i32) {
  scan i in 0..n { x = x * 2 }
  return x
}
