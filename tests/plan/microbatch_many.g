# RUN: split-file-14 %s %t
# RUN: %gc -O2 %t/chain.g -D N=12288 --memory-limit=20% --remarks=remat --emit=plan -o /dev/null 2>&1 \
# RUN:   | FileCheck-14 --check-prefix=TWELVE %t/chain.g
# RUN: %gc -O2 %t/chain.g -D N=32768 --memory-limit=20% --remarks=remat --emit=plan -o /dev/null 2>&1 \
# RUN:   | FileCheck-14 --check-prefix=MANY %t/chain.g
# RUN: not-14 %gc -O2 %t/prime.g --memory-limit=50% --emit=plan -o /dev/null 2>&1 | FileCheck-14 %t/prime.g

#--- chain.g
# A dense layer's gradient goes on from part to part where a part ends with a chain of a product,
# 1,024 rows: such parts are found however many there are, also where no power of two comes to them.
let N = 4096
entry train(x : f32[N, 64], label : i32[N]) {
  for i in 0..10 { x = relu(linear(x, 64) as fc[i]) }
  loss = mean(xent(linear(x, 10) as head, label))
  minimize loss with sgd(0.1)
  return loss
}
# TWELVE: batch of 12288 is done in 12 parts of 1024
# TWELVE-NOT: more arithmetic
# MANY: batch of 32768 is done in 8 parts of 4096
# MANY-NOT: more arithmetic

#--- prime.g
# A prime batch has no parts; they are not looked for up to its size.
entry go(x : u8[1000000000039]) { return y = sum(f32(x) * 2.0 + 1.0) }
# CHECK: error: entry 'go' does not fit into
