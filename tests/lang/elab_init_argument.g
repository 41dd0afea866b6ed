# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# An initialiser is an argument, and a state or param may begin as another one does.
def small(shape : shape) { return normal(std = 0.5, shape = shape) }
def net(x) {
  y = linear(x, 2, bias = false, init = small) as a
  param v : f32[2, 2] = ones()
  state w : f32[2, 2] = 3 * v
  w := w + 1
  return y @ v + w
}
entry f(x : f32[2, 2]) { return y = net(x) }

# CHECK:      init {
# CHECK-NEXT:   %0 = random_normal {key = "net.a.w"} : f32[2,2]
# CHECK-NEXT:   %1 = const {value = 0.5} : f32[2,2]
# CHECK-NEXT:   %2 = mul %0, %1 : f32[2,2]
# CHECK-NEXT:   store @net.a.w, %2
# CHECK-NEXT:   %3 = const {value = 1} : f32[2,2]
# CHECK-NEXT:   store @net.v, %3
# CHECK-NEXT:   %4 = const {value = 3} : f32[2,2]
# CHECK-NEXT:   %5 = mul %4, %3 : f32[2,2]
# CHECK-NEXT:   store @net.w, %5
