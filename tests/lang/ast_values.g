# RUN: %gc --emit=ast %s | FileCheck-14 %s
# Literals, and types of arguments.

# CHECK: let a = [0, 12, 9223372036854775807]
let a = [0, 12, 9223372036854775807]
# CHECK-NEXT: let b = [0.5, 0.5, 1.0, 1e+20, 0.001, 0.1, 3.0]
let b = [0.5, .5, 1., 1e20, 1e-3, 0.1, 3e0]
# CHECK-NEXT: let c = [inf, (-inf), true, false]
let c = [inf, -inf, true, false]
# CHECK-NEXT: let d = "a\\b \"c\" \n\t µ"
let d = "a\\b \"c\" \n\t µ"
# CHECK-NEXT: let e = 5e-324
let e = 5e-324
# CHECK-NEXT: hyper lr = (-0.5)
hyper lr = -0.5
# CHECK-NEXT: hyper topk : i32 = 40
hyper topk : i32 = 40
# CHECK-NEXT: def f(x : f32[n, 3], y : [..., d], z : u8, k = [1, 2], m : bf16 = 3) {
def f(x : f32[n, 3,], y : [..., d], z : u8, k = [1, 2], m : bf16[] = 3,) {
  # CHECK-NEXT: for i in 1 .. 3 {
  for i in 1..3 { }
  # CHECK: for i in 1.5 .. n {
  for i in 1.5..n { }
}
# CHECK: def none() {
# CHECK-NEXT: }
def none() { }
