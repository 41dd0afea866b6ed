#!/bin/sh
# The prelude's recurrent cells, attention with several heads, its step with kept keys and values, huber, and
# orthogonal weights, against their published formulas in plain Python: the program's own weights and results, as saved.
. "$(dirname "$0")/common.sh"
unoptimised
cat >cells.g <<'END'
entry run(x : f32[1, 4, 6]) {
  h = zeros([1, 3])
  g = zeros([1, 3])
  l, c = zeros([1, 3]), zeros([1, 3])
  scan t in 0..4 {
    h = rnn(x[:, t], h) as rnn
    g = gru(x[:, t], g) as gru
    l, c = lstm(x[:, t], l, c) as lstm
  }
  param tall : f32[5, 3] = orthogonal(gain = 2)
  state last : f32[4, 3] = zeros()
  last := concat([h, g, l, c], axis = 0)
  state rows : f32[1, 4, 6] = zeros()
  rows := mha(x, 2, causal = true) as heads
  state far : f32[2] = zeros()
  far := stack([huber(x, zeros(shape(x)), 0.3), sum(tall)])
  return last
}
entry step(x : f32[1, 1, 6]) {
  state at : i32 = zeros()
  state one : f32[1, 4, 6] = zeros()
  one := dynamic_update(one, mha_step(x, 2, at, 4) as heads, at, axis = 1)
  at := at + 1
  return y = one
}
END
run 0 "$gc" cells.g -O2 -o cells
python3 - <<'END' || fail 'no data could be made'
import random, struct
random.seed(5)
x = struct.pack("<24f", *(random.uniform(-2, 2) for _ in range(24)))
def npy(name, shape):
    head = ("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    open(name, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + x)
npy("x.npy", "(1, 4, 6)")
npy("rows.npy", "(4, 1, 6)")
END
run 0 ./cells run --x x.npy --save run.safetensors --quiet
run 0 ./cells step --x rows.npy --load run.safetensors --save step.safetensors --quiet
cat >formulas.py <<'END'
import math, struct
from weights import largest, weights
w, x = weights("run.safetensors"), [list(struct.unpack("<6f", open("x.npy", "rb").read()[-96:][24 * i:24 * i + 24])) for i in range(4)]
def product(row, m, n):
    return [sum(v * m[k * n + j] for k, v in enumerate(row)) for j in range(n)]
def add(*rows): return [sum(v) for v in zip(*rows)]
def sigmoid(v): return 1 / (1 + math.exp(-v))
h, g, l, c = [0.0] * 3, [0.0] * 3, [0.0] * 3, [0.0] * 3
for row in x:
    h = [math.tanh(v) for v in add(product(row, w["rnn.wx"], 3), product(h, w["rnn.wh"], 3), w["rnn.b"])]
    a, b = add(product(row, w["gru.wx"], 9), w["gru.bx"]), add(product(g, w["gru.wh"], 9), w["gru.bh"])
    r, z = [sigmoid(a[j] + b[j]) for j in range(3)], [sigmoid(a[3 + j] + b[3 + j]) for j in range(3)]
    n = [math.tanh(a[6 + j] + r[j] * b[6 + j]) for j in range(3)]
    g = [(1 - z[j]) * n[j] + z[j] * g[j] for j in range(3)]
    a = add(product(row, w["lstm.wx"], 12), product(l, w["lstm.wh"], 12), w["lstm.b"])
    c = [sigmoid(a[3 + j]) * c[j] + sigmoid(a[j]) * math.tanh(a[6 + j]) for j in range(3)]
    l = [sigmoid(a[9 + j]) * math.tanh(c[j]) for j in range(3)]
qkv, rows = [add(product(row, w["heads.qkv.w"], 18), w["heads.qkv.b"]) for row in x], []
for t in range(4):
    y = []
    for head in range(2):
        q, k, v = ([row[6 * part + 3 * head:6 * part + 3 * head + 3] for row in qkv] for part in range(3))
        e = [math.exp(sum(a * b for a, b in zip(q[t], k[s])) / math.sqrt(3)) for s in range(t + 1)]
        y += [sum(e[s] * v[s][j] for s in range(t + 1)) / sum(e) for j in range(3)]
    rows += add(product(y, w["heads.proj.w"], 6), w["heads.proj.b"])
far = [abs(v) for row in x for v in row]
huber = sum(0.5 * a * a if a <= 0.3 else 0.3 * (a - 0.15) for a in far) / len(far)
columns = [[w["tall"][3 * i + j] for i in range(5)] for j in range(3)]
gram = [sum(a * b for a, b in zip(p, q)) for p in columns for q in columns]
def worst(name, got, want):
    assert len(got) == len(want), (name, len(got), len(want))
    print(name, largest(abs(a - b) for a, b in zip(got, want)))
worst("cells", w["last"], h + g + l + c)
worst("mha", w["rows"], rows)
worst("mha_step", weights("step.safetensors")["one"], rows)
worst("huber", w["far"][:1], [huber])
worst("orthogonal", gram, [4.0 * (i % 4 == 0) for i in range(9)])
END
python3 formulas.py >worst || fail 'no numbers to compare with'
cat worst
[ "$(wc -l <worst)" = 5 ] || fail 'not every formula was looked at'
while read -r name error; do at_most "$error" 2e-5 "the error of $name"; done <worst
finish
