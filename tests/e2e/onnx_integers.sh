#!/bin/sh
# Integers in ONNX models: products of quantized matrices, arithmetic that wraps around, and numbers that gc knows; attributes of
# operators that few files have.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/onnx_models.sh"
unoptimised

# ---- products of quantized matrices are products of integers, with any zero points ----
cat >integers.py <<'END'
import numpy as np
rng = np.random.default_rng(1)
K, N = 70, 9
x, z = rng.uniform(-2, 2, (5, 2, K)).astype("f4"), rng.uniform(-2, 2, (6, K)).astype("f4")
w, u = rng.integers(-128, 128, (K, N)), rng.integers(0, 256, (N, K))
sw, zw, bias = rng.uniform(0.01, 0.03, N).astype("f4"), rng.integers(-9, 9, N), rng.standard_normal(N).astype("f4")
numbers = lambda a: "[" + ", ".join(map(str, a.ravel().tolist())) + "]"
tensor = lambda name, type, a: f'  initializer {{ name: "{name}" data_type: {type} dims: {list(a.shape)} {"float" if type == 1 else "int32"}_data: {numbers(a)} }}'
one = lambda v: np.array(v)
node = lambda op, ins, out, more="": f'  node {{ op_type: "{op}" input: {ins} output: "{out}" {more} }}'.replace("'", '"')
value = lambda side, name, dims: f'  {side} {{ name: "{name}" type {{ tensor_type {{ elem_type: 1 shape {{ {" ".join(f"dim {{ dim_value: {d} }}" for d in dims)} }} }} }} }}'
print("opset_import { version: 18 }\ngraph {")
print(value("input", "x", x.shape), value("input", "z", z.shape), value("input", "long", (1, 1100)), *(f'  output {{ name: "{o}" }}' for o in "mgiqd"), sep="\n")
print(tensor("w", 3, w), tensor("u", 2, u), tensor("sw", 1, sw), tensor("zw", 3, zw), tensor("bias", 1, bias), sep="\n")
for name, type, v in (("sx", 1, 0.015625), ("zx", 2, 117), ("sz", 1, 0.017), ("zz", 3, -5), ("su", 1, 0.02), ("zu", 2, 131), ("zq", 3, 3), ("sy", 1, 0.5), ("zy", 2, 120)):
    print(tensor(name, type, one(v)))
print(node("QuantizeLinear", ["x", "sx", "zx"], "xi"), node("DequantizeLinear", ["xi", "sx", "zx"], "xf"),
      node("DequantizeLinear", ["w", "sw"], "wf", 'attribute { name: "axis" i: 1 }'), node("MatMul", ["xf", "wf"], "m"),
      node("QuantizeLinear", ["z", "sz", "zz"], "zi"), node("DequantizeLinear", ["zi", "sz", "zz"], "zf"),
      node("DequantizeLinear", ["u", "su", "zu"], "uf"), node("Gemm", ["zf", "uf", "bias"], "g", 'attribute { name: "transB" i: 1 }'),
      node("MatMulInteger", ["xi", "w", "zx", "zw"], "i"),
      node("QLinearMatMul", ["xi", "sx", "zx", "w", "su", "zq", "sy", "zy"], "q"), sep="\n")
deep = np.full((1100, 2), 127)  # whose sums by 128 are beyond 2 ** 24, though those of the product are not
deep[0] = 1
print(tensor("deep", 3, deep), node("Cast", ["long"], "few", 'attribute { name: "to" i: 2 }'), node("MatMulInteger", ["few", "deep"], "d"), "}", sep="\n")
few = np.eye(1, 1100, dtype="f4")
np.save("integers_long.npy", few), np.save("integers_d.npy", (few @ deep).astype("i4"))
quantized = lambda v, s, zero, lo, hi: np.clip(np.rint(v / np.float32(s)) + zero, lo, hi).astype("f8")
xi, zi = quantized(x, 0.015625, 117, 0, 255), quantized(z, 0.017, -5, -128, 127)
for name, v in (("x", x), ("z", z), ("m", ((xi - 117) @ w * 0.015625 * sw).astype("f4")),
                ("g", ((zi + 5) @ (u.T - 131.0) * np.float32(0.017) * np.float32(0.02) + bias).astype("f4")),
                ("i", ((xi - 117) @ (w - zw)).astype("i4")),
                ("q", quantized(((xi - 117) @ (w - 3) * 0.015625 * np.float32(0.02)).astype("f4"), 0.5, 120, 0, 255).astype("u1"))):
    np.save("integers_" + name + ".npy", v)
