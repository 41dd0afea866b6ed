/* Products on Hopper: TMA fills shared memory, warpgroups multiply. With BUG=n the n-th planted bug is in: the numbers are
 * those of bugs[] in test_hopper.c; with WANT_name that kernel alone is, but for those of BUG=0. No header: NVRTC needs no
 * include directory. */
#ifndef BUG
#define BUG 0
#endif
#if !defined WANT_bf16_3 && !defined WANT_registers && !defined WANT_gemm_1 && !defined WANT_gemm_2
#define WANT_bf16_3
#define WANT_registers
#define WANT_gemm_1
#define WANT_gemm_2
#endif
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;
struct alignas(64) TensorMap {
  u64 opaque[16];
};

__device__ __forceinline__ u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void barrier_init(u32 bar, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ __forceinline__ void barrier_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void barrier_expect(u32 bar, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(u32 bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
/* in another CTA of the cluster */
__device__ __forceinline__ void barrier_arrive(u32 bar, u32 cta) {
  asm volatile("{\n.reg .b32 at;\nmapa.shared::cluster.u32 at, %0, %1;\n"
               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [at];\n}" ::"r"(bar), "r"(cta) : "memory");
}
__device__ __forceinline__ void barrier_wait(u32 bar, u32 parity) {
  asm volatile("{\n.reg .pred P1;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 bra DONE;\nbra WAIT;\nDONE:\n}"
               ::"r"(bar), "r"(parity) : "memory");
}
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
__device__ __forceinline__ u32 cluster_rank() {
  u32 r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
__device__ __forceinline__ void load_tile(u32 to, const TensorMap *map, int x, int y, u32 bar) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(bar) : "memory");
}
__device__ __forceinline__ void load_tile_all(u32 to, const TensorMap *map, int x, int y, u32 bar, u16 ctas) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(bar), "h"(ctas) : "memory");
}
/* swizzle 0, 1, 2, 3: none, 32, 64, 128 bytes; lead and stride in bytes */
__device__ __forceinline__ u64 describe(u32 at, u32 lead, u32 stride, int swizzle) {
  return (u64)(at >> 4 & 0x3fff) | (u64)(lead >> 4) << 16 | (u64)(stride >> 4) << 32 | (u64)((4 - swizzle) & 3) << 62;
}
__device__ __forceinline__ void wgmma_fence() {
#if BUG != 7
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void wgmma_commit() {
#if BUG != 9
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
template <int N> __device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }

#define SUMS_16 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}"
#define SUMS_32 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}"
#define FOUR(c, d, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define SIXTEEN(c, d, i) FOUR(c, d, i), FOUR(c, d, i + 4), FOUR(c, d, i + 8), FOUR(c, d, i + 12)
#define FLOATS "+f"
#define WORDS "+r"
/* types: 0 bf16, 1 f16, 2 tf32, 3 f16 with sums in f16 */
template <int TYPE, int TA, int TB> __device__ __forceinline__ void multiply(float *d, u64 a, u64 b, int add) {
  if (TYPE == 0)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " SUMS_32
                 ", %32, %33, p, 1, 1, %35, %36;\n}" : SIXTEEN(FLOATS, d, 0), SIXTEEN(FLOATS, d, 16)
                 : "l"(a), "l"(b), "r"(add), "n"(TA), "n"(TB) : "memory");
  else if (TYPE == 1)
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " SUMS_32
                 ", %32, %33, p, 1, 1, %35, %36;\n}" : SIXTEEN(FLOATS, d, 0), SIXTEEN(FLOATS, d, 16)
                 : "l"(a), "l"(b), "r"(add), "n"(TA), "n"(TB) : "memory");
  else
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\nwgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 " SUMS_32
                 ", %32, %33, p, 1, 1;\n}" : SIXTEEN(FLOATS, d, 0), SIXTEEN(FLOATS, d, 16)
                 : "l"(a), "l"(b), "r"(add) : "memory");
}
__device__ __forceinline__ void multiply_half(u32 *d, u64 a, u64 b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16 " SUMS_16
               ", %16, %17, p, 1, 1, 0, 0;\n}" : SIXTEEN(WORDS, d, 0) : "l"(a), "l"(b), "r"(add) : "memory");
}
__device__ __forceinline__ void multiply_registers(float *d, const u32 *a, u64 b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " SUMS_32
               ", {%32,%33,%34,%35}, %36, p, 1, -1, 0;\n}" : SIXTEEN(FLOATS, d, 0), SIXTEEN(FLOATS, d, 16)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add) : "memory");
}

