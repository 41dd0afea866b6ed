#!/bin/sh
# Bounded dimensions beyond the batch, as the length of a sequence: for each extent the bits of the program that is
# compiled for it, with dead bytes and elements behind the extent poisoned; and files of any length.
. "$(dirname "$0")/common.sh"
unoptimised 20

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
END

small='1 67' large='1 67'
[ "${GC_TEST_LEVEL-}" = full ] && large='1 2 5 6 7 63 64 65 127 128 129 149 150'
levels=-O2
[ "${GC_TEST_LEVEL-}" = full ] && levels='-O0 -O1 -O2 -O3'
for level in $levels; do
  run 0 "$gc" one.g $level -o one
  for t in $large; do
    exact one "t=$t"
    "$mkdata" npy u8 "1,$t" 1 raw.npy && "$mkdata" npy u8 "1,$t" 2 label.npy || fail 'no data could be made'
    compare one prefill "--id raw.npy$(outputs logits next cache m i)" logits.npy next.npy cache.npy m.npy i.npy
    compare one train "--id raw.npy --label label.npy --epochs 3 --save OUT.safetensors" safetensors
  done
done
finish
