"""Contrib operators of ONNX Runtime (domain com.microsoft) through gc's importer, beside ONNX Runtime itself.

    onnx_contrib.py BUILD [WORD…]          with words: only cases whose name holds one of them

A case is a model of one node with random inputs. Floats are equal within 1e-4 of the largest, integers but for one at a tie.
Exit code 1: one differs, or gc does not compile it.
"""
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

rng = np.random.default_rng(3)


def f(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def u8(*shape):
    return rng.integers(0, 256, shape).astype(np.uint8)


def i8(*shape):
    """Of 7 bits: without VNNI its products of u8 and i8 saturate sums of two at 16 bits."""
    return rng.integers(-64, 64, shape).astype(np.int8)


def integers(kind, *shape):
    return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, endpoint=True, dtype=kind)


def one(x, dtype=np.float32):
    return np.array(x, dtype)


class W(np.ndarray):
    """A tensor of the file."""


def w(a):
    return np.ascontiguousarray(a).reshape(np.shape(a)).view(W)


S, Z = w(one(0.05)), w(one(120, np.uint8))
T, Y = w(one(0.03)), w(one(-7, np.int8))
OUT = [w(one(0.4)), w(one(99, np.uint8))]
ROTATED = (lambda a: [w(np.cos(a)), w(np.sin(a))])(rng.uniform(-3, 3, (16, 4)).astype(np.float32))
WIDE = (lambda a: [w(np.cos(a)), w(np.sin(a))])(rng.uniform(-3, 3, (16, 8)).astype(np.float32))
GRID = rng.uniform(-1.4, 1.4, (2, 4, 3, 2)).astype(np.float32)
BOXES = np.array([[1, 2, 11, 9], [-3, 4, 8, 20], [6, 6, 6.5, 7]], np.float32)
IDS = rng.integers(0, 9, (2, 5)).astype(np.int32)
LENGTHS = w(np.array([3, 6], np.int32))
SEEN = w(np.array([[1, 1, 1, 0, 1, 1], [1, 0, 1, 1, 1, 0]], np.int32))

