/* Products on the ordinary units, exactly: every element of C is one chain of fma over at most 1024 of
   depth, such chains added in order, as on the CPU. A block of 256 threads does BM x BN of C, a thread
   TM x TN of it, from k-tiles of BK of the depth in shared memory; the next one is loaded into registers while
   one is multiplied. All sizes are constants: what cannot lie outside is not checked. */
/* section gemm_fma */
INL f32 gemm_fma(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
INL f64 gemm_fma(f64 a, f64 b, f64 c) { return __fma_rn(a, b, c); }
INL i32 gemm_fma(i32 a, i32 b, i32 c) { return (i32)((uint32_t)a * (uint32_t)b + (uint32_t)c); }
INL i64 gemm_fma(i64 a, i64 b, i64 c) { return (i64)((uint64_t)a * (uint64_t)b + (uint64_t)c); }
/* section Identity */
/* converters from the stored type of an operand to that of the sums */
template <typename T> struct Identity {
  typedef T Stored;
  INL_MEMBER T get(T x) { return x; }
};
/* section FromF16 */
struct FromF16 {
  typedef uint16_t Stored;
  INL_MEMBER f32 get(uint16_t x) { return f16_to_f32(x); }
};
/* section FromBf16 */
struct FromBf16 {
  typedef uint16_t Stored;
  INL_MEMBER f32 get(uint16_t x) { return bf16_to_f32(x); }
};
/* section RoundF16 */
struct RoundF16 {
  typedef f32 Stored;
  INL_MEMBER f32 get(f32 x) { return f16_round(x); }
};
/* section RoundBf16 */
struct RoundBf16 {
  typedef f32 Stored;
  INL_MEMBER f32 get(f32 x) { return bf16_round(x); }
};
/* section RoundTf32 */
struct RoundTf32 {
  typedef f32 Stored;
  INL_MEMBER f32 get(f32 x) { return f32_tf32(x); }
};
/* section FromByte */
template <class T> struct FromByte {
  typedef T Stored;
  INL_MEMBER i32 get(T x) { return x; }
};
/* section GemmSide */
/* A side of a k-tile on its way to shared memory, in registers: EDGE of the SIZE rows or columns of C by BK of the depth
   K. DOWN: stored with the depth as rows. ROW: elements from one stored row to the next. Threads side by side read
   elements side by side. */
template <typename I, typename T, typename X, int EDGE, int SIZE, int K, bool DOWN, int ROW, int BK, int THREADS>
struct GemmSide {
  typedef const typename X::Stored *From;
  enum { EACH = EDGE * BK / THREADS }; /* of a thread */
  T r[EACH];
  __device__ __forceinline__ void load(From from, int first, int k0, int size, int depth) {
#pragma unroll
    for (int p = 0; p < EACH; p++) {
      const int e = (int)threadIdx.x + p * THREADS;
      const int k = k0 + (DOWN ? e / EDGE : e % BK), at = first + (DOWN ? e % EDGE : e / BK);
      const bool in = ((SIZE % EDGE == 0 && size == SIZE) || at < size) && ((K % BK == 0 && depth == K) || k < depth);
      r[p] = in ? X::get(from[DOWN ? (I)k * ROW + at : (I)at * ROW + k]) : (T)0;
    }
  }
  template <int PITCH> __device__ __forceinline__ void store(T (&to)[BK][PITCH]) {
#pragma unroll
    for (int p = 0; p < EACH; p++) {
      const int e = (int)threadIdx.x + p * THREADS;
      to[DOWN ? e / EDGE : e % BK][DOWN ? e % EDGE : e / BK] = r[p];
    }
  }
};
/* section Gemm */
/* I: of positions. TA: A is stored [K, M]; TB: B is stored [N, K]. DEPTH: the most of a chain. A_ROW, B_ROW:
   elements from one stored row to the next. B_SIDE: how B comes to shared memory. BLOCK: threads. `rows`, `depth`, `columns`: M, K and N,
   or less at run time. */
template <typename I, typename T, typename A, typename B, int M, int N, int K, bool TA, bool TB, int BM,
          int BN, int TM, int TN, int DEPTH = 1024, int A_ROW = TA ? M : K, int B_ROW = TB ? K : N,
          typename B_SIDE = GemmSide<I, T, B, BN, N, K, !TB, B_ROW, 16, 256>, int BLOCK = 256>
struct Gemm {
  enum {
    THREADS = BLOCK, BK = 16, PAD = 4,
    VN = TN < 4 ? TN : 4, GROUPS = TN / VN, LANES = BN / TN /* threads side by side */
  };
  typedef GemmSide<I, T, A, BM, M, K, TA, A_ROW, BK, THREADS> SideA;
  T a[BK][BM + PAD], b[BK][BN + PAD];

  INL_MEMBER int row(int i) { return (int)threadIdx.x / LANES * TM + i; }
  /* the first column of group q */
  INL_MEMBER int col(int q) { return q * (BN / GROUPS) + (int)threadIdx.x % LANES * VN; }

  __device__ __forceinline__ void run(T (&c)[TM][TN], typename SideA::From pa, typename B_SIDE::From pb, int m0,
                                      int n0, int rows = M, int depth = K, int columns = N) {
    SideA ra;
    B_SIDE rb;
    if (K > 0) {
      ra.load(pa, m0, 0, rows, depth);
      rb.load(pb, n0, 0, columns, depth);
    }
    if (K <= DEPTH) { /* one chain, without registers for earlier ones */
      chain(c, ra, rb, pa, pb, m0, n0, 0, depth, rows, depth, columns);
      return;
    }
    T acc[TM][TN];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) c[i][j] = 0;
    /* A chain after the other: sums that would end inside the loop over k-tiles cost registers. */
#pragma unroll 1
    for (int d0 = 0; d0 < depth; d0 += DEPTH) {
      chain(acc, ra, rb, pa, pb, m0, n0, d0, depth - d0 < DEPTH ? depth : d0 + DEPTH, rows, depth, columns);
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) c[i][j] = d0 == 0 ? acc[i][j] : acc[i][j] + c[i][j];
    }
  }
  /* the sums over the k-tiles from d0 to end, the first of which ra and rb have, as they then have the one behind */
  __device__ __forceinline__ void chain(T (&acc)[TM][TN], SideA &ra, B_SIDE &rb, typename SideA::From pa,
                                        typename B_SIDE::From pb, int m0, int n0, int d0, int end, int rows, int depth,
                                        int columns) {
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
#pragma unroll 1
    for (int k0 = d0; k0 < end; k0 += BK) {
      ra.store(a);
      rb.store(b);
      block_sync();
      if (k0 + BK < depth) {
        ra.load(pa, m0, k0 + BK, rows, depth);
        rb.load(pb, n0, k0 + BK, columns, depth);
      }
      multiply(acc, k0, depth);
      block_sync();
    }
  }
  /* adds the k-tile from k0 on */
  __device__ __forceinline__ void multiply(T (&acc)[TM][TN], int k0, int depth) {
#pragma unroll
    for (int k = 0; k < BK; k++) {
      if ((K % BK == 0 && depth == K) || k0 + k < depth) {
        T va[TM], vb[TN];
#pragma unroll
        for (int i = 0; i < TM; i++) va[i] = a[k][row(i)];
#pragma unroll
        for (int j = 0; j < TN; j++) vb[j] = b[k][col(j / VN) + j % VN];
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
          for (int j = 0; j < TN; j++) acc[i][j] = gemm_fma(va[i], vb[j], acc[i][j]);
      }
    }
  }
};
