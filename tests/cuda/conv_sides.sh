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
need_nvrtc 'convolutions along bounded heights and widths on the PTX interpreter'
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
entry many(x : f32[n <= 3, 72, 2 * h <= 24, 2 * v <= 36], wa : f32[80, 72, 3, 3], wb : f32[136, 72, 1, 1], wc : f32[64, 72, 2, 2],
           da : f32[n, 80, 2 * h, 2 * v], db : f32[n, 136, 2 * h, 2 * v], dc : f32[n, 64, h, v]) {
  ga = grad(sum(conv2d(x, wa, 1, 1) * da), wa)
  gb = grad(sum(conv2d(x, wb, 1, 0) * db), wb)
  gc = grad(sum(conv2d(x, wc, 2, 0) * dc), wc)
  return ga, gb, gc
}
END
# data NAME SHAPE SEED
data() { "$mkdata" npy f32 "$2" "$3" "$1.npy" || fail "no data could be made: $1"; }
data wa 20,6,3,3 1 && data wb 18,3,5,4 2 && data wc 12,6,1,1 3 && data wd 9,6,3,3 4
data ma 80,72,3,3 1 && data mb 136,72,1,1 2 && data mc 64,72,2,2 3
# filters N H V: n images of 2 h rows and 2 v columns
filters() {
  data x "$1,6,$((2 * $2)),$((2 * $3))" 5 && data da "$1,20,$((2 * $2)),$((2 * $3))" 6 && data db "$1,18,$2,$3" 7 &&
    data dc "$1,12,$((2 * $2)),$((2 * $3))" 8
  sizes filters "n=$1 h=$2 v=$3" 'ga gb gc gd' --x x.npy --wa wa.npy --wb wb.npy --wc wc.npy --wd wd.npy --da da.npy --db db.npy --dc dc.npy
}
many() {
  data x "$1,72,$((2 * $2)),$((2 * $3))" 5 && data da "$1,80,$((2 * $2)),$((2 * $3))" 6 && data db "$1,136,$((2 * $2)),$((2 * $3))" 7 &&
    data dc "$1,64,$2,$3" 8
  sizes many "n=$1 h=$2 v=$3" 'ga gb gc' --x x.npy --wa ma.npy --wb mb.npy --wc mc.npy --da da.npy --db db.npy --dc dc.npy
}
# sizes_of ARCH PRECISION: those of a few images, of narrow and of wide ones
sizes_of() {
  arch=$1 options=--precision=$2 most=
  compile filters.g --target=cuda --arch=$arch $options -o filters
  filters 5 3 3
  filters 1 9 7
  filters 2 22 20
  compile many.g --target=cuda --arch=$arch $options -o many
  many 3 3 4
  many 1 5 9
  many 2 11 18
}
sizes_of compute_80 bf16
sizes_of compute_80 tf32
finish
