#!/bin/sh
# Models of ONNX with symbolic dimensions: decoders with a cache of any length, products and sums of dimensions, images of any
# size. A run has the numbers of the model that is imported for its sizes.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/onnx_models.sh"
unoptimised

# ---- a decoder with a cache of any length: bits are those of the model imported for that length ----
cut() { # cut OUTPUT INPUT STARTS ENDS AXES
  echo "node { op_type: 'Slice' input: ['$2', '$3', '$4', '$5'] output: '$1' }"
}
encode_onnx decoder.onnx <<END
opset_import { version: 18 }
graph {
  name: "main_graph"
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 1 } dim { dim_value: 8 } } } } }
  input { name: "mask" type { tensor_type { elem_type: 7 shape { dim { dim_value: 1 } dim { dim_param: "past + 1" } } } } }
  input { name: "key" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 2 } dim { dim_param: "past" } dim { dim_value: 4 } } } } }
  output { name: "y" } output { name: "present" } output { name: "window" } output { name: "last" } output { name: "first" } output { name: "corner" }
  $(tensor places '12, 8' 96 3) $(tensor bias '1, 1, 12, 12' 144 5)
  $(int64s zero 0) $(int64s one 1) $(int64s two 2) $(int64s three 3) $(int64s minus -1) $(int64s end 9223372036854775807) $(int64s heads 1,1,2,4) $(int64s flat 1,1,-1)
  $(int64s column -1,1) $(int64s rows 2,3) $(int64s head_and_row 1,2) $(int64s from_one_and_last 1,-1) $(int64s to_end 2,9223372036854775807)
  initializer { name: "none" data_type: 7 int64_data: 0 } initializer { name: "step" data_type: 7 int64_data: 1 } initializer { name: "last_row" data_type: 7 int64_data: -1 }
  initializer { name: "low" data_type: 1 float_data: -1e9 }
  node { op_type: "Shape" input: "key" output: "key_shape" } node { op_type: "Gather" input: ["key_shape", "two"] output: "past" }
  node { op_type: "Shape" input: "mask" output: "mask_shape" } node { op_type: "Gather" input: ["mask_shape", "one"] output: "all" }
  node { op_type: "Squeeze" input: "past" output: "begin" } node { op_type: "Squeeze" input: "all" output: "stop" }
  $(cut place places past all zero)
  node { op_type: "Add" input: ["x", "place"] output: "h" }
  node { op_type: "Reshape" input: ["h", "heads"] output: "split" }
  node { op_type: "Transpose" input: "split" output: "q" attribute { name: "perm" ints: [0, 2, 1, 3] } }
  node { op_type: "Concat" input: ["key", "q"] output: "present" attribute { name: "axis" i: 2 } }
  node { op_type: "Transpose" input: "present" output: "kt" attribute { name: "perm" ints: [0, 1, 3, 2] } }
  node { op_type: "MatMul" input: ["q", "kt"] output: "dots" }
  node { op_type: "Concat" input: ["past", "zero"] output: "from" attribute { name: "axis" i: 0 } }
  node { op_type: "Concat" input: ["all", "all"] output: "to" attribute { name: "axis" i: 0 } }
  $(cut biases bias from to rows)
  node { op_type: "Add" input: ["dots", "biases"] output: "scores" }
  node { op_type: "Range" input: ["none", "stop", "step"] output: "at" } node { op_type: "Range" input: ["begin", "stop", "step"] output: "now" }
  node { op_type: "LessOrEqual" input: ["at", "now"] output: "behind" }
  node { op_type: "Reshape" input: ["at", "column"] output: "numbers" }
  node { op_type: "Sub" input: ["numbers", "numbers"] output: "zeros" }
  node { op_type: "Concat" input: ["zeros", "numbers"] output: "ids" attribute { name: "axis" i: 1 } }
  node { op_type: "GatherND" input: ["mask", "ids"] output: "seen" }
  node { op_type: "Cast" input: "seen" output: "shown" attribute { name: "to" i: 9 } }
  node { op_type: "And" input: ["behind", "shown"] output: "kept" }
  node { op_type: "Where" input: ["kept", "scores", "low"] output: "masked" }
  node { op_type: "Softmax" input: "masked" output: "p" }
  node { op_type: "MatMul" input: ["p", "present"] output: "o" }
  node { op_type: "Transpose" input: "o" output: "joined" attribute { name: "perm" ints: [0, 2, 1, 3] } }
  node { op_type: "Reshape" input: ["joined", "flat"] output: "y" }
  $(cut window present one end two) $(cut last present minus end two) $(cut corner present from_one_and_last to_end head_and_row)
  node { op_type: "Gather" input: ["present", "last_row"] output: "row" attribute { name: "axis" i: 2 } }
  node { op_type: "Sub" input: ["key", "row"] output: "unused" }
  node { op_type: "Gather" input: ["present", "none"] output: "first" attribute { name: "axis" i: 2 } }
}
END
says 1 'the dimension past of the input mask has no number' "$gc" decoder.onnx
[ "$(grep -c 'has no number' out.txt)" = 1 ] || fail 'one dimension lacks its number more than once'
run 0 "$gc" decoder.onnx -D 'past<=11' -o decoder
run 0 ./decoder info predict
holds out.txt 'mask                     i64[1, past + 1]'
for n in 1 11; do
  run 0 "$gc" decoder.onnx -D past=$n -o exact
  "$mkdata" npy f32 1,1,8 4 token.npy && "$mkdata" npy u8 "1,$((n + 1))" 3 bits.npy && "$mkdata" npy f32 "1,2,$n,4" 7 key.npy || fail 'no data could be made'
  of="--x token.npy --mask bits.npy --key key.npy"
  rm -f y.npy present.npy window.npy last.npy first.npy corner.npy
  run 0 ./exact predict $of --y y.npy --present present.npy --window window.npy --last last.npy --first first.npy --corner corner.npy
  for name in y present window last first corner; do run 0 ./decoder predict $of --poison --expect $name=$name.npy --rtol 0 --atol 0; done
