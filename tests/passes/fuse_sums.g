# RUN: %gc -O2 --target=cuda --emit=ir %s -o - | FileCheck-14 %s
# RUN: %gc -O2 --target=cuda --print-schedules %s | FileCheck-14 %s --check-prefix=PLAN
# RUN: %gc -O2 -march=x86-64-v3 --emit=ir %s -o - | FileCheck-14 %s --check-prefix=CPU
# On a GPU the squares of gradients of one shape are summed by one kernel, of at most eight sums; ten weights have two.
entry train(x : f32[160, 160], t : f32[160, 160]) {
  y = x
  for i in 0..10 { y = tanh(linear(y, 160) as layer[i]) }
  minimize mse(y, t) with adamw(0.01, clip = 1)
  return y
}
# CHECK-LABEL: entry train
# CHECK: = kernel {{(%d.layer.[0-9].w, ){7}%d.layer.[0-9].w}} {name = "sum+mul+mul+13"} : {{(f32\[\], ){7}f32\[\] }}
# CHECK: = kernel {{%d.layer.[0-9].w, %d.layer.[0-9].w}} {name = "sum+mul+mul+1"} : f32[], f32[]
# PLAN: sum rows rows=1 elements=25600 group=blocks chunks=2 tile=512
# CPU-LABEL: entry train
# CPU: = kernel %d.layer.{{[0-9]}}.w {name = "sum+mul"} : f32[]
# CPU-NOT: name = "sum+mul+mul

# What nothing reads behind its own sum waits for no other.
entry dies(x : f32[160, 160], y : f32[160, 160]) {
  a = x @ y
  b = y @ x
  return sum(a * a), c = b @ b, d = sum(b * b)
}
# CHECK-LABEL: entry dies
# CHECK: = kernel %a {name = "sum+mul"} : f32[]
# CHECK: = kernel %b {name = "sum+mul"} : f32[]

# Inputs lie outside of the arena; but the last of these sums is made of the first.
entry chained(x : f32[160, 160], y : f32[160, 160], z : f32[160, 160]) {
  n = sum(x * x)
  m = sum(y * y)
  p = z @ z * n
  return m = m, s = sum(p * p), q = p @ z
}
# CHECK-LABEL: entry chained
# CHECK: = kernel %x, %y {name = "sum+mul+mul+1"} : f32[], f32[]
# CHECK: = kernel %p {name = "sum+mul"} : f32[]
