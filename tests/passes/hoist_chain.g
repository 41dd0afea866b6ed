# A chain of values that do not change from iteration to iteration, each read twice: what can stand before the loop is
# found once a value, not once a path.
# RUN: %gc --emit=ir -O0 --passes=fold,cse,dce,hoist,dce %s | FileCheck-14 %s
def f(x) {
  a = x
  for k in 0..200 { a = concat([a, reverse(a, axis = 0)], axis = 0)[2:6] }
  return a
}
entry go(x : f32[4], s : f32[8, 4]) {
  h = zeros([4])
  scan i in 0..8 { h = h + f(x) * s[i] }
  return h
}
# CHECK-LABEL: entry go
# CHECK: scan
# CHECK-COUNT-200: concat