/* One operand of 64 rows, 64 * 2 bytes deep, in pieces as wide as the swizzle: along k, or along the rows (turned). */
#define DEEP 128
#define OPERAND (64 * DEEP)
template <int S, int BYTES, bool TURNED> struct Operand {
  static const int WIDE = 16 << S, PIECES = TURNED ? 64 * BYTES / WIDE : DEEP / WIDE, LINES = TURNED ? DEEP / BYTES : 64;
  static __device__ void load(u32 to, const TensorMap *map, u32 bar) {
    for (int i = 0; i < PIECES; i++) load_tile(to + i * LINES * WIDE, map, i * (WIDE / BYTES), 0, bar);
  }
  /* step: 32 bytes of k */
  static __device__ u64 at(u32 base, int step) {
    if (TURNED)
      return S ? describe(base + step * 16 * WIDE, LINES * WIDE, 8 * WIDE, S) : describe(base + step * 256, 128, LINES * 16, 0);
    return S ? describe(base + step * 32 / WIDE * LINES * WIDE + step * 32 % WIDE, 16, 8 * WIDE, S)
             : describe(base + 2 * step * LINES * 16, LINES * 16, 128, 0);
  }
};
__device__ __forceinline__ void load_both(u32 full, int bytes) {
  if (threadIdx.x == 0) {
    barrier_init(full, 1);
    barrier_fence();
    barrier_expect(full, bytes);
  }
  __syncthreads();
}

/* c[64][64] = a b by one warpgroup, in every layout */
template <int TYPE, int S, bool TA, bool TB> __device__ __forceinline__ void tile(const TensorMap *a, const TensorMap *b, float *c) {
  __shared__ __align__(1024) unsigned char as[OPERAND], bs[OPERAND];
  __shared__ u64 bar;
  typedef Operand<S, TYPE == 2 ? 4 : 2, TA> A;
  typedef Operand<S, TYPE == 2 ? 4 : 2, TB> B;
  u32 full = shared_address(&bar), at = shared_address(as), bt = shared_address(bs);
  load_both(full, 2 * OPERAND);
  if (threadIdx.x == 0) A::load(at, a, full), B::load(bt, b, full);
  barrier_wait(full, 0);
  int w = threadIdx.x >> 5, l = threadIdx.x & 31;
  float d[32];
  u32 h[16];
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (TYPE == 3)
      multiply_half(h, A::at(at, i), B::at(bt, i), i);
    else
      multiply<TYPE, TA, TB>(d, A::at(at, i), B::at(bt, i), i);
  wgmma_commit();
  wgmma_wait<0>();
#pragma unroll
  for (int n = 0; n < 32; n++) {
    float v = d[n];
    if (TYPE == 3) asm("{\n.reg .b16 lo, hi;\nmov.b32 {lo, hi}, %1;\ncvt.f32.f16 %0, lo;\n}" : "=f"(v) : "r"(h[n / 2] >> 16 * (n & 1)));
    c[(w * 16 + (l >> 2) + 8 * (n >> 1 & 1)) * 64 + (n >> 2) * 8 + 2 * (l & 3) + (n & 1)] = v;
  }
}
#define TILE(name, type, s, ta, tb)                                                                                   \
  extern "C" __global__ void __launch_bounds__(128) name(const __grid_constant__ TensorMap a,                         \
                                                         const __grid_constant__ TensorMap b, float *c) {             \
    tile<type, s, ta, tb>(&a, &b, c);                                                                                 \
  }
