# lstm_scan.g: the same as lstm.g as a loop: four layers, 1,024 wide, 50 steps, a loss each
let N = 64                                    # sequences of a step
let T = 50
let V = 256
let H = 1024
hyper lr = 0.01

entry train(x : f32[T, N, H], label : i32[T, N]) {
  h1, h2, h3, h4 = zeros([N, H]), zeros([N, H]), zeros([N, H]), zeros([N, H])
  c1, c2, c3, c4 = zeros([N, H]), zeros([N, H]), zeros([N, H]), zeros([N, H])
  loss = zeros([])
  scan i in 0..T {
    h1, c1 = lstm(x[i], h1, c1) as l1
    h2, c2 = lstm(h1, h2, c2) as l2
    h3, c3 = lstm(h2, h3, c3) as l3
    h4, c4 = lstm(h3, h4, c4) as l4
    loss = loss + mean(xent(linear(h4, V) as out, label[i])) / T
  }
  minimize loss with sgd(lr)
  return loss
}
