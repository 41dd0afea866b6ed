hyper steps = 100
entry f(save : f32[3]) {
  return y = save * steps
}
