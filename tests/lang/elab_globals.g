# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# A global is loaded at its first use and stored once, with the last value; later reads see what was
# assigned before them.
hyper scale = 2
entry f(x : f32[3]) {
  state m : f32[3] = zeros()
  a = m + x
  m := a
  m := m * scale
  return a, m
}

# CHECK:      hyper @scale = 2
# CHECK-NEXT: state @m : f32[3]

# CHECK:      entry f(%x : f32[3])
# CHECK-NEXT:   %m = load @m : f32[3]
# CHECK-NEXT:   %a = add %m, %x : f32[3]
# CHECK-NEXT:   %scale = load @scale : f32[]
# CHECK-NEXT:   %4 = broadcast %scale : f32[3]
# CHECK-NEXT:   %m.1 = mul %a, %4 : f32[3]
# CHECK-NEXT:   store @m, %m.1
# CHECK-NEXT:   return %a, %m.1 {names = "a,m"}
