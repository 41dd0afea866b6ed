# RUN: %gc %s --emit=ir --passes=autodiff,dce | FileCheck-14 %s
# Gradients of slices that do not overlap are put side by side, whatever the order in which they are
# read; what overlaps is added.

# the gates of a cell: nothing is as large as z but its gradient
entry gates(z : f32[4, 32], c : f32[4, 8]) {
  f, i = sigmoid(z[:, 8:16]), sigmoid(z[:, 0:8])
  h = sigmoid(z[:, 24:]) * tanh(f * c + i * tanh(z[:, 16:24]))
  return dz = grad(sum(h), z)
}
# CHECK-LABEL: entry gates
# CHECK-NOT: = pad
# CHECK-NOT: const {{.*}}f32[4,
# CHECK: %dz = concat %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} {axis = 1} : f32[4,32]

# zeros at both ends are written by one pad, those between are a constant
entry gaps(x : f32[10, 3]) {
  return dx = grad(sum(exp(x[1:3])) + sum(sin(x[6:8])), x)
}
# CHECK-LABEL: entry gaps
# CHECK: [[Z:%[a-z0-9.]+]] = const : f32[3,3]
# CHECK: [[C:%[a-z0-9.]+]] = concat %{{[^,]*}}, [[Z]], %{{[^,]*}} : f32[7,3]
# CHECK: pad [[C]] {{.*}}lo = [1, 0], hi = [2, 0]
# CHECK-NOT: = pad

# the first two overlap, the third lies beside the last one
entry overlap(x : f32[8]) {
  return dx = grad(sum(exp(x[0:3])) + sum(sin(x[2:5])) + sum(tanh(x[5:8])), x)
}
# CHECK-LABEL: entry overlap
# CHECK: [[C:%[a-z0-9.]+]] = concat {{.*}} : f32[6]
# CHECK: [[P:%[a-z0-9.]+]] = pad [[C]]
# CHECK: [[Q:%[a-z0-9.]+]] = pad %
# CHECK: %dx = add [[P]], [[Q]]

# slices along two axes, and with steps, are added
entry crossed(x : f32[4, 4], y : f32[8]) {
  dx = grad(sum(exp(x[0:2])) + sum(sin(x[:, 2:])), x)
  dy = grad(sum(exp(y[::2])) + sum(sin(y[1::2])), y)
  return dx, dy
}
# CHECK-LABEL: entry crossed
# CHECK-NOT: concat
# CHECK: %dx = add
# CHECK: %dy = add
