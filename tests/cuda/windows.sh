#!/bin/sh
# windows.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: convolutions and their gradients along bounded axes, in the PTX interpreter:
# the bits of the program compiled for the sizes, and its warp instructions; and products of bounded batches, rows and depths
# on tensor cores, whose depth thread blocks share: the bits. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/bounded.sh"
unoptimised
scratch "$4"
need_nvrtc 'windows along bounded axes on the PTX interpreter' mid
cat >tiles.g <<'END'
entry tiles(x : f32[n <= 2, 4, 4 * h <= 64, 3 * v <= 24], dy : f32[n, 16, 2 * h, 3 * v], wa : f32[16, 4, 3, 3],
            wb : f32[16, 1, 5, 5], wc : f32[16, 16, 3, 3]) {
  a = conv2d(x, wa, 1, 1)
  b = conv2d(a, wb, 1, 2, groups = 16)
  c = conv2d(b, wc, [2, 1], 1)
  gx, ga, gb, gc = grad(sum(c * dy), [x, wa, wb, wc])
  return c, gx, ga, gb, gc
}
END
cat >planes.g <<'END'
entry planes(x : f32[2, 64, 4 * h <= 32, 3 * v <= 12], w : f32[64, 1, 7, 7], dy : f32[2, 64, 4 * h, 3 * v]) {
  y = conv2d(x, w, 1, 3, groups = 64)
  gx = grad(sum(y * dy), x)
  return y, gx
}
END
cat >halves.g <<'END'
# exact sums on tensor cores, whose chunks are fewer pixels than those of f32
entry halves(x : u8[n <= 40, 8, 2 * h <= 16, 6], dy : u8[n, 16, 2 * h, 6], w : u8[16, 8, 3, 3]) {
  u, k = bf16(x), bf16(w)
  y = f32(conv2d(u, k, 1, 1))
  gx, gw = grad(sum(y * f32(dy)), [u, k])
  return y, gx = f32(gx), gw = f32(gw)
}
END
cat >deep.g <<'END'
# the same, of more channels and taps than a block's filters in shared memory
entry deep(x : u8[n <= 2, 132, 2 * h <= 8, 6], w : u8[16, 132, 3, 3]) { return y = f32(conv2d(bf16(x), bf16(w), 1, 1)) }
END
cat >boxes.g <<'END'
# exact sums on tensor cores, by boxes of pixels
entry boxes(x : u8[n <= 4, 6, 2 * h <= 16, 3 * v <= 24], dy : u8[n, 12, 2 * h, 3 * v], w : u8[12, 6, 7, 5]) {
  u, k = bf16(x), bf16(w)
  y = f32(conv2d(u, k, 1, [3, 2]))
  gx, gw = grad(sum(y * f32(dy)), [u, k])
  return y, gx = f32(gx), gw = f32(gw)
}
END
# of filters of one tap and of patches, copied as they lie
cat >copied.g <<'END'
entry copied(x : u8[n <= 32, 6, 128, 128], dx : u8[n, 120, 16, 8], y : u8[m <= 19, 255, 12, 14], dy : u8[m, 129, 12, 14],
             a : u8[120, 6, 8, 16], b : u8[129, 255, 1, 1]) {
  p, q = bf16(a), bf16(b)
  ga = grad(sum(f32(conv2d(bf16(x), p, [8, 16], 0)) * f32(dx)), p)
  gb = grad(sum(f32(conv2d(bf16(y), q, 1, 0)) * f32(dy)), q)
  return ga = f32(ga), gb = f32(gb)
}
END
# element-wise, in vectors, of rows that end within one
cat >rest.g <<'END'
entry rest(x : u8[2, 4, n <= 8, 3 * v <= 768]) { return y = f32(x) * 2 + 1 }
END
# parts of the depth: their number depends on the rows (one of more than 249), on the depth, and on the batch
cat >rows.g <<'END'
entry rows(x : f32[n <= 300, 1400], w : f32[1400, 320]) { return y = f32(bf16(x) @ bf16(w)) }
END
cat >depth.g <<'END'
entry depth(x : f32[n <= 3000, 64], w : f32[n, 72]) { return y = f32(transpose(bf16(x)) @ bf16(w)) }
END
# attention of halves; of few queries, each run decides whether thread blocks share the keys, as of 5 and 390, not of 20
cat >attend.g <<'END'
entry attend(q : f32[n <= 2, 2, t <= 150, 96], k : f32[n, 1, t, 96], dy : f32[n, 2, t, 96]) {
  a, b = bf16(q), bf16(k)
  y = attention(a, b, b, causal = true)
  ga, gb = grad(sum(f32(y) * dy), [a, b])
  return y = f32(y), ga = f32(ga), gb = f32(gb)
}
END
cat >few.g <<'END'
entry few(q : f32[1, 2, m <= 20, 256], k : f32[1, 1, t <= 400, 256]) { return y = f32(attention(f16(q), f16(k), f16(k))) }
END
cat >batch.g <<'END'
entry batch(x : f32[n <= 40, 16, 1400], w : f32[n, 1400, 64]) { return y = relu(f32(bf16(x) @ bf16(w))) }
END
{
  "$mkdata" npy u8 12,6,7,5 8 kb.npy && "$mkdata" npy u8 16,132,3,3 9 kd.npy && "$mkdata" npy f32 16,4,3,3 3 wa.npy && "$mkdata" npy f32 16,1,5,5 4 wb.npy && "$mkdata" npy f32 16,16,3,3 5 wc.npy &&
    "$mkdata" npy f32 64,1,7,7 6 w.npy && "$mkdata" npy u8 16,8,3,3 7 k.npy
} || fail 'no data could be made'
for p in tiles planes halves boxes deep; do compile $p.g --target=cuda --arch=compute_80 -o $p; done

