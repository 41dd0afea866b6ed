# RUN: %gc %s --emit=ir --passes= | FileCheck-14 %s
# A scan stays a loop: names and states that change are carried, what is yielded is stacked, row i of
# a tensor is a row by the counter, and a parameter declared in the body is one for all iterations.
# CHECK-LABEL: entry f
# CHECK: %cell.w = load @cell.w
# CHECK: %m = load @m
# CHECK: %h.3, %m.3, %hs = scan %h, %m {trips = 5, carries = 2} : f32[4], f32[4], f32[5,4] {{.*}}(%i : i32[], %h.1 : f32[4], %m.1 : f32[4]) {
# CHECK:   %6 = add %i, %5 : i32[]
# CHECK:   %7 = gather %x, %6 : f32[4]
# CHECK:   mul %cell.w,
# CHECK:   %h.2 = tanh
# CHECK:   %m.2 = add %m.1, %h.2
# CHECK:   yield %h.2, %m.2, %h.2
# CHECK: }
# CHECK: store @m, %m.3
# CHECK: return %hs, %h.3
def cell(x, h) {
  param w : f32[4] = ones()
  return tanh(w * (x + h))
}
entry f(h : f32[4], x : f32[8, 4]) {
  state m : f32[4] = zeros()
  hs = scan i in 3..8 {
    h = cell(x[i], h) as cell
    m := m + h
    yield h
  }
  return hs, h
}
