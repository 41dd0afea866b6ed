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
  node { op_type: "Sinh" input: "x" output: "sinh" }
  node { op_type: "Cosh" input: "x" output: "cosh" }
  output { name: "celu" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
  output { name: "asinh" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
  output { name: "acosh" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
  output { name: "sinh" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
  output { name: "cosh" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
}
END
cat >slopes.g <<'END'
use "slopes.onnx" as net
entry slopes() {
  x = 100 * f32(iota(3))
  celu, asinh, _, _, _ = net(x)
  far = stack([-3e38 + 0 * x[0], 3e37 + 0 * x[0], 1.0001 + 0 * x[0]])
  _, asinh_far, acosh_far, _, _ = net(far)
  edge = stack([-89 + 0 * x[0], 89 + 0 * x[0], 0.001 + 0 * x[0]])
  _, _, _, sinh, cosh = net(edge)
  return celu = sum(grad(sum(celu), x)), asinh = grad(sum(asinh), x)[0], minus = asinh_far[0], far = asinh_far[1],
         cosine = acosh_far[1], near = acosh_far[2], slopes = 1e37 * grad(sum(asinh_far + acosh_far), far)[1],
         sinh, cosh, hyperbolic = grad(sum(sinh + cosh / 2), edge), little = grad(sum(cosh), edge)[2]
}
END
run 0 "$gc" slopes.g -o slopes
run 0 ./slopes slopes
holds out.txt 'celu = 3'
holds out.txt 'asinh = 1'
for line in 'minus = -89.29' 'far = 86.9874' 'cosine = 86.9874' 'near = 0.0141432' 'slopes = 0.666667' \
  'sinh = [-2.24481e+38 2.24481e+38 0.001]' 'cosh = [2.24481e+38 2.24481e+38 1]' 'hyperbolic = [1.1224e+38 3.36721e+38 1.0005]' 'little = 0.001'; do holds out.txt "$line"; done

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
# what the file does not have is the model's, be it a def or what is compiled; halves become floats
cat >part.py <<'END'
import json, struct, sys
data = open("tuned.safetensors", "rb").read()
n, = struct.unpack("<Q", data[:8])
header, name = json.loads(data[8:8 + n]), "net.fc.bias"
a, b = header[name]["data_offsets"]
halves = b"".join(data[8 + n + i + 2:8 + n + i + 4] for i in range(a, b, 4)) # bf16, cut off
shape, size = header[name]["shape"], {"F32": (b - a, data[8 + n + a:8 + n + b]), "BF16": (len(halves), halves)}
for dtype, (count, bits) in size.items():
    head = json.dumps({name: {"dtype": dtype, "shape": shape, "data_offsets": [0, count]}}).encode()
    open(f"{dtype}.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + bits)
END
run 0 python3 part.py
run 0 "$gc" cnn.onnx -D batch=5 --weights=tuned.safetensors -o tuned
run 0 ./tuned predict --x x.npy --expect tuned.npy
for type in F32 BF16; do
  rm -f part.npy
  run 0 "$gc" cnn.onnx -D batch=5 --weights=$type.safetensors -o tuned
  holds out.txt "note: $type.safetensors has 1 of 6 params"
  run 0 ./tuned predict --x x.npy --probabilities part.npy
  says 1 'differ' ./tuned predict --x x.npy --expect want.npy
  run 0 "$gc" model.g -D N=5 --weights=$type.safetensors -o model
  run 0 ./model predict --x x.npy --expect part.npy --rtol 0 --atol 1e-6
  run 0 ./cnn predict --x x.npy --load $type.safetensors,scope=net.fc.bias --expect part.npy
done
run 0 "$gc" model.g --emit=onnx
run 0 "$gc" model.onnx -D n=5 --check

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

# ---- what PyTorch's exporter says of a module: buffers and constants are no params, norms of equal weights have their own again,
# and what it computed of parameters has the path of the module that reads it. Equal weights that differ in themselves may be tied ----
node() { # node MODULE OP OUTPUT INPUT…
  at=$1 op=$2 to=$3 && shift 3
  echo "node { op_type: '$op' output: '$to' $(printf "input: '%s' " "$@") metadata_props { key: 'pkg.torch.onnx.name_scopes' value: \"['', ${at:+'$at', }'$to']\" } }"
}
signed() { # signed FILE SIGNATURE: '%' in it are ends of lines
  printf 'opset_import { version: 20 } graph { metadata_props { key: "pkg.torch.export.ExportedProgram.graph_signature" value: "%s" }\n%s }\n' \
    "$(printf %s "$2" | sed 's/%/\\n/g')" "$(net)" | encode_onnx "$1"
}
parameters=$(for i in n1.weight n1.bias n2.weight n2.bias n3.bias fc.weight a.weight b.weight; do printf "%%p: PARAMETER target='%s'" $i; done)
net() {
  cat <<END
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 4 } } } } } output { name: "y" }
  initializer { name: "n1.weight" data_type: 1 dims: 4 float_data: [1, 1, 1, 1] } initializer { name: "n1.bias" data_type: 1 dims: 4 float_data: [0, 0, 0, 0] }
  $(tensor table 4 4 1) $(tensor val_7 1,4 4 2) $(tensor val_2 '4, 4' 16 3) $(tensor a.weight '4, 4' 16 4)
  $(node n1 LayerNormalization a x n1.weight n1.bias) $(node '' Mul b a table) $(node '' Add c b val_7) $(node fc MatMul d c val_2)
  $(node n2 LayerNormalization e d n1.weight n1.bias) $(node a MatMul f e a.weight) $(node b MatMul g f a.weight) $(node n3 Add y g n1.bias)
END
}
signed signed.onnx "$parameters%b: BUFFER target='table' persistent=True%x: USER_INPUT"
signed plain.onnx ''
params() { ./"$1" info | sed -n 's/^  *param  *net\.\([^ ]*\) .*/\1/p' | sort | tr '\n' ' '; }
run 0 "$gc" plain.onnx --train-onnx='mse,sgd(lr)' -o plain
run 0 "$gc" signed.onnx --train-onnx='mse,sgd(lr)' -o signed
holds out.txt "note: signed.onnx: --train-onnx: 2 of the module's 8 parameters have no tensor of their name, as fc.weight"
[ "$(params plain)" = 'a.weight n1.bias n1.weight table val_2 val_7 ' ] || fail "params of a model without a signature: $(params plain)"
[ "$(params signed)" = 'a.weight fc.val_2 n1.bias n1.weight n2.bias n2.weight n3.bias ' ] || fail "params of a model with one: $(params signed)"
"$mkdata" npy f32 2,4 6 twice.npy || fail 'no data could be made'
rm -f y.npy && run 0 ./plain predict --x twice.npy --y y.npy
run 0 ./signed predict --x twice.npy --expect y=y.npy --rtol 0 --atol 0
run 0 ./signed train --x twice.npy --target twice.npy --epochs 2 --quiet --save signed.safetensors
run 0 python3 -c 'from weights import weights; w = weights("signed.safetensors"); assert w["net.n1.weight"] != w["net.n2.weight"] and w["net.n2.bias"] != w["net.n3.bias"]'
# names of nodes are paths of the exporter that traces
encode_onnx traced.onnx <<END
opset_import { version: 17 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 4 } } } } } output { name: "y" }
  $(tensor onnx::MatMul_7 '4, 4' 16 3) node { op_type: "MatMul" name: "/layer.0/fc/MatMul" input: ["x", "onnx::MatMul_7"] output: "y" }
}
END
run 0 "$gc" traced.onnx -o traced
[ "$(params traced)" = 'layer.0.fc.MatMul_7 ' ] || fail "the path of what a node reads: $(params traced)"
rm y.npy
# tensors that the exporter computed are transposed parameters, also of one with the corners of another; a near one, and an identity, are not
tied() { # tied, as the exporter leaves them, or with the Transpose that it has folded
  values='data_type: 1 dims: 2 dims: 3 float_data: [1, 4, -2, 2, 5, 3]'
  [ "$1" = folded ] && head="initializer { name: \"val_1\" $values }" || head='node { op_type: "Transpose" input: "table.weight" output: "val_1" }'
  cat <<END
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 3 } } } } } output { name: "y" } output { name: "near" } output { name: "one" } output { name: "alike" }
  initializer { name: "alike.weight" data_type: 1 dims: 3 dims: 2 float_data: [1, 2, 6, 7, -2, 3] } $(node alike MatMul alike x alike.weight)
  initializer { name: "table.weight" data_type: 1 dims: 3 dims: 2 float_data: [1, 2, 4, 5, -2, 3] } $head
  initializer { name: "val_2" data_type: 1 dims: 2 dims: 3 float_data: [1, 4.5, -2, 2, 5, 3] }
  initializer { name: "eye.weight" data_type: 1 dims: 2 dims: 2 float_data: [1, 0, 0, 1] } initializer { name: "val_3" data_type: 1 dims: 2 dims: 2 float_data: [1, 0, 0, 1] }
  $(node table MatMul a x table.weight) $(node head MatMul y a val_1) $(node other MatMul near a val_2) $(node eye MatMul b a eye.weight) $(node last MatMul one b val_3)
