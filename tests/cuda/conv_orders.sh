#!/bin/sh
# conv_orders.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: convolutions on tensor cores along bounded axes, in the PTX interpreter: the bits
# of the program compiled for the sizes, at sizes at which other code would be faster, whose sums have another order. Exit code 77
# and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/bounded.sh"
unoptimised
scratch "$4"
need_nvrtc 'orders of sums of convolutions along bounded axes on the PTX interpreter' mid
# by warps: the gradient of `wb` has few elements for its size; patches of 4 x 2; a filter for each channel
cat >warps.g <<'END'
entry warps(x : f32[n <= 64, 16, 4 * h <= 24, 4 * v <= 24], wa : f32[32, 16, 3, 3], wb : f32[16, 20, 1, 1], wc : f32[40, 32, 3, 3],
            wd : f32[12, 16, 4, 2], we : f32[16, 1, 3, 3], dy : f32[n, 16, 2 * h, 2 * v], dz : f32[n, 12, h, 2 * v]) {
  z = conv2d(x, wd, [4, 2], 0)
  a = conv2d(conv2d(x, we, 1, 1, groups = 16), wa, 1, 1)
  b = conv2d(a, wc, 2, 1)
  y = conv2d(b, wb, 1, 0, groups = 2)
  gb = grad(sum(y * dy), b)
  gx = grad(sum(y * dy) + sum(z * dz), x)
  return y, z, gb, gx
}
END
# by warpgroups, or, for few images, by boxes of pixels
cat >groups.g <<'END'
entry groups(x : f32[n <= 64, 48, 20, 20], wa : f32[96, 48, 3, 3], wb : f32[128, 96, 1, 1], wc : f32[64, 48, 2, 2],
             dy : f32[n, 128, 20, 20], dz : f32[n, 64, 10, 10]) {
  z = conv2d(x, wc, 2, 0)
  y = conv2d(conv2d(x, wa, 1, 1), wb, 1, 0)
  gx = grad(sum(y * dy) + sum(z * dz), x)
  return y, z, gx
}
END
# gradients with respect to filters: thread blocks share the images, in parts whose number each run decides; by tiles, by boxes,
# by clusters of warpgroups, and copied as they lie
cat >filters.g <<'END'
entry filters(x : f32[n <= 64, 16, 12, 12], y : f32[n, 64, 14, 14], wa : f32[32, 16, 3, 3], wb : f32[40, 2, 5, 5],
              wc : f32[72, 64, 3, 3], wd : f32[128, 64, 1, 1], we : f32[64, 64, 2, 2], da : f32[n, 32, 12, 12], db : f32[n, 40, 6, 6],
              dc : f32[n, 72, 14, 14], dd : f32[n, 128, 14, 14], de : f32[n, 64, 7, 7]) {
  ga = grad(sum(conv2d(x, wa, 1, 1) * da), wa)
  gb = grad(sum(conv2d(x, wb, 2, 2, groups = 8) * db), wb)
  gc = grad(sum(conv2d(y, wc, 1, 1) * dc), wc)
  gd = grad(sum(conv2d(y, wd, 1, 0) * dd), wd)
  ge = grad(sum(conv2d(y, we, 2, 0) * de), we)
  return ga, gb, gc, gd, ge
}
END
# warps N H V, groups N, filters N
warps() {
  "$mkdata" npy f32 "$1,16,$((4 * $2)),$((4 * $3))" 1 x.npy && "$mkdata" npy f32 "$1,16,$((2 * $2)),$((2 * $3))" 2 dy.npy &&
    "$mkdata" npy f32 "$1,12,$2,$((2 * $3))" 3 dz.npy || fail 'no data could be made'
  sizes warps "n=$1 h=$2 v=$3" 'y z gb gx' --x x.npy --dy dy.npy --dz dz.npy --wa wa.npy --wb wb.npy --wc wc.npy --wd wd.npy --we we.npy
}
groups() {
  "$mkdata" npy f32 "$1,48,20,20" 1 gx.npy && "$mkdata" npy f32 "$1,128,20,20" 2 gy.npy && "$mkdata" npy f32 "$1,64,10,10" 3 gz.npy ||
    fail 'no data could be made'
  sizes groups "n=$1" 'y z gx' --x gx.npy --dy gy.npy --dz gz.npy --wa ga.npy --wb gb.npy --wc gc.npy
}
filters() {
  "$mkdata" npy f32 "$1,16,12,12" 1 fx.npy && "$mkdata" npy f32 "$1,64,14,14" 2 fy.npy && "$mkdata" npy f32 "$1,32,12,12" 3 da.npy &&
    "$mkdata" npy f32 "$1,40,6,6" 4 db.npy && "$mkdata" npy f32 "$1,72,14,14" 5 dc.npy && "$mkdata" npy f32 "$1,128,14,14" 6 dd.npy &&
    "$mkdata" npy f32 "$1,64,7,7" 7 de.npy || fail 'no data could be made'
  sizes filters "n=$1" 'ga gb gc gd ge' --x fx.npy --y fy.npy --wa wa.npy --wb fb.npy --wc fc.npy --wd fd.npy --we fe.npy \
    --da da.npy --db db.npy --dc dc.npy --dd dd.npy --de de.npy
}
{
  "$mkdata" npy f32 40,2,5,5 1 fb.npy && "$mkdata" npy f32 72,64,3,3 2 fc.npy && "$mkdata" npy f32 128,64,1,1 3 fd.npy &&
    "$mkdata" npy f32 64,64,2,2 4 fe.npy || fail 'no data could be made'
  "$mkdata" npy f32 32,16,3,3 4 wa.npy && "$mkdata" npy f32 16,20,1,1 5 wb.npy && "$mkdata" npy f32 40,32,3,3 6 wc.npy &&
    "$mkdata" npy f32 12,16,4,2 7 wd.npy && "$mkdata" npy f32 16,1,3,3 8 we.npy &&
    "$mkdata" npy f32 96,48,3,3 4 ga.npy && "$mkdata" npy f32 128,96,1,1 5 gb.npy && "$mkdata" npy f32 64,48,2,2 6 gc.npy
} || fail 'no data could be made'
most= options=--precision=bf16
arch=compute_80
compile warps.g --target=cuda --arch=$arch $options -o warps
warps 1 3 3
warps 7 2 5
# the depth of boxes is that of tiles
compile groups.g --target=cuda --arch=$arch $options -o groups
groups 1
compile filters.g --target=cuda --arch=$arch $options -o filters
filters 14
export FAKECUDA_CC=9.0
unset GC_NVRTC_OPTIONS # less of its optimiser moves registers that a wgmma still writes
arch=compute_90a
compile groups.g --target=cuda --arch=$arch $options -o groups
groups 1
groups 4
compile filters.g --target=cuda --arch=$arch $options -o filters
filters 3
filters 14
finish
