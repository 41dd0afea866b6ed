# RUN: %gc --memory-report -march=x86-64-v3 %s | FileCheck-14 %s
# RUN: %gc --memory-report -march=x86-64-v3 --data-parallel=mpi --ranks=2 --batch-norm=local --shard=optimizer %s 2>&1 | FileCheck-14 --check-prefix=RANKS %s
# Without the backward pass a perceptron keeps nothing: its forward row is the least.
entry train(x : f32[64, 784], t : f32[64, 10]) {
  y = relu(linear(x, 256) as fc1)
  loss = mse(linear(y, 10) as fc2, t)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: entry train: bytes of intermediate values
# CHECK-NEXT: without sharing [[NONE:[0-9,]+]] 100.0 %
# CHECK-NEXT: in place {{[0-9,]+}} {{[0-9.]+}} %
# CHECK-NEXT: shared, not in place {{[0-9,]+}} {{[0-9.]+}} %
# CHECK-NEXT: pool {{[0-9,]+}} {{[0-9.]+}} %
# CHECK-NEXT: arena {{[0-9,]+}} {{[0-9.]+}} %
# CHECK-NEXT: lower bound {{[0-9,]+}} {{[0-9.]+}} %
# CHECK-NEXT: arena, forward only {{[0-9,]+}} {{[0-9.]+}} %
# Nothing is warned of the forward pass that is planned for the last row: it has no optimizer, and returns rows of its own.
# RANKS-NOT: warning
# RANKS: entry norms: bytes of intermediate values
# RANKS: arena, forward only
entry norms(x : f32[64, 8]) {
  y = bn(x) as n
  loss = mean(tanh(linear(y, 300)) ** 2)
  minimize loss with adamw(0.1)
  return loss, y
}
