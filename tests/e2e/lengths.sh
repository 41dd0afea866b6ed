#!/bin/sh
# Bounded dimensions beyond the batch, as the length of a sequence: for each extent the bits of the program that is
# compiled for it, with dead bytes and elements behind the extent poisoned; and files of any length. With a fifth
# argument as of extents.sh: on a GPU.
. "$(dirname "$0")/common.sh"
unoptimised 20
on_gpu "${5-}"

# ---- one sequence: embeddings by id and by place, attention, its gradients, a row by a run-time number ----
cat >one.g <<'END'
let H = 4
def attend(x : [b, t, c], kv = H) {
  q = linear(x, c) as q
  k = linear(x, c * kv / H) as k
  return linear(from_heads(attention(to_heads(q, H), to_heads(k, kv), to_heads(k, kv), causal = true)), c) as proj
}
def text(id : u8[b, t]) {
  param place : f32[150, 32] = normal()
  x = embed(id, 9, 32) as e + place[:t]
  x = x + attend(layernorm(x) as n1) as one
  x = x + attend(rmsnorm(x) as n2, 2) as two
  return linear(x, 70) as out
}
entry prefill(id : u8[1, t <= 150]) {
  state cache : f32[1, 150, 70] = zeros()
  logits = text(id)
  cache := dynamic_update(cache, logits, 0, axis = 1)
  return logits, next = logits[0, t - 1], cache, m = causal(t), i = iota(t)
}
entry train(id : u8[1, t <= 150], label : u8[1, t]) {
  loss = mean(xent(text(id), label))
  minimize loss with sgd(0.1)
  return loss
}
# one query of each sequence: on a GPU its keys are split over thread blocks
entry decode(q : f32[n <= 3, 2, 1, 256], k : f32[n, 1, t <= 150, 256]) { return y = attention(q, k, k) }
END