arch=compute_80 most=115
# all of the image, or a part of it: one of them on a commit, the other on the next
whole=yes part=yes
if [ "${GC_TEST_LEVEL-}" = full ]; then
  :
elif is_drawn windows_in_part 2; then
  whole=
else
  part=
fi
if [ -n "$whole" ]; then
  "$mkdata" npy f32 2,4,32,24 1 x.npy && "$mkdata" npy f32 2,16,16,24 2 dy.npy || fail 'no data could be made'
  sizes tiles 'n=2 h=8 v=8' 'c gx ga gb gc' --x x.npy --dy dy.npy --wa wa.npy --wb wb.npy --wc wc.npy
fi
if [ -n "$part" ]; then
  "$mkdata" npy f32 1,4,12,15 1 x.npy && "$mkdata" npy f32 1,16,6,15 2 dy.npy || fail 'no data could be made'
  sizes tiles 'n=1 h=3 v=5' 'c gx ga gb gc' --x x.npy --dy dy.npy --wa wa.npy --wb wb.npy --wc wc.npy
fi
"$mkdata" npy f32 2,64,16,12 1 x.npy && "$mkdata" npy f32 2,64,16,12 2 dy.npy || fail 'no data could be made'
sizes planes 'h=4 v=4' 'y gx' --x x.npy --dy dy.npy --w w.npy
if [ -n "$part" ]; then
  "$mkdata" npy u8 40,8,16,6 1 x.npy && "$mkdata" npy u8 40,16,16,6 2 dy.npy || fail 'no data could be made'
  sizes halves 'n=40 h=8' 'y gx gw' --x x.npy --dy dy.npy --w k.npy
fi
if [ -n "$whole" ]; then
  "$mkdata" npy u8 33,8,8,6 1 x.npy && "$mkdata" npy u8 33,16,8,6 2 dy.npy || fail 'no data could be made'
  sizes halves 'n=33 h=4' 'y gx gw' --x x.npy --dy dy.npy --w k.npy
  "$mkdata" npy u8 1,132,6,6 1 x.npy || fail 'no data could be made'
  sizes deep 'n=1 h=3' y --x x.npy --w kd.npy
  "$mkdata" npy u8 3,6,10,18 1 x.npy && "$mkdata" npy u8 3,12,10,18 2 dy.npy || fail 'no data could be made'
  sizes boxes 'n=3 h=5 v=6' 'y gx gw' --x x.npy --dy dy.npy --w kb.npy