#if BUG == 0
TILE(bf16_0, 0, 0, 0, 0)
TILE(bf16_1, 0, 1, 0, 0)
TILE(bf16_2, 0, 2, 0, 0)
TILE(bf16_0_turned, 0, 0, 1, 1)
TILE(bf16_1_turned, 0, 1, 1, 1)
TILE(bf16_2_turned, 0, 2, 1, 1)
TILE(bf16_3_turned, 0, 3, 1, 1)
TILE(f16_3, 1, 3, 0, 1)
TILE(f16_sums_3, 3, 3, 0, 0)
TILE(tf32_3, 2, 3, 0, 0)
TILE(tf32_0, 2, 0, 0, 0)
#endif
#ifdef WANT_bf16_3
TILE(bf16_3, 0, 3, 0, 0)
#endif

#ifdef WANT_registers
/* c = -a b with a in registers; b is copied by threads, from 16-byte units of rows along k with the swizzle in place */
extern "C" __global__ void __launch_bounds__(128) registers(const u32 *a, const uint4 *b, float *c) {
  __shared__ __align__(1024) unsigned char bs[OPERAND];
  int t = threadIdx.x, w = t >> 5, l = t & 31;
  u32 bt = shared_address(bs), fa[4][4];
  for (int i = t; i < OPERAND / 16; i += 128) *(uint4 *)(bs + ((i ^ (i >> 3 & 7)) * 16)) = b[i];
  for (int i = 0; i < 4; i++)
    for (int r = 0; r < 4; r++) fa[i][r] = a[(w * 16 + (l >> 2) + 8 * (r & 1)) * 32 + i * 8 + (l & 3) + 4 * (r >> 1)];
  float d[32];
#if BUG != 20
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
  wgmma_fence();
#pragma unroll
  for (int i = 0; i < 4; i++) multiply_registers(d, fa[i], Operand<3, 2, false>::at(bt, i), i);
  wgmma_commit();
  wgmma_wait<0>();
#pragma unroll
  for (int n = 0; n < 32; n++)
    c[(w * 16 + (l >> 2) + 8 * (n >> 1 & 1)) * 64 + (n >> 2) * 8 + 2 * (l & 3) + (n & 1)] = d[n];
}
#endif

/* c = a b in bf16: a[m][k], b[k][n]. A tile is 128 x 64, a stage 64 deep. Blocks go from tile to tile; warps 0 to 3 load,
 * 4 to 11 multiply. A cluster has CTAS tiles above one another: each block loads a part of b's columns for all of them. */
