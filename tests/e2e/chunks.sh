#!/bin/sh
# A wide product under a byte limit, some rows at a time, forward and backward at once: the arena is smaller,
# and every weight and every number is the same to the last bit. Losses by xent, by log_softmax and labels as
# ones, and by a softmax that is written out; with bias and without, tied to a table, and inference alone. What
# reads the product as a whole keeps it whole.
. "$(dirname "$0")/common.sh"
unoptimised
cat >wide.g <<'END'
let R = 3072
hyper lr = 0.1
def trunk(id) { return tanh(linear(embed(id % 90, 90, 12) as words, 20) as up) }
def tied(h) {
  param table : f32[192, 20] = normal(std = 0.1)
  return h @ table'
}
entry labels(id : u8[R], next : u8[3, R / 3]) {
  logits = reshape(linear(trunk(id), 192) as head, [3, R / 3, 192])
  loss = mean(xent(logits, next % 192))
  minimize loss with adam(lr)
  return loss, right = mean(f32(argmax(logits) == i32(next % 192))), highest = max(max(logits, axis = -1))
}
entry ones(id : u8[R], next : u8[3, R / 3]) {
  p = log_softmax(tied(trunk(id)))
  loss = mean(-sum(p * one_hot(reshape(next % 192, [R]), 192), axis = -1))
  minimize loss with sgd(lr)
  return loss
}
entry written(id : u8[R], next : u8[3, R / 3]) {
  z = linear(trunk(id), 192) as head
  top = max(z, axis = -1, keep = true)
  y = exp(z - top) / sum(exp(z - top), axis = -1, keep = true)
  loss = mean(mean((y - one_hot(reshape(next % 192, [R]), 192)) ** 2, axis = -1))
  minimize loss with sgd(100 * lr)
  return loss
}
entry test(id : u8[R], next : u8[3, R / 3]) {
  logits = reshape(linear(trunk(id), 192) as head, [3, R / 3, 192])
  return loss = mean(xent(logits, next % 192)), best = argmax(logits)
}
entry spread(id : u8[R], next : u8[3, R / 3]) {
  z = linear(trunk(id), 192) as head
  return most = max(sum(abs(z - mean(z)), axis = -1))
}
END
"$mkdata" npy u8 3072 1 id.npy && "$mkdata" npy u8 3,1024 2 next.npy || fail 'no data could be made'
# A limit that no entry with gradients meets without loops, or without its batch in parts, which is not tried here.
how=--passes=gather-matmul,fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce,row-tiles,shared-stacks,cheap-remat,fuse,layout,order,remat,liveness
how=$how,inplace,streams,share,plan-verify
run 0 "$gc" wide.g -O2 -o whole
run 0 "$gc" wide.g "$how" --memory-limit=2700K --remarks=remat -o parts
[ "$(grep -c 'is computed in 3 chunks of 1024 rows: 2,359,296 bytes are never whole' out.txt)" = 3 ] ||
  fail "not three products in chunks: $(cat out.txt)"
for entry in labels ones written; do
  for version in whole parts; do
    run 0 ./$version $entry --id id.npy --next next.npy --epochs 2 --save $version.safetensors --log $version.csv --poison
    run 0 ./$version test --id id.npy --next next.npy --load $version.safetensors --loss loss.$version.npy --best best.$version.npy
    sed "s/,[^,]*$//" $version.csv >numbers.$version
  done
  same whole.safetensors parts.safetensors "$entry: weights"
  same numbers.whole numbers.parts "$entry: what a step returns"
  same loss.whole.npy loss.parts.npy "$entry: the loss"
  same best.whole.npy best.parts.npy "$entry: the answers"
done
run 0 "$gc" wide.g "$how" --memory-limit=2610K --remarks=remat --emit=plan -o plan.json
grep -q 'wide.g:33:7: remark: .* (2,359,296) is whole: sum at wide.g:34:33 reads all of it \[remat-missed\]' out.txt && fail "spread fits: $(cat out.txt)"
run 1 "$gc" wide.g "$how" --memory-limit=2200K --remarks=remat --emit=plan -o plan.json
grep -q 'wide.g:33:7: remark: .* (2,359,296) is whole: sum at wide.g:34:33 reads all of it \[remat-missed\]' out.txt ||
  fail "what reads the product of spread is not said: $(cat out.txt)"
finish
