/* Kernels of the families that a compiler of neural networks writes. With BUG=n the n-th planted bug is in:
 * the numbers are those of bugs[] in test_kernels.c. No header: NVRTC needs no include directory. */
#ifndef BUG
#define BUG 0
#endif
typedef unsigned short u16;
typedef unsigned u32;

__device__ __forceinline__ u32 shared_address(const void *p) {
  return (u32)__cvta_generic_to_shared(p);
}
__device__ __forceinline__ void copy_async(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void copy_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
__device__ __forceinline__ void load_matrix(u32 *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)) : "memory");
}
__device__ __forceinline__ void load_matrix_trans(u32 *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
               : "=r"(r[0]), "=r"(r[1]) : "r"(shared_address(p)) : "memory");
}
#define MMA(name, shape, type)                                                                     \
  __device__ __forceinline__ void name(float *d, const u32 *a, const u32 *b) {                     \
    asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 "                   \
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                           \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));              \
  }
MMA(mma_bf16, "m16n8k16", "bf16")
MMA(mma_f16, "m16n8k16", "f16")
MMA(mma_tf32, "m16n8k8", "tf32")

/* z = max(x * y + 1, 0), four at a time and a tail */
extern "C" __global__ void map4(const float *x, const float *y, float *z, int n) {
  int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
#if BUG == 1
  if (i < n) {
#else
  if (i + 4 <= n) {
#endif
    float4 a = *(const float4 *)(x + i), b = *(const float4 *)(y + i), c;
    c.x = fmaxf(a.x * b.x + 1.0f, 0.0f);
    c.y = fmaxf(a.y * b.y + 1.0f, 0.0f);
    c.z = fmaxf(a.z * b.z + 1.0f, 0.0f);
    c.w = fmaxf(a.w * b.w + 1.0f, 0.0f);
    *(float4 *)(z + i) = c;
  } else {
    for (; i < n; i++) z[i] = fmaxf(x[i] * y[i] + 1.0f, 0.0f);
  }
}

/* y = softmax of each row */
extern "C" __global__ void __launch_bounds__(128) softmax(const float *x, float *y, int n) {
  __shared__ float part[4];
  int t = threadIdx.x;
  const float *p = x + (size_t)blockIdx.x * n;
  float m = -3.0e38f, s = 0.0f;
  for (int i = t; i < n; i += 128) m = fmaxf(m, p[i]);
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
  if (t % 32 == 0) part[t / 32] = m;
#if BUG == 13
  if (t < 40) __syncthreads();
#elif BUG != 2
  __syncthreads();
#endif
  m = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
#if BUG != 3
  __syncthreads();
#endif
  for (int i = t; i < n; i += 128) s += __expf(p[i] - m);
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
  if (t % 32 == 0) part[t / 32] = s;
#if BUG == 4
  if (t < 64) __syncthreads();
#else
  __syncthreads();
#endif
  s = part[0] + part[1] + part[2] + part[3];
  for (int i = t; i < n; i += 128) y[(size_t)blockIdx.x * n + i] = __expf(p[i] - m) / s;
}

extern "C" __global__ void __launch_bounds__(256) transpose(const float *x, float *y, int rows, int cols) {
  __shared__ float tile[32][33];
  int tx = threadIdx.x & 31, ty = threadIdx.x >> 5;
  int c = blockIdx.x * 32 + tx, r0 = blockIdx.y * 32;
  for (int r = ty; r < 32; r += 8)
    if (r0 + r < rows && c < cols) tile[r][tx] = x[(r0 + r) * cols + c];
#if BUG != 5
  __syncthreads();
#endif
  int oc = r0 + tx, or0 = blockIdx.x * 32;
  for (int r = ty; r < 32; r += 8)
#if BUG == 6
    if (or0 + r <= cols && oc < rows) y[(or0 + r) * rows + oc] = tile[tx][r];
#else
    if (or0 + r < cols && oc < rows) y[(or0 + r) * rows + oc] = tile[tx][r];
#endif
}

/* c = a b in float, 16 x 16 tiles; sizes are multiples of 16 */
extern "C" __global__ void __launch_bounds__(256) gemm_f32(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float as[16][17], bs[16][17];
  int tx = threadIdx.x & 15, ty = threadIdx.x >> 4;
  int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float sum = 0.0f;
  for (int k0 = 0; k0 < k; k0 += 16) {
    as[ty][tx] = a[row * k + k0 + tx];
#if BUG == 7
    if (ty < 15)
#endif
    bs[ty][tx] = b[(k0 + ty) * n + col];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++) sum += as[ty][i] * bs[i][tx];
#if BUG != 8
    __syncthreads();
#endif
  }
  c[row * n + col] = sum;
}

/* c = a b, 16-bit elements, a 64 x 64 tile by 4 warps, three stages of cp.async */
#define STAGES 3
template <bool HALF> __device__ __forceinline__ void gemm_16(const u16 *a, const u16 *b, float *c, int m, int n, int k) {
  extern __shared__ __align__(16) u16 memory[];
  const int AS = 40, BS = 72; /* elements a row, padded */
  u16 *as = memory, *bs = memory + STAGES * 64 * AS;
  int t = threadIdx.x, w = t >> 5, l = t & 31, wm = (w >> 1) * 32, wn = (w & 1) * 32;
  a += (size_t)blockIdx.y * 64 * k;
  b += blockIdx.x * 64;
  float acc[2][4][4];
#pragma unroll
  for (int i = 0; i < 32; i++) ((float *)acc)[i] = 0.0f;
  int tiles = k / 32;
#define FETCH(tile)                                                                                \
  {                                                                                                \
    int s_ = (tile) % STAGES, k_ = (tile) * 32;                                                    \
    for (int i = t; i < 256; i += 128) {                                                           \
      copy_async(as + s_ * 64 * AS + (i >> 2) * AS + (i & 3) * 8, a + (size_t)(i >> 2) * k + k_ + (i & 3) * 8); \
      copy_async(bs + s_ * 32 * BS + (i >> 3) * BS + (i & 7) * 8, b + (size_t)(k_ + (i >> 3)) * n + (i & 7) * 8); \
    }                                                                                              \
  }
  for (int s = 0; s < STAGES - 1; s++) {
    if (s < tiles) FETCH(s)
    copy_commit();
  }
  for (int tile = 0; tile < tiles; tile++) {
#if BUG != 9
    copy_wait<STAGES - 2>();
#endif
#if BUG != 10
    __syncthreads();
#endif
    if (tile + STAGES - 1 < tiles) FETCH(tile + STAGES - 1)
    copy_commit();
    const u16 *at = as + tile % STAGES * 64 * AS, *bt = bs + tile % STAGES * 32 * BS;
#pragma unroll
    for (int kk = 0; kk < 32; kk += 16) {
      u32 fa[2][4], fb[4][2];
#pragma unroll
      for (int i = 0; i < 2; i++) load_matrix(fa[i], at + (wm + i * 16 + (l & 15)) * AS + kk + (l >> 4) * 8);
#pragma unroll
      for (int j = 0; j < 4; j++) load_matrix_trans(fb[j], bt + (kk + (l & 15)) * BS + wn + j * 8);
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
          if (HALF)
            mma_f16(acc[i][j], fa[i], fb[j]);
          else
            mma_bf16(acc[i][j], fa[i], fb[j]);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) {
      int r = blockIdx.y * 64 + wm + i * 16 + (l >> 2), q = blockIdx.x * 64 + wn + j * 8 + (l & 3) * 2;
      *(float2 *)(c + (size_t)r * n + q) = make_float2(acc[i][j][0], acc[i][j][1]);
      *(float2 *)(c + (size_t)(r + 8) * n + q) = make_float2(acc[i][j][2], acc[i][j][3]);
    }
}
extern "C" __global__ void __launch_bounds__(128) gemm_bf16(const u16 *a, const u16 *b, float *c, int m, int n, int k) {
  gemm_16<false>(a, b, c, m, n, k);
}
extern "C" __global__ void __launch_bounds__(128) gemm_f16(const u16 *a, const u16 *b, float *c, int m, int n, int k) {
  gemm_16<true>(a, b, c, m, n, k);
}

/* c = a b with tf32, one warp a 16 x 8 tile */
extern "C" __global__ void __launch_bounds__(32) gemm_tf32(const float *a, const float *b, float *c, int m, int n, int k) {
  int l = threadIdx.x, g = l >> 2, q = l & 3;
  const float *ap = a + (size_t)blockIdx.y * 16 * k, *bp = b + blockIdx.x * 8;
  float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int k0 = 0; k0 < k; k0 += 8) {
    u32 fa[4], fb[2];
#pragma unroll
    for (int i = 0; i < 4; i++)
      asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(fa[i]) : "f"(ap[(g + 8 * (i & 1)) * k + k0 + q + 4 * (i >> 1)]));
#pragma unroll
    for (int i = 0; i < 2; i++) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(fb[i]) : "f"(bp[(k0 + q + 4 * i) * n + g]));
    mma_tf32(acc, fa, fb);
  }
  float *cp = c + (size_t)(blockIdx.y * 16 + g) * n + blockIdx.x * 8 + 2 * q;
  cp[0] = acc[0];
  cp[1] = acc[1];
  cp[8 * n] = acc[2];
  cp[8 * n + 1] = acc[3];
}

/* y[0] = sum of x; the block that finishes last adds up what the others left */
extern "C" __global__ void __launch_bounds__(64) sum_all(const float *x, float *part, u32 *count, float *y, int n) {
  __shared__ float warps[2];
  __shared__ bool last;
  int t = threadIdx.x;
#if BUG == 11
  float s;
#else
  float s = 0.0f;
#endif
  for (int i = blockIdx.x * 64 + t; i < n; i += gridDim.x * 64) s += x[i];
  for (int o = 16; o; o >>= 1) s += __shfl_down_sync(0xffffffffu, s, o);
  if (t % 32 == 0) warps[t / 32] = s;
  __syncthreads();
  if (t == 0) {
    part[blockIdx.x] = warps[0] + warps[1];
#if BUG != 12
    __threadfence();
#endif
    last = atomicAdd(count, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    __threadfence();
    s = 0.0f;
    for (int i = 0; i < gridDim.x; i++) s += ((volatile float *)part)[i];
    y[0] = s;
  }
}
