# RUN: %gc -O2 --emit=c %s -o - | FileCheck-14 %s
# Two labels of one row name two elements: the second is not taken for the first.
entry f(x : f32[4, 7], a : u8[4], b : u8[4]) {
  return y = xent(x, a) + xent(x, b)
}
# CHECK: long [[A:label[0-9]+]] =
# CHECK: in0[u * 7 + [[A]]]
# CHECK: long [[B:label[0-9]+]] =
# CHECK: in0[u * 7 + [[B]]]
