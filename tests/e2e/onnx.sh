#!/bin/sh
# Models of ONNX as a user compiles them: numbers as a program written by hand computes them, weights in the program,
# the text and the weights as files, bounded and fixed batches, what is refused. protoc-c makes the models of their texts.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/onnx_models.sh"
unoptimised

encode_onnx cnn.onnx <<END
producer_name: "a test" opset_import { version: 17 }
graph {
  name: "main_graph"
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "batch" } dim { dim_value: 2 } dim { dim_value: 6 } dim { dim_value: 6 } } } } }
  output { name: "probabilities" type { tensor_type { elem_type: 1 } } }
  $(tensor layer1.0.conv.weight '3, 2, 3, 3' 54 1) $(tensor layer1.0.conv.bias 3 3 2)
  $(tensor layer1.0.bn.weight 3 3 5) $(tensor layer1.0.bn.bias 3 3 3) $(tensor layer1.0.bn.running_mean 3 3 4)
  initializer { name: "layer1.0.bn.running_var" data_type: 1 dims: 3 float_data: [0.5, 1, 2] }
  $(tensor fc.weight '4, 27' 108 9) $(tensor fc.bias 4 4 6)
  initializer { name: "zero" data_type: 7 int64_data: 0 }
  initializer { name: "axes" data_type: 7 dims: 1 int64_data: 0 }
  initializer { name: "rest" data_type: 7 dims: 1 raw_data: "\\377\\377\\377\\377\\377\\377\\377\\377" }
  node { op_type: "Conv" name: "/layer1/conv" input: ["x", "layer1.0.conv.weight", "layer1.0.conv.bias"] output: "/layer1/c" attribute { name: "pads" ints: [1, 1, 1, 1] } }
  node { op_type: "BatchNormalization" input: ["/layer1/c", "layer1.0.bn.weight", "layer1.0.bn.bias", "layer1.0.bn.running_mean", "layer1.0.bn.running_var"] output: "b" }
  node { op_type: "Relu" input: "b" output: "relu" }
  node { op_type: "MaxPool" input: "relu" output: "pool" attribute { name: "kernel_shape" ints: [2, 2] } attribute { name: "strides" ints: [2, 2] } }
  node { op_type: "Shape" input: "pool" output: "s" }
  node { op_type: "Gather" input: ["s", "zero"] output: "s0" }
  node { op_type: "Unsqueeze" input: ["s0", "axes"] output: "s1" }
  node { op_type: "Concat" input: ["s1", "rest"] output: "s2" attribute { name: "axis" i: 0 } }
  node { op_type: "Reshape" input: ["pool", "s2"] output: "flat" }
  node { op_type: "Gemm" input: ["flat", "fc.weight", "fc.bias"] output: "y" attribute { name: "transB" i: 1 } }
  node { op_type: "Softmax" input: "y" output: "probabilities" }
}
END
cat >hand.g <<'END'
def convolution(x) {
  param weight : f32[3, 2, 3, 3] = zeros()
  param bias : f32[3] = zeros()
  return conv2d(x, weight, pad = 1) + reshape(bias, [3, 1, 1])
}
def norm(x) {
  param weight : f32[3] = zeros()
  param bias : f32[3] = zeros()
  state running_mean : f32[3] = zeros()
  state running_var : f32[3] = zeros()
  return batch_norm(x, running_mean, running_var, weight, bias, 1e-5)
}
def dense(x) {
  param weight : f32[4, 27] = zeros()
  param bias : f32[4] = zeros()
  return x @ weight' + bias
}
def net(x) {
  scope layer1[0] { x = norm(convolution(x) as conv) as bn }
  return softmax(dense(flatten(max_pool(relu(x), 2))) as fc)
}
entry predict(x : f32[5, 2, 6, 6]) { return probabilities = net(x) }
END
"$mkdata" npy f32 10,2,6,6 3 x.npy || fail 'no data could be made'

