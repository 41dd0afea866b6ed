entry train(x : f32[4, 8]) {
  loss = mean(linear(x, 10) |> linear(1) as out)
  minimize loss with sgd(0.1, only = "ou")
  minimize loss with sgd(0.1, only = ["out.b", 3])
  minimize loss with sgd(0.1, only = [])
  return loss
}
