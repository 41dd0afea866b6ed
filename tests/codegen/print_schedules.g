# RUN: %gc %s --target=cuda,cpu -march=x86-64-v4 --print-schedules | FileCheck-14 %s
# RUN: %gc %s --target=cpu -march=x86-64-v3 --print-schedules | FileCheck-14 --check-prefix=AVX2 %s
# RUN: mkdir -p %t.dir && cd %t.dir && rm -f * && %gc %s --target=cpu --print-schedules && test -z "$(ls)"
# RUN: %gc %S/../../docs/examples/lstm.g --target=cuda,cpu --print-schedules | FileCheck-14 --check-prefix=ENTRIES %s
# A line for each kernel, and nothing is made: of the GPU's program, which is tried first, then of the CPU's.
entry step(x : f32[64, 784], w : f32[784, 256], b : f32[256]) {
  h = relu(x @ w + b)
  return h, total = sum(h, axis = 0), p = softmax(h)
}
# Of tiles that wait for memory as long, the smallest.
entry small(x : f32[16, 32], w : f32[32, 32]) { return y = x @ w }

# CHECK:      cuda k0 matmul product batch=1 m=64 n=256 k=784 a_row=784 b_row=256 tensor=no bm=16 {{.*}}blocks=128 threads=64 shared=0 launches=1 entries=step
# CHECK-NEXT: cuda k1 sum columns rows=64 columns=256 {{.*}}launches=1 entries=step
# CHECK-NEXT: cuda k2 softmax rows rows=64 elements=256 group=warp {{.*}}launches=1 entries=step
# CHECK-NEXT: cuda k3 matmul product batch=1 m=16 n=32 k=32 {{.*}} bm=16 bn=8 {{.*}} entries=small
# CHECK-NEXT: cpu machine level=x86-64-v4 vector=64 columns=64 rows=6 pairs=no amx=no l1=32768 ways=8 l2=1048576 l3=4194304
# CHECK-NEXT: cpu k0_matmul_add_relu matmul product batch=1 m=64 n=256 k=784 nr=64 np=4 rows=5 tiles=11 low=2 least=4 {{.*}}split=panels units=44 balance={{[0-9.,]+}} flops=25722880 bytes={{[0-9]+}} launches=1 entries=step
# CHECK-NEXT: cpu k1_{{.*}} columns rows=64 columns=256 outer=1 blocks=4 width=64
# CHECK-NEXT: cpu k2_softmax softmax rows rows=64 elements=256 lanes=yes chunks=1
# CHECK-NEXT: cpu k3_matmul matmul product {{.*}} entries=small
# CHECK-NOT:  {{^}}cpu

# AVX2: cpu k0_matmul_add_relu matmul product {{.*}}nr=16 np=16 {{.*}}units=176
# AVX2-NOT: cuda

# ENTRIES: cuda {{.*}} launches=2 entries=train,validate
# ENTRIES: cuda {{.*}} entries=write
# ENTRIES: cuda {{.*}} entries=initialisation
# ENTRIES: cpu {{.*}} launches=2 entries=train,validate
# ENTRIES: cpu {{.*}} entries=write
