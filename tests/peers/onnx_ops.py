"""ONNX operators as expressions of gc's language, a function each.

A function gets the node and its inputs and returns an expression for each output. Inputs print as names. What is a
number to gc when it compiles (axes, shapes, counts) is taken with known(); shapes of outputs are known as well, since
gc's shapes are static. NotHere says why an operator, or one way to use it, has no counterpart.
"""
import numpy as np

DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64",
          "int32": "i32", "int64": "i64", "uint8": "u8", "bool": "bool"}
OPS = {}


class NotHere(Exception):
    pass


def dtype(array):
    if array.dtype.name not in DTYPES:
        raise NotHere(f"the element type {array.dtype.name}")
    return DTYPES[array.dtype.name]


def floating(x):
    return dtype(x.value) in ("f32", "f16", "bf16", "f64")


def op(*names):
    def keep(function):
        OPS.update({name: function for name in names})
        return function
    return keep


def brackets(numbers):
    return "[" + ", ".join(str(int(n)) for n in numbers) + "]"


def number(x):
    x = float(x)
    return {"inf": "inf", "-inf": "-inf"}.get(str(x), str(int(x)) if x == int(x) and abs(x) < 1e15 else repr(x)) \
        if x == x else "(inf - inf)"


def reshaped(x, shape):
    return f"reshape({x}, {brackets(shape)})"


def along(count, axis, rank):
    """0, 1, … along one axis of a tensor of this rank."""
    return reshaped(f"iota({count})", [count if i == axis % rank else 1 for i in range(rank)])


# ---- element by element ----

UNARY = {
    "Abs": "abs({0})", "Neg": "-{0}", "Ceil": "ceil({0})", "Floor": "floor({0})", "Round": "round({0})",
    "Exp": "exp({0})", "Log": "log({0})", "Sqrt": "sqrt({0})", "Sin": "sin({0})", "Cos": "cos({0})",
    "Tan": "sin({0}) / cos({0})", "Tanh": "tanh({0})", "Sigmoid": "sigmoid({0})", "Erf": "erf({0})",
    "Relu": "relu({0})", "Sign": "sign({0})", "Not": "not {0}", "Reciprocal": "1 / {0}", "Identity": "{0}",
    "Softplus": "softplus({0})", "Softsign": "{0} / (1 + abs({0}))", "Mish": "{0} * tanh(softplus({0}))",
    "HardSwish": "{0} * clamp({0} / 6 + 0.5, 0, 1)", "IsNaN": "{0} != {0}",
    "Sinh": "(expm1({0}) - expm1(-{0})) / 2", "Cosh": "(exp({0}) + exp(-{0})) / 2",
    "Atanh": "0.5 * (log1p({0}) - log1p(-{0}))", "Acosh": "log({0} + sqrt({0} * {0} - 1))",
    "Asinh": "sign({0}) * log1p(abs({0}) + {0} * {0} / (1 + sqrt({0} * {0} + 1)))",
    "GlobalAveragePool": "mean({0}, axis = {2}, keep = true)", "GlobalMaxPool": "max({0}, axis = {2}, keep = true)",
}
BINARY = {"Add": "+", "Sub": "-", "Mul": "*", "MatMul": "@", "And": "and", "Or": "or", "Xor": "!=", "Equal": "==",
          "Less": "<", "LessOrEqual": "<=", "Greater": ">", "GreaterOrEqual": ">="}


@op(*UNARY)
def unary(n, x):
    return [UNARY[n.op].format(x, None, brackets(range(2, x.value.ndim)))]


@op(*BINARY)
def binary(n, a, b):
    return [f"{a} {BINARY[n.op]} {b}"]


@op("Div")
def div(n, a, b):
    if not floating(a):
        raise NotHere("division of integers")
    return [f"{a} / {b}"]


@op("Pow")
def power(n, a, b):
    if not floating(a):
        raise NotHere("powers of integers")
    return [f"{a} ** {b}" if a.value.dtype == b.value.dtype else f"{a} ** {dtype(a.value)}({b})"]


@op("Mod")
def mod(n, a, b):
    return [f"sign({a}) * (abs({a}) % abs({b}))" if n.attr("fmod", 0) else f"{a} % {b}"]


