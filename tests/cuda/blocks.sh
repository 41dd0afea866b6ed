#!/bin/sh
# blocks.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: images in blocks, in the PTX interpreter and on the CPU: the weights
# are those of images that are whole, to the last bit. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
unoptimised
scratch "$4"
need_nvrtc 'images in blocks on the PTX interpreter'
cat >net.g <<'END'
def net(x) {
  a = max_pool(relu(conv(x, 33, 3) as a), 2)
  b = max_pool(tanh(conv(a, 48, 3) as b), 3, 2, pad = 1)
  return linear(flatten(b), 5) as head
}
entry train(x : f32[3, 2, 9, 10], t : u8[3]) {
  loss = mean(xent(net(x), t % 5))
  minimize loss with sgd(0.1)
  return loss
}
END
before=fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce
behind=cheap-remat,fuse,layout,order,liveness,inplace,share,plan-verify
compile net.g --target=cuda,cpu --arch=compute_80 --passes="$before,image-tiles{all=1}" --emit=ir -o net.ir
grep -q '\[3,33,9,10\]' net.ir && fail 'the first layer is whole'
compile net.g --target=cpu --passes="$before,$behind" -o whole
compile net.g --target=cuda,cpu --arch=compute_80 --passes="$before,image-tiles{all=1},$behind" -o parts
"$mkdata" npy f32 6,2,9,10 3 x.npy
"$mkdata" npy u8 6 4 t.npy
run='train --x x.npy --t t.npy --epochs 2 --seed 5'
./whole $run --save want >out 2>&1 || fail 'whole, on the CPU'
./parts $run --device cpu --save got >out 2>&1 || fail 'in blocks, on the CPU'
cmp -s want got || fail 'in blocks on the CPU: other weights'
rm -f got
env LD_LIBRARY_PATH="$driver" ./parts $run --device cuda --save got >out 2>&1 || fail 'in blocks, on the GPU'
cmp -s want got || fail 'in blocks on the GPU: other weights'
finish
