#!/bin/sh
# Loops that run again for their ways back: the bits of a net whose memory has no limit, with dropout in the
# body, for numbers of steps with and without divisors.
. "$(dirname "$0")/common.sh"
cat >net.g <<'END'
hyper lr = 0.1
def loss_of(x : [t, n, d], y) {
  h, c = zeros([n, 16]), zeros([n, 16])
  hs = scan i in 0..t {
    h, c = lstm(dropout(x[i], 0.25), h, c) as l
    yield h
  }
  return mse(hs, y)
}
entry t12(x : f32[12, 32, 16], y : f32[12, 32, 16]) {
  loss = loss_of(x, y) as net
  minimize loss with sgd(lr)
  return loss
}
entry t13(x : f32[13, 32, 16], y : f32[13, 32, 16]) {
  loss = loss_of(x, y) as net
  minimize loss with sgd(lr)
  return loss
}
entry t50(x : f32[50, 12, 16], y : f32[50, 12, 16]) {
  loss = loss_of(x, y) as net
  minimize loss with sgd(lr)
  return loss
}
END
dims() { case $1 in t12) echo 12,32,16 ;; t13) echo 13,32,16 ;; t50) echo 50,12,16 ;; esac; }
for entry in t12 t13 t50; do
  "$mkdata" npy f32 "$(dims $entry)" 1 x_$entry.npy && "$mkdata" npy f32 "$(dims $entry)" 2 y_$entry.npy ||
    fail 'no data could be made'
done
for limit in 1G 160K; do
  run 0 "$gc" net.g -O2 --memory-limit=$limit --remarks=remat -o net_$limit
  cp out.txt remarks_$limit
  for entry in t12 t13 t50; do
    run 0 ./net_$limit $entry --x x_$entry.npy --y y_$entry.npy --steps 4 --seed 3 --poison --save w_${entry}_$limit.safetensors
    same w_${entry}_1G.safetensors w_${entry}_$limit.safetensors "$entry in $limit"
    [ $limit = 1G ] && continue
    arena=$(./net_$limit info $entry | sed -n 's/,//g; s/^ *arena *\([0-9]*\).*as planned.*/\1/p')
    at_most "$arena" $((${limit%K} * 1024)) "arena of $entry"
  done
done
for seed in 3 4; do
  run 0 ./net_160K t13 --x x_t13.npy --y y_t13.npy --steps 4 --seed $seed --save s$seed.safetensors
done
same s3.safetensors w_t13_1G.safetensors 'without poison'
cmp -s s3.safetensors s4.safetensors && fail 'dropout does not draw by the seed'
holds remarks_160K 'of 13 iterations of scan run again'
finish
