# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# Where nothing is trained, the same call with the same arguments is the same net.
def net(x) { return linear(x, 2) as fc }
entry predict(x : f32[1, 3]) {
  return digit = argmax(net(x)), p = softmax(net(x))
}

# CHECK:      param @net.fc.w : f32[3,2]
# CHECK-NEXT: param @net.fc.b : f32[2]

# CHECK:      entry predict(%x : f32[1,3])
# CHECK-NEXT:   %net.fc.w = load @net.fc.w : f32[3,2] "net.fc"
# CHECK-NEXT:   %y = matmul %x, %net.fc.w : f32[1,2] "net.fc"
# CHECK-NEXT:   %net.fc.b = load @net.fc.b : f32[2] "net.fc"
# CHECK-NEXT:   %4 = broadcast %net.fc.b : f32[1,2] "net.fc"
# CHECK-NEXT:   %y.1 = add %y, %4 : f32[1,2] "net.fc"
# CHECK-NEXT:   %digit = argmax %y.1 {axis = 1} : i32[1]
# CHECK-NEXT:   %y.2 = matmul %x, %net.fc.w : f32[1,2] "net.fc"
# CHECK-NEXT:   %8 = broadcast %net.fc.b : f32[1,2] "net.fc"
# CHECK-NEXT:   %y.3 = add %y.2, %8 : f32[1,2] "net.fc"
# CHECK-NEXT:   %p = softmax %y.3 : f32[1,2]
# CHECK-NEXT:   return %digit, %p {names = "digit,p"}

# In a loop, too, whether it is unrolled or stays one; in the loop around one as well.
entry unrolled(x : f32[2, 3]) {
  s = net(x)
  for i in 0..3 { for j in 0..2 { s = s * 0.5 + net(x) } }
  return s
}
entry looped(x : f32[2, 3]) {
  s = net(x)
  scan i in 0..3 { scan j in 0..2 { s = s * 0.5 + net(x) } }
  return s, after = net(x)
}
# CHECK-LABEL: entry unrolled
# CHECK:       return
# CHECK-LABEL: entry looped
# CHECK:       matmul %x, %net.fc.w
# CHECK:       scan
# CHECK:       scan
# CHECK:       matmul %x, %net.fc.w
# CHECK:       yield
# CHECK:       return

# What is computed alike from the same values is the same argument, wherever that stands; lists of such as well.
def of_two(xs) { return linear(xs[0], 2) as fc + linear(xs[1], 2) as fc }
entry computed(x : f32[2, 3]) {
  s = net(x * 2 - x[:, ::-1])
  for i in 0..2 { s = s + net(x * 2 - x[:, ::-1]) + of_two([x, x * x]) }
  scan i in 0..3 {
    y = x * 2
    scan j in 0..2 { s = s * 0.5 + net(y - x[:, ::-1]) + of_two([x, x * x]) }
    s = s + net(x * 2 - x[:, ::-1])
  }
  return s, after = net(x * 2 - x[:, ::-1]) + of_two([x, x * x])
}
# CHECK-LABEL: entry computed
# CHECK:       scan
# CHECK:       scan
# CHECK:       return
