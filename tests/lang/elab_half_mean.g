# A mean of halves adds and divides in f32: the count of elements may be beyond the range of f16.
# RUN: %gc --emit=ir -O0 --passes=autodiff,dce %s | FileCheck-14 %s
entry f(x : f16[70000], b : bf16[70000]) { return m = mean(x), v = var(x), mb = mean(b) }
# CHECK-LABEL: entry f
# CHECK:      %[[W:[0-9]+]] = convert %x : f32[70000]
# CHECK:      %[[S:[0-9]+]] = sum %[[W]] {axes = [0]} : f32[]
# CHECK:      div %[[S]], %{{.*}} : f32[]
# CHECK:      %m = convert %{{.*}} : f16[]
# CHECK-NOT:  inf
# CHECK:      %v = convert %{{.*}} : f16[]
# CHECK:      convert %b : f32[70000]
# CHECK:      %mb = convert %{{.*}} : bf16[]
entry g(x : f16[70000]) { return d = grad(f32(var(x)), x) }
# CHECK-LABEL: entry g
# CHECK-NOT:  inf
# CHECK:      const {value = 2.85714{{[0-9]*}}e-05} : f32[70000]
# CHECK:      %d = convert %{{.*}} : f16[70000]