# ---- along the axis: softmax, norms, sums, order, columns and depth of products, the first and the last element ----
cat >rows.g <<'END'
entry rows(x : f32[3, n <= 150], y : f32[3, n], m : f32[2, 5, n]) {
  s = softmax(x)
  ls = log_softmax(x * 2)
  param g : f32[150] = ones()
  ln = layernorm(transpose(x, [1, 0])) as a
  c = cumsum(x, axis = 1)
  d = cumsum(m, axis = 1)
  o = argsort(x)
  so = sort(m)
  am = argmax(x)
  mx = max(m, axis = -1)
  sm = sum(m, axis = [0, 2])
  ru = sum(tanh(m[:, :, :, none] + x'), axis = [0, 1, 2])  # chunks of rows that begin within a run of n
  lse = logsumexp(x, axis = 1)
  ng = grad(sum(grad(sum(layer_norm(x) ** 3) + sum(rms_norm(x) ** 3), x) * y), x)  # means of a gradient's rows
  yg = grad(sum(sin(x' @ y)) + sum(y ** 3) + sum(cos(tanh(x)' @ y)), y)  # y at its bound has two readers of three
  v = var(m, axis = -1)
  q = x' @ y
  w = x @ y'
  z = softmax(q) @ x'
  k = concat([x, y], axis = 0)
  p = pad(x, [1, 0], [0, 0])
  i = f32(iota(n)) * 0.5
  f = m[:, 2]
  fi = x[:, 0]
  la = x[:, -1]
  gg = x * g[:n]
  qi, qs = quantize(reshape(g, [3, 50]), axis = 0, group = 16)
  qm = ln @ dequantize(qi, qs, axis = 0, group = 16)  # rows of a quantized product
  qt, qu = quantize(reshape(g, [50, 3]), axis = 1, group = 8)
  qw = tanh(ln @ dequantize(qt, qu, axis = 1, group = 8)')
  one = g[:3] @ x + reshape(m[1, :3, 0], [1, 3]) @ y
  return s, ls, ln, c, d, o, so, am, mx, sm, ru, lse, ng, yg, v, q, w, z, k, p, i, f, fi, la, gg, one, qm, qw
}
entry train(x : f32[3, n <= 150], y : f32[3, n]) {
  param w : f32[3, 4] = normal()
  param g : f32[150] = ones()
  q = w' @ (x * g[:n])
  a = softmax(q' @ q)
  z = log_softmax(x @ a) 
  u = w[:, 1] @ y
  loss = mean((z - y) ** 2) + mean(u * (x[0] - u)) + mean(cumsum(z, axis = 1)) + sum(z[:, 0]) + sum(z[:, n - 1]) + mean(logsumexp(z, axis = 1))
  minimize loss with sgd(0.01)
  return loss
}
END

# ---- two bounded axes at once, trained with a mask; their product as an axis; einsum and loops over a length ----
cat >batch.g <<'END'
let H = 2
def attend(x : [b, t, c]) {
  q, k, v = split(linear(x, 3 * c) as qkv, 3, axis = -1)
  return linear(from_heads(attention(to_heads(q, H), to_heads(k, H), to_heads(v, H), causal = true)), c) as proj
}
def text(id : u8[b, t]) {
  x = embed(id, 9, 16) as e
  x = x + attend(layernorm(x) as n1) as one
  return linear(gelu(linear(rmsnorm(x) as n2, 40) as up), 9) as out
}
entry train(id : u8[n <= 5, t <= 40], label : u8[n, t]) {
  logits = text(id) as lm
  keep = f32(label < 5)
  loss = sum(xent(logits, label) * keep) / sum(keep) + 0.1 * mean(logits ** 2) + mean(prod(tanh(logits), axis = 2))
  minimize loss with adamw(0.01, clip = 1)
  return loss, accuracy = mean(argmax(logits) == label)
}
entry both(id : u8[n <= 5, t <= 40]) {
  logits = text(id) as lm
  m = reshape(f32(id), [t, n])
  return logits, p = softmax(logits), mean = mean(logits, axis = 1), all = max(logits), m, flat = reshape(logits, [-1, 9]),
         same = reshape(reshape(logits, [n * t, 9]), [n, -1, 9])
}
entry sums(x : f32[n <= 5, t <= 40, 6], y : f32[n, t, 5]) {
  return a = einsum("ntw,nt->nw", x, y[:, :, 0]), c = einsum("ntw,ntv->wv", x, y), d = einsum("ntw,nsw->nts", x, x), h = einsum("ntw,ntv->tvw", x, y)
}
entry joins(x : f32[4, t <= 40, 6]) {
  return y = reshape(x, [4 * t, 6]), z = reshape(x, [2, 2 * t, 6]), w = reshape(reshape(x, [4 * t, 6]), [4, t, 6]), v = reshape(x, [t, 24])
}
# parts of bounded axes, joined ones, and random numbers of any shape
entry moves(x : f32[n <= 5, t <= 40, 6], y : f32[n, t, 5]) {
  both = concat([x, x * 2, x], axis = 1)
  pair = concat([x, -x])
  u, v = split(pair, 2)
  return a = arange(t), both, pair, u, v, back = x[:, ::-1], part = both[:, t : 2 * t], first = both[:, :t], noise = normal(shape = [n, t, 3]),
         flip = uniform(shape = [3, n, t]), put = dynamic_update(zeros([2, t, 5, n]), broadcast(transpose(y, [1, 2, 0])[:, 1:3], [2, t, 2, n]), t % 3, axis = 2), some = dynamic_slice(x, t % 5, 2, axis = 2), half = (t - 4) // 2, near = t // 2.5 + n // 3
}
entry drops(x : f32[n <= 5, t <= 40, 6], y : f32[n, t, 5]) {
  h = dropout(linear(x, 9) as one, 0.3)
  z = linear(concat([h, h[:, ::-1]], axis = 1), 5) as two
  p = dropout(z[:, t:] + z[:, :t], 0.1)
  wide = p[:, none] * normal(shape = [n, 3, t, 5])
  tail = (concat([wide, 2 * wide]) * uniform(shape = [2 * n, 3, t, 5]))[n:]
  loss = mean((p - y) ** 2) + mean(tail)
  minimize loss with sgd(0.1)
  return loss
}
END

# ---- all but some elements of an axis, and some more: differences, next tokens, windows, a cache and its next row ----
cat >shifts.g <<'END'
entry shifts(e : f32[n + 1 <= 41, 6], x : f32[n, 6]) {
  p = pad(x, [1, 0], [2, 0])
  s = softmax(x[1:] @ x[:-1]')
  m = mean(x[3:], axis = 0)
  z = zeros([n + 2, 2]) + f32(n - 1)
  return d = pad(x[1:] - x[:-1], [0, 0], [1, 0]), m, s = sum(s * s), z = z[2:], v = var(x[1:-1]), k = n - 1, y = gelu(linear(p, 5) as a)[2:n + 2],
         q = p[1:n + 1] * 2, c = cumsum(p[:, 0])[3:], o = pad(argsort(x[1:, 2]), [1], [0]), l = p[-1], f = p[2], u = noise(n - 1),
         r = x[2:] * 3, w = zeros([n + 2, 2]) + p[-1, 0], a = concat([ones([2, 6]), x, reshape(x[0], [1, 6])]), b = concat([x, ones([1, 6]), e]),
         g = dynamic_update(e, ones([1, 6]), n, axis = 0), i = dynamic_update(zeros([5, n, 6]), pad(x[none], [0, 0, 0], [1, 0, 0]), 1, axis = 0),
         j = grad(sum(dynamic_update(x, gelu(x[1:]), 1, axis = 0) * p[1:n + 1]), x)
}
entry pairs(x : f32[2 * n <= 80, 6]) { return y = sum(x, axis = 1) }
entry picks(x : f32[n <= 40, 6]) {
  most, at = topk(x, 4, axis = 0)
  q = prod(x * x + 0.5)
  return most, at, pr = prod(x + 1, axis = 0), g = grad(q + sum(most * most), x)
}
def noise(k) { return mean(normal(shape = [k, 3]), axis = 0) }
entry train(ids : i32[b <= 3, t <= 40]) {
  h = embed(ids, 11, 8) as e
  param start : f32[1, 8] = normal()
  h = h + concat([broadcast(start, [b, 1, 8]), tanh(h)[:, :-1]], axis = 1)
  h = h + pad(linear(rms_norm(h)[:, :-1], 8) as l, [0, 1, 0], [0, 0, 0])
  q = transpose(reshape(h, [b, t, 2, 4]), [0, 2, 1, 3])[:, :, 1:]
  h = h + transpose(conv1(transpose(h, [0, 2, 1]), 8, 3) as c, [0, 2, 1])
  loss = mean(xent(linear(h[:, :-1], 11) as o, ids[:, 1:])) + mean(attention(q, q, q, true) ** 2)
  seen = sum(attention(q, q, q, true, mask = reshape(ids[:, 1:] > 2, [b, 1, 1, t - 1])) ** 2)
  loss = loss + 0.01 * mean(grad(seen, q) ** 2)
  minimize loss with adamw(0.01)
  return loss
}
END

# ---- windows: padding behind the extent is zeros, or never a maximum; one commit in three, on a GPU in nine ----
cat >windows.g <<'END'
entry windows(x : f32[2, 3, 2 * n <= 80, 6], s : f32[b <= 3, 3, t <= 40]) {
  c = conv(x, 4, 3) as one
  y = max_pool(c, 2)
  z = avg_pool(y, [3, 1], stride = 1, pad = [1, 0])
  u = conv_transpose(z, 3, k = 2, stride = 2) as up
  d = conv1(s, 6, 3, pad = "valid") as sequence
  w = max_pool(d, 2, stride = 1, dilation = 2)
  near, soft = resize(y, [2 * n, 5]), resize(y, [3 * n, 4], "bilinear")
  gx, gs, gf = grad(sum(u * u) + sum(w ** 2) + sum(near * near) + sum(soft ** 2), [x, s, c])
  return y, z, u, d, w, gx, gs, gf, near, soft
}
END

# ---- loops over a length, in both directions; on a GPU at level full ----
cat >loops.g <<'END'
entry loops(x : f32[n <= 5, t <= 40, 210], y : f32[n, t, 5]) {
  param place : f32[45, 5] = normal()
  h, c, b, s = zeros([n, 5]), zeros([n, 5]), zeros([n, 5]), zeros([n, 5])
  hs = scan i in 0..t {
    h, c = lstm(x[:, i], h, c) as cell
    s = s + (h * f32(i) + place[i]) * uniform(shape = [n, 5])
    yield h
  }
  back = scan i in 0..t {
    b = rnn(x[:, t - 1 - i], b) as back
    yield b
  }
  p = linear(transpose(concat([hs, reverse(back, axis = 0)], axis = -1), [1, 0, 2]), 5) as out
  r = zeros([n, 5])
  scan i in 0..t { r = r * 0.5 + p[:, i - 1] + dropout(p[:, i], 0.5) as late }
  loss = mse(p, y) + mean(s * s) + mean(hs[-1]) + mean(r)
  minimize loss with adam(0.1)
  return loss
}
END

# ---- rows of a second axis in a loop, some in place and some as its slices, where an axis has one element ----
cat >turns.g <<'END'
entry turns(x : f32[n <= 5, t <= 40, 210], y : f32[n, t, 5]) {
  p = linear(x, 5) as out
  r = zeros([n, 5])
  scan i in 0..t { r = r * 0.5 + p[:, i - 1] + 0.3 * tanh(p[:, i]) }
  loss = mse(p, y) + mean(r)
  minimize loss with sgd(0.1)
  return loss
}
END

large='1 67'
short='17' shifted='17' windows=
[ -z "$fake" ] && often=3 || often=9
is_drawn windows $often 7 && windows=17 # 7: by the default seed, too
if [ -n "$fake" ]; then # one commit in three
  is_drawn lengths_on_gpu 3 && large=67 || large=
  is_drawn shifts_on_gpu 3 || shifted=
fi
[ "${GC_TEST_LEVEL-}" = full ] && short='1 2 17 39 40' shifted='4 17 39 40' windows='5 17 39 40' large='1 2 5 6 7 63 64 65 127 128 129 149 150'
levels=-O2
[ "${GC_TEST_LEVEL-}" = full ] && levels='-O0 -O1 -O2 -O3'
for level in $levels; do
  [ -z "$large" ] || { run 0 "$gc" one.g $level $target -o one && run 0 "$gc" rows.g $level $target -o rows; }
  for t in $large; do
    exact one "t=$t n=2"
    "$mkdata" npy u8 "1,$t" 1 raw.npy && "$mkdata" npy u8 "1,$t" 2 label.npy || fail 'no data could be made'
    compare one prefill "--id raw.npy$(outputs logits next cache m i)" logits.npy next.npy cache.npy m.npy i.npy
    [ -n "$fake" ] || { # elements without the axis of 1 are one row, as a text is
      "$mkdata" npy u8 "$t" 1 bare.npy || fail 'no data could be made'
      run 0 ./one prefill --id bare.npy --logits bare.logits.npy --quiet
      same bare.logits.npy exact.logits.npy "one prefill at $lets, of one axis"
    }
    compare one train "--id raw.npy --label label.npy --epochs 3 --save OUT.safetensors" safetensors
    "$mkdata" npy f32 2,2,1,256 3 q.npy && "$mkdata" npy f32 "2,1,$t,256" 4 k.npy || fail 'no data could be made'
    compare one decode "--q q.npy --k k.npy$(outputs y)" y.npy
    exact rows "n=$t"
    "$mkdata" npy f32 "3,$t" 1 x.npy && "$mkdata" npy f32 "3,$t" 2 y.npy && "$mkdata" npy f32 "2,5,$t" 3 m.npy ||
      fail 'no data could be made'
    names='s ls ln c d o so am mx sm ru lse ng yg v q w z k p i f fi la gg one qm qw'
    compare rows rows "--x x.npy --y y.npy --m m.npy$(outputs $names)" $(printf '%s.npy ' $names)
    compare rows train "--x x.npy --y y.npy --epochs 3 --no-shuffle --save OUT.safetensors" safetensors
  done
  [ -z "$shifted" ] || run 0 "$gc" shifts.g $level $target -o shifts
  for t in $shifted; do
    exact shifts "n=$t b=2 t=$t"
    "$mkdata" npy f32 "$t,6" 1 x.npy && "$mkdata" npy i32 "2,$t" 2 ids.npy && "$mkdata" npy f32 "$((t + 1)),6" 3 e.npy ||
      fail 'no data could be made'
    names='d m s z v k y q c o l f u r w a b g i j'
    compare shifts shifts "--e e.npy --x x.npy$(outputs $names)" $(printf '%s.npy ' $names)
    "$mkdata" npy f32 "$((2 * t)),6" 6 pairs.npy || fail 'no data could be made'
    compare shifts pairs "--x pairs.npy$(outputs y)" y.npy
    compare shifts picks "--x x.npy$(outputs most at pr g)" most.npy at.npy pr.npy g.npy
    compare shifts train "--ids ids.npy --epochs 3 --no-shuffle --save OUT.safetensors" safetensors
  done
  [ -z "$windows" ] || run 0 "$gc" windows.g $level $target -o windows
  for t in $windows; do
    exact windows "n=$t b=2 t=$t"
    "$mkdata" npy f32 "2,3,$((2 * t)),6" 4 image.npy && "$mkdata" npy f32 "2,3,$t" 5 s.npy || fail 'no data could be made'
    names='y z u d w gx gs gf near soft'
    compare windows windows "--x image.npy --s s.npy$(outputs $names)" $(printf '%s.npy ' $names)
  done
  [ -z "$shifted" ] || { # fewer than are taken
    "$mkdata" npy f32 3,6 1 short.npy || fail 'no data could be made'
    says 1 'takes 4 or more elements along an axis that has 3 in this run' ./shifts picks --x short.npy --most most.npy
    holds out.txt 'give longer files; n + 4 <= BOUND in the program says that there are 5 or more'
  }
  run 0 "$gc" batch.g $level $target -o batch
  loops=1
  [ -n "$fake" ] && [ "${GC_TEST_LEVEL-}" != full ] && loops=
  [ -z "$loops" ] || run 0 "$gc" loops.g $level $target -o loops
  for t in $short; do
    exact batch "n=3 t=$t"
    "$mkdata" npy u8 "3,$t" 2 label.npy && "$mkdata" npy u8 "3,$t" 3 three.npy &&
      "$mkdata" npy f32 "4,$t,6" 4 x.npy || fail 'no data could be made'
    compare batch train "--id three.npy --label label.npy --epochs 3 --no-shuffle --save OUT.safetensors" safetensors
    compare batch both "--id three.npy$(outputs logits p mean all m flat same)" logits.npy p.npy mean.npy all.npy m.npy flat.npy same.npy
    "$mkdata" npy f32 "3,$t,6" 5 x3.npy && "$mkdata" npy f32 "3,$t,5" 6 y3.npy && "$mkdata" npy f32 "3,$t,210" 7 wide.npy ||
      fail 'no data could be made'
    compare batch sums "--x x3.npy --y y3.npy$(outputs a c d h)" a.npy c.npy d.npy h.npy
    compare batch joins "--x x.npy$(outputs y z w v)" y.npy z.npy w.npy v.npy
    names='a both pair u v back part first noise flip put some half near'
    compare batch moves "--x x3.npy --y y3.npy$(outputs $names)" $(printf '%s.npy ' $names)
    compare batch drops "--x x3.npy --y y3.npy --epochs 3 --no-shuffle --save OUT.safetensors" safetensors
    if [ -n "$loops" ]; then
      exact loops "n=3 t=$t"
      compare loops loops "--x wide.npy --y y3.npy --epochs 3 --no-shuffle --save OUT.safetensors" safetensors
    fi
    [ -z "$fake" ] || continue
    says 1 "bare.npy: holds u8[${large##* }], but the input id is u8[n <= 5, t <= 40]" ./batch train --id bare.npy --label bare.npy
    holds out.txt 'give an array of 2 axes, rows first; of one row the first axis is 1'
  done
done
[ -n "$fake" ] || {
  level=-O1
  run 0 "$gc" turns.g $level $target -o turns
  is_drawn one_row 2 && shapes=1,2 || shapes=3,1 # half of the commits each
  [ "${GC_TEST_LEVEL-}" = full ] && shapes='3,1 1,2'
  for at in $shapes; do
    exact turns "n=${at%,*} t=${at#*,}"
    "$mkdata" npy f32 "$at,5" 6 y3.npy && "$mkdata" npy f32 "$at,210" 7 wide.npy || fail 'no data could be made'
    compare turns turns "--x wide.npy --y y3.npy --epochs 3 --no-shuffle --save OUT.safetensors" safetensors
  done
}
# Rows of an axis behind another one: gradients are added up alike where gc leaves their transposed copy in the loop, since
# the arena would grow.
[ -n "$fake" ] || [ "${GC_TEST_LEVEL-}" != full ] || {
  cat >heads.g <<'END'
entry heads(x : f32[n <= 5, t <= 40, 210], y : f32[n, t, 5]) {
  p = linear(x, 5) as out
  q = transpose(reshape(linear(x, 10) as two, [n, t, 2, 5]), [0, 2, 1, 3])
  r, w = zeros([n, 5]), zeros([n, 2, 5])
  scan i in 0..t {
    r = r * 0.5 + p[:, i - 1] + 0.3 * tanh(p[:, i])
    w = w * 0.7 + q[:, :, i] + tanh(q[:, :, t - 1 - i]) * q[:, :, i - 1]
  }
  loss = mse(p, y) + mean(r) + mean(w * w) + mean(q ** 2)
  minimize loss with sgd(0.1)
  return loss
}
END
  for level in -O1 -O2; do
    run 0 "$gc" heads.g $level $target -o heads
    for at in 2,2 2,40 3,17 3,40 5,17 5,40; do
      exact heads "n=${at%,*} t=${at#*,}"
      "$mkdata" npy f32 "$at,5" 6 y3.npy && "$mkdata" npy f32 "$at,210" 7 wide.npy || fail 'no data could be made'
      compare heads heads "--x wide.npy --y y3.npy --epochs 3 --no-shuffle --save OUT.safetensors" safetensors
    done
  done
}
[ -z "$fake" ] || { # a prompt of any length, of an example
  sed 's/n <= P/n <= 20/; s/^let T = .*/let T = 20/' "$here/docs/examples/gpt.g" >gpt.g
  level='-O2 -D L=1 -D C=32 -D H=2 -D V=60'
  run 0 "$gc" gpt.g $level $target -o gpt
  exact gpt n=7
  "$mkdata" npy u8 1,7 1 seven.npy || fail 'no data could be made'
  compare gpt prompt "--context seven.npy --save OUT.safetensors" safetensors
}
# ---- windows along a bounded axis, exactly and in micro-batches, with the same bits; on ranks; too small an image ----
[ -n "$fake" ] || {
  cat >parts.g <<'END'
entry train(x : f32[n <= 8, 3, 4 * h <= 64, 16], label : u8[n]) {
  x = max_pool(relu(conv(x, 8, 3, pad = 1) as c1), 2)
  x = max_pool(relu(conv(x, 8, 3, pad = [0, 1]) as c2), 2)
  loss = mean(xent(linear(mean(x, axis = [2, 3]), 3) as out, label))
  minimize loss with sgd(0.1)
  return loss
}
END
  "$mkdata" npy f32 13,3,20,16 1 images.npy && "$mkdata" npy u8 13 2 kinds.npy || fail 'no data could be made'
  run 0 "$gc" parts.g $target -o whole
  run 0 "$gc" parts.g $target --memory-limit=280000 --remarks=remat -o parts
  holds out.txt 'the batch of 8 is done in 2 parts of 4'
  sed 's/4 \* h <= 64/20/' parts.g >fixed.g
  run 0 "$gc" fixed.g $target -o fixed
  for program in whole parts fixed; do
    run 0 ./$program train --x images.npy --label kinds.npy --epochs 2 --no-shuffle --save $program.safetensors --quiet
  done
  same whole.safetensors parts.safetensors 'windows along a bounded axis in micro-batches'
  same whole.safetensors fixed.safetensors 'gradients of filters along a bounded axis, of several images'
  "$mkdata" npy f32 13,3,4,16 1 images.npy || fail 'no data could be made'
  says 1 'h of the input x would be 1, which is not in 2 to 16' ./whole train --x images.npy --label kinds.npy
  holds out.txt 'give a larger file: conv at parts.g:3:21 has no room for its window in a smaller one'
  run 0 "$gc" parts.g $target -O2 --data-parallel=mpi --ranks=2 --emit=c -o ranks.c
}
finish
