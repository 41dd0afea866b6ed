#!/bin/sh
# Four parts of a batch with accumulate = 4 are one step on the whole, and no step before the fourth.
. "$(dirname "$0")/common.sh"
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
finish