@op("Max", "Min")
def extreme(n, first, *rest):
    text = str(first)
    for x in rest:
        text = f"{n.op.lower()}({text}, {x})"
    return [text]


@op("Sum")
def total(n, *xs):
    return [" + ".join(map(str, xs))]


@op("Mean")
def average(n, *xs):
    return [f"({' + '.join(map(str, xs))}) / {len(xs)}"]


@op("Where")
def where(n, c, a, b):
    return [f"where({c}, {a}, {b})"]


@op("Clip")
def clip(n, x, lo=None, hi=None):
    return [f"clamp({x}{f', lo = {lo}' if lo else ''}{f', hi = {hi}' if hi else ''})"]


@op("PRelu")
def prelu(n, x, slope):
    return [f"where({x} < 0, {slope} * {x}, {x})"]


@op("LeakyRelu")
def leaky_relu(n, x):
    return [f"leaky_relu({x}, {n.attr('alpha', 0.01)})"]


@op("Elu")
def elu(n, x):
    return [f"elu({x}, {n.attr('alpha', 1.0)})"]


@op("Celu")
def celu(n, x):
    a = n.attr("alpha", 1.0)
    return [f"max({x}, 0) + min({a} * expm1({x} / {a}), 0)"]


@op("Selu")
def selu(n, x):
    a, g = n.attr("alpha", 1.67326319217681884765625), n.attr("gamma", 1.05070102214813232421875)
    return [f"{g} * elu({x}, {a})"]


@op("ThresholdedRelu")
def thresholded_relu(n, x):
    return [f"where({x} > {n.attr('alpha', 1.0)}, {x}, 0)"]


@op("HardSigmoid")
def hard_sigmoid(n, x):
    return [f"clamp({n.attr('alpha', 0.2)} * {x} + {n.attr('beta', 0.5)}, 0, 1)"]


@op("Shrink")
def shrink(n, x):
    bias, limit = n.attr("bias", 0.0), n.attr("lambd", 0.5)
    if not floating(x):
        raise NotHere("arithmetic of integers with fractions")
    return [f"where({x} < -{limit}, {x} + {bias}, where({x} > {limit}, {x} - {bias}, 0))"]


@op("Swish")
def swish(n, x):
    return [f"{x} * sigmoid({n.attr('alpha', 1.0)} * {x})"]


@op("Gelu")
def gelu(n, x):
    return [f"gelu({x}, approx = {'true' if n.attr('approximate', b'none') == b'tanh' else 'false'})"]


@op("IsInf")
def is_inf(n, x):
    signs = [f"{x} == {s}inf" for s, a in (("", "detect_positive"), ("-", "detect_negative")) if n.attr(a, 1)]
    return [" or ".join(signs) or f"{x} < -inf"]


@op("Cast", "CastLike")
def cast(n, x, like=None):
    dtype(x.value)
    return [f"{dtype(n.out[0])}({x})"]


@op("Dropout")
def dropout(n, x, ratio=None, training=None):
    if training and bool(n.known(training)) and (ratio is None or float(n.known(ratio))):
        raise NotHere("random numbers")
    return [f"{x}", f"{x} == {x}"][: len(n.out)]


# ---- shapes ----


@op("Reshape", "Flatten", "Squeeze", "Unsqueeze")
def reshape(n, x, shape=None):
    return [reshaped(x, n.out[0].shape)]


@op("Expand")
def expand(n, x, shape):
    return [f"broadcast({x}, {brackets(n.out[0].shape)})"]


@op("Transpose")
def transpose(n, x):
    return [f"transpose({x}, {brackets(n.attr('perm', range(x.value.ndim)[::-1]))})"]


@op("Concat")
def concat(n, *xs):
    return [f"concat([{', '.join(map(str, xs))}], axis = {n.attr('axis', 0)})"]


@op("Split")
def split(n, x, sizes=None):
    axis = n.attr("axis", 0)
    return [f"split({x}, {brackets(o.shape[axis] for o in n.out)}, axis = {axis})"]


