# RUN: %gc -O2 --emit=c %s -o - | grep -cE "^static void k[0-9]+_mul_mul_mul" | grep -x 2
# RUN: %gc -O2 --emit=cuda %s -o - | grep -E "^.. .*sqrt.*: f32.24,24." | sed "s/, [0-9]* at once//" | sort -u | wc -l | grep -x 1
# RUN: %gc -O2 --emit=cuda %s -o - | grep -cE "^.. .*sqrt.*: f32.24,24., [2-9] at once" | grep -x 1
# RUN: %gc -O2 --target=cuda --streams=2 --emit=cuda %s -o - | not-14 grep -E ", [0-9]+ at once"
# Updates of weights of one shape are one kernel, whatever order the operands of their sums had in the program: here
# of all matrices [24, 24]; the first one is another kernel, and biases share one with scalars.
# On a GPU several are one launch; not on several streams.
def net(x) {
  x = relu(linear(x, 24) as first)
  for i in 0..4 { x = x + relu(linear(x, 24) as h[i]) }
  return x
}
entry train(x : f32[8, 40], t : f32[8, 24]) {
  loss = mean((net(x) - t) ** 2)
  minimize loss with adamw(0.01, decay = 0.1, clip = 1)
  return loss
}
