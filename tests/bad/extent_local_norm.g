# args: --passes=fold,cse,dce,local-batch-norm --emit=ir
entry train(x : f32[n <= 8, 1, h <= 12, 10], y : u8[n]) {
  x = bn(conv(x, 4, 3, pad = "same") as c) as n
  loss = mean(xent(linear(mean(x, axis = [2, 3]), 2) as out, y))
  minimize loss with sgd(0.1)
  return loss
}
