# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# Instance names from the entry inward make a parameter's path; equal paths in two entries are one tensor,
# whose initial value is computed once.
def block(x) {
  return linear(relu(linear(x, 8) as up), 4) as down
}
def net(x) {
  for l in 0..2 {
    scope h[l] { x = x + block(x) as b }
  }
  return block(x) as last[3]
}
entry one(x : f32[2, 4]) { return y = net(x) }
entry two(x : f32[5, 4]) { return y = net(x) }

# CHECK:      param @net.h.0.b.up.w : f32[4,8]
# CHECK-NEXT: param @net.h.0.b.up.b : f32[8]
# CHECK-NEXT: param @net.h.0.b.down.w : f32[8,4]
# CHECK-NEXT: param @net.h.0.b.down.b : f32[4]
# CHECK-NEXT: param @net.h.1.b.up.w : f32[4,8]
# CHECK-NEXT: param @net.h.1.b.up.b : f32[8]
# CHECK-NEXT: param @net.h.1.b.down.w : f32[8,4]
# CHECK-NEXT: param @net.h.1.b.down.b : f32[4]
# CHECK-NEXT: param @net.last.3.up.w : f32[4,8]
# CHECK-NEXT: param @net.last.3.up.b : f32[8]
# CHECK-NEXT: param @net.last.3.down.w : f32[8,4]
# CHECK-NEXT: param @net.last.3.down.b : f32[4]

# CHECK:      entry one(%x : f32[2,4])
# CHECK:        %net.h.0.b.up.w = load @net.h.0.b.up.w : f32[4,8] "net.h.0.b.up"
# CHECK:        %net.h.0.b.up.b = load @net.h.0.b.up.b : f32[8] "net.h.0.b.up"
# CHECK:        %net.h.0.b.down.w = load @net.h.0.b.down.w : f32[8,4] "net.h.0.b.down"
# CHECK:        %net.h.0.b.down.b = load @net.h.0.b.down.b : f32[4] "net.h.0.b.down"
# CHECK:        %net.h.1.b.up.w = load @net.h.1.b.up.w : f32[4,8] "net.h.1.b.up"
# CHECK:        %net.h.1.b.up.b = load @net.h.1.b.up.b : f32[8] "net.h.1.b.up"
# CHECK:        %net.h.1.b.down.w = load @net.h.1.b.down.w : f32[8,4] "net.h.1.b.down"
# CHECK:        %net.h.1.b.down.b = load @net.h.1.b.down.b : f32[4] "net.h.1.b.down"
# CHECK:        %net.last.3.up.w = load @net.last.3.up.w : f32[4,8] "net.last.3.up"
# CHECK:        %net.last.3.up.b = load @net.last.3.up.b : f32[8] "net.last.3.up"
# CHECK:        %net.last.3.down.w = load @net.last.3.down.w : f32[8,4] "net.last.3.down"
# CHECK:        %net.last.3.down.b = load @net.last.3.down.b : f32[4] "net.last.3.down"

# CHECK:      entry two(%x : f32[5,4])
# CHECK:        %net.h.0.b.up.w = load @net.h.0.b.up.w : f32[4,8] "net.h.0.b.up"
# CHECK:        %net.h.0.b.up.b = load @net.h.0.b.up.b : f32[8] "net.h.0.b.up"
# CHECK:        %net.h.0.b.down.w = load @net.h.0.b.down.w : f32[8,4] "net.h.0.b.down"
# CHECK:        %net.h.0.b.down.b = load @net.h.0.b.down.b : f32[4] "net.h.0.b.down"
# CHECK:        %net.h.1.b.up.w = load @net.h.1.b.up.w : f32[4,8] "net.h.1.b.up"
# CHECK:        %net.h.1.b.up.b = load @net.h.1.b.up.b : f32[8] "net.h.1.b.up"
# CHECK:        %net.h.1.b.down.w = load @net.h.1.b.down.w : f32[8,4] "net.h.1.b.down"
# CHECK:        %net.h.1.b.down.b = load @net.h.1.b.down.b : f32[4] "net.h.1.b.down"
# CHECK:        %net.last.3.up.w = load @net.last.3.up.w : f32[4,8] "net.last.3.up"
# CHECK:        %net.last.3.up.b = load @net.last.3.up.b : f32[8] "net.last.3.up"
# CHECK:        %net.last.3.down.w = load @net.last.3.down.w : f32[8,4] "net.last.3.down"
# CHECK:        %net.last.3.down.b = load @net.last.3.down.b : f32[4] "net.last.3.down"
