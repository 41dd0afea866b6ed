#!/bin/sh
# loops.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: executables with loops, in the PTX interpreter. Nested ones
# and their gradients give the CPU's results in a graph, poisoned, and profiled; the recurrent example
# trains as on the CPU and writes. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
here=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/common.sh"
scratch "$4"
need_nvrtc 'loops on the PTX interpreter'
cat >nested.g <<'END'
entry f(x : f32[3, 2, 4, 3], w : f32[5, 5], u : f32[3, 5]) {
  g = zeros([4, 5])
  n = zeros([])
  state seen : f32[4, 5] = zeros()
  ys = scan i in 0..3 {
    h = g
    scan j in 0..2 {
      h, g = tanh(x[i, j] @ u + h @ w), h * 0.5 + f32(i - j)
      n = n + f32(i * 2 + j)
    }
    seen := seen + h
    yield g + h
  }
  loss = sum(g * g) + sum(ys * ys)
  return loss, ys, n, seen, gx = grad(loss, x), gw = grad(loss, w), gu = grad(loss, u)
}
END
compile nested.g --target=cuda,cpu --arch=sm_80 -o nested
"$mkdata" npy f32 3,2,4,3 3 x.npy
"$mkdata" npy f32 5,5 4 w.npy
"$mkdata" npy f32 3,5 5 u.npy
inputs='--x x.npy --w w.npy --u u.npy'
./nested f $inputs --device cpu >want 2>&1 || fail 'on the CPU'
for mode in '' --poison '--profile p.json'; do
  LD_LIBRARY_PATH=$driver ./nested f $inputs --device cuda $mode >out 2>&1 || fail "on the GPU $mode"
  head -c "$(stat -c %s want)" out | cmp -s - want || fail "other results than the CPU's $mode"
done

compile "$here/docs/examples/lstm.g" -D B=4 -D T=6 -D D=8 -D H=16 -D V=128 --target=cuda,cpu --arch=sm_80 -o lstm
cat "$here"/docs/*.md | head -c 1000 >text.txt
rows='--chars text.txt~6[0:24] --next text.txt+1~6[0:24]'
./lstm train $rows --epochs 1 --seed 4 --device cpu --log cpu.csv >out 2>&1 || fail 'training on the CPU'
LD_LIBRARY_PATH=$driver ./lstm train $rows --epochs 1 --seed 4 --device cuda --log gpu.csv --save w.safetensors \
  >out 2>&1 || fail 'training on the GPU'
worst=$(paste -d, cpu.csv gpu.csv | sed 1d |
  awk -F, '{d = ($3 - $(NF / 2 + 3)) / $3; if (d < 0) d = -d; if (d > w) w = d; n++} END {print n ? w + 0 : 1}')
awk "BEGIN {exit !($worst < 1e-4)}" || fail "the losses differ by $worst"
LD_LIBRARY_PATH=$driver ./lstm write --load w.safetensors --steps 20 --text char --device cuda --quiet >out 2>&1 ||
  fail 'writing on the GPU'
[ "$(wc -c <out)" -ge 20 ] || fail 'it wrote too little'
finish
