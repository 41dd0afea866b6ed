# RUN: %gc %s -O1 -march=x86-64-v3 --emit=ir | FileCheck-14 %s
# RUN: %gc %s -O1 -march=x86-64-v3 --dump-plan --emit=plan -o /dev/null | FileCheck-14 %s --check-prefix=PLAN
# RUN: %gc %s -O1 -march=x86-64-v3 --memory=none --emit=plan -o /dev/null
# RUN: %gc %s -march=x86-64-v3 --streams=3 --emit=plan -o /dev/null
# RUN: %gc %s -march=x86-64-v3 --memory-limit=160000 --emit=plan -o /dev/null
# RUN: %gc %s -O1 -march=x86-64-v3 --memory-limit=100% --dump-plan --emit=plan -o /dev/null | FileCheck-14 %s --check-prefix=SHARE
# The backward pass needs the state before each iteration and the state after it. They lie in one tensor
# with a row more, which the loop carries and writes in place; both stacks are read where it lies.
let T = 16
entry train(x : f32[T, 16, 64], y : f32[16, 64]) {
  param w : f32[64, 64] = glorot()
  h = zeros([16, 64])
  scan i in 0..T { h = tanh(h @ w + x[i]) }
  loss = mse(h, y)
  minimize loss with sgd(0.01)
  return loss
}
# CHECK-LABEL: entry train
# CHECK: [[S:%[0-9]+]] = const : f32[17,16,64]
# CHECK: scan %{{[0-9]+}}, [[S]], %x, {{.*}} {trips = 16, carries = 2} : f32[16,64], f32[17,16,64]
# CHECK: dynamic_update {{.*}} : f32[17,16,64] {{.*}} in place of
# CHECK: [[A:%[a-z0-9.]+]] = slice [[H:%[a-z0-9.]+]] {starts = [0, 0, 0], {{.*}}; ws+0x0 {{.*}} in place of [[H]]
# CHECK: [[B:%[a-z0-9.]+]] = slice [[H]] {starts = [1, 0, 0], {{.*}}; ws+0x1000 {{.*}} in place of [[H]]
# CHECK: scan {{.*}}, [[A]], [[B]] {trips = 16, carries = 2, reverse = 1}
# A share of the arena is one of the arena with histories, of 192,576 bytes: 254,016 do not fit.
# SHARE-LABEL: entry both
# SHARE: arena (optimal) {{1[0-9][0-9],[0-9]+}}
# PLAN-LABEL: entry train
# PLAN: arena (optimal) 127,104 

# What the program yields is one of the two; a loop that runs the other way writes from the end on;
# what comes first is not a constant. Nothing is stacked twice.
entry both(h0 : f32[16, 64], w : f32[64, 64]) {
  h = h0
  hs = scan i in 0..T {
    h = tanh(h @ w)
    yield h
  }
  dw, dh = grad(sum(hs * hs), [w, h0])
  return dw, dh
}
# CHECK-LABEL: entry both
# CHECK: pad {{.*}} : f32[17,16,64]
# CHECK-NOT: f32[16,16,64], f32[16,16,64]
# CHECK: return

# Without a backward pass there is no history.
entry infer(h : f32[16, 64], w : f32[64, 64]) {
  hs = scan i in 0..T {
    h = tanh(h @ w)
    yield h
  }
  return hs
}
# CHECK-LABEL: entry infer
# CHECK-NOT: f32[17,
# CHECK: return

# A row of a carry that is copied to its place in a stack, or to a carry, is no view.
entry taken(x : f32[10, 4, 64]) {
  h = x
  v = x[0]
  s = scan i in 0..3 {
    h = tanh(h)
    v = h[5]
    yield h[2:10]
  }
  return s, v
}
# CHECK-LABEL: entry taken
