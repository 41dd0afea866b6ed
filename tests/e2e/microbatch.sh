#!/bin/sh
# A batch done in parts: every weight and result is the same to the last bit, whatever the number of parts, on one thread
# and two. Images whose chunks end with a part and such whose do not, strides, groups, a filter for each channel, a
# transposed convolution, concatenation, pools, a state that moves; then rows of tokens: a table, norms,
# attention, dense layers whose parts are one or two chains of a product. The same of bounded batches.
. "$(dirname "$0")/common.sh"
unoptimised
cat >images.g <<'END'
let N = 12
hyper lr = 0.05
def running(m) {
  state seen : f32[6] = zeros()
  seen = 0.9 * seen + 0.1 * m
  return seen
}
def net(x) {
  a = relu(conv(random_crop(x, 2), 20, 3) as a) # 24 x 32 pixels: a chunk is an image; below, of 12 x 16, it is four
  b = tanh(conv(a, 24, 3, 2, groups = 4) as b)
  c = relu(conv(b, 24, 3, groups = 24) as c) * 2
  d = concat([b, max_pool(c, 3, 1, pad = 1)], axis = 1)
  e = conv_transpose(d, 18, 2, 2, bias = false) as e
  f = avg_pool(relu(concat([e, a], axis = 1)), 2)
  g = conv(f, 6, 1, bias = false) as g
  return linear(flatten(max_pool(g, 4)), 10) as head, g
}
entry train(x : f32[N, 3, 24, 32], t : u8[N]) {
  y, g = net(x)
  loss = mean(xent(y, t % 10)) + 0.01 * mean(g * g)
  s = running(mean(g, axis = [0, 2, 3])) as moved
  minimize loss with sgd(lr)
  return loss, s
}
entry test(x : f32[N, 3, 24, 32]) {
  y, g = net(x)
  return y, best = argmax(y), m = mean(g, axis = [2, 3])
}
END
cat >tokens.g <<'END'
let N = 4
let T = 1024
hyper lr = 0.01
def net(ids) {
  x = embed(ids, 50, 12) as table
  x = x + mha(layernorm(x) as before, 2, causal = true) as attention
  return linear(gelu(linear(rmsnorm(x) as behind, 24) as up), 50) as down
}
entry train(ids : u8[N, T], next : u8[N, T]) {
  loss = mean(xent(net(ids % 50), next % 50))
  minimize loss with adamw(lr, clip = 1)
  return loss
}
entry test(ids : u8[N, T]) { return y = softmax(net(ids % 50)) }
END
before=fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce
behind=cheap-remat,fuse,layout,order,liveness,inplace,share,plan-verify
"$mkdata" npy f32 24,3,24,32 7 x.npy && "$mkdata" npy u8 24 8 t.npy || fail 'no data could be made'
"$mkdata" npy u8 8,1024 9 ids.npy && "$mkdata" npy u8 8,1024 10 next.npy || fail 'no data could be made'

# NET TRAIN TEST PARTS...: in parts as if whole
check() {
  net=$1 train=$2 test=$3
  shift 3
  rm -f ./*.safetensors y.*.npy # what another model has written is not replaced
  run 0 "$gc" "$net.g" --passes="$before,$behind" -o whole
  for version in whole "$@"; do
    threads=1
    if [ "$version" != whole ]; then
      run 0 "$gc" "$net.g" --passes="$before,microbatch{parts=$version},$behind" --remarks=remat -o "$version"
      grep -q "is done in $version parts of" out.txt || fail "$net is not done in $version parts"
      [ "$version" = 3 ] && threads=2
    fi
    # shellcheck disable=SC2086
    run 0 "./$version" train $train --seed 3 --threads $threads --save "$version.safetensors" --poison
    # shellcheck disable=SC2086
    run 0 "./$version" test $test --load "$version.safetensors" --y "y.$version.npy"
    same whole.safetensors "$version.safetensors" "weights of $net in $version parts"
    same y.whole.npy "y.$version.npy" "what $net gives in $version parts"
  done
}
check images "--x x.npy --t t.npy" "--x x.npy" 3 12
# statistics are those of the whole batch, in one line a step
for version in whole 3; do
  run 0 "./$version" train --x x.npy --t t.npy --steps 2 --quiet --watch a --watch d:2 --watch net.head --watch loss
  sed -n 's/^\(watch [^ ]*  step [0-9]*\) .*  min /\1 min /p' out.txt >"watched.$version"
done
exactly "$(wc -l <watched.whole)" 7 'lines of values that are looked at'
same watched.whole watched.3 'statistics of a batch in parts'
run 0 ./3 train --x x.npy --t t.npy --steps 1 --quiet --watch a
holds out.txt 'watch a  step 1  conv+add+relu f32[4, 20, 24, 32] x 3  min 0 '
check tokens "--ids ids.npy --next next.npy" "--ids ids.npy" 2 4

# bounded NET PARTS ROWS "OPTIONS": a bounded batch in parts, of which one is shorter and others have no row, has the
# bits of the program for so many rows
bounded() {
  net=$1 parts=$2 rows=$3 options=$4 most=$(sed -n 's/^let N = //p' "$net.g")
  sed '/^entry test/,$d' "$net.g" >"$net-train.g"
  sed "/^entry/{
    s/\[N/[n <= $most/
    s/\[N/[n/
  }" "$net-train.g" >"$net-bounded.g"
  sed "s/^let N = .*/let N = $rows/" "$net-train.g" >"$net-exact.g"
  run 0 "$gc" "$net-exact.g" --passes="$before,$behind" -o exact
  run 0 "$gc" "$net-bounded.g" --passes="$before,microbatch{parts=$parts},$behind" --remarks=remat -o bounded
  grep -q "is done in $parts parts of" out.txt || fail "$net of a bounded batch is not done in $parts parts"
  # shellcheck disable=SC2086
  run 0 ./exact train $options --epochs 2 --seed 3 --threads 1 --save exact.safetensors
  # shellcheck disable=SC2086
  run 0 ./bounded train $options --epochs 2 --seed 3 --threads 2 --save bounded.safetensors --poison --check-finite
  same exact.safetensors bounded.safetensors "$rows rows of $net in $parts parts of a bounded batch"
  rm -f exact.safetensors bounded.safetensors
}
"$mkdata" npy f32 5,3,24,32 7 five.npy && "$mkdata" npy u8 5 8 of_five.npy && "$mkdata" npy u8 1,1024 9 one.npy &&
  "$mkdata" npy u8 1,1024 10 of_one.npy || fail 'no data could be made'
bounded images 3 5 "--x five.npy --t of_five.npy"
bounded tokens 2 1 "--ids one.npy --next of_one.npy"
run 0 "$gc" images.g --passes="$before,microbatch{parts=3}" --emit=ir -o images.ir
grep -q '12,[0-9]*,24,32\] backward' images.ir && fail 'gradients of large images are whole'
grep -q 'conv_filter_grad %[^,]*, %[^,]*, %' images.ir || fail 'no sum is continued'
finish
