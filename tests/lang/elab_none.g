# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# none stands for an optional argument that is not given, in calls and in tests of what was given.
def f(x, mask = none) {
  if mask == none { return x + 1 }
  return x * mask
}
entry a(x : f32[4, 8], k : f32[2, 8, 4, 8], m : bool[4, 4]) {
  y = f(x)
  z = f(x, mask = none)
  w = f(x, x)
  q = attention(k, k, k, mask = none)
  r = attention(k, k, k, mask = m if m != none else none)
  return y, z, w, q, r, s = sum(x, axis = none)
}
# CHECK: %y = add %x
# CHECK: %z = add %x
# CHECK: %w = mul %x, %x
# CHECK: %q, %{{.*}} = attention %k, %k, %k {
# CHECK: %r, %{{.*}} = attention %k, %k, %k, %m {
# CHECK: %s = sum %x {axes = [0, 1]}
