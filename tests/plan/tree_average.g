# RUN: %gc --emit=ir -O2 %s | FileCheck-14 %s
# The average of all weights, and an update that may be skipped: each state and param changes in place, none is copied.
hyper lr = 1e-2
state ema = like params("net")
def net(x) { return linear(relu(linear(x, 32) as fc1), 8) as fc2 }
entry train(x : f32[16, 32], y : f32[16, 8]) {
  loss = mse(net(x), y)
  g = grad(loss, params("net"))
  update params("net") with adamw(lr), by = g, if = finite(norm(g))
  ema := 0.999 * ema + 0.001 * params("net")
  return loss
}

# CHECK:      entry train
# CHECK-NOT:  ; copy
# CHECK-DAG:  store @net.fc1.w, {{.*}} ; in place
# CHECK-DAG:  store @adamw.m.net.fc1.w, {{.*}} ; in place
# CHECK-DAG:  store @adamw.v.net.fc1.w, {{.*}} ; in place
# CHECK-DAG:  store @ema.net.fc1.w, {{.*}} ; in place
# CHECK-DAG:  store @ema.net.fc2.b, {{.*}} ; in place
# CHECK-DAG:  store @step, {{.*}} ; in place
# CHECK-NOT:  ; copy
# CHECK:      return %loss
