# Where there are more threads than elements they are counted in as many bits as they need, the elements in theirs.
# RUN: %gc %s --emit=cuda -o - | FileCheck-14 %s
# CHECK: /* {{.*}}add: f32[1073741824] */
# CHECK: const int64_t t = (int64_t)blockIdx.x * 256
# CHECK: const int64_t j = t * 4;
entry map(x : f32[1073741824]) { return y = x + 1 }
# CHECK: /* gather_grad: f32[100000000,1] */
# CHECK: const int64_t t = (int64_t)blockIdx.x * 256 + (int)threadIdx.x;
# CHECK: const int u = t / 32
entry learn(t : f32[100000000, 1], i : i32[30]) {
  y = gather(t, i)
  return d = grad(sum(y * y), t)
}
# CHECK: /* gather_grad: f32[33554431,1] */
# CHECK: const int t = (int)blockIdx.x * 256 + (int)threadIdx.x;
entry small(t : f32[33554431, 1], i : i32[30]) {
  y = gather(t, i)
  return d = grad(sum(y * y), t)
}
