#!/bin/sh
# einsum of several tensors against what it stands for, written out; and its gradient.
. "$(dirname "$0")/common.sh"
unoptimised
cat >e.g <<'END'
def differ(a, b) { return max(abs(a - b)) }
entry run(x : f32[4, 9], y : f32[9, 6], z : f32[6, 11], w : f32[11, 3], b : f32[4, 5, 6], v : f32[6]) {
  chain = einsum("ab,bc,cd,de->ea", x, y, z, w)
  plain = (x @ y @ z @ w)'
  many = einsum("ab,axc,bc,cq,q,de,d->xa", x, b, y, z, z[0], w, z[1])
  inner = reshape(x @ y, [4, 1, 6]) * b * (z @ z[0]) * sum(z[1] @ w)
  apart = einsum("c,a,cd,ab,ax->xcb", v, x[:, 0], z, x, x)
  written = sum(reshape(x[:, 0], [4, 1, 1]) * reshape(x, [4, 9, 1]) * reshape(x, [4, 1, 9]), axis = 0)
  written = transpose(reshape(written, [9, 9, 1]) * (v * sum(z, axis = 1)), [0, 2, 1])
  long = einsum("a,a,a,a,a,a,a,a,a,a,a,ab->b", v, v, v, v, v, v, v, v, v, v, v, z)
  return chain = differ(chain, plain), many = differ(many, sum(inner, axis = 2)'),
         apart = differ(apart, written), long = differ(long, (v ** 11) @ z),
         lone = differ(einsum("zb, bc", x, y), (x @ y)'),
         slope = differ(grad(sum(many ** 2), y), grad(sum(inner * sum(inner, axis = 2, keep = true)), y))
}
END
for in in x:4,9 y:9,6 z:6,11 w:11,3 b:4,5,6 v:6; do
  "$mkdata" npy f32 "${in#*:}" 5 "${in%%:*}.npy" || fail 'no data could be made'
done
run 0 "$gc" e.g -O2 -o e
run 0 ./e run --x x.npy --y y.npy --z z.npy --w w.npy --b b.npy --v v.npy --quiet
for name in chain many apart long lone slope; do
  at_most "$(sed -n "s/^$name = //p" out.txt)" 1e-4 "the difference of $name"
done
cat out.txt

# random specs, with letters that stand twice, axes without a letter and results that are not written: every value and
# every gradient against the sum over all places, written out; that against numpy where it is installed
cat >einsum.py <<'END'
import itertools, os, random, struct, sys
random.seed(7)
try:
    import numpy
except ImportError:
    numpy = None

def save(path, dims, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % "".join("%d, " % d for d in dims)
    open(path, "wb").write(b"\x93NUMPY\1\0v\0" + head.ljust(117).encode() + b"\n" + struct.pack("<%df" % len(values), *values))

def load(path):
    data = open(path, "rb").read()
    at = 10 + struct.unpack("<H", data[8:10])[0]
    return struct.unpack("<%df" % ((len(data) - at) // 4), data[at:])

def size(dims):
    n = 1
    for d in dims: n *= d
    return n

def case():
    letters = {c: random.randint(1, 4) for c in "abcd"}
    dots = [random.randint(1, 3) for _ in range(random.choice([0, 0, 1, 2]))]  # extents, from the last on
    parts, names = [], []
    for _ in range(random.randint(1, 3)):
        axes = [random.choice("abcd") for _ in range(random.randint(0 if dots else 1, 4))]
        part, dims = list(axes), [letters[c] for c in axes]
        if dots and (random.random() < 0.7 or not parts):
            have = dots[:random.randint(0, len(dots))] if parts else dots
            at = random.randint(0, len(axes))
            part.insert(at, "...")
            axes[at:at] = ["%d" % i for i in reversed(range(len(have)))]
            dims[at:at] = [1 if random.random() < 0.25 and parts else d for d in reversed(have)]
        parts.append("".join(part))
        names.append((axes, dims))
    used = sorted({c for axes, _ in names for c in axes if c.isalpha()})
    some = ["%d" % i for i in reversed(range(len(dots)))]
    if random.random() < 0.3:
        every = [c for axes, _ in names for c in axes]
        return parts, names, some + [c for c in used if every.count(c) == 1], "", letters, dots
    result = random.sample(used, random.randint(0, len(used)))
    text, at = list(result), random.randint(0, len(result))
    if some:
        text.insert(at, "...")
        result[at:at] = some
    return parts, names, result, "->" + "".join(text), letters, dots

def place(axes, dims, index):
    at = 0
    for c, d in zip(axes, dims): at = at * d + (index[c] if d > 1 else 0)
    return at

make = sys.argv[1] == "make"
lines, worst = [], 0.0
for k in range(60):
    parts, names, result, arrow, letters, dots = case()
    extent = dict(letters, **{"%d" % i: d for i, d in enumerate(dots)})
    spec = ",".join(parts) + arrow
    xs = [[random.randint(-8, 8) / 4 for _ in range(size(dims))] for _, dims in names]
    out = [extent[c] for c in result]
    w = [i + 1.0 for i in range(size(out))]
    if make:
        for i, ((_, dims), x) in enumerate(zip(names, xs)): save("x%d_%d.npy" % (k, i), dims, x)
        args = ["x%d" % i for i in range(len(xs))]
        types = ["%s : f32[%s]" % (a, ", ".join(map(str, dims))) for a, (_, dims) in zip(args, names)]
        lines += ["entry e%d(%s) {" % (k, ", ".join(types)), "  y = einsum(\"%s\", %s)" % (spec, ", ".join(args)),
                  "  w = reshape(f32(iota(%d)) + 1, [%s])" % (size(out), ", ".join(map(str, out))),
                  "  g = grad(sum(y * w), [%s])" % ", ".join(args),
                  "  return y, %s" % ", ".join("d%d = g[%d]" % (i, i) for i in range(len(xs))), "}"]
        continue
    y, grads = [0.0] * size(out), [[0.0] * len(x) for x in xs]
    every = sorted({c for axes, _ in names for c in axes})
    for values in itertools.product(*(range(extent[c]) for c in every)):
        index = dict(zip(every, values))
        at = [place(axes, dims, index) for axes, dims in names]
        to = place(result, out, index)
        product = 1.0
        for x, a in zip(xs, at): product *= x[a]
        y[to] += product
        for i in range(len(xs)):
            rest = w[to]
            for j in range(len(xs)):
                if j != i: rest *= xs[j][at[j]]
            grads[i][at[i]] += rest
    if numpy:
        theirs = numpy.einsum(spec, *(numpy.array(x).reshape(dims) for x, (_, dims) in zip(xs, names)))
        assert list(theirs.shape) == out and list(theirs.ravel()) == y, spec
    for name, want in [("y", y)] + [("d%d" % i, g) for i, g in enumerate(grads)]:
        got = load("%s%d.npy" % (name, k))
        assert len(got) == len(want), (spec, name)
        for a, b in zip(got, want): worst = max(worst, abs(a - b) / max(1, abs(b)))
        if worst > 1e-5: sys.exit("%s, %s: %s, not %s" % (spec, name, got, want))
if make:
    open("random.g", "w").write("\n".join(lines) + "\n")
    print("\n".join("e%d %d" % (k, l.count(" : ")) for k, l in enumerate(l for l in lines if l.startswith("entry"))))
else:
    print("%d specs, the largest difference is %.2g, %s" % (60, worst, "numpy agrees" if numpy else "numpy is not installed"))
END
python3 einsum.py make >entries.txt || fail 'no specs could be made'
run 0 "$gc" random.g -O2 -o random
while read -r entry n; do
  k=${entry#e} options="--y y$k.npy"
  for i in $(seq 0 $((n - 1))); do options="$options --x$i x${k}_$i.npy --d$i d$i$k.npy"; done
  # one option a word
  # shellcheck disable=SC2086
  run 0 ./random $entry $options --quiet
done <entries.txt
run 0 python3 einsum.py check
cat out.txt
finish