# ---- the program and its weights as files; the weights in a program ----
run 0 "$gc" cnn.onnx -D batch=5 --emit=g -o cnn.g
holds cnn.g 'param weight : f32[3, 2, 3, 3] = zeros()'
holds cnn.g '# Conv /layer1/conv'
run 0 "$gc" cnn.onnx -D batch=5 --emit=g -o cnn.g # over its own files
touch cnn.safetensors.part # nobody's
run 0 "$gc" cnn.onnx -D batch=5 --emit=g -o cnn.g
says 3 'cannot write nowhere/cnn.safetensors: No such file or directory' "$gc" cnn.onnx -D batch=5 --emit=g -o nowhere/cnn.g
says 3 'cannot write full.safetensors: File too large' sh -c 'ulimit -f 1 && exec "$0" "$@"' "$gc" cnn.onnx -D batch=5 --emit=g -o full.g
absent full.g full.safetensors
run 0 "$gc" hand.g --weights=cnn.safetensors -o hand
run 0 ./hand predict --x x.npy --probabilities want.npy
grep -q 'random initial values' out.txt && fail 'weights in the program are taken for random ones'
run 0 "$gc" cnn.onnx -D batch=5
run 0 ./cnn predict --x x.npy --expect want.npy
run 0 ./cnn predict --x x.npy --expect want.npy --load cnn.safetensors

# ---- any batch up to a bound ----
run 0 "$gc" cnn.onnx -D 'batch<=4' -o bounded
run 0 ./bounded predict --x x.npy --expect want.npy

# ---- trained: the text as a part of another program, which has the weights from the start ----
cat >tune.g <<'END'
use "cnn.g"
hyper lr = 1e-3
entry train(x : f32[5, 2, 6, 6], label : i32[5]) {
  loss = mean(-log(take_along(net(x), reshape(label, [5, 1]))))
  minimize loss with sgd(lr)
  return loss
}
END
"$mkdata" npy i32 10 4 labels.npy || fail 'no data could be made'
run 0 "$gc" tune.g --weights=cnn.safetensors -o tune
run 0 ./tune predict --x x.npy --expect want.npy
run 0 ./tune train --x x.npy --label labels.npy --epochs 2 --quiet --save tuned.safetensors
cp tuned.safetensors kept.safetensors
says 2 'the weights would replace tuned.safetensors, which gc did not write' "$gc" cnn.onnx -D batch=5 --emit=g -o tuned.g
same kept.safetensors tuned.safetensors 'the work of a training'
run 0 ./cnn predict --x x.npy --load tuned.safetensors --probabilities tuned.npy

