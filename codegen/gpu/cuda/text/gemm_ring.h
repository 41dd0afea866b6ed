/* Products on the ordinary units of few tiles, exactly: the sums of gemm.h, by small blocks that wait little. K-tiles of
   BK of the depth go through a ring of STAGES in shared memory: while one is multiplied, the next ones are copied
   (cp.async), without registers. Contract: rows of A and B in memory begin at multiples of COPY bytes, 4 to 16; the
   order of the sums is that of gemm.h, and so of the CPU. */
/* section GemmRing */
/* A side of a k-tile: EDGE rows or columns of C, of which a thread has TX. ACROSS: stored with the depth as rows. A row
   in shared memory keeps the order of global memory, with 16 bytes behind it: threads that read eight rows, or one row,
   at a time read different banks. */
template <typename T, int EDGE, int TX, bool ACROSS, int BK, int COPY, int THREADS> struct RingSide {
  enum {
    STEP = 16 / sizeof(T), /* of the depth that a thread has in registers */
    ROWS = ACROSS ? BK : EDGE, ELEMENTS = ACROSS ? EDGE : BK, PITCH = ELEMENTS + STEP, SIZE = ROWS * PITCH,
    EACH = COPY / sizeof(T), PER_ROW = ELEMENTS / EACH, COPIES = ROWS * PER_ROW,
    SIDE = !ACROSS ? 1 : TX < 4 ? TX : 4,  /* elements side by side that a thread has, across */
    WIDE = SIDE < STEP ? SIDE : STEP       /* ... and reads at once */
  };
  /* of C's side: what thread `lane` has at i; SIDE elements of threads side by side lie side by side */
  INL_MEMBER int place(int lane, int i) { return i / SIDE * (EDGE / TX * SIDE) + lane * SIDE + i % SIDE; }
  /* Begins copies of a k-tile, of which `rows` rows of `elements` are inside; ROWS and ELEMENTS of whole ones. */
  template <typename I> INL_MEMBER void load_async(T *to, const T *from, I stride, int rows, int elements) {
#pragma unroll
    for (int p = 0; p < (COPIES + THREADS - 1) / THREADS; p++) {
      const unsigned e = threadIdx.x + p * THREADS;
      const int row = (int)(e / PER_ROW), at = (int)(e % PER_ROW) * EACH;
      if (COPIES % THREADS != 0 && e >= COPIES) break;
      const int left = rows == ROWS || row < rows ? elements == ELEMENTS ? EACH : elements - at : 0;
      async_copy<COPY>(to + row * PITCH + at, left > 0 ? from + (row * stride + at) : from,
                       (left < 0 ? 0 : left < EACH ? left : EACH) * (int)sizeof(T));
    }
  }
  INL_MEMBER T at(const T *s, int lane, int i, int k) {
    return ACROSS ? s[k * PITCH + place(lane, i)] : s[place(lane, i) * PITCH + k];
  }
  /* STEP of the depth from k on */
  INL_MEMBER void read(T (&v)[STEP][TX], const T *s, int lane, int k) {
    if (ACROSS)
#pragma unroll
      for (int d = 0; d < STEP; d++)
#pragma unroll
        for (int i = 0; i < TX; i += WIDE) {
          const Vec<T, WIDE> x = *(const Vec<T, WIDE> *)(s + (k + d) * PITCH + place(lane, i));
#pragma unroll
          for (int l = 0; l < WIDE; l++) v[d][i + l] = x.at[l];
        }
    else
#pragma unroll
      for (int i = 0; i < TX; i++) {
        const Vec<T, STEP> x = *(const Vec<T, STEP> *)(s + place(lane, i) * PITCH + k);
#pragma unroll
        for (int d = 0; d < STEP; d++) v[d][i] = x.at[d];
      }
  }
};

/* I: of positions. TA: A is stored [K, M]; TB: B is stored [N, K]. A_ROW, B_ROW: elements from one stored row to the
   next. `rows`, `depth`, `columns`: M, K and N, or less at run time. */
template <typename I, typename T, int M, int N, int K, int A_ROW, int B_ROW, bool TA, bool TB, int BM, int BN, int TM,
          int TN, int COPY_A, int COPY_B, int STAGES>
