#!/bin/sh
# docs/examples/bert.g and vit.g: published weights as they are, with sizes of their config.json. Plain Python makes the folders,
# with random weights, and computes what the programs must give. Then lines of text as rows of tokens, and a classifier of them.
. "$(dirname "$0")/common.sh"
unoptimised
mkdir bert bare vit && cp "$here/tests/unit/tokens/bert.json" bert/tokenizer.json
cat >make.py <<'END'
import json, math, os, random, struct
random.seed(7)
tokenizer = json.load(open("bert/tokenizer.json"))
V = max(list(tokenizer["model"]["vocab"].values()) + [t["id"] for t in tokenizer["added_tokens"]]) + 1
C, F, L, H, P = 12, 20, 2, 3, 16
eps = 1e-12
W = {}
def make(name, *shape, mean=0.0):
    W[name] = (shape, [struct.unpack("<f", struct.pack("<f", random.gauss(mean, 0.3)))[0] for _ in range(math.prod(shape))])
def pair(name, rows, columns): make(name + ".weight", rows, columns), make(name + ".bias", rows)
def scales(name): make(name + ".weight", C, mean=1), make(name + ".bias", C)
def save(folder, config, rename=lambda n: n):
    head, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (shape, values) in W.items():
        one = struct.pack("<%df" % len(values), *values)
        head[rename(name)] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(one)]}
        data += one
    text = json.dumps(head).encode()
    open(folder + "/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
    json.dump({**config, "hidden_size": C, "intermediate_size": F, "num_hidden_layers": L, "num_attention_heads": H,
               "layer_norm_eps": eps, "hidden_act": "gelu", "hidden_dropout_prob": 0.1}, open(folder + "/config.json", "w"))
def npy(name, code, shape, values):
    text = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (code, "".join("%d," % n for n in shape))).ljust(117) + "\n"
    kind = {"<f4": "f", "<i4": "i", "|u1": "B"}[code]
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + struct.pack("<%d%s" % (len(values), kind), *values))

def dense(x, name):
    (rows, columns), w = W[name + ".weight"]
    b = W[name + ".bias"][1]
    return [b[i] + sum(w[i * columns + j] * x[j] for j in range(columns)) for i in range(rows)]
def norm(x, name):
    m = sum(x) / len(x)
    s = math.sqrt(sum((v - m) ** 2 for v in x) / len(x) + eps)
    return [(v - m) / s * g + b for v, g, b in zip(x, W[name + ".weight"][1], W[name + ".bias"][1])]
def gelu(x): return [v * (1 + math.erf(v / math.sqrt(2))) / 2 for v in x]
def plus(a, b): return [[u + v for u, v in zip(p, q)] for p, q in zip(a, b)]
def attend(x, seen, name, query):
    D = C // H
    q, k, v = [[dense(row, f"{name}.{query}.{part}") for row in x] for part in ("query", "key", "value")]
    out = []
    for t in range(len(x)):
        y = []
        for h in range(0, C, D):
            s = [sum(q[t][h + i] * k[u][h + i] for i in range(D)) / math.sqrt(D) if seen[u] else -math.inf for u in range(len(x))]
            e = [math.exp(a - max(s)) for a in s]
            y += [sum(a * row[h + i] for a, row in zip(e, v)) / sum(e) for i in range(D)]
        out.append(dense(y, name + ".output.dense"))
    return out

# ---- BERT ----
for name, rows in ("word", V), ("position", P), ("token_type", 2): make(f"bert.embeddings.{name}_embeddings.weight", rows, C)
scales("bert.embeddings.LayerNorm")
for l in range(L):
    p = f"bert.encoder.layer.{l}."
    for part in "query", "key", "value": pair(p + "attention.self." + part, C, C)
    pair(p + "attention.output.dense", C, C), scales(p + "attention.output.LayerNorm")
    pair(p + "intermediate.dense", F, C), pair(p + "output.dense", C, F), scales(p + "output.LayerNorm")
