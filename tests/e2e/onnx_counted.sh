#!/bin/sh
# Models of ONNX whose data decide how many rows a value has: the first ones of as many as there may be, and how many there
# are. Numbers are those of numpy by the operators' definitions; a detector is imported whole.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/onnx_models.sh"
unoptimised
encode_onnx counted.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "boxes" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 9 } dim { dim_value: 4 } } } } }
  input { name: "scores" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 3 } dim { dim_value: 9 } } } } }
  output { name: "selected" } output { name: "kept" } output { name: "best" } output { name: "places" } output { name: "unique" } output { name: "first" } output { name: "group" } output { name: "size" }
  output { name: "positive" } output { name: "corners" }
  $(one most 7 'int64_data: 4') $(one overlap 1 'float_data: 0.3') $(one least 1 'float_data: 0.25') $(one two 7 'int64_data: 2') $(one half 1 'float_data: 0.5') $(one ten 1 'float_data: 10')
  $(int64s zero 0) $(int64s one 1) $(int64s three 3) $(int64s line -1) $(int64s lined -1,1) $(int64s both 0,2)
  node { op_type: "NonMaxSuppression" input: ["boxes", "scores", "most", "overlap", "least"] output: "selected" }
  node { op_type: "Slice" input: ["selected", "zero", "three", "zero"] output: "few" }
  node { op_type: "Gather" input: ["few", "both"] output: "image_and_box" attribute { name: "axis" i: 1 } }
  node { op_type: "GatherND" input: ["boxes", "image_and_box"] output: "kept" }
  node { op_type: "Gather" input: ["selected", "two"] output: "box" attribute { name: "axis" i: 1 } } node { op_type: "Reshape" input: ["box", "lined"] output: "column" }
  node { op_type: "Squeeze" input: ["column", "one"] output: "list" }
  node { op_type: "Slice" input: ["scores", "zero", "one", "zero"] output: "s0" } node { op_type: "ReduceMax" input: "s0" output: "s1" attribute { name: "axes" ints: [0, 1] } attribute { name: "keepdims" i: 0 } }
  node { op_type: "Gather" input: ["s1", "list"] output: "s2" } node { op_type: "Mul" input: ["s2", "half"] output: "best" }
  node { op_type: "Greater" input: ["scores", "half"] output: "high" } node { op_type: "NonZero" input: "high" output: "places" }
  node { op_type: "Mul" input: ["scores", "ten"] output: "tens" } node { op_type: "Floor" input: "tens" output: "steps" }
  node { op_type: "Unique" input: "steps" output: ["unique", "first", "group", "size"] attribute { name: "sorted" i: 0 } }
  node { op_type: "Reshape" input: ["high", "line"] output: "highs" } node { op_type: "Compress" input: ["scores", "highs"] output: "positive" }
  node { op_type: "Slice" input: ["boxes", "zero", "one", "zero"] output: "b0" } node { op_type: "Squeeze" input: ["b0", "zero"] output: "b1" }
  node { op_type: "Slice" input: ["highs", "zero", "size9", "zero"] output: "nine" } node { op_type: "Compress" input: ["b1", "nine"] output: "corners" attribute { name: "axis" i: 0 } } $(int64s size9 9)
}
END
encode_onnx no_images.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } } output { name: "y" }
  initializer { name: "boxes" data_type: 1 dims: [0, 5, 4] } initializer { name: "scores" data_type: 1 dims: [0, 2, 5] } $(one most 7 'int64_data: 4')
  node { op_type: "NonMaxSuppression" input: ["boxes", "scores", "most"] output: "y" }
}
END
says 1 'note: 1 x NonMaxSuppression: a tensor without elements' "$gc" no_images.onnx --check
cat >counted.py <<'END'
import sys
import numpy as np
if sys.argv[1] == "make":
    rng = np.random.default_rng(int(sys.argv[2]))
    corner = rng.uniform(0, 2, (2, 9, 2))
    np.save("boxes.npy", np.concatenate([corner, corner + rng.uniform(1, 3, (2, 9, 2))], 2).astype("f4"))
    np.save("scores.npy", (rng.uniform(0, 1, (2, 3, 9)) * (int(sys.argv[2]) > 0)).astype("f4"))
    sys.exit()
boxes, scores = np.load("boxes.npy"), np.load("scores.npy")
def overlap(a, b):
    inner = np.prod(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0))
    return inner / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - inner)
