#!/bin/sh
# shared_keys.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: attention of few queries, whose thread blocks tell each other their
# maxima, and sums, whose blocks count those that have ended: in memory of the kernel, which the second launch of a kernel
# finds as the first did, or, on several streams, in scratch or by a second launch. The PTX interpreter has the CPU's bits in
# every order of blocks. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
unoptimised
scratch "$4"
need_nvrtc 'keys that thread blocks share' mid
cat >two.g <<'END_G'
entry two(q : f32[1, 2, 64], k : f32[1, 2, 600, 64], v : f32[1, 2, 600, 64], k2 : f32[1, 2, 700, 64], v2 : f32[1, 2, 700, 64]) {
  x = reshape(q, [1, 2, 1, 64])
  a = attention(x, k, v)
  b = attention(x * 0.5, k2, v2)
  c = attention(x * 0.25, k, v)
  return y = a + b * c * sum(v) / max(v2)
}
END_G
"$mkdata" npy f32 1,2,64 3 q.npy
for i in 1 2; do
  "$mkdata" npy f32 1,2,$((500 + 100 * i)),64 $((2 + i)) k$i.npy
  "$mkdata" npy f32 1,2,$((500 + 100 * i)),64 $((4 + i)) v$i.npy
done
run='two --q q.npy --k k1.npy --v v1.npy --k2 k2.npy --v2 v2.npy'
for streams in 1 3; do
  compile two.g --streams=$streams --target=cuda,cpu --arch=compute_80 -o two
  "$gc" two.g --streams=$streams --target=cuda --emit=cuda -o two.cu >out 2>&1 || fail 'no source'
  own=$(grep -c '^ *static __device__ Block::Signals' two.cu)
  sums=$(grep -c '^ *static __device__ unsigned ended' two.cu)
  [ "$sums" = "$([ $streams -eq 1 ] && echo 2 || echo 0)" ] || fail "$streams streams: $sums sums in one launch"
  clears=$(grep -c '^ *Block::Signals &signals' two.cu)
  [ "$own $clears" = "$([ $streams -eq 1 ] && echo '2 0' || echo '0 2')" ] || fail "$streams streams: $own of their own, $clears in scratch"
  ./two $run --device cpu --y want.npy >out 2>&1 || fail 'on the CPU'
  for order in 0 1 5; do
    rm -f got.npy
    env LD_LIBRARY_PATH="$driver" FAKECUDA_ORDER=$order ./two $run --device cuda --y got.npy >out 2>&1 || fail "order $order"
    same want.npy got.npy
  done
done
finish
