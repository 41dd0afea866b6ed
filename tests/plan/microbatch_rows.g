# RUN: %gc -O2 -march=x86-64-v3 --memory-limit=55% --remarks=remat --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 %s
# RUN: %gc -O2 -march=x86-64-v3 --memory-limit=45% --remarks=remat --emit=plan -o /dev/null %s 2>&1 | FileCheck-14 --check-prefix=LESS %s
# A dense layer's gradient goes on from part to part where a part ends with a chain of a product, 1,024 rows: two parts
# of 2,048 rows each are enough for the first limit, four of 1,024 for the second.
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
# CHECK: batch of 4 is done in 2 parts
# LESS: batch of 4 is done in 4 parts
