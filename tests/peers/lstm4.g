# lstm4.g: four layers of long short-term memory, 1,024 wide, over 50 steps, for memory.py
let B = 64
let T = 50
let V = 128
let H = 1024
hyper lr = 1e-3

def net(tokens : i32[b, t]) {
  x = embed(tokens, V, H) as embed
  h1, h2, h3, h4 = zeros([b, H]), zeros([b, H]), zeros([b, H]), zeros([b, H])
  c1, c2, c3, c4 = zeros([b, H]), zeros([b, H]), zeros([b, H]), zeros([b, H])
  hs = scan i in 0..t {
    h1, c1 = lstm(x[:, i], h1, c1) as l1
    h2, c2 = lstm(h1, h2, c2) as l2
    h3, c3 = lstm(h2, h3, c3) as l3
    h4, c4 = lstm(h3, h4, c4) as l4
    yield h4
  }
  return linear(transpose(hs, [1, 0, 2]), V) as out
}

entry train(tokens : i32[B, T], next : i32[B, T]) {
  loss = mean(xent(net(tokens), next))
  minimize loss with sgd(lr, momentum = 0.9)
  return loss
}
