/* Products of at most 16 rows on tensor cores, limited by the memory that holds B [K, N], whose elements are read once,
   straight into registers. A block does 8 * V columns of C; a warp sums a part of the depth, and the warps of a block
   parts side by side, which are then added in their order. Contract: parts, and the order of the steps in them, are
   those of tensor.h, and so are the sums.
   A step is 16 of the depth. Of it a thread loads V adjacent columns of the four rows that are its part of operands b:
   column g of instruction j is column g * V + j of the block's.
   I: of positions. TA: A is stored [K, M]. A_ROW, B_ROW: elements from one stored row to the next. LENGTH: elements of a
   part, 0 if a run decides. */
/* section ThinTensorTile */
template <typename I, typename E, int M, int N, int K, bool TA, int V, int WARPS, int A_ROW, int B_ROW, int LENGTH>
struct ThinTensorTile {
  typedef typename E::Stored Stored;
  typedef Vec<uint32_t, V / 2> Columns; /* two in a word */
  enum {
    STEP = 16, COLUMNS = 8 * V,
    HALVES = M > 8 ? 2 : 1,                     /* of the 16 rows of an instruction */
    AHEAD = M > 8 && V < 8 ? 16 / V : 32 / V,   /* steps whose loads are under way */
    LANES = COLUMNS / 2, DOWN = WARPS * 32 / LANES, /* threads along a row of C at the end, rows side by side */
    TM = (M + DOWN - 1) / DOWN,                 /* rows of C that a thread has then */
    DEPTH = AHEAD * STEP,                       /* of the depth, whose loads are under way */
    PART = LENGTH && LENGTH < K ? LENGTH : K, LAST_PART = (K - 1) % PART + 1,
    /* of a part, at most, behind what is whole; at least one step, so that its code is valid */
    REST = !LENGTH ? DEPTH : PART % DEPTH > LAST_PART % DEPTH ? PART % DEPTH : LAST_PART % DEPTH,
    REST_STEPS = REST ? (REST + STEP - 1) / STEP : 1
  };
  f32 sums[WARPS][M][COLUMNS];

  INL_MEMBER int row(int i) { return (int)threadIdx.x / LANES + i * DOWN; }
  INL_MEMBER int col(int) { return (int)threadIdx.x % LANES * 2; }

  /* Elements k and k + 1 of row `row` of A, of which `left` of the depth are there. */
  template <bool WHOLE> INL_MEMBER uint32_t pair(const Stored *pa, int row, int k, int left) {
    if (!TA && A_ROW % 2 == 0 && (WHOLE || k + 1 < left)) return *(const uint32_t *)(pa + ((I)row * A_ROW + k));
    const Stored *at = pa + (TA ? (I)k * A_ROW + row : (I)row * A_ROW + k);
    const uint32_t low = WHOLE || k < left ? at[0] : 0;
    return low | (WHOLE || k + 1 < left ? (uint32_t)at[TA ? A_ROW : 1] << 16 : 0);
  }
  /* Steps of which `left` of the depth are there, or WHOLE: all. pa, pb: where they begin, pb in the thread's columns. */
  template <bool WHOLE, int COUNT>
  INL_MEMBER void steps(f32 (&acc)[V][4], const Stored *pa, const Stored *pb, bool inside, int left, int count) {
    const int lane = (int)threadIdx.x % 32, group = lane / 4, first = lane % 4 * 2;
    Columns b[COUNT][4];
    uint32_t a[COUNT][4];
#pragma unroll
    for (int s = 0; s < COUNT; s++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int k = s * STEP + first + i / 2 * 8 + i % 2;
        if (inside && (WHOLE || k < left))
          b[s][i] = *(const Columns *)(pb + (I)k * B_ROW);
        else
#pragma unroll
          for (int l = 0; l < V / 2; l++) b[s][i].at[l] = 0;
      }
#pragma unroll
    for (int s = 0; s < COUNT; s++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int row = group + i % 2 * 8, k = s * STEP + first + i / 2 * 8;
        a[s][i] = i % 2 < HALVES && row < count ? pair<WHOLE>(pa, row, k, left) : 0;
      }
#pragma unroll
    for (int s = 0; s < COUNT; s++) {
      if (!WHOLE && s * STEP >= left) break;
#pragma unroll
      for (int j = 0; j < V; j++) {
        const uint32_t halves = j % 2 ? 0x7632 : 0x5410;
        const uint32_t fb[2] = {choose_bytes(b[s][0].at[j / 2], b[s][1].at[j / 2], halves),
                                choose_bytes(b[s][2].at[j / 2], b[s][3].at[j / 2], halves)};
        E::fma(acc[j][0], acc[j][1], acc[j][2], acc[j][3], a[s], fb);
      }
    }
  }
  /* The sums of the depth from `first` to `end`, to `to`. */
  INL_MEMBER void part(f32 (&to)[M][COLUMNS], const Stored *pa, const Stored *pb, int n0, int first, int end, int count) {
    const int lane = (int)threadIdx.x % 32, n = n0 + lane / 4 * V;
    const bool inside = N % COLUMNS == 0 || n < N;
    f32 acc[V][4];
#pragma unroll
    for (int j = 0; j < V; j++)
#pragma unroll
      for (int l = 0; l < 4; l++) acc[j][l] = 0;
    const Stored *a = pa + (TA ? (I)first * A_ROW : first), *b = pb + ((I)first * B_ROW + n);
    int k = first;
#pragma unroll 1
    for (; PART >= DEPTH && k + DEPTH <= end; k += DEPTH, a += TA ? (I)DEPTH * A_ROW : DEPTH, b += (I)DEPTH * B_ROW)
      steps<true, AHEAD>(acc, a, b, inside, DEPTH, count);
    if (REST && k < end) steps<false, REST_STEPS>(acc, a, b, inside, end - k, count);
    keep(to, acc);
  }
  INL_MEMBER void keep(f32 (&to)[M][COLUMNS], const f32 (&acc)[V][4]) {
    const int lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < V; j++)
#pragma unroll
      for (int l = 0; l < 2 * HALVES; l++) {
        const int row = lane / 4 + l / 2 * 8;
        if (row < M) to[row][(lane % 4 * 2 + l % 2) * V + j] = acc[j][l];
      }
  }
  /* The parts' sums in order, of which sum(to, first, end) has a warp's to put there. */
  template <typename Sum> __device__ __forceinline__ void add(f32 (&c)[TM][2], int length, Sum sum) {
    const int warp = (int)threadIdx.x / 32;
#pragma unroll 1
    for (int d0 = 0; d0 < K; d0 += WARPS * length) {
      const int first = d0 + warp * length;
      if (d0) block_sync(); /* the sums of the parts before were read */
      if (first < K) sum(sums[warp], first, smaller(K, first + length));
      block_sync();
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int l = 0; l < 2; l++) {
          const int at = col(0) + l;
          if (row(i) < M) {
#pragma unroll 4
            for (int w = 0; w < WARPS && d0 + w * length < K; w++)
              c[i][l] = d0 + w == 0 ? sums[w][row(i)][at] : c[i][l] + sums[w][row(i)][at];
          }
        }
    }
  }
  /* c: elements of rows row(0), row(1) … of C, and columns n0 + col(0) and the next; `count` rows of A are there. Parts
     have `length` of the depth. */
  __device__ __forceinline__ void run(f32 (&c)[TM][2], const Stored *pa, const Stored *pb, int n0, int count, int length) {
    add(c, length, [=](f32 (&to)[M][COLUMNS], int first, int end) { part(to, pa, pb, n0, first, end, count); });
  }
};
