# args: --memory-limit=33 -o never
def net(x) { return linear(relu(linear(x, 8) as a), 1) as fc }
entry predict(m : f32[2, 4]) { return y = net(m) }
entry other(m : f32[4, 4]) { return y = net(m) }
