# residual.g: a residual net of 1,000 layers on images of 32 x 32, bottlenecks of three convolutions
let N = 32                                    # images of a step
let blocks = 111                              # of each of three stages, nine layers apiece
hyper lr = 0.05

def bottleneck(x, mid, out, stride) {
  y = x |> conv(mid, 1, bias = false) as c1 |> bn as n1 |> relu
  y = y |> conv(mid, 3, stride, pad = 1, bias = false) as c2 |> bn as n2 |> relu
  y = y |> conv(out, 1, bias = false) as c3 |> bn as n3
  if dim(x, 1) != out or stride != 1 { x = x |> conv(out, 1, stride, bias = false) as c |> bn as n }
  return relu(x + y)
}

entry train(image : f32[N, 3, 32, 32], label : i32[N]) {
  x = image |> conv(16, 3, bias = false) as stem |> bn as stem_n |> relu
  for s in 0..3 {
    mid = 16 if s == 0 else 32 if s == 1 else 64
    for i in 0..blocks { x = bottleneck(x, mid, 4 * mid, 2 if s > 0 and i == 0 else 1) as stage[s][i] }
  }
  loss = mean(xent(linear(global_avg_pool(x), 10) as head, label))
  minimize loss with sgd(lr)
  return loss
}
