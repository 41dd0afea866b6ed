"""ONNX operators that work element by element, move, reduce or look up, as expressions of gc's language."""
import numpy as np

from onnx_text import NotHere, along, brackets, dtype, floating, number, op, reshaped

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
