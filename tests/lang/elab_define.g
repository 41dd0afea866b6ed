# RUN: %gc --emit=ir -O0 --passes= %s | FileCheck-14 %s
# RUN: %gc -D N=8 -D wide=true --emit=ir -O0 --passes= %s | FileCheck-14 --check-prefix=GIVEN %s
# -D takes the place of a let, also for the lets that use it.
let N = 4
let half = N / 2
let wide = false
entry f(x : f32[N, half]) {
  return y = reshape(x, [N * half] if wide else [half, N])
}

# CHECK:      entry f(%x : f32[4,2])
# CHECK-NEXT:   %y = reshape %x : f32[2,4]
# GIVEN:      entry f(%x : f32[8,4])
# GIVEN-NEXT:   %y = reshape %x : f32[32]
