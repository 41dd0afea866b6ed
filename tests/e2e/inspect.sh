#!/bin/sh
# --check-finite names the operation that makes NaN or infinity; --watch prints statistics of values and gradients.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'G'
hyper lr = 0.1
hyper bad = 0
def net(x : f32[n, 6]) {
  h = relu(linear(x, 12) as a)
  scan i in 0..4 { h = tanh(linear(h, 12) as cell) }
  return linear(h, 3) as b
}
entry train(x : f32[8, 6], y : f32[8, 3]) {
  p = net(x)
  penalty = sqrt(bad + 0 * sum(p))
  loss = mse(p, y) + 0 * penalty
  minimize loss with adam(lr)
  return loss
}
entry test(x : f32[n <= 9, 6], y : f32[n, 3]) {
  p = net(x)
  masked = where(iota(3) > 0, -inf, p)
  loss = mean(softmax(masked) - y)
  inverse = loss / bad
  return p, loss, inverse
}
G
run 0 "$gc" net.g -o fused && run 0 "$gc" net.g -O1 -o net
"$mkdata" npy f32 24,6 1 x.npy
"$mkdata" npy f32 24,3 2 y.npy
python3 - <<'P'
raw = bytearray(open("x.npy", "rb").read())
raw[-6 * 4 * 5:-6 * 4 * 5 + 4] = b"\0\0\x80\x7f" # row 19
open("infinite.npy", "wb").write(raw)
P
rows='--x x.npy --y y.npy'

# ---- a run that is looked at makes the same bits, on threads, too ----
run 0 ./fused train $rows --epochs 3 --bad 1 --save w.st --quiet
run 0 ./net train $rows --epochs 3 --bad 1 --save looked.st --quiet --check-finite --watch net.a.w:9 --threads 2
same w.st looked.st 'weights of a run that is looked at'
run 0 ./fused train $rows --epochs 3 --bad 1 --save looked.st --quiet --check-finite --watch p:9 --poison
same w.st looked.st 'weights of a run that is looked at and poisoned'

# ---- the first operation: place, pass, layer; a mask's -inf is none, and a wrong row is named as such ----
says 1 'error: net.g:10:13: div makes nan in step 1 of train, backward pass: element 0 of f32[]' ./net train $rows --check-finite
holds out.txt 'hint: what it reads was finite; --watch PATH prints the statistics of a value'
says 1 'error: net.g:10:13: sqrt makes nan in step 1 of train, forward pass: element 0 of penalty : f32[]' ./net train $rows --check-finite --bad -1
says 1 ' makes nan in step 1 of train, forward and backward pass' ./fused train $rows --check-finite --bad -1 --threads 2
holds out.txt 'gc -O1 fuses nothing, so that one operation is named'
says 1 'error: net.g:19:18: div makes inf in step 1 of test, forward pass: element 0 of inverse : f32[]' ./net test $rows --check-finite --load w.st
says 1 'error: net.g:4:12: matmul makes ' ./net test --x infinite.npy --y y.npy --check-finite --load w.st --bad 1
holds out.txt 'in step 3 of test, forward pass, layer net.a: element '
holds out.txt 'hint: row 19 of the input x (infinite.npy) holds inf: correct the file'
says 1 'error: loss is nan at step 2' ./net train $rows
holds out.txt '--check-finite names the operation that made it, --watch PATH prints a value'

# ---- statistics are those of the values; of a loop they cover all iterations; gradients by the path of the param ----
run 0 ./net test $rows --load w.st --bad 1 --watch p:3 --p p.npy
cp out.txt watched.txt
[ "$(grep -c '^watch p:3 ' watched.txt)" = 1 ] || { fail 'steps 1 to 3 have one multiple of three'; cat watched.txt; }
run 0 python3 - <<'P'
import math, re, struct
raw = open("p.npy", "rb").read()[-24 * 3 * 4:]
v = struct.unpack("<18f", raw[18 * 3 * 4:])
said = re.search(r"^watch p:3  step 3  add f32\[6, 3\]  min (\S+)  max (\S+)  mean (\S+)  rms (\S+)  zeros 0 %  not finite 0$", open("watched.txt").read(), re.M)
want = min(v), max(v), sum(v) / 18, math.sqrt(sum(x * x for x in v) / 18)
assert all("%.5g" % w == s or abs(w - float(s)) < 1e-4 * abs(w) for w, s in zip(want, said.groups())), (want, said.groups())
P
run 0 ./net train $rows --steps 2 --bad 1 --watch net.a.w --watch net.cell:2
[ "$(grep -c '^watch net.a.w  step [12]  matmul f32\[6, 12\]  min ' out.txt)" = 2 ] || { fail 'no gradients'; cat out.txt; }
[ "$(grep -c '^watch net.cell:2  step 2 ' out.txt)" -ge 1 ] || { fail 'no layer in a loop'; cat out.txt; }
grep -q '^watch net.cell:2  step 1' out.txt && fail 'step 1 is even'

# ---- what kernels would consume is stored for it: the same bits, and a plan of its own ----
run 0 "$gc" net.g --watch=net.a.w,net.b.w,masked -o stored
run 0 ./stored train $rows --epochs 3 --bad 1 --save looked.st --quiet --watch net.a.w:9 --watch net.b.w:9
same w.st looked.st 'weights of a program that stores gradients for --watch'
[ "$(grep -c '^watch net.[ab].w:9  step 9  ' out.txt)" = 2 ] || { fail 'a gradient is not stored'; cat out.txt; }
run 0 ./net train $rows --epochs 3 --bad 1 --quiet --watch net.a.w:9
sed -n 's/^watch net.a.w:9 .* min/min/p' out.txt >unfused.txt
run 0 ./stored train $rows --epochs 3 --bad 1 --quiet --watch net.a.w:9
sed -n 's/^watch net.a.w:9 .* min/min/p' out.txt >stored.txt
same unfused.txt stored.txt 'statistics of a gradient that is stored'
run 0 ./stored test $rows --load w.st --bad 1 --quiet --watch masked
holds out.txt 'watch masked  step 1  '

# ---- refused ----
says 2 'error: --watch net.a.w: its gradient is not stored: a fused kernel consumes it' ./fused train $rows --watch net.a.w
holds out.txt 'hint: compile with gc --watch=net.a.w, which stores it, or with -O1, which fuses nothing'
says 2 'error: --watch net.z: train computes no value, layer or gradient of this name' ./fused train $rows --watch net.z
holds out.txt 'hint: it has layers such as net.a, '
says 2 'error: --watch p:0: 0 is no number of steps' ./net train $rows --watch p:0
holds out.txt 'hint: --watch p:100 prints every 100 steps'
says 2 'error: --check-finite and --bench exclude each other' ./net train $rows --bench 3 --check-finite
finish
