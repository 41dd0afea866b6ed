# RUN: %gc --emit=plan --verify-each %s -o - | FileCheck-14 %s
# Two groups may join only where no third one, of ops before and after them, stands in between.
# CHECK: "name": "f"
entry f(s0 : f32[4, 4], s1 : f32[4, 4], i0 : i32[4], i1 : i32[4]) {
  x1 = huber(s0, gather(s0, 4))
  return stack([xent(s0, (u8(i1))) - x1, xent(s1, i0)]), c = (x1 * (mean(xent(s0, i1))))
}
