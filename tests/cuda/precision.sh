#!/bin/sh
# precision.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: executables at every precision train on tensor cores, in the
# PTX interpreter, as they do on the CPU: the same losses but for the order of sums, the same to the last bit
# when run again. Before sm_80 nothing is on tensor cores. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
unoptimised
scratch "$4"
need_nvrtc 'training at every precision on the PTX interpreter' min
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
once=tf32 # runs in one order of warps, the other one in two; on the next commit it is the other way round
is_drawn orders 2 && once=bf16
[ "${GC_TEST_LEVEL-}" = full ] && once=
for p in tf32 bf16; do
  compile net.g --precision=$p --target=cuda,cpu --arch=compute_80 --stats -o net
  run="--x x.npy --t t.npy --epochs 2 --seed 4 --threads 1 --quiet"
  ./net train $run --device cpu --log cpu.csv >out 2>&1 || fail "$p on the CPU"
  [ $p = "$once" ] && orders=0 || orders='0 1'
  for order in $orders; do
    FAKECUDA_ORDER=$order LD_LIBRARY_PATH=$driver ./net train $run --device cuda --log gpu$order.csv \
      --save w$order.safetensors >out 2>&1 || fail "$p on the interpreter, order $order"
  done
  [ "$orders" = 0 ] || cmp -s w0.safetensors w1.safetensors || fail "$p: the order of warps changes the weights"
  paste -d, cpu.csv gpu0.csv | awk -F, -v p=$p '
    NR > 1 { d = $3 - $(NF / 2 + 3); if (d < 0) d = -d; if (d > most) most = d; n++ }
    END { printf "%s: %d losses, the farthest %g apart\n", p, n, most; exit !(n == 8 && most < 2e-3) }' ||
    fail "$p: the losses differ"
done
# before sm_80: ordinary units for all architectures, said once, with the CPU's bits
cat >one.g <<'END'
entry f(x : f32[8, 40], w : f32[40, 48]) { return y = x @ w }
entry g(x : f16[8, 40], w : f16[40, 48]) { return y = x @ w }
END
compile one.g --precision=tf32 --target=cuda --arch=sm_90,sm_75 --emit=cuda -o one.cu
[ "$(grep -c 'stay off tensor cores, for every architecture: --arch names sm_75' out)" -eq 1 ] ||
  fail 'for sm_90 and sm_75: not said once'
compile one.g --precision=bf16 --emit=ptx --arch=sm_75 -o one.ptx
grep -qE 'mma\.|cp\.async|ldmatrix' one.ptx && fail 'for sm_75: tensor cores are used'
LD_LIBRARY_PATH=$driver FAKECUDA_CC=7.5 "$gc" net.g --precision=bf16 -o net >out 2>&1 || fail 'a GPU from before sm_80'
run="--x x.npy[0:48] --t t.npy[0:48] --epochs 1 --seed 4 --quiet"
./net train $run --device cpu --save cpu.safetensors >out 2>&1 || fail 'on the CPU, what sm_75 does'
LD_LIBRARY_PATH=$driver FAKECUDA_CC=7.5 ./net train $run --device cuda --save gpu.safetensors >out 2>&1 ||
  fail 'bf16 on sm_75'
cmp -s cpu.safetensors gpu.safetensors || fail "bf16 on sm_75: not the CPU's bits"
compile one.g --emit=ptx --arch=sm_80 -o one.ptx
grep -q 'mma\.sync' one.ptx || fail 'f16 for sm_80: no tensor cores are used'
grep -q note out && fail "sm_80: $(cat out)"
# with --exact NaN, too, has the bits of the CPU, whose processor makes another
cat >nan.g <<'END'
entry e(x : f32[48]) {
  y = (x - x) / (x - x)
  return y, h = f16(-y), d = f64(y), sum = sum(y)
}
END
"$mkdata" npy f32 48 linear nan.npy
compile nan.g --exact --target=cuda,cpu --arch=compute_80 -o nan
for device in cpu cuda; do
  mkdir $device
  LD_LIBRARY_PATH=$driver ./nan e --x nan.npy --y $device/y.npy --h $device/h.npy --d $device/d.npy \
    --sum $device/sum.npy --device $device >out 2>&1 || fail "NaN on $device"
done
diff -r cpu cuda >out || fail 'NaN has other bits on the GPU'
finish