# ---- slopes at 0 and where exp or a square overflows, of operators that are smooth there ----
encode_onnx slopes.onnx <<END
opset_import { version: 17 }
graph {
  name: "slopes"
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
  node { op_type: "Celu" input: "x" output: "celu" }
  node { op_type: "Asinh" input: "x" output: "asinh" }
  node { op_type: "Acosh" input: "x" output: "acosh" }
  output { name: "celu" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
  output { name: "asinh" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
  output { name: "acosh" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
}
END
cat >slopes.g <<'END'
use "slopes.onnx" as net
entry slopes() {
  x = 100 * f32(iota(3))
  celu, asinh, _ = net(x)
  far = stack([-3e38 + 0 * x[0], 3e37 + 0 * x[0], 1.0001 + 0 * x[0]])
  _, asinh_far, acosh_far = net(far)
  return celu = sum(grad(sum(celu), x)), asinh = grad(sum(asinh), x)[0], minus = asinh_far[0], far = asinh_far[1],
         cosine = acosh_far[1], near = acosh_far[2], slopes = 1e37 * grad(sum(asinh_far + acosh_far), far)[1]
}
END
run 0 "$gc" slopes.g -o slopes
run 0 ./slopes slopes
holds out.txt 'celu = 3'
holds out.txt 'asinh = 1'
for line in 'minus = -89.29' 'far = 86.9874' 'cosine = 86.9874' 'near = 0.0141432' 'slopes = 0.666667'; do holds out.txt "$line"; done

# ---- trained without a program: 20 steps are those of the same training by `use` ----
cat >twenty.g <<'END'
use "cnn.onnx" as net(batch = 5)
entry train(x : f32[5, 2, 6, 6], label : i32[5]) {
  loss = mean(xent(net(x), label))
  minimize loss with sgd(0.05, momentum = 0.9)
  return loss
}
END
run 0 "$gc" twenty.g -o twenty
run 0 "$gc" cnn.onnx -D batch=5 '--train-onnx=xent,sgd(lr, momentum = 0.9)' -o trained
run 0 ./trained predict --x x.npy --expect want.npy
run 0 ./twenty train --x x.npy --label labels.npy --steps 20 --no-shuffle --log theirs.csv --save theirs.safetensors --quiet
run 0 ./trained train --x x.npy --target labels.npy --steps 20 --no-shuffle --lr 0.05 --log ours.csv --save ours.safetensors --quiet
[ "$(cut -d, -f1-3 theirs.csv)" = "$(cut -d, -f1-3 ours.csv)" ] && [ "$(wc -l <ours.csv)" = 21 ] || fail 'the losses of --train-onnx'
run 0 ./cnn predict --x x.npy --load theirs.safetensors --probabilities theirs.npy
run 0 ./cnn predict --x x.npy --load ours.safetensors --expect theirs.npy --rtol 0 --atol 0
run 1 ./cnn predict --x x.npy --load ours.safetensors --expect want.npy
run 0 "$gc" cnn.onnx -D 'batch<=5' --train-onnx=mse:probabilities --emit=g -o bounded.g
holds bounded.g 'entry train(x : f32[batch <= 5, 2, 6, 6], target : f32[batch, 4]) {'
holds bounded.g '  loss = mse(o0, target)'
holds bounded.g '  minimize loss with adamw(lr)'
run 0 "$gc" bounded.g --check
run 0 "$gc" cnn.onnx -D batch=5 --train-onnx=xent --check
exactly "$(grep -c 'warning: ' out.txt)" 1 'warnings of a softmax'
holds out.txt 'warning: cnn.onnx: --train-onnx: xent reads logits, but the output probabilities is that of a Softmax'
says 1 '--train-onnx: the output probabilities has no axis 2' "$gc" cnn.onnx -D batch=5 '--train-onnx=xent(axis = 2)' --check
says 2 "'mse(axis = 1)': what may follow mse is :OUTPUT and ,OPTIMIZER" "$gc" cnn.onnx -D batch=5 '--train-onnx=mse(axis = 1)' --check
# the text of a model has the lines that messages name
says 1 "unknown function 'sgdx'" "$gc" cnn.onnx -D batch=5 --train-onnx=xent,sgdx --check
holds out.txt 'note: lines of cnn.onnx are those of the program that gc makes of it: --emit=g prints it'
# classes along another axis than the last
encode_onnx dense.onnx <<END
opset_import { version: 17 }
graph {
  name: "main_graph"
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 3 } dim { dim_value: 4 } dim { dim_value: 4 } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 } } }
  $(tensor w '5, 3, 1, 1' 15 1)
  node { op_type: "Conv" input: ["x", "w"] output: "y" }
}
END
run 0 "$gc" dense.onnx '--train-onnx=xent(axis = 1),sgd(lr)' -o pixels
cat >pixels.g <<'END'
use "dense.onnx" as net
entry train(x : f32[2, 3, 4, 4], target : i32[2, 4, 4]) {
  loss = mean(xent(transpose(net(x), [0, 2, 3, 1]), target))
  minimize loss with sgd(1e-3)
  return loss
}
END
run 0 "$gc" pixels.g -o by_hand
"$mkdata" npy f32 2,3,4,4 3 pixels.npy && "$mkdata" npy i32 2,4,4 4 classes.npy || fail 'data'
run 0 ./by_hand train --x pixels.npy --target classes.npy --log theirs.csv --quiet
run 0 ./pixels train --x pixels.npy --target classes.npy --log ours.csv --quiet
[ "$(cut -d, -f1-3 theirs.csv)" = "$(cut -d, -f1-3 ours.csv)" ] || fail 'classes along axis 1'
run 0 "$gc" dense.onnx --train-onnx=xent --check
holds out.txt 'note: dense.onnx: --train-onnx: the classes of y are along its last axis, of 4'
says 1 'the model has no output logits; it has probabilities' "$gc" cnn.onnx -D batch=5 --train-onnx=xent:logits --check
says 2 "'hinge' is none of the losses xent, cross_entropy, mse, bce, huber" "$gc" cnn.onnx -D batch=5 --train-onnx=hinge --check
says 2 "'' is no optimizer, as in xent,sgd(lr, momentum = 0.9)" "$gc" cnn.onnx -D batch=5 --train-onnx=xent, --check
says 2 '--train-onnx makes an entry that trains, which --emit=onnx does not write' "$gc" cnn.onnx -D batch=5 --train-onnx=xent --emit=onnx -o trained.onnx
says 2 '--train-onnx makes an entry that trains, which --weights=q8 leaves out' "$gc" cnn.onnx -D batch=5 --train-onnx=xent --weights=q8 -o trained.out
says 2 '--train-onnx trains an ONNX model; a program has entries that train' "$gc" twenty.g --train-onnx=xent --check

