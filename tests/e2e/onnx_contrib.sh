#!/bin/sh
# Contrib operators of ONNX Runtime, as its optimizer and its quantization tools write them, and ONNX's own that are several functions: numbers as numpy
# computes them by the operators' definitions.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/onnx_models.sh"
unoptimised
cat >contrib.py <<'EOF'
import numpy as np
rng = np.random.default_rng(2)
f = lambda *shape: rng.standard_normal(shape).astype("f4")
TYPES = {"f4": 1, "u1": 2, "i1": 3, "i4": 6, "i8": 7, "b1": 9}
inputs, tensors, nodes, outputs, command = {}, {}, [], [], []
def tensor(a):
    tensors[f"t{len(tensors)}"] = np.asarray(a)
    return f"t{len(tensors) - 1}"
def given(a):
    inputs[f"x{len(inputs)}"] = a
    return f"x{len(inputs) - 1}"
def case(op, ins, want, more="", domain="com.microsoft"):
    """Outputs of a node; `want` has None where one is left out."""
    names = [f"y{len(nodes)}_{i}" if y is not None else "" for i, y in enumerate(want)]
    for name, y in zip(names, want):
        if name:
            outputs.append(name)
            np.save(f"contrib_{name}.npy", np.asarray(y))
    nodes.append(f"  node {{ op_type: '{op}' domain: '{domain}' input: {ins} output: {names} {more} }}".replace("'", '"'))
attr = lambda **all: " ".join(f"attribute {{ name: '{k}' {'f' if isinstance(v, float) else 'ints' if isinstance(v, list) else 'i'}: {v} }}" for k, v in all.items())
softmax = lambda s: (lambda e: e / e.sum(-1, keepdims=True))(np.exp(s - s.max(-1, keepdims=True)))
norm = lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
heads = lambda x, n: x.reshape(*x.shape[:2], n, -1).transpose(0, 2, 1, 3)
joined = lambda x: x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)
steps = lambda v, s, z: np.clip(np.rint(v / np.float32(s)) + z, 0, 255).astype("u1")

# products and activations: the batch between the axes of a matrix
a, b = f(3, 2, 5), f(2, 7, 5)
case("FusedMatMul", [given(a), tensor(b)], [0.5 * a.transpose(1, 0, 2) @ b.transpose(0, 2, 1)], attr(transBatchA=1, transB=1, alpha=0.5))
x, bias = f(2, 3, 8), f(8)
gelu = lambda v: 0.5 * v * (1 + np.tanh(0.7978845608 * (v + 0.044715 * v ** 3)))
case("FastGelu", [given(x), tensor(bias)], [gelu(x + bias)])
case("QuickGelu", [given(x)], [x / (1 + np.exp(-1.702 * x))])
image, filters, more = f(1, 2, 4, 4), f(3, 2, 1, 1), f(1, 3, 4, 4)
case("FusedConv", [given(image), tensor(filters), "", given(more)], [np.maximum(np.einsum("bchw,fc->bfhw", image, filters[:, :, 0, 0]) + more, 0)],
     "attribute { name: 'activation' s: 'Relu' } " + attr(kernel_shape=[1, 1]))
# norms of sums
y, gamma, beta = f(2, 3, 8), f(8), f(8)
case("SkipLayerNormalization", [given(x), given(y), tensor(gamma), tensor(beta), tensor(bias)], [norm(x + y + bias) * gamma + beta, None, None, x + y + bias], attr(epsilon=1e-5))
case("SkipSimplifiedLayerNormalization", [given(x), given(y), tensor(gamma)], [(x + y) / np.sqrt(((x + y) ** 2).mean(-1, keepdims=True) + 1e-5) * gamma], attr(epsilon=1e-5))
ids, words, places = np.array([[1, 4, 2], [0, 3, 3]], "i4"), f(5, 8), f(4, 8)
case("EmbedLayerNormalization", [given(ids), "", tensor(words), tensor(places), "", tensor(gamma), tensor(beta), tensor(np.minimum(ids, 1))],
     [norm(words[ids] + places[:3]) * gamma + beta, np.minimum(ids, 1).sum(1).astype("i4")], attr(epsilon=1e-5))