rows = []
for i in range(2):
    for c in range(3):
        mine = []
        for b in np.argsort(-scores[i, c], kind="stable"):
            if scores[i, c, b] > 0.25 and len(mine) < 4 and all(overlap(boxes[i, b], boxes[i, m]) <= 0.3 for m in mine):
                mine.append(b)
        rows += [[i, c, b] for b in mine]
rows = np.array(rows, "i8").reshape(-1, 3)
steps, high = np.floor(scores.ravel() * np.float32(10)), scores > 0.5
values, first, inverse, counts = np.unique(steps, return_index=True, return_inverse=True, return_counts=True)
order = np.argsort(first)
want = dict(selected=rows, kept=boxes[rows[:3, 0], rows[:3, 2]], best=scores[0].max(0)[rows[:, 2]] / 2, places=np.array(np.nonzero(high)), unique=values[order],
            first=first[order], group=np.argsort(order)[inverse.ravel()], size=counts[order], positive=scores[high], corners=boxes[0][high.ravel()[:9]])
counts = {"best": "selected", "first": "unique", "size": "unique", "positive": "positive"}
for name, x in want.items():
    got = np.load(f"{name}.npy")
    if name != "group":
        axis = int(name == "places")
        n = np.load(f"{counts.get(name, name)}_count.npy").item()
        assert n == x.shape[axis], (name, n, x.shape)
        got = got.take(range(n), axis)
    assert np.array_equal(got, x), (name, got, x)
END
run 0 "$gc" counted.onnx -o counted
for seed in 0 1; do # no row, and some
  run 0 python3 counted.py make $seed
  names='selected kept best places unique first group size positive corners selected_count kept_count places_count unique_count positive_count corners_count'
  of='' && for name in $names; do rm -f $name.npy && of="$of --$name $name.npy"; done
  run 0 ./counted predict --boxes boxes.npy --scores scores.npy $of
  run 0 python3 counted.py check
done
says 1 '--train-onnx: the data decide how many rows the output best has' "$gc" counted.onnx --train-onnx=mse:best --check

