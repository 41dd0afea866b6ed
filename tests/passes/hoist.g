# RUN: %gc %s --emit=ir --passes=fold,hoist,cse,dce | FileCheck-14 %s
# What no iteration changes is computed before the loop, as far out as it can go; row i of a tensor
# by the counter is a slice that the loop hands over, also with an offset, backwards, and along
# another axis. A row by what the loop computes stays a gather.
entry f(x : f32[6, 8, 3], y : f32[9, 3], w : f32[3, 3], h : f32[3]) {
  scan i in 1..6 {
    scan j in 0..8 {
      a = sum(tanh(w), axis = 0)
      b = sum(x[i] @ w, axis = 0)
      h = h * a + b + x[i, j] + y[8 - j] + y[argmax(h)]
    }
  }
  return h
}
entry one(z : f32[1, 3], h : f32[3]) {
  scan i in 0..1 { h = h + z[0 - i] }
  return h
}
# CHECK-LABEL: entry f
# CHECK: tanh %w
# CHECK: %a = sum
# CHECK: [[X:%[0-9]+]] = slice %x {starts = [1, 0, 0], steps = [1, 1, 1]} : f32[5,8,3]
# CHECK: slice %y {starts = [1, 0], steps = [1, 1]} : f32[8,3]
# CHECK: [[Y:%[0-9]+]] = reverse {{.*}} {axes = [0]} : f32[8,3]
# CHECK: scan %h, [[X]] {trips = 5, carries = 1} {{.*}}(%i : i32[], {{.*}} : f32[3], [[ROW:%[0-9]+]] : f32[8,3]) {
# CHECK:   matmul [[ROW]], %w
# CHECK:   scan {{.*}}, [[ROW]], [[Y]] {trips = 8, carries = 1}
# CHECK-NOT: matmul
# CHECK:     argmax
# CHECK:     gather %y
# CHECK:     yield
# CHECK-LABEL: entry one
# CHECK: scan %h, %{{[0-9]+}} {trips = 1, carries = 1}
# CHECK-NOT: gather
# A stack of rows that the loop is given is the tensor that they are of.
entry same(x : f32[4, 3], h : f32[3]) {
  xs = scan i in 0..4 {
    h = h + x[i]
    yield x[i]
  }
  return h, twice = 2 * xs
}
# CHECK-LABEL: entry same
# CHECK: %h.1 = scan %h, %x {trips = 4, carries = 1} : f32[3] {{[^,]*}}(
# CHECK: mul {{.*}}%x
# But a gradient by the stack is not that by the tensor.
entry asked(x : f32[4, 3]) {
  xs = scan i in 0..4 { yield x[i] }
  return g = grad(sum(xs * xs) + sum(x), xs)
}
# CHECK-LABEL: entry asked
# CHECK: grad {{.*}}, %xs
# A part of what is outside goes out on its own, if its gradient is wanted: the loop adds up the gradient of the row alone.
# RUN: %gc %s --emit=ir --passes=fold,hoist,cse,dce,autodiff | FileCheck-14 %s --check-prefix=PART
entry part(x : f32[64, 3], h : f32[3]) {
  scan i in 0..64 { h = tanh(h * x[i] + x[5]) }
  return g = grad(sum(h), x)
}
# PART-LABEL: entry part
# PART: scan {{.*}} {trips = 64, carries = 2, reverse = 1} : f32[3], f32[1,3], f32[64,3]
# PART: pad {{.*}} : f32[64,3]
