# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# The params that a gradient reaches, in the order of their paths; the optimizer's states lie at
# NAME.state.PATH, the step counter is stored last.
hyper lr = 0.1
entry train(x : f32[4, 3], t : u8[4]) {
  param unused : f32[3] = zeros()
  w = linear(x, 5) as z
  logits = linear(w, 2) as a
  side = stop_gradient(x * unused)
  loss = mean(xent(logits, t)) + sum(side)
  minimize loss with sgd(lr, momentum = 0.9)
  return loss
}

# CHECK:      hyper @lr = 0.1
# CHECK-NEXT: param @unused : f32[3]
# CHECK-NEXT: param @z.w : f32[3,5]
# CHECK-NEXT: param @z.b : f32[5]
# CHECK-NEXT: param @a.w : f32[5,2]
# CHECK-NEXT: param @a.b : f32[2]
# CHECK-NEXT: optimizer @sgd.m.a.b : f32[2]
# CHECK-NEXT: optimizer @sgd.m.a.w : f32[5,2]
# CHECK-NEXT: optimizer @sgd.m.z.b : f32[5]
# CHECK-NEXT: optimizer @sgd.m.z.w : f32[3,5]
# CHECK-NEXT: state @step : i64[]

# CHECK:      entry train(%x : f32[4,3], %t : u8[4]) training
# CHECK-NEXT:   %z.w = load @z.w : f32[3,5] "z"
# CHECK-NEXT:   %y = matmul %x, %z.w : f32[4,5] "z"
# CHECK-NEXT:   %z.b = load @z.b : f32[5] "z"
# CHECK-NEXT:   %5 = broadcast %z.b : f32[4,5] "z"
# CHECK-NEXT:   %w = add %y, %5 : f32[4,5] "z"
# CHECK-NEXT:   %a.w = load @a.w : f32[5,2] "a"
# CHECK-NEXT:   %y.1 = matmul %w, %a.w : f32[4,2] "a"
# CHECK-NEXT:   %a.b = load @a.b : f32[2] "a"
# CHECK-NEXT:   %10 = broadcast %a.b : f32[4,2] "a"
# CHECK-NEXT:   %logits = add %y.1, %10 : f32[4,2] "a"
# CHECK-NEXT:   %unused = load @unused : f32[3]
# CHECK-NEXT:   %13 = broadcast %unused : f32[4,3]
# CHECK-NEXT:   %14 = mul %x, %13 : f32[4,3]
# CHECK-NEXT:   %side = stop_gradient %14 : f32[4,3]
# CHECK-NEXT:   %16 = xent %logits, %t : f32[4]
# CHECK-NEXT:   %17 = sum %16 {axes = [0]} : f32[]
# CHECK-NEXT:   %18 = const {value = 4} : f32[]
# CHECK-NEXT:   %19 = div %17, %18 : f32[]
# CHECK-NEXT:   %20 = sum %side {axes = [0, 1]} : f32[]
# CHECK-NEXT:   %loss = add %19, %20 : f32[]
# CHECK-NEXT:   %lr = load @lr : f32[]
# CHECK-NEXT:   %23, %24, %25, %26 = grad %loss, %a.b, %a.w, %z.b, %z.w : f32[2], f32[5,2], f32[5], f32[3,5]
# CHECK-NEXT:   %sgd.m.a.b = load @sgd.m.a.b : f32[2] "sgd.m.a"
# CHECK-NEXT:   %28 = const {value = 0.9} : f32[2] "sgd"
# CHECK-NEXT:   %29 = mul %28, %sgd.m.a.b : f32[2] "sgd"
# CHECK-NEXT:   %sgd.m.a.b.1 = add %29, %23 : f32[2] "sgd"
# CHECK-NEXT:   %31 = broadcast %lr : f32[2] "sgd"
# CHECK-NEXT:   %32 = mul %31, %sgd.m.a.b.1 : f32[2] "sgd"
# CHECK-NEXT:   %a.b.1 = sub %a.b, %32 : f32[2] "sgd"
# CHECK-NEXT:   %sgd.m.a.w = load @sgd.m.a.w : f32[5,2] "sgd.m.a"
# CHECK-NEXT:   %35 = const {value = 0.9} : f32[5,2] "sgd"
# CHECK-NEXT:   %36 = mul %35, %sgd.m.a.w : f32[5,2] "sgd"
# CHECK-NEXT:   %sgd.m.a.w.1 = add %36, %24 : f32[5,2] "sgd"
# CHECK-NEXT:   %38 = broadcast %lr : f32[5,2] "sgd"
# CHECK-NEXT:   %39 = mul %38, %sgd.m.a.w.1 : f32[5,2] "sgd"
# CHECK-NEXT:   %a.w.1 = sub %a.w, %39 : f32[5,2] "sgd"
# CHECK-NEXT:   %sgd.m.z.b = load @sgd.m.z.b : f32[5] "sgd.m.z"
# CHECK-NEXT:   %42 = const {value = 0.9} : f32[5] "sgd"
# CHECK-NEXT:   %43 = mul %42, %sgd.m.z.b : f32[5] "sgd"
# CHECK-NEXT:   %sgd.m.z.b.1 = add %43, %25 : f32[5] "sgd"
# CHECK-NEXT:   %45 = broadcast %lr : f32[5] "sgd"
# CHECK-NEXT:   %46 = mul %45, %sgd.m.z.b.1 : f32[5] "sgd"
# CHECK-NEXT:   %z.b.1 = sub %z.b, %46 : f32[5] "sgd"
# CHECK-NEXT:   %sgd.m.z.w = load @sgd.m.z.w : f32[3,5] "sgd.m.z"
# CHECK-NEXT:   %49 = const {value = 0.9} : f32[3,5] "sgd"
# CHECK-NEXT:   %50 = mul %49, %sgd.m.z.w : f32[3,5] "sgd"
# CHECK-NEXT:   %sgd.m.z.w.1 = add %50, %26 : f32[3,5] "sgd"
# CHECK-NEXT:   %52 = broadcast %lr : f32[3,5] "sgd"
# CHECK-NEXT:   %53 = mul %52, %sgd.m.z.w.1 : f32[3,5] "sgd"
# CHECK-NEXT:   %z.w.1 = sub %z.w, %53 : f32[3,5] "sgd"
# CHECK-NEXT:   %step = load @step : i64[]
# CHECK-NEXT:   %56 = const {value = 1} : i64[]
# CHECK-NEXT:   %57 = add %step, %56 : i64[]
# CHECK-NEXT:   store @sgd.m.a.b, %sgd.m.a.b.1 "sgd"
# CHECK-NEXT:   store @a.b, %a.b.1 "sgd"
# CHECK-NEXT:   store @sgd.m.a.w, %sgd.m.a.w.1 "sgd"
# CHECK-NEXT:   store @a.w, %a.w.1 "sgd"
# CHECK-NEXT:   store @sgd.m.z.b, %sgd.m.z.b.1 "sgd"
# CHECK-NEXT:   store @z.b, %z.b.1 "sgd"
# CHECK-NEXT:   store @sgd.m.z.w, %sgd.m.z.w.1 "sgd"
# CHECK-NEXT:   store @z.w, %z.w.1 "sgd"
# CHECK-NEXT:   store @step, %57
# CHECK-NEXT:   return %loss {names = "loss"}
