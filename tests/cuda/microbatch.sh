#!/bin/sh
# microbatch.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: a batch in parts, in the PTX interpreter and on the CPU: the weights
# are those of the whole batch, to the last bit. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
unoptimised
scratch "$4"
need_nvrtc 'a batch in parts on the PTX interpreter'
cat >images.g <<'END'
def net(x) {
  a = relu(conv(x, 9, 3) as a) # 16 x 32 pixels; below, of 8 x 16, six images a chunk
  b = tanh(conv(a, 6, 3, 2, groups = 3) as b)
  c = relu(conv(b, 6, 3, groups = 6) as c)
  return linear(flatten(conv_transpose(c, 5, 2, 2) as d), 5) as head
}
entry train(x : f32[12, 2, 16, 32], t : u8[12]) {
  loss = mean(xent(net(x), t % 5))
  minimize loss with sgd(0.1)
  return loss
}
END
cat >rows.g <<'END'
entry train(x : f32[2, 1024, 3], t : u8[2, 1024]) {
  loss = mean(xent(linear(tanh(linear(layernorm(x) as norm, 5) as up), 7) as down, t % 7))
  minimize loss with sgd(0.1)
  return loss
}
END
before=fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce
behind=cheap-remat,fuse,layout,order,liveness,inplace,share,plan-verify
"$mkdata" npy f32 12,2,16,32 3 x.images.npy
"$mkdata" npy u8 12 4 t.images.npy
"$mkdata" npy f32 2,1024,3 5 x.rows.npy
"$mkdata" npy u8 2,1024 6 t.rows.npy
for net in images rows; do
  compile $net.g --target=cuda,cpu --arch=sm_80 --passes="$before,microbatch{parts=2}" --emit=ir -o $net.ir
  case $net in
  images) grep -q 'conv_filter_grad %[^,]*, %[^,]*, %' $net.ir || fail 'no sum is continued' ;;
  rows) grep -q 'f32\[2048,5\]' $net.ir && fail 'a dense layer is whole' ;;
  esac
  compile $net.g --target=cpu --passes="$before,$behind" -o whole
  compile $net.g --target=cuda,cpu --arch=sm_80 --passes="$before,microbatch{parts=2},$behind" -o parts
  run="train --x x.$net.npy --t t.$net.npy --epochs 2 --seed 5"
  # shellcheck disable=SC2086
  ./whole $run --save want >out 2>&1 || fail "$net whole, on the CPU"
  # shellcheck disable=SC2086
  ./parts $run --device cpu --save got >out 2>&1 || fail "$net in parts, on the CPU"
  cmp -s want got || fail "$net in parts on the CPU: other weights"
  rm -f got
  # shellcheck disable=SC2086
  env LD_LIBRARY_PATH="$driver" ./parts $run --device cuda --save got >out 2>&1 || fail "$net in parts, on the GPU"
  cmp -s want got || fail "$net in parts on the GPU: other weights"
  rm -f want got
done
finish