# attention: one product for queries, keys and values; a past, causal, and keys that a mask hides
w, wide, past = f(8, 24), f(24), f(2, 2, 2, 2, 4)
q, k, v = (heads(t, 2) for t in np.split(x @ w + wide, 3, axis=-1))
k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
shown = np.array([[1, 1, 1, 0, 1], [1, 0, 1, 1, 1]], "i4")
s = np.where((np.arange(5) <= np.arange(3)[:, None] + 2) & (shown[:, None, None] > 0), q @ k.transpose(0, 1, 3, 2) / 2, -1e30)
case("Attention", [given(x), tensor(w), tensor(wide), tensor(shown), given(past)], [joined(softmax(s) @ v), np.stack([k, v])], attr(num_heads=2, unidirectional=1))
q, own_bias, length = f(2, 4, 8), f(1, 2, 4, 3), np.array([3, 2], "i4")
s = np.where((np.arange(3) < length[:, None])[:, None, None], heads(q, 2) @ heads(x, 2).transpose(0, 1, 3, 2) * 0.3 + own_bias, -1e30)
case("MultiHeadAttention", [given(q), given(x), given(y), "", tensor(length), tensor(own_bias)], [joined(softmax(s) @ heads(y, 2))], attr(num_heads=2, scale=0.3))
angle, at = f(9, 3), np.array([[2, 3, 5], [0, 8, 1]], "i8")
for pairs, kind in ((0, "com.microsoft"), (1, "")):
    h, c, d = heads(x, 1), np.cos(angle[at])[:, None], np.sin(angle[at])[:, None]
    p, r = (h[..., 0:6:2], h[..., 1:6:2]) if pairs else (h[..., :3], h[..., 3:6])
    p, r = c * p - d * r, d * p + c * r
    turned = np.stack([p, r], -1).reshape(2, 1, 3, 6) if pairs else np.concatenate([p, r], -1)
    table = [tensor(np.cos(angle)), tensor(np.sin(angle))]
    case("RotaryEmbedding", [given(x), *table, tensor(at)] if pairs else [given(x), tensor(at), *table],
         [joined(np.concatenate([turned, h[..., 6:]], -1))], attr(num_heads=1, rotary_embedding_dim=6, interleaved=pairs), kind)
# integers
u, t = rng.integers(0, 256, (2, 3, 5)).astype("u1"), rng.integers(0, 256, 5).astype("u1")
p, r = (u - 120.0) * np.float32(0.05), (t - 3.0) * np.float32(0.07)
scale = lambda s, z, kind="u1": [tensor(np.float32(s)), tensor(np.array(z, kind))]
case("QLinearAdd", [given(u), *scale(0.05, 120), tensor(t), *scale(0.07, 3), *scale(0.11, 99)], [steps(p + r, 0.11, 99)])
case("QLinearConcat", [*scale(0.11, 99), given(u), *scale(0.05, 120), given(u), *scale(0.07, 3)], [steps(np.concatenate([p, (u - 3.0) * np.float32(0.07)], 1), 0.11, 99)], attr(axis=1))
case("QLinearAveragePool", [given(u[None]), *scale(0.05, 120), *scale(0.013, 9)], [steps((lambda a: (a[..., :-1] + a[..., 1:]) / 2)(p[None].transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1), 0.013, 9)],
     attr(kernel_shape=[1, 2], channels_last=1))
case("QLinearReduceMean", [given(u), *scale(0.05, 120), *scale(0.013, 7)], [steps(p.mean(2, keepdims=True), 0.013, 7)], attr(axes=[2], keepdims=1))
m, columns, units = rng.integers(-128, 128, (7, 40)).astype("i1"), rng.uniform(0.01, 0.03, 7).astype("f4"), rng.integers(-900, 900, 7).astype("i4")
u = rng.integers(0, 256, (3, 40)).astype("u1")
case("QGemm", [given(u), *scale(0.05, 120), tensor(m), tensor(columns), tensor(np.zeros(7, "i1")), tensor(units)],
     [((u - 120.0) @ m.T * 0.5 + units * 0.5) * np.float32(0.05) * columns], attr(transB=1, alpha=0.5))
