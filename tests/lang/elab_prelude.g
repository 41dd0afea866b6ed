# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# Every function of the prelude can be called, and what it declares lies where its path says.
hyper rate = 0.01
def net(x) {
  a = x |> linear(8) as fc |> layernorm as norm |> gelu |> rmsnorm as root |> silu
  b = linear(elu(softplus(leaky_relu(a))), 3, bias = false) as out
  return b + gelu(b, approx = true)
}
def two(x) {
  param q : f32[4, 4] = orthogonal(gain = 2)
  param k : f32[8, 4, 3, 3] = he()
  return x @ q + sum(k) + global_avg_pool(reshape(x, [2, 4, 1, 1]))
}
entry sgd_(x : f32[2, 4], t : f32[2, 3]) {
  loss = mse(net(x), t) + huber(net(x) as net, t, delta = 2)
  minimize loss with sgd(step_decay(rate, 100), momentum = rate, nesterov = true, decay = rate)
  return loss
}
entry adam_(x : f32[2, 4], t : f32[2, 3]) {
  loss = bce(net(x), t)
  minimize loss with adam(cosine(rate, steps = 100, warmup = 10, least = 0.1), decay = 0.1)
  return loss
}
entry adamw_(ids : u8[2], t : f32[2, 4]) {
  loss = mse(flatten(embed(ids, 10, 4)), t)
  minimize loss with adamw(linear_decay(rate, 100))
  return loss
}
entry rms_(x : f32[2, 4]) {
  loss = mean(two(x))
  minimize loss with rmsprop(rate, momentum = 0.9)
  return loss
}
entry ada_(x : f32[2, 4]) {
  loss = mean(two(x))
  minimize loss with adagrad(rate)
  return loss
}
entry lion_(x : f32[2, 4]) {
  loss = mean(two(x))
  minimize loss with lion(rate, decay = 0.1)
  return loss
}

# CHECK-DAG: param @net.fc.w : f32[4,8]
# CHECK-DAG: param @net.norm.g : f32[8]
# CHECK-DAG: param @net.root.g : f32[8]
# CHECK-DAG: param @net.out.w : f32[8,3]
# CHECK-DAG: param @embed.w : f32[10,4]
# CHECK-DAG: param @two.q : f32[4,4]
# CHECK-DAG: optimizer @sgd.m.net.fc.w : f32[4,8]
# CHECK-DAG: optimizer @adam.v.net.fc.b : f32[8]
# CHECK-DAG: optimizer @adamw.m.embed.w : f32[10,4]
# CHECK-DAG: optimizer @rmsprop.m.two.k : f32[8,4,3,3]
# CHECK-DAG: optimizer @adagrad.v.two.q : f32[4,4]
# CHECK-DAG: optimizer @lion.m.two.q : f32[4,4]
# CHECK-NOT: param @net.out.b
# CHECK: entry sgd_
# CHECK: store @net.fc.w
# CHECK: entry lion_
# CHECK: store @two.q
