/* Products of few rows on the ordinary units, limited by the memory that holds B, whose elements are read once: a warp
   does 32 * V columns of C over one chain of the depth, and the warps of a block chains side by side, which are then
   added in their order. Contract: the order of the sums is that of gemm.h, and so of the CPU.
   I: of positions. TA: A is stored [K, M]; TB: B is stored [N, K]. V: adjacent columns of a thread, 1 with TB; STEP: of
   the depth, of which loads are under way together; COPY: elements of a load of B with TB. A_ROW, B_ROW: elements from
   one stored row to the next. */
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
template <typename I, typename T, typename A, typename B, int M, int N, int K, bool TA, bool TB, int V, int WARPS, int STEP,
          int COPY, int A_ROW, int B_ROW>
struct ThinTile {
  typedef typename A::Stored StoredA;
  typedef typename B::Stored Stored;
  enum {
    CHAIN = 1024,
    SIDE = !TA && A_ROW % 4 == 0 ? 4 : 1, /* adjacent elements of A that a thread loads */
    COLUMNS = 32 * V,
    TM = (M + WARPS - 1) / WARPS, /* rows of C that a thread has at the end */
    PIECES = TB ? STEP / COPY : 1, LOADS = TB ? PIECES : STEP, WIDTH = TB ? COPY : V,
    /* with TB, whose pieces are a power of two: lanes along a column, columns at once, loads of a thread in each */
    ALONG = PIECES < 32 ? PIECES : 32, AT_ONCE = 32 / ALONG, EACH = PIECES / ALONG
  };
  T rows[WARPS][M][STEP]; /* of A */
  T sums[WARPS][M][COLUMNS];
  T columns[TB ? WARPS : 1][TB ? COLUMNS : 1][STEP + 1]; /* of B; odd, so that threads read different banks */

  INL_MEMBER int row(int i) { return (int)threadIdx.x / 32 * TM + i; }
  INL_MEMBER int col(int) { return (int)threadIdx.x % 32 * V; }

  /* A step of B from k0 on: of a thread's own columns, or with TB pieces of all columns of the warp. Threads that have
     no column read one that there is: a branch for them would keep two values of each number apart. THERE: so many of
     STEP are there, if it is not 0, and else `left`. */
  template <int THERE> INL_MEMBER void load(Vec<Stored, WIDTH> (&b)[LOADS], const Stored *pb, int n0, int k0, int left) {
    const int lane = (int)threadIdx.x % 32;
    const bool all = N % COLUMNS == 0;
    if (!TB) {
      const int n = n0 + lane * V;
      load_columns<THERE>(b, pb + ((I)k0 * B_ROW + (all || n < N ? n : 0)), left);
      return;
    }
#pragma unroll
    for (int s = 0; s < LOADS; s++) {
      const int k = piece(lane, s), n = n0 + column(lane, s);
      if (THERE != STEP)
#pragma unroll
        for (int l = 0; l < WIDTH; l++) b[s].at[l] = 0;
      if (THERE == STEP || k < left)
        b[s] = *(const Vec<Stored, WIDTH> *)(pb + ((I)(all || n < N ? n : N - 1) * B_ROW + k0 + k));
    }
  }
  /* With TB: the first number of the depth, and the column, that load s of a lane reads. */
  INL_MEMBER int piece(int lane, int s) { return (lane % ALONG + s % EACH * ALONG) * COPY; }
  INL_MEMBER int column(int lane, int s) { return lane / ALONG + s / EACH * AT_ONCE; }
  template <int THERE> INL_MEMBER void load_columns(Vec<Stored, WIDTH> (&b)[LOADS], const Stored *first, int left) {
#pragma unroll
    for (int s = 0; s < LOADS; s += 4) {
      if (s + 4 <= THERE) {
        load_four<(int64_t)B_ROW * sizeof(Stored)>(b + s, first + (I)s * B_ROW);
        continue;
      }
#pragma unroll
      for (int i = s; i < s + 4; i++)
        if (i < THERE || (!THERE && i < left))
          b[i] = *(const Vec<Stored, WIDTH> *)(first + (I)i * B_ROW);
        else
#pragma unroll
          for (int l = 0; l < WIDTH; l++) b[i].at[l] = 0;
    }
  }
  /* The same of A, by all threads of the warp. */
  template <int THERE>
  __device__ __forceinline__ void load_rows(const StoredA *pa, int k0, int left, int count) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
#pragma unroll(4 / SIDE)
    for (int p = lane; p < M * STEP / SIDE; p += 32) {
      const int m = TA ? p % M : p / (STEP / SIDE), k = TA ? p / M : p % (STEP / SIDE) * SIDE;
      const StoredA *from = pa + (TA ? (I)(k0 + k) * A_ROW + m : (I)m * A_ROW + k0 + k);
      Vec<StoredA, SIDE> x = {};
      if (m < count && (THERE == STEP || k + SIDE <= left))
        x = *(const Vec<StoredA, SIDE> *)from;
      else if (SIDE > 1 && m < count) /* nobody wrote what lies behind the depth */
#pragma unroll
        for (int i = 0; i < SIDE; i++)
          if (k + i < left) x.at[i] = from[i];
#pragma unroll
      for (int i = 0; i < SIDE; i++) rows[warp][m][k + i] = A::get(x.at[i]);
    }
  }
  /* Adds a step's products to the sums: B's elements lie in registers, whose numbers are constants. */
  template <int THERE>
  __device__ __forceinline__ void multiply(T (&acc)[M][V], const Vec<Stored, WIDTH> (&b)[LOADS], int left) {
    const int warp = (int)threadIdx.x / 32;
#pragma unroll
    for (int k = 0; k < (THERE ? THERE : STEP); k += 4)
#pragma unroll
      for (int m = 0; m < M; m++) {
        const Vec<T, 4> x = *(const Vec<T, 4> *)&rows[warp][m][k];
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
          for (int l = 0; l < V; l++) {
            const T sum = gemm_fma(x.at[i], B::get(b[k + i].at[l]), acc[m][l]);
            acc[m][l] = k + i < THERE || k + i < left ? sum : acc[m][l]; /* a sum of -0 and 0 would be 0 */
          }
      }
  }
  /* With TB they go through shared memory. */
  template <int THERE> __device__ __forceinline__ void multiply_across(T (&acc)[M][V], int left) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const T *y = columns[warp][lane];
    if (THERE != STEP) {
#pragma unroll 16
      for (int k = 0; k < left; k++)
#pragma unroll
        for (int m = 0; m < M; m++) acc[m][0] = gemm_fma(rows[warp][m][k], y[k], acc[m][0]);
      return;
    }
