/* Products of few rows on the ordinary units, limited by the memory that holds B, whose elements are read once: a warp
   does 32 * V columns of C over one chain of the depth, and the warps of a block chains side by side, which are then
   added in their order. Contract: the order of the sums is that of gemm.h, and so of the CPU.
   I: of positions. TA: A is stored [K, M]; TB: B is stored [N, K]. V: adjacent columns of a thread, 1 with TB; COPY:
   elements of a load of B with TB. A_ROW, B_ROW: elements from one stored row to the next. */
/* section add_chains */
/* Adds to a thread's rows of C what the warps of a block have summed, each a chain of CHAIN of the depth from d0 on, in
   the order of the chains. */
template <int CHAIN, typename T, int TM, int V, int WARPS, int M, int PITCH>
INL void add_chains(T (&c)[TM][V], const T (&sums)[WARPS][M][PITCH], int d0, int depth) {
  const int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x / 32 * TM;
#pragma unroll 1
  for (int w = 0; w < WARPS && d0 + w * CHAIN < depth; w++)
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int l = 0; l < V; l++) {
        const T sum = row + i < M ? sums[w][row + i][lane * V + l] : (T)0;
        c[i][l] = d0 + w == 0 ? sum : sum + c[i][l];
      }
}
/* section ThinTile */
template <typename I, typename T, typename A, typename B, int M, int N, int K, bool TA, bool TB, int V, int WARPS, int COPY,
          int A_ROW, int B_ROW>
struct ThinTile {
  typedef typename B::Stored Stored;
  enum {
    CHAIN = 1024,
    MOST = 256 / sizeof(T), LEAST = K > COPY ? K : COPY,
    /* of the depth, little more than there is: that many loads of a thread are under way. More of one or two rows, whose
       sums leave registers, and less to compile */
    STEP = !TB && M < 3 && LEAST > MOST ? 2 * MOST : LEAST > MOST / 2 ? MOST : LEAST > MOST / 4 ? MOST / 2
           : LEAST > MOST / 8 ? MOST / 4 : MOST / 8,
    COLUMNS = 32 * V,
    TM = (M + WARPS - 1) / WARPS, /* rows of C that a thread has at the end */
    PIECES = STEP / COPY, LOADS = TB ? PIECES : STEP, WIDTH = TB ? COPY : V
  };
  T rows[WARPS][M][STEP]; /* of A */
  T sums[WARPS][M][COLUMNS];
  T columns[TB ? WARPS : 1][TB ? COLUMNS : 1][STEP + 1]; /* of B; odd, so that threads read different banks */

  INL_MEMBER int row(int i) { return (int)threadIdx.x / 32 * TM + i; }
  INL_MEMBER int col(int) { return (int)threadIdx.x % 32 * V; }