# name, operator, inputs, attributes, the outputs that are wanted: 0 if none are named, and how many of them are compared: all
CASES = [
    ("gelu", "Gelu", [f(3, 5)], {}),
    ("fast_gelu", "FastGelu", [f(3, 5)], {}),
    ("fast_gelu_bias", "FastGelu", [f(3, 5), w(f(5))], {}),
    ("bias_gelu", "BiasGelu", [f(2, 3, 5), w(f(5))], {}),
    ("quick_gelu", "QuickGelu", [f(3, 5)], {}),
    ("quick_gelu_alpha", "QuickGelu", [f(3, 5)], {"alpha": 0.7}),
    ("matmul", "FusedMatMul", [f(2, 3, 5), w(f(2, 7, 5))], {"transB": 1, "alpha": 0.3}),
    ("matmul_a", "FusedMatMul", [f(2, 5, 3), f(2, 5, 7)], {"transA": 1}),
    ("matmul_batch", "FusedMatMul", [f(3, 2, 4, 5), f(7, 2, 4, 5)], {"transBatchA": 1, "transBatchB": 1, "transB": 1}),
    ("gemm", "FusedGemm", [f(3, 5), w(f(7, 5)), w(f(7))], {"transB": 1, "activation": "Relu"}),
    ("gemm_leaky", "FusedGemm", [f(3, 5), w(f(5, 7)), w(f(7))], {"activation": "LeakyRelu", "activation_alpha": 0.2}),
    ("conv", "FusedConv", [f(2, 3, 6, 6), w(f(4, 3, 3, 3)), w(f(4))], {"activation": "Relu", "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}),
    ("conv_sum", "FusedConv", [f(2, 3, 6, 6), w(f(4, 3, 3, 3)), w(f(4)), f(2, 4, 4, 4)], {"activation": "Relu", "kernel_shape": [3, 3]}),
    ("conv_clip", "FusedConv", [f(2, 3, 6, 6), w(f(4, 3, 3, 3))], {"activation": "Clip", "activation_params": [-0.5, 1.5], "kernel_shape": [3, 3]}),
    ("conv_hard", "FusedConv", [f(2, 3, 6, 6), w(f(4, 3, 3, 3)), w(f(4))], {"activation": "HardSigmoid", "activation_params": [0.1, 0.4], "kernel_shape": [3, 3]}),
    ("skip", "SkipLayerNormalization", [f(2, 5, 8), f(2, 5, 8), w(f(8)), w(f(8)), w(f(8))], {"epsilon": 1e-5}, [0, 3]),
    ("skip_plain", "SkipLayerNormalization", [f(2, 5, 8), w(f(5, 8)), w(f(8))], {}),
    ("skip_rms", "SkipSimplifiedLayerNormalization", [f(2, 5, 8), f(2, 5, 8), w(f(8)), w(f(8))], {"epsilon": 1e-6}, [0, 3]),
    ("rms", ":SimplifiedLayerNormalization", [f(2, 5, 8), w(f(8))], {"epsilon": 1e-5}),
    ("embed", "EmbedLayerNormalization", [IDS, w(IDS % 2), w(f(9, 8)), w(f(6, 8)), w(f(2, 8)), w(f(8)), w(f(8)), w(np.minimum(IDS, 1))], {}, [0, 1, 2]),
    ("embed_places", "EmbedLayerNormalization", [IDS, None, w(f(9, 8)), w(f(6, 8)), None, w(f(8)), w(f(8)), None, w((IDS[::-1] % 6).copy())], {"epsilon": 1e-5}, [0, 1]),
    ("attention", "Attention", [f(2, 6, 8), w(f(8, 24)), w(f(24))], {"num_heads": 2}),
    ("attention_causal", "Attention", [f(2, 6, 8), w(f(8, 24)), w(f(24))], {"num_heads": 2, "unidirectional": 1}),
    ("attention_lengths", "Attention", [f(2, 6, 8), w(f(8, 24)), w(f(24)), LENGTHS], {"num_heads": 2}),
    ("attention_mask", "Attention", [f(2, 6, 8), w(f(8, 24)), w(f(24)), SEEN], {"num_heads": 2, "scale": 0.3}),
    ("attention_each", "Attention", [f(2, 6, 8), w(f(8, 24)), w(f(24)), w(np.tril(np.ones((2, 6, 6), np.int32)))], {"num_heads": 4}),
    ("attention_bias", "Attention", [f(2, 6, 8), w(f(8, 24)), w(f(24)), SEEN, None, f(1, 2, 6, 6)], {"num_heads": 2}),
    ("attention_sizes", "Attention", [f(2, 6, 8), w(f(8, 20)), w(f(20))], {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 4]}),
    ("attention_past", "Attention", [f(2, 3, 8), w(f(8, 24)), w(f(24)), None, f(2, 2, 2, 4, 4)], {"num_heads": 2, "unidirectional": 1}, [0, 1]),
    ("qattention", "QAttention", [u8(2, 6, 32), w(i8(32, 96)), w(f(96)), S, w(one(0.01)), None, Z, w(one(0, np.int8))], {"num_heads": 2, "unidirectional": 1}),
    ("heads", "MultiHeadAttention", [f(2, 3, 8), f(2, 6, 8), f(2, 6, 8)], {"num_heads": 2}),
    ("heads_bias", "MultiHeadAttention", [f(2, 6, 8), f(2, 6, 8), f(2, 6, 8), w(f(24)), SEEN], {"num_heads": 2}),
    ("heads_split", "MultiHeadAttention", [f(2, 3, 8), f(2, 2, 6, 4), f(2, 2, 6, 4)], {"num_heads": 2}),
    ("heads_past", "MultiHeadAttention", [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8), None, None, w(f(1, 1, 3, 7)), f(2, 2, 4, 4), f(2, 2, 4, 4)], {"num_heads": 2}, [0, 1, 2]),
    ("group", "GroupQueryAttention", [f(2, 5, 32), f(2, 5, 16), f(2, 5, 16), None, None, w(np.array([4, 4], np.int32)), w(one(5, np.int32))], {"num_heads": 4, "kv_num_heads": 2}, [0, 1, 2]),
    ("group_packed", "GroupQueryAttention", [f(2, 5, 128), None, None, None, None, w(np.array([4, 4], np.int32)), w(one(5, np.int32)), *WIDE], {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "scale": 0.4}, [0, 1, 2]),
    ("group_window", "GroupQueryAttention", [f(2, 5, 32), f(2, 5, 16), f(2, 5, 16), None, None, w(np.array([4, 4], np.int32)), w(one(5, np.int32))], {"num_heads": 4, "kv_num_heads": 2, "local_window_size": 2, "softcap": 2.0}, [0, 1, 2]),
    ("group_past", "GroupQueryAttention", [f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 6, 16), f(2, 2, 6, 16), w(np.array([6, 6], np.int32)), w(one(7, np.int32)), *WIDE], {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "rotary_interleaved": 1}, [0, 1, 2]),
    ("group_ragged", "GroupQueryAttention", [f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 6, 16), f(2, 2, 6, 16), w(np.array([6, 3], np.int32)), w(one(7, np.int32)), *WIDE, None, f(1, 1, 1, 7)], {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "local_window_size": 4}, [0, 1, 2], 1),
    ("rotary", "RotaryEmbedding", [f(2, 2, 5, 8), w(np.array([[0, 1, 2, 3, 4], [7, 8, 9, 3, 4]])), *ROTATED], {}),
    ("rotary_flat", "RotaryEmbedding", [f(2, 5, 24), w(np.array([3])), *ROTATED], {}),
    ("rotary_pairs", "RotaryEmbedding", [f(2, 3, 5, 8), w(np.array([0])), *ROTATED], {"interleaved": 1}),
    ("rotary_part", "RotaryEmbedding", [f(2, 5, 24), w(np.array([0])), *ROTATED], {"num_heads": 2, "rotary_embedding_dim": 8}),
    ("rotary_onnx", ":RotaryEmbedding", [f(2, 5, 24), *ROTATED, w(np.array([[0, 1, 2, 3, 4], [7, 8, 9, 3, 4]]))], {"num_heads": 2, "rotary_embedding_dim": 8}),
    ("qadd", "QLinearAdd", [u8(2, 3, 4), S, Z, u8(4), w(one(0.07)), w(one(3, np.uint8)), *OUT], {}),
    ("qmul", "QLinearMul", [i8(2, 3, 4), S, Y, i8(3, 1), T, Y, w(one(0.3)), w(one(5, np.int8))], {}),
    ("qsigmoid", "QLinearSigmoid", [u8(3, 5), S, Z, w(one(1 / 256)), w(one(0, np.uint8))], {}),
    ("qleaky", "QLinearLeakyRelu", [u8(3, 5), S, Z, w(one(0.06)), w(one(20, np.uint8))], {"alpha": 0.1}),
    ("qsoftmax", "QLinearSoftmax", [u8(3, 5), S, Z, w(one(1 / 256)), w(one(0, np.uint8))], {"axis": -1, "opset": 13}),
    ("qpool", "QLinearAveragePool", [u8(2, 3, 6, 6), S, Z, w(one(0.04)), w(one(118, np.uint8))], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 0, 0]}),
    ("qpool_last", "QLinearAveragePool", [u8(2, 6, 6, 3), S, Z, w(one(0.04)), w(one(118, np.uint8))], {"kernel_shape": [2, 3], "channels_last": 1}),
    ("qglobal", "QLinearGlobalAveragePool", [u8(2, 3, 6, 6), S, Z, w(one(0.04)), w(one(118, np.uint8))], {}),
    ("qglobal_last", "QLinearGlobalAveragePool", [u8(2, 6, 6, 3), S, Z, w(one(0.04)), w(one(118, np.uint8))], {"channels_last": 1}),
    ("qconcat", "QLinearConcat", [*OUT, u8(2, 3), S, Z, u8(2, 4), w(one(0.1)), w(one(7, np.uint8))], {"axis": 1}),
    ("qwhere", "QLinearWhere", [w(np.array([True, False, True])), u8(2, 3), S, Z, u8(2, 3), w(one(0.1)), w(one(7, np.uint8)), *OUT], {}),
    ("nhwc_pool", "NhwcMaxPool", [u8(2, 6, 6, 3)], {"kernel_shape": [3, 3], "strides": [2, 2]}),
    ("qgemm", "QGemm", [u8(3, 40), S, Z, w(i8(40, 7)), T, w(one(0, np.int8)), w(rng.integers(-900, 900, 7).astype(np.int32)), w(one(0.9)), w(one(99, np.uint8))], {}),
    ("qgemm_columns", "QGemm", [u8(3, 40), S, Z, w(i8(7, 40)), w(rng.uniform(0.01, 0.03, 7).astype(np.float32)), w(np.zeros(7, np.int8)), w(rng.integers(-900, 900, 7).astype(np.int32))], {"transB": 1, "alpha": 0.5}),
    ("dynamic", "DynamicQuantizeMatMul", [f(3, 40), w(i8(40, 7)), w(rng.uniform(0.01, 0.03, 7).astype(np.float32)), w(np.zeros(7, np.int8)), w(f(7))], {}),
    ("to_float", "MatMulIntegerToFloat", [u8(2, 3, 40), w(u8(40, 7)), S, T, Z, w(one(130, np.uint8)), w(f(7))], {}),
    ("bits", "MatMulNBits", [f(2, 3, 64), w(u8(7, 2, 16)), w(f(7, 2))], {"K": 64, "N": 7, "bits": 4, "block_size": 32}),
    ("bits_zero", "MatMulNBits", [f(3, 96), w(u8(5, 3, 16)), w(f(15)), w(u8(10))], {"K": 96, "N": 5, "bits": 4, "block_size": 32}),
    ("bits_real", "MatMulNBits", [f(3, 96), w(u8(5, 3, 16)), w(f(15)), w(f(15))], {"K": 96, "N": 5, "bits": 4, "block_size": 32}),
    ("bits_rest", "MatMulNBits", [f(3, 70), w(u8(5, 3, 16)), w(f(15)), w(u8(10)), None, w(f(5))], {"K": 70, "N": 5, "bits": 4, "block_size": 32}),
    ("bits_small", "MatMulNBits", [f(3, 48), w(u8(5, 3, 8)), w(f(5, 3))], {"K": 48, "N": 5, "bits": 4, "block_size": 16}),
    ("rows", "GatherBlockQuantized", [w(u8(9, 16)), IDS, w(f(9, 2))], {"bits": 4, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}),
    ("rows_zero", "GatherBlockQuantized", [w(u8(9, 24)), IDS, w(f(9, 3)), w(u8(9, 2))], {"bits": 4, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}),
    ("rows_8", "GatherBlockQuantized", [w(u8(9, 32)), IDS, w(f(9, 2)), w(u8(9, 2))], {"bits": 8, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}),
    *[(f"grid_{m}_{p}_{c}", ":GridSample", [f(2, 3, 5, 4), GRID], {"mode": m, "padding_mode": p, "align_corners": c})
      for m in ("linear", "nearest", "cubic") for p in ("zeros", "border", "reflection") for c in (0, 1)],
    *[(f"grid_volume_{m}", ":GridSample", [f(2, 3, 5, 4, 3), rng.uniform(-1.3, 1.3, (2, 2, 4, 3, 3)).astype(np.float32)], {"mode": m}) for m in ("linear", "nearest")],
    *[(f"affine_{c}_{len(s)}", ":AffineGrid", [f(2, len(s) - 2, len(s) - 1), w(np.array(s))], {"align_corners": c}) for s in ([2, 3, 4, 5], [2, 3, 2, 4, 5]) for c in (0, 1)],
    *[(f"roi_{m}_{t}", ":RoiAlign", [f(2, 3, 9, 8), BOXES, np.array([1, 0, 1])], {"mode": m, "coordinate_transformation_mode": t, "output_height": 3, "output_width": 2, "sampling_ratio": 2, "spatial_scale": 0.5})
      for m in ("avg", "max") for t in ("half_pixel", "output_half_pixel")],
    *[(f"{op.lower()}_{name}", ":" + op, [f(5, 3, 4), w(f(d, g * 6, 4) / 2), w(f(d, g * 6, 6) / 4), w(f(d, g * 12) / 2), lengths, f(d, 3, 6), *([f(d, 3, 6), w(f(d, 18))] if g == 4 else [])],
       {"hidden_size": 6, **({"direction": "bidirectional"} if d == 2 else {}), **more}, [0, 1, 2][:2 + (g == 4)])
      for op, g, each in (("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 1)) for name, d, lengths, more in (
          ("lengths", 2, w(np.array([2, 5, 1], np.int32)), {}), ("lengths_given", 1, np.array([3, 0, 4], np.int32), {"direction": "reverse"}),
          ("clip", 1, None, {"clip": 0.4}), ("named", 1, None, {"activations": ["HardSigmoid", "Affine", "ScaledTanh"][3 - each:], "activation_alpha": [0.3, 0.8, 1.2], "activation_beta": [0.4, -0.1, 0.7]}),
          ("relu", 2, None, {"activations": ["Relu", "Sigmoid", "Softsign"][3 - each:] + ["LeakyRelu", "sigmoid", "Elu"][3 - each:], "activation_alpha": [0.2]}),
          *([("forget", 1, None, {"input_forget": 1})] if g == 4 else [("behind", 1, None, {"linear_before_reset": 1, "clip": 0.7})] if g == 3 else []))],
    ("unpool", ":MaxUnpool", [f(1, 2, 2, 2), np.array([0, 5, 10, 15, 17, 22, 26, 31]).reshape(1, 2, 2, 2)], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ("pool_places", ":MaxPool", [f(2, 3, 7, 6)], {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 1, 1, 0]}, [0, 1]),
    ("pool_places_apart", ":MaxPool", [f(2, 3, 9, 8)], {"kernel_shape": [2, 2], "dilations": [3, 2], "ceil_mode": 1, "strides": [2, 1]}, [0, 1]),
    ("pool_places_line", ":MaxPool", [f(2, 3, 9)], {"kernel_shape": [3], "strides": [2]}, [0, 1]),
    ("pool_places_column", ":MaxPool", [f(1, 2, 6, 4)], {"kernel_shape": [2, 2], "strides": [2, 2], "storage_order": 1}, [0, 1]),
    ("columns", ":Col2Im", [f(2, 3 * 6, 12), w(np.array([5, 5])), w(np.array([2, 3]))], {}),
    ("columns_apart", ":Col2Im", [f(2, 3 * 6, 6), w(np.array([6, 7])), w(np.array([2, 3]))], {"strides": [2, 3], "pads": [1, 0, 0, 1], "dilations": [1, 2]}),
    ("columns_line", ":Col2Im", [f(2, 6, 4), w(np.array([9])), w(np.array([3]))], {"strides": [2], "pads": [1, 0]}),
    *[(f"det_{n}", ":Det", [f(*s, n, n)], {}) for n, s in ((1, (2,)), (2, (3,)), (5, (2, 3)), (9, (2,)))],
    ("compress", ":Compress", [f(3, 4), w(np.array([False, True, True]))], {"axis": 0}),
    ("compress_flat", ":Compress", [f(3, 4), w(np.array([True, False, True, False, True]))], {}),
    ("mel", ":MelWeightMatrix", [w(one(8, np.int64)), w(one(400, np.int64)), w(one(16000, np.int64)), w(one(20)), w(one(7600))], {}),
    *[(f"bits_{o}_{t}", f":Bitwise{o}", [integers(t, 3, 4), integers(t, 4)], {}) for o in ("And", "Or", "Xor") for t in ("uint8", "int8", "int32", "int64", "uint32")],
    *[(f"bits_not_{t}", ":BitwiseNot", [integers(t, 3, 4)], {}) for t in ("uint8", "int8", "int32", "int64", "uint32")],
    *[(f"shift_{d}_{t}", ":BitShift", [integers(t, 3, 4), rng.integers(0, 8, (3, 1)).astype(t)], {"direction": d}) for d in ("LEFT", "RIGHT") for t in ("uint8", "uint32")],
    ("deform", ":DeformConv", [f(2, 4, 6, 5), w(f(6, 2, 3, 2)), f(2, 2 * 2 * 6, 3, 3), w(f(6)), f(2, 2 * 6, 3, 3)], {"group": 2, "offset_group": 2, "strides": [2, 2], "pads": [1, 1, 0, 0], "kernel_shape": [3, 2]}),
    ("average_holes", ":AveragePool", [f(2, 3, 9, 8)], {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1, 1, 2, 0], "strides": [2, 1]}),
    ("lp_holes", ":LpPool", [f(2, 3, 9, 8)], {"kernel_shape": [3, 2], "dilations": [2, 1], "ceil_mode": 1, "strides": [2, 2], "p": 3}),
    ("bits_8", "MatMulNBits", [f(3, 64), w(u8(5, 2, 32)), w(f(5, 2)), w(u8(5, 2))], {"K": 64, "N": 5, "bits": 8, "block_size": 32}),
]


