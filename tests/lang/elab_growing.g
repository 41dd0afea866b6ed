# What a loop appends to, and unnamed calls in a loop, take their own size and not its square: all of it in 60 MB.
# RUN: bash -c '[ -n "${ASAN_OPTIONS-}" ] || ulimit -v 260000; exec %gc --emit=ir -O0 --passes= %s' | FileCheck-14 %s
entry lists(x : f32[4]) {
  l = []
  for i in 0..20000 { l = l + [i] }
  a = l + [1]
  b = l + [2]
  c = a + [3]
  return y = x + a[20000] * 1000 + b[20000] * 100 + c[20000] * 10 + c[20001]
}
# CHECK-LABEL: entry lists
# CHECK: const {value = 1000}
# CHECK: const {value = 200}
# CHECK: const {value = 10}
# CHECK: const {value = 3}
entry calls(x : f32[4]) {
  for i in 0..20000 { x = silu(x) }
  return x
}
# CHECK-LABEL: entry calls
# CHECK-COUNT-20000: sigmoid
