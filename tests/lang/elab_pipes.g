# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# x |> f(a) is f(x, a); the name of the call belongs to it.
entry f(x : f32[2, 3]) {
  return y = x |> linear(4) as up |> relu |> linear(2, bias = false) as down |> sum(axis = 0)
}

# CHECK:      param @up.w : f32[3,4]
# CHECK-NEXT: param @up.b : f32[4]
# CHECK-NEXT: param @down.w : f32[4,2]

# CHECK:      entry f(%x : f32[2,3])
# CHECK-NEXT:   %up.w = load @up.w : f32[3,4] "up"
# CHECK-NEXT:   %y = matmul %x, %up.w : f32[2,4] "up"
# CHECK-NEXT:   %up.b = load @up.b : f32[4] "up"
# CHECK-NEXT:   %4 = broadcast %up.b : f32[2,4] "up"
# CHECK-NEXT:   %y.1 = add %y, %4 : f32[2,4] "up"
# CHECK-NEXT:   %6 = relu %y.1 : f32[2,4]
# CHECK-NEXT:   %down.w = load @down.w : f32[4,2] "down"
# CHECK-NEXT:   %y.2 = matmul %6, %down.w : f32[2,2] "down"
# CHECK-NEXT:   %y.3 = sum %y.2 {axes = [0]} : f32[2]
# CHECK-NEXT:   return %y.3 {names = "y", aggregates = "sum"}
