#!/bin/sh
# Random nets along bounded axes: for each extent the bits of the program that is compiled for it, forward, gradients and
# optimizers, with dead bytes poisoned. The pass guard, which the sizes at the bound decide, is left out of -O2.
. "$(dirname "$0")/common.sh"
unoptimised 20
bare=$("$gc" --list-passes | sed -n 's/^-O2  guard,/--passes=/p')
hows='--poison --threads 1'
# The first one adds gradients of several kinds of readers of rows that two bounded axes make, also where one has one row.
drawn=$((${GC_TEST_SEED:-3} % 1000000))
seeds="three $drawn"
[ "${GC_TEST_LEVEL-}" = full ] && seeds="three $(seq 1 200)"
for seed in $seeds; do
  if [ "$seed" = three ]; then
    cat >net.g <<'END'
entry train(x : f32[n <= 6, t <= 9, 8], ids : u8[n, t]) {
  y = reshape(linear(reshape(x, [n * t, 8]), 5) as first, [n, t, 5])
  h = zeros([n, 5])
  hs = scan i in 0..t {
    h = h * 0.5 + y[:, i - 1] + 0.3 * tanh(y[:, i]) * y[:, t - 1 - i]
    yield h
  }
  loss = mean((linear(transpose(hs, [1, 0, 2]), 3) as out) ** 2) + mean(y * y) * 0.01 + mean(xent(linear(y, 9) as cls, ids))
  minimize loss with sgd(0.01)
  return loss
}
entry infer(x : f32[n <= 6, t <= 9, 8], ids : u8[n, t]) {
  y = linear(x, 5) as first
  return y, s = sum(y)
}
END
  else
    run 0 python3 "$here/tests/e2e/random_extents.py" "$seed"
    cp out.txt net.g
  fi
  before=$failures width=$(sed -n 's/^entry train(x : f32\[.*, \([0-9]*\)\], ids.*/\1/p' net.g)
  grep -q 't <= ' net.g && extents='3,9 1,5' || extents='17 2'
  [ "${GC_TEST_LEVEL-}" = full ] || extents=$(echo "$extents" | cut -d' ' -f$((drawn % 2 + 1)))
  [ "$seed" = three ] && extents='3,9 1,9'
  level=$bare
  run 0 "$gc" net.g $level -o net
  for at in $extents; do
    case $at in *,*) exact net "n=${at%,*} t=${at#*,}" ;; *) exact net "n=$at" ;; esac
    "$mkdata" npy f32 "$at,$width" 1 x.npy && "$mkdata" npy u8 "$at" 2 ids.npy || fail 'no data could be made'
    rm -f exact.* bounded.*
    compare net train '--x x.npy --ids ids.npy --no-shuffle --epochs 2 --save OUT.safetensors' safetensors
    compare net infer "--x x.npy --ids ids.npy$(outputs y s)" y.npy s.npy
  done
  [ $failures = $before ] || { echo "the net of seed $seed:" && cat net.g; }
done
finish
