#!/bin/sh
# Functions along axes, by index and of images, losses, norms, rotary positions, attention to other rows and with groups
# of heads, against plain Python; schedules and optimizers with matrices against their formulas.
. "$(dirname "$0")/common.sh"
unoptimised
cat >f.g <<'END'
let S = 12
def ids() { return i32([1, 2, 1, 0]) }
entry values(x : f32[4, 6]) {
  state rows : f32[9, 4, 6] = zeros()
  rows := stack([cumprod(x), cumprod(x, axis = 0), tril(x), triu(x, 1), tril(x, -1), scatter(x, ids(), 2 * x), rope(x, at = 3),
                 scatter(x, ids()[1:], -x[1:]), reshape(scatter(reshape(x, [24]), 5 * ids(), arange(0.5, 4.5)), [4, 6])])
  state few : f32[4, 4] = zeros()
  few := stack([logsumexp(x, axis = -1), norm(x, axis = 1), std(x, axis = -1), f32(i32(4 * x) // 3)[:, 0]], axis = 1)
  labels = i32(iota(4)) - 1
  images = reshape(x, [1, 2, 3, 4])
  state smooth : f32[1, 2, 5, 6] = zeros()
  smooth := resize(images, [5, 6], mode = "bilinear")
  half = resize(f16(images), [5, 6], mode = "bilinear")
  state losses : f32[13] = zeros()
  losses := stack([cross_entropy(x, iota(4)), cross_entropy(x, labels, ignore = -1), cross_entropy(x, iota(4), smoothing = 0.3),
                   cross_entropy(x, softmax(2 * x)), kl(x, 2 * x), logsumexp(x), norm(x), f32(finite(x)),
                   f32(finite(x / sum(where(x > 9, x, 0)))),
                   interpolation(5, 3)[1, 0], f32(finite(iota(4))),
                   f32(cumprod(where(iota(2) == 0, inf, x[0, :2]))[0] == inf), f32(max(abs(f32(half) - smooth)) < 0.01)])
  state near : f32[1, 2, 5, 6] = zeros()
  near := resize(images, [5, 6])
  state normed : f32[1, 2, 3, 4] = zeros()
  normed := instancenorm(images, eps = 0.1) as inst
  state along : f32[2, 2, 6] = zeros()
  along := conv1(reshape(x, [2, 2, 6]), 2, 3) as cv
  state counts : f32[6] = zeros()
  counts := mean(f32(one_hot(categorical(broadcast(x[0], [4000, 6])), 6)), axis = 0)
  return y = x[:, none, 0, none, none]
}
entry put(x : f32[4, 6], ids : i32[2]) { return y = scatter(x, ids, x[:2]) }
entry rates() {
  state rate : f32[S, 2] = zeros()
  rate := dynamic_update(rate, reshape(stack([wsd(2, 10, warmup = 2, decay = 4, least = 0.1), one_cycle(2, 10)]), [1, 2]), i32(step))
  param w : f32[2] = zeros()
  minimize sum(w) with sgd(0)
  return y = 0
}
entry attend(x : f32[1, 4, 6]) {
  other = reverse(x[:, :3], axis = 1)
  mask = iota(4)[:, none] >= iota(3)
  state across : f32[1, 4, 6] = zeros()
  across := mha(x, 2, kv = other, mask = mask) as across
  state grouped : f32[1, 4, 6] = zeros()
  grouped := mha(x, 3, kv_heads = 1, causal = true, rotary = true) as grouped
  return y = x
}
def matrix() {
  param w : f32[3, 2] = f32([[-0.5, -0.25], [0, 0.25], [0.5, 0.75]])
  param v : f32[2] = ones()
  return w, v
}
entry factored() {
  w, v = matrix() as m
  minimize sum((w @ v - f32(arange(3))) ** 2) with adafactor(0.1, rate = 0.6, clip = 0.5)
  return y = 0
}
entry orthogonal_steps() {
  w, v = matrix() as m
  minimize sum((w @ v - f32(arange(3))) ** 2) with muon(0.1, decay = 0.1) if rank(p) == 2, sgd(0.01)
  return y = 0
}
END
run 0 "$gc" f.g -o f
python3 - <<'END' || fail 'no data could be made'
import random, struct
random.seed(7)
open("x.bin", "wb").write(struct.pack("<24f", *(random.uniform(-2, 2) for _ in range(24))))
open("ids.bin", "wb").write(struct.pack("<2i", 1, 4))
END
run 0 ./f values --x x.bin --save values.safetensors --quiet
says 1 'ids.bin' ./f put --x x.bin --ids ids.bin
run 0 ./f attend --x x.bin --save attend.safetensors --quiet
run 0 ./f rates --steps 12 --save rates.safetensors --quiet
run 0 ./f factored --steps 5 --save factored.safetensors --quiet
run 0 ./f orthogonal_steps --steps 5 --save orthogonal.safetensors --quiet
cat >formulas.py <<'END'
import math, struct
from weights import largest, weights
x = list(struct.unpack("<24f", open("x.bin", "rb").read()))
X = [x[6 * i:6 * i + 6] for i in range(4)]
w = weights("values.safetensors")
flat = lambda rows: [v for r in rows for v in r]
def worst(name, got, want):
    assert len(got) == len(want), (name, len(got), len(want))
    print(name, largest(abs(a - b) for a, b in zip(got, want)))
def products(row): return [math.prod(row[:i + 1]) for i in range(len(row))]
T = lambda m: [list(c) for c in zip(*m)]
each = lambda f: [f(i, j) * X[i][j] for i in range(4) for j in range(6)]
put = [list(r) for r in X]
for k, i in enumerate([1, 2, 1, 0]): put[i] = [2 * v for v in X[k]]
part = [list(r) for r in X]
for k, i in enumerate([2, 1, 0]): part[i] = [-v for v in X[k + 1]]
one = list(x)
for k, i in enumerate([5, 10, 5, 0]): one[i] = 0.5 + k
def turn(row, at, base=10000):
    h = len(row) // 2
    a = [(at * base ** (-2 * i / len(row))) for i in range(h)]
    return [row[i] * math.cos(a[i]) - row[h + i] * math.sin(a[i]) for i in range(h)] + \
           [row[h + i] * math.cos(a[i]) + row[i] * math.sin(a[i]) for i in range(h)]
want = [flat(products(r) for r in X), flat(T([products(c) for c in T(X)])), each(lambda i, j: j <= i), each(lambda i, j: j >= i + 1),
        each(lambda i, j: j <= i - 1), flat(put), flat(turn(r, 3 + i) for i, r in enumerate(X)), flat(part), one]
for i, name in enumerate(["cumprod", "cumprod_0", "tril", "triu", "tril_below", "scatter", "rope", "scatter_some", "scatter_one"]):
    worst(name, w["rows"][24 * i:24 * i + 24], want[i])
lse = lambda v: max(v) + math.log(sum(math.exp(a - max(v)) for a in v))
sd = lambda v: math.sqrt(sum((a - sum(v) / len(v)) ** 2 for a in v) / len(v))
size = lambda v: math.sqrt(sum(a * a for a in v))
worst("few", w["few"], flat([lse(r), size(r), sd(r), math.trunc(4 * r[0]) // 3] for r in X))
logs = lambda r: [a - lse(r) for a in r]
ce = lambda r, k: -logs(r)[k]
soft = lambda r: [math.exp(a) for a in logs(r)]
twice = lambda r: [2 * a for a in r]
worst("losses", w["losses"], [
    sum(ce(r, i) for i, r in enumerate(X)) / 4, sum(ce(r, i - 1) for i, r in enumerate(X) if i) / 3,
    sum(0.7 * ce(r, i) - 0.3 * sum(logs(r)) / 6 for i, r in enumerate(X)) / 4,
    -sum(sum(p * l for p, l in zip(soft(twice(r)), logs(r))) for r in X) / 4,
    sum(sum(p * (a - b) for p, a, b in zip(soft(r), logs(r), logs(twice(r)))) for r in X) / 4, lse(x), size(x), 1, 0, 0.6, 1, 1, 1])
image = [[x[12 * c + 4 * i:12 * c + 4 * i + 4] for i in range(3)] for c in range(2)]
worst("nearest", w["near"], [image[c][i * 3 // 5][j * 4 // 6] for c in range(2) for i in range(5) for j in range(6)])
def between(n, to, i):
    at = min(max((i + 0.5) * n / to - 0.5, 0), n - 1)
    lo = min(int(at), n - 2)
    return [(lo, 1 - (at - lo)), (lo + 1, at - lo)]
worst("bilinear", w["smooth"], [sum(p * q * image[c][a][b] for a, p in between(3, 5, i) for b, q in between(4, 6, j))
                                for c in range(2) for i in range(5) for j in range(6)])
normed = []
for c in range(2):
    v = x[12 * c:12 * c + 12]
    m, s = sum(v) / 12, sd(v)
    normed += [(a - m) / math.sqrt(s * s + 0.1) for a in v]
worst("instancenorm", w["normed"], normed)
at = lambda n, c, i: x[12 * n + 6 * c + i] if 0 <= i < 6 else 0.0
worst("conv1", w["along"], [sum(at(n, c, i + k - 1) * w["cv.w"][6 * o + 3 * c + k] for c in range(2) for k in range(3)) + w["cv.b"][o]
                            for n in range(2) for o in range(2) for i in range(6)])
print("categorical", max(abs(a - b) for a, b in zip(w["counts"], soft(X[0]))) / 4000)    # of 4,000 draws
r = weights("rates.safetensors")["rate"]
def wsd(t): return 2 * (0.1 + 0.9 * min(max((10 - t) / 4, 0), 1)) * min((t + 1) / 2, 1)
def cycle(t):
    if t < 3: return 2 * (0.04 + 0.96 * 0.5 * (1 - math.cos(math.pi * t / 3)))
    return 2 * (4e-6 + (1 - 4e-6) * 0.5 * (1 + math.cos(math.pi * min((t - 3) / 7, 1))))
worst("rates", r, flat([wsd(t), cycle(t)] for t in range(12)))
# attention
a = weights("attend.safetensors")
def dense(row, name, n): return [sum(v * a[name + ".w"][k * n + j] for k, v in enumerate(row)) + a[name + ".b"][j] for j in range(n)]
def attention(q, k, v, sees):
    e = [math.exp(sum(s * t for s, t in zip(q, k[i])) / math.sqrt(len(q))) if sees(i) else 0.0 for i in range(len(k))]
    return [sum(e[i] * v[i][j] for i in range(len(k))) / sum(e) for j in range(len(q))]
Y, rows = [X[2], X[1], X[0]], []
both = [dense(r, "across.kv", 12) for r in Y]
for t in range(4):
    q = dense(X[t], "across.q", 6)
    y = [attention(q[3 * h:3 * h + 3], [b[3 * h:3 * h + 3] for b in both], [b[6 + 3 * h:9 + 3 * h] for b in both], lambda i: i <= t) for h in range(2)]
    rows += dense(flat(y), "across.proj", 6)
worst("mha_kv", a["across"], rows)
both, rows = [dense(r, "grouped.kv", 4) for r in X], []
for t in range(4):
    q = dense(X[t], "grouped.q", 6)
    y = [attention(turn(q[2 * h:2 * h + 2], t), [turn(b[:2], i) for i, b in enumerate(both)], [b[2:] for b in both], lambda i: i <= t) for h in range(3)]
    rows += dense(flat(y), "grouped.proj", 6)
worst("mha_groups", a["grouped"], rows)
# optimizers
def gradients(W, v):
    d = [2 * (sum(p * q for p, q in zip(r, v)) - i) for i, r in enumerate(W)]
    return [[d[i] * q for q in v] for i in range(3)], [sum(d[i] * W[i][j] for i in range(3)) for j in range(2)]
def start(): return [[j / 4 - 0.5 for j in (2 * i, 2 * i + 1)] for i in range(3)], [1.0, 1.0]
rms = lambda v: math.sqrt(sum(a * a for a in v) / len(v))
W, v = start()
rows, columns, second = [0.0] * 3, [0.0] * 2, [0.0] * 2
for t in range(5):
    G, g = gradients(W, v)
    b = 1 - (t + 1) ** -0.6
    rows = [b * o + (1 - b) * sum(a * a + 1e-30 for a in r) / 2 for o, r in zip(rows, G)]
    columns = [b * o + (1 - b) * sum(a * a + 1e-30 for a in c) / 3 for o, c in zip(columns, T(G))]
    second = [b * o + (1 - b) * (a * a + 1e-30) for o, a in zip(second, g)]
    U = [[a / math.sqrt(rows[i] / (sum(rows) / 3) * columns[j]) for j, a in enumerate(r)] for i, r in enumerate(G)]
    u = [a / math.sqrt(s) for a, s in zip(g, second)]
    k, l = max(rms(flat(U)) / 0.5, 1), max(rms(u) / 0.5, 1)
    W, v = [[p - 0.1 * q / k for p, q in zip(r, s)] for r, s in zip(W, U)], [p - 0.1 * q / l for p, q in zip(v, u)]
f = weights("factored.safetensors")
worst("adafactor", f["m.w"] + f["m.v"], flat(W) + v)
mul = lambda A, B: [[sum(p * q for p, q in zip(r, c)) for c in T(B)] for r in A]
W, v = start()
M = [[0.0] * 2 for _ in range(3)]
for t in range(5):
    G, g = gradients(W, v)
    M = [[0.95 * p + q for p, q in zip(r, s)] for r, s in zip(M, G)]
    Z = T([[q + 0.95 * p for p, q in zip(r, s)] for r, s in zip(M, G)])
    n = size(flat(Z)) + 1e-7
    Z = [[a / n for a in r] for r in Z]
    for _ in range(5):
        A = mul(Z, T(Z))
        B = [[-4.775 * p + 2.0315 * q for p, q in zip(r, s)] for r, s in zip(A, mul(A, A))]
        Z = [[3.4445 * p + q for p, q in zip(r, s)] for r, s in zip(Z, mul(B, Z))]
    Z = T(Z)
    W = [[p * (1 - 0.01) - 0.1 * 0.2 * math.sqrt(3) * q for p, q in zip(r, s)] for r, s in zip(W, Z)]
    v = [p - 0.01 * q for p, q in zip(v, g)]
o = weights("orthogonal.safetensors")
worst("muon", o["m.w"] + o["m.v"], flat(W) + v)
END
python3 formulas.py >worst || fail 'no numbers to compare with'
cat worst
[ "$(wc -l <worst)" = 21 ] || fail "not every formula was looked at: $(wc -l <worst)"
while read -r name error; do at_most "$error" 2e-5 "the error of $name"; done <worst
finish
