# RUN: %gc %s --emit=ir --passes= | FileCheck-14 %s
# An argument may say what it takes: a word of kinds.def, ...rest, none where that is the default.
def net(x : floats, units : count, act = none, bias : flag = true, ...more : tensor) {
  y = linear(x, units, bias)
  if act != none { y = act(y) }
  for i in 0..len(more) { y = y + more[i] }
  return y
}
def masked(x : [..., d], mask : bool[d] = none) {
  if mask == none { return x }
  return where(mask, x, 0)
}
def first(axes : ints, of : shape) { return axes[0] + of[0] }
def half(x : floats) { return x }
entry f(x : f32[4, 3], m : bool[3]) {
  return h = half(0.5), a = net(x, 2, none, true, ones([4, 2]), 3), b = net(x, 5, relu) as other,
         c = masked(masked(x), m), d = iota(8)[first(3, [4, 2])]
}
# CHECK:     entry f(
# CHECK:     [[HALF:%[0-9]+]] = const {value = 0.5} : f32[]
# CHECK:     [[ONE:%[0-9]+]] = const {value = 1} : f32[4,2]
# CHECK-NOT: relu
# CHECK:     %y.2 = add %y.1, [[ONE]]
# CHECK:     [[THREE:%[0-9]+]] = const {value = 3} : f32[4,2]
# CHECK:     add %y.2, [[THREE]]
# CHECK:     relu
# CHECK-NOT: where
# CHECK:     %c = where {{%[0-9]+}}, %x
# CHECK:     slice {{.*}}{starts = [7]
# CHECK:     return [[HALF]]
