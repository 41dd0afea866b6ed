#!/bin/sh
# Convolutions of f16 and bf16 and both gradients: by the kernels of f32 or of pairs, with the bits of plain loops over
# halves. Strides, dilation, groups, channels by themselves, sides that a run decides, several instruction sets, one thread
# and two.
. "$(dirname "$0")/common.sh"
unoptimised
for dtype in f16 bf16; do
  cat <<END
entry of_$dtype(x : f32[n <= 3, 6, 2 * h <= 10, 2 * w <= 14], a : f32[7, 6, 3, 2], b : f32[6, 3, 3, 3], c : f32[12, 1, 3, 3],
    e : f32[9, 6, 1, 1]) {
  x, a, b, c, e = $dtype(x), $dtype(a), $dtype(b), $dtype(c), $dtype(e)
  y = conv2d(x, a, stride = 2, pad = [1, 0])
  z = relu(conv2d(x, b, pad = 2, dilation = 2, groups = 2))
  d = conv2d(x, c, pad = 1, groups = 6)
  q = conv2d(x, e) + 0.5
  loss = sum(f32(y) ** 2) + sum(f32(z) ** 2) + sum(f32(d) ** 2) + sum(f32(q) ** 2)
  return y = f32(y), z = f32(z), d = f32(d), q = f32(q), gx = f32(grad(loss, x)), ga = f32(grad(loss, a)),
         gb = f32(grad(loss, b)), gc = f32(grad(loss, c)), ge = f32(grad(loss, e))
}
END
done >net.g
sed 's/n <= 3/2/; s/2 \* h <= 10/6/; s/2 \* w <= 14/14/' net.g >exact.g
for x in a,7,6,3,2 b,6,3,3,3 c,12,1,3,3 e,9,6,1,1; do
  "$mkdata" npy f32 "${x#*,}" 3 "${x%%,*}.npy" || fail 'no data could be made'
done
outputs='y z d q gx ga gb gc ge'

# values NET ENTRY X OPTION...: the outputs of a run, as NET_OUTPUT.npy
values() {
  net=$1 entry=$2 x=$3
  shift 3
  given=
  for output in $outputs; do given="$given --$output ${net}_$output.npy"; done
  run 0 ./$net $entry --x $x --a a.npy --b b.npy --c c.npy --e e.npy $given --poison "$@"
}

plain=$("$gc" --list-passes | sed -n 's/^-O2  guard,//p' | sed 's/,widen,/,/; s/,layout//')
run 0 "$gc" net.g --passes="$plain" -o plain --print-schedules
count=$(grep -cE '^cpu k[0-9]+_[a-z0-9_]*conv[_a-z]* conv[_a-z]* elements ' out.txt)
at_least "$count" 12 'plain loops over halves'
for march in x86-64-v2 x86-64-v3 native; do
  [ "$(uname -m)" = x86_64 ] || [ $march = native ] || continue
  run 0 "$gc" net.g -O2 -march=$march --print-schedules -o fast_$march
  grep -E '^cpu k[0-9]+_[a-z0-9_]*conv[_a-z]* conv[_a-z]* elements ' out.txt &&
    fail "a convolution is computed element by element at $march"
  count=$(grep -cE '^cpu k[0-9]+_.* conv[_a-z]* (conv|filter|depthwise|amx_conv) ' out.txt)
  at_least "$count" 12 "convolutions by their own kernels at $march"
done
run 0 "$gc" exact.g -O2 -o exact
for shape in 3,6,10,14 2,6,6,14 1,6,4,2; do
  "$mkdata" npy f32 $shape 1 x.npy || fail 'no data could be made'
  for entry in of_f16 of_bf16; do
    values plain $entry x.npy --threads 1
    for net in fast_x86-64-v2 fast_x86-64-v3 fast_native exact; do
      [ -x $net ] || continue
      [ $net != exact ] || [ $shape = 2,6,6,14 ] || continue
      for threads in 1 2; do
        values $net $entry x.npy --threads $threads
        for output in $outputs; do
          same plain_$output.npy ${net}_$output.npy "$output of $entry, $shape, $threads threads"
        done
      done
    done
  done
done
finish
