# RUN: %gc %s --emit=ir --passes='autodiff{reassociate=1},dce' | FileCheck-14 %s
# RUN: %gc %s --emit=ir --passes=autodiff,dce | FileCheck-14 %s --check-prefix=KEPT
# The gradient of a weight that a loop reads is one product of stacks behind the backward loop, that
# of a bias one sum. Operands that are not stacked otherwise are stacked with reassociate=1, if that
# takes no more bytes than the accumulator would; else no number of rows or iterations decides.
def net(x : [t, b, d], w, bias) {
  h = zeros([b, d])
  hs = scan i in 0..t {
    h = tanh(x[i] + h @ w + bias)
    yield h
  }
  return sum(hs * hs)
}

# the gradient of what tanh is of is that of x[i]: stacked anyway
entry stacked(x : f32[6, 2, 8], w : f32[8, 8], bias : f32[8]) {
  dx, dw, db = grad(net(x, w, bias), [x, w, bias])
  return dx, dw, db
}
# CHECK-LABEL: entry stacked
# CHECK: %{{.*}}, %dx = scan {{.*}} {trips = 6, carries = 1, reverse = 1}
# CHECK-NOT: ta = 1
# CHECK: yield
# CHECK: [[A:%[a-z0-9.]+]] = reshape %h{{.*}} : f32[12,8]
# CHECK: [[B:%[a-z0-9.]+]] = reshape %dx : f32[12,8]
# CHECK: %dw = matmul [[A]], [[B]] {ta = 1} : f32[8,8]
# CHECK: %db = sum %dx {axes = [0, 1]} : f32[8]
# KEPT-LABEL: entry stacked
# KEPT: scan {{.*}} {trips = 6, carries = 1, reverse = 1}
# KEPT-NOT: ta = 1
# KEPT: yield
# KEPT: %dw = matmul {{.*}} {ta = 1} : f32[8,8]
# KEPT: %db = sum %dx {axes = [0, 1]} : f32[8]

# 6 * 2 * 8 numbers against 8 * 8: it is added up
entry added(x : f32[6, 2, 8], w : f32[8, 8], bias : f32[8]) {
  dw, db = grad(net(x, w, bias), [w, bias])
  return dw, db
}
# CHECK-LABEL: entry added
# CHECK: scan {{.*}} {trips = 6, carries = 3, reverse = 1}
# CHECK: matmul {{.*}} {ta = 1}
# CHECK: yield

# 3 * 2 * 8 against 8 * 8: it is stacked, and then the bias has it for nothing
entry cheap(x : f32[3, 2, 8], w : f32[8, 8], bias : f32[8]) {
  dw, db = grad(net(x, w, bias), [w, bias])
  return dw, db
}
# CHECK-LABEL: entry cheap
# CHECK: scan {{.*}} {trips = 3, carries = 1, reverse = 1}
# CHECK-NOT: ta = 1
# CHECK: yield
# CHECK: %dw = matmul {{.*}} {ta = 1} : f32[8,8]
# CHECK: %db = sum {{.*}} {axes = [0, 1]} : f32[8]
# KEPT-LABEL: entry cheap
# KEPT: scan {{.*}} {trips = 3, carries = 3, reverse = 1}
# KEPT: matmul {{.*}} {ta = 1} : f32[8,8]
# KEPT: yield

# relu(x[i]) is computed again from x: a stack of it would be new, for all iterations of both loops
entry again(x : f32[5, 3, 2, 8], w : f32[8, 8]) {
  h = zeros([2, 8])
  scan i in 0..5 {
    xi = x[i]
    scan j in 0..3 { h = tanh(h + relu(xi[j]) @ w) }
  }
  return dw = grad(sum(h * h), w)
}
# CHECK-LABEL: entry again
# CHECK: scan {{.*}} {trips = 5, carries = 2, reverse = 1}
# CHECK: scan {{.*}} {trips = 3, carries = 2, reverse = 1}
# CHECK: matmul {{.*}} {ta = 1} : f32[8,8]
# CHECK: yield

# both products want one and the same stack: 4 * 2 * 8 against 8 * 8, not twice that
entry shared(x : f32[4, 2, 8], w : f32[8, 8]) {
  h = zeros([2, 8])
  scan i in 0..4 { h = tanh(h @ w + x[i] @ w) }
  return dw = grad(sum(h * h), w)
}
# CHECK-LABEL: entry shared
# CHECK: scan {{.*}} {trips = 4, carries = 1, reverse = 1}
# CHECK-NOT: ta = 1
# CHECK: yield
# CHECK: matmul {{.*}} {ta = 1} : f32[8,8]
# CHECK: matmul {{.*}} {ta = 1} : f32[8,8]

# rows that one op reads are no sum: they are stacked, and not added to an accumulator of all
entry rows(x : f32[7, 2, 8], y : f32[7, 2, 8]) {
  h = zeros([2, 8])
  scan i in 0..5 { h = tanh(h * x[i + 1] + y[i] * y[i + 2]) }
  dx, dy = grad(sum(h * h), [x, y])
  return dx, dy
}
# KEPT-LABEL: entry rows
# KEPT: scan {{.*}} {trips = 5, carries = 2, reverse = 1}
# KEPT: gather_grad {{.*}}scan_sums.g:92:51
# KEPT: gather_grad {{.*}}scan_sums.g:92:44
# KEPT-NOT: gather_grad
# KEPT: yield
# KEPT: %dx = pad
# What is added up in the loop for the sake of bits is named.
# RUN: %gc %s --emit=ir --passes=autodiff,dce --remarks=saved -o /dev/null 2>&1 | FileCheck-14 %s --check-prefix=WHY
# RUN: %gc %s --emit=ir --passes='autodiff{reassociate=1},dce' --remarks=saved -o /dev/null 2>&1 | FileCheck-14 %s --check-prefix=NOT --allow-empty
# WHY: remark: the gradient of %w is added up in each of 3 iterations, so that no size decides its bits; with --reassociate
# NOT-NOT: with --reassociate