# too few to be multiplied as integers
case("QGemm", [given(u[:, :6]), *scale(0.05, 120), tensor(m[:, :6]), tensor(columns), tensor(np.zeros(7, "i1")), tensor(units)], [((u[:, :6] - 120.0) @ m[:, :6].T + units) * np.float32(0.05) * columns], attr(transB=1))
z = f(3, 40)
low, high = min(z.min(), 0), max(z.max(), 0)
by = (high - low) / np.float32(255)
zero = np.rint(-low / by)
case("DynamicQuantizeMatMul", [given(z), tensor(m.T), tensor(columns), "", tensor(f(7) * 0 + 2)], [(np.clip(np.rint(z / by) + zero, 0, 255) - zero) * by @ (m.T * columns) + 2])
# matrices of 4 bits in blocks of 16, the last of which is not full, with zero points
bits, of, zeros, z = rng.integers(0, 16, (7, 3, 16)), f(7, 3), rng.integers(0, 16, (7, 3)), f(3, 40)
packed = lambda a: (a[..., 0::2] | a[..., 1::2] << 4).astype("u1")
whole = ((bits - zeros[..., None]) * of[..., None]).reshape(7, 48)[:, :40]
case("MatMulNBits", [given(z), tensor(packed(bits)), tensor(of.ravel()), tensor(packed(np.pad(zeros, ((0, 0), (0, 1)))).ravel())], [z @ whole.T], attr(K=40, N=7, bits=4, block_size=16))
case("MatMulNBits", [given(z), tensor(packed(bits)), tensor(of), "", "", tensor(f(7) * 0 + 2)], [z @ ((bits - 8) * of[..., None]).reshape(7, 48)[:, :40].T + 2], attr(K=40, N=7, bits=4, block_size=16))

# ONNX's own: transforms of whole axes and of frames, rows of each place of a batch, middles, angles
signal, own = f(2, 12, 3), lambda op, ins, want, more="": case(op, ins, [want], more, "")
spectrum = np.fft.fft(signal, 16, axis=1)
own("DFT", [given(signal[..., None]), tensor(np.array(16)), tensor(np.array(1))], np.stack([spectrum.real, spectrum.imag], -1).astype("f4"))
whole, back = np.stack([signal, signal[::-1]], -1), np.fft.ifft(signal + 1j * signal[::-1], axis=1)
own("DFT", [given(whole), "", tensor(np.array(1))], np.stack([back.real, back.imag], -1).astype("f4"), attr(inverse=1))
wave, window = f(2, 21), np.hanning(7)[:6].astype("f4")
frames = np.fft.rfft(np.stack([wave[:, 5 * i:5 * i + 6] * window for i in range(4)], 1))
own("HannWindow", [tensor(np.array(6))], window)
own("STFT", [given(wave[..., None]), tensor(np.array(5)), "y%d_0" % (len(nodes) - 1)], np.stack([frames.real, frames.imag], -1).astype("f4"))
steps_first, many = f(4, 3, 2), np.array([3, 1, 4], "i8")
own("ReverseSequence", [given(steps_first), tensor(many)], np.stack([np.concatenate([steps_first[:m, b][::-1], steps_first[m:, b]]) for b, m in enumerate(many)], 1))
cache, rows, first = f(2, 2, 5, 3), f(2, 2, 2, 3), np.array([4, 1], "i8")
written = cache.copy()
for b in range(2):
    for i in range(2):
        written[b, :, (first[b] + i) % 5] = rows[b, :, i]
own("TensorScatter", [given(cache), given(rows), tensor(first)], written, "attribute { name: 'mode' s: 'circular' }")
written = cache.copy()
written[0, :, 4], written[1, :, 1] = rows[0, :, 0], rows[1, :, 0]
own("TensorScatter", [given(cache), given(rows[:, :, :1]), tensor(first)], written)
own("CenterCropPad", [given(cache), tensor(np.array([3, 4]))], np.pad(cache[:, :, 1:4], ((0, 0), (0, 0), (0, 0), (0, 1))), attr(axes=[2, 3]))
own("GlobalLpPool", [given(cache)], (np.abs(cache) ** 3).sum((2, 3), keepdims=True) ** (1 / 3), attr(p=3))
angles = np.array([-1, -0.9, -0.3, 0, 1e-3, 0.41, 0.7, 1], "f4")
for op, function in (("Asin", np.arcsin), ("Acos", np.arccos), ("Atan", lambda v: np.arctan(5 * v))):
    own(op, [given(angles * (5 if op == "Atan" else 1))], function(angles))
