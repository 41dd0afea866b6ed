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
