entry f(x : f32[8]) {
  state step : i64 = 3
  y = x * f32(step)
  return y
}
entry train(x : f32[8]) {
  param w : f32[8] = ones()
  loss = mean(x * w)
  minimize loss with adam(0.1)
  return loss
}