END
}
parameters=$(for i in table head other eye last alike; do printf "%%p: PARAMETER target='%s.weight'" $i; done)
net() { tied folded; }
signed tied.onnx "$parameters%x: USER_INPUT"
net() { tied apart; }
signed untied.onnx "$parameters%x: USER_INPUT"
run 0 "$gc" tied.onnx --train-onnx='mse:y,sgd(lr)' -o tied
holds out.txt "note: tied.onnx: --train-onnx: 1 of the exporter's tensors are transposed parameters, as val_1 of table.weight, and are trained as those"
[ "$(params tied)" = 'alike.weight eye.weight last.val_3 other.val_2 table.weight ' ] || fail "params of a model with a tied matrix: $(params tied)"
run 0 "$gc" untied.onnx --train-onnx='mse:y,sgd(lr)' -o untied
"$mkdata" npy f32 2,3 6 rows.npy || fail 'no data could be made'
for i in tied untied; do run 0 ./$i train --x rows.npy --target rows.npy --epochs 3 --quiet --save $i.safetensors; done
run 0 python3 -c 'from weights import weights; a, b = weights("tied.safetensors"), weights("untied.safetensors"); assert a == b and a["net.table.weight"][:2] != (1, 2)'

# ---- attention that is written as products and a softmax, unless something else reads these ----
attention() { # attention OUTPUT MORE…
  encode_onnx "$1.onnx" <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } dim { dim_value: 5 } dim { dim_value: 4 } } } } }
  output { name: "y" } output { name: "z" } output { name: "shifted" } output { name: "few" } output { name: "blanked" } $2
  initializer { name: "mask" data_type: 1 dims: [1, 5, 5] float_data: [0, -inf, 0, 0, 0, 0, 0, -1e9, -1e9, -1e9, 0, 0, 0, 0, 0, -inf, -inf, -inf, -inf, -inf, 0, 0, 0, 0, -inf] }
  initializer { name: "bias" data_type: 1 dims: [1, 5, 5] float_data: [0, 1, 0, 0, 0, 0, 0, -1, -1, -1, 0, 0, 0, 0, 0, -1, 1, 1, 1, 1, 0, 0, 0, 0, -9] }
  initializer { name: "blank" data_type: 1 dims: [5, 5] float_data: [0, 0, 0, 0, 0, 0, 0, 0, -1e9, -1e9, -1e9, -1e9, -1e9, -1e9, -1e9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] }
  initializer { name: "seen" data_type: 9 dims: [5, 5] int32_data: [1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1] } initializer { name: "deep" data_type: 1 float_data: -1e9 }
  initializer { name: "root" data_type: 1 float_data: 2 } initializer { name: "quarter" data_type: 1 float_data: 0.25 } initializer { name: "naught" data_type: 1 float_data: 0 }
  node { op_type: "Transpose" input: "x" output: "k" attribute { name: "perm" ints: [0, 2, 1] } }
  node { op_type: "MatMul" input: ["x", "k"] output: "a" } node { op_type: "Div" input: ["a", "root"] output: "b" } node { op_type: "Mul" input: ["quarter", "b"] output: "c" }
  node { op_type: "Add" input: ["c", "mask"] output: "d" } node { op_type: "Softmax" input: "d" output: "p" }
  node { op_type: "IsNaN" input: "p" output: "none" } node { op_type: "Where" input: ["none", "naught", "p"] output: "w" } node { op_type: "MatMul" input: ["w", "x"] output: "y" }
  node { op_type: "MatMul" input: ["x", "k"] output: "e" } node { op_type: "Softmax" input: "e" output: "q" } node { op_type: "MatMul" input: ["q", "x"] output: "z" }
  node { op_type: "MatMul" input: ["x", "k"] output: "f" } node { op_type: "Add" input: ["f", "bias"] output: "g" } node { op_type: "Softmax" input: "g" output: "r" } node { op_type: "MatMul" input: ["r", "x"] output: "shifted" }
  node { op_type: "MatMul" input: ["x", "k"] output: "l" } node { op_type: "Where" input: ["seen", "l", "deep"] output: "m" } node { op_type: "Softmax" input: "m" output: "n" } node { op_type: "MatMul" input: ["n", "x"] output: "few" }
  node { op_type: "MatMul" input: ["x", "k"] output: "s" } node { op_type: "Add" input: ["s", "blank"] output: "t" } node { op_type: "Softmax" input: "t" output: "u" } node { op_type: "MatMul" input: ["u", "x"] output: "blanked" }
}
END
  run 0 "$gc" "$1.onnx" --emit=g -o "$1.g"
}
attention attended ''
attention apart 'output { name: "a" } output { name: "p" } output { name: "q" } output { name: "n" }'
[ "$(sed -n 's/.*\(attention\|softmax\)(.*/\1/p' attended.g | tr '\n' ' ')$(grep -c '@' attended.g)" = 'attention attention softmax attention softmax 4' ] || fail 'products and softmaxes that are attention'
exactly "$(grep -c 'attention(' apart.g)" 0 'attention whose weights are outputs, too'
"$mkdata" npy f32 3,5,4 2 rows.npy || fail 'no data could be made'
run 0 "$gc" attended.onnx -o attended
run 0 "$gc" apart.onnx -o apart
run 0 ./apart predict --x rows.npy --y apart_y.npy --z apart_z.npy --few apart_few.npy
# a query that sees no key has equal scores, and so the mean of all values
run 0 ./attended predict --x rows.npy --expect y=apart_y.npy --expect z=apart_z.npy --expect few=apart_few.npy

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
printf '\72\0\0\0\0\0\0\0{"net.x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}} x' >other.safetensors
says 1 'has a tensor net.x, which the program does not have' "$gc" cnn.onnx -D batch=5 --weights=other.safetensors -o no
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
