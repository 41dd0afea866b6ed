#!/bin/sh
# The first step of Adam is the rate, whatever the gradient is: what corrects the moments keeps all digits of f32.
. "$(dirname "$0")/common.sh"
cat >adam.g <<'END'
def weights() {
  param w : f32[4] = zeros()
  return w
}
entry train(x : f32[1, 4]) {
  loss = sum(weights() * x[0])
  minimize loss with adam(1e-3)
  return loss
}
entry decayed(x : f32[1, 4]) {
  loss = sum(weights() * x[0])
  minimize loss with adamw(1e-3, decay = 0)
  return loss
}
entry rates() { return ratio = weights() / -1e-3 }
END
run 0 "$gc" adam.g -o adam
python3 - <<'END' || fail 'no data could be made'
import struct
open("x.bin", "wb").write(struct.pack("<4f", 0.25, -3, 1, 100))
open("expected.bin", "wb").write(struct.pack("<4f", 1, -1, 1, 1))
END
for entry in train decayed; do
  run 0 ./adam $entry --x x.bin --save w.safetensors --quiet
  run 0 ./adam rates --load w.safetensors --ratio ratio.npy --quiet
  python3 - <<'END' || fail "the first step of $entry"
import struct, sys
got, wanted = (struct.unpack("<4f", open(f, "rb").read()[-16:]) for f in ("ratio.npy", "expected.bin"))
sys.exit(any(not abs(g - w) <= 3e-7 for g, w in zip(got, wanted)) and f"{got} is not {wanted}")
END
done
finish
