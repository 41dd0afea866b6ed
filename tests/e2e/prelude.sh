#!/bin/sh
# The numbers of the prelude's functions against plain Python: layers, batch norm's running statistics, activations,
# losses, shapes, and what initialisers draw. Every function that the prelude defines is called here, or in the scripts
# that compare cells and optimizers.
. "$(dirname "$0")/common.sh"
cat >p.g <<'END'
let S = 4096                                  # numbers of one axis that initialisers draw
entry draws() {
  param he2 : f32[64, S] = he()
  param he4 : f32[S, 8, 3, 2] = he()
  param glorot2 : f32[64, S] = glorot()
  param glorot4 : f32[S, 8, 3, 2] = glorot()
  param normals : f32[64, S] = normal(mean = 1, std = 3)
  param uniforms : f32[64, S] = uniform(-1, 3)
  param consts : f32[3] = const(2.5)
  param one : f32[3] = ones()
  param zero : f32[3] = zeros()
  a, b = fans([7, 5, 3, 2])
  state fan : f32[4] = zeros()
  c, d = fans([7, 5])
  fan := where(iota(4) < 2, where(iota(4) == 0, f32(a), f32(b)), where(iota(4) == 2, f32(c), f32(d)))
  return s = sum(he2) + sum(he4) + sum(glorot2) + sum(glorot4) + sum(normals) + sum(uniforms) + sum(consts) + sum(one) + sum(zero)
}
def norms(x) {
  return bn(reshape(x, [2, 3, 2, 2]), momentum = 0.3) as four, bn(reshape(x, [4, 3, 2])) as three, bn(reshape(x, [8, 3]), momentum = 0.2) as two
}
entry train(x : f32[4, 6]) {
  four, three, two = norms(x)
  w = reshape(f32(iota(24)), [4, 6])
  loss = mean(flatten(four) * reshape(w, [2, 12])) + mean(three * three) + mean(two)
  minimize loss with sgd(0)
  return loss
}
entry infer(x : f32[4, 6]) {
  state four : f32[24] = zeros()
  state three : f32[24] = zeros()
  state two : f32[24] = zeros()
  a, b, c = norms(x)
  four := reshape(a, [24])
  three := reshape(b, [24])
  two := reshape(c, [24])
  return a
}
def numbered(p, g) { p := p + reshape(f32(iota(prod(shape(p)))) + 1 + 0 * sum(g), shape(p)) }
entry number(x : f32[4, 6]) {
  minimize mean(grouped(x)) + mean(adapted(x)) with numbered()
  return y = x
}
def adapted(x) { return (lora(x, 3, rank = 2, alpha = 5) as ad) + low_rank(x, 3, rank = 1, alpha = 7) as bare }
def grouped(x) { return groupnorm(reshape(x, [2, 4, 1, 3]), 2, eps = 0.1) as gn }
entry group(x : f32[4, 6]) {
  state images : f32[2, 4, 1, 3] = zeros()
  images := grouped(x)
  state both : f32[4, 3] = zeros()
  both := adapted(x) / 64
  return x
}
entry values(x : f32[4, 6]) {
  x = reshape(x, [24])
  y = sigmoid(reverse(x, 0))
  rows = reshape(x, [4, 6])
  images = reshape(x, [1, 4, 2, 3])
  heads = reshape(x, [1, 3, 8])
  state fs : f32[8, 24] = zeros()
  fs := stack([gelu(x), gelu(x, approx = true), silu(x), leaky_relu(x, 0.2), elu(x, 1.5), softplus(x),
               reshape(to_heads(heads, 2), [24]), reshape(from_heads(to_heads(heads, 4)), [24])])
  state losses : f32[4] = zeros()
  losses := stack([mse(x, y), bce(x, y), warm(4), f32(bce(f16(0 * x) + 40000, f16(0 * x)))])
  zero = 0 * x
  far = where(iota(6) == 2, inf, reshape(zero, [4, 6]))
  base, none = rows * rows + 1, 0 * rows
  big = f16(zero) + 1000
  state smooth : f32[9, 24] = zeros()         # slopes at 0, where a formula of these has a kink, and beside infinity
  smooth := stack([grad(sum(elu(zero, 1.5)), zero), grad(sum(softplus(zero)), zero), grad(sum(logaddexp(zero, 2 * zero)), zero),
                   24 * grad(bce(zero, y), zero), grad(norm(zero) + sum(std(reshape(zero, [4, 6]), axis = 1)), zero),
                   reshape(grad(sum(logcumsumexp(far)), far), [24]), reshape(grad(sum(far ** none), far), [24]),
                   reshape(grad(sum(grad(sum(base ** none), base)), none), [24]),
                   f32(grad(sum(f32(gelu(big, approx = true))), big))])
  state lin : f32[4, 3] = zeros()
  lin := linear(rows, 3) as lin
  state norm : f32[2, 4, 6] = zeros()
  norm := stack([layernorm(rows, eps = 0.1) as ln, rmsnorm(rows, eps = 0.2) as rms])
  state rows_of : f32[3, 2] = zeros()
  rows_of := embed(3 * abs(iota(3) - 1), 4, 2, std = 0.5) as table
  state pooled : f32[1, 4] = zeros()
  pooled := global_avg_pool(images)
  state flat : f32[1, 24] = zeros()
  flat := flatten(images)
  state convolved : f32[1, 2, 1, 2] = zeros()
  convolved := conv(images, 2, [2, 3], stride = 2, groups = 2) as cv
  state spread : f32[1, 2, 4, 6] = zeros()
  spread := conv_transpose(images, 2, 2, stride = 2) as ct
  state logs : f32[3, 24] = zeros()
  logs := stack([logaddexp(x, y), reshape(logcumsumexp(rows), [24]), reshape(logcumsumexp(100 * rows), [24])])
  state tiny : f32[2, 24] = zeros()           # one summand is nothing beside the other, first and second
  tiny := 1e8 * stack([logaddexp(where(x > 0, 0, x - 20), where(x > 0, x - 20, 0)), logaddexp(0, x - 20)])
  state long : f32[1, 20000] = zeros()        # a bias of roundings would add up
  long := logcumsumexp(0 * reshape(arange(20000.0), [1, 20000]))
  state logs_grad : f32[4, 6] = zeros()
  logs_grad := grad(sum(logcumsumexp(rows) * rows), rows)
  return rows
}
entry half(x : f16[4]) { return y = logcumsumexp(x) : f16[4] }
END
run 0 "$gc" p.g -O2 -o p
cat >common.py <<'END'
import math, random, struct
from weights import largest, weights
random.seed(6)
data = struct.unpack("<48f", struct.pack("<48f", *(random.uniform(-3, 3) for _ in range(48))))
END
cat >data.py <<'END'
from common import *
def npy(name, x):
    head = ("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 6), }" % (len(x) // 6)).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack("<%df" % len(x), *x))
npy("two.npy", data)
npy("one.npy", data[:24])
END
python3 data.py || fail 'no data could be made'
run 0 ./p draws --save draws.safetensors --quiet
run 0 ./p values --x one.npy --save values.safetensors --quiet
run 0 ./p train --x two.npy --steps 2 --no-shuffle --save bn.safetensors --quiet
run 0 ./p infer --x one.npy --load bn.safetensors --save infer.safetensors --quiet
run 0 ./p number --x one.npy --save numbered.safetensors --quiet
run 0 ./p group --x one.npy --load numbered.safetensors --save group.safetensors --quiet
cat >formulas.py <<'END'
from common import *
def worst(name, got, want):
    assert len(got) == len(want), (name, len(got), len(want))
    print(name, largest(abs(a - b) for a, b in zip(got, want)))

# ---- initialisers: mean, variance and the fourth moment; the largest of uniform numbers ----
w = weights("draws.safetensors")
def drawn(name, mean, var, bound):
    x = w[name]
    n = len(x)
    m = sum(x) / n
    v = sum((a - m) ** 2 for a in x) / n
    k = sum((a - m) ** 4 for a in x) / n / v ** 2
    most = max(abs(a - mean) for a in x)
    # in standard errors of so many numbers, of which 5 are let pass for 1e-5
    print(name, max(abs(m - mean) / math.sqrt(var / n), abs(v / var - 1) / math.sqrt((k - 1) / n),
                    abs(k - (1.8 if bound else 3)) / math.sqrt(24 / n)) / 5 * 1e-5)
    if bound: print(name + "_bound", 0 if 0.999 * bound < most <= bound * (1 + 1e-6) else 1)
drawn("he2", 0, 2 / 64, None)
drawn("he4", 0, 2 / 48, None)
drawn("glorot2", 0, 2 / (64 + 4096), math.sqrt(6 / (64 + 4096)))
drawn("glorot4", 0, 2 / (48 + 6 * 4096), math.sqrt(6 / (48 + 6 * 4096)))
drawn("normals", 1, 9, None)
drawn("uniforms", 1, 4 / 3, 2)
worst("constants", w["consts"] + w["one"] + w["zero"], [2.5] * 3 + [1.0] * 3 + [0.0] * 3)
worst("fans", w["fan"], [30.0, 42.0, 7.0, 5.0])

# ---- batch norm: channel of each number; running statistics after two batches ----
trained, seen = weights("bn.safetensors"), weights("infer.safetensors")
def channels(name, momentum, channel):
    mean, var = [0.0] * 3, [1.0] * 3
    for batch in (data[:24], data[24:]):
        for c in range(3):
            x = [v for i, v in enumerate(batch) if channel(i) == c]
            m = sum(x) / len(x)
            mean[c] += momentum * (m - mean[c])
            var[c] += momentum * (sum((v - m) ** 2 for v in x) / (len(x) - 1) - var[c])
    worst(name + "_mean", trained["norms." + name + ".running_mean"], mean)
    worst(name + "_var", trained["norms." + name + ".running_var"], var)
    worst(name + "_kept", seen["norms." + name + ".running_mean"] + seen["norms." + name + ".running_var"], mean + var)
    worst(name, seen[name], [(v - mean[channel(i)]) / math.sqrt(var[channel(i)] + 1e-5) for i, v in enumerate(data[:24])])
channels("four", 0.3, lambda i: i // 4 % 3)
channels("three", 0.1, lambda i: i // 2 % 3)
channels("two", 0.2, lambda i: i % 3)

# ---- group norm: groups of two channels of three numbers; scales are 2 to 5, shifts 1 to 4 ----
gn = []
for i in range(4):
    group = data[6 * i:6 * i + 6]
    m = sum(group) / 6
    v = sum((a - m) ** 2 for a in group) / 6
    for j, a in enumerate(group):
        c = 2 * i % 4 + j // 3
        gn.append((a - m) / math.sqrt(v + 0.1) * (c + 2) + c + 1)
g = weights("group.safetensors")
worst("groupnorm", g["images"], gn)

# ---- adapters, whose params are numbers, too ----
def product(x, w, n): return [[sum(a * w[i * n + j] for i, a in enumerate(row)) for j in range(n)] for row in x]
ad = {k[8:]: v for k, v in g.items() if k.startswith("adapted.")}
rows = [data[6 * i:6 * i + 6] for i in range(4)]
layer, low, bare = product(rows, ad["ad.w"], 3), product(product(rows, ad["ad.lora.a"], 2), ad["ad.lora.b"], 3), product(product(rows, ad["bare.a"], 1), ad["bare.b"], 3)
assert min(abs(v) for name in ("ad.lora.a", "ad.lora.b", "bare.a", "bare.b") for v in ad[name]) > 0
worst("lora", g["both"], [(layer[i][j] + ad["ad.b"][j] + 2.5 * low[i][j] + 7 * bare[i][j]) / 64 for i in range(4) for j in range(3)])

# ---- functions ----
w, x = weights("values.safetensors"), data[:24]
sigmoid = lambda v: 1 / (1 + math.exp(-v))
y = [sigmoid(v) for v in reversed(x)]
heads = lambda n: [x[t * 8 + h * (8 // n) + j] for h in range(n) for t in range(3) for j in range(8 // n)]
names = ["gelu", "gelu_approx", "silu", "leaky_relu", "elu", "softplus", "to_heads", "from_heads"]
want = [[v * math.erfc(-v / math.sqrt(2)) / 2 for v in x],
        [v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v ** 3))) for v in x],
        [v * sigmoid(v) for v in x], [v if v > 0 else 0.2 * v for v in x],
        [v if v > 0 else 1.5 * (math.exp(v) - 1) for v in x], [math.log(1 + math.exp(v)) for v in x],
        heads(2), list(x)]
for i, name in enumerate(names): worst(name, w["fs"][24 * i:24 * i + 24], want[i])
cross = [-(t * math.log(sigmoid(v)) + (1 - t) * math.log(1 - sigmoid(v))) for v, t in zip(x, y)]
worst("losses", w["losses"], [sum((v - t) ** 2 for v, t in zip(x, y)) / 24, sum(cross) / 24, 0.25, 40000])
worst("smooth", w["smooth"], [1.5] * 24 + [0.5] * 24 + [1.5] * 24 + [0.5 - q for q in y] + [0.0] * 24 + [1.5, 0.5, 4.0, 0.0, 0.0, 0.0] * 4 + [0.0] * 24 + [1 / (v * v + 1) for v in x] + [1.0] * 24)
rows = [x[6 * i:6 * i + 6] for i in range(4)]
lae = lambda vs: max(vs) + math.log(sum(math.exp(v - max(vs)) for v in vs))
lce = lambda k: [lae([k * v for v in r[:i + 1]]) for r in rows for i in range(6)]
worst("logaddexp", w["logs"][:24], [lae(p) for p in zip(x, y)])
worst("logaddexp_tiny", w["tiny"], [1e8 * math.log1p(math.exp(v - 20)) for v in x + x])
worst("logcumsumexp_long", [v / 10 for v in w["long"]], [math.log(i + 1) / 10 for i in range(20000)])
worst("logcumsumexp", w["logs"][24:48], lce(1))
worst("logcumsumexp_far", [v / 100 for v in w["logs"][48:]], [v / 100 for v in lce(100)])
one = lce(1)
worst("logcumsumexp_grad", w["logs_grad"],
      [one[6 * r + k] + sum(rows[r][i] * math.exp(rows[r][k] - one[6 * r + i]) for i in range(k, 6)) for r in range(4) for k in range(6)])
worst("linear", w["lin"], [sum(v * w["lin.w"][3 * k + j] for k, v in enumerate(r)) + w["lin.b"][j] for r in rows for j in range(3)])
ln, rms = [], []
for r in rows:
    m = sum(r) / 6
    v = sum((a - m) ** 2 for a in r) / 6
    ln += [(a - m) / math.sqrt(v + 0.1) for a in r]
    rms += [a / math.sqrt(sum(b * b for b in r) / 6 + 0.2) for a in r]
worst("norms", w["norm"], ln + rms)
worst("embed", w["rows_of"], w["table.w"][6:] + w["table.w"][:2] + w["table.w"][6:])
worst("pool", w["pooled"], [sum(x[6 * i:6 * i + 6]) / 6 for i in range(4)])
worst("flatten", w["flat"], x)
# the size 2 by 3 at stride 2: 1 by 2 windows of 2 by 3, with one column of zeros on both sides
at = lambda c, i, j: x[6 * c + 3 * i + j] if 0 <= j < 3 and 0 <= i < 2 else 0.0
cv = [sum(at(2 * o + c, i, 2 * q - 1 + j) * w["cv.w"][12 * o + 6 * c + 3 * i + j] for c in range(2) for i in range(2) for j in range(3))
      + w["cv.b"][o] for o in range(2) for q in range(2)]
worst("conv", w["convolved"], cv)
ct = [sum(at(c, i // 2, j // 2) * w["ct.w"][8 * c + 4 * o + 2 * (i % 2) + j % 2] for c in range(4)) + w["ct.b"][o]
      for o in range(2) for i in range(4) for j in range(6)]
worst("conv_transpose", w["spread"], ct)
END
python3 formulas.py >worst || fail 'no numbers to compare with'
cat worst
[ "$(wc -l <worst)" = 48 ] || fail "not every formula was looked at: $(wc -l <worst)"
while read -r name error; do at_most "$error" 1e-5 "the error of $name"; done <worst

# a function that the prelude gets is called, here or there
for name in $(sed -n 's/^def \([a-z_0-9]*\)(.*/\1/p' "$here"/lang/prelude/*.g); do
  checks=$((checks + 1))
  cat p.g "$here/tests/e2e/cells.sh" "$here/tests/e2e/optimizers.sh" "$here/tests/e2e/adam.sh" "$here/tests/e2e/trees.sh" \
    "$here/tests/e2e/functions.sh" "$here/tests/e2e/images.sh" |
    grep -q "\(^\|[^a-z_0-9]\)$name(" || fail "nothing compares $name of the prelude with its formula"
done
finish