# a detector that chooses among the chosen: the best of each class, all of them joined, what overlaps within a class dropped
of_class() { # of_class K
  echo "node { op_type: 'Gather' input: ['scores', 'c$1'] output: 's$1' attribute { name: 'axis' i: 1 } } node { op_type: 'Greater' input: ['s$1', 'least'] output: 'high$1' }
    node { op_type: 'NonZero' input: 'high$1' output: 'row$1' } node { op_type: 'Transpose' input: 'row$1' output: 'at$1' } node { op_type: 'GatherND' input: ['s$1', 'at$1'] output: 'kept$1' }
    node { op_type: 'NonZero' input: 'high$1' output: 'twice$1' } node { op_type: 'Transpose' input: 'twice$1' output: 'there$1' } node { op_type: 'GatherND' input: ['boxes', 'there$1'] output: 'box$1' }
    node { op_type: 'Shape' input: 'kept$1' output: 'shape$1' } node { op_type: 'Gather' input: ['shape$1', 'c0'] output: 'n$1' } node { op_type: 'Unsqueeze' input: ['n$1', 'zero'] output: 'list$1' }
    node { op_type: 'Concat' input: ['four', 'list$1'] output: 'both$1' attribute { name: 'axis' i: 0 } } node { op_type: 'ReduceMin' input: 'both$1' output: 'least$1' attribute { name: 'keepdims' i: 0 } }
    node { op_type: 'Reshape' input: ['least$1', 'line'] output: 'k$1' } node { op_type: 'TopK' input: ['kept$1', 'k$1'] output: ['best$1', 'which$1'] } node { op_type: 'Gather' input: ['box$1', 'which$1'] output: 'corner$1' }
    node { op_type: 'Shape' input: 'best$1' output: 'size$1' } node { op_type: 'ConstantOfShape' input: 'size$1' output: 'label$1' attribute { name: 'value' t { data_type: 7 dims: 1 int64_data: $1 } } }"
}
kept=$(body "node { op_type: 'ReduceMax' input: 'all_corner' output: 'most' attribute { name: 'keepdims' i: 0 } } node { op_type: 'Cast' input: 'all_label' output: 'class' attribute { name: 'to' i: 1 } }
  node { op_type: 'Add' input: ['most', 'one'] output: 'apart' } node { op_type: 'Mul' input: ['class', 'apart'] output: 'off' } node { op_type: 'Unsqueeze' input: ['off', 'first'] output: 'offset' }
  node { op_type: 'Add' input: ['all_corner', 'offset'] output: 'moved' } node { op_type: 'Unsqueeze' input: ['moved', 'zero'] output: 'b' } node { op_type: 'Unsqueeze' input: ['all_best', 'front'] output: 's' }
  node { op_type: 'NonMaxSuppression' input: ['b', 's', 'endless', 'overlap'] output: 'chosen' } node { op_type: 'Gather' input: ['chosen', 'c2'] output: 'i' attribute { name: 'axis' i: 1 } }" '' i)
encode_onnx detector.onnx <<END
opset_import { version: 18 }
graph {
  input { name: "boxes" type { tensor_type { elem_type: 1 shape { dim { dim_value: 9 } dim { dim_value: 4 } } } } } input { name: "scores" type { tensor_type { elem_type: 1 shape { dim { dim_value: 9 } dim { dim_value: 3 } } } } }
  $(for o in corners points labels sum mean place number list linear memory half_linear half_memory signed pooled kinds kinds_first kinds_group kinds_size near some tier tier_first tier_group tier_size last raw same; do echo "output { name: '$o' }"; done)
  $(one c0 7 'int64_data: 0') $(one c1 7 'int64_data: 1') $(one c2 7 'int64_data: 2') $(one least 1 'float_data: 0.7') $(one one 1 'float_data: 1') $(one overlap 1 'float_data: 0.3') $(one endless 7 'int64_data: 9223372036854775807')
  $(one bytes 1 'float_data: 255') $(one two 1 'float_data: 1.99') $(one five_ 1 'float_data: 4.99') $(one lowest 1 'float_data: -inf') $(one regions 1 'dims: [2, 5] float_data: [0, 0, 0, 7, 7, 0, 2.6, 1, 11, 9]') $(int64s image 1,1,6,6) $(int64s around 0,2) $(int64s five 5)
  $(int64s zero 0) $(int64s four 4) $(int64s six 6) $(int64s line -1) $(int64s first 1) $(int64s front 0,1) $(int64s halves 2,2)
  $(of_class 0) $(of_class 1) $(of_class 2)
  $(for x in corner best label; do echo "node { op_type: 'Concat' input: ['${x}0', '${x}1', '${x}2'] output: 'all_$x' attribute { name: 'axis' i: 0 } }"; done)
  node { op_type: "Shape" input: "all_corner" output: "size" } node { op_type: "ReduceProd" input: "size" output: "many" attribute { name: "keepdims" i: 0 } } node { op_type: "Equal" input: ["many", "c0"] output: "none" }
  node { op_type: "If" input: "none" output: "keep" attribute { name: "then_branch" g: "$(body "node { op_type: 'Constant' output: 'e' attribute { name: 'value' t { data_type: 7 dims: 0 } } }" '' e)" }
    attribute { name: "else_branch" g: "$kept" } }
  node { op_type: "Slice" input: ["keep", "zero", "six", "zero"] output: "few" } node { op_type: "Gather" input: ["all_corner", "few"] output: "c" }
  node { op_type: "Split" input: ["c", "halves"] output: ["low", "high"] attribute { name: "axis" i: 1 } } node { op_type: "Concat" input: ["high", "low"] output: "corners" attribute { name: "axis" i: 1 } }
  node { op_type: "Gather" input: ["all_best", "few"] output: "points" } node { op_type: "Gather" input: ["all_label", "few"] output: "labels" }
  node { op_type: "ReduceSum" input: "all_best" output: "sum" attribute { name: "keepdims" i: 0 } } node { op_type: "ReduceMean" input: "all_best" output: "mean" attribute { name: "keepdims" i: 0 } }
  node { op_type: "ArgMax" input: "all_best" output: "place" attribute { name: "keepdims" i: 0 } } node { op_type: "Gather" input: ["size", "c0"] output: "number" } node { op_type: "Range" input: ["c0", "number", "c1"] output: "list" }
  node { op_type: "Split" input: ["boxes", "halves"] output: ["a", "b"] attribute { name: "axis" i: 1 } } node { op_type: "Unsqueeze" input: ["boxes", "zero"] output: "query" } node { op_type: "Unsqueeze" input: ["a", "zero"] output: "key" }
  node { op_type: "Unsqueeze" input: ["scores", "zero"] output: "value" } node { op_type: "Unsqueeze" input: ["s0", "around"] output: "beta" } node { op_type: "Neg" input: "beta" output: "decay" }
  node { op_type: "LinearAttention" input: ["query", "key", "value", "", "decay", "beta"] output: ["linear", "memory"] attribute { name: "q_num_heads" i: 2 } attribute { name: "kv_num_heads" i: 1 } }
  $(for x in query key value decay beta; do echo "node { op_type: 'Cast' input: '$x' output: 'half_$x' attribute { name: 'to' i: 10 } }"; done)
  node { op_type: "LinearAttention" input: ["half_query", "half_key", "half_value", "", "half_decay", "half_beta"] output: ["half_linear", "half_memory"] attribute { name: "q_num_heads" i: 2 } attribute { name: "kv_num_heads" i: 1 } }
  node { op_type: "Attention" input: ["key", "key", "value"] output: "near" attribute { name: "q_num_heads" i: 1 } attribute { name: "kv_num_heads" i: 1 } attribute { name: "left_window_size" i: 2 } attribute { name: "right_window_size" i: 1 } }
  node { op_type: "Attention" input: ["key", "key", "value", "", "", "", "five"] output: "some" attribute { name: "q_num_heads" i: 1 } attribute { name: "kv_num_heads" i: 1 } }
  node { op_type: "Mul" input: ["scores", "bytes"] output: "large" } node { op_type: "Cast" input: "large" output: "byte" attribute { name: "to" i: 2 } } node { op_type: "BitCast" input: "byte" output: "signed" attribute { name: "to" i: 3 } }
  node { op_type: "Reshape" input: ["boxes", "image"] output: "pixels" } node { op_type: "MaxRoiPool" input: ["pixels", "regions"] output: "pooled" attribute { name: "pooled_shape" ints: [2, 3] } attribute { name: "spatial_scale" f: 0.5 } }
  node { op_type: "Mul" input: ["scores", "two"] output: "twofold" } node { op_type: "Floor" input: "twofold" output: "bits" }
  node { op_type: "Div" input: ["bits", "bits"] output: "ratio" } node { op_type: "Add" input: ["ratio", "bits"] output: "sorts" }
  node { op_type: "Unique" input: "sorts" output: ["kinds", "kinds_first", "kinds_group", "kinds_size"] attribute { name: "axis" i: 0 } }
  node { op_type: "Mul" input: ["scores", "five_"] output: "tenths" } node { op_type: "Floor" input: "tenths" output: "levels" } node { op_type: "Mul" input: ["levels", "ratio"] output: "level" }
  node { op_type: "Unique" input: "level" output: ["tier", "tier_first", "tier_group", "tier_size"] }
  node { op_type: "Mul" input: ["all_best", "lowest"] output: "all_lowest" } node { op_type: "ArgMax" input: "all_lowest" output: "last" attribute { name: "keepdims" i: 0 } attribute { name: "select_last_index" i: 1 } }
  node { op_type: "Sub" input: ["s0", "least"] output: "signs" } node { op_type: "BitCast" input: "signs" output: "raw" attribute { name: "to" i: 6 } } node { op_type: "BitCast" input: "raw" output: "same" attribute { name: "to" i: 1 } }
}
END
cat >detector.py <<'END'
import sys
import numpy as np
if sys.argv[1] == "make":
    rng = np.random.default_rng(int(sys.argv[2]))
    corner = rng.uniform(0, 2, (9, 2))
    np.save("boxes.npy", np.concatenate([corner, corner + rng.uniform(1, 3, (9, 2))], 1).astype("f4"))
    np.save("scores.npy", (rng.uniform(0, 1, (9, 3)) * (int(sys.argv[2]) > 0)).astype("f4"))
    sys.exit()
boxes, scores = np.load("boxes.npy"), np.load("scores.npy")
def overlap(a, b):
    inner = np.prod(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0))
    return inner / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - inner)