END
run 0 python3 integers.py
encode_onnx integers.onnx <out.txt
run 0 "$gc" integers.onnx --emit=g -o integers.g
[ "$(grep -c 'ones(\[10, 1\], dtype = bf16)\|ones(\[6, 1\], dtype = bf16)' integers.g)" = 4 ] || fail 'not four products of integers'
run 0 "$gc" integers.onnx -o integers
run 0 ./integers predict --x integers_x.npy --z integers_z.npy --long integers_long.npy --expect d=integers_d.npy --expect m=integers_m.npy --expect g=integers_g.npy --expect i=integers_i.npy \
  --expect q=integers_q.npy --rtol 1e-5 --atol 1e-5

# ---- integers that wrap around, a remainder of C, branches with equal names inside, functions that call functions ----
branch() { encode_graph "node { op_type: 'Cast' input: '$1' output: 'c' attribute { name: 'to' i: 1 } } node { op_type: 'Add' input: ['x', 'c'] output: 'r$2' } output { name: 'r$2' }"; }
encode_onnx known.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
  output { name: "bytes" } output { name: "ints" } output { name: "rest" }
  initializer { name: "yes" data_type: 9 int32_data: 1 }
  initializer { name: "a" data_type: 2 dims: 3 int32_data: [200, 5, 0] } initializer { name: "b" data_type: 2 dims: 3 int32_data: [100, 6, 255] }
  initializer { name: "high" data_type: 6 dims: 3 int32_data: [2147483647, 5, -2147483648] } initializer { name: "one" data_type: 6 int32_data: 1 }
  initializer { name: "over" data_type: 7 dims: 3 int64_data: [-7, 7, -7] } initializer { name: "by" data_type: 7 dims: 3 int64_data: [3, -3, -3] }
  node { op_type: "Add" input: ["a", "b"] output: "ab" }
  initializer { name: "none" data_type: 7 dims: 0 }
  node { op_type: "Add" input: ["high", "one"] output: "added" }
  node { op_type: "ReduceSum" input: ["added", "none"] output: "wrapped" attribute { name: "noop_with_empty_axes" i: 1 } }
  node { op_type: "Mod" input: ["over", "by"] output: "m" attribute { name: "fmod" i: 1 } }
  node { op_type: "If" input: "yes" output: "bytes" attribute { name: "then_branch" g: "$(branch ab 1)" } }
  node { op_type: "If" input: "yes" output: "ints" attribute { name: "then_branch" g: "$(branch wrapped 2)" } }
  node { op_type: "If" input: "yes" output: "rest" attribute { name: "then_branch" g: "$(branch m 3)" } }
}
END
head -c 12 /dev/zero >zeros.bin
run 0 "$gc" known.onnx -o known
run 0 ./known predict --x zeros.bin:f32
tr -d '\n' <out.txt >line.txt
holds line.txt 'bytes = [44 11 255]ints = [-2.14748e+09 6 -2.14748e+09]rest = [-1 1 -1]'
{
  echo 'opset_import { version: 18 } opset_import { domain: "own" version: 1 } graph { input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } } output { name: "y" }'
  echo 'node { op_type: "f1" domain: "own" input: "x" output: "y" } }'
  for i in $(seq 1 24); do
    echo "functions { name: 'f$i' domain: 'own' input: 'a' output: 'b' opset_import { domain: 'own' version: 1 } node { op_type: 'f$((i + 1))' domain: 'own' input: 'a' output: 'c' } node { op_type: 'f$((i + 1))' domain: 'own' input: 'c' output: 'b' } }"
  done
} | encode_onnx doubled.onnx
says 1 'functions and loops within each other come to more than 262144 nodes' "$gc" doubled.onnx -o no

