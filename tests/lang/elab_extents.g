# RUN: %gc %s --emit=ir --passes= | FileCheck-14 %s
# `n <= 64` is an extent that is known at run time: a dim, its multiples, and a number.
def rows(x : f32[m, c]) { return reshape(x, [m, c, 1]), dim(x, 0) }
entry f(x : f32[n <= 64, 4, 6], y : f32[n], one : f32[k <= 1, 2]) {
  flat = reshape(x, [-1, 6])
  tall, four = rows(flat)
  same = four / 4 == n
  return flat, m = mean(x, axis = [0, 1]), n, four, z = y * n / max(n - 1, 1) + 0.1 * n, w = zeros([2 * n]),
         s = where(y > 0, y, f32(n)), more = n > 5, b = broadcast(y, [3, n]), same = iota(2) if same else one,
         pairs = zeros([4 * n // 2]), half = (n - 6) // 2, real = n // 2.5
}
# CHECK:      entry f(%x : f32[n<=64,4,6], %y : f32[n<=64], %one : f32[1,2])
# CHECK-NEXT: %flat = reshape %x : f32[4*(n<=64),6]
# CHECK-NEXT: reshape %flat : f32[4*(n<=64),6,1]
# CHECK-NEXT: {{%[0-9]+}} = sum %x {axes = [0, 1]} : f32[6]
# CHECK-NEXT: [[N:%[a-z0-9]+]] = extent {name = "n", bound = 64} : i32[]
# CHECK-NEXT: [[L:%[0-9]+]] = convert [[N]] : i64[]
# CHECK:      mul [[L]], {{%[0-9]+}} : i64[]
# CHECK-NEXT: [[F:%[0-9]+]] = convert {{%[0-9]+}} : f64[]
# CHECK-NEXT: convert [[F]] : f32[]
# CHECK:      sub {{%[0-9]+}}, {{%[0-9]+}} : i64[]
# CHECK-NEXT: const {value = 1} : i64[]
# CHECK-NEXT: max
# CHECK-NEXT: convert {{%[0-9]+}} : f64[]
# CHECK:      const : f32[2*(n<=64)]
# CHECK:      %b = broadcast %y : f32[3,n<=64]
# CHECK-NEXT: %same = iota : i32[2]
# CHECK-NEXT: const : f32[2*(n<=64)]
# CHECK:      sub
# CHECK-NEXT: const {value = 2} : i64[]
# CHECK-NEXT: quotient {{%[0-9]+}}, {{%[0-9]+}} : i64[]
# CHECK:      div {{%[0-9]+}}, {{%[0-9]+}} : f64[]
# CHECK-NEXT: floor {{%[0-9]+}} : f64[]
