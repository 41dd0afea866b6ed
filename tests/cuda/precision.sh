#!/bin/sh
# precision.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: executables at every precision train on tensor cores, in the
# PTX interpreter, as they do on the CPU: the same losses but for the order of sums, the same to the last bit
# when run again. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
rm -rf "$4" && mkdir -p "$4" && cd "$4" || exit 1
bad=0
fail() {
  echo "FAIL: $1"
  cat out 2>/dev/null
  bad=1
}
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
  if ! "$gc" net.g --precision=$p --target=cuda,cpu --arch=sm_80 --stats -o net >out 2>&1; then
    if grep -q NVRTC out; then
      echo "NOT TESTED: training at every precision on the PTX interpreter: there is no NVRTC"
      [ -n "${GC_NO_SKIP-}" ] && exit 1
      exit 77
    fi
    fail "compiling at $p"
    continue
  fi
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
[ "$bad" -eq 0 ] && echo passed
exit "$bad"
