#!/bin/sh
# The prelude's metrics and augmentation against plain Python: what they give, that each image draws for itself and anew
# in each step, and that nothing is drawn outside of training.
. "$(dirname "$0")/common.sh"
unoptimised
cat >p.g <<'END'
let N = 40
def augmented(x) { return random_flip(x) as flip, random_crop(x, 2) as crop, jitter(x, contrast = 0.5) as light }
entry train(x : f32[N, 2, 5, 6]) {
  state flipped : f32[N, 2, 5, 6] = zeros()
  state cropped : f32[N, 2, 5, 6] = zeros()
  state lit : f32[N, 2, 5, 6] = zeros()
  a, b, c = augmented(x)
  flipped := a
  cropped := b
  lit := c
  param w : f32[] = zeros()
  loss = w * mean(x)
  minimize loss with sgd(0.1)
  return loss
}
entry same(x : f32[N, 2, 5, 6]) {
  a, b, c = augmented(x)
  return same = sum(f32(a == x)) + sum(f32(b == x)) + sum(f32(c == x))
}
entry measure(logits : f32[N, 5], label : u8[N]) {
  state counts : f32[5, 5] = zeros()
  state scores : f32[3, 5] = zeros()
  state top : f32[3] = zeros()
  state right : f32[5] = zeros()
  m = confusion(logits, label)
  counts := m
  right := diagonal(m)
  scores := stack([precision(m), recall(m), f1(m)])
  top := stack([top_k(logits, label, 1), top_k(logits, label, 3), perplexity(mean(xent(logits, label)))])
  return accuracy = mean(argmax(logits) == label)
}
END
run 0 "$gc" p.g -O2 --ahead=yes -o p # flips, crops and lights are prepared ahead
cat >data.py <<'END'
import random, struct
random.seed(3)
def npy(name, kind, shape, x):
    head = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % ({"f": "<f4", "B": "|u1"}[kind], shape)).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<%d%s" % (len(x), kind), *x))
npy("x.npy", "f", (40, 2, 5, 6), [random.uniform(0.1, 1) for _ in range(40 * 60)])
npy("logits.npy", "f", (40, 5), [random.uniform(-2, 2) for _ in range(200)])
npy("label.npy", "B", (40,), [random.randrange(4) for _ in range(40)])  # class 4 has no rows
END
python3 data.py || fail 'no data could be made'
run 0 ./p train --x x.npy --steps 1 --no-shuffle --save one.safetensors --quiet
run 0 ./p train --x x.npy --steps 2 --no-shuffle --threads 1 --save two.safetensors --quiet
run 0 ./p same --x x.npy
holds out.txt "same = 7200"
run 0 ./p measure --logits logits.npy --label label.npy --save measured.safetensors --quiet
cat >check.py <<'END'
import math, struct
from weights import weights
def read(name, kind):
    data = open(name, "rb").read()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack("<%d%s" % ((len(data) - start) // struct.calcsize(kind), kind), data[start:])
x = read("x.npy", "f")
image = lambda values, n: [[[values[((n * 2 + c) * 5 + i) * 6 + j] for j in range(6)] for i in range(5)] for c in range(2)]
def shifted(im, dy, dx):
    return [[[im[c][i + dy][j + dx] if 0 <= i + dy < 5 and 0 <= j + dx < 6 else 0.0 for j in range(6)] for i in range(5)] for c in range(2)]
drawn = []
for file in "one.safetensors", "two.safetensors":
    w = weights(file)
    flips, shifts, lights = [], [], []
    for n in range(40):
        im = image(x, n)
        f = image(w["flipped"], n)
        flips.append([[r[::-1] for r in c] for c in im] == f)
        assert flips[-1] or f == im, n
        found = [(dy, dx) for dy in range(-2, 3) for dx in range(-2, 3) if shifted(im, dy, dx) == image(w["cropped"], n)]
        assert len(found) == 1, (n, found)
        shifts.append(found[0])
        flat = [v for c in im for r in c for v in r]
        lit = [v for c in image(w["lit"], n) for r in c for v in r]
        mean, bright = sum(flat) / 60, sum(lit) / 60 / (sum(flat) / 60)
        slope = sum((a - mean * bright) * (b - mean) for a, b in zip(lit, flat)) / sum((b - mean) ** 2 for b in flat)
        assert all(abs(bright * mean + slope * (b - mean) - a) < 1e-5 for a, b in zip(lit, flat)), n
        assert 0.8 <= bright <= 1.2 and 0.5 <= slope / bright <= 1.5, (bright, slope)
        lights.append((round(bright, 4), round(slope / bright, 4)))
    assert 8 <= sum(flips) <= 32 and len(set(shifts)) >= 12 and len(set(lights)) >= 38, (flips, shifts, lights)
    assert {s[0] for s in shifts} == {s[1] for s in shifts} == set(range(-2, 3)), shifts
    drawn.append((flips, shifts, lights))
assert all(a != b for a, b in zip(*drawn)), "both steps draw the same"

logits, label = read("logits.npy", "f"), read("label.npy", "B")
rows = [logits[5 * n:5 * n + 5] for n in range(40)]
m = [[0] * 5 for _ in range(5)]
for r, l in zip(rows, label): m[l][r.index(max(r))] += 1
w = weights("measured.safetensors")
near = lambda a, b: len(a) == len(b) and all(abs(p - q) < 1e-5 for p, q in zip(a, b))
assert near(w["counts"], [v for r in m for v in r]), w["counts"]
assert near(w["right"], [m[i][i] for i in range(5)]), w["right"]
columns, sums = [sum(m[i][j] for i in range(5)) for j in range(5)], [sum(r) for r in m]
assert sums[4] == 0 and columns[4] > 0
assert near(w["scores"], [m[i][i] / max(columns[i], 1) for i in range(5)] + [m[i][i] / max(sums[i], 1) for i in range(5)]
            + [2 * m[i][i] / max(columns[i] + sums[i], 1) for i in range(5)]), w["scores"]
top = lambda k: sum(l in sorted(range(5), key=lambda i: -r[i])[:k] for r, l in zip(rows, label)) / 40
loss = sum(math.log(sum(math.exp(v) for v in r)) - r[l] for r, l in zip(rows, label)) / 40
assert near(w["top"], [top(1), top(3), math.exp(loss)]), (w["top"], top(1), top(3), math.exp(loss))
END
run 0 python3 check.py
finish
