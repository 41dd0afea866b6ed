#!/bin/sh
# Four parts of a batch with accumulate = 4 are one step on the whole, and no step before the fourth.
. "$(dirname "$0")/common.sh"
unoptimised
cat >parts.g <<'END'
def net(x) { return linear(x, 3) as out }
entry all(x : f32[8, 4], t : u8[8]) {
  loss = mean(xent(net(x), t))
  minimize loss with adamw(0.05, clip = 0.5)
  return loss
}
entry parts(x : f32[2, 4], t : u8[2]) {
  loss = mean(xent(net(x), t))
  minimize loss with adamw(0.05, clip = 0.5, accumulate = 4)
  return loss
}
entry test(x : f32[8, 4], t : u8[8]) { return loss = mean(xent(net(x), t)) }
END
run 0 "$gc" parts.g -o parts
python3 - <<'END' || fail 'no data could be made'
import random, struct
random.seed(1)
open("x.bin", "wb").write(struct.pack("<96f", *(random.gauss(0, 1) for _ in range(96))))
open("t.bin", "wb").write(bytes(random.randrange(3) for _ in range(24)))
END
loss() {
  run 0 ./parts test --x 'x.bin[0:8]' --t 't.bin[0:8]' --load "$1"
  awk '/^loss/ {print $3}' out.txt
}
run 0 ./parts all --x x.bin --t t.bin --no-shuffle --steps 3 --save all.safetensors --quiet
run 0 ./parts parts --x x.bin --t t.bin --no-shuffle --steps 12 --save parts.safetensors --quiet
run 0 ./parts parts --x x.bin --t t.bin --no-shuffle --steps 11 --save fewer.safetensors --quiet
run 0 ./parts all --x x.bin --t t.bin --no-shuffle --steps 2 --save two.safetensors --quiet
whole=$(loss all.safetensors) four=$(loss parts.safetensors) fewer=$(loss fewer.safetensors) two=$(loss two.safetensors)
[ -n "$whole" ] && [ "$whole" = "$four" ] || fail "12 parts give $four, 3 steps $whole"
[ -n "$two" ] && [ "$two" = "$fewer" ] || fail "11 parts give $fewer, 2 steps $two"
[ "$whole" != "$two" ] || fail 'steps change nothing'

# a loop, a batch norm and a state in the net: its gradients are averaged; what is no param is new after each run
cat >looped.g <<'END'
let K = 4
hyper rate = 0.1
def cell(x, h) { return tanh(linear(x, 5) as below + linear(h, 5) as before) }
def net(x) {
  state seen : f32[] = zeros()
  state last : f32[5] = zeros()
  seen := seen + 1
  h = zeros([dim(x, 0), 5])
  scan i in 0..4 {
    h = cell(reshape(x[:, i], [dim(x, 0), 1]), h) as cell
    last := 0.5 * last + mean(h, axis = 0)
  }
  return linear(h, 3) as head
}
entry all(x : f32[8, 4], t : u8[8]) {
  loss = mean(xent(net(x), t))
  minimize loss with adamw(0.05)
  return loss
}
entry parts(x : f32[2, 4], t : u8[2]) {
  loss = mean(xent(net(x), t))
  minimize loss with adamw(0.05, accumulate = K)
  return loss
}
def normed(x) { return x |> linear(6) as first |> bn() as bn |> relu |> linear(3) as head }
entry moving(x : f32[2, 4], t : u8[2]) {
  loss = mean(xent(normed(x), t))
  minimize loss with sgd(rate, accumulate = K)
  return loss
}
entry test(x : f32[8, 4], t : u8[8]) { return loss = mean(xent(net(x), t)) }
entry counts() {
  return seen = seen_of() as net
}
def seen_of() {
  state seen : f32[] = zeros()
  state last : f32[5] = zeros()
  return seen
}
END
run 0 "$gc" looped.g -o parts
rm all.safetensors parts.safetensors # of another model
run 0 ./parts all --x x.bin --t t.bin --no-shuffle --steps 3 --save all.safetensors --quiet
run 0 ./parts parts --x x.bin --t t.bin --no-shuffle --steps 12 --save parts.safetensors --quiet
whole=$(loss all.safetensors) four=$(loss parts.safetensors)
at_most "$(awk -v a="$whole" -v b="$four" 'BEGIN { print (a > b ? a - b : b - a) }')" 2e-5 '12 parts against 3 steps, with a loop'
run 0 ./parts counts --load parts.safetensors
holds out.txt 'seen = 12'
# the moments of a batch norm are those of every run, and no param moves before the last of the window
run 0 "$gc" -D K=1 looped.g -o each
run 0 ./each moving --rate 0 --x x.bin --t t.bin --no-shuffle --steps 3 --save still.safetensors --quiet
run 0 ./parts moving --x x.bin --t t.bin --no-shuffle --steps 3 --save moving.safetensors --quiet
same still.safetensors moving.safetensors 'three runs of four'
run 0 ./parts moving --x x.bin --t t.bin --no-shuffle --steps 4 --save moving.safetensors --quiet
cmp -s still.safetensors moving.safetensors && fail 'the fourth run moves nothing'

# a run that is broken off inside of the window goes on from its checkpoint as if it had not been
for entry in parts moving; do
  run 0 ./parts $entry --x x.bin --t t.bin --steps 18 --checkpoint whole.ckpt:18 --save whole.safetensors --quiet
  run 0 ./parts $entry --x x.bin --t t.bin --steps 6 --checkpoint part.ckpt:6 --quiet
  run 0 ./parts $entry --x x.bin --t t.bin --steps 18 --resume part.ckpt --checkpoint rest.ckpt:18 --save rest.safetensors --quiet
  same whole.safetensors rest.safetensors "$entry in two runs"
  same whole.ckpt rest.ckpt "the checkpoints of $entry in two runs"
done
finish
