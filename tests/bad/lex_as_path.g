def net(x) { return linear(x, 3) as auto.encoder }
entry f(x : f32[8, 2]) { return y = net(x) }
