# densenet.g: DenseNet-121 for ImageNet (Huang et al., 2016)
let N = 32                                    # images of a step
let S = 224                                   # rows and columns of an image
let depth = [6, 12, 24, 16]                   # layers of the blocks
hyper lr = 0.05

def brc(x, out, k) { return x |> bn |> relu |> conv(out, k, bias = false) }

entry train(image : f32[N, 3, S, S], label : i32[N]) {
  x = image |> conv(64, 7, 2, pad = 3, bias = false) as stem |> bn as stem_n |> relu
  x = max_pool(x, 3, 2, pad = 1)
  for s in 0..4 {
    for i in 0..depth[s] {
      y = x |> brc(128, 1) as a[s][i] |> brc(32, 3) as b[s][i]
      x = concat([x, y], axis = 1)
    }
    if s < 3 { x = avg_pool(brc(x, dim(x, 1) / 2, 1) as t[s], 2) }
  }
  logits = linear(x |> bn as n |> relu |> global_avg_pool, 1000) as head
  loss = mean(xent(logits, label))
  minimize loss with sgd(lr)
  return loss
}
