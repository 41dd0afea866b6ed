#!/bin/sh
# einsum of several tensors against what it stands for, written out; and its gradient.
. "$(dirname "$0")/common.sh"
cat >e.g <<'END'
def differ(a, b) { return max(abs(a - b)) }
entry run(x : f32[4, 9], y : f32[9, 6], z : f32[6, 11], w : f32[11, 3], b : f32[4, 5, 6], v : f32[6]) {
  chain = einsum("ab,bc,cd,de->ea", x, y, z, w)
  plain = (x @ y @ z @ w)'
  many = einsum("ab,axc,bc,cq,q,de,d->xa", x, b, y, z, z[0], w, z[1])
  inner = reshape(x @ y, [4, 1, 6]) * b * (z @ z[0]) * sum(z[1] @ w)
  apart = einsum("c,a,cd,ab,ax->xcb", v, x[:, 0], z, x, x)
  written = sum(reshape(x[:, 0], [4, 1, 1]) * reshape(x, [4, 9, 1]) * reshape(x, [4, 1, 9]), axis = 0)
  written = transpose(reshape(written, [9, 9, 1]) * (v * sum(z, axis = 1)), [0, 2, 1])
  long = einsum("a,a,a,a,a,a,a,a,a,a,a,ab->b", v, v, v, v, v, v, v, v, v, v, v, z)
  return chain = differ(chain, plain), many = differ(many, sum(inner, axis = 2)'),
         apart = differ(apart, written), long = differ(long, (v ** 11) @ z),
         lone = differ(einsum("zb, bc", x, y), (x @ y)'),
         slope = differ(grad(sum(many ** 2), y), grad(sum(inner * sum(inner, axis = 2, keep = true)), y))
}
END
for in in x:4,9 y:9,6 z:6,11 w:11,3 b:4,5,6 v:6; do
  "$mkdata" npy f32 "${in#*:}" 5 "${in%%:*}.npy" || fail 'no data could be made'
done
run 0 "$gc" e.g -O2 -o e
run 0 ./e run --x x.npy --y y.npy --z z.npy --w w.npy --b b.npy --v v.npy --quiet
for name in chain many apart long lone slope; do
  at_most "$(sed -n "s/^$name = //p" out.txt)" 1e-4 "the difference of $name"
done
cat out.txt
finish