#define STAGES 3
#define A_BYTES (128 * 64 * 2)
#define B_BYTES (64 * 64 * 2)
#define STAGE_BYTES (A_BYTES + B_BYTES)
template <int CTAS> __device__ __forceinline__ void gemm(const TensorMap *a, const TensorMap *b, float *c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ __align__(8) u64 bars[2 * STAGES];
  u32 tiles = shared_address(memory), full = shared_address(bars), empty = full + 8 * STAGES, rank = CTAS > 1 ? cluster_rank() : 0;
  int t = threadIdx.x, group = t >> 7, steps = (k + 63) / 64, columns = n / 64, all = (m + 128 * CTAS - 1) / (128 * CTAS) * columns;
  if (t == 0) {
    for (int i = 0; i < STAGES; i++) {
      barrier_init(full + 8 * i, 1);
#if BUG == 15
      barrier_init(empty + 8 * i, 2 * CTAS);
#else
      barrier_init(empty + 8 * i, 8 * CTAS);
#endif
    }
#if BUG != 1
    barrier_fence();
#endif
  }
#if BUG != 17
  if (CTAS > 1) cluster_sync();
#endif
#if BUG != 2
  __syncthreads();
#endif
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (t == 0) {
      int stage = 0, phase = 0;
      for (int tile = blockIdx.x / CTAS; tile < all; tile += gridDim.x / CTAS) {
        for (int s = 0; s < steps; s++) {
#if BUG == 3
          barrier_wait(empty + 8 * stage, phase);
#elif BUG != 4
          barrier_wait(empty + 8 * stage, phase ^ 1);
#endif
#if BUG == 5
          barrier_arrive(full + 8 * stage);
#elif BUG == 6
          barrier_expect(full + 8 * stage, STAGE_BYTES / 2);
#else
          barrier_expect(full + 8 * stage, STAGE_BYTES);
#endif
          u32 at = tiles + stage * STAGE_BYTES, bt = at + A_BYTES;
          load_tile(at, a, s * 64, (tile / columns * CTAS + rank) * 128, full + 8 * stage);
          if (CTAS == 1)
            load_tile(bt, b, tile % columns * 64, s * 64, full + 8 * stage);
          else
            load_tile_all(bt + rank * (B_BYTES / CTAS), b, tile % columns * 64, s * 64 + rank * (64 / CTAS), full + 8 * stage,
#if BUG == 19
                          1 << rank);
#else
                          (1 << CTAS) - 1);
#endif
          if (++stage == STAGES) stage = 0, phase ^= 1;
        }
      }
    }
  } else {
#if BUG == 14
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
#else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
#endif
    int w = t >> 5 & 3, l = t & 31, stage = 0, phase = 0;
#if BUG == 15
    int leads = (t & 127) == 0;
#else
    int leads = l == 0;
#endif
    for (int tile = blockIdx.x / CTAS; tile < all; tile += gridDim.x / CTAS) {
      float d[32];
      int last = -1;
#pragma unroll
      for (int i = 0; i < 32; i++) d[i] = 0.0f;
      for (int s = 0; s < steps; s++) {
#if BUG != 10
        barrier_wait(full + 8 * stage, phase);
#endif
        u32 at = tiles + stage * STAGE_BYTES + (group - 1) * (A_BYTES / 2), bt = tiles + stage * STAGE_BYTES + A_BYTES;
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < 4; i++)
#if BUG == 12
          multiply<0, 0, 1>(d, describe(at + 32 * i, 16, 1024, 2), describe(bt + 2048 * i, 8192, 1024, 3), 1);
#elif BUG == 13
          multiply<0, 0, 1>(d, describe(at + 32 * i, 16, 512, 3), describe(bt + 2048 * i, 8192, 1024, 3), 1);
#else
          multiply<0, 0, 1>(d, describe(at + 32 * i, 16, 1024, 3), describe(bt + 2048 * i, 8192, 1024, 3), 1);
#endif
        wgmma_commit();
        wgmma_wait<1>();
#if BUG == 11
        last = stage;
#endif
        if (leads && last >= 0)
          for (int i = 0; i < CTAS; i++) CTAS == 1 ? barrier_arrive(empty + 8 * last) : barrier_arrive(empty + 8 * last, i);
        last = stage;
        if (++stage == STAGES) stage = 0, phase ^= 1;
      }
#if BUG != 8
      wgmma_wait<0>();
#endif
#if BUG != 11
      if (leads)
        for (int i = 0; i < CTAS; i++) CTAS == 1 ? barrier_arrive(empty + 8 * last) : barrier_arrive(empty + 8 * last, i);
#endif
      int row = (tile / columns * CTAS + rank) * 128 + (group - 1) * 64 + w * 16 + (l >> 2), col = tile % columns * 64 + 2 * (l & 3);
#pragma unroll
      for (int j = 0; j < 8; j++)
#pragma unroll
        for (int h = 0; h < 2; h++)
          if (row + 8 * h < m)
            *(float2 *)(c + (size_t)(row + 8 * h) * n + col + 8 * j) = make_float2(d[4 * j + 2 * h], d[4 * j + 2 * h + 1]);
    }
  }
#if BUG != 18
  if (CTAS > 1) cluster_sync();
#endif
}
#ifdef WANT_gemm_1
extern "C" __global__ void __launch_bounds__(384, 1) gemm_1(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                                                            float *c, int m, int n, int k) {
  gemm<1>(&a, &b, c, m, n, k);
}
#endif
#ifdef WANT_gemm_2
extern "C" __global__ void __launch_bounds__(384, 1) __cluster_dims__(2, 1, 1)
    gemm_2(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *c, int m, int n, int k) {
  gemm<2>(&a, &b, c, m, n, k);
}
#endif