# ---- the same with the model as a def: its weights are in the program; -D gives the let that a dimension is ----
{ echo 'let N = 4' && echo 'use "cnn.onnx" as net(batch <= N)' && sed -e 1d -e 's/f32\[5,/f32[n <= N,/' -e 's/i32\[5\]/i32[n]/' -e 's/\[5, 1\]/[n, 1]/' tune.g; } >model.g
cat >>model.g <<'END'
entry predict(x : f32[n <= N, 2, 6, 6]) { return probabilities = net(x) }
END
run 0 "$gc" model.g -D N=5 -o model
run 0 ./model predict --x x.npy --expect want.npy
run 0 ./model train --x x.npy --label labels.npy --epochs 2 --quiet --save again.safetensors
run 0 ./cnn predict --x x.npy --load again.safetensors --expect tuned.npy
run 0 "$gc" model.g --weights=tuned.safetensors -o model
run 0 ./model predict --x x.npy --expect tuned.npy
run 0 "$gc" model.g --emit=onnx
run 0 "$gc" model.onnx -D n=5 --check

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
  output { name: "y" } output { name: "present" } output { name: "split" } output { name: "rows" } output { name: "mixed" }
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
run 0 ./exact predict --q q.npy --key key.npy --ids places.bin --y y.npy --present present.npy --split split.npy --rows rows.npy --mixed mixed.npy
for name in y present split rows mixed; do run 0 ./bounded predict --q q.npy --key key.npy --ids places.bin --poison --expect $name=$name.npy --rtol 0 --atol 0; done
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

# ---- what is a param: a mask is none, unless it is read as something else, too ----
encode_onnx masked.onnx <<END
opset_import { version: 23 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 3 } } } } }
  input { name: "q" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 1 } dim { dim_value: 3 } dim { dim_value: 4 } } } } }
  output { name: "y" } output { name: "z" } output { name: "attended" }
  $(tensor w '3, 3' 9 1) $(tensor learned '2, 3' 6 2)
  initializer { name: "mask" data_type: 1 dims: [1, 3] float_data: [0, -inf, 0] } initializer { name: "read_twice" data_type: 1 dims: [1, 3] float_data: [0, 0, -1e9] }
  initializer { name: "three" data_type: 1 dims: 3 float_data: [0, 0, 0] } initializer { name: "naught" data_type: 1 dims: [2, 3] float_data: [0, 0, 0, 0, 0, 0] }
  initializer { name: "added" data_type: 1 dims: [3, 3] float_data: [0, -inf, -inf, 0, 0, -inf, 0, 0, 0] } initializer { name: "scale" data_type: 1 float_data: 0.5 }
  node { op_type: "MatMul" input: ["x", "w"] output: "s" } node { op_type: "Mul" input: ["s", "scale"] output: "t" }
  node { op_type: "Add" input: ["mask", "learned"] output: "m" } node { op_type: "Add" input: ["t", "m"] output: "u" }
  node { op_type: "Add" input: ["u", "read_twice"] output: "v" } node { op_type: "Add" input: ["v", "three"] output: "scores" }
  node { op_type: "Add" input: ["scores", "naught"] output: "biased" } node { op_type: "Attention" input: ["q", "q", "q", "added"] output: "attended" }
  node { op_type: "Softmax" input: "biased" output: "y" } node { op_type: "Add" input: ["x", "read_twice"] output: "z" }
}
END
run 0 "$gc" masked.onnx --emit=g -o masked.g
[ "$(sed -n 's/^  *\(param\|state\) \([a-z_]*\) .*/\1 \2/p' masked.g | sort | tr '\n' ',')" = 'param learned,param naught,param read_twice,param three,param w,state added,state mask,' ] ||
  fail 'what is a param of a model'

