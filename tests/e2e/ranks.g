# What ranks of processes (ranks.sh) and of GPUs (tests/nccl/ranks.sh) train.
let N = 8
hyper lr = 1e-2
def net(x) {
  x = conv(reshape(x, [dim(x, 0), 1, 8, 8]) |> random_flip, 4, 3, bias = false) as c |> bn as n |> relu |> global_avg_pool
  return linear(dropout(x, 0.2), 3) as out
}
entry train(x : f32[n <= N, 64], label : u8[n]) {
  y = net(x)
  loss = mean(xent(y, label % 3))
  minimize loss with adamw(lr, clip = 1)
  return loss, accuracy = mean(argmax(y) == label % 3)
}
entry test(x : f32[n <= N, 64], label : u8[n]) { return loss = mean(xent(net(x), label % 3)) }
entry predict(x : f32[n <= N, 64]) { return best = argmax(net(x)) }
