#!/bin/sh
# Attention of bf16 in tile registers, as a user compiles and runs it: sequences of bounded lengths have the bits of exact
# ones, with any number of threads, forward and in a training step; heads that share keys, causal and masked.
#   attention.sh GC DATA SCRATCH MKDATA EMULATOR
what=attention
. "$(dirname "$0")/common.sh"

cat >net.g <<'END'
hyper lr = 0.05
def net(x) {
  z = linear(x, 4 * 40 + 2 * 40 + 2 * 24) as first
  q = to_heads(z[:, :, :160], 4)
  k = to_heads(z[:, :, 160:240], 2)
  v = to_heads(z[:, :, 240:], 2)
  x = linear(from_heads(attention(q, k, v, causal = true)), 96) as second
  q, k, v = split(x, 3, axis = -1)
  m = x[:, :, 0] > -0.5 # keys that all queries may see
  return from_heads(attention(to_heads(q, 2), to_heads(k, 2), to_heads(v, 2), mask = m[:, none, none]))
}
entry run(x : f32[n <= 3, t <= 150, 48]) { return y = net(x) }
entry wide(x : f32[3, 150, 48]) { return y = net(x) }
entry small(x : f32[2, 33, 48]) { return y = net(x) }
entry train(x : f32[n <= 3, t <= 150, 48]) {
  loss = mean(net(x) ** 2)
  minimize loss with sgd(lr)
  return loss
}
entry train_wide(x : f32[3, 150, 48]) {
  loss = mean(net(x) ** 2)
  minimize loss with sgd(lr)
  return loss
}
entry train_small(x : f32[2, 33, 48]) {
  loss = mean(net(x) ** 2)
  minimize loss with sgd(lr)
  return loss
}
END
"$mkdata" npy f32 3,150,48 3 wide.npy && "$mkdata" npy f32 2,33,48 4 small.npy || fail 'no data could be made'
CC=$amx run 0 "$gc" net.g -O2 --precision=bf16 -march=x86-64-v4 --print-schedules
for kernel in attention attention_grad; do
  grep -q " $kernel[^ ]* attention heads=.* amx=yes " out.txt || fail "not in tile registers: $kernel"
  grep -q " $kernel[^ ]* attention heads=.* amx=no " out.txt && fail "not all in tile registers: $kernel"
done
compile_net
first_run train --x wide.npy --save first.st
for size in wide small; do
  results_agree $size sequences
  run 0 ./tiles train_$size --x $size.npy --load first.st --epochs 2 --no-shuffle --save exact.st --threads 1
  for threads in 2 7; do
    run 0 ./tiles train --x $size.npy --load first.st --epochs 2 --no-shuffle --save again.st --threads $threads --poison
    same exact.st again.st "weights of $size bounded sequences on $threads threads"
  done
  run 0 ./plain train_$size --x $size.npy --load first.st --epochs 2 --no-shuffle --save again.st --threads 2
  same exact.st again.st "weights of $size sequences of -O0"
done
CC=$amx run 0 "$gc" net.g -O2 -march=x86-64-v4 -o floats
run 0 ./floats --version
grep -q amx out.txt && fail 'a program without such attention asks for tile registers'
finish
