# RUN: %gc --emit=ir -O0 --passes= %s -o - | FileCheck-14 %s
# RUN: %gc --emit=ir -O0 --passes= %s -o %t.ir && %gc -x ir --emit=ir -O0 --passes= %t.ir -o - | FileCheck-14 %s
# All but some elements of a bounded axis, and some more, are parts of it; whole again, they are the axis.
entry f(x : f32[n <= 8, 4]) {
  a = x[1:] - x[:n - 1]
  # CHECK: slice %x {starts = [1, 0], steps = [1, 1]} : f32[(n<=8)[1:8],4]
  # CHECK: slice %x {starts = [0, 0], steps = [1, 1]} : f32[(n<=8)[1:8],4]
  b = pad(x, [1, 0], [2, 0])
  # CHECK: pad %x {lo = [1, 0], hi = [2, 0], interior = [0, 0]} : f32[(n<=8)[-3:8],4]
  c = reshape(x, [2 * n, 2])[2:]
  # CHECK: : f32[2*(n<=8)[1:8],2]
  return w = pad(a, [0, 0], [1, 0]), v = b[2:-1], y = sum(reshape(c, [n - 1, 4])), z = zeros([n + 2, 1])[:-2]
  # CHECK: pad {{.*}} : f32[n<=8,4]
  # CHECK: slice %{{[^ ]+}} {starts = [2, 0], steps = [1, 1]} : f32[n<=8,4]
}
