#!/bin/sh
# precision.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: executables at every precision train on tensor cores, in the
# PTX interpreter, as they do on the CPU: the same losses but for the order of sums, the same to the last bit
# when run again. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
scratch "$4"
need_nvrtc 'training at every precision on the PTX interpreter'
cat >net.g <<'END'
let N = 48
def net(x : f32[n, 40]) {
  h = layernorm(gelu(linear(x, 72) as a)) as n
  h = reshape(h, [N, 3, 24]) @ transpose(reshape(h, [N, 3, 24]), [0, 2, 1])
  return linear(relu(linear(reshape(h, [N, 9]), 33) as b), 4) as c      # 33: rows of odd lengths
}
entry train(x : f32[N, 40], t : u8[N]) {
  loss = mean(xent(net(x), t))
  minimize loss with adamw(1e-2)
  return loss
}
END
"$mkdata" npy f32 192,40 3 x.npy
"$mkdata" npy u8 192 5 t.npy
for p in tf32 bf16; do
  compile net.g --precision=$p --target=cuda,cpu --arch=sm_80 --stats -o net
  run="--x x.npy --t t.npy --epochs 2 --seed 4 --threads 1 --quiet"
  ./net train $run --device cpu --log cpu.csv >out 2>&1 || fail "$p on the CPU"
  for order in 0 1; do
    FAKECUDA_ORDER=$order LD_LIBRARY_PATH=$driver ./net train $run --device cuda --log gpu$order.csv \
      --save w$order.safetensors >out 2>&1 || fail "$p on the interpreter, order $order"
  done
  cmp -s w0.safetensors w1.safetensors || fail "$p: the order of warps changes the weights"
  paste -d, cpu.csv gpu0.csv | awk -F, -v p=$p '
    NR > 1 { d = $3 - $(NF / 2 + 3); if (d < 0) d = -d; if (d > most) most = d; n++ }
    END { printf "%s: %d losses, the farthest %g apart\n", p, n, most; exit !(n == 8 && most < 2e-3) }' ||
    fail "$p: the losses differ"
done
finish
