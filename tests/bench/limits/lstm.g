# lstm.g: four layers of long short-term memory, 1,024 wide, unrolled over 50 steps, a loss each
let N = 64                                    # sequences of a step
let T = 50
let V = 256
let H = 1024
hyper lr = 0.01

entry train(x : f32[T, N, H], label : i32[T, N]) {
  h1, h2, h3, h4 = zeros([N, H]), zeros([N, H]), zeros([N, H]), zeros([N, H])
  c1, c2, c3, c4 = zeros([N, H]), zeros([N, H]), zeros([N, H]), zeros([N, H])
  loss = 0.0
  for i in 0..T {
    h1, c1 = lstm(x[i], h1, c1) as l1 shared
    h2, c2 = lstm(h1, h2, c2) as l2 shared
    h3, c3 = lstm(h2, h3, c3) as l3 shared
    h4, c4 = lstm(h3, h4, c4) as l4 shared
    loss = loss + mean(xent(linear(h4, V) as out shared, label[i])) / T
  }
  minimize loss with sgd(lr)
  return loss
}
