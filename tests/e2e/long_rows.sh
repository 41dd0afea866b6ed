#!/bin/sh
# Passes over few long rows, whose chunks threads share: the bits of many rows, of which a unit does each, on any number
# of threads and of a bounded length.
. "$(dirname "$0")/common.sh"
cat >few.g <<'END'
let N = 140001
entry soft(x : f32[17, N]) { return y = softmax(x[:3]), l = logsumexp(x[:3], axis = 1) }
entry norm(x : f32[17, N]) { return y = layer_norm(x[:3] * 2), l = max(x[:3], axis = 1) }
entry place(x : f32[17, N]) { return y = argmax(x[:3] % 1), l = argmin(x[:3] % 1) }
entry loss(x : f32[17, N], t : i32[17]) { return y = xent(x[:3], t[:3]), l = f32(argmax(x[:3])) }
END
sed 's/\[:3\]//g; s/return y = \(.*\), l = \(.*\) }$/return y = (\1)[:3], l = (\2)[:3] }/' few.g >many.g
sed '/^let/d; s/N\]/n <= 200000]/' few.g >bounded.g
run 0 "$gc" bounded.g -O2 -o bounded
for n in 16385 140001; do
  run 0 "$gc" few.g -D N=$n -O2 -o few
  run 0 "$gc" many.g -D N=$n -O2 -o many
  rm -f ./*.npy
  "$mkdata" npy f32 17,$n 1 x.npy && "$mkdata" npy i32 17 2 t.npy || fail 'no data could be made'
  for entry in soft norm place loss; do
    inputs='--x x.npy'
    [ $entry = loss ] && inputs='--x x.npy --t t.npy'
    rm -f y*.npy l*.npy
    run 0 ./many $entry $inputs --y y0.npy --l l0.npy --threads 2
    for threads in 1 3; do
      for program in few bounded; do
        rm -f y.npy l.npy
        run 0 ./$program $entry $inputs --y y.npy --l l.npy --threads $threads
        same y0.npy y.npy "$entry of $n, $program, $threads threads"
        same l0.npy l.npy "$entry of $n, $program, $threads threads, the second output"
      done
    done
  done
done
finish
