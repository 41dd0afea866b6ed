#!/bin/sh
# A loop's states before and after each iteration, kept in one tensor with a row more, and all rows of inputs, stacks
# and other values but the first or the last, read where they lie: given back, stored, and gone backwards through. The
# same bits at every level, strategy, limit and number of streams, and what the loop written out gives.
. "$(dirname "$0")/common.sh"
unoptimised
cat >scan.g <<'END_OF_G'
let T = 9
entry run(x : f32[T, 8, 16], h0 : f32[8, 16], w : f32[16, 16]) {
  state kept : f32[T - 1, 8, 16] = zeros()
  h = h0
  hs = LOOP i in 0..T {
    h = tanh(h @ w + x[i])
    yield h
  }
  later = x[1:]
  y = tanh(x)
  kept := kept + hs[1:]
  dw, dx = grad(sum(hs * hs) + sum((later - x[:-1]) ** 2), [w, x])
  return later, before = hs[:-1], after = hs[1:], kept, y = y[:-1], dw, dx = dx[1:]
}
END_OF_G
sed 's/LOOP/for/' scan.g >for.g
sed -i 's/LOOP/scan/' scan.g
"$mkdata" npy f32 9,8,16 1 x.npy && "$mkdata" npy f32 8,16 2 h0.npy && "$mkdata" npy f32 16,16 3 w.npy ||
  fail 'no data could be made'
names='later before after kept y dw dx'
give() { # PROGRAM FOLDER
  mkdir -p "$2"
  set -- "$1" "$2" run --x x.npy --h0 h0.npy --w w.npy --quiet
  for name in $names; do set -- "$@" "--$name" "$2/$name.npy"; done
  program=$1
  shift 2
  run 0 "./$program" "$@"
}
run 0 "$gc" for.g -O0 -o for
give for for.out
run 0 "$gc" scan.g --emit=ir -o scan.ir
grep -q 'f32\[10,8,16\]' scan.ir || fail 'there is no history in scan.g'
for options in -O0 -O1 -O2 -O3 --memory=none --memory=pool --memory=color --streams=3 --memory-limit=20K; do
  run 0 "$gc" scan.g "$options" -o scan
  give scan "out$options"
  for name in $names; do
    same "out-O0/$name.npy" "out$options/$name.npy" "$name with $options and with -O0"
    case $name in
    d*) run 0 ./scan run --x x.npy --h0 h0.npy --w w.npy --quiet --expect "$name=for.out/$name.npy" --rtol 1e-5 --atol 1e-5 ;;
    *) same "for.out/$name.npy" "out$options/$name.npy" "$name with $options and of the loop written out" ;;
    esac
  done
done
finish