rows = [(b, c) for c in range(3) for b in [i for i in np.argsort(-scores[:, c], kind="stable") if scores[i, c] > np.float32(0.7)][:4]]
every = np.array([scores[r] for r in rows], "f4")
keep = []
for i in np.argsort(-every, kind="stable"):
    if all(rows[k][1] != rows[i][1] or overlap(boxes[rows[k][0]], boxes[rows[i][0]]) <= 0.3 for k in keep): keep.append(i)
keep = keep[:6]
of = {name: np.load(f"{name}.npy") for name in sys.argv[2:]}
assert of["corners_count"].item() == len(keep) and of["list_count"].item() == of["number"].item() == len(rows), (of, keep, rows)
assert np.array_equal(of["points"][:len(keep)], every[keep]) and np.array_equal(of["labels"][:len(keep)], [rows[i][1] for i in keep]), (of, keep)
assert np.array_equal(of["corners"][:len(keep)], np.array([boxes[rows[i][0]][[2, 3, 0, 1]] for i in keep], "f4").reshape(-1, 4)), (of, keep)
assert np.array_equal(of["list"][:len(rows)], range(len(rows))) and abs(of["sum"] - every.sum()) < 1e-5, of
pixels, pooled = boxes.reshape(6, 6), np.zeros((2, 1, 2, 3))
def linear_attention(boxes, scores):
    state, linear = np.zeros((2, 3)), []
    for q, k, v, beta in zip(boxes, boxes[:, :2], scores, scores[:, 0]):
        state *= np.exp(-beta)
        state += np.outer(k, beta * (v - k @ state))
        linear.append((q.reshape(2, 2) @ state).ravel() / np.sqrt(2))
    return np.array(linear), state
