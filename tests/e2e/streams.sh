#!/bin/sh
# Streams give the same bits on any number of threads, over many steps and with loops; the profile shows
# each step on the threads of its stream alone; the arena is hardly larger. So do batches that are prepared beside the
# step before, or first, through a shorter last batch, a checkpoint and validation.
. "$(dirname "$0")/common.sh"
unoptimised
cat >net.g <<'END'
def net(x : f32[n, 32]) {
  if training { x = dropout(x, 0.1) * uniform(0.9, 1.1, shape = [n, 1]) }
  h = relu(linear(x, 64) as first)
  a = relu(linear(h, 48) as a1)
  b = tanh(linear(sigmoid(linear(h, 40) as b1), 48) as b2)
  z = zeros([n, 48])
  scan i in 0..5 { z = tanh(linear(z, 48) as c1 + h[:, 0:48] * 0.5) }
  return linear(concat([a, b, z], axis = 1), 8) as last
}
entry train(x : f32[n <= 16, 32], y : f32[n, 8]) {
  d = net(x) - y
  noisy = pad(x * uniform(0.5, 1.5, shape = [n, 1]), [1, 0], [0, 0]) # a row more than the batch
  loss = mean(d * d) + 0.1 * mean(tanh(linear(noisy, 8) as more)[1:] * y)
  minimize loss with adamw(0.01)
  return loss, first = reshape(x[0, 0], []), drawn = reshape(mean(noisy, axis = [0, 1], keep = true), [])
}
entry test(x : f32[16, 32], y : f32[16, 8]) { return loss = mse(net(x), y) }
END
"$mkdata" npy f32 150,32 3 x.npy && "$mkdata" npy f32 150,8 4 y.npy || fail 'no data could be made'
for streams in 1 2 4; do
  [ $streams = 1 ] && ahead=no || ahead=yes # of one stream the batch is prepared as a part of the step
  run 0 "$gc" net.g -O2 --streams=$streams --ahead=$ahead -o "net$streams"
  for threads in 1 2 3 6; do
    run 0 ./net$streams train --x x.npy --y y.npy --epochs 6 --seed 3 --threads $threads --quiet --save "w$streams.$threads"
    cmp -s w1.1 "w$streams.$threads" || fail "$streams streams, $threads threads: other weights"
  done
  run 0 ./net$streams train --x x.npy --y y.npy --epochs 6 --seed 3 --threads 3 --poison --quiet --save "w$streams.p"
  cmp -s w1.1 "w$streams.p" || fail "$streams streams, poison: other weights"
  run 0 ./net$streams info train
  sed -n 's/^ *arena *\([0-9,]*\).*/\1/p' out.txt | head -1 | tr -d , >"arena$streams"