done
"$mkdata" npy u8 1,13 3 long.npy || fail 'no data could be made'
says 1 'past of the input mask would be 12, which is not in 1 to 11' ./decoder predict --x token.npy --mask long.npy --key key.npy
rm y.npy
run 0 "$gc" decoder.onnx -D past=3 -D past_1=4 --check
says 1 'no input has a dimension next' "$gc" decoder.onnx -D past=2 -D next=3 --check
# two bounded dimensions: shapes of which both are factors, rows of both, and attention to a past
encode_onnx both.onnx <<END
opset_import { version: 23 }
graph {
  input { name: "q" type { tensor_type { elem_type: 1 shape { dim { dim_param: "batch" } dim { dim_value: 2 } dim { dim_value: 2 } dim { dim_value: 4 } } } } }
  input { name: "key" type { tensor_type { elem_type: 1 shape { dim { dim_param: "batch" } dim { dim_value: 2 } dim { dim_param: "past" } dim { dim_value: 4 } } } } }
  input { name: "ids" type { tensor_type { elem_type: 7 shape { dim { dim_param: "batch" } dim { dim_value: 2 } } } } }
  output { name: "y" } output { name: "present" } output { name: "split" } output { name: "rows" } output { name: "mixed" } output { name: "lower" }
  node { op_type: "Trilu" input: "key" output: "lower" attribute { name: "upper" i: 0 } }
  $(int64s halves 0,2,-1,2,2) $(int64s flat -1,4) $(int64s three 3) $(int64s zero 0) $(tensor mixing '4, 3' 12 2)
  node { op_type: "Attention" input: ["q", "q", "q", "", "key", "key"] output: ["y", "present", "values"] attribute { name: "is_causal" i: 1 } }
  node { op_type: "Reshape" input: ["present", "halves"] output: "split" }
  node { op_type: "Transpose" input: "present" output: "by_place" attribute { name: "perm" ints: [0, 2, 1, 3] } }
  node { op_type: "GatherND" input: ["by_place", "ids"] output: "rows" }
  node { op_type: "Reshape" input: ["key", "flat"] output: "keys" } node { op_type: "MatMul" input: ["keys", "mixing"] output: "mix" }
  node { op_type: "Shape" input: "key" output: "shape" } $(cut front shape zero three zero)
  node { op_type: "Concat" input: ["front", "three"] output: "to" attribute { name: "axis" i: 0 } } node { op_type: "Reshape" input: ["mix", "to"] output: "mixed" }
}
END
run 0 "$gc" both.onnx -D 'batch<=3' -D 'past<=5' -o bounded
run 0 "$gc" both.onnx -D batch=2 -D past=3 -o exact
"$mkdata" npy f32 2,2,2,4 4 q.npy && "$mkdata" npy f32 2,2,3,4 7 key.npy || fail 'no data could be made'
python3 -c 'import struct, sys; sys.stdout.buffer.write(struct.pack("4q", 1, 4, 0, 2))' >places.bin
rm -f y.npy present.npy
run 0 ./exact predict --q q.npy --key key.npy --ids places.bin --y y.npy --present present.npy --split split.npy --rows rows.npy --mixed mixed.npy --lower lower.npy
for name in y present split rows mixed lower; do run 0 ./bounded predict --q q.npy --key key.npy --ids places.bin --poison --expect $name=$name.npy --rtol 0 --atol 0; done
rm -f y.npy q.npy rows.npy
# a product with a sum, and one that a loss reads: its target has the dimensions apart
joined() { # joined PAST OUTPUT…
  past=$1 && shift
  outs=$(printf 'output { name: "%s" } ' "$@")
  encode_onnx joined.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "batch" } dim { dim_param: "$past" } dim { dim_value: 3 } } } } } $outs
  $(int64s list -1,3) $(tensor w '3, 3' 9 2) node { op_type: "Reshape" input: ["x", "list"] output: "flat" } node { op_type: "MatMul" input: ["flat", "w"] output: "y" }
  node { op_type: "Shape" input: "x" output: "shape" } node { op_type: "Reshape" input: ["y", "shape"] output: "z" }
  $(int64s two 2) node { op_type: "TopK" input: ["z", "two"] output: ["best", "ids"] attribute { name: "axis" type: 2 i: 1 } }
  node { op_type: "GatherElements" input: ["z", "ids"] output: "again" attribute { name: "axis" type: 2 i: 1 } }
}
END
}
joined 'past + 1' z best ids again
run 0 "$gc" joined.onnx -D 'batch<=3' -D 'past<=5' -o bounded
run 0 "$gc" joined.onnx -D batch=2 -D past=3 -o exact
"$mkdata" npy f32 2,4,3 4 x.npy || fail 'no data could be made'
run 0 ./exact predict --x x.npy --z z.npy --best best.npy --ids ids.npy
run 0 ./bounded predict --x x.npy --expect z=z.npy --expect best=best.npy --expect again=best.npy --expect ids=ids.npy --rtol 0 --atol 0
rm best.npy ids.npy
joined 'past' best
says 1 'note: 1 x TopK: another number of elements than its input has' "$gc" joined.onnx -D 'batch<=3' -D 'past<=5' --check # of past = 1
joined 'past + 1' y
says 1 'error: joined.onnx: the output y has batch * (past + 1) elements along axis 0' "$gc" joined.onnx -D 'batch<=3' -D 'past<=5' --check
holds out.txt 'hint: a number for one of these dimensions, as in -D batch=N'
run 0 "$gc" joined.onnx -D 'batch=3' -D 'past<=5' --check
joined past y
run 0 "$gc" joined.onnx -D 'batch<=3' -D 'past<=5' --train-onnx=xent --emit=g
holds out.txt 'entry train(x : f32[batch <= 3, past <= 5, 3], target : i32[batch, past]) {'
holds out.txt 'loss = mean(xent(o0, reshape(target, [batch * past])))'
run 0 "$gc" joined.onnx -D 'batch<=3' -D 'past<=5' --train-onnx=xent --check
encode_onnx doubled.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "a" type { tensor_type { elem_type: 1 shape { dim { dim_param: "4*(k + 1) - 2" } } } } }
  input { name: "b" type { tensor_type { elem_type: 1 shape { dim { dim_param: "k//2" } } } } }
  output { name: "y" } output { name: "z" }
  node { op_type: "Neg" input: "a" output: "y" } node { op_type: "Neg" input: "b" output: "z" }
}
END
encode_onnx chain.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 50 } dim { dim_value: 4 } } } } } output { name: "y" }
  $(tensor a '3, 4' 12 2) $(tensor b '3, 2' 6 3)
  node { op_type: "Einsum" input: ["x", "a", "b"] output: "y" attribute { name: "equation" type: 3 s: "ij,kj,kl->il" } }
}
END
run 0 "$gc" chain.onnx --check
holds out.txt 'warning: einsum multiplies 3 tensors from left to right: 900 multiplications, where the fewest are 424'
holds out.txt 'hint: --reassociate takes the cheapest order'
run 0 "$gc" chain.onnx --reassociate --check
grep -q warning out.txt && fail 'a warning of the cheapest order'
doubled() { # doubled ENTRY OPTION…
  entry=$1 && shift
  run 0 "$gc" doubled.onnx "$@" --emit=g
  holds out.txt "entry predict($entry) {"
}
doubled 'a : f32[22], b : f32[2]' -D k=5
doubled 'a : f32[8 * k + 2 <= 18], b : f32[k]' -D '2*k<=4'
doubled 'a : f32[7], b : f32[2]' -D d4_k_1_2=7 -D k=5 # the dimension itself has a number
neither='the dimension k//2 of the input b is neither a number nor one dimension and more'
says 1 "$neither" "$gc" doubled.onnx -D 'k<=4' --check
says 1 "$neither" "$gc" doubled.onnx -D k=1 --check # of no elements
says 1 'the dimension k of the input a has no number' "$gc" doubled.onnx
says 1 'no input has a dimension height' "$gc" doubled.onnx -D k=5 -D height=2
holds out.txt 'dimensions with names: k'
encode_onnx inner.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "b" type { tensor_type { elem_type: 1 shape { dim { dim_param: "k" } } } } }
  output { name: "y" }
  $(int64s zero 0) $(int64s one 1) $(int64s minus -1)
  $(cut inner b one minus zero) node { op_type: "Shape" input: "inner" output: "y" }
}
END
says 1 'note: 1 x Shape: the dimension k must be a number here: -D k=N' "$gc" inner.onnx -D 'k<=4' --check # of k = 1 it is 0, not -1

