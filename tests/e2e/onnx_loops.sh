#!/bin/sh
# Loops, branches and functions of ONNX models: what the run decides, what gc computes when it compiles, and loops along
# bounded dimensions.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/onnx_models.sh"
unoptimised

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

# ---- loops along a bounded dimension: bits are those of the model imported for that length; a Scan of gc comes back ----
encode_onnx long.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_param: "t" } dim { dim_value: 3 } } } } }
  input { name: "double" type { tensor_type { elem_type: 1 shape { dim { dim_param: "2*t" } } } } }
  output { name: "last" } output { name: "late" } output { name: "sum" } output { name: "rows" } output { name: "few" }
  $(tensor w '3, 3' 9 2) initializer { name: "zeros" data_type: 1 dims: [2, 3] float_data: [0, 0, 0, 0, 0, 0] } $(one none 1 'float_data: 0') $(one five 1 'float_data: 0.4')
  $(one begin 7 'int64_data: 0') $(one step 7 'int64_data: 1')
  node { op_type: "Scan" input: ["zeros", "x"] output: ["last", "late"] attribute { name: "num_scan_inputs" i: 1 } attribute { name: "scan_input_axes" ints: 1 }
    attribute { name: "scan_input_directions" ints: 1 } attribute { name: "scan_output_directions" ints: 1 } attribute { name: "scan_output_axes" ints: -2 }
    attribute { name: "body" g: "$(body "node { op_type: 'MatMul' input: ['h', 'w'] output: 'hw' } node { op_type: 'Add' input: ['hw', 'v'] output: 'a' } node { op_type: 'Tanh' input: 'a' output: 'n' } node { op_type: 'Identity' input: 'n' output: 'n2' }" 'h v' 'n n2')" } }
  node { op_type: "Shape" input: "double" output: "shape" } node { op_type: "Squeeze" input: "shape" output: "trips" }
  node { op_type: "Loop" input: ["trips", "", "none"] output: ["sum", "rows"] attribute { name: "body" g: "$(body \
    "node { op_type: 'Gather' input: ['double', 'k'] output: 'd' } node { op_type: 'Add' input: ['s', 'd'] output: 's2' } node { op_type: 'Mul' input: ['s2', 'd'] output: 'row' } node { op_type: 'Identity' input: 'c' output: 'c2' }" 'k c s' 'c2 s2 row')" } }
  node { op_type: "Loop" input: ["trips", "", "none"] output: ["few"] attribute { name: "body" g: "$(body \
    "node { op_type: 'Gather' input: ['double', 'k'] output: 'd' } node { op_type: 'Add' input: ['s', 'd'] output: 's2' } node { op_type: 'Abs' input: 's2' output: 'a' } node { op_type: 'Less' input: ['a', 'five'] output: 'c2' }" 'k c s' 'c2 s2')" } }
}
END
cat >scan.g <<'END'
use "long.onnx" as net(t <= 7)
entry predict(x : f32[2, t <= 7, 3], double : f32[2 * t]) {
  last, late, sums, rows, few = net(x, double)
  return last, late, sums, rows, few
}
END
run 0 "$gc" long.onnx -D 't<=7' -o bounded
run 0 "$gc" scan.g --emit=onnx -o back.onnx
run 0 "$gc" back.onnx -D 't<=7' -o back
run 0 "$gc" back.onnx -D 't<=7' --emit=g
exactly "$(grep -c 'scan k[_0-9]* in 0..t {\|scan k[_0-9]* in 0..2 \* t {' out.txt)" 3 'loops of the model that is read back'
holds out.txt 'd = gather(double, k_' # the number of the iteration is an index as it is
run 0 "$gc" long.onnx -D 't<=7' '--train-onnx=mse:late,sgd(lr)' --emit=lib -o trained.so
for t in 1 6; do
  run 0 "$gc" long.onnx -D t=$t -o exact
  "$mkdata" npy f32 2,$t,3 4 x.npy && "$mkdata" npy f32 $((2 * t)) 9 double.npy && rm -f last.npy late.npy sum.npy rows.npy few.npy || fail 'no data could be made'
  run 0 ./exact predict --x x.npy --double double.npy --last last.npy --late late.npy --sum sum.npy --rows rows.npy --few few.npy
  for name in last late sum rows few; do
    run 0 ./bounded predict --x x.npy --double double.npy --poison --expect $name=$name.npy --rtol 0 --atol 0
  done
  run 0 ./back predict --x x.npy --double double.npy --poison --expect last=last.npy --expect late=late.npy --expect sums=sum.npy --expect rows=rows.npy --expect few=few.npy
done
finish
