#!/bin/sh
# quantized_rows.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: products along bounded rows of f32 by quantized matrices, at other
# precisions than f32, and by a matrix whose rows begin anywhere, in the PTX interpreter: the bits of the program compiled
# for the rows, whose number decides neither what is rounded nor in which order. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
unoptimised 6 2 # fixed seeds have it at other times
scratch "$4"
need_nvrtc 'products by quantized matrices along bounded rows on the PTX interpreter' mid
# parts of the depth, also of groups longer than what parts are multiples of; a sum that reads what a product does
cat >rows.g <<'END'
entry rows(x : f32[n <= BOUND, 1472], q : u8[1472, 96], s : f32[46, 96], p : u8[64, 736], r : f32[64, 6], w : f32[1472, 75]) {
  a = x @ dequantize(i8(i32(q) - 128), bf16(s))
  b = relu(x @ dequantize(p, bf16(r), axis = 1, group = 256)') + 1
  return a, b, c = sum(x, -1), d = x @ (w + 1e-3)
}
END
"$mkdata" npy u8 1472,96 2 q.npy && "$mkdata" npy f32 46,96 3 s.npy && "$mkdata" npy u8 64,736 4 p.npy &&
  "$mkdata" npy f32 64,6 5 r.npy && "$mkdata" npy f32 1472,75 6 w.npy || fail 'no data could be made'

# runs PROGRAM NAME ROWS
runs() {
  LD_LIBRARY_PATH="$driver" ./"$1" rows --x "x$3.npy" --q q.npy --s s.npy --p p.npy --r r.npy --w w.npy --a "$2.a.npy" --b "$2.b.npy" \
    --c "$2.c.npy" --d "$2.d.npy" --device cuda --quiet >out 2>&1 || fail "$1 of $3 rows"
}
# rows PRECISION ARCH BOUND ROWS…: at these of as many as the bound
rows() {
  how="--precision=$1 --target=cuda --arch=$2" bound=$3
  shift 3
  sed "s/BOUND/$bound/" rows.g >bounded.g
  compile bounded.g $how -o bounded
  for n; do
    "$mkdata" npy f32 "$n,1472" 1 "x$n.npy" || fail 'no data could be made'
    sed "s/n <= BOUND/$n/" rows.g >exact.g
    compile exact.g $how -o exact
    runs bounded bounded "$n"
    runs exact exact "$n"
    for o in a b c d; do same "bounded.$o.npy" "exact.$o.npy"; done
  done
}
rows bf16 compute_80 70 1 32 33
rows bf16 compute_80 15 6 # the run decides how many parts the warps do
rows tf32 compute_80 70 32 33
export FAKECUDA_CC=9.0
rows bf16 compute_90a 300 20 129
finish