# ---- data in another file, a branch that is known, a function of the model, quantization ----
external() { # external NAME LOCATION OFFSET
  encode_onnx "$1" <<END
opset_import { version: 18 } opset_import { domain: "own" version: 1 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 10 } dim { dim_value: 4 } } } } }
  output { name: "y" } output { name: "q" }
  initializer { name: "w" data_type: 1 dims: [4, 3] data_location: 1 external_data { key: "location" value: "$2" }
    external_data { key: "offset" value: "$3" } external_data { key: "length" value: "48" } }
  initializer { name: "yes" data_type: 9 int32_data: 1 }
  initializer { name: "scale" data_type: 1 float_data: 0.25 } initializer { name: "zero" data_type: 3 int32_data: -3 }
  node { op_type: "If" name: "choice" input: "yes" output: "s"
    attribute { name: "then_branch" g: "$(encode_graph "node { op_type: 'MatMul' input: ['x', 'w'] output: 'm' } output { name: 'm' }")" }
    attribute { name: "else_branch" g: "$(encode_graph "node { op_type: 'Unheard' input: 'x' output: 'u' } output { name: 'u' }")" } }
  node { op_type: "Scaled" domain: "own" input: "s" output: "y" attribute { name: "alpha" f: 0.5 } }
  node { op_type: "QuantizeLinear" input: ["y", "scale", "zero"] output: "i" }
  node { op_type: "DequantizeLinear" input: ["i", "scale", "zero"] output: "q" }
}
functions { name: "Scaled" domain: "own" input: "a" output: "b" attribute: "alpha" opset_import { version: 18 }
  node { op_type: "LeakyRelu" input: "a" output: "b" attribute { name: "alpha" ref_attr_name: "alpha" type: 1 } } }
END
}
"$mkdata" raw f32 20 1 w.bin && "$mkdata" npy f32 10,4 1 four.npy || fail 'no data could be made'
external data.onnx w.bin 16
run 0 "$gc" data.onnx --emit=g -o data.g
holds data.g 'b = leaky_relu(m, 0.5)  # LeakyRelu'
cat >by_hand.g <<'END'
def net(x : f32[10, 4]) {
  param w : f32[4, 3] = zeros()
  return leaky_relu(x @ w, 0.5)
}
entry predict(x : f32[10, 4]) {
  y = net(x)
  return y, q = clamp(round(y * 4), -125, 130) / 4
}
END
run 0 "$gc" by_hand.g --weights=data.safetensors -o by_hand
run 0 ./by_hand predict --x four.npy --y y.npy --q q.npy
run 0 "$gc" data.onnx -o data
run 0 ./data predict --x four.npy --expect y=y.npy --expect q=q.npy
external data.onnx w.bin 40
says 1 'w: external data behind the end of w.bin' "$gc" data.onnx -o no
external data.onnx ../w.bin 0
says 1 "w: external data outside of the model's folder" "$gc" data.onnx -o no

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

# ---- loops: carries that change places, slices and stacks backwards, along other axes; a body that reads around it ----
loops() { # loops NAME CONDITION
  encode_onnx "$1" <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 4 } dim { dim_value: 3 } } } } }
  input { name: "go" type { tensor_type { elem_type: 9 shape { } } } }
  output { name: "a" } output { name: "b" } output { name: "rows" } output { name: "sum" } output { name: "late" }
  initializer { name: "three" data_type: 7 int64_data: 3 } initializer { name: "half" data_type: 1 float_data: 0.5 }
  initializer { name: "yes" data_type: 9 int32_data: 1 } initializer { name: "zeros" data_type: 1 dims: 4 float_data: [0, 0, 0, 0] }
  node { op_type: "ReduceSum" input: "x" output: "first" attribute { name: "keepdims" i: 0 } }
  node { op_type: "Loop" input: ["three", "$2", "first", "half"] output: ["a", "b", "rows"] attribute { name: "body" g: "$(body \
    "node { op_type: 'Cast' input: 'k' output: 'kf' attribute { name: 'to' i: 1 } } node { op_type: 'Add' input: ['p', 'kf'] output: 'q2' }
     node { op_type: 'Mul' input: ['q', 'half'] output: 'p2' } node { op_type: 'Gather' input: ['x', 'k'] output: 'row' }
     node { op_type: 'Add' input: ['row', 'p'] output: 'out' } node { op_type: 'Identity' input: 'c' output: 'c2' }" 'k c p q' 'c2 p2 q2 out')" } }
  node { op_type: "Scan" input: ["zeros", "x"] output: ["sum", "late"] attribute { name: "num_scan_inputs" i: 1 } attribute { name: "scan_input_axes" ints: 1 }
    attribute { name: "scan_input_directions" ints: 1 } attribute { name: "scan_output_directions" ints: 1 } attribute { name: "scan_output_axes" ints: -1 }
    attribute { name: "body" g: "$(body "node { op_type: 'Add' input: ['s', 'v'] output: 't' } node { op_type: 'Mul' input: ['t', 'half'] output: 'u' }" 's v' 't u')" } }
}
END
}
loops loops.onnx yes
cat >loops.g <<'END'
entry predict(x : f32[4, 3], go : bool[]) {
  a, b = sum(x), full([], 0.5)
  rows = for k in 0..3 {
    p, q = b * 0.5, a + k
    yield x[k] + a
    a, b = p, q
  }
  s = zeros([4])
  late = for k in 0..3 {
    s = s + x[:, 2 - k]
    yield s * 0.5
  }
  return a, b, rows, sum = s, late = reverse(late, axis = 0)'
}
END
"$mkdata" npy f32 4,3 5 loop.npy && "$mkdata" npy bool 1 1 go.npy || fail 'no data could be made'
run 0 "$gc" loops.g -o unrolled
run 0 ./unrolled predict --x loop.npy --go go.npy --a a.npy --b b.npy --rows rows.npy --sum sum.npy --late late.npy
run 0 "$gc" loops.onnx -o loops
run 0 ./loops predict --x loop.npy --go go.npy --expect a=a.npy --expect b=b.npy --expect rows=rows.npy --expect sum=sum.npy --expect late=late.npy
run 0 "$gc" loops.onnx --emit=g
holds out.txt 'rows = scan k in 0..3 {'
loops free.onnx go
says 1 'free.onnx: 1 node cannot be imported, for 1 reason' "$gc" free.onnx -o no
holds out.txt 'note: 1 x Loop: a condition that is not known when gc compiles, and ends what is stacked'