own("SwiGLU", [given(cache), given(cache[::-1].copy())], cache / (1 + np.exp(-1.5 * cache)) * cache[::-1], attr(alpha=1.5))


# images read between their pixels, zeros beside them: at places of a grid, in boxes, by windows whose taps move
def read(images, y, x):
    """[batch, channels, h, w] at [batch, …]: [batch, channels, …]"""
    h, w = images.shape[2:]
    i, j, b = np.floor(y).astype(int), np.floor(x).astype(int), np.arange(len(images)).reshape(-1, *[1] * (y.ndim - 1))
    total = 0
    for di, wi in ((0, 1 - (y - i)), (1, y - i)):
        for dj, wj in ((0, 1 - (x - j)), (1, x - j)):
            inside = (i + di >= 0) & (i + di < h) & (j + dj >= 0) & (j + dj < w)
            total = total + (wi * wj * inside)[..., None] * images[b, :, np.clip(i + di, 0, h - 1), np.clip(j + dj, 0, w - 1)]
    return np.moveaxis(total, -1, 1).astype("f4")
picture, grid = f(2, 4, 5, 6), rng.uniform(-1.3, 1.3, (2, 3, 2, 2)).astype("f4")
own("GridSample", [given(picture), given(grid)], read(picture, ((grid[..., 1] + 1) * 5 - 1) / 2, ((grid[..., 0] + 1) * 6 - 1) / 2))
pixels, rows, columns = np.stack(np.meshgrid(np.arange(-3, 8), np.arange(-2, 7)), -1), np.arange(-2, 7), np.arange(-3, 8)
at = (pixels[None].repeat(2, 0) / [2.5, 2] - 1).astype("f4") # whole pixels, also beside the image
for mode, beside, pick in (("nearest", "border", lambda i, n: np.clip(i, 0, n - 1)), ("linear", "reflection", lambda i, n: n - 1 - np.abs(n - 1 - np.abs(i))), ("cubic", "border", lambda i, n: np.clip(i, 0, n - 1))):
    own("GridSample", [given(picture), tensor(at)], picture[:, :, pick(rows, 5)][..., pick(columns, 6)], attr(align_corners=1) + f" attribute {{ name: 'mode' s: '{mode}' }} attribute {{ name: 'padding_mode' s: '{beside}' }}")
theta = f(2, 2, 3)
x, y = np.meshgrid((2 * np.arange(4) + 1) / 4 - 1, (2 * np.arange(3) + 1) / 3 - 1)
own("AffineGrid", [given(theta), tensor(np.array([2, 1, 3, 4]))], np.einsum("brk,khw->bhwr", theta, np.stack([x, y, x * 0 + 1])).astype("f4"))
boxes, image = np.array([[1, 1.5, 9, 8], [0.5, 2, 4, 9.5], [4, 0, 10, 6]], "f4"), np.array([1, 0, 1])
places = lambda low, high, n: (low[:, None] + (np.arange(2 * n) + 0.5) * (high - low)[:, None] / (2 * n)) * 0.5 - 0.5
y, x = np.clip(places(boxes[:, 1], boxes[:, 3], 3), 0, 4), np.clip(places(boxes[:, 0], boxes[:, 2], 2), 0, 5)
taken = read(picture[image], *np.broadcast_arrays(y[:, :, None], x[:, None]))
own("RoiAlign", [given(picture), given(boxes), tensor(image)], taken.reshape(3, 4, 3, 2, 2, 2).mean((3, 5)), attr(output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.5))
filters, moved, weight = f(2, 2, 2, 2), f(2, 2 * 2 * 4, 2, 3), f(2, 2 * 4, 2, 3)
cut = moved.reshape(2, 2, 4, 2, 2, 3)
y = np.arange(2)[:, None] * 2 - 1 + np.array([0, 0, 2, 2])[:, None, None] + cut[:, :, :, 0]
x = np.arange(3) * 2 + np.array([0, 1, 0, 1])[:, None, None] + cut[:, :, :, 1]
seen = read(picture.reshape(4, 2, 5, 6), y.reshape(4, 4, 2, 3), x.reshape(4, 4, 2, 3)).reshape(2, 2, 2, 4, 2, 3) * weight.reshape(2, 2, 1, 4, 2, 3)
own("DeformConv", [given(picture), tensor(filters), given(moved), tensor(f(2) * 0 + 1), given(weight)], np.einsum("bgckhw,gck->bghw", seen, filters.reshape(2, 2, 4)) + 1,
    attr(group=2, offset_group=2, strides=[2, 2], pads=[1, 0, 0, 0], dilations=[2, 1], kernel_shape=[2, 2]))
