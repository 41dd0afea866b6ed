# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# A program may define a name of the prelude or a built-in anew; the prelude keeps its own.
def relu(x) { return x * 3 }
def glorot() { return zeros() }
entry f(x : f32[2, 3]) {
  return y = relu(linear(x, 2))
}

# CHECK:      param @linear.w : f32[3,2]
# CHECK-NEXT: param @linear.b : f32[2]

# CHECK:      init {
# CHECK-NEXT:   %0 = random_uniform {key = "linear.w"} : f32[3,2] "linear.w"
# CHECK-NEXT:   %1 = const {value = 2.1908903} : f32[3,2] "linear.w"
# CHECK-NEXT:   %2 = mul %0, %1 : f32[3,2] "linear.w"
# CHECK-NEXT:   %3 = const {value = -1.0954452} : f32[3,2] "linear.w"
# CHECK-NEXT:   %4 = add %2, %3 : f32[3,2] "linear.w"
# CHECK-NEXT:   store @linear.w, %4 "linear.w"
# CHECK-NEXT:   %5 = const : f32[2] "linear.b"
# CHECK-NEXT:   store @linear.b, %5 "linear.b"
# CHECK-NEXT:   return

# CHECK:      entry f(%x : f32[2,3])
# CHECK-NEXT:   %linear.w = load @linear.w : f32[3,2] "linear"
# CHECK-NEXT:   %y = matmul %x, %linear.w : f32[2,2] "linear"
# CHECK-NEXT:   %linear.b = load @linear.b : f32[2] "linear"
# CHECK-NEXT:   %4 = broadcast %linear.b : f32[2,2] "linear"
# CHECK-NEXT:   %y.1 = add %y, %4 : f32[2,2] "linear"
# CHECK-NEXT:   %6 = const {value = 3} : f32[2,2] "relu"
# CHECK-NEXT:   %y.2 = mul %y.1, %6 : f32[2,2] "relu"
# CHECK-NEXT:   return %y.2 {names = "y"}
