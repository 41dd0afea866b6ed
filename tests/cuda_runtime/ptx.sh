#!/bin/sh
# The twin program on the PTX interpreter's driver, every check on: the CPU's bits in every way of running, in
# two orders of warps and blocks, and a failure of the device in the middle of training.
# usage: ptx.sh PROGRAM MKDATA DRIVER-DIRECTORY SCRATCH
set -eu
. "$(dirname "$0")/../runtime/check.sh"
model=$1 mkdata=$2 driver=$3
rm -rf "$4" && mkdir -p "$4" && cd "$4"

gpu() { # gpu CODE NAME ARGS...
  want=$1 name=$2
  shift 2
  checks=$((checks + 1)) code=0
  LD_LIBRARY_PATH=$driver "$model" "$@" --device cuda --threads 1 >out.txt 2>&1 || code=$?
  [ "$code" = "$want" ] || { fail "$name: exit code $code, not $want"; cat out.txt; }
}
cpu() {
  checks=$((checks + 1))
  "$model" "$@" --device cpu --threads 1 >cpu.txt 2>&1 || { fail "on the CPU: $*"; cat cpu.txt; }
}

"$mkdata" npy f32 100,4 1 x.npy
"$mkdata" npy f32 100,3 linear t.npy
printf '\001\002\000\005\001\001\001\001' >labels.bin
data='--x x.npy --target t.npy'
cpu train $data --epochs 3 --seed 5 --save w.safetensors --log log.csv
cpu predict --x x.npy --load w.safetensors --y y.npy
cpu generate --steps 30 --text char
cp cpu.txt text.txt
for FAKECUDA_ORDER in 0 1; do
  export FAKECUDA_ORDER
  gpu 0 train train $data --epochs 3 --seed 5 --save g.safetensors --log g.csv
  grep -q graph out.txt && { fail 'training without a graph'; cat out.txt; } || :
  same w.safetensors g.safetensors train
  same_log log.csv g.csv train
  gpu 0 poison train $data --epochs 3 --seed 5 --save g.safetensors --poison
  same w.safetensors g.safetensors poison
  gpu 0 profile train $data --epochs 3 --seed 5 --save g.safetensors --profile p.json
  same w.safetensors g.safetensors profile
  gpu 0 part train $data --steps 17 --seed 5 --checkpoint g.ckpt
  gpu 0 resume train $data --epochs 3 --resume g.ckpt --save g.safetensors
  same w.safetensors g.safetensors resume
  gpu 0 predict predict --x x.npy --load w.safetensors --expect y.npy --rtol 0 --atol 0
  gpu 0 generate generate --steps 30 --text char
  same text.txt out.txt generate
  gpu 1 fault classes --label labels.bin
  holds out.txt 'labels.bin: input row 3 holds 5, which is not below 3' fault
  FAKECUDA_FAIL=cuEventSynchronize:20:719 gpu 3 failure train $data --epochs 3 --save w.safetensors
  holds out.txt 'cuEventSynchronize failed: CUDA_ERROR_LAUNCH_FAILED (719)' failure
  cpu predict --x x.npy --load w.safetensors --expect y.npy --rtol 0 --atol 0
done
echo "$checks checks, $fails failed"
[ $fails = 0 ]
