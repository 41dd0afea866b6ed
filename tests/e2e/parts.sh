#!/bin/sh
# Concatenated images and their gradients, made part by part: every weight is the same to the last bit. Odd numbers
# of channels, three parts, a part that others read, too, and a part that is an input.
. "$(dirname "$0")/common.sh"
unoptimised
cat >parts.g <<'END'
let N = 3
hyper lr = 0.05
entry train(x : f32[N, 3, 20, 24], t : u8[N]) {
  a = relu(conv(x, 5, 3) as a)
  j = concat([a, tanh(conv(a, 16, 3) as b), max_pool(a, 3, 1, pad = 1)], axis = 1)
  up = conv_transpose(conv(j, 9, 3, 2) as d, 6, 2, 2) as up
  k = relu(conv(concat([up, x], axis = 1), 7, 3) as f)
  loss = mean(xent(linear(global_avg_pool(k), 10) as head, t % 10))
  minimize loss with sgd(lr)
  return loss
}
END
before=fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce
behind=cheap-remat,fuse,layout,order,liveness,inplace,share,plan-verify
run 0 "$gc" parts.g -O2 --passes="$before,concat-split{all=1}" --emit=ir -o parts.ir
[ "$(grep -c ' = concat ' parts.ir)" = 2 ] || fail 'not only gradients of two filters are concatenated'
[ "$(grep -c ' = dynamic_update ' parts.ir)" = 3 ] || fail 'three parts are not written behind others'
"$mkdata" npy f32 9,3,20,24 7 x.npy && "$mkdata" npy u8 9 8 t.npy || fail 'no data could be made'
run 0 "$gc" parts.g -O2 --passes="$before,$behind" -o whole
run 0 "$gc" parts.g -O2 --passes="$before,concat-split{all=1},$behind" -o parts
for version in whole parts; do
  run 0 ./$version train --x x.npy --t t.npy --epochs 2 --seed 3 --save $version.safetensors --poison
done
same whole.safetensors parts.safetensors weights
finish
