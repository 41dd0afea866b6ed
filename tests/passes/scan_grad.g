# RUN: %gc %s --emit=ir --passes=autodiff,dce | FileCheck-14 %s
# The backward pass of a loop is a loop in the other direction. What its iterations read of the
# forward ones is stacked by the forward loop: here the carry before each iteration, since the one
# after it is stacked already. Gradients of what comes from outside are summed in
# one accumulator; those of the carry are carried.
entry f(h : f32[4], w : f32[4]) {
  first = h
  hs = scan i in 0..6 {
    h = tanh(h * w)
    yield h
  }
  dw, dh = grad(sum(hs * hs), [w, first])
  return dw, dh
}
# CHECK: %h.1, %hs, %h.2 = scan %h {trips = 6, carries = 1} : f32[4], f32[6,4], f32[6,4]
# CHECK: yield %h.4, %h.4, %h.3
# CHECK: %dh, %dw = scan %10, %10, %d.hs, %h.2, %hs {trips = 6, carries = 2, reverse = 1} : f32[4], f32[4]
# CHECK-NEXT: %d.h = add
# CHECK-NEXT: %20 = tanh_grad %d.h, %h.6
# CHECK-NEXT: %21 = mul %w, %20
# CHECK-NEXT: %22 = mul %h.5, %20
# CHECK-NEXT: %23 = add %15, %22
# CHECK-NEXT: yield %21, %23
