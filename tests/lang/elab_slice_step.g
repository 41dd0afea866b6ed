# A step beyond the axis takes one element, also where adding to it would overflow.
# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
entry f(x : f32[4]) { return y = x[::9223372036854775807], z = x[2::5] }
# CHECK: %y = slice %x {starts = [0], steps = [9223372036854775807]} : f32[1]
# CHECK: %z = slice %x {starts = [2], steps = [5]} : f32[1]
entry g() {
  s = 0
  for i in 200000..200001 { s = s + i }   # one iteration, wherever it lies
  return s = full([1], s)
}
# CHECK: const {value = 200000} : i32[1]
