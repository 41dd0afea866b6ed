#!/bin/sh
# Gradients in the body of a scan against those in a for: by what is carried, by rows, by a param from outside, in
# nested loops, under two names, beside a carry that older values made, through a param that the body updates, and
# gradients of all that. What refuses or takes such bodies is tested by random ones, tests/num/scan_grad.c.
. "$(dirname "$0")/common.sh"
unoptimised
cat >dead.g <<'END'
entry dead(w : f32[8, 8], x : f32[6, 8]) {
  h = zeros([8])
  scan i in 0..6 {
    unused = grad(sum(tanh(x[i] @ w)), w)
    h = tanh(h @ w + x[i])
  }
  return h
}
END
run 0 "$gc" dead.g --emit=ir -o dead.ir
grep -q '= scan ' dead.ir || fail 'the loop is gone'
! grep -q '= copy ' dead.ir || fail 'a gradient that nobody reads leaves a copy in the loop'
cat >s.g <<'END'
def differ(a, b) { return max(abs(a - b)) }
def f(x, w) { return sum(tanh(x @ w) ** 2) }
entry run(x : f32[6, 3], w : f32[3, 3]) {
  u = w
  us = scan i in 0..6 {
    r = reshape(x[i], [1, 3])
    u = u - 0.1 * grad(f(r, u), u)
    yield u
  }
  v = w
  vs = for i in 0..6 {
    v = v - 0.1 * grad(f(x[i : i + 1], v), v)
    yield v
  }
  rows = scan i in 0..6 {
    r = reshape(x[i], [1, 3])
    a, b = grad(f(r, w), [r, w])
    yield a @ b
  }
  unrolled = for i in 0..6 {
    r = x[i : i + 1]
    a, b = grad(f(r, w), [r, w])
    yield a @ b
  }
  s = w
  t = zeros([3, 3])
  scan i in 0..4 {
    scan j in 0..3 {
      t = t + grad(f(x * f32(i - j), w), w)
      s = s - 0.05 * grad(sum(s * s) + f(x, stop_gradient(s) * s), s)
    }
  }
  p = w
  q = zeros([3, 3])
  for i in 0..4 {
    for j in 0..3 {
      q = q + grad(f(x * (i - j), w), w)
      p = p - 0.05 * grad(sum(p * p) + f(x, stop_gradient(p) * p), p)
    }
  }
  return carried = differ(us, vs), rows = differ(rows, unrolled), inner = differ(s, p), sums = differ(t, q),
         through = differ(grad(sum(u * s * t), w), grad(sum(v * p * q), w)),
         size = min(max(abs(t)), max(abs(grad(sum(u * s * t), w))))
}
entry nested(x : f32[6, 3], w : f32[3, 3]) {
  u = w
  y = w * 0.5
  c = w
  s = zeros([3, 3])
  scan i in 0..4 {
    scan j in 1..3 { s = s + grad(sum(c * y) + sum(tanh(y) * x[i][j]), y) }
    scan j in 0..2 { s = s + grad(sum(w * u) * x[i][j], w) }
    c = tanh(y)
    y = y * 0.5
  }
  v = w
  z = w * 0.5
  d = w
  t = zeros([3, 3])
  for i in 0..4 {
    for j in 1..3 { t = t + grad(sum(d * z) + sum(tanh(z) * x[i][j]), z) }
    for j in 0..2 { t = t + grad(sum(w * v) * x[i][j], w) }
    d = tanh(z)
    z = z * 0.5
  }
  return sums = differ(s, t), size = max(abs(t))
}
def learn(r) {
  param w : f32[3, 3] = normal(std = 0.5)
  loss = f(r, w)
  w := w - 0.1 * grad(loss, w)
  return loss
}
def now() {
  param w : f32[3, 3] = normal(std = 0.5)
  return w
}
entry update(x : f32[6, 3]) {
  w = now() as net
  losses = for i in 0..6 {
    loss = f(x[i : i + 1], w)
    w = w - 0.1 * grad(loss, w)
    yield loss
  }
  looped = scan i in 0..6 { yield learn(reshape(x[i], [1, 3])) as net }
  return losses = differ(losses, looped), weights = differ(w, now() as net)
}
END
"$mkdata" npy f32 6,3 3 x.npy && "$mkdata" npy f32 3,3 4 w.npy || fail 'no data could be made'
for level in 0 2; do
  run 0 "$gc" s.g "-O$level" -o s
  run 0 ./s run --x x.npy --w w.npy --quiet
  for name in carried rows inner sums through; do
    at_most "$(sed -n "s/^$name = //p" out.txt)" 1e-4 "-O$level: the difference of $name"
  done
  at_least "$(sed -n "s/^size = //p" out.txt)" 0.01 'gradients that are not all zero'
  run 0 ./s nested --x x.npy --w w.npy --quiet
  at_most "$(sed -n "s/^sums = //p" out.txt)" 1e-4 "-O$level: the difference of sums in nested loops"
  at_least "$(sed -n "s/^size = //p" out.txt)" 0.01 'sums that are not all zero'
  run 0 ./s update --x x.npy --quiet
  for name in losses weights; do
    at_most "$(sed -n "s/^$name = //p" out.txt)" 1e-5 "-O$level: the difference of $name of updates"
  done
done
finish