@op("Slice")
def slices(n, x, starts, ends, axes=None, steps=None):
    starts, ends = n.known(starts), n.known(ends)
    axes = range(len(starts)) if axes is None else n.known(axes)
    steps = [1] * len(starts) if steps is None else n.known(steps)
    text = [":"] * x.value.ndim
    for a, b, axis, s in zip(starts, ends, axes, steps):
        a, b, s = slice(int(a), int(b), int(s)).indices(x.value.shape[axis])
        text[axis] = f"{a}:{b if b >= 0 else ''}:{s}"
    return [f"{x}[{', '.join(text)}]"]


@op("Tile")
def tile(n, x, repeats):
    text = str(x)
    for axis, count in enumerate(n.known(repeats)):
        if count != 1:
            text = f"concat([{', '.join([text] * int(count))}], axis = {axis})"
    return [text]


@op("Pad")
def pad(n, x, pads, value=None, axes=None):
    if n.attr("mode", b"constant") != b"constant":
        raise NotHere("padding with what is in the tensor")
    rank, pads = x.value.ndim, [int(p) for p in n.known(pads)]
    axes = range(rank) if axes is None else n.known(axes)
    lo, hi = [0] * rank, [0] * rank
    for i, axis in enumerate(axes):
        lo[axis], hi[axis] = pads[i], pads[i + len(pads) // 2]
    cut = [f"{max(-a, 0)}:{d - max(-b, 0)}" for a, b, d in zip(lo, hi, x.value.shape)]
    text = f"{x}[{', '.join(cut)}]" if min(lo + hi) < 0 else str(x)
    fill = number(n.known(value)) if value is not None else "0"
    return [f"pad({text}, {brackets(max(a, 0) for a in lo)}, {brackets(max(b, 0) for b in hi)}, {fill})"]


@op("DepthToSpace")
def depth_to_space(n, x):
    (b, c, h, w), s = x.value.shape, n.attr("blocksize", 1)
    if n.attr("mode", b"DCR") == b"DCR":
        text = f"transpose({reshaped(x, [b, s, s, c // s**2, h, w])}, [0, 3, 4, 1, 5, 2])"
    else:
        text = f"transpose({reshaped(x, [b, c // s**2, s, s, h, w])}, [0, 1, 4, 2, 5, 3])"
    return [reshaped(text, n.out[0].shape)]


@op("SpaceToDepth")
def space_to_depth(n, x):
    (b, c, h, w), s = x.value.shape, n.attr("blocksize", 1)
    perm = "[0, 1, 3, 5, 2, 4]" if n.attr("mode", b"DCR") == b"CRD" else "[0, 3, 5, 1, 2, 4]"
    return [reshaped(f"transpose({reshaped(x, [b, c, h // s, s, w // s, s])}, {perm})", n.out[0].shape)]


@op("Trilu")
def trilu(n, x, k=None):
    k, (rows, columns) = 0 if k is None else int(n.known(k)), x.value.shape[-2:]
    sign = ">=" if n.attr("upper", 1) else "<="
    keep = f"{along(columns, 1, 2)} {sign} {along(rows, 0, 2)} + {k}"
    return [f"where({keep}, {x}, {'false' if x.value.dtype == bool else '0'})"]


@op("ConstantOfShape")
def constant_of_shape(n, shape):
    raise NotHere("results that are known when gc compiles")


@op("EyeLike")
def eye_like(n, x):
    count, columns = n.out[0].shape
    return [f"{dtype(n.out[0])}({along(columns, 1, 2)} == {along(count, 0, 2)} + {n.attr('k', 0)})"]


@op("Range")
def range_(n, start, limit, delta):
    return [f"{start} + {dtype(n.out[0])}(iota({len(n.out[0])})) * {delta}"]


# ---- reductions ----

REDUCE = {"ReduceSum": "sum({x}{a})", "ReduceMean": "mean({x}{a})", "ReduceMax": "max({x}{a})",
          "ReduceMin": "min({x}{a})", "ReduceProd": "prod({x}{a})", "ReduceL1": "sum(abs({x}){a})",
          "ReduceL2": "sqrt(sum({x} * {x}{a}))", "ReduceSumSquare": "sum({x} * {x}{a})",
          "ReduceLogSum": "log(sum({x}{a}))",
          "ReduceLogSumExp": "log(sum(exp({x} - max({x}{k})){a})) + max({x}{a})"}


@op(*REDUCE)
def reduce(n, x, axes=None):
    axes = n.attr("axes", None) if axes is None else n.known(axes)
    if axes is None or len(axes) == 0:
        if n.attr("noop_with_empty_axes", 0):
            one = {"ReduceL1": "abs({x})", "ReduceL2": "abs({x})", "ReduceSumSquare": "{x} * {x}", "ReduceLogSum": "log({x})"}
            return [one.get(n.op, "{x}").format(x=x)]
        axes = range(x.value.ndim)
    axes = brackets(axes)
    keep = "true" if n.attr("keepdims", 1) else "false"
    return [REDUCE[n.op].format(x=x, a=f", axis = {axes}, keep = {keep}", k=f", axis = {axes}, keep = true")]


@op("ArgMax", "ArgMin")
def argument(n, x):
    axis, name = n.attr("axis", 0), n.op.lower()
    text = f"{name}({x}, axis = {axis})"
    if n.attr("select_last_index", 0):
        text = f"{x.value.shape[axis] - 1} - {name}(reverse({x}, axis = {axis}), axis = {axis})"
    return [f"i64({reshaped(text, n.out[0].shape)})"]


@op("CumSum")
def cumsum(n, x, axis):
    axis = int(np.asarray(n.known(axis)).item())
    turned = f"reverse({x}, axis = {axis})" if n.attr("reverse", 0) else f"{x}"
    text = f"cumsum({turned}, axis = {axis})" + (f" - {turned}" if n.attr("exclusive", 0) else "")
    return [f"reverse({text}, axis = {axis})" if n.attr("reverse", 0) else text]


# ---- products and windows ----


@op("Gemm")
def gemm(n, a, b, c=None):
    a = f"{a}'" if n.attr("transA", 0) else f"{a}"
    b = f"{b}'" if n.attr("transB", 0) else f"{b}"
    text = f"{n.attr('alpha', 1.0)} * ({a} @ {b})"
    return [text if c is None else f"{text} + {n.attr('beta', 1.0)} * {c}"]


@op("Einsum")
def einsum(n, x, y=None, *more):
    spec = n.attr("equation", b"").decode().replace(" ", "")
    if more or "..." in spec:
        raise NotHere("einsum of three and more tensors" if more else "einsum with axes that have no letter")
    if "->" not in spec:  # the letters that stand there once, in order
        spec += "->" + "".join(c for c in sorted(set(spec)) if c.isalpha() and spec.count(c) == 1)
    return [f'einsum("{spec}", {x}{f", {y}" if y else ""})']


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


# ---- indices ----


def positive(ids, size):
    """Negative ones count from the end."""
    return f"where({ids} < 0, {ids} + {size}, {ids})" if ids.value.min() < 0 else str(ids)


@op("Gather")
def gather(n, x, ids):
    rank, axis = x.value.ndim, n.attr("axis", 0) % x.value.ndim
    at = positive(ids, x.value.shape[axis])
    if axis == 0:
        return [f"gather({x}, {at})"]
    front = [axis] + [i for i in range(rank) if i != axis]
    more = ids.value.ndim  # the axes of ids come first, then the others
    back = [*range(more, more + axis), *range(more), *range(more + axis, more + rank - 1)]
    return [f"transpose(gather(transpose({x}, {brackets(front)}), {at}), {brackets(back)})"]


@op("GatherElements")
def gather_elements(n, x, ids):
    axis = n.attr("axis", 0) % x.value.ndim
    cut = [":" if i == axis else f"0:{d}" for i, d in enumerate(ids.value.shape)]
    return [f"take_along({x}[{', '.join(cut)}], {positive(ids, x.value.shape[axis])}, axis = {axis})"]


def row_numbers(x, ids):
    """Of the rows [number, rest] of x that the last axis of ids names, from the first axes on."""
    k, shape = ids.value.shape[-1], x.value.shape
    text = "0"
    for i in range(k):
        at = f"{ids}[..., {i}]"
        if ids.value.min() < 0:
            at = f"where({at} < 0, {at} + {shape[i]}, {at})"
        text = f"{at}" if i == 0 else f"({text}) * {shape[i]} + {at}"
    return text, [int(np.prod(shape[:k])), *shape[k:]]


@op("GatherND")
def gather_nd(n, x, ids):
    if n.attr("batch_dims", 0):
        raise NotHere("indices for each of a batch of tensors, over several axes")
    at, shape = row_numbers(x, ids)
    return [reshaped(f"gather({reshaped(x, shape)}, {at})", n.out[0].shape)]


@op("ScatterND")
def scatter_nd(n, x, ids, updates):
    if n.attr("reduction", b"none") != b"add":
        raise NotHere("writing by index without adding")
    at, shape = row_numbers(x, ids)
    count = int(np.prod(ids.value.shape[:-1]))
    return [reshaped(f"scatter_add({reshaped(x, shape)}, {reshaped(at, [count])}, {reshaped(updates, [count, *shape[1:]])})",
                     x.value.shape)]


@op("ScatterElements")
def scatter_elements(n, x, ids, updates):
    if n.attr("reduction", b"none") != b"add":
        raise NotHere("writing by index without adding")
    axis, shape, flat = n.attr("axis", 0) % x.value.ndim, x.value.shape, []
    for i, d in enumerate(ids.value.shape):
        at = f"i32({positive(ids, shape[i])})" if i == axis else along(d, i, len(shape))
        flat.append(f"{at} * {int(np.prod(shape[i + 1:]))}")
    return [reshaped(f"scatter_add({reshaped(x, [-1])}, {reshaped(' + '.join(flat), [-1])}, {reshaped(updates, [-1])})", shape)]


@op("OneHot")
def one_hot(n, ids, depth, values):
    depth, rank = int(np.asarray(n.known(depth)).item()), n.out[0].ndim
    axis = n.attr("axis", -1) % rank
    at = n.let(f"i64({ids})" if floating(ids) else str(ids))
    shape = [1 if i == axis else d for i, d in enumerate(n.out[0].shape)]
    at = reshaped(f"i32(where({at} < 0, {at} + {depth}, {at}))", shape)
    return [f"where({along(depth, axis, rank)} == {at}, {values}[1], {values}[0])"]


@op("TopK")
def topk(n, x, k):
    rank, axis, k = x.value.ndim, n.attr("axis", -1) % x.value.ndim, int(np.asarray(n.known(k)).item())
    if not n.attr("largest", 1) and not floating(x):
        raise NotHere("the smallest of integers")
    perm = [i for i in range(rank) if i != axis] + [axis]
    back = [perm.index(i) for i in range(rank)]
    turned = f"transpose({x}, {brackets(perm)})" if axis != rank - 1 else str(x)
    sign = "" if n.attr("largest", 1) else "-"
    values, ids = n.let2(f"topk({sign}({turned}), {k})" if sign else f"topk({turned}, {k})")
    if axis != rank - 1:
        values, ids = (f"transpose({v}, {brackets(back)})" for v in (values, ids))
    return [f"{sign}{values}", f"i64({ids})"][: len(n.out)]


NONE = {
    "random numbers": "Bernoulli RandomNormal RandomUniform Multinomial",
    "shapes that depend on data": "Compress NonZero Unique NonMaxSuppression",
    "control flow with bodies of its own": "If Loop Scan SequenceMap",
    "strings, sequences and optional values": """StringConcat StringNormalizer StringSplit RegexFullMatch
        SequenceInsert SplitToSequence OptionalGetElement OptionalHasElement LabelEncoder TfIdfVectorizer ImageDecoder""",
    "quantisation": """QuantizeLinear DequantizeLinear DynamicQuantizeLinear QLinearConv QLinearMatMul ConvInteger
        MatMulInteger""",
    "bits of integers": "BitShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitCast",
    "steps of optimizers, which are functions of a param in gc": "Adam Adagrad Momentum",
}
REASONS = {name: why for why, names in NONE.items() for name in names.split()}