# ---- dimensions whose names differ in what no name holds; a recurrent layer of f64 that begins with zeros ----
encode_onnx names.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 11 shape { dim { dim_param: "a-b" } dim { dim_param: "a_b" } dim { dim_param: "a-b" } } } } }
  output { name: "h" }
  $(tensor w '1, 3, 2' 6 1 | sed 's/data_type: 1 /data_type: 11 /; s/float_data/double_data/') $(tensor r '1, 3, 3' 9 2 | sed 's/data_type: 1 /data_type: 11 /; s/float_data/double_data/')
  node { op_type: "RNN" input: ["x", "w", "r"] output: ["", "h"] }
}
END
"$mkdata" npy f64 2,4,2 5 names.npy || fail 'no data could be made'
run 0 "$gc" names.onnx -D a_b=2 -D a_b_2=4 -o names
run 0 ./names predict --x names.npy --h h.npy
run 0 "$gc" names.onnx -D a_b=2 -D a_b_2=4 --emit=g
holds out.txt 'entry predict(x : f64[2, 4, 2])'

# ---- windows along two bounded dimensions: a run has the numbers of the program of its own size ----
size() { echo "initializer { name: '$1' data_type: 7 dims: 1 int64_data: $2 }"; }
encode_onnx images.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 2 } dim { dim_param: "h" } dim { dim_param: "w" } } } } }
  output { name: "y" } output { name: "z" } output { name: "p" } output { name: "t" }
  $(tensor k '3, 2, 3, 3' 54 1) $(tensor up '3, 2, 2, 2' 24 4) $(tensor scale 7 7 5) $(tensor shift 7 7 3) $(size two 2) $(size four 4)
  initializer { name: "both" data_type: 1 dims: 4 float_data: [1, 1, 1.5, 2] } initializer { name: "more" data_type: 1 dims: 4 float_data: [1, 1, 2, 3] } initializer { name: "around" data_type: 7 dims: 8 int64_data: [0, 0, 1, 2, 0, 0, 3, -1] }
  initializer { name: "mirrored" data_type: 7 dims: 8 int64_data: [0, 0, 1, 3, 0, 0, 2, 1] }
  node { op_type: "Conv" input: ["x", "k"] output: "a" attribute { name: "auto_pad" s: "SAME_UPPER" } attribute { name: "strides" ints: [2, 2] } }
  node { op_type: "AveragePool" input: "a" output: "b" attribute { name: "kernel_shape" ints: [3, 2] } attribute { name: "pads" ints: [1, 0, 1, 1] } }
  node { op_type: "AveragePool" input: "a" output: "half" attribute { name: "kernel_shape" ints: [3, 3] } attribute { name: "strides" ints: [2, 2] } attribute { name: "ceil_mode" i: 1 } }
  node { op_type: "ConvTranspose" input: ["b", "up"] output: "c" attribute { name: "strides" ints: [2, 2] } }
  node { op_type: "Shape" input: "x" output: "all" } node { op_type: "Slice" input: ["all", "two", "four"] output: "to" }
  node { op_type: "Resize" input: ["b", "", "", "to"] output: "d" attribute { name: "mode" s: "linear" } attribute { name: "coordinate_transformation_mode" s: "align_corners" } attribute { name: "axes" ints: [2, 3] } }
  node { op_type: "Concat" input: ["c", "x", "d"] output: "e" attribute { name: "axis" i: 1 } }
  node { op_type: "InstanceNormalization" input: ["e", "scale", "shift"] output: "y" }
  node { op_type: "Resize" input: ["half", "", "more"] output: "z" attribute { name: "mode" s: "cubic" } attribute { name: "exclude_outside" i: 1 } }
  node { op_type: "Pad" input: ["a", "mirrored"] output: "f" attribute { name: "mode" s: "reflect" } }
  node { op_type: "Pad" input: ["f", "around"] output: "p" }
  node { op_type: "SpaceToDepth" input: "x" output: "s" attribute { name: "blocksize" i: 2 } }
  node { op_type: "Resize" input: ["s", "", "both"] output: "t" attribute { name: "nearest_mode" s: "floor" } }
}
END
run 0 "$gc" images.onnx -D '4*h<=16' -D '4*w<=16' -o images
for d in '8 12' '16 8'; do
  "$mkdata" npy f32 "1,2,${d% *},${d#* }" 7 image.npy && rm -f ?.npy || fail 'no data could be made'
  run 0 "$gc" images.onnx -D "h=${d% *}" -D "w=${d#* }" -o one
  run 0 ./one predict --x image.npy --y y.npy --z z.npy --p p.npy --t t.npy
  run 0 ./images predict --x image.npy --poison --expect y=y.npy --expect z=z.npy --expect p=p.npy --expect t=t.npy --rtol 2e-5 --atol 2e-6