# ---- conditions that the run computes: of an If, and of a Loop that has ten iterations at most; sequences. Indices of the branch
# that is not taken and of iterations behind the end are out of range ----
encode_onnx chosen.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 4 } dim { dim_value: 5 } } } } }
  input { name: "go" type { tensor_type { elem_type: 9 shape { dim { dim_value: 1 } } } } }
  output { name: "y" } output { name: "v" } output { name: "many" } output { name: "parts" } output { name: "count" } output { name: "bags" } output { name: "peaks" }
  $(one half 1 'float_data: 0.5') $(one ten 7 'int64_data: 10') $(one yes 9 'int32_data: 1') $(one zero 7 'int64_data: 0') $(one last 7 'int64_data: -1') $(one two 7 'int64_data: 2')
  $(one none 1 'float_data: 0') $(one ones 1 'dims: 6 float_data: [1, 1, 1, 1, 1, 1]') $(one nine 7 'int64_data: 9') $(one some 9 'dims: 0')
  node { op_type: "Cast" input: "go" output: "gone" attribute { name: "to" i: 7 } } node { op_type: "Mul" input: ["gone", "nine"] output: "at" }
  node { op_type: "If" input: "go" output: ["y", "sum"] attribute { name: "then_branch" g: "$(body "node { op_type: 'Mul' input: ['x', 'half'] output: 'a' } node { op_type: 'ReduceSum' input: 'a' output: 's' attribute { name: 'keepdims' i: 0 } }" '' 'a s')" }
    attribute { name: "else_branch" g: "$(body "node { op_type: 'Neg' input: 'x' output: 'm' } node { op_type: 'Gather' input: ['x', 'at'] output: 'row' } node { op_type: 'Add' input: ['m', 'row'] output: 'a' }" '' 'a half')" } }
  node { op_type: "Loop" input: ["ten", "go", "half", "none"] output: ["v", "many"] attribute { name: "body" g: "$(body \
    "node { op_type: 'Add' input: ['p', 'p'] output: 'twice' } node { op_type: 'Less' input: ['twice', 'five'] output: 'c2' } node { op_type: 'Gather' input: ['ones', 'k'] output: 'one' } node { op_type: 'Add' input: ['q', 'one'] output: 'q2' }" 'k c p q' 'c2 twice q2')" } }
  initializer { name: "five" data_type: 1 float_data: 5 }
  node { op_type: "SplitToSequence" input: ["x", "two"] output: "s" attribute { name: "axis" i: 1 } } node { op_type: "SequenceAt" input: ["s", "last"] output: "end" }
  node { op_type: "SequenceErase" input: ["s", "zero"] output: "rest" } node { op_type: "SequenceInsert" input: ["rest", "x", "zero"] output: "more" }
  node { op_type: "SequenceConstruct" input: ["end", "end"] output: "ends" }
  node { op_type: "SequenceMap" input: ["ends", "half", "rest"] output: "turned" attribute { name: "body" g: "$(body "node { op_type: 'Mul' input: ['a', 'h'] output: 'b' } node { op_type: 'Sub' input: ['b', 'r'] output: 't' }" 'a h r' 't')" } }
  node { op_type: "SequenceAt" input: ["turned", "zero"] output: "e" } node { op_type: "SequenceInsert" input: ["more", "e"] output: "all" } node { op_type: "ConcatFromSequence" input: "all" output: "parts" attribute { name: "axis" i: 1 } }
  node { op_type: "SequenceLength" input: "all" output: "count" }
  initializer { name: "offsets" data_type: 7 dims: 4 int64_data: [0, 1, 3, 4] } $(one step 7 'int64_data: 1') $(one three 7 'int64_data: 3') $(one flat 7 'dims: 1 int64_data: -1')
  node { op_type: "SequenceEmpty" output: "empty" }
  node { op_type: "Loop" input: ["", "yes", "zero", "empty"] output: ["i3", "sums", "peaks"] attribute { name: "body" g: "$(body \
    "node { op_type: 'Gather' input: ['offsets', 'i'] output: 'a' } node { op_type: 'Add' input: ['i', 'step'] output: 'j' } node { op_type: 'Gather' input: ['offsets', 'j'] output: 'b' }
     node { op_type: 'Reshape' input: ['a', 'flat'] output: 'from' } node { op_type: 'Reshape' input: ['b', 'flat'] output: 'to' } node { op_type: 'Slice' input: ['x', 'from', 'to'] output: 'bag' }
     node { op_type: 'ReduceSum' input: 'bag' output: 'all_of_it' attribute { name: 'axes' ints: 0 } } node { op_type: 'SequenceInsert' input: ['seq', 'all_of_it'] output: 'seq2' } node { op_type: 'ReduceMax' input: 'bag' output: 'most' attribute { name: 'keepdims' i: 0 } }
     node { op_type: 'Less' input: ['j', 'three'] output: 'c2' }" 'k c i seq' 'c2 j seq2 most')" } }
  node { op_type: "ConcatFromSequence" input: "sums" output: "bags" attribute { name: "axis" i: 0 } }
}
END
cat >chosen.g <<'END'
entry predict(x : f32[4, 5], go : bool[1]) {
  yes = reshape(go, [])
  return y = where(yes, x * 0.5, x[0:1] - x), v = where(yes, full([], 8.0), full([], 0.5)), many = where(yes, full([], 4.0), full([], 0.0)),
         parts = concat([x, x[:, 2:4], x[:, 4:], x[:, 4:] * 0.5 - x[:, 2:4]], axis = 1), count = i64(full([], 4, dtype = i32)),
         bags = stack([x[0], x[1] + x[2], x[3]]), peaks = stack([max(x[0]), max(x[1:3]), max(x[3])])
}
END
"$mkdata" npy f32 4,5 5 x45.npy && "$mkdata" npy bool 1 1 go1.npy && printf '\0' >stop.bin || fail 'no data could be made'
run 0 "$gc" chosen.g -o by_hand
run 0 "$gc" chosen.onnx -o chosen
for go in go1.npy stop.bin; do
  rm -f y.npy v.npy many.npy parts.npy count.npy bags.npy peaks.npy
  run 0 ./by_hand predict --x x45.npy --go $go --y y.npy --v v.npy --many many.npy --parts parts.npy --count count.npy --bags bags.npy --peaks peaks.npy
  run 0 ./chosen predict --x x45.npy --go $go --expect y=y.npy --expect v=v.npy --expect many=many.npy --expect parts=parts.npy --expect count=count.npy --expect bags=bags.npy --expect peaks=peaks.npy
