# chain.g: fifty dense layers of 1,024
let N = 512                                   # rows of a step
let layers = 50
let width = 1024
hyper lr = 0.01

entry train(x : f32[N, width], label : i32[N]) {
  for i in 0..layers { x = relu(linear(x, width) as fc[i]) }
  loss = mean(xent(linear(x, 10) as head, label))
  minimize loss with sgd(lr)
  return loss
}
