#!/bin/sh
# Entries as models of ONNX, without other software: an exported model that gc imports again gives the values of the
# program it comes from. A program with most of the ops that have a counterpart; a net with bounded dimensions and
# weights of a file; states and hypers; data in a file of its own; what is refused. tests/peers/onnx_export.py has ONNX Runtime.
. "$(dirname "$0")/common.sh"
unoptimised
decode() { protoc-c --proto_path="$here/lang/onnx" --decode=onnx.ModelProto onnx.proto <"$1" >"$1.txt" || fail "$1 is no model"; }

# back PROGRAM ENTRY "OPTIONS OF IMPORT" OUTPUT...: what it gives is what its export gives
back() {
  program=$1 entry=$2 import=$3
  shift 3
  wants= expects=
  for output; do wants="$wants --$output want.$output.npy" expects="$expects --expect $output=want.$output.npy"; done
  run 0 ./"$program" "$entry" $inputs $wants --quiet
  run 0 "$gc" "$program.onnx" $import -o "$program-back"
  run 0 ./"$program-back" predict $inputs $expects --quiet
}

cat >ops.g <<'END'
entry ops(x : f32[4, 6], y : f32[4, 6], i : i32[4, 6], b : u8[4, 6], image : f32[2, 4, 7, 6], ids : i32[3]) {
  i = i * 7 + iota(6) - 8
  b = b * 101
  a = abs(x) + 0.5
  t = reshape(image, [2, 4, 6, 7])
  q = reshape(x, [1, 2, 4, 3])
  first, second = topk(y, 2)
  corners = reshape(image[:, :, :, 0:4], [2, 28, 4])
  points = reshape(image[:, :, :, 3:6], [2, 3, 28])
  points = where(points > 0.2, points, -inf)
  total = zeros([6])
  other = x[0]
  rows, halves = scan k in 0..4 {
    mixed = total * 0.5 + x[k]
    total = other + f32(k)
    other = mixed
    yield total, mixed[0:3] * y[k, 0:3]
  }
  return unary = -x + sign(y) * exp(x) + log(a) + sqrt(a) + rsqrt(a) + sin(x) + cos(y) + tanh(x) + sigmoid(y) + erf(x),
    small = expm1(x * 1e-4) + log1p(y * 1e-4) + log1p(abs(y) * 1e30),
    rounded = floor(x * 3) + ceil(y * 3) + round(x * 5) + relu(y),
    real = x % 0.3 + y % -0.7 + a ** y + min(x, y) * max(x, 0.25),
    whole = i // 3 + i % 5 + i // (i % 2) + i % (i % 3) + min(i, 2) + i32(x * 3),
    byte = b * b + b // 7 + b % 5 + max(b, u8(100)) - min(b, u8(9)),
    signed = i8(i) * i8(7) + i8(b) // i8(3) - max(i8(i), i8(5)), small_sums = sum(i8(i) * i8(9), axis = 1),
    chosen = where(x < y and not (i == 3) or b >= 5, x, y) + f32(i != 2) + f32(x <= 0.5) + f32(x > y),
    moved = concat([x'[1:5:2], reverse(y, axis = 0)'[0:2], pad(x[:, 1:3]', [0, 1], [0, 2])[:, 1:5]], axis = 0),
    spread = iota(6) * 2 + i,
    reduced = sum(x, axis = 0) + mean(y, axis = 0) + max(x, axis = 0) + min(y, axis = 0) + prod(a, axis = 0) + var(x, axis = 0),
    most = argmax(x, axis = 1) + argmin(y, axis = 1) + max(i, axis = 1) + sum(i, axis = 1),
    added = cumsum(x, axis = 1) + reverse(cumsum(reverse(y, axis = 1), axis = 1), axis = 1),
    sorted = take_along(x, argsort(x), axis = 1), first, second,
    product = x @ y' + (x' @ y)[0:4, 0:4] + einsum("ij,kj->ik", x, y),
    integers = i @ i',
    maps = conv2d(image, reshape(concat([x, y, x, y, x, y], axis = 0), [4, 4, 3, 3]), stride = 2, pad = 1, dilation = 1),
    groups = conv2d(image, reshape(concat([x, y, x], axis = 0), [4, 2, 3, 3]), groups = 2, pad = 1),
    up = conv_transpose2d(image, reshape(concat([x, y], axis = 0), [4, 3, 2, 2]), stride = 2),
    pools = max_pool(image, 3, stride = 2, pad = 1) + avg_pool(image, 3, stride = 2, pad = 1),
    normal = layer_norm(x) + rms_norm(y) + softmax(x) + log_softmax(y),
    cross = xent(x, i[:, 0] % 6),
    heads = attention(q, q[:, 0:1] * 0.5, q[:, 1:2], causal = true),
    seen = attention(q, q, q, mask = (q @ transpose(q, [0, 1, 3, 2])) > 0.1),
    total, other, rows, halves,
    boxes = nms(concat([min(corners[:, :, 0:2], corners[:, :, 2:4]), max(corners[:, :, 0:2], corners[:, :, 2:4])], axis = 2), points, 5, limit = 0.3),
    found = gather(x, ids) + one_hot(ids, 6, dtype = f32) * y[0:3], batches = gather(t[0], ids),
    summed = scatter_add(x, ids, y[0:3]), replaced = scatter(x, ids, y[0:3]), ranked = argsort(i, axis = 0), one = x[ids[0]]
}
END
"$mkdata" npy f32 4,6 1 x.npy && "$mkdata" npy f32 4,6 2 y.npy && "$mkdata" npy i32 4,6 9 i.npy && "$mkdata" npy u8 4,6 200 b.npy &&
  "$mkdata" npy f32 2,4,7,6 4 image.npy && "$mkdata" npy i32 3 4 ids.npy || fail 'no data could be made'
inputs='--x x.npy --y y.npy --i i.npy --b b.npy --image image.npy --ids ids.npy'
run 0 "$gc" ops.g -o ops
run 0 "$gc" ops.g --emit=onnx # the only entry, and the default name
back ops ops '' unary small rounded real whole byte signed small_sums chosen moved spread reduced most added sorted first second product \
  integers maps groups up pools normal cross heads seen boxes found batches summed replaced ranked one total other rows halves
run 0 "$gc" ops.onnx --emit=g -o again.g # attention is attention again
exactly "$(grep -c 'attention(.*mask = ' again.g)" 2 'calls of attention behind an export and an import'

# ---- bounded dimensions, weights of a file, a default that a hyper gives, several entries ----
cat >net.g <<'END'
hyper gain = 2
def net(x) {
  x = x + attention(x, linear(x, 8) as k, x, causal = true)
  return batch_norm(linear(rmsnorm(x) as n, 6) as out, zeros([6]), ones([6]), ones([6]), zeros([6]), 1e-5) * gain
}
entry train(x : f32[4, 8]) {
  loss = mean(net(x)**2)
  minimize loss with sgd(0.1)
  return loss
}
entry other(x : f32[4, 8]) { return y = sum(net(x)) }
entry some(x : f32[n <= 9, 8], z : f32[n, 3, m <= 4], d : f32[2 * n, 2], p : f32[m + 3, 2]) {
  s = zeros([n, 3])
  sums = scan k in 0..m {
    s = s * 0.5 + z[:, :, m - 1 - k]
    yield s
  }
  return tail = d[1:], wider = pad(d, [1, 0], [2, 1]), half = d[:n], behind = d[n:] * 2.0, joined = concat([p, p[1:]], axis = 0), cut = p[:-2] + 1.0, rest = sum(d[2:]),
    order = argsort(d, axis = 0, descending = true), least = take_along(p, argsort(p, axis = 0), axis = 0), mixed = concat([ones([3, 2]), d, p[1:3]], axis = 0),
    flat = reshape(z, [n * m * 3]) * 2.0, sums, last = s, y = net(x) / f32(n), wide = transpose(z, [1, 0, 2]) * f32(m), at = iota(n) + argmax(x, axis = 1), same = z, again = z
}
END
"$mkdata" npy f32 5,8 1 x.npy && "$mkdata" npy f32 5,3,2 2 z.npy && "$mkdata" npy f32 10,2 3 d.npy && "$mkdata" npy f32 5,2 4 p.npy || fail 'no data could be made'
inputs='--x x.npy --z z.npy --d d.npy --p p.npy'
run 0 "$gc" net.g -o net
run 0 ./net train --steps 0 --save weights.safetensors
run 0 "$gc" net.g --emit=onnx some --weights=weights.safetensors -o net.onnx
cp weights.safetensors kept.safetensors
for dims in '-D n=5 -D m=2' '-D n<=6 -D m=2'; do
  run 0 "$gc" net.onnx $dims --emit=g -o imported.g
  back net some "$dims" y wide at same again tail wider half behind joined cut rest order least mixed flat sums last
done
says 1 'net.g has several entries for inference: name one of other, some' "$gc" net.g --emit=onnx -o no.onnx
says 1 'the entry train trains; ONNX holds inference' "$gc" net.g train --emit=onnx -o no.onnx
says 1 'net.g has no entry none; for inference it has: other, some' "$gc" net.g none --emit=onnx -o no.onnx
says 2 'a model of ONNX cannot go to the standard output' "$gc" net.g other --emit=onnx -o -
says 2 'which gc did not write' "$gc" net.g other --emit=onnx -o weights.safetensors
same weights.safetensors kept.safetensors 'weights that are no model'
says 2 'some is no file; if it is an entry of net.g, the program that gc makes runs it: ./PROGRAM some' "$gc" net.g some --emit=ir
says 3 'cannot write nowhere/no.onnx: No such file or directory' "$gc" net.g other --emit=onnx -o nowhere/no.onnx
says 3 'cannot write no.onnx: File too large' sh -c 'ulimit -f 1 && exec "$0" "$@"' "$gc" net.g other --emit=onnx -o no.onnx
run 0 "$gc" net.g other --emit=onnx -o net.onnx # over its own file

# ---- what an entry assigns goes in and comes out ----
cat >state.g <<'END'
def remember(x) {
  state seen : f32[5, 3] = full([5, 3], 0.5)
  state at : i32 = full([], 2)
  param scale : f32 = full([], 3.5)
  seen := dynamic_update(seen, x * scale, at, axis = 0)
  at := at + 1
  return seen @ x'
}
entry step(x : f32[1, 3]) { return y = remember(x) }
entry begin() { return seen = full([5, 3], 0.5), at = full([], 2, dtype = i32) }
END
"$mkdata" npy f32 1,3 1 x.npy || fail 'no data could be made'
run 0 "$gc" state.g -o state
run 0 ./state begin --seen seen.npy --at at.npy --quiet
run 0 ./state step --x x.npy --y want.npy --quiet
run 0 "$gc" state.g step --emit=onnx
run 0 "$gc" state.onnx -o stated
run 0 ./stated predict --x x.npy --remember_seen seen.npy --remember_at at.npy --expect y=want.npy
holds out.txt 'remember_at_next = 3'

# ---- what has no counterpart ----
cat >noise.g <<'END'
entry noise(x : f32[4]) { return y = x + uniform(0, 1, shape = [4]) * normal(shape = [4]), z = grad(sum(x * x), x) }
END
says 1 'noise.g:1:7: error: 3 ops of the entry noise have no counterpart in ONNX' "$gc" noise.g --emit=onnx -o no.onnx
holds out.txt '1 x random_uniform: random numbers'
holds out.txt '1 x grad: gradients'
absent no.onnx
finish
