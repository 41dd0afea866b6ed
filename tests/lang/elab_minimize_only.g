# RUN: %gc %s --emit=ir --passes= | FileCheck-14 %s
# Two losses, each minimized by params of its own: the second reads what the first has made of them,
# and no gradient flows into an update. A run counts one step.
def net(x) { return linear(x, 1, bias = false) }
entry train(x : f32[4, 3]) {
  hidden = linear(x, 3, bias = false) as inner
  a = mean(net(hidden) as outer)
  minimize a with sgd(0.1, only = "outer")
  b = mean((net(hidden) as outer) ** 2)
  minimize b with adam(0.2, only = ["inner"])
  return a, b
}
# CHECK: [[INNER:%.*]] = load @inner.w
# CHECK: [[OUTER:%.*]] = load @outer.linear.w
# CHECK: grad %a, [[OUTER]] : f32[3,1]
# CHECK: [[NEW:%outer.linear.w.*]] = sub [[OUTER]],
# CHECK: [[READ:%.*]] = stop_gradient [[NEW]] : f32[3,1]
# CHECK: matmul {{.*}}, [[READ]]
# CHECK: grad %b, [[INNER]] : f32[3,3]
# CHECK: store @outer.linear.w, [[READ]]
# CHECK: store @adam.m.inner.w
# CHECK: store @step,
# CHECK-NOT: store @step,
