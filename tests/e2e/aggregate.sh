#!/bin/sh
# Outputs of batches make those of all rows: the figures are those of a program that takes all rows at once.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'G'
let N = 4
def net(x : f32[n, 6]) { return linear(x, 3) as c }
entry train(x : f32[N, 6], y : i32[N]) {
  loss = xent(net(x), y) |> mean
  minimize loss with sgd(0.01)
  return loss
}
entry test(x : f32[N, 6], y : i32[N]) {
  l = net(x)
  each = xent(l, y)
  hit = argmax(l) == y
  loss = mean(each)
  m = confusion(l, y)
  steps = reshape(tanh(linear(reshape(x', [6, -1, 1]), 2) as up), [-1, 2]) # a row stands six times, behind others
  return loss, hits = sum(hit), total = sum(each), worst = max(each), best = min(-each), ppl = perplexity(loss),
         rms = sqrt(mean(x * x)), m, column = mean(x, axis = 0), high = max(x, axis = 0), low = min(y),
         macro = mean(f1(m)), half = f16(loss), row = each, mean_step = mean(steps, axis = 0), peaks = max(steps, axis = 0)
}
G
sed 's/N, 6/n <= 4, 6/; s/\[N\]/[n]/' net.g >any.g
run 0 "$gc" net.g -o four
run 0 "$gc" net.g -D N=14 -o whole
run 0 "$gc" any.g -o any
"$mkdata" npy f32 14,6 1 x.npy
run 0 python3 - <<'P'
import struct
head = str({"descr": "<i4", "fortran_order": False, "shape": (14,)})
head = head.ljust(117) + "\n"
y = [k * 7 % 3 for k in range(14)]
open("y.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<14i", *y))
P
run 0 ./whole test --x x.npy --y y.npy --save w.st --quiet
cp out.txt whole.txt
run 0 ./any test --x x.npy --y y.npy --load w.st
holds out.txt 'note: macro: the mean over 4 batches, which need not be that of all rows at once'
holds out.txt 'note: hits, total, m: the sums over 4 batches'
holds out.txt 'note: ppl: the geometric mean over 4 batches'
grep -v '^note' out.txt >any.txt
for program in four any; do
  run 0 ./$program test --x 'x.npy[0:12]' --y 'y.npy[0:12]' --load w.st --quiet
  cp out.txt ${program}12.txt
done
run 0 python3 - <<'P'
import re
def read(name):
    parts = re.split(r"^(?:\[.*?\] )?(\w+) =", open(name).read(), flags=re.M)
    return {k: [float(n) for n in re.findall(r"-?[\d.]+(?:e[-+]\d+)?", v)] for k, v in zip(parts[1::2], parts[2::2])}
for one, many in ("whole.txt", "any.txt"), ("any12.txt", "four12.txt"):
    one, many = read(one), read(many)
    for name in "loss hits total worst best ppl rms m column high low half mean_step peaks".split():
        near = 2e-3 if name == "half" else 2e-6
        assert len(one[name]) == len(many[name]), name
        assert all(abs(a - b) <= near * max(1, abs(a)) for a, b in zip(one[name], many[name])), (name, one, many)
P
run 0 ./any test --x x.npy --y y.npy --load w.st --m m.npy --low low.npy --quiet
run 0 ./whole test --x x.npy --y y.npy --load w.st --expect m=m.npy
holds out.txt 'note: m is as in m.npy (9 elements)'
run 0 ./any test --x x.npy --y y.npy --load w.st --expect m=m.npy
# a file holds a scalar of each batch, and an aggregated array once
run 0 python3 - <<'P'
head = lambda name: open(name, "rb").read()[:128]
assert b"'shape': (3, 3)" in head("m.npy") and b"'shape': (4,)" in head("low.npy")
P
# ---- a validation has the figures of its own run, to the last bit of what is printed ----
run 0 ./any train --x x.npy --y y.npy --load w.st --steps 3 --validate test:3 --validate.x x.npy --validate.y y.npy --save v.st
figures=$(sed -n 's/^test  step 3  loss \([^ ]*\)  total \([^ ]*\)  worst \([^ ]*\)  best \([^ ]*\)  ppl \([^ ]*\) .*/\1 \2 \3 \4 \5/p' out.txt)
run 0 ./any test --x x.npy --y y.npy --load v.st --quiet
exactly "$figures" "$(sed -n 's/^\(loss\|total\|worst\|best\|ppl\) = //p' out.txt | tr '\n' ' ' | sed 's/ $//')" 'figures of a validation'
# ---- integers that no double has ----
cat >whole.g <<'G'
entry test(x : i64[n <= 2]) {
  column = reshape(x, [dim(x, 0), 1])
  return s = sum(x), high = max(x), low = min(x), ss = sum(column, axis = 0), highs = max(column, axis = 0), lows = min(column, axis = 0)
}
G
run 0 "$gc" whole.g -o whole
run 0 python3 - <<'P'
import struct
head = str({"descr": "<i8", "fortran_order": False, "shape": (3,)})
rows = [2**63 - 2, 1, -(2**53) - 1]
open("i.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", 118) + (head.ljust(117) + "\n").encode() + struct.pack("<3q", *rows))
P
run 0 ./whole test --x i.npy --quiet
exactly "$(tr '\n' ' ' <out.txt)" 's = 9214364837600034814 high = 9223372036854775806 low = -9007199254740993 ss = [9214364837600034814] highs = [9223372036854775806] lows = [-9007199254740993] ' 'aggregates of integers'
run 0 ./any test --help
holds out.txt '--hits FILE.npy            output i32[], else the sum over batches is printed'
finish