struct GemmRing {
  enum { BK = 32, CHAIN = 1024, LANES = BN / TN, THREADS = BM / TM * LANES, STEP = 16 / sizeof(T) };
  typedef RingSide<T, BM, TM, TA, BK, COPY_A, THREADS> A;
  typedef RingSide<T, BN, TN, !TB, BK, COPY_B, THREADS> B;
  T a[STAGES][A::SIZE], b[STAGES][B::SIZE];

  INL_MEMBER int row(int i) { return A::place((int)(threadIdx.x / LANES), i); }
  /* the first column of group q, of those that lie side by side */
  INL_MEMBER int col(int q) { return B::place((int)(threadIdx.x % LANES), q * B::SIDE); }

  __device__ __forceinline__ void load_async(int stage, const T *pa, const T *pb, int m0, int n0, int k0, int rows,
                                             int depth, int columns) {
    const int m = M % BM == 0 && rows == M ? BM : rows - m0, n = N % BN == 0 && columns == N ? BN : columns - n0;
    const int k = K % BK == 0 && depth == K ? BK : depth - k0;
    A::load_async(a[stage], pa + (TA ? (I)k0 * A_ROW + m0 : (I)m0 * A_ROW + k0), (I)A_ROW, TA ? k : m, TA ? m : k);
    B::load_async(b[stage], pb + (TB ? (I)n0 * B_ROW + k0 : (I)k0 * B_ROW + n0), (I)B_ROW, TB ? n : k, TB ? k : n);
  }
  /* adds the k-tile of which `left` of the depth are there, or more: a sum of -0 and what lies behind would be 0 */
  __device__ __forceinline__ void multiply(T (&acc)[TM][TN], int stage, int left) {
    const int y = (int)(threadIdx.x / LANES), x = (int)(threadIdx.x % LANES);
    if ((K > 0 && K < BK) || left < BK) { /* K: 0 of filter_ring.h, whose depth is of the run */
/* if K is whole k-tiles, fewer elements of a run alone are left: less to compile */
#pragma unroll(K == 0 || K % BK != 0 ? 4 : 1)
      for (int k = 0; k < left; k++)
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
          for (int j = 0; j < TN; j++)
            acc[i][j] = gemm_fma(A::at(a[stage], y, i, k), B::at(b[stage], x, j, k), acc[i][j]);
      return;
    }
    /* 128 fma at once or more hide the loop, and all of a k-tile would be compiled for long */
#pragma unroll(STEP *TM *TN < 128 ? 128 / (STEP * TM * TN) : 1)
    for (int k = 0; k < BK; k += STEP) {
      T va[STEP][TM], vb[STEP][TN];
      A::read(va, a[stage], y, k);
      B::read(vb, b[stage], x, k);
#pragma unroll
      for (int d = 0; d < STEP; d++)
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
          for (int j = 0; j < TN; j++) acc[i][j] = gemm_fma(va[d][i], vb[d][j], acc[i][j]);
    }
  }
  __device__ __forceinline__ void run(T (&c)[TM][TN], const T *pa, const T *pb, int m0, int n0, int rows = M,
                                      int depth = K, int columns = N) {
    T acc[TM][TN];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) c[i][j] = 0;
    int stage = 0;
#pragma unroll 1
    for (int d0 = 0; d0 < depth; d0 += CHAIN) {
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) acc[i][j] = 0;
      const int end = depth - d0 < CHAIN ? depth : d0 + CHAIN;
#pragma unroll 1
      for (int k0 = d0 ? d0 : (1 - STAGES) * BK; k0 < end; k0 += BK) { /* below 0 the first copies begin */
        if (k0 >= 0) {
          async_wait<STAGES - 2>();
          block_sync(); /* all have the k-tile, and none reads the one before */
        }
        const int next = k0 + (STAGES - 1) * BK, free = k0 < 0 ? next / BK : stage ? stage - 1 : STAGES - 1;
        if (next < depth) load_async(free, pa, pb, m0, n0, next, rows, depth, columns);
        async_commit();
        if (k0 < 0) continue;
        multiply(acc, stage, K % BK == 0 && depth == K ? BK : depth - k0);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
      }
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) c[i][j] = d0 == 0 ? acc[i][j] : acc[i][j] + c[i][j];
    }
  }
};
