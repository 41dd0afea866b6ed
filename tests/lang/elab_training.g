# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# `training` is true where the entry minimizes, and in all that it calls.
def net(x) {
  param w : f32[3] = ones()
  return x * w if training else x + w
}
entry train(x : f32[3]) {
  loss = mean(net(x))
  minimize loss with sgd(0.1)
  return loss
}
entry apply(x : f32[3]) { return y = net(x) }

# CHECK:      param @net.w : f32[3]
# CHECK-NEXT: state @step : i64[]

# CHECK:      entry train(%x : f32[3]) training
# CHECK-NEXT:   %net.w = load @net.w : f32[3] "net"
# CHECK-NEXT:   %2 = mul %x, %net.w : f32[3] "net"
# CHECK-NEXT:   %3 = sum %2 {axes = [0]} : f32[]
# CHECK-NEXT:   %4 = const {value = 3} : f32[]
# CHECK-NEXT:   %loss = div %3, %4 : f32[]
# CHECK-NEXT:   %6 = grad %loss, %net.w : f32[3]
# CHECK-NEXT:   %7 = const {value = 0.1} : f32[3] "sgd"
# CHECK-NEXT:   %8 = mul %7, %6 : f32[3] "sgd"
# CHECK-NEXT:   %net.w.1 = sub %net.w, %8 : f32[3] "sgd"
# CHECK-NEXT:   %step = load @step : i64[]
# CHECK-NEXT:   %11 = const {value = 1} : i64[]
# CHECK-NEXT:   %12 = add %step, %11 : i64[]
# CHECK-NEXT:   store @net.w, %net.w.1 "sgd"
# CHECK-NEXT:   store @step, %12
# CHECK-NEXT:   return %loss {names = "loss"}

# CHECK:      entry apply(%x : f32[3])
# CHECK-NEXT:   %net.w = load @net.w : f32[3] "net"
# CHECK-NEXT:   %y = add %x, %net.w : f32[3] "net"
# CHECK-NEXT:   return %y {names = "y"}