  /* A step of B from k0 on: of a thread's own columns, or with TB pieces of all columns of the warp. WHOLE: all of STEP,
     of which otherwise `left` are there. */
  template <bool WHOLE>
  INL_MEMBER void load(Vec<Stored, WIDTH> (&b)[LOADS], const Stored *pb, int n0, int k0, int left, int width) {
    const int lane = (int)threadIdx.x % 32;
    const bool all = N % COLUMNS == 0 && width == N;
    if (!TB && WHOLE && all) { /* nothing is left out, so there is less to compile */
      const Stored *first = pb + ((I)k0 * B_ROW + n0 + lane * V);
#pragma unroll
      for (int s = 0; s < LOADS; s++) b[s] = *(const Vec<Stored, WIDTH> *)(first + (I)s * B_ROW);
      return;
    }
#pragma unroll
    for (int s = 0; s < LOADS; s++)
#pragma unroll
      for (int l = 0; l < WIDTH; l++) b[s].at[l] = 0;
    if (!TB && !all && n0 + lane * V >= width) return; /* one branch for all loads */
#pragma unroll
    for (int s = 0; s < LOADS; s++) {
      const int p = lane + s * 32, k = TB ? p % PIECES * COPY : s, n = n0 + (TB ? p / PIECES : lane * V);
      if ((WHOLE || k < left) && (!TB || all || n < width))
        b[s] = *(const Vec<Stored, WIDTH> *)(pb + (TB ? (I)n * B_ROW + k0 + k : (I)(k0 + k) * B_ROW + n));
    }
  }
  template <bool WHOLE>
  __device__ __forceinline__ void step(T (&acc)[M][V], const typename A::Stored *pa, const Stored *pb, int n0, int k0,
                                       int left, int count, int width) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    Vec<Stored, WIDTH> b[LOADS];
    load<WHOLE>(b, pb, n0, k0, left, width);
    warp_sync();
#pragma unroll 4
    for (int p = lane; p < M * STEP; p += 32) {
      const int m = TA ? p % M : p / STEP, k = TA ? p / M : p % STEP;
      const bool in = m < count && (WHOLE || k < left);
      rows[warp][m][k] = in ? A::get(pa[TA ? (I)(k0 + k) * A_ROW + m : (I)m * A_ROW + k0 + k]) : (T)0;
    }
    if (TB)
#pragma unroll
      for (int s = 0; s < LOADS; s++)
#pragma unroll
        for (int l = 0; l < WIDTH; l++)
          columns[warp][(lane + s * 32) / PIECES][(lane + s * 32) % PIECES * COPY + l] = B::get(b[s].at[l]);
    warp_sync();
    /* B's elements lie in registers, whose numbers are constants, or with TB in shared memory */
#pragma unroll(TB && !WHOLE ? 16 : STEP)
    for (int k = 0; k < (WHOLE || !TB ? STEP : left); k++)
#pragma unroll
      for (int m = 0; m < M; m++)
#pragma unroll
        for (int l = 0; l < V; l++) {
          const T y = TB ? columns[warp][lane][k] : B::get(b[TB ? 0 : k].at[TB ? 0 : l]);
          const T sum = gemm_fma(rows[warp][m][k], y, acc[m][l]);
          acc[m][l] = WHOLE || TB || k < left ? sum : acc[m][l]; /* a sum of -0 and 0 would be 0 */
        }
  }
  /* The chain from `first` to `end`, whose last step is a part where the depth ends. */
  __device__ __forceinline__ void chain(T (&acc)[M][V], const typename A::Stored *pa, const Stored *pb, int n0, int first,
                                        int end, int depth, int count, int width) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int l = 0; l < V; l++) acc[m][l] = 0;
    int k0 = first;
#pragma unroll 1
    for (; K >= STEP && k0 + STEP <= end; k0 += STEP) step<true>(acc, pa, pb, n0, k0, STEP, count, width);
    if (k0 < end && (K % STEP != 0 || depth != K))
      step<false>(acc, pa, pb, n0, k0, depth == K ? K % STEP : end - k0, count, width);
  }
  /* c: TM rows from row(0) on; count: rows of C, of M or fewer. */
  __device__ __forceinline__ void run(T (&c)[TM][V], const typename A::Stored *pa, const Stored *pb, int, int n0,
                                      int count = M, int depth = K, int width = N) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int l = 0; l < V; l++) c[i][l] = 0;
#pragma unroll 1
    for (int d0 = 0; d0 < depth; d0 += WARPS * CHAIN) {
      const int first = d0 + warp * CHAIN;
      T acc[M][V];
      if (first < depth) {
        const int end = depth - first < CHAIN ? depth : first + CHAIN;
        chain(acc, pa, pb, n0, first, end, depth, count, width);
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
          for (int l = 0; l < V; l++) sums[warp][m][lane * V + l] = acc[m][l];
      }
      block_sync();
      add_chains<CHAIN>(c, sums, d0, depth);
      block_sync();
    }
  }
};