done

# tensors of a body are one weight each, however often it is translated
encode_onnx grows.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 3 } } } } } output { name: "y" }
  $(one three 7 'int64_data: 3')
  node { op_type: "Loop" input: ["three", "", "x"] output: "y" attribute { name: "body" g: "$(body \
    "initializer { name: 'w' data_type: 1 dims: 3 float_data: [1, 2, 4] } node { op_type: 'Constant' output: 'b' attribute { name: 'value' t { data_type: 1 dims: 3 float_data: [3, 5, 6] } } }
     node { op_type: 'Mul' input: ['v', 'w'] output: 'm' } node { op_type: 'Add' input: ['m', 'b'] output: 'a' } node { op_type: 'Concat' input: ['v', 'a'] output: 'v2' attribute { name: 'axis' i: 0 } }
     node { op_type: 'Identity' input: 'c' output: 'c2' }" 'k c v' 'c2 v2')" } }
}
END
run 0 "$gc" grows.onnx --emit=g
exactly "$(grep -c '^ *\(param\|const\|state\) ' out.txt)" 2 'weights of a loop whose iterations differ'

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

# ---- what is refused ----
says 1 'the dimension batch of the input x has no number' "$gc" cnn.onnx -o no
holds out.txt "hint: -D batch=N, or -D 'batch<=N' for every number from 1 to N"
says 1 'no input has a dimension bach' "$gc" cnn.onnx -D batch=2 -D bach=2 -o no
holds out.txt "hint: did you mean 'batch'? Dimensions with names: batch"
run 1 "$gc" cnn.onnx -D 'bach<=2' -o no # one error: of a name that is misspelt
exactly "$(cat out.txt)" "gc: error: cnn.onnx: no input has a dimension bach
hint: did you mean 'batch'? Dimensions with names: batch" 'of a dimension that is misspelt'
run 1 "$gc" cnn.onnx -D 'height<=2' -o no # both: the name that there is not, and the dimension without a number
holds out.txt 'error: cnn.onnx: no input has a dimension height'
holds out.txt "hint: -D batch=N, or -D 'batch<=N' for every number from 1 to N"
says 2 "a dimension is a number from 1 to 1073741824, not 'all'" "$gc" cnn.onnx -D batch=all -o no
says 2 'cannot read none.onnx' "$gc" none.onnx -o no
says 2 'has its own' "$gc" cnn.onnx --weights=cnn.safetensors -o no
says 2 'writes the program of an ONNX model' "$gc" hand.g --emit=g -o no.g
says 1 'is damaged, or no model of ONNX' "$gc" -x onnx hand.g -o no
holds out.txt 'hint: it is text; without -x onnx it is read as a program of gc'
says 1 'is damaged, or no model of ONNX' "$gc" -x onnx cnn.safetensors -o no
holds out.txt 'hint: it looks like weights in safetensors, which --weights puts into a model or a program'
says 2 'cannot read .: Is a directory' "$gc" -x onnx . -o no
holds out.txt 'hint: name the model in it, as ./model.onnx'
says 1 'is no file of safetensors' "$gc" hand.g --weights=hand.g -o no
holds out.txt "hint: in Python: safetensors.torch.save_file({name: tensor, …}, 'weights.safetensors')"
says 1 'is a folder' "$gc" hand.g --weights=. -o no
holds out.txt 'hint: name a file of safetensors in it'
sed 's/norm(convolution(x) as conv) as bn/convolution(x) as conv/' hand.g >other.g
says 1 'has a tensor net.layer1.0.bn.bias, which the program does not have' "$gc" other.g --weights=cnn.safetensors -o no
sed 's/param bias : f32\[4\]/param bias : f32[1]/' hand.g >other.g
says 1 'has another type or shape of net.fc.bias, which is f32[1]' "$gc" other.g --weights=cnn.safetensors -o no
use() { echo "use $1" >used.g && says 1 "$2" "$gc" used.g -o no; }
use '"cnn.onnx" as net' 'used.g:1:5: error: cnn.onnx: the dimension batch of the input x has no number'
holds out.txt 'hint: as net(batch = N), or as net(batch <= N) for every number from 1 to N'
use '"cnn.onnx" as net(batch = M)' 'the dimension batch takes a number from 1 on, or a let of one'
use '"cnn.onnx" as net(batch = 2, bach = 3)' 'no input has a dimension bach'
use '"none.onnx" as net' 'used.g:1:5: error: cannot read none.onnx'
use '"cnn.onnx"' 'a model is used as a def, which needs a name'
use '"hand.g" as net' 'only a model, NAME.onnx, is used as a def'
absent no no.g
encode_onnx bad.onnx <<'END'
opset_import { version: 17 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 4 } } } } }
  output { name: "y" }
  node { op_type: "NonZero" name: "places" input: "x" output: "a" }
  node { op_type: "NonZero" name: "first" input: "a" output: "b" }
  node { op_type: "Softmax" name: "second" input: "a" output: "s" }
  node { op_type: "Softmax" name: "third" input: "a" output: "t" }
  node { op_type: "Unheard" name: "fourth" input: ["b", "s", "t"] output: "c" }
  node { op_type: "StringConcat" name: "fifth" input: ["c", "c"] output: "y" }
}
END
says 1 'bad.onnx: 5 nodes cannot be imported, for 4 reasons' "$gc" bad.onnx -o no
holds out.txt 'note: 2 x Softmax: rows whose number the data decide: second, third'
holds out.txt 'hint: end the model in front of it, by onnx.utils.extract_model, and go on from the outputs'
holds out.txt 'note: 1 x Unheard: it has no counterpart: fourth'
finish
