# RUN: %gc --dump-plan=json --memory-limit=75% --remarks=remat %s > %t.json 2> %t.txt
# RUN: FileCheck-14 %s < %t.json
# RUN: FileCheck-14 %s --check-prefix=WHY < %t.txt
# The least peak has the order that goes layer by layer, in which no place is narrow. In the order of
# the steps only h and c of both layers cross from one to the next, and what is between is recomputed.
let B = 16
let H = 32
let T = 6
entry train(x : f32[T, B, H], t : f32[B, H]) {
  h1, h2, c1, c2 = zeros([B, H]), zeros([B, H]), zeros([B, H]), zeros([B, H])
  for i in 0..T {
    h1, c1 = lstm(x[i], h1, c1) as l1 shared
    h2, c2 = lstm(h1, h2, c2) as l2 shared
  }
  loss = mse(h2, t)
  minimize loss with sgd(0.1)
  return loss
}
# CHECK: "arena_bytes": {{1[345][0-9][0-9][0-9][0-9]}},
# CHECK: "recompute_flops": {{[1-9]}}
# WHY: is recomputed before