done
run 0 "$gc" images.onnx -D '4*h<=16' -D w=8 --emit=g -o images.g
holds images.g 'entry predict(x : f32[1, 2, 4 * h <= 16, 8]) {'
run 0 "$gc" images.g --check
cat >windows.g <<'END'
use "images.onnx" as net(4 * h <= 16, w = 8)
entry predict(x : f32[1, 2, 4 * rows <= 8, 8]) {
  y, z, p, t = net(x)
  return y
}
END
run 0 "$gc" windows.g --check
says 1 "note: 1 x Conv: a stride of 2 along h, which needs a multiple, -D '2*h<=16': a" "$gc" images.onnx -D 'h<=16' -D w=8 --check
says 1 "note: 1 x AveragePool: a stride of 2 along h, which needs a multiple, -D '4*h<=16': half" "$gc" images.onnx -D '2*h<=14' -D w=8 --check
says 2 "-D '4*h<=18': the bound is a multiple of 4, as 20" "$gc" images.onnx -D '4*h<=18' -D w=8 --check
says 2 "-D takes NAME=VALUE, or of a dimension of an ONNX model NAME<=BOUND, not '4*h=16'" "$gc" images.onnx -D '4*h=16' -D w=8 --check
# a bound is that of the dimension which is written so, if the model has it
encode_onnx four.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "4 * h" } dim { dim_param: "h" } } } } }
  output { name: "y" } node { op_type: "Relu" input: "x" output: "y" }
}
END
run 0 "$gc" four.onnx -D '4*h<=16' --emit=g
holds out.txt 'entry predict(x : f32[4 * h <= 16, h])'
run 0 "$gc" four.onnx -D '2*h<=16' --emit=g
holds out.txt 'entry predict(x : f32[8 * h <= 64, 2 * h])'
sed 's/16/18/' windows.g >odd.g
says 1 'the bound of the dimension h is a multiple of 4' "$gc" odd.g --check
# ---- recurrent layers of any length, both ways: bits are those of the model imported for that length ----
encode_onnx layers.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "steps" } dim { dim_param: "batch" } dim { dim_value: 3 } } } } }
  output { name: "y" } output { name: "h" } output { name: "c" } output { name: "z" } output { name: "zh" }
  $(tensor w '2, 16, 3' 96 1) $(tensor r '2, 16, 4' 128 2) $(tensor b '2, 32' 64 3) $(tensor v '1, 12, 4' 48 4) $(tensor s '1, 12, 4' 48 5) $(int64s axis 1)
  node { op_type: "LSTM" input: ["x", "w", "r", "b"] output: ["y", "h", "c"] attribute { name: "hidden_size" i: 4 } attribute { name: "direction" s: "bidirectional" } }
  node { op_type: "ReduceMean" input: ["y", "axis"] output: "mean" attribute { name: "keepdims" i: 0 } }
  node { op_type: "GRU" input: ["mean", "v", "s"] output: ["z", "zh"] attribute { name: "hidden_size" i: 4 } attribute { name: "direction" s: "reverse" } }
}
END
run 0 "$gc" layers.onnx -D 'steps<=9' -D 'batch<=3' -o layers
for size in '1 2' '6 3'; do
  run 0 "$gc" layers.onnx -D "steps=${size% *}" -D "batch=${size#* }" -o exact
  "$mkdata" npy f32 "${size% *},${size#* },3" 4 steps.npy || fail 'no data could be made'
  for name in y h c z zh; do rm -f $name.npy; done
  run 0 ./exact predict --x steps.npy --y y.npy --h h.npy --c c.npy --z z.npy --zh zh.npy
  for name in y h c z zh; do run 0 ./layers predict --x steps.npy --poison --expect $name=$name.npy --rtol 0 --atol 0; done
