#!/bin/sh
# conv_sides.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: convolutions on tensor cores and their gradients along bounded heights, widths and
# batches, in the PTX interpreter: the bits of the program compiled for the sizes, whatever code takes fewest clocks at either. Exit
# code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/bounded.sh"
unoptimised
scratch "$4"
need_nvrtc 'convolutions along bounded heights and widths on the PTX interpreter' mid
# gradients with respect to filters: boxes of 8, 16 and 32 columns, of strides, dilation and groups; tiles of few pixels
cat >filters.g <<'END'
entry filters(x : f32[n <= 5, 6, 2 * h <= 44, 2 * v <= 40], wa : f32[20, 6, 3, 3], wb : f32[18, 3, 5, 4], wc : f32[12, 6, 1, 1],
              wd : f32[9, 6, 3, 3], da : f32[n, 20, 2 * h, 2 * v], db : f32[n, 18, h, v], dc : f32[n, 12, 2 * h, 2 * v]) {
  ga = grad(sum(conv2d(x, wa, 1, 1) * da), wa)
  gb = grad(sum(conv2d(x, wb, 2, [2, 1], groups = 2) * db), wb)
  gc = grad(sum(conv2d(x, wc, 1, 0) * dc), wc)
  gd = grad(sum(conv2d(x, wd, 1, 2, dilation = 2) * da[:, :9]), wd)
  return ga, gb, gc, gd
}
END
# the same of many channels, and of patches
cat >many.g <<'END'
entry many(x : f32[n <= 3, 72, 2 * h <= 24, 2 * v <= 36], z : f32[n, 72, h, v], wa : f32[80, 72, 3, 3], wb : f32[136, 72, 1, 1],
           wc : f32[64, 72, 2, 2], da : f32[n, 80, 2 * h, 2 * v], db : f32[n, 136, h, v], dc : f32[n, 64, h, v]) {
  ga = grad(sum(conv2d(x, wa, 1, 1) * da), wa)
  gb = grad(sum(conv2d(z, wb, 1, 0) * db), wb)
  gc = grad(sum(conv2d(x, wc, 2, 0) * dc), wc)
  return ga, gb, gc
}
END
# by warpgroups: of strides, phases and dilation
cat >groups.g <<'END'
entry groups(x : f32[n <= 2, 64, 2 * h <= 14, 2 * v <= 18], wa : f32[128, 64, 3, 3], wb : f32[128, 64, 4, 4], wc : f32[64, 64, 3, 3],
             da : f32[n, 128, 2 * h, 2 * v], db : f32[n, 128, h, v], dc : f32[n, 64, 2 * h, 2 * v]) {
  a = conv2d(x, wa, 1, 1)
  b = conv2d(x, wb, 2, 1)
  c = conv2d(x, wc, 1, 2, dilation = 2)
  gx, ga, gb, gc = grad(sum(a * da) + sum(b * db) + sum(c * dc), [x, wa, wb, wc])
  return a, b, c, gx, ga, gb, gc
}
END
# ... and of patches; of few images the sums of a part exceed their room in scratch, whose code is by warps
cat >patches.g <<'END'
entry patches(x : f32[n <= 6, 6, 8 * h <= 128, 16 * v <= 128], w : f32[120, 6, 8, 16], dy : f32[n, 120, h, v]) {
  y = conv2d(x, w, [8, 16], 0)
  gw = grad(sum(y * dy), w)
  return y, gw
}
END
# rows of k-tiles of their own, for each row of the filter: images are wide
cat >wide.g <<'END'
entry wide(x : f32[n <= 2, 64, h <= 5, v <= 400], w : f32[128, 64, 3, 3], dy : f32[n, 128, h, v]) {
  u, k = f16(x), f16(w)
  y = f32(conv2d(u, k, 1, 1))
  gx, gw = grad(sum(y * dy), [u, k])
  return y, gx = f32(gx), gw = f32(gw)
}
END
# data NAME SHAPE SEED
data() { "$mkdata" npy f32 "$2" "$3" "$1.npy" || fail "no data could be made: $1"; }
data wa 20,6,3,3 1 && data wb 18,3,5,4 2 && data wc 12,6,1,1 3 && data wd 9,6,3,3 4
data ga 128,64,3,3 1 && data gb 128,64,4,4 2 && data gc 64,64,3,3 3 && data w 128,64,3,3 4 && data pw 120,6,8,16 5
data ma 80,72,3,3 1 && data mb 136,72,1,1 2 && data mc 64,72,2,2 3
# filters N H V: n images of 2 h rows and 2 v columns
filters() {
  data x "$1,6,$((2 * $2)),$((2 * $3))" 5 && data da "$1,20,$((2 * $2)),$((2 * $3))" 6 && data db "$1,18,$2,$3" 7 &&
    data dc "$1,12,$((2 * $2)),$((2 * $3))" 8
  sizes filters "n=$1 h=$2 v=$3" 'ga gb gc gd' --x x.npy --wa wa.npy --wb wb.npy --wc wc.npy --wd wd.npy --da da.npy --db db.npy --dc dc.npy
}
many() {
  data x "$1,72,$((2 * $2)),$((2 * $3))" 5 && data da "$1,80,$((2 * $2)),$((2 * $3))" 6 && data db "$1,136,$2,$3" 7 &&
    data dc "$1,64,$2,$3" 8 && data z "$1,72,$2,$3" 9
  sizes many "n=$1 h=$2 v=$3" 'ga gb gc' --x x.npy --z z.npy --wa ma.npy --wb mb.npy --wc mc.npy --da da.npy --db db.npy --dc dc.npy
}
groups() {
  data x "$1,64,$((2 * $2)),$((2 * $3))" 5 && data da "$1,128,$((2 * $2)),$((2 * $3))" 6 && data db "$1,128,$2,$3" 7 &&
    data dc "$1,64,$((2 * $2)),$((2 * $3))" 8
  sizes groups "n=$1 h=$2 v=$3" 'a b c gx ga gb gc' --x x.npy --wa ga.npy --wb gb.npy --wc gc.npy --da da.npy --db db.npy --dc dc.npy
}
patches() {
  data x "$1,6,$((8 * $2)),$((16 * $3))" 5 && data dy "$1,120,$2,$3" 6
  sizes patches "n=$1 h=$2 v=$3" 'y gw' --x x.npy --w pw.npy --dy dy.npy
}
wide() {
  data x "$1,64,$2,$3" 5 && data dy "$1,128,$2,$3" 6
  sizes wide "n=$1 h=$2 v=$3" 'y gx gw' --x x.npy --w w.npy --dy dy.npy
}
# sizes_of ARCH PRECISION: those of a few images, of narrow and of wide ones; the largest, and more of tf32, at the level full
full() { [ "${GC_TEST_LEVEL-}" = full ]; }
sizes_of() {
  arch=$1 options=--precision=$2 most=
  compile filters.g --target=cuda --arch=$arch $options -o filters
  filters 1 9 7
  compile many.g --target=cuda --arch=$arch $options -o many
  many 1 5 9
  if full || [ "$2" = bf16 ]; then filters 5 3 3 && filters 2 22 20; fi
  if full || [ "$arch" = compute_90a ]; then many 3 11 17; fi
  if full; then many 3 12 18; fi
}
sizes_of compute_80 bf16
sizes_of compute_80 tf32
export FAKECUDA_CC=9.0
unset GC_NVRTC_OPTIONS # less of its optimiser moves registers that a wgmma still writes
sizes_of compute_90a bf16
compile groups.g --target=cuda --arch=$arch $options -o groups
groups 2 7 9
groups 2 3 5
compile wide.g --target=cuda --arch=$arch $options -o wide
wide 2 3 17
wide 1 5 371
compile patches.g --target=cuda --arch=$arch $options -o patches
patches 5 16 7
patches 1 9 8
for p in filters many groups wide patches; do "$gc" $p.g --target=cuda --arch=sm_90a --precision=bf16 --print-schedules; done >forms 2>&1
for form in 'filter .* tensor_box.high=[1-9]' 'filter .* wgmma.columns=[1-9][0-9]* wgmma.along=0' 'filter .* wgmma.columns=[1-9][0-9]* wgmma.along=[1-9]' \
  'filter .* wgmma.columns=0 .* wgmma.by_rows=no .* wgmma.cluster=[1-9]' 'filter .* wgmma.columns=0 .* wgmma.by_rows=yes' 'conv conv .* taps=9 .* wgmma.by_rows=no wgmma.along=0 wgmma.images=2' \
  'conv conv .* taps=16 .* wgmma.images=2' 'conv_input_grad conv .* taps=16 .* wgmma.images=2' 'conv conv .* wgmma.by_rows=yes' 'conv_input_grad conv .* wgmma.by_rows=yes' \
  'conv conv .* wgmma.rows=[1-9] .* wgmma.along=[1-9]'; do
  grep -q "^cuda .*$form" forms || fail "no kernel is '$form'"
done
# numbers of pixels are ints
echo 'entry large(x : bf16[n <= 2, 1, h <= 40000, v <= 40000], w : bf16[8, 1, 3, 3]) { return y = conv2d(x, w, 1, 1) }' >large.g
"$gc" large.g --target=cuda --emit=cuda -o large.cu >out 2>&1 && fail 'images of more pixels than numbers have room for are taken'
grep -q 'error: images have more than 1073741823 pixels at the bounds of their extents' out || fail 'no message says why large images are refused'
finish
