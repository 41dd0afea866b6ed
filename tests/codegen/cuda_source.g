# What the CUDA source is made of: groups in one kernel, 16 bytes an access, one kernel for equal bodies, no float atomics.
# RUN: %gc %s --emit=cuda -o %t && FileCheck-14 %s <%t
# RUN: grep -c '^/[*] matmul' %t | grep -qx 1
# RUN: grep -o 'atomic[A-Za-z]*(' %t | grep -qx 'atomicCAS('
# RUN: not-14 grep -E 'atomic(Add|Exch|Max|Min)|[^a]red[.]' %t
let N = 1024

# Six operations and three broadcasts are one kernel; four numbers of 4 bytes move at once, eight of 2 bytes.
# CHECK-LABEL: /* broadcast mul const add relu exp sub: f32[1024,64] */
# CHECK: extern "C" __global__ void
# CHECK: const Vec<float, 4> [[X:[a-z0-9]+]] = *(const Vec<float, 4> *)(in0
# CHECK: *(Vec<float, 4> *)(out0
# CHECK-NOT: __global__
entry maps(x : f32[N, 64], b : f32[64]) { return y = exp(relu(x * b + 0.5)) - x }
# CHECK-LABEL: /* {{.*}}: f16[1024,64] */
# CHECK: const Vec<uint16_t, 8> {{[a-z0-9]+}} = *(const Vec<uint16_t, 8> *)(in0
# CHECK: *(Vec<uint16_t, 8> *)(out0
entry halves(x : f16[N, 64]) { return y = relu(x) + x }
# Three layers of the same shapes: one kernel for all of them, with what stands behind the product.
# CHECK-LABEL: /* {{.*}}matmul{{.*}}relu{{.*}}: f32[1024,64] */
# CHECK: typedef GemmRing<
# CHECK-NOT: __global__
def layer(x) {
  param w : f32[64, 64] = zeros()
  param b : f32[64] = zeros()
  return relu(x @ w + b)
}
entry layers(x : f32[N, 64]) { return y = layer(layer(layer(x) as a) as b) as c }
# Sums that another program would leave to atomics.
# CHECK-LABEL: /* {{.*}}gather_grad{{.*}} */
# CHECK: warp_ballot(
entry ids(t : f32[50, 64], i : i32[30], w : f32[30, 64]) { return d = grad(sum(gather(t, i) * w), t) }
# Constants by which groups differ are parameters of one kernel, and so are keys of random numbers; those that all of them
# share, and divisors, are literals.
# CHECK-LABEL: /* {{.*}}: f32[77] */
# CHECK: GcDeviceFault *fault, uint64_t constant0) {
# CHECK: * constant_f32(constant0)
# CHECK: + 0.25f
# CHECK-NOT: f32[77]
entry factors(x : f32[77]) { return y = x * 0.5 + 0.25 }
entry factors_too(x : f32[77]) { return y = x * 1.5 + 0.25 }
# CHECK-LABEL: /* {{.*}}: f32[78] */
# CHECK: divide({{.*}}, 3.0f)
# CHECK: /* {{.*}}: f32[78] */
# CHECK: divide({{.*}}, 7.0f)
entry quotients(x : f32[78]) { return y = x / 3 }
entry quotients_too(x : f32[78]) { return y = x / 7 }
# CHECK-LABEL: /* random_normal: f32[5000003] */
# CHECK: philox(constant_u64(constant0) ^
entry draws() {
  param a : f32[5000003] = normal()
  param b : f32[5000003] = normal()
  return y = a + b
}
