def net(x) { return x |> linear(8) as body |> linear(1) as head }
entry train(x : f32[4, 8]) {
  loss = mean(net(x))
  minimize loss with sgd(0.1), only = "head"
  minimize loss with sgd(0.1), only = "net.haed"
  minimize loss with sgd(0.1), only = "decoder"
  return loss
}
