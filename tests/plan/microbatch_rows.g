# RUN: %gc -O2 -march=x86-64-v3 --memory-limit=55% --remarks=remat --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 %s
# Two parts take more than the whole: a dense layer's gradient goes on from part to part only where a part is one chain
# of a product, 1,024 rows. Four parts do not.
entry train(ids : u8[4, 1024], next : u8[4, 1024]) {
  x = embed(ids, 256, 64) as table
  for l in 0..3 {
    scope h[l] {
      x = x + mha(layernorm(x) as n1, 2, causal = true) as attention
      x = x + linear(gelu(linear(layernorm(x) as n2, 256) as up), 64) as down
    }
  }
  loss = mean(xent(linear(x, 256) as head, next))
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: batch of 4 is done in 4 parts
