let big = zeros([3])
entry f(x : f32[3]) {
  return y = x + big
}
