# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# clip belongs to minimize: one norm over all gradients.
entry train(x : f32[4, 3]) {
  param w : f32[3] = ones()
  loss = mean(x * w)
  minimize loss with sgd(0.1, clip = 2)
  return loss
}

# CHECK:      param @w : f32[3]
# CHECK-NEXT: state @step : i64[]

# CHECK:      init {
# CHECK-NEXT:   %0 = const {value = 1} : f32[3] "w"
# CHECK-NEXT:   store @w, %0 "w"
# CHECK-NEXT:   %1 = const : i64[] "step"
# CHECK-NEXT:   store @step, %1 "step"
# CHECK-NEXT:   return

# CHECK:      entry train(%x : f32[4,3]) training
# CHECK-NEXT:   %w = load @w : f32[3]
# CHECK-NEXT:   %2 = broadcast %w : f32[4,3]
# CHECK-NEXT:   %3 = mul %x, %2 : f32[4,3]
# CHECK-NEXT:   %4 = sum %3 {axes = [0, 1]} : f32[]
# CHECK-NEXT:   %5 = const {value = 12} : f32[]
# CHECK-NEXT:   %loss = div %4, %5 : f32[]
# CHECK-NEXT:   %7 = grad %loss, %w : f32[3]
# CHECK-NEXT:   %8 = mul %7, %7 : f32[3]
# CHECK-NEXT:   %9 = sum %8 {axes = [0]} : f32[]
# CHECK-NEXT:   %10 = sqrt %9 : f32[]
# CHECK-NEXT:   %11 = const {value = 1e-06} : f32[]
# CHECK-NEXT:   %12 = add %10, %11 : f32[]
# CHECK-NEXT:   %13 = const {value = 2} : f32[]
# CHECK-NEXT:   %14 = div %13, %12 : f32[]
# CHECK-NEXT:   %15 = const {value = 1} : f32[]
# CHECK-NEXT:   %clip_scale = min %14, %15 : f32[]
# CHECK-NEXT:   %17 = broadcast %clip_scale : f32[3]
# CHECK-NEXT:   %18 = mul %7, %17 : f32[3]
# CHECK-NEXT:   %19 = const {value = 0.1} : f32[3] "sgd"
# CHECK-NEXT:   %20 = mul %19, %18 : f32[3] "sgd"
# CHECK-NEXT:   %w.1 = sub %w, %20 : f32[3] "sgd"
# CHECK-NEXT:   %step = load @step : i64[]
# CHECK-NEXT:   %23 = const {value = 1} : i64[]
# CHECK-NEXT:   %24 = add %step, %23 : i64[]
# CHECK-NEXT:   store @w, %w.1 "sgd"
# CHECK-NEXT:   store @step, %24
# CHECK-NEXT:   return %loss {names = "loss"}
