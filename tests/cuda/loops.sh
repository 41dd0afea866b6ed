#!/bin/sh
# loops.sh GC MKDATA DRIVER-DIRECTORY SCRATCH: executables with loops, in the PTX interpreter. Nested ones
# and their gradients give the CPU's results in a graph, poisoned, and profiled, and so do loops that are recomputed in
# blocks; the recurrent example trains as on the CPU and writes. Exit code 77 and "NOT TESTED" where there is no NVRTC.
set -u
gc=$1 mkdata=$2 driver=$3
. "$(dirname "$0")/common.sh"
unoptimised
scratch "$4"
need_nvrtc 'loops on the PTX interpreter' mid
cat >nested.g <<'END'
entry places(t : i32[4, 2], label : i32[4], w : f32[5, 5]) {
  return y = gather(w, min(t', 9)), z = gather(w, min(label, 9) + t[:, 0])
}
entry f(x : f32[3, 2, 4, 3], w : f32[5, 5], u : f32[3, 5]) {
  g = zeros([4, 5])
  n = zeros([])
  state seen : f32[4, 5] = zeros()
  ys = scan i in 0..3 {
    h = g
    scan j in 0..2 {
      h, g = tanh(x[-1 - i, j - 1] @ u + h @ w), h * 0.5 + f32(i - j)
      n = n + f32(i * 2 + j)
    }
    seen := seen + h
    yield g + h
  }
  loss = sum(g * g) + sum(ys * ys)
  return loss, ys, n, seen, gx = grad(loss, x), gw = grad(loss, w), gu = grad(loss, u)
}
entry factors(x : f32[3, 5]) {
  a = zeros([5])
  b = zeros([5])
  scan i in 0..3 { a = tanh(x[i] * 2.5 + a) }
  scan i in 0..3 { b = tanh(x[i] * 3.5 + b) }
  return a, b
}
entry sums(x : f32[n <= 4, 5], y : f32[n, 5]) {
  param w : f32[5] = normal()
  s = zeros([5])
  scan i in 0..n { s = s * 0.5 + tanh(x[n - 1 - i] * w + s) }
  loss = mean((s - y[0]) ** 2)
  minimize loss with sgd(0.1)
  return loss
}
END
compile nested.g --target=cuda,cpu --arch=compute_80 -o nested
"$mkdata" npy f32 3,2,4,3 3 x.npy
"$mkdata" npy f32 5,5 4 w.npy
"$mkdata" npy f32 3,5 5 u.npy
inputs='--x x.npy --w w.npy --u u.npy'
./nested f $inputs --device cpu >want 2>&1 || fail 'on the CPU'
for mode in '' --poison '--profile p.json'; do
  LD_LIBRARY_PATH=$driver ./nested f $inputs --device cuda $mode >out 2>&1 || fail "on the GPU $mode"
  head -c "$(stat -c %s want)" out | cmp -s - want || fail "other results than the CPU's $mode"
done

# both loops launch one kernel, each with its factor, at the addresses of the iteration
"$gc" nested.g --emit=cuda -o nested.cu && grep -q ' \* constant_f32(constant0)' nested.cu || fail 'no kernel has a factor'
"$mkdata" npy f32 3,5 6 factors.npy
./nested factors --x factors.npy --device cpu >want 2>&1 || fail 'factors on the CPU'
LD_LIBRARY_PATH=$driver ./nested factors --x factors.npy --device cuda >out 2>&1 || fail 'factors on the GPU'
head -c "$(stat -c %s want)" out | cmp -s - want || fail 'factors: other results than the CPU'

# as many iterations as a batch has rows: four, and of the last one three; a graph is for one number of them
"$mkdata" npy f32 23,5 3 rows.npy && "$mkdata" npy f32 23,5 4 y.npy
for device in cpu cuda; do
  FAKECUDA_LOG=calls LD_LIBRARY_PATH=$driver ./nested sums --x rows.npy --y y.npy --epochs 2 --seed 3 --device $device \
    --save sums.$device >out 2>&1 || fail "a loop over the rows, on $device"
done
cmp -s sums.cpu sums.cuda || fail 'a loop over the rows: other weights than on the CPU'
[ "$(grep -cx cuGraphLaunch calls)" -ge 4 ] && [ "$(grep -cx cuGraphInstantiateWithFlags calls)" -le 4 ] ||
  fail 'graphs are not kept, or made for each number of rows'

# an index without a place: the row that it comes from, through whatever is done to it, or that no input alone led to it
"$mkdata" npy i32 12,2 5 t.npy && "$mkdata" npy i32 12 6 label.npy
refused() { # refused LINE: of the program's messages
  LD_LIBRARY_PATH=$driver ./nested places --t t.npy --label label.npy --w w.npy --device cuda --quiet >out 2>&1
  grep -qF "$1" out || fail "not: $1"
}
printf '\004' | dd of=t.npy bs=1 seek=$((128 + 8 * 6)) conv=notrunc 2>/dev/null
printf '\004' | dd of=label.npy bs=1 seek=$((128 + 4 * 6)) conv=notrunc 2>/dev/null
refused 'nested.g:2:41: an index is 8 (element 2), which is not in 0 to 4'
printf '\007' | dd of=t.npy bs=1 seek=$((128 + 8 * 5 + 4)) conv=notrunc 2>/dev/null
refused 't.npy: input row 5 leads to 7 as an index at nested.g:2:14, which is not in 0 to 4'

# a product and the gradients through it, some rows at a time
cat >wide.g <<'END'
entry f(x : f32[16, 6], w : f32[6, 40], b : f32[40], t : u8[16]) {
  z = x @ w + b
  loss = mean(xent(z, t % 40))
  return loss, best = argmax(z), gx = grad(loss, x), gw = grad(loss, w), gb = grad(loss, b)
}
END
passes='fold,cse,dce,autodiff,fold,cse,dce,row-tiles{rows=4},cheap-remat,fuse,layout,order,liveness,inplace,share,plan-verify'
compile wide.g "--passes=$passes" --target=cuda,cpu --arch=compute_80 -o wide
"$mkdata" npy f32 16,6 3 x.npy && "$mkdata" npy f32 6,40 4 w.npy && "$mkdata" npy f32 40 5 b.npy &&
  "$mkdata" npy u8 16 6 t.npy || fail 'no data could be made'
./wide f --x x.npy --w w.npy --b b.npy --t t.npy --device cpu >want 2>&1 || fail 'chunks on the CPU'
LD_LIBRARY_PATH=$driver ./wide f --x x.npy --w w.npy --b b.npy --t t.npy --device cuda --poison >out 2>&1 ||
  fail 'chunks on the GPU'
head -c "$(stat -c %s want)" out | cmp -s - want || fail 'chunks: other results than the CPU'

# ---- in blocks that are recomputed before their backward pass, under a limit ----
compile "$here/docs/examples/recurrent.g" -o whole
compile "$here/docs/examples/recurrent.g" --memory-limit=60% --remarks=remat --target=cuda,cpu --arch=compute_80 -o blocks
grep -q 'iterations of scan are recomputed before their backward pass, [2-9] at a time' out || fail 'no blocks'
"$mkdata" npy f32 12,16,32 6 x.npy
"$mkdata" npy f32 16,32 7 y.npy
./whole step --x x.npy --y y.npy --dw want.npy >out 2>&1 || fail 'a loop on the CPU'
for mode in '' --poison; do
  LD_LIBRARY_PATH=$driver ./blocks step --x x.npy --y y.npy --dw dw.npy --device cuda $mode >out 2>&1 || fail "blocks $mode"
  cmp -s dw.npy want.npy || fail "blocks: other results than a loop on the CPU $mode"
done

compile "$here/docs/examples/lstm.g" -D B=4 -D T=6 -D D=8 -D H=16 -D V=128 --target=cuda,cpu --arch=compute_80 -o lstm
head -c 1000 "$here/tests/prose.txt" >text.txt
rows='--chars text.txt~6[0:24] --next text.txt+1~6[0:24]'
./lstm train $rows --epochs 1 --seed 4 --device cpu --log cpu.csv --save cpu.safetensors >out 2>&1 ||
  fail 'training on the CPU'
LD_LIBRARY_PATH=$driver ./lstm train $rows --epochs 1 --seed 4 --device cuda --log gpu.csv --save w.safetensors \
  >out 2>&1 || fail 'training on the GPU'
for device in cpu gpu; do cut -d, -f1-3 $device.csv >$device; done
[ "$(wc -l <cpu)" -gt 2 ] && cmp -s cpu gpu || fail 'other losses than on the CPU'
cmp -s cpu.safetensors w.safetensors || fail 'other weights than on the CPU'
LD_LIBRARY_PATH=$driver ./lstm write --load w.safetensors --steps 20 --text char --device cuda --quiet >out 2>&1 ||
  fail 'writing on the GPU'
[ "$(wc -c <out)" -ge 20 ] || fail 'it wrote too little'
finish