pair("bert.pooler.dense", C, C), pair("classifier", 3, C)
pair("cls.predictions.transform.dense", C, C), scales("cls.predictions.transform.LayerNorm"), make("cls.predictions.bias", V)
config = dict(vocab_size=V, max_position_embeddings=P, type_vocab_size=2, pad_token_id=0)
save("bert", config)
# without a head, and with the names of older files
save("bare", config, lambda n: n.replace("bert.", "", 1).replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"))
def bert(ids, kinds):
    table = {n: W[f"bert.embeddings.{n}_embeddings.weight"][1] for n in ("word", "position", "token_type")}
    x = [norm([sum(table[n][i * C + c] for n, i in (("word", w), ("position", at), ("token_type", k))) for c in range(C)], "bert.embeddings.LayerNorm")
         for at, (w, k) in enumerate(zip(ids, kinds))]
    for l in range(L):
        p = f"bert.encoder.layer.{l}."
        x = [norm(row, p + "attention.output.LayerNorm") for row in plus(x, attend(x, [i != 0 for i in ids], p + "attention", "self"))]
        x = [norm(row, p + "output.LayerNorm") for row in plus(x, [dense(gelu(dense(row, p + "intermediate.dense")), p + "output.dense") for row in x])]
    return x
def classes(x): return dense([math.tanh(v) for v in dense(x[0], "bert.pooler.dense")], "classifier")
d = open("ids.npy", "rb").read()
n = 10 + struct.unpack("<H", d[8:10])[0]
T = 9
flat = struct.unpack("<%dH" % ((len(d) - n) // 2), d[n:])
rows = [flat[i:i + T] for i in range(0, len(flat), T)]
kinds = [int(i > 4) for i in range(T)]
npy("kind.npy", "<i4", [len(rows), T], kinds * len(rows))
npy("labels.npy", "<i4", [3], [2, 0, 1])
one, two = [bert(r, [0] * T) for r in rows], [bert(r, kinds) for r in rows]
npy("logits.npy", "<f4", [len(rows), 3], sum([classes(x) for x in one], []))
npy("pairs.npy", "<f4", [len(rows), 3], sum([classes(x) for x in two], []))
vectors = []
for ids, x in zip(rows, one):
    seen = [row for i, row in zip(ids, x) if i]
    vectors += [sum(row[c] for row in seen) / len(seen) for c in range(C)]
npy("vectors.npy", "<f4", [len(rows), C], vectors)
def word(row):
    y = norm(gelu(dense(row, "cls.predictions.transform.dense")), "cls.predictions.transform.LayerNorm")
    table, b = W["bert.embeddings.word_embeddings.weight"][1], W["cls.predictions.bias"][1]
    return [b[v] + sum(table[v * C + c] * y[c] for c in range(C)) for v in range(V)]
npy("words.npy", "<f4", [1, T, V], sum([word(row) for row in one[0]], []))

# ---- ViT ----
W.clear()
S, K = 8, 4  # an image has four patches
make("vit.embeddings.cls_token", 1, 1, C), make("vit.embeddings.position_embeddings", 1, 5, C)
make("vit.embeddings.patch_embeddings.projection.weight", C, 3, K, K), make("vit.embeddings.patch_embeddings.projection.bias", C)
for l in range(L):
    p = f"vit.encoder.layer.{l}."
    for part in "query", "key", "value": pair(p + "attention.attention." + part, C, C)
    pair(p + "attention.output.dense", C, C), scales(p + "layernorm_before"), scales(p + "layernorm_after")
    pair(p + "intermediate.dense", F, C), pair(p + "output.dense", C, F)
scales("vit.layernorm"), pair("classifier", 5, C)
save("vit", dict(image_size=S, patch_size=K, num_channels=3, qkv_bias=True))
images = [random.randrange(256) for _ in range(3 * 3 * S * S)]
npy("images.npy", "|u1", [3, 3, S, S], images)
def vit(image):
    w, b = W["vit.embeddings.patch_embeddings.projection.weight"][1], W["vit.embeddings.patch_embeddings.projection.bias"][1]
    at = lambda c, i, j: (image[(c * S + i) * S + j] / 255 - 0.5) / 0.5
    x = [list(W["vit.embeddings.cls_token"][1])]
    for i in range(0, S, K):
        for j in range(0, S, K):
            x.append([b[o] + sum(w[((o * 3 + c) * K + u) * K + v] * at(c, i + u, j + v) for c in range(3) for u in range(K) for v in range(K)) for o in range(C)])
    position = W["vit.embeddings.position_embeddings"][1]
    x = plus(x, [position[t * C:(t + 1) * C] for t in range(5)])
    for l in range(L):
        p = f"vit.encoder.layer.{l}."
        x = plus(x, attend([norm(row, p + "layernorm_before") for row in x], [True] * 5, p + "attention", "attention"))
        x = plus(x, [dense(gelu(dense(norm(row, p + "layernorm_after"), p + "intermediate.dense")), p + "output.dense") for row in x])
    return dense(norm(x[0], "vit.layernorm"), "classifier")
npy("scores.npy", "<f4", [3, 5], sum([vit(images[i * 3 * S * S:(i + 1) * 3 * S * S]) for i in range(3)], []))
END
# ---- rows of tokens ----
printf 'the first\r\n\n%s' 'a line that is longer than a row of nine tokens is, and is cut' >lines.txt
printf 'entry one() { return y = zeros([1]) }\n' >one.g
run 0 "$gc" one.g --tokens -o one
rows() { out=$1; shift; ./one tokenize lines.txt --tokenizer bert/tokenizer.json -o "$out" "$@"; }
run 0 rows ids.npy --length 9
holds out.txt 'note: lines of more than 9 tokens, which were cut: 1 of 3'
run 0 rows plain.npy --plain
cat >rows.py <<'END'
import json, struct
def array(name):
    d = open(name, "rb").read()
    n = 10 + struct.unpack("<H", d[8:10])[0]
    return d[10:n].decode(), struct.unpack("<%dH" % ((len(d) - n) // 2), d[n:])
tokenizer = json.load(open("bert/tokenizer.json"))
added = {t["content"]: t["id"] for t in tokenizer["added_tokens"]}
(head, ids), (_, plain) = array("ids.npy"), array("plain.npy")
assert "'shape': (3, 9)" in head, head
first, second, third = ids[:9], ids[9:18], ids[18:]
begin, end = added["[CLS]"], added["[SEP]"]
k = first.index(end)
assert first[0] == begin and first[1:k] == plain[:k - 1] and not any(first[k + 1:]), (first, plain)
assert second == (begin, end) + (0,) * 7, second
assert third == (begin,) + plain[k - 1:k + 6] + (end,), (third, plain)
END
run 0 python3 rows.py
run 0 rows padded.npy --length 9 --pad '[MASK]'
cmp -s ids.npy padded.npy && fail '--pad changes nothing'
run 1 "$gc" "$here/docs/examples/bert.g" -D T=1024 --check
holds out.txt 'T = 1024 is beyond the 512 positions of the model'
says 2 '--length 2: the tokenizer puts 2 tokens around a text' rows no.npy --length 2
says 2 '--pad: the tokenizer has no token [NONE]' rows no.npy --length 9 --pad '[NONE]'
says 2 '--pad is for lines' rows no.npy --pad '[MASK]'
says 2 '--plain and --length exclude each other' rows no.npy --plain --length 9
says 2 'is a .npy file of other elements or other rows, and would be replaced' rows ids.npy --length 8
printf 'good\n\377\n' >wrong.txt
says 1 'wrong.txt: line 2: the text is not UTF-8 at byte 0' ./one tokenize wrong.txt --tokenizer bert/tokenizer.json --length 9 -o no.npy
absent no.npy

# ---- BERT ----
run 0 python3 make.py
run 0 "$gc" "$here/docs/examples/bert.g" --config=bert/config.json -D num_labels=3 -D T=9 -D N=3 -o net
run 0 ./net classify --tokens ids.npy --load bert --expect logits=logits.npy --atol 1e-5
run 0 ./net classify_pair --tokens ids.npy --kind kind.npy --load bert --expect logits=pairs.npy --atol 1e-5
run 0 ./net fill --tokens 'ids.npy[0:1]' --load bert --expect logits=words.npy --atol 1e-5
run 0 "$gc" "$here/docs/examples/bert.g" --config=bare/config.json -D T=9 -D N=3 -D 'norm=["gamma","beta"]' -o bare.net
run 0 ./bare.net embed --tokens ids.npy --load bare,without=classifier.out,without=fill --expect vector=vectors.npy --atol 1e-5
# a classifier learns three lines, from weights that are read without their head
run 0 ./net train --tokens ids.npy --label labels.npy --load bert,without=classifier.out --epochs 60 --lr 0.01 --save tuned.safetensors --quiet
run 0 ./net test --tokens ids.npy --label labels.npy --load tuned.safetensors
holds out.txt 'accuracy = 1'
# words that are hidden are guessed better
run 0 ./net learn --tokens ids.npy --load bert --epochs 60 --lr 0.01 --log learn.csv --quiet
at_most "$(awk -F, 'NR > 41 { s += $3 } END { print s / 20 }' learn.csv)" "$(awk -F, 'NR > 1 && NR < 12 { s += $3 } END { print s / 20 }' learn.csv)" 'half of the loss of hidden words'

# ---- ViT ----
run 0 "$gc" "$here/docs/examples/vit.g" --config=vit/config.json -D num_labels=5 -D N=3 -o vit.net
run 0 ./vit.net classify --image images.npy --load vit --expect logits=scores.npy --atol 1e-5
run 0 ./vit.net train --image images.npy --label labels.npy --load vit,without=classifier --epochs 30 --lr 0.01 --save seen.safetensors --quiet
run 0 ./vit.net test --image images.npy --label labels.npy --load seen.safetensors
holds out.txt 'accuracy = 1'
finish