linear, state = linear_attention(boxes, scores)
for name, want in zip(("linear", "memory"), linear_attention(*(x.astype("f2").astype("f8") for x in (boxes, scores)))):  # of halves, rounded once
    assert np.allclose(of["half_" + name][0], want, 1.01 * 2 ** -11, 3e-8), (of["half_" + name], want)
for r, (left, top, right, bottom) in enumerate([(0, 0, 4, 4), (1, 1, 6, 5)]):  # halves of the regions, rounded
    for i in range(2):
        for j in range(3):
            high, wide = (bottom - top + 1) / 2, (right - left + 1) / 3
            part = pixels[top + int(i * high):top + int(np.ceil((i + 1) * high)), left + int(j * wide):left + int(np.ceil((j + 1) * wide))]
            pooled[r, 0, i, j] = part.max() if part.size else 0
assert np.allclose(of["linear"][0], linear, 1e-4, 1e-5) and np.allclose(of["memory"][0, 0], state, 1e-4, 1e-5) and np.array_equal(of["pooled"], pooled.astype("f4")), of
def attention(seen):
    w = np.where(seen, np.exp(boxes[:, :2] @ boxes[:, :2].T / np.sqrt(2)), 0)
    return w / w.sum(1, keepdims=True) @ scores
i = np.arange(9)
assert np.allclose(of["near"][0], attention(abs(i - i[:, None] + 0.5) < 2), 1e-5, 1e-6) and np.allclose(of["some"][0], attention(i < 5), 1e-5, 1e-6), of
assert np.array_equal(of["signed"], (scores * np.float32(255)).astype("u1").view("i1")), of
bits = np.floor(scores * np.float32(1.99))
with np.errstate(invalid="ignore"): ratio = bits / bits
kinds, first, group, size = np.unique(ratio + bits, axis=0, return_index=True, return_inverse=True, return_counts=True)
n = of["kinds_count"].item()
assert n == len(kinds) and np.array_equal(of["kinds"][:n], kinds, equal_nan=True) and np.array_equal(of["kinds_first"][:n], first), (of, kinds)
assert np.array_equal(of["kinds_group"], group.ravel()) and np.array_equal(of["kinds_size"][:n], size), (of, group, size)
steps, first, group, size = np.unique(np.floor(scores * np.float32(4.99)) * ratio, return_index=True, return_inverse=True, return_counts=True)
n = of["tier_count"].item()
assert n == len(steps) and np.array_equal(of["tier"][:n], steps, equal_nan=True) and np.array_equal(of["tier_first"][:n], first), (of, steps)
assert np.array_equal(of["tier_group"], group.ravel()) and np.array_equal(of["tier_size"][:n], size), (of, group, size)
assert np.array_equal(of["raw"], of["same"].view("i4")) and np.array_equal(of["same"], scores[:, 0] - np.float32(0.7)), of
assert not rows or of["last"] == len(rows) - 1, of
assert not rows or (abs(of["mean"] - every.mean()) < 1e-6 and of["place"] == every.argmax()), of
END
run 0 "$gc" detector.onnx -o detector
for seed in 0 1 2; do # no row, and some
  run 0 python3 detector.py make $seed
  names='corners points labels sum mean place number list linear memory half_linear half_memory signed pooled kinds kinds_first kinds_group kinds_size near some tier tier_first tier_group tier_size last raw same corners_count list_count kinds_count tier_count' of=''
  for name in $names; do rm -f $name.npy && of="$of --$name $name.npy"; done
  run 0 ./detector predict --boxes boxes.npy --scores scores.npy $of
  run 0 python3 detector.py check $names
done
finish
