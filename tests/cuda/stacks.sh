#!/bin/sh
# stacks.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: launches that do the work of those in front of them, in the PTX interpreter:
# norms whose rows each block of the products behind them computes, and products of one left operand of which the second
# reads the first. On tensor cores they have the bits of a program of more rows at most, which has a launch for each; in
# f32 those of the CPU. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3 most= arch=compute_80
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/bounded.sh"
unoptimised
scratch "$4"
need_nvrtc 'launches that do the work of those in front of them on the PTX interpreter' mid
# blocks of 5 and of 6 warps in one launch; a last norm that is a result, too
cat >decode.g <<'END'
def layer(x, q) {
  param g : f32[1536] = normal(1)
  param k : bf16[1536, 64] = normal(0.02)
  param v : bf16[1536, 64] = normal(0.02)
  y = bf16(rms_norm(x, 1e-6) * g)
  param o : bf16[64, 1536] = normal(0.1)
  v = relu(y @ v)
  all = concat([y @ q, y @ k, v], axis = 1)
  x = x + f32((v * bf16(mean(f32(all), axis = 1) + 1)[:, none]) @ o)
  param gate : bf16[1536, 200] = normal(0.02)
  param up : bf16[1536, 200] = normal(0.02)
  param down : bf16[200, 1536] = normal(0.02)
  y = bf16(layer_norm(x, 1e-5))
  return x + f32(bf16(silu(f32(y @ gate)) * f32(y @ up)) @ down)
}
entry decode(x : f32[n <= BOUND, 1536], q : f32[1536, 5504]) {
  q = bf16(q)
  for i in 0..5 { x = layer(x, q) as l[i] }
  y = bf16(rms_norm(x, 1e-6))
  param w : bf16[1536, 40] = normal(0.02)
  return h = x, y = f32(y), z = f32(y @ w)
}
END
"$mkdata" npy f32 1536,5504 8 q.npy || fail 'no data could be made'
# rows BOUND ROWS…: at these of as many as the bound
rows() {
  cp decode.g any.g && sed "s/BOUND/$1/" any.g >decode.g && compile decode.g --target=cuda --arch=$arch -o decode
  shift
  for n; do
    "$mkdata" npy f32 "$n,1536" 1 x.npy || fail 'no data could be made'
    sizes decode "n=$n" 'h y z' --x x.npy --q q.npy
  done
  "$gc" decode-exact.g --target=cuda --stats=time >times 2>&1
  cp any.g decode.g
}
if is_drawn stacks 2; then rows 40 5; else rows 40 1; fi
for form in 'rms_norm[^;]*; matmul[^;]*; matmul[^;]*; matmul' 'layer_norm[^;]*; matmul[^;]*; matmul[^;]*sigmoid'; do
  grep -q " [45]  .* $form" times || fail "no launch of each layer is '$form'"
done
grep -q '^ .* 1  .*  rms_norm[^;]*$' times || fail 'the norm that is a result has no launch of its own'
# in f32, sums of two chains: as on the CPU; a norm that is a result stays
cat >exact.g <<'END'
entry exact(x : f32[2, 1100], u : f32[2, 1100], t : f32[2, 1100], a : f32[1100, 70], b : f32[1100, 70], q : u8[1100, 70], s : f32[35, 70]) {
  y = layer_norm(x, 1e-5)
  v = rms_norm(t, 1e-5)
  return gated = silu(y @ a) * (y @ b), quantized = rms_norm(u, 1e-6) @ dequantize(i8(i32(q) - 128), bf16(s)), v, plain = v @ a
}
END
for d in x.1 u.2 t.3; do "$mkdata" npy f32 2,1100 ${d#*.} ${d%.*}.npy || fail 'no data could be made'; done
"$mkdata" npy f32 1100,70 4 a.npy && "$mkdata" npy f32 1100,70 5 b.npy && "$mkdata" npy u8 1100,70 6 q.npy && "$mkdata" npy f32 35,70 7 s.npy ||
  fail 'no data could be made'
compile exact.g --target=cuda,cpu --arch=$arch -o exact
outputs='gated quantized v plain'
for d in cpu cuda; do
  LD_LIBRARY_PATH="$driver" ./exact exact --x x.npy --u u.npy --t t.npy --a a.npy --b b.npy --q q.npy --s s.npy --device $d --quiet \
    $(for o in $outputs; do echo "--$o $d.$o.npy"; done) >out 2>&1 || fail "exact on $d"
done
for o in $outputs; do same "cpu.$o.npy" "cuda.$o.npy"; done
"$gc" exact.g --target=cuda --stats=time >times 2>&1
for form in 'layer_norm[^;]*; matmul[^;]*; matmul[^;]*sigmoid' 'rms_norm[^;]*; quantized_matmul' 'rms_norm: [^;]*$'; do
  grep -q " $form" times || fail "no launch is '$form'"
done
# what --watch keeps is stored, and a product over whose elements the next one writes is not looked at
cat >watch.g <<'END'
entry watch(x : f32[2, 1100], a : f32[1100, 70], b : f32[1100, 70]) {
  y = layer_norm(x, 1e-5)
  u = y @ a
  return gated = silu(u) * (y @ b)
}
END
compile watch.g --target=cuda,cpu --watch=y,u --arch=$arch -o watch
for d in cpu cuda; do
  for v in y u; do
    LD_LIBRARY_PATH="$driver" ./watch watch --x x.npy --a a.npy --b b.npy --device $d --quiet --watch $v 2>&1 | sed -n "s/^watch $v .*  min/min/p"
  done >$d.watched
done
[ "$(wc -l <cpu.watched)" -eq 2 ] || fail 'nothing is watched'
same cpu.watched cuda.watched
# two products whose shared memory one kernel has no room for
cat >long.g <<'END'
entry long(x : f32[4, 4100], a : f32[40, 4100], b : f32[40, 4100]) { return silu(x @ transpose(a)) * (x @ transpose(b)) }
END
compile long.g --target=cuda --arch=$arch -o long
# short kernels, of which the entry has one each, are one launch; what reads one of them is in the next
cat >once.g <<'END'
entry once(x : f32[30], y : f32[40, 5], z : i32[7, 3]) {
  a = exp(x) * 2
  return a, b = y + 1 / (1 + y * y), c = reverse(z, 1), d = reverse(a, 0)
}
END
"$gc" once.g -O2 --target=cuda --print-schedules --emit=cuda -o once.cu >out 2>&1 || fail 'no schedules'
[ "$(grep -c '^cuda k' out) $(grep -c 'kernels=3' out)" = '2 1' ] || fail 'short kernels are launches of their own'
finish
