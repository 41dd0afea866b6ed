# RUN: %gc -O2 --emit=c %s -o - | FileCheck-14 %s
# The saved exponentials of a row are read at the needed index: the label's, or the only one.
entry at_label(x : f32[4, 7], t : u8[4]) { return p = softmax(x), y = xent(softmax(x), t) }
# CHECK: void k0_softmax_xent
# CHECK: const float [[X:v[0-9]+]] = in0[u * 7 + [[LABEL:label[0-9]+]]];
# CHECK-NEXT: = divide(f32_exp_down([[X]] - r0), r1);
entry single(x : f32[4, 1], t : u8[4]) { return p = softmax(x), y = xent(softmax(x), t) }
# CHECK: void k1_softmax_xent
# CHECK: = divide(r1_k[0], r1);
