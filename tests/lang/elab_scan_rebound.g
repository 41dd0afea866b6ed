# A name of a state or a param that a loop binds to another value stands for the state's or param's in the first iteration, as in a loop that is
# unrolled.
# RUN: %gc %s --emit=ir --passes=fold,cse,dce > %t.ir 2> %t.err
# RUN: FileCheck-14 %s < %t.ir
# RUN: FileCheck-14 --check-prefix=WARNING %s < %t.err
entry f(x : f32[2]) {
  state s : f32[2] = zeros()
  param w : f32[2] = ones()
  scan i in 0..3 {
    s = s + x
    w = w * s
  }
  return s, w
}
# WARNING: warning: 's' is a state, and '=' binds the name to another value
# WARNING-NOT: warning
# CHECK: %s = load @s
# CHECK: %w = load @w
# CHECK: scan %s, %w {trips = 3, carries = 2}
# CHECK-SAME: %s.2 : f32[2], %w.2 : f32[2]
# CHECK: %s.3 = add %x, %s.2
# CHECK: %w.3 = mul %w.2, %s.3
# CHECK: yield %s.3, %w.3
# CHECK-NOT: store