#pragma unroll
    for (int k = 0; k < STEP; k += 4)
#pragma unroll
      for (int m = 0; m < M; m++) {
        const Vec<T, 4> x = *(const Vec<T, 4> *)&rows[warp][m][k];
#pragma unroll
        for (int i = 0; i < 4; i++) acc[m][0] = gemm_fma(x.at[i], y[k + i], acc[m][0]);
      }
  }
  template <int THERE>
  __device__ __forceinline__ void step(T (&acc)[M][V], const StoredA *pa, const Stored *pb, int n0, int k0, int left,
                                       int count) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    Vec<Stored, WIDTH> b[LOADS];
    load<THERE>(b, pb, n0, k0, left);
    warp_sync();
    load_rows<THERE>(pa, k0, left, count);
    if (TB)
#pragma unroll
      for (int s = 0; s < LOADS; s++)
#pragma unroll
        for (int l = 0; l < WIDTH; l++)
          columns[warp][column(lane, s)][piece(lane, s) + l] = B::get(b[s].at[l]);
    warp_sync();
    if (TB)
      multiply_across<THERE>(acc, left);
    else
      multiply<THERE>(acc, b, left);
  }
  /* The chain from `first` to `end`, whose last step is a part where the depth ends: the constant K, or `depth`. */
  template <bool FIXED>
  __device__ __forceinline__ void chain(T (&acc)[M][V], const StoredA *pa, const Stored *pb, int n0, int first, int end,
                                        int count) {
    enum { REST = FIXED && K % STEP != 0 ? K % STEP : 0 };
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int l = 0; l < V; l++) acc[m][l] = 0;
    int k0 = first;
#pragma unroll 1
    for (; K >= STEP && k0 + STEP <= end; k0 += STEP) step<STEP>(acc, pa, pb, n0, k0, STEP, count);
    if constexpr (!FIXED || REST)
      if (k0 < end) step<REST>(acc, pa, pb, n0, k0, REST ? REST : end - k0, count);
  }
  /* All of a depth of K. */
  __device__ __forceinline__ void run(T (&c)[TM][V], const StoredA *pa, const Stored *pb, int, int n0, int count = M) {
    run<true>(c, pa, pb, n0, count, K);
  }
  __device__ __forceinline__ void run(T (&c)[TM][V], const StoredA *pa, const Stored *pb, int, int n0, int count,
                                      int depth) {
    run<false>(c, pa, pb, n0, count, depth);
  }
  /* c: TM rows from row(0) on; count: rows of C, of M or fewer. */
  template <bool FIXED>
  __device__ __forceinline__ void run(T (&c)[TM][V], const StoredA *pa, const Stored *pb, int n0, int count, int depth) {
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
        chain<FIXED>(acc, pa, pb, n0, first, end, count);
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
