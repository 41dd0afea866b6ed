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
# What a for would know of an index is known here: it counts from the end where it is negative. A name that
# an iteration gives anew is not known.
# CHECK-LABEL: entry g
# CHECK: scan {{.*}} {trips = 5, carries = 1}
# CHECK: [[K:%[0-9]+]] = add %i,
# CHECK: [[BACK:%[0-9]+]] = add [[K]], {{.*}} : i32[]
# CHECK: [[NEG:%[0-9]+]] = lt [[K]], {{.*}} : bool[]
# CHECK: [[PLACE:%[0-9]+]] = where [[NEG]], [[BACK]], [[K]] : i32[]
# CHECK: gather %x, [[PLACE]]
# CHECK: scan {{.*}} {trips = 2, carries = 1}
# CHECK: [[LAST:%[0-9]+]] = sub
# CHECK: [[BACK:%[0-9]+]] = add [[LAST]], {{.*}} : i32[]
# CHECK-NEXT: gather %x, [[BACK]]
# CHECK: scan {{.*}} {trips = 4, carries = 1}
# CHECK-NOT: where
# CHECK: return
entry g(x : f32[8, 4], h : f32[4]) {
  scan i in -2..3 { h = h + x[i] }
  scan i in 0..2 { h = h + x[-1 - i] }
  scan i in 0..4 {
    q = i - 1
    scan j in 0..2 {
      h = h + x[q]
      q = q + 1
    }
  }
  return h
}
