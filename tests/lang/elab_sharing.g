# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# An explicit name reached again is the same tensor, as in a recurrent cell.
def cell(x, h) {
  return tanh(linear(x, 3, bias = false) + linear(h, 3) as h)
}
entry run(x : f32[2, 4, 3]) {
  h = zeros([2, 3])
  for t in 0..4 { h = cell(x[:, t], h) as cell }
  return h
}

# CHECK:      param @cell.linear.w : f32[3,3]
# CHECK-NEXT: param @cell.h.w : f32[3,3]
# CHECK-NEXT: param @cell.h.b : f32[3]

# CHECK:      entry run(%x : f32[2,4,3])
# CHECK:        %cell.linear.w = load @cell.linear.w : f32[3,3] "cell.linear"
# CHECK:        %cell.h.w = load @cell.h.w : f32[3,3] "cell.h"
# CHECK:        %cell.h.b = load @cell.h.b : f32[3] "cell.h"
