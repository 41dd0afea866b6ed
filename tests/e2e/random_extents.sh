#!/bin/sh
# Random nets along bounded axes, of images and sequences too: for each extent the bits of the program that is compiled for it,
# forward, gradients and optimizers, with dead bytes poisoned.
. "$(dirname "$0")/common.sh"
unoptimised 20
hows='--poison --threads 1'
# The first one adds gradients of several kinds of readers of rows that two bounded axes make, also where one has one row. The next
# have each kind of window: tiles along a row and across images, phases of strides, filters of a channel, narrow and wide images, and
# images for which Winograd's method is used at some sizes: of a filter in two convolutions, of few channels and without padding.
drawn=$((${GC_TEST_SEED:-3} % 1000000))
fixed='three images places transformed orders'
seeds="$fixed $drawn"
[ "${GC_TEST_LEVEL-}" = full ] && seeds="$fixed $(seq 1 200)"
cat >three.g <<'END'
entry train(x : f32[n <= 6, t <= 9, 8], ids : u8[n, t]) {
  y = reshape(linear(reshape(x, [n * t, 8]), 5) as first, [n, t, 5])
  h = zeros([n, 5])
  hs = scan i in 0..t {
    h = h * 0.5 + y[:, i - 1] + 0.3 * tanh(y[:, i]) * y[:, t - 1 - i]
    yield h
  }
  loss = mean((linear(transpose(hs, [1, 0, 2]), 3) as out) ** 2) + mean(y * y) * 0.01 + mean(xent(linear(y, 9) as cls, ids))
  minimize loss with sgd(0.01)
  return loss
}
entry infer(x : f32[n <= 6, t <= 9, 8], ids : u8[n, t]) {
  y = linear(x, 5) as first
  return y, s = sum(y)
}
END
cat >images.g <<'END'
entry train(x : f32[n <= 3, 4, 4 * h <= 20, 4 * v <= 28], ids : u8[n]) {
  a = relu(conv(x, 20, 3) as a)
  b = conv(a, 20, 5, groups = 20) as b
  c = conv(max_pool(b, 3, stride = 2, pad = 1), 24, 3, 2, pad = 1) as c
  d = concat([conv_transpose(c, 8, 2, 2) as d, avg_pool(b, 2)], axis = 1)
  e = tanh(conv(d, 12, 3, dilation = 2, groups = 2) as e)
  loss = mean(xent(linear(mean(e, axis = [2, 3]), 9) as out, ids)) + mean(e * e)
  minimize loss with sgd(0.05)
  return loss
}
entry infer(x : f32[n <= 3, 4, 4 * h <= 20, 4 * v <= 28], ids : u8[n]) {
  y = conv(relu(conv(x, 20, 3) as a), 20, 5, groups = 20) as b
  return y, s = sum(y)
}
END
cat >places.g <<'END'
entry train(x : f32[n <= 2, 3, 2 * t <= 2600], ids : u8[n]) {
  a = conv1(x, 40, 7, 2, pad = 3) as a
  b = gelu(conv1(a, 9, 3) as b)
  loss = mean(xent(linear(mean(b, axis = 2), 9) as out, ids)) + mean(b * b)
  minimize loss with sgd(0.05)
  return loss
}
entry infer(x : f32[n <= 2, 3, 2 * t <= 2600], ids : u8[n]) {
  y = gelu(conv1(conv1(x, 40, 7, 2, pad = 3) as a, 9, 3) as b)
  return y, s = sum(y)
}
END
cat >transformed.g <<'END'
entry train(x : f32[n <= 2, 32, 2 * h <= 24, 2 * v <= 28], ids : u8[n]) {
  param w : f32[32, 32, 3, 3] = normal(std = 0.05)
  a = relu(conv2d(relu(conv2d(x, w, pad = 1)), w, pad = 2))
  y = conv(conv(a, 9, 3, pad = 2) as few, 48, 3, pad = 0) as b
  loss = mean(xent(linear(mean(y, axis = [2, 3]), 9) as out, ids)) + mean(y * y)
  minimize loss with sgd(0.05)
  return loss
}
entry infer(x : f32[n <= 2, 32, 2 * h <= 24, 2 * v <= 28], ids : u8[n]) {
  param w : f32[32, 32, 3, 3] = normal(std = 0.05)
  y = conv2d(x, w, pad = 2)
  return y, s = sum(y)
}
END
# at the bound the rows of a table, of a loop's weights and of a chain are many, at a few rows they are not
cat >orders.g <<'END'
entry train(x : f32[n <= 6, t <= 9, 8], ids : u8[n, t]) {
  param a : f32[5, 8] = normal(std = 0.5)
  param b : f32[8, 6] = normal(std = 0.5)
  e = linear(embed(ids, 9, 8) as e, 5) as first
  c = linear(x[:, 0], 5) as second
  h = zeros([n, 5])
  hs = scan i in 0..t {
    h = tanh((linear(h, 5) as loop) + c) + 0.5 * e[:, i]
    yield h
  }
  y = einsum("tni,ij,jk->ntk", hs, a, b)
  loss = mean(y ** 2) + mean(xent(linear(y, 9) as cls, ids))
  minimize loss with sgd(0.05)
  return loss
}
entry infer(x : f32[n <= 6, t <= 9, 8], ids : u8[n, t]) {
  param a : f32[5, 8] = normal(std = 0.5)
  param b : f32[8, 6] = normal(std = 0.5)
  y = einsum("nti,ij,jk->ntk", linear(x, 5) as second, a, b)
  return y, s = sum(y)
}
END
sizes() { # sizes DIMS: the numbers, of $lets
  (eval "$(echo "$lets" | tr ' ' ';')" && IFS=, && for d in $1; do printf '%d,' $(($d)); done) | sed 's/,$//'
}
for seed in $seeds; do
  if [ -f $seed.g ]; then
    cp $seed.g net.g
  else
    run 0 python3 "$here/tests/e2e/random_extents.py" $seed
    cp out.txt net.g
  fi
  before=$failures level=-O2
  case $(sed -n 's/^entry train(//p' net.g) in
  *'v <= '*) extents='n=3,h=5,v=4 n=2,h=2,v=1' ;;
  *'* t <= 2'*) extents='n=2,t=700 n=1,t=1' ;;
  *'* t <= '*) extents='n=3,t=21 n=1,t=1' ;;
  *'t <= '*) extents='n=3,t=9 n=1,t=5' ;;
  *) extents='n=17 n=2' ;;
  esac
  case $seed in
  three) extents='n=3,t=9 n=1,t=9' ;;
  images | places) ;;
  orders) extents='n=1,t=2 n=3,t=1' ;;
  transformed) extents='n=2,h=10,v=8 n=2,h=2,v=3' ;; # transformed in the first, of some in the second
  *) [ "${GC_TEST_LEVEL-}" = full ] || extents=$(echo "$extents" | cut -d' ' -f$((drawn % 4 / 2 + 1))) ;;
  esac
  run 0 "$gc" net.g $level -o net
  for at in $extents; do
    lets=$(echo "$at" | tr ',' ' ')
    exact net "$lets"
    x=$(sed -n 's/^entry train(x : f32\[\([^]]*\)\].*/\1/p' net-exact.g) ids=$(sed -n 's/^entry train(.*ids : u8\[\([^]]*\)\].*/\1/p' net-exact.g)
    "$mkdata" npy f32 "$(sizes "$x")" 1 x.npy && "$mkdata" npy u8 "$(sizes "$ids")" 2 ids.npy || fail 'no data could be made'
    rm -f exact.* bounded.*
    compare net train '--x x.npy --ids ids.npy --no-shuffle --epochs 2 --save OUT.safetensors' safetensors
    compare net infer "--x x.npy --ids ids.npy$(outputs y s)" y.npy s.npy
  done
  [ $failures = $before ] || { echo "the net of seed $seed:" && cat net.g; }
done
finish
