#!/bin/sh
# sm90a.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: executables run code for sm_90a, whose tensor maps the runtime makes, in
# the PTX interpreter as on the CPU: exact sums to the last bit, also in a loop, and training but for the order of
# sums. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
unoptimised
scratch "$4"
need_nvrtc 'programs with tensor maps on the PTX interpreter'
cat >net.g <<'END'
let N = 72
def net(x : f32[n, 64]) {
  h = gelu(linear(x, 136) as a)
  return linear(relu(linear(h, 136) as b), 64) as c
}
entry train(x : f32[N, 64], t : u8[N]) {
  loss = mean(xent(net(x), t))
  minimize loss with adamw(1e-2)
  return loss
}
entry deep(x : u8[n <= 80, 1400], w : u8[1400, 72]) {   # parts of the depth; exact sums
  return s = f32(relu(bf16(x) @ bf16(w)))
}
entry rows(x : u8[4, N, 64], w : u8[64, 136]) {
  y, v = bf16(x), bf16(w)
  hs = scan i in 0..4 { yield y[i] @ v }
  return hs = f32(hs)
}
# exact sums of bounded rows, of which a block of a pair may have none, and of a bounded depth, along and across which operands lie
entry sums(x : u8[n <= 300, 72], y : u8[n, 64], z : u8[72, n], w : u8[72, 64]) {
  v, u, t = bf16(x), bf16(y), bf16(z)
  return a = f32(v @ bf16(w)), b = f32(t @ u)
}
entry filters(x : u8[n <= 9, 64, 16, 13], dy : u8[n, 60, 16, 13]) {   # blocks of a cluster may have no image
  param w : f32[60, 64, 3, 3] = 0
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(w), 1, 1)) * f32(dy)), w)
}
entry halves(x : u8[n <= 6, 128, 5, 11], dy : u8[n, 512, 5, 11]) {   # so many tiles that clusters have two blocks
  param many : f32[512, 128, 5, 5] = 0
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(many), 1, 2)) * f32(dy)), many)
}
entry strided(x : u8[n <= 9, 64, 17, 14], dy : u8[n, 60, 9, 7]) {   # most clocks are those of gathering
  param apart : f32[60, 64, 3, 3] = 0
  return dw = grad(sum(f32(conv2d(bf16(x), bf16(apart), 2, 1)) * f32(dy)), apart)
}
END
# the same in tf32: the transposed result, A from registers, and of both operands across the depth a transposed copy
cat >tf32.g <<'END'
entry sums(x : u8[n <= 300, 72], y : u8[n, 64], z : u8[72, n], w : u8[72, 64]) {
  v, u, t = f32(x), f32(y), f32(z)
  return a = v @ f32(w), b = transpose(u) @ transpose(t), c = transpose(v) @ u
}
entry rounds(x : f32[144, 64], w : f32[64, 136]) { return y = x @ w }   # by tensor maps
END
cat >images.g <<'END'
entry images(x : f32[1, 72, 14, 14], w : f32[248, 72, 3, 3], dy : f32[1, 248, 7, 7]) {
  return dx = grad(sum(conv2d(x, w, 2, 1) * dy), x)
}
END
"$mkdata" npy f32 1,72,14,14 11 i.npy
"$mkdata" npy f32 248,72,3,3 13 f.npy
"$mkdata" npy f32 1,248,7,7 15 d.npy
"$mkdata" npy f32 144,64 3 x.npy
"$mkdata" npy u8 144 5 t.npy
"$mkdata" npy u8 4,72,64 7 u.npy
"$mkdata" npy u8 64,136 9 w.npy
"$mkdata" npy u8 70,1400 17 d1.npy
"$mkdata" npy u8 1400,72 19 d2.npy
compile net.g --precision=bf16 -O2 --arch=compute_90a --target=cuda,cpu -o net
train="train --x x.npy --t t.npy --epochs 2 --seed 4 --threads 1 --quiet"
rows="rows --x u.npy --w w.npy --quiet"
# shellcheck disable=SC2086
./net $train --device cpu --log cpu.csv >out 2>&1 || fail 'training on the CPU'
# shellcheck disable=SC2086
./net $rows --device cpu --hs hs.npy >out 2>&1 || fail 'on the CPU'
deep="deep --x d1.npy --w d2.npy --quiet --poison"
# shellcheck disable=SC2086
./net $deep --device cpu --s s.npy >out 2>&1 || fail 'parts of the depth on the CPU'
compile images.g --precision=bf16 -O2 --arch=compute_80,compute_90a --target=cuda,cpu -o images
images="images --x i.npy --w f.npy --dy d.npy --quiet"
# shellcheck disable=SC2086
./images $images --device cpu --dx dx.npy >out 2>&1 || fail 'the convolution on the CPU'
# Filters are packed by a launch that other devices leave out.
for cc in 8.0 9.0; do
  # shellcheck disable=SC2086
  FAKECUDA_CC=$cc FAKECUDA_LOG=$cc LD_LIBRARY_PATH=$driver ./images $images --device cuda --expect dx.npy --rtol 1e-2 --atol 1e-1 >out 2>&1 ||
    fail "the convolution on $cc"