# ---- powers and shifts of integers, and attributes that few files have: exclusive sums, updates that meet, parts of no elements, a part of an image ----
encode_onnx few.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
  input { name: "unread" type { tensor_type { elem_type: 7 shape { dim { dim_value: 0 } } } } }
  output { name: "powers" } output { name: "wrapped" } output { name: "shifted" } output { name: "before" } output { name: "behind" } output { name: "sums" }
  output { name: "most" } output { name: "products" } output { name: "rows" } output { name: "whole" } output { name: "none" } output { name: "part" } output { name: "all" } output { name: "blocks" }
  initializer { name: "c" data_type: 1 dims: 3 float_data: [2, 3, 4] } initializer { name: "e" data_type: 6 dims: 3 int32_data: [-1, 40, 3] }
  initializer { name: "s" data_type: 6 dims: 3 int32_data: [-8, 4, -1] } initializer { name: "by" data_type: 6 dims: 3 int32_data: [1, 40, -1] }
  initializer { name: "u" data_type: 1 dims: 3 float_data: [9, 1, 7] } initializer { name: "roi" data_type: 1 dims: 2 float_data: [0.5, 1.5] }
  initializer { name: "scales" data_type: 1 dims: 2 float_data: [2, 10] } initializer { name: "points" data_type: 3 dims: 2 int32_data: [1, -1] }
  $(int64s ids 1,1,0) $(int64s pairs 1,0,1 | sed 's/dims: 3/dims: [3, 1]/') $(int64s parts 3,0) $(int64s three 3) $(one zero 7 'int64_data: 0')
  node { op_type: "Add" input: ["x", "c"] output: "v" } node { op_type: "Cast" input: "v" output: "i" attribute { name: "to" i: 6 } }
  node { op_type: "Cast" input: "v" output: "q" attribute { name: "to" i: 3 } }
  node { op_type: "DequantizeLinear" input: ["q", "scales", "points"] output: "blocks" attribute { name: "axis" type: 2 i: 0 } attribute { name: "block_size" type: 2 i: 2 } }
  node { op_type: "Cast" input: "x" output: "o" attribute { name: "to" i: 6 } } node { op_type: "Add" input: ["o", "e"] output: "exponents" } node { op_type: "Add" input: ["o", "s"] output: "bits" }
  node { op_type: "Pow" input: ["i", "i"] output: "powers" } node { op_type: "Pow" input: ["i", "exponents"] output: "wrapped" }
  node { op_type: "BitShift" input: ["bits", "by"] output: "shifted" attribute { name: "direction" type: 3 s: "RIGHT" } }
  node { op_type: "CumProd" input: ["v", "zero"] output: "before" attribute { name: "exclusive" type: 2 i: 1 } }
  node { op_type: "CumProd" input: ["v", "zero"] output: "behind" attribute { name: "exclusive" type: 2 i: 1 } attribute { name: "reverse" type: 2 i: 1 } }
  node { op_type: "CumSum" input: ["v", "zero"] output: "sums" attribute { name: "exclusive" type: 2 i: 1 } }
  node { op_type: "ScatterElements" input: ["v", "ids", "u"] output: "most" attribute { name: "reduction" type: 3 s: "max" } }
  node { op_type: "ScatterElements" input: ["v", "ids", "u"] output: "products" attribute { name: "reduction" type: 3 s: "mul" } }
  node { op_type: "ScatterND" input: ["v", "pairs", "u"] output: "rows" attribute { name: "reduction" type: 3 s: "min" } }
  node { op_type: "Split" input: ["v", "parts"] output: ["most_of_it", "rest"] attribute { name: "axis" type: 2 i: 0 } }
  node { op_type: "Concat" input: ["rest", "most_of_it"] output: "whole" attribute { name: "axis" type: 2 i: 0 } }
  node { op_type: "ReduceSum" input: ["rest"] output: "none" } node { op_type: "ReduceSum" input: ["v", "unread"] output: "all" }
  node { op_type: "Resize" input: ["v", "roi", "", "three"] output: "part" attribute { name: "mode" type: 3 s: "linear" }
    attribute { name: "coordinate_transformation_mode" type: 3 s: "tf_crop_and_resize" } attribute { name: "extrapolation_value" type: 1 f: 9 } }
}
END
head -c 12 /dev/zero >zeros.bin
run 0 "$gc" few.onnx -o few
run 0 ./few predict --x zeros.bin:f32
exactly "$(tr -d '\n' <out.txt)" 'powers = [4 27 256]wrapped = [0 689956897 64]shifted = [-4 0 -1]before = [1 2 6]behind = [12 4 1]sums = [0 2 5]most = [7 9 4]products = [14 27 4]rows = [1 3 4]whole = [2 3 4]none_ = [0]part = [3 4 9]blocks = [2 4 50]all = [9]' 'small results'
finish
