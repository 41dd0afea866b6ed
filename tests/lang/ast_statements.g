# RUN: %gc --emit=ast %s | FileCheck-14 %s
# Every form of statement.

entry e(x : f32[8, 3], n : i32) {
  # CHECK: a, b = split(x, 2)
  a, b = split(x, 2)
  # CHECK-NEXT: a, b = b, a
  a, b = b, a
  # CHECK-NEXT: c = a : f32[..., 3]
  c = a : f32[..., 3]
  # CHECK-NEXT: param w : f32[3, (2 * 4)] = glorot()
  param w : f32[3, 2 * 4] = glorot()
  # CHECK-NEXT: param v : [3] = zeros()
  param v : [3] = zeros()
  # CHECK-NEXT: state s : i64 = 0
  state s : i64 = 0
  # CHECK-NEXT: s := (s + 1)
  s := s + 1
  # CHECK-NEXT: for i in 0 .. 3 {
  # CHECK-NEXT: c = (c + i)
  # CHECK-NEXT: }
  for i in 0..3 { c = c + i }
  # CHECK-NEXT: p, q = scan i in 0 .. dim(x, 1) {
  # CHECK-NEXT: yield i, c
  # CHECK-NEXT: }
  p, q = scan i in 0..dim(x, 1) { yield i, c }
  # CHECK-NEXT: scan i in 0 .. 2 {
  # CHECK-NEXT: }
  scan i in 0..2 { }
  # CHECK-NEXT: scope h[0][1] {
  # CHECK-NEXT: d = linear(x, 3)
  # CHECK-NEXT: }
  scope h[0][1] { d = linear(x, 3) }
  # CHECK-NEXT: minimize mean(d) with adamw(0.001, decay = 0.5)
  minimize mean(d) with adamw(1e-3, decay = .5)
  # CHECK-NEXT: return a, loss = mean(d) : f32, last = c
  return a, loss = mean(d) : f32, last = c
}