done
train='train --x x.npy --y y.npy --seed 3 --threads 1 --quiet'
run 0 ./net1 $train --epochs 3 --drop-last --save w1.d --log log1.csv
run 0 ./net2 $train --epochs 3 --drop-last --save w2.d --log log2.csv
cmp -s w1.d w2.d || fail 'prepared ahead, --drop-last: other weights'
cut -d, -f1-5 log1.csv >log1 && cut -d, -f1-5 log2.csv | cmp -s log1 - || fail 'prepared ahead: other outputs'
run 0 ./net2 $train --steps 13 --checkpoint c
run 0 ./net2 $train --epochs 6 --resume c --validate test:3 --validate.x x.npy --validate.y y.npy --save w2.r
cmp -s w1.1 w2.r || fail 'prepared ahead, resumed and validated: other weights'
run 0 "$gc" net.g -O2 --ahead=yes --dump-plan
holds out.txt 'entry train.ahead'
run 0 ./net2 info train
holds out.txt 'two batches: one is prepared while the other is used'
# a limit counts what is prepared for two batches
taken() { # taken OPTIONS: bytes of the arena and of both batches
  "$gc" net.g -O2 --ahead=yes "$@" --dump-plan=json >plan.json 2>err.txt || fail "no plan: $(cat err.txt)"
  python3 -c 'import json; a = {e["name"]: e["arena_bytes"] for e in json.load(open("plan.json"))["entries"]}
print(a["train"] + 2 * a["train.ahead"])'
}
whole=$(taken) limit=$(($(taken) * 9 / 10))
at_most "$(taken --memory-limit=$limit)" "$limit" 'bytes under a limit'
# and so do the rows of a curve
run 0 "$gc" net.g -O2 --ahead=yes --memory-curve
rows=$(awk '/^memory curve/ { here = $NF == "'"'train'"'" } here && $1 ~ /^[0-9]/ { gsub(",", ""); print $1 }' out.txt)
exactly "$(echo "$rows" | head -1)" "$whole" 'the first row of the curve'
least=$(echo "$rows" | tail -1)
at_most "$(taken --memory-limit="$least")" "$least" 'bytes under the last limit of the curve'
run 0 "$gc" net.g -O2 --ahead=yes --memory-limit=$limit -o few
run 0 ./few train --x x.npy --y y.npy --epochs 6 --seed 3 --threads 1 --quiet --save w.few
cmp -s w1.1 w.few || fail 'prepared ahead under a limit: other weights'
says 1 "'train' does not fit into 40,960 bytes" "$gc" net.g -O2 --ahead=yes --memory-limit=40K -o no
grep -q 'note: the preparation of the next batch, by --ahead=yes, takes [0-9,]* of these bytes' out.txt || fail 'what is prepared is not named'
# outputs that are a view of an input, and of what is prepared
cat >views.g <<'END'
entry train(x : f32[1, 32], y : f32[1, 8], k : f32[1]) {
  z = tanh(sigmoid(exp(x * 0.1))) * uniform(0.9, 1.1, shape = [1, 32])
  d = linear(z, 8) as l - y
  loss = mean(d * d)
  minimize loss with sgd(0.01)
  return loss, given = reshape(k, []), made = y[0, 0]
}
END
"$mkdata" npy f32 150 5 k.npy || fail 'no data could be made'
for ahead in no yes; do
  run 0 "$gc" views.g -O2 --ahead=$ahead --remarks=ahead -o views
  [ $ahead = no ] || holds out.txt '132 bytes of 2 values cross'
  run 0 ./views train --x x.npy --y y.npy --k k.npy --seed 3 --threads 1 --steps 20 --quiet --log views.csv
  sed 's/,[^,]*$//' views.csv >$ahead.csv && rm views.csv # without seconds
done
cmp -s no.csv yes.csv || fail 'prepared ahead: other outputs'
cat arena1 arena4 | awk 'NR == 1 {one = $1} END {exit !(one > 0 && $1 <= 1.01 * one)}' ||
  fail "the arena of four streams: $(cat arena1 arena4)"
run 0 ./net4 train --x x.npy --y y.npy --epochs 6 --seed 3 --threads 4 --profile p.json --save wp
cmp -s w1.1 wp || fail 'profiled: other weights'
run 0 "$gc" net.g -O2 --streams=4 --emit=c -o net.c
cat >check.py <<'END'
import json, re
events = [e for e in json.load(open("p.json"))["traceEvents"] if e["ph"] == "X"]
threads = {}
for e in events:
    threads.setdefault((e["name"], e["args"]["scope"], e["args"]["loc"]), set()).add(e["tid"])
alone = sum(len(t) == 1 for t in threads.values())
assert alone > 5 and len({t for s in threads.values() for t in s}) == 4, (alone, threads)
steps = re.findall(r"\.stream = (\d+)(?:, \.after = \w+, \.nafter = (\d+))?", open("net.c").read())
assert {int(s) for s, _ in steps} == {0, 1, 2, 3} and any(n for _, n in steps), steps
END
run 0 python3 check.py
finish