done
[ "$(grep -c cuLaunchKernel 9.0)" = $(($(grep -c cuLaunchKernel 8.0) + 1)) ] || fail 'the convolution is not by wgmma'
# k-tiles of one tap each, of which a block leaves out three in four, are sooner multiplied without
sed 's/248/96/g' images.g >taps.g
"$gc" taps.g --precision=bf16 --arch=sm_90a --target=cuda --print-schedules >out 2>&1
grep -q '^cuda .* conv_input_grad .*wgmma.rows=0 ' out || fail 'taps that a block leaves out are counted'
export FAKECUDA_CC=9.0
for order in 0 1 5; do
  export FAKECUDA_ORDER=$order FAKECUDA_LOG=calls$order
  [ $order = 5 ] && export FAKECUDA_SMS=1 # blocks of products go from tile to tile
  # shellcheck disable=SC2086
  LD_LIBRARY_PATH=$driver ./net $train --device cuda --log gpu.csv >out 2>&1 || fail "training, order $order"
  # shellcheck disable=SC2086
  LD_LIBRARY_PATH=$driver ./net $rows --device cuda --expect hs.npy --rtol 0 --atol 0 >out 2>&1 || fail "order $order"
done
# shellcheck disable=SC2086
LD_LIBRARY_PATH=$driver ./net $deep --device cuda --expect s.npy --rtol 0 --atol 0 >out 2>&1 || fail 'parts of the depth'
all=fuse,layout,order,liveness,inplace,share,plan-verify
compile tf32.g --passes="autodiff,precision{products=tf32},transpose-operands{all=1},round-operands,$all" --arch=compute_90a --target=cuda,cpu -o tf32
# runs of fewer rows and images than the bounds: bits of the CPU, with what lies behind them poisoned
for n in 1 110 300; do
  "$mkdata" npy u8 $n,72 1 v.npy && "$mkdata" npy u8 $n,64 2 u.npy && "$mkdata" npy u8 72,$n 3 t.npy && "$mkdata" npy u8 72,64 4 s.npy
  sums="sums --x v.npy --y u.npy --z t.npy --w s.npy --quiet"
  rm -f a.npy b.npy
  # shellcheck disable=SC2086
  ./net $sums --device cpu --a a.npy --b b.npy >out 2>&1 || fail "$n rows on the CPU"
  # shellcheck disable=SC2086
  LD_LIBRARY_PATH=$driver ./net $sums --device cuda --poison --expect a=a.npy --expect b=b.npy --rtol 0 --atol 0 >out 2>&1 || fail "$n rows"
  [ $n = 110 ] || continue
  rm -f a.npy b.npy c.npy
  # shellcheck disable=SC2086
  ./tf32 $sums --device cpu --a a.npy --b b.npy --c c.npy >out 2>&1 || fail 'tf32 on the CPU'
  # shellcheck disable=SC2086
  LD_LIBRARY_PATH=$driver ./tf32 $sums --device cuda --poison --expect a=a.npy --expect b=b.npy --expect c=c.npy --rtol 0 --atol 0 >out 2>&1 || fail 'tf32'
done
"$mkdata" npy f32 64,136 21 r.npy
./tf32 rounds --x x.npy --w r.npy --quiet --device cpu --y y.npy >out 2>&1 || fail 'tf32 of f32 on the CPU'
LD_LIBRARY_PATH=$driver ./tf32 rounds --x x.npy --w r.npy --quiet --device cuda --expect y.npy --rtol 1e-5 --atol 1e-4 >out 2>&1 ||
  fail 'tensor maps do not round to tf32'
# filters ENTRY N CHANNELS,H,W FILTERS,H,W: n images, bits of the CPU
filters() {
  "$mkdata" npy u8 "$2,$3" 1 v.npy && "$mkdata" npy u8 "$2,$4" 2 u.npy
  rm -f f.npy
  ./net "$1" --x v.npy --dy u.npy --quiet --device cpu --dw f.npy >out 2>&1 || fail "$1 of $2 images on the CPU"
  LD_LIBRARY_PATH=$driver ./net "$1" --x v.npy --dy u.npy --quiet --device cuda --poison --expect f.npy --rtol 0 --atol 0 >out 2>&1 ||
    fail "$1 of $2 images"
}
for n in 1 5; do filters filters $n 64,16,13 60,16,13 && filters strided $n 64,17,14 60,9,7; done
for n in 1 6; do filters halves $n 128,5,11 512,5,11; done
"$gc" net.g --precision=bf16 --arch=sm_90a --target=cuda --print-schedules >out 2>&1
grep -q '^cuda .* k=300 .*sm_90a_blocks=' out && grep -q '^cuda .* m=300 .* sm_90a_cluster=2 ' out && grep -q '^cuda .*filter .*sm_90a_cluster=4 ' out &&
  grep -q '^cuda .*filter .* m=512 .*sm_90a_cluster=2 .* entries=halves' out && grep -q '^cuda .*filter .* wgmma.rows=1 .* entries=strided' out ||
  fail 'bounded products and filters are not by wgmma'
[ "$(cat calls0 calls1 calls5 | grep -c cuTensorMapEncodeTiled)" -ge 10 ] || fail 'products are not by tensor maps'
[ "$(grep -c '^blocks 1$' calls5)" -gt "$(grep -c '^blocks 1$' calls0)" ] || fail 'one multiprocessor has several blocks of products'
paste -d, cpu.csv gpu.csv | awk -F, '
  NR > 1 { d = $3 - $(NF / 2 + 3); if (d < 0) d = -d; if (d > most) most = d; n++ }
  END { printf "%d losses, the farthest %g apart\n", n, most; exit !(n == 4 && most < 2e-3) }' || fail 'the losses differ'
finish
