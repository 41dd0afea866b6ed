# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# An optimizer is a def that assigns its first argument.
def signed(p, g, lr) {
  state seen : i64 = 0
  seen := seen + 1
  p := p - lr * sign(g)
}
entry train(x : f32[3]) {
  param w : f32[3] = ones()
  loss = mean(x * w)
  minimize loss with signed(0.1) as mine
  return loss
}

# CHECK:      param @w : f32[3]
# CHECK-NEXT: optimizer @mine.seen.w : i64[]
# CHECK-NEXT: state @step : i64[]

# CHECK:      entry train(%x : f32[3]) training
# CHECK-NEXT:   %w = load @w : f32[3]
# CHECK-NEXT:   %2 = mul %x, %w : f32[3]
# CHECK-NEXT:   %3 = sum %2 {axes = [0]} : f32[]
# CHECK-NEXT:   %4 = const {value = 3} : f32[]
# CHECK-NEXT:   %loss = div %3, %4 : f32[]
# CHECK-NEXT:   %6 = grad %loss, %w : f32[3]
# CHECK-NEXT:   %mine.seen.w = load @mine.seen.w : i64[] "mine.seen"
# CHECK-NEXT:   %8 = const {value = 1} : i64[] "mine"
# CHECK-NEXT:   %mine.seen.w.1 = add %mine.seen.w, %8 : i64[] "mine"
# CHECK-NEXT:   %10 = sign %6 : f32[3] "mine"
# CHECK-NEXT:   %11 = const {value = 0.1} : f32[3] "mine"
# CHECK-NEXT:   %12 = mul %11, %10 : f32[3] "mine"
# CHECK-NEXT:   %w.1 = sub %w, %12 : f32[3] "mine"
# CHECK-NEXT:   %step = load @step : i64[]
# CHECK-NEXT:   %15 = const {value = 1} : i64[]
# CHECK-NEXT:   %16 = add %step, %15 : i64[]
# CHECK-NEXT:   store @mine.seen.w, %mine.seen.w.1 "mine"
# CHECK-NEXT:   store @w, %w.1 "mine"
# CHECK-NEXT:   store @step, %16
# CHECK-NEXT:   return %loss {names = "loss"}
