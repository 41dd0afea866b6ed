#!/bin/sh
# Random numbers in loops: a scan draws what it draws unrolled, whatever stands around it, and dropout's
# mask in the backward pass is the one in the forward pass; initial values are the same in whatever order they lie.
. "$(dirname "$0")/common.sh"
unoptimised
cat >loop.g <<'END'
def noisy(x) { return x + 0.1 * normal(shape = shape(x)) }
def cell(x, h) { return tanh(noisy(dropout(linear(x, 8) as x, 0.3) + linear(h, 8) as h)) }
entry draws() {
  first = uniform(shape = [3])
  ns, us, bs = scan i in 2..5 {
    a = normal(shape = [2])
    us = scan j in 0..4 { yield (uniform(shape = [2]) as u) + noisy(zeros([2])) as n }
    yield a, reshape(us, [8]), bernoulli(0.5, shape = [4])
  }
  return first, ns, us, bs, last = uniform(shape = [3])
}
entry train(x : f32[4, 6, 5], y : f32[4]) {
  h = zeros([4, 8])
  scan t in 0..6 { h = cell(x[:, t], h) as cell }
  loss = mse((linear(h, 1) as out)[:, 0] + 0.1 * normal(shape = [4]), y)
  minimize loss with adam(0.01)
  return loss
}
END
sed 's/scan \(.\) in/for \1 in/' loop.g >unrolled.g
"$mkdata" npy f32 64,6,5 1 x.npy && "$mkdata" npy f32 64 2 y.npy || fail 'no data could be made'
for v in loop unrolled; do
  run 0 "$gc" $v.g -O2 -o $v
  run 0 ./$v draws --seed 3 --steps 2
  cp out.txt $v.txt
  run 0 ./$v train --x x.npy --y y.npy --epochs 3 --seed 3 --log $v.csv --quiet
  cut -d, -f3 $v.csv | sed 1d >$v.loss
done
same loop.txt unrolled.txt 'the draws of scan and for'
worst=$(paste loop.loss unrolled.loss | awk '{d = ($1 - $2) / $2; if (d < 0) d = -d; if (d > w) w = d; n++} END {print n == 48 ? w + 0 : "none"}')
at_most "$worst" 1e-5 'the difference of a loss between scan and for'
run 0 ./loop train --x x.npy --y y.npy --epochs 3 --seed 3 --log again.csv --quiet --threads 3 --poison
cut -d, -f3 again.csv | sed 1d >again.loss
same loop.loss again.loss 'the losses on three threads, poisoned'

# ---- initial values in the panels of their weights, and row by row ----
cat >init.g <<'END'
entry train(x : f32[4, 3, 8, 8], t : f32[4, 48]) {
  y = relu(conv(x, 32, 3, pad = 1) as conv)
  loss = mse(linear(relu(linear(reshape(y, [4, 2048]), 512) as wide), 48) as narrow, t)
  minimize loss with sgd(0)
  return loss
}
END
"$mkdata" npy f32 4,3,8,8 1 x.npy && "$mkdata" npy f32 4,48 2 t.npy || fail 'no data could be made'
run 0 "$gc" init.g -O2 -march=x86-64-v3 --emit=ir -o init.ir
[ "$(grep -c '= random_.* panels ' init.ir)" = 3 ] || { fail 'random numbers are not made in panels'; grep random_ init.ir; }
run 0 "$gc" init.g -O2 -march=x86-64-v3 -o panels
run 0 "$gc" init.g --passes=autodiff,order,liveness,inplace,share -o rows
for v in panels rows; do
  run 0 ./$v train --x x.npy --t t.npy --epochs 1 --seed 3 --quiet --save $v.safetensors
done
same panels.safetensors rows.safetensors 'initial values in panels and in rows'
finish
