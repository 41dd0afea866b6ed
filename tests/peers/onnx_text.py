"""What functions of ONNX operators are written with: the table of them, and pieces of gc's language as text.

A function gets the node and its inputs and returns an expression for each output. Inputs print as names. What is a
number to gc when it compiles (axes, shapes, counts) is taken with known(); shapes of outputs are known as well, since
gc's shapes are static. NotHere says why an operator, or one way to use it, has no counterpart.
"""
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