fi
"$mkdata" npy u8 2,4,8,603 1 x.npy || fail 'no data could be made'
compile rest.g --target=cuda --arch=$arch -o rest
most=300 && sizes rest 'n=8 v=201' y --x x.npy && most=115
# parts ARCH ROWS DEPTH BATCH LENGTH FEW KEYS: at these extents
parts() {
  arch=$1 most=
  "$mkdata" npy f32 "$2,1400" 1 x.npy && "$mkdata" npy f32 1400,320 2 w.npy && "$mkdata" npy f32 "$3,64" 1 dx.npy &&
    "$mkdata" npy f32 "$3,72" 2 dw.npy && "$mkdata" npy f32 "$4,16,1400" 1 bx.npy && "$mkdata" npy f32 "$4,1400,64" 2 bw.npy ||
    fail 'no data could be made'
  "$mkdata" npy f32 "2,2,$5,96" 1 aq.npy && "$mkdata" npy f32 "2,1,$5,96" 2 ak.npy && "$mkdata" npy f32 "2,2,$5,96" 3 ady.npy &&
    "$mkdata" npy f32 "1,2,$6,256" 1 fq.npy && "$mkdata" npy f32 "1,1,$7,256" 2 fk.npy || fail 'no data could be made'
  for p in rows depth batch attend few; do compile $p.g --target=cuda --arch=$arch -o $p; done
  sizes rows "n=$2" y --x x.npy --w w.npy
  sizes depth "n=$3" y --x dx.npy --w dw.npy
  sizes batch "n=$4" y --x bx.npy --w bw.npy
  sizes few "m=$6 t=$7" y --q fq.npy --k fk.npy
  [ $arch = compute_90a ] || most=115 # there the exact program's code is another
  sizes attend "n=2 t=$5" 'y ga gb' --q aq.npy --k ak.npy --dy ady.npy
}
[ -z "$whole" ] || parts compute_80 280 2500 7 75 5 390
export FAKECUDA_CC=9.0
if [ -n "$part" ]; then
  parts compute_90a 100 1300 30 70 3 400
  "$mkdata" npy u8 120,6,8,16 5 a.npy && "$mkdata" npy u8 129,255,1,1 6 b.npy || fail 'no data could be made'
  compile copied.g --target=cuda --arch=$arch -o copied
  for n in 9 1; do # of one image a part's sums exceed their room in scratch: other code
    "$mkdata" npy u8 $n,6,128,128 1 x.npy && "$mkdata" npy u8 $n,120,16,8 2 dx.npy && "$mkdata" npy u8 $n,255,12,14 3 y.npy &&
      "$mkdata" npy u8 $n,129,12,14 4 dy.npy || fail 'no data could be made'
    sizes copied "n=$n m=$n" 'ga gb' --x x.npy --dx dx.npy --y y.npy --dy dy.npy --a a.npy --b b.npy
  done
fi
for p in tiles planes halves boxes deep rows depth batch; do "$gc" $p.g --target=cuda --arch=compute_80 --print-schedules; done >forms 2>&1
"$gc" copied.g --target=cuda --arch=sm_90a --print-schedules >>forms 2>&1
for form in 'conv conv .* tensor=yes .* tensor_box.high=0' 'conv conv .* box.width=[1-9]' 'conv_input_grad conv .* bm=32' 'conv conv .* planes.units=[1-9]' 'filter .* tensor=no .* box.pixels=[1-9]' \
  'depthwise.units=[1-9]' 'conv conv .* tensor=yes' 'conv_input_grad conv .* tensor=yes' 'filter .* tensor=yes' 'conv_input_grad elements' \
  'filter .* wgmma.columns=[1-9][0-9]* wgmma.along=0' 'filter .* wgmma.columns=[1-9][0-9]* wgmma.along=[1-9]' 'batch=1 m=300 .* most=5' 'k=3000 .* most=[1-9]' 'batch=40 .* most=[1-9]' 'conv conv .* tensor_box.high=[1-9]' 'conv_input_grad conv .* tensor_box.high=[1-9]' 'filter .* tensor_box.high=[1-9]'; do
  grep -q "^cuda .*$form" forms || fail "no kernel is '$form'"
done
finish
