#!/bin/sh
# Images made in blocks, so that none is whole: every weight is the same to the last bit. Blocks that differ in size,
# by images and by channels, odd pixels, windows that overlap with padding, a pool of means, a convolution
# without a bias, and one in groups, whose gradient stays whole.
. "$(dirname "$0")/common.sh"
unoptimised
cat >blocks.g <<'END'
let N = 5
hyper lr = 0.05
def net(x) {
  a = max_pool(relu(conv(x, 40, 3) as a), 2)
  b = max_pool(tanh(conv(a, 72, 3) as b) * 2, 3, 2, pad = 1)
  c = avg_pool(relu(conv(b, 136, 3, bias = false) as c), 2)
  d = max_pool(relu(conv(c, 272, 3, groups = 2) as d), 2)
  return linear(flatten(d), 10) as head
}
entry train(x : f32[N, 3, 21, 27], t : u8[N]) {
  loss = mean(xent(net(x), t % 10))
  minimize loss with sgd(lr)
  return loss
}
entry test(x : f32[N, 3, 21, 27]) {
  y = net(x)
  return best = argmax(y), y
}
END
before=fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce
behind=cheap-remat,fuse,layout,order,liveness,inplace,share,plan-verify
run 0 "$gc" blocks.g -O2 --passes="$before,image-tiles{all=1}" --emit=ir -o blocks.ir
grep -q '\[5,40,21,27\]' blocks.ir && fail "the first layer is whole: $(grep '\[5,40,21,27\]' blocks.ir | head -3)"
"$mkdata" npy f32 10,3,21,27 7 x.npy && "$mkdata" npy u8 10 8 t.npy || fail 'no data could be made'
run 0 "$gc" blocks.g -O2 --passes="$before,$behind" -o whole
run 0 "$gc" blocks.g -O2 --passes="$before,image-tiles{all=1},$behind" -o parts
for version in whole parts; do
  run 0 ./$version train --x x.npy --t t.npy --epochs 2 --seed 3 --save $version.safetensors --poison
  run 0 ./$version test --x x.npy --load $version.safetensors --best best.$version.npy --y y.$version.npy
done
same whole.safetensors parts.safetensors weights
same y.whole.npy y.parts.npy 'what the net gives'
finish