done
# sequences of a batch with lengths of their own: each has the numbers that it has alone, and 0 behind them
cat >lengths.txt <<END
opset_import { version: 22 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "batch" } dim { dim_param: "steps" } dim { dim_value: 3 } } } } }
  input { name: "many" type { tensor_type { elem_type: 6 shape { dim { dim_param: "batch" } } } } }
  output { name: "y" } output { name: "h" } output { name: "c" } output { name: "z" } output { name: "zh" }
  $(tensor w '2, 16, 3' 96 1) $(tensor r '2, 16, 4' 128 2) $(tensor b '2, 32' 64 3) $(tensor v '1, 12, 4' 48 4) $(tensor s '1, 12, 4' 48 5) $(int64s axis 2)
  node { op_type: "LSTM" input: ["x", "w", "r", "b", "many"] output: ["y", "h", "c"] attribute { name: "hidden_size" i: 4 } attribute { name: "direction" s: "bidirectional" } attribute { name: "layout" i: 1 }
    attribute { name: "clip" f: 0.75 } attribute { name: "activations" strings: ["Sigmoid", "Tanh", "Tanh", "HardSigmoid", "Softsign", "Relu"] } }
  node { op_type: "ReduceMean" input: ["y", "axis"] output: "mean" attribute { name: "keepdims" i: 0 } }
  node { op_type: "GRU" input: ["mean", "v", "s", "", "many"] output: ["z", "zh"] attribute { name: "hidden_size" i: 4 } attribute { name: "direction" s: "reverse" } attribute { name: "layout" i: 1 } }
}
END
encode_onnx lengths.onnx <lengths.txt
run 0 "$gc" lengths.onnx -D 'steps<=7' -D 'batch<=4' -o lengths
run 0 "$gc" lengths.onnx -D steps=5 -D batch=4 -o exact
cat >sequences.py <<'END'
import subprocess
from pathlib import Path
import numpy as np
names, many = ["y", "h", "c", "z", "zh"], [2, 5, 0, 1]
def predict(program, x, many):
    np.save("x.npy", x)
    np.save("many.npy", np.array(many, np.int32))
    for name in names:
        Path(f"{name}.out.npy").unlink(missing_ok=True)
    outputs = [word for name in names for word in (f"--{name}", f"{name}.out.npy")]
    subprocess.run([program, "predict", "--x", "x.npy", "--many", "many.npy", *outputs, "--poison", "--quiet"], check=True)
    return {name: np.load(f"{name}.out.npy") for name in names}
x = np.random.default_rng(5).standard_normal((4, 5, 3)).astype(np.float32)
whole = predict("./lengths", x, many)
for name, other in predict("./exact", x, many).items():
    np.testing.assert_allclose(other, whole[name], rtol=1e-5, atol=1e-6, err_msg=name)
for b, n in enumerate(many):
    alone = predict("./lengths", x[b:b + 1, :n], [n]) if n else None
    for name, of in whole.items():
        there = n if name in "yz" or not n else None  # the last state has no steps; without a sequence it is 0
        if n:
            np.testing.assert_allclose(of[b, :there], alone[name][0], rtol=1e-5, atol=1e-6, err_msg=f"{name} of sequence {b}")
        assert there is None or not of[b, there:].any(), f"{name} behind sequence {b}"
END
run 0 python3 sequences.py
sed 's/"Softsign"/"Softmax"/' lengths.txt | encode_onnx other.onnx
says 1 'note: 1 x LSTM: an activation Softmax' "$gc" other.onnx -D steps=5 -D batch=4 --check
finish