def model_of(op, inputs, attributes, wanted):
    domain = "" if op[0] == ":" else "com.microsoft"
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    outputs = [f"y{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
    node = helper.make_node(op.lstrip(":"), names, outputs, domain=domain, **attributes)
    given = [(n, x) for n, x in zip(names, inputs) if x is not None]
    graph = helper.make_graph(
        [node], "main", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in given if not isinstance(x, W)],
        [onnx.ValueInfoProto(name=o) for o in outputs if o],
        [numpy_helper.from_array(np.asarray(x), n) for n, x in given if isinstance(x, W)])
    version = {":RotaryEmbedding": 23}.get(op, 20) if op[0] == ":" else 17
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version), helper.make_opsetid("com.microsoft", 1)], ir_version=10)
    return model, {n: np.asarray(x) for n, x in given if not isinstance(x, W)}


def wrong(gc, work, model, inputs, count=None):
    """What differs between gc and ONNX Runtime; None: nothing."""
    path = work / "contrib.onnx"
    onnx.save(model, path)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    outputs = [o.name for o in session.get_outputs()][:count]
    expected = session.run(None, inputs)[:count]
    done = subprocess.run([gc, path, "-O2", "-o", work / "contrib"], capture_output=True, text=True)
    if done.returncode:
        return f"gc: exit code {done.returncode}: {done.stderr[-400:]}"
    command = [work / "contrib", "predict"]
    for name, x in inputs.items():
        np.save(work / f"{name}.npy", x)
        command += [f"--{name}", work / f"{name}.npy"]
    for name in outputs:
        (work / f"{name}.out.npy").unlink(missing_ok=True)
        command += [f"--{name}", work / f"{name}.out.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return f"running: {done.stderr[-400:]}"
    for name, x in zip(outputs, expected):
        y = np.load(work / f"{name}.out.npy")
        if x.shape != y.shape:
            return f"{name}: shapes {x.shape} and {y.shape}"
        x, y = x.astype(np.float64), y.astype(np.float64)
        if expected[outputs.index(name)].dtype.kind in "iu":
            if np.abs(x - y).max() > 1 or (x != y).mean() > 0.05:
                return f"{name}: wanted {x.ravel()[:8]}, got {y.ravel()[:8]}"
        elif not np.abs(x - y).max() <= 1e-4 * np.abs(x).max():
            return f"{name}: wanted {x.ravel()[:8]}, got {y.ravel()[:8]}"
    return None


def main():
    build, words = Path(sys.argv[1]).resolve(), sys.argv[2:]
    work, failed, ran = build / "peers-work", 0, 0
    work.mkdir(exist_ok=True)
    for name, op, inputs, attributes, *outputs in CASES:
        if words and not any(w in name for w in words):
            continue
        model, given = model_of(op, inputs, attributes, outputs[0] if outputs else [0])
        what, ran = wrong(build / "bin/gc", work, model, given, *outputs[1:]), ran + 1
        if what:
            failed += 1
            print(f"{name}: {what}")
    print(f"{ran} contrib operators of ONNX Runtime, {ran - failed} as it computes them")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
