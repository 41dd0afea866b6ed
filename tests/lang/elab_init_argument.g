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
entry layers(ids : i32[3], x : f32[1, 2, 4], image : f32[1, 2, 4, 4]) {
  a = embed(ids, 5, 2, init = small) as e
  b = conv1(x, 3, 1, bias = false, init = small) as c1
  c = conv(image, 3, 1, bias = false, init = ones) as c2
  d = conv_transpose(image, 3, 1, bias = false, init = small) as c3
  return a, b, c, d, e = embed(ids, 6, 2, std = 3) as std
}

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
# CHECK:      random_normal {key = "e.w"} : f32[5,2]
# CHECK-NEXT: const {value = 0.5} : f32[5,2]
# CHECK:      random_normal {key = "c1.w"} : f32[3,2,1]
# CHECK-NEXT: const {value = 0.5} : f32[3,2,1]
# CHECK:      [[W:%[0-9]+]] = const {value = 1} : f32[3,2,1,1]
# CHECK-NEXT: store @c2.w, [[W]]
# CHECK:      random_normal {key = "c3.w"} : f32[2,3,1,1]
# CHECK-NEXT: const {value = 0.5} : f32[2,3,1,1]
# CHECK:      random_normal {key = "std.w"} : f32[6,2]
# CHECK-NEXT: const {value = 3} : f32[6,2]
