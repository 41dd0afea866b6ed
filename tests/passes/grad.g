# RUN: %gc --emit=ir --passes=autodiff,dce %s | FileCheck-14 %s
# RUN: %gc --emit=ir --passes=fold,cse,dce,autodiff,fold,cse,dce %s | FileCheck-14 %s
# A gradient in a program: its ops carry the scope and the place of what they come from, and a gradient
# of a gradient is by the ops that the first one became.
def net(x : f32[n, d]) {
  return tanh(linear(x, 4) as fc1)
}
# CHECK-LABEL: entry penalty(
# CHECK: tanh_grad {{.*}} "net" {{.*}}grad.g:6:10
# CHECK: %slope = matmul {{.*}} "net.fc1" {{.*}}grad.g:6:15
# CHECK-NOT: = grad
# CHECK: matmul {{.*}} "net.fc1" {{.*}}grad.g:6:15
# CHECK: store @net.fc1.w
entry penalty(x : f32[8, 3]) {
  l = sum(net(x))
  slope = grad(l, x)
  minimize sum(slope * slope) with sgd(0.1)
  return l
}
