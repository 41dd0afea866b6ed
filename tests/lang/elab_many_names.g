# RUN: %gc %s --emit=ir -O0 | FileCheck-14 %s
# RUN: not-14 %gc %s -D twice=1 --emit=ir -O0 2>&1 | FileCheck-14 --check-prefix=TWICE %s
# Names, instances, states and random keys by the ten thousand, each found at once; a name that ends with its
# iteration is unknown after it, and may be bound again at another place.
let twice = 0

def count(x) {
  state n : f32[4] = zeros()
  n := n + x
  return n
}

entry f(x : f32[4]) {
  a0, a1, a2, a3, a4, a5, a6, a7 = x, x, x, x, x, x, x, x
  b0, b1, b2, b3, b4, b5, b6, b7 = x, x, x, x, x, x, x, x
  last = x
  for i in 0..10000 {
    once = last * 2.0
    other = once + normal(shape = [4]) as draw[i]
    last = count(other) as c[i]
  }
  for i in 0..2 {
    other = last * 3.0
    last = other
  }
  other = last + b7
  if twice == 1 {
    last = once
    last = count(other) as c[7]
  }
  return y = last + other
}
# CHECK: state @c.0.n : f32[4]
# CHECK: state @c.9999.n : f32[4]
# CHECK: store @c.0.n
# CHECK: store @c.9999.n
# TWICE: error: unknown name 'once'
# TWICE: note: 'once' is bound in a loop and ends with each iteration
