# Threads and elements are counted in as many bits as they need.
# RUN: %gc %s --emit=cuda -o - | FileCheck-14 %s
# CHECK: /* {{.*}}add: f32[1073741824] */
# CHECK: const int64_t t = (int64_t)blockIdx.x * 256
# CHECK: const int64_t j = t * 4;
entry map(x : f32[1073741824]) { return y = x + 1 }
# CHECK: /* sum: f32[100000000,64] */
# CHECK: const int64_t t = (int64_t)blockIdx.x * 256 + (int)threadIdx.x;
# CHECK: const int64_t u = t / 32
entry rows(x : f32[100000000, 64]) { return y = sum(x, axis = 1) }
# CHECK: /* sum: f32[1000000,64] */
# CHECK: const int t = (int)blockIdx.x * 256 + (int)threadIdx.x;
# CHECK: const int u = t / 32
entry few(x : f32[1000000, 64]) { return y = sum(x, axis = 1) }
