"""ONNX operators that nets are made of: products, windows, norms, losses, sequences, as expressions of gc's language."""
import numpy as np

from onnx_text import NotHere, along, brackets, dtype, op, reshaped

# ---- products and windows ----


@op("Gemm")
def gemm(n, a, b, c=None):
    a = f"{a}'" if n.attr("transA", 0) else f"{a}"
    b = f"{b}'" if n.attr("transB", 0) else f"{b}"
    text = f"{n.attr('alpha', 1.0)} * ({a} @ {b})"
    return [text if c is None else f"{text} + {n.attr('beta', 1.0)} * {c}"]


@op("Einsum")
def einsum(n, *x):
    spec = n.attr("equation", b"").decode()
    return [f'einsum("{spec}", {", ".join(map(str, x))})']


def window(n, x, kernel, out):
    """Pads (begin, end) of each spatial axis, strides and dilations, whatever auto_pad says."""
    rank = len(kernel)
    if rank > 2:
        raise NotHere("windows over three axes and more")
    strides, dilations = n.attr("strides", [1] * rank), n.attr("dilations", [1] * rank)
    pads, auto = n.attr("pads", [0] * 2 * rank), n.attr("auto_pad", b"NOTSET")
    pads = list(zip(pads[:rank], pads[rank:]))
    if auto in (b"SAME_UPPER", b"SAME_LOWER"):
        spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
        need = [max((o - 1) * s + k - i, 0) for o, s, k, i in zip(out, strides, spans, x.value.shape[2:])]
        pads = [(p // 2, p - p // 2) if auto == b"SAME_UPPER" else (p - p // 2, p // 2) for p in need]
    return pads, strides, dilations


def options(n, x, kernel, out, dilation=True):
    pads, strides, dilations = window(n, x, kernel, out)
    if not dilation and max(dilations) > 1:
        raise NotHere("an average over a window with holes")
    text = f"stride = {brackets(strides)}, pad = {brackets(p for pair in pads for p in pair)}"
    return text + (f", dilation = {brackets(dilations)}" if dilation else "")


def one_row(x):
    """[N, C, L] as [N, C, 1, L]"""
    shape = x.value.shape
    return reshaped(x, [*shape[:2], 1, shape[2]])


@op("Conv")
def conv(n, x, w, b=None):
    kernel = w.value.shape[2:]
    name = "conv1d" if len(kernel) == 1 else "conv2d"
    text = f"{name}({x}, {w}, {options(n, x, kernel, n.out[0].shape[2:])}, groups = {n.attr('group', 1)})"
    return [text if b is None else f"{text} + {reshaped(b, [-1] + [1] * len(kernel))}"]


@op("ConvTranspose")
def conv_transpose(n, x, w, b=None):
    kernel, out, size = w.value.shape[2:], n.out[0].shape[2:], x.value.shape[2:]
    rank, lower = len(kernel), n.attr("auto_pad", b"NOTSET") == b"SAME_LOWER"
    _, strides, dilations = window(n, x, kernel, out)
    extra = list(n.attr("output_padding", [0] * rank))
    pads = n.attr("pads", [0] * 2 * rank)
    pads = list(zip(pads[:rank], pads[rank:]))
    full = [(i - 1) * s + (k - 1) * d + 1 for i, s, k, d in zip(size, strides, kernel, dilations)]
    if n.attr("output_shape", None) or n.attr("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        total = [f + e - o for f, e, o in zip(full, extra, out)]
        extra = [e + max(-t, 0) for e, t in zip(extra, total)]
        total = [max(t, 0) for t in total]
        pads = [(t - t // 2, t // 2) if lower else (t // 2, t - t // 2) for t in total]
    images, filters = str(x), str(w)
    if rank == 1:
        images, filters = one_row(x), one_row(w)
        pads, strides, dilations, extra = [(0, 0), *pads], [1, *strides], [1, *dilations], [0, *extra]
    text = (f"conv_transpose2d({images}, {filters}, stride = {brackets(strides)}, "
            f"pad = {brackets(p for pair in pads for p in pair)}, output_pad = {brackets(extra)}, "
            f"dilation = {brackets(dilations)}, groups = {n.attr('group', 1)})")
    text = reshaped(text, n.out[0].shape)
    return [text if b is None else f"{text} + {reshaped(b, [-1] + [1] * rank)}"]


@op("MaxPool")
def max_pool(n, x):
    if len(n.out) > 1:
        raise NotHere("the places of the largest as an output")
    kernel, ceil = n.attr("kernel_shape", None), "true" if n.attr("ceil_mode", 0) else "false"
    return [f"max_pool({x}, {brackets(kernel)}, {options(n, x, kernel, n.out[0].shape[2:])}, ceil = {ceil})"]


@op("AveragePool")
def average_pool(n, x):
    kernel, ceil = n.attr("kernel_shape", None), "true" if n.attr("ceil_mode", 0) else "false"
    count = "true" if n.attr("count_include_pad", 0) else "false"
    how = options(n, x, kernel, n.out[0].shape[2:], dilation=False)
    return [f"avg_pool({x}, {brackets(kernel)}, {how}, ceil = {ceil}, count_include_pad = {count})"]


@op("LpPool")
def lp_pool(n, x):
    kernel, p = n.attr("kernel_shape", None), n.attr("p", 2)
    how = options(n, x, kernel, n.out[0].shape[2:], dilation=False)
    if n.attr("ceil_mode", 0):
        raise NotHere("a sum over a window that is cut off")
    return [f"({int(np.prod(kernel))} * avg_pool(abs({x}) ** {p}, {brackets(kernel)}, {how})) ** (1 / {p})"]


# ---- norms and losses ----


@op("BatchNormalization")
def batch_norm(n, x, scale, shift, mean, var):
    eps, keep = n.attr("epsilon", 1e-5), n.attr("momentum", 0.9)
    if not n.attr("training_mode", 0):
        return [f"batch_norm({x}, {mean}, {var}, {scale}, {shift}, {eps})"]
    axes = brackets([0, *range(2, x.value.ndim)])
    m, v = f"mean({x}, axis = {axes})", f"var({x}, axis = {axes})"
    running = [f"{old} * {keep} + {new} * {1 - keep}" for old, new in ((mean, m), (var, v))]
    return [f"batch_norm({x}, {m}, {v}, {scale}, {shift}, {eps})", *running][: len(n.out)]


def rows(n, x):
    """x as [leading axes, the axes that are normalised]"""
    axis = n.attr("axis", -1) % x.value.ndim
    return reshaped(x, [int(np.prod(x.value.shape[:axis])), int(np.prod(x.value.shape[axis:]))])


@op("LayerNormalization")
def layer_norm(n, x, scale, bias=None):
    flat, eps = rows(n, x), n.attr("epsilon", 1e-5)
    y = f"reshape(layer_norm({flat}, {eps}), {brackets(x.value.shape)}) * {scale}" + (f" + {bias}" if bias else "")
    rest = [f"mean({flat}, axis = 1)", f"rsqrt(var({flat}, axis = 1) + {eps})"]
    return [y, *(reshaped(t, o.shape) for t, o in zip(rest, n.out[1:]))]


@op("RMSNormalization")
def rms_norm(n, x, scale):
    return [f"reshape(rms_norm({rows(n, x)}, {n.attr('epsilon', 1e-5)}), {brackets(x.value.shape)}) * {scale}"]


@op("InstanceNormalization", "GroupNormalization")
def group_norm(n, x, scale, bias):
    shape = x.value.shape
    flat = reshaped(x, [shape[0], n.attr("num_groups", shape[1]), -1])
    channel = [-1] + [1] * (len(shape) - 2)
    y = f"reshape(layer_norm({flat}, {n.attr('epsilon', 1e-5)}), {brackets(shape)})"
    return [f"{y} * {reshaped(scale, channel)} + {reshaped(bias, channel)}"]


@op("LpNormalization")
def lp_normalization(n, x):
    p = n.attr("p", 2)
    norm = f"sum(abs({x}){' ** 2' if p == 2 else ''}, axis = {n.attr('axis', -1)}, keep = true)"
    norm = f"sqrt({norm})" if p == 2 else norm
    return [f"where({norm} == 0, 0, {x} / {norm})"]


@op("MeanVarianceNormalization")
def mean_variance(n, x):
    axes = brackets(n.attr("axes", [0, 2, 3]))
    return [f"({x} - mean({x}, axis = {axes}, keep = true)) / (sqrt(var({x}, axis = {axes}, keep = true)) + 1e-9)"]


@op("LRN")
def lrn(n, x):
    (b, c, h, w), size = x.value.shape, n.attr("size", 1)
    square = reshaped(f"{x} * {x}", [b, 1, c, h * w])
    pads = [(size - 1) // 2, size - 1 - (size - 1) // 2, 0, 0]
    mean = f"avg_pool({square}, [{size}, 1], stride = 1, pad = {brackets(pads)})"
    return [f"{x} / ({n.attr('bias', 1.0)} + {n.attr('alpha', 1e-4)} * {reshaped(mean, [b, c, h, w])}) ** {n.attr('beta', 0.75)}"]


@op("Softmax", "LogSoftmax")
def softmax(n, x):
    return [f"{'softmax' if n.op == 'Softmax' else 'log_softmax'}({x}, axis = {n.attr('axis', -1)})"]


@op("Hardmax")
def hardmax(n, x):
    axis, shape = n.attr("axis", -1), list(x.value.shape)
    count, shape[axis] = shape[axis], 1
    at = reshaped(f"argmax({x}, axis = {axis})", shape)
    return [f"{dtype(x.value)}({along(count, axis, len(shape))} == {at})"]


@op("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
def cross_entropy(n, x, label, weight=None):
    ignore, how = n.attr("ignore_index", None), n.attr("reduction", b"mean").decode()
    softmax = n.op == "SoftmaxCrossEntropyLoss"
    if softmax and weight is None and ignore is None and x.value.ndim == 2 and len(n.out) == 1:
        loss = f"xent({x}, {label})"
        return [loss if how == "none" else f"{how}({loss})"]
    shape = list(label.value.shape)
    logs = n.let(f"log_softmax({x}, axis = 1)") if softmax else str(x)
    ids = n.let(f"where({label} == {ignore}, 0, {label})") if ignore is not None else str(label)
    picked = reshaped(f"take_along({logs}, {reshaped(ids, [shape[0], 1, *shape[1:]])}, axis = 1)", shape)
    w = f"gather({weight}, {ids})" if weight else f"full({brackets(shape)}, 1, dtype = {dtype(x.value)})"
    w = n.let(f"where({label} == {ignore}, 0, {w})" if ignore is not None else w)
    loss = f"-{picked} * {w}"
    loss = {"none": loss, "sum": f"sum({loss})", "mean": f"sum({loss}) / sum({w})"}[how]
    return [loss, logs][: len(n.out)]


# ---- sequences ----


@op("Attention")
def attention(n, q, k, v, mask=None, past_key=None, past_value=None, length=None):
    if length or n.attr("softcap", 0.0) or max(n.attr("left_window_size", -1), n.attr("right_window_size", -1)) >= 0:
        raise NotHere("attention with a window, a cap, or lengths of its own")
    if len(n.names) > 3:
        raise NotHere("scores of attention as an output")
    if mask and mask.value.dtype != bool:
        raise NotHere("attention with numbers as a mask")
    flat = q.value.ndim == 3
    heads = n.attr("q_num_heads", 0), n.attr("kv_num_heads", 0), n.attr("kv_num_heads", 0)
    rows = k.value.shape[-2]
    q, k, v = (n.let(f"to_heads({x}, {h})") if flat else str(x) for x, h in zip((q, k, v), heads))
    queries, count, past = n.out[0].shape[-2], rows, 0
    if past_key:
        past = past_key.value.shape[2]
        count += past
        k, v = n.let(f"concat([{past_key}, {k}], axis = 2)"), n.let(f"concat([{past_value}, {v}], axis = 2)")
    causal, seen = n.attr("is_causal", 0), str(mask) if mask else ""
    if causal and (mask or queries != count):
        before = f"{along(count, 1, 2)} <= {along(queries, 0, 2)} + {past}"
        seen, causal = f"({seen}) and ({before})" if mask else before, 0
    text = f"attention({q}, {k}, {v}, causal = {'true' if causal else 'false'}"
    text += f", scale = {n.attr('scale', 0.0)}" if n.attr("scale", 0.0) else ""
    text += f", mask = {n.let(seen)})" if seen else ")"
    return [f"from_heads({text})" if flat else text, k, v][: len(n.names)]


@op("LSTM", "GRU", "RNN")
def recurrent(n, x, w, r, b=None, lengths=None, h0=None, c0=None, peep=None):
    if lengths or peep and n.op != "LSTM" or n.attr("activations", None) or n.attr("clip", None):
        raise NotHere("layers of recurrence with lengths or activations of their own")
    rows = n.attr("layout", 0) == 1  # the batch comes first
    steps, batch = x.value.shape[:2][::-1] if rows else x.value.shape[:2]
    directions, size = r.value.shape[0], r.value.shape[2]
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[n.op]
    x = n.let(f"transpose({x}, [1, 0, 2])") if rows else x
    start = [n.let(f"transpose({s}, [1, 0, 2])") if s and rows else s for s in (h0, c0)]
    back = n.attr("direction", b"forward")
    sequences, last, cells = [], [], []
    for d in range(directions):
        order = range(steps)[::-1] if back == b"reverse" or d == 1 else range(steps)
        h, c = (f"{s}[{d}]" if s else f"zeros([{batch}, {size}])" for s in start)
        outputs = {}
        cut = [f"{i * size}:{(i + 1) * size}" for i in range(2 * gates)]
        at = [f"{b}[{d}, {part}]" if b else "0" for part in cut]
        pieces = [f"{peep}[{d}, {part}]" for part in cut[:3]] if peep else ["0"] * 3
        for t in order:
            xs = [f"{x}[{t}] @ {w}[{d}, {part}]' + {bias}" for part, bias in zip(cut, at)]
            hs = [f"({h} @ {r}[{d}, {part}]' + {bias})" for part, bias in zip(cut, at[gates:])]
            if n.op == "LSTM":  # input, output, forget, cell
                i = n.let(f"sigmoid({xs[0]} + {hs[0]} + {pieces[0]} * {c})")
                f = n.let(f"sigmoid({xs[2]} + {hs[2]} + {pieces[2]} * {c})")
                c = n.let(f"{f} * {c} + {i} * tanh({xs[3]} + {hs[3]})")
                h = n.let(f"sigmoid({xs[1]} + {hs[1]} + {pieces[1]} * {c}) * tanh({c})")
            elif n.op == "GRU":  # update, reset, hidden
                z, reset = n.let(f"sigmoid({xs[0]} + {hs[0]})"), n.let(f"sigmoid({xs[1]} + {hs[1]})")
                if n.attr("linear_before_reset", 0):
                    new = n.let(f"tanh({xs[2]} + {reset} * {hs[2]})")
                else:
                    new = n.let(f"tanh({xs[2]} + ({reset} * {h}) @ {r}[{d}, {cut[2]}]' + {at[5]})")
                h = n.let(f"(1 - {z}) * {new} + {z} * {h}")
            else:
                h = n.let(f"tanh({xs[0]} + {hs[0]})")
            outputs[t] = h
        sequences.append(f"stack([{', '.join(outputs[t] for t in range(steps))}])")
        last.append(h)
        cells.append(c)
    y, last = f"stack([{', '.join(sequences)}], axis = 1)", f"stack([{', '.join(last)}])"
    texts = [y, last] + ([f"stack([{', '.join(cells)}])"] if n.op == "LSTM" else [])
    if rows:
        texts = [f"transpose({y}, [2, 0, 1, 3])"] + [f"transpose({t}, [1, 0, 2])" for t in texts[1:]]
    return texts[: len(n.names)]