# places of the largest, and what is filled by them; windows that are added up
tall = picture[:, :, :4].reshape(2, 4, 2, 2, 3, 2).transpose(0, 1, 2, 4, 3, 5).reshape(2, 4, 2, 3, 4)
tap = tall.argmax(-1)
spot = ((np.arange(8).reshape(2, 4, 1, 1) * 5) + np.arange(2)[:, None] * 2 + tap // 2) * 6 + np.arange(3) * 2 + tap % 2
case("MaxPool", [given(picture)], [tall.max(-1), spot], attr(kernel_shape=[2, 2], strides=[2, 2]), "")
least = np.zeros((1, 2, 2, 2), "u1")  # no place is beside the image
case("MaxPool", [given(least)], [least[:, :, :1, :1], np.arange(2).reshape(1, 2, 1, 1) * 4], attr(kernel_shape=[2, 2], pads=[1, 1, 0, 0], strides=[2, 2]), "")
full = np.zeros(2 * 4 * 4 * 6, "f4")
spot = ((np.arange(8).reshape(2, 4, 1, 1) * 4) + np.arange(2)[:, None] * 2 + tap // 2) * 6 + np.arange(3) * 2 + tap % 2
full[spot] = tall.max(-1)
own("MaxUnpool", [given(tall.max(-1)), given(spot), tensor(np.array([2, 4, 5, 6]))], np.pad(full.reshape(2, 4, 4, 6), ((0, 0), (0, 0), (0, 1), (0, 0))), attr(kernel_shape=[2, 2], strides=[2, 2]))
pieces, whole = f(2, 3 * 4, 2 * 3), np.zeros((2, 3, 6, 7), "f4")
for k in range(4):
    for i in range(6):
        whole[:, :, i // 3 * 3 + k // 2 * 2, i % 3 * 2 + k % 2] += pieces.reshape(2, 3, 4, 6)[:, :, k, i]
own("Col2Im", [given(pieces), tensor(np.array([6, 7])), tensor(np.array([2, 2]))], whole, attr(strides=[3, 2], dilations=[2, 1]))
own("LpPool", [given(picture)], (lambda a: (a[:, :, :3, 0::2] + a[:, :, 2:, 0::2]) ** 0.5)(picture ** 2), attr(kernel_shape=[2, 1], dilations=[2, 1], strides=[1, 2]))
own("AveragePool", [given(picture)], (picture[:, :, :3] + picture[:, :, 2:]) / 2, attr(kernel_shape=[2, 1], dilations=[2, 1]))
# matrices, choices, bits, a sequence's place for the next step
square = f(2, 4, 4)
square[0, 0, 0] = 0
own("Det", [given(square)], np.linalg.det(square))
own("Compress", [given(picture), tensor(np.array([False, True, False, True]))], picture[:, 1::2], attr(axis=1))
for kind in ("u1", "i1", "i4", "i8"):
    info = np.iinfo(kind)
    a, b = (rng.integers(info.min, info.max, 9, endpoint=True, dtype=kind) for _ in "ab")
    for op, function in (("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor)):
        own("Bitwise" + op, [given(a), given(b)], function(a, b))
    own("BitwiseNot", [given(a)], ~a)
a, b = rng.integers(0, 256, 9).astype("u1"), np.arange(9).astype("u1") % 8
own("BitShift", [given(a), given(b)], a << b, "attribute { name: 'direction' s: 'LEFT' }")
own("BitShift", [given(a), given(b)], a >> b, "attribute { name: 'direction' s: 'RIGHT' }")
x, before, taps = f(2, 3, 4), f(2, 3, 2), f(3, 1, 3)
whole = np.concatenate([before, x], 2)
case("CausalConvWithState", [given(x), tensor(taps), "", given(before)], [sum(whole[:, :, k:k + 4] * taps[:, 0, k, None] for k in range(3)), whole[:, :, 4:]], "", "")
# random numbers whose chances leave no choice
own("Bernoulli", [tensor(np.array([0, 1, 1, 0], "f4"))], np.array([0, 1, 1, 0], "f4"))
own("Multinomial", [tensor(np.array([[0, 99, 0], [99, 0, 0]], "f4"))], np.array([[1, 1], [0, 0]], "i4"), attr(sample_size=2))
own("RandomNormal", [], np.full((2, 3), 2, "f4"), attr(shape=[2, 3], mean=2.0, scale=0.0))
own("RandomUniformLike", [given(x)], np.full(x.shape, 3, "f4"), attr(low=3.0, high=3.0))

numbers = lambda a: "[" + ", ".join(map(str, a.ravel().tolist())) + "]"
print('opset_import { version: 23 } opset_import { domain: "com.microsoft" version: 1 }\ngraph {')
for name, v in inputs.items():
    dims = " ".join(f"dim {{ dim_value: {d} }}" for d in v.shape)
    print(f'  input {{ name: "{name}" type {{ tensor_type {{ elem_type: {TYPES[v.dtype.str[1:]]} shape {{ {dims} }} }} }} }}')
    np.save(f"contrib_{name}.npy", v)
for name, v in tensors.items():
    kind = v.dtype.str[1:]
    print(f'  initializer {{ name: "{name}" data_type: {TYPES[kind]} dims: {list(v.shape)} {"float" if kind == "f4" else "int64" if kind == "i8" else "int32"}_data: {numbers(v.astype(int) if kind == "b1" else v)} }}')
print(*nodes, *(f'  output {{ name: "{o}" }}' for o in outputs), "}", sep="\n")
with open("arguments", "w") as file:
    print(*(f"--{n} contrib_{n}.npy" for n in inputs), *(f"--expect {o}=contrib_{o}.npy" for o in outputs), file=file)
EOF
run 0 python3 contrib.py
encode_onnx contrib.onnx <out.txt
run 0 "$gc" contrib.onnx --emit=g -o contrib.g
holds contrib.g 'ones([7, 1], dtype = bf16)'
holds contrib.g 'axis = 1, group = 16, extent = 40, dtype = f32)'
run 0 "$gc" contrib.onnx -o contrib
# several words
# shellcheck disable=SC2046
run 0 ./contrib predict $(cat arguments) --rtol 2e-5 --atol 2e-5
# what is refused has the operator's own name, and what is no operator the domain's
encode_onnx bad.onnx <<'END2'
opset_import { version: 18 } opset_import { domain: "com.microsoft" version: 1 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 4 } dim { dim_value: 5 } } } } }
  input { name: "q" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 1 } dim { dim_value: 8 } } } } }
  input { name: "past" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 1 } dim { dim_value: 3 } dim { dim_value: 8 } } } } }
  initializer { name: "places" data_type: 7 dims: 2 int64_data: [0, 1] }
  initializer { name: "wide" data_type: 1 dims: [4, 4] float_data: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] }
  initializer { name: "none" data_type: 1 dims: [4, 0] }
  output { name: "y" } output { name: "z" } output { name: "a" } output { name: "b" } output { name: "c" }
  node { op_type: "GroupQueryAttention" name: "third" domain: "com.microsoft" input: ["q", "q", "q", "past", "", "places"] output: "a"
    attribute { name: "num_heads" i: 1 } attribute { name: "kv_num_heads" i: 1 } }
  node { op_type: "RotaryEmbedding" name: "fourth" domain: "com.microsoft" input: ["q", "places", "wide", "wide"] output: "b" }
  node { op_type: "RotaryEmbedding" name: "fifth" domain: "com.microsoft" input: ["q", "places", "none", "none"] output: "c" }
  node { op_type: "FusedMatMul" name: "first" domain: "com.microsoft" input: ["x", "x"] output: "y" }
  node { op_type: "Sampling" name: "second" domain: "com.microsoft" input: "x" output: "z" }
}
END2
says 1 'bad.onnx: 5 nodes cannot be imported, for 5 reasons' "$gc" bad.onnx -o no
holds out.txt 'note: 1 x GroupQueryAttention: a past that does not fit: third'
holds out.txt 'note: 1 x RotaryEmbedding: places of another shape: fourth'
holds out.txt 'note: 1 x RotaryEmbedding: shapes that do not fit: fifth'
holds out.txt 'note: 1 x FusedMatMul: shapes that do not fit: first'
holds out.txt 'note: 1 x Sampling: an operator of the domain com.microsoft: second'
finish
