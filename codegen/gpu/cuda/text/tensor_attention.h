/* Attention on tensor cores, of operands of 2 bytes: FlashAttention-2 (Dao, 2023) and its gradients
   without atomics. A block of threads does ROWS queries against STEP keys at a time; of the gradients
   with respect to keys and values, ROWS keys against STEP queries. A warp has MT times 16 of the rows:
   scores, weights, running maxima and sums, and results stay in its registers, and weights become the
   left operand of the next product there. The other operands are double-buffered in shared memory: the
   next step's tiles are copied while this one's are multiplied.
   TQ queries of DIM elements, SK keys, values of WIDE; PART columns of the gradients at most, from `first_column`
   on. COPY_D, COPY_E: bytes of a copy of rows of DIM and of WIDE elements. Contract: sums are in f32, in an
   order that the shape alone gives; weights and slopes of scores are rounded to the operands' dtype.
   E: MmaBf16 or MmaF16 of tensor.h; AttentionParams is of attention.h. */
/* section TensorAttention RowTile */
#define LOG2_E 1.4426950408889634f
#define LN_2 0.6931471805599453f

/* ROWS rows of WIDTH elements, zeros up to a multiple of 16. Rows lie 16 bytes further apart than
   that, an odd number of 16 bytes, so that the eight rows which one instruction reads lie in different banks. */
template <int ROWS, int WIDTH, int COPY, int THREADS> struct RowTile {
  enum {
    STEPS = (WIDTH + 15) / 16, /* of 16 elements of the depth */
    ROW_BYTES = STEPS * 32,
    PITCH = ROW_BYTES + 16,
    BYTES = ROWS * PITCH
  };
  /* Begins copies of rows from `from` on, FROM_ROW elements apart, `rows` of which are inside; zeros follow. */
  template <int FROM_ROW> INL_MEMBER void load_async(char *to, const uint16_t *from, int rows) {
    enum { PER_ROW = ROW_BYTES / COPY, COPIES = ROWS * PER_ROW };
#pragma unroll 4
    for (int p = 0; p < (COPIES + THREADS - 1) / THREADS; p++) {
      const int e = (int)threadIdx.x + p * THREADS, row = e / PER_ROW, at = e % PER_ROW * COPY;
      if (COPIES % THREADS != 0 && e >= COPIES) break;
      const bool in = row < rows && (WIDTH % 16 == 0 || at < WIDTH * 2);
      const char *source = (const char *)from + ((int64_t)row * (FROM_ROW * 2) + at);
      char *target = to + row * PITCH + at;
      if (COPY < 4) /* too small to be asynchronous */
        *(uint16_t *)target = in ? *(const uint16_t *)source : 0;
      else
        async_copy<COPY < 4 ? 4 : COPY>(target, in ? source : (const char *)from, in ? COPY : 0);
    }
  }
  /* Fragments of 16 rows from `first_column` on, in a step of the depth: as a of tensor_fma, and as two times b. */
  INL_MEMBER void fragment_a(uint32_t (&r)[4], const char *tile, int first, int step) {
    const int t = (int)threadIdx.x % 32;
    matrix_load(r, tile + (first + t % 16) * PITCH + step * 32 + t / 16 * 16);
  }
  INL_MEMBER void fragment_b(uint32_t (&r)[4], const char *tile, int first, int step) {
    const int t = (int)threadIdx.x % 32;
    matrix_load(r, tile + (first + t / 16 * 8 + t % 8) * PITCH + step * 32 + t / 8 % 2 * 16);
  }
  /* Two times b of 16 columns from `column` on, with the tile's rows as the depth. */
  INL_MEMBER void fragment_across(uint32_t (&r)[4], const char *tile, int column, int step) {
    const int t = (int)threadIdx.x % 32;
    matrix_load_t(r, tile + (step * 16 + t / 8 % 2 * 8 + t % 8) * PITCH + (column + t / 16 * 8) * 2);
  }
};

template <typename E, int TQ, int SK, int DIM, int WIDE, int ROWS, int STEP, int MT, bool CAUSAL, int PART,
          int COPY_D, int COPY_E, typename AT>
struct TensorAttention {
  typedef typename E::Stored Stored;
  enum {
    THREADS = ROWS / (16 * MT) * 32,
    NJ = STEP / 8, /* instructions over a step's keys or queries */
    DIM_16 = (DIM + 15) / 16 * 16, WIDE_16 = (WIDE + 15) / 16 * 16,
    PARTS = DIM_16 > PART || WIDE_16 > PART, /* several blocks of threads share the columns */
    DIMS = (DIM_16 < PART ? DIM_16 : PART) / 8, /* ... over columns of results */
    WIDES = (WIDE_16 < PART ? WIDE_16 : PART) / 8
  };
  typedef RowTile<ROWS, DIM, COPY_D, THREADS> RowsD; /* this block's own queries or keys */
  typedef RowTile<ROWS, WIDE, COPY_E, THREADS> RowsE;
  typedef RowTile<STEP, DIM, COPY_D, THREADS> StepD; /* the step's */
  typedef RowTile<STEP, WIDE, COPY_E, THREADS> StepE;
  typedef f32 Scores[MT][NJ][4];
  char *smem;

  INL_MEMBER int warp_row() { return (int)threadIdx.x / 32 * (16 * MT); }
  /* of element 2 h of an instruction's results, of 16 rows m */
  INL_MEMBER int row(int m, int h) { return warp_row() + m * 16 + h * 8 + (int)threadIdx.x % 32 / 4; }
  INL_MEMBER int col(int j) { return j * 8 + (int)threadIdx.x % 4 * 2; }
  INL_MEMBER bool is_visible(const AttentionParams<f32> &params, int i, int j) {
    if (j >= SK || (CAUSAL && j > i)) return false;
    return !params.mask || i >= TQ ||
           params.mask[(int64_t)i * params.query_stride + j * params.key_stride] != 0;
  }
  /* Does some query from i0 on not see some key from j0 on? */
  INL_MEMBER bool is_partial(const AttentionParams<f32> &params, int i0, int j0, int keys) {
    return params.mask || (SK % keys != 0 && j0 + keys > SK) || (CAUSAL && j0 + keys - 1 > i0);
  }

  /* Begins copies of a step's keys and values, those from j0 on. */
  INL_MEMBER void load_keys(char *stage, const Stored *k, const Stored *v, int j0) {
    StepD::template load_async<AT::k>(stage, k + (int64_t)j0 * AT::k, SK - j0);
    StepE::template load_async<AT::v>(stage + StepD::BYTES, v + (int64_t)j0 * AT::v, SK - j0);
  }
  template <int N> INL_MEMBER void clear(f32 (&y)[MT][N][4]) {
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
      for (int n = 0; n < N; n++)
#pragma unroll
        for (int l = 0; l < 4; l++) y[m][n][l] = 0;
  }
  INL_MEMBER void multiply(f32 (&c)[4], const uint32_t *a, const uint32_t *b) {
    E::fma(c[0], c[1], c[2], c[3], a, b);
  }
  /* The warp's rows of one tile times all rows of another, over the depth. */
  template <typename Own, typename Other>
  INL_MEMBER void scores(Scores &s, const char *own, const char *other) {
    clear(s);
#pragma unroll
    for (int step = 0; step < Own::STEPS; step++) {
      uint32_t a[MT][4];
#pragma unroll
      for (int m = 0; m < MT; m++) Own::fragment_a(a[m], own, warp_row() + m * 16, step);
#pragma unroll
      for (int j = 0; j < NJ; j += 2) {
        uint32_t b[4];
        Other::fragment_b(b, other, j * 8, step);
#pragma unroll
        for (int m = 0; m < MT; m++) {
          multiply(s[m][j], a[m], b);
          multiply(s[m][j + 1], a[m], b + 2);
        }
      }
    }
  }
  /* y += s times the tile's columns from `first_column` on; s is rounded. */
  template <typename Tile, int WIDTH_16, int N>
  INL_MEMBER void accumulate(f32 (&y)[MT][N][4], const Scores &s, const char *tile, int first_column) {
#pragma unroll
    for (int k = 0; k < NJ / 2; k++) {
      uint32_t a[MT][4];
#pragma unroll
      for (int m = 0; m < MT; m++)
#pragma unroll
        for (int l = 0; l < 4; l++)
          a[m][l] = E::pack(s[m][2 * k + l / 2][l % 2 * 2], s[m][2 * k + l / 2][l % 2 * 2 + 1]);
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        if (PARTS && first_column + n * 8 >= WIDTH_16) break;
        uint32_t b[4];
        Tile::fragment_across(b, tile, first_column + n * 8, k);
#pragma unroll
        for (int m = 0; m < MT; m++) {
          multiply(y[m][n], a[m], b);
          multiply(y[m][n + 1], a[m], b + 2);
        }
      }
    }
  }
  /* y, times `by` of each of a thread's rows, to rows of WIDTH, ROW apart, from row0 on, those below `rows`. */
  template <int WIDTH, int ROW, int N>
  INL_MEMBER void store(Stored *out, const f32 (&y)[MT][N][4], const f32 (&by)[MT][2], int row0, int rows,
                        int first_column) {
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int r = row0 + row(m, h);
        if (r >= rows) continue;
        Stored *to = out + (int64_t)r * ROW;
#pragma unroll
        for (int n = 0; n < N; n++) {
          const int c = first_column + col(n);
          const uint32_t pair = E::pack(y[m][n][2 * h] * by[m][h], y[m][n][2 * h + 1] * by[m][h]);
          if (WIDTH % 2 == 0) { /* so are ROW and where rows begin */
            if (c < WIDTH) *(uint32_t *)(to + c) = pair;
          } else {
            if (c < WIDTH) to[c] = (Stored)pair;
            if (c + 1 < WIDTH) to[c + 1] = (Stored)(pair >> 16);
          }
        }
      }
  }

  /* Scores in units of log 2 become weights 2^(s - maximum), with the running maximum, the thread's part
     of the running sum, and what earlier sums and results are to be multiplied by. */
  INL_MEMBER void softmax(Scores &s, f32 (&row_max)[MT][2], f32 (&row_sum)[MT][2], f32 (&rescale)[MT][2]) {
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        f32 top = row_max[m][h];
#pragma unroll
        for (int j = 0; j < NJ; j++) top = fmaxf(top, fmaxf(s[m][j][2 * h], s[m][j][2 * h + 1]));
        top = fmaxf(top, warp_xor(top, 1));
        top = fmaxf(top, warp_xor(top, 2));
        const f32 shift = top == -__builtin_inff() ? 0.0f : top;
        rescale[m][h] = exp2_approximate(row_max[m][h] - shift);
        row_max[m][h] = top;
        f32 sum = 0;
#pragma unroll
        for (int j = 0; j < NJ; j++)
#pragma unroll
          for (int l = 2 * h; l < 2 * h + 2; l++) {
            s[m][j][l] = exp2_approximate(s[m][j][l] - shift);
            sum += s[m][j][l];
          }
        row_sum[m][h] = row_sum[m][h] * rescale[m][h] + sum;
      }
  }

  /* q, k, v, y and lse of one head; the queries from i0 on */
  __device__ __forceinline__ void forward(const Stored *q, const Stored *k, const Stored *v, Stored *out,
                                          f32 *lse, const AttentionParams<f32> &params, int i0, int) {
    enum { STAGE = StepD::BYTES + StepE::BYTES };
    char *const own = smem, *const ring = own + RowsD::BYTES;
    const int end = CAUSAL && i0 + ROWS < SK ? i0 + ROWS : SK;
    f32 y[MT][WIDES][4], row_max[MT][2], row_sum[MT][2], rescale[MT][2];
    clear(y);
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
      for (int h = 0; h < 2; h++) row_max[m][h] = -__builtin_inff(), row_sum[m][h] = 0;
    RowsD::template load_async<AT::q>(own, q + (int64_t)i0 * AT::q, TQ - i0);
    load_keys(ring, k, v, 0);
    async_commit();
    int now = 0;
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += STEP) {
      async_wait<0>();
      block_sync();
      const char *stage = ring + now * STAGE;
      now ^= 1;
      if (j0 + STEP < end) load_keys(ring + now * STAGE, k, v, j0 + STEP);
      async_commit();
      Scores s;
      scores<RowsD, StepD>(s, own, stage);
      const bool partial = is_partial(params, i0, j0, STEP);
#pragma unroll
      for (int m = 0; m < MT; m++)
#pragma unroll
        for (int j = 0; j < NJ; j++)
#pragma unroll
          for (int l = 0; l < 4; l++) {
            s[m][j][l] *= params.scale * LOG2_E;
            if (partial && !is_visible(params, i0 + row(m, l / 2), j0 + col(j) + l % 2))
              s[m][j][l] = -__builtin_inff();
          }
      softmax(s, row_max, row_sum, rescale);
#pragma unroll
      for (int m = 0; m < MT; m++)
#pragma unroll
        for (int n = 0; n < WIDES; n++)
#pragma unroll
          for (int l = 0; l < 4; l++) y[m][n][l] *= rescale[m][l / 2];
      accumulate<StepE, WIDE_16>(y, s, stage + StepD::BYTES, 0);
    }
    f32 by[MT][2];
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        f32 sum = row_sum[m][h];
        sum += warp_xor(sum, 1);
        sum += warp_xor(sum, 2);
        by[m][h] = divide(1.0f, sum == 0 ? 1.0f : sum);
        const int i = i0 + row(m, h);
        if ((int)threadIdx.x % 4 == 0 && i < TQ)
          lse[i] = (row_max[m][h] == -__builtin_inff() ? 0.0f : row_max[m][h] * LN_2) + f32_log(sum);
      }
    store<WIDE, AT::y>(out, y, by, i0, TQ, 0);
  }

  /* s: from scores to weights; w: from the gradient with respect to weights to that with respect to
     scores, without the scale. */
  INL_MEMBER void score_gradient(f32 &s, f32 &w, f32 scale, f32 lse, f32 delta, bool sees) {
    const f32 weight = exp2_approximate(s * (scale * LOG2_E) - lse * LOG2_E);
    s = sees ? weight : 0.0f;
    w = sees ? weight * (w - delta) : 0.0f;
  }

  __device__ __forceinline__ void backward_q(const Stored *q, const Stored *k, const Stored *v, const Stored *dy,
                             const f32 *lse, const f32 *delta, Stored *dq, const AttentionParams<f32> &params,
                             int i0, int first_column) {
    enum { STAGE = StepD::BYTES + StepE::BYTES };
    char *const own_q = smem, *const own_dy = own_q + RowsD::BYTES, *const ring = own_dy + RowsE::BYTES;
    const int end = CAUSAL && i0 + ROWS < SK ? i0 + ROWS : SK;
    f32 y[MT][DIMS][4], l[MT][2], d[MT][2], by[MT][2];
    clear(y);
    RowsD::template load_async<AT::q>(own_q, q + (int64_t)i0 * AT::q, TQ - i0);
    RowsE::template load_async<AT::y>(own_dy, dy + (int64_t)i0 * AT::y, TQ - i0);
    load_keys(ring, k, v, 0);
    async_commit();
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const int i = i0 + row(m, h);
        l[m][h] = i < TQ ? lse[i] : 0.0f;
        d[m][h] = i < TQ ? delta[i] : 0.0f;
        by[m][h] = params.scale;
      }
    int now = 0;
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += STEP) {
      async_wait<0>();
      block_sync();
      const char *stage = ring + now * STAGE;
      now ^= 1;
      if (j0 + STEP < end) load_keys(ring + now * STAGE, k, v, j0 + STEP);
      async_commit();
      Scores s, w;
      scores<RowsD, StepD>(s, own_q, stage);
      scores<RowsE, StepE>(w, own_dy, stage + StepD::BYTES);
      const bool partial = is_partial(params, i0, j0, STEP);
#pragma unroll
      for (int m = 0; m < MT; m++)
#pragma unroll
        for (int j = 0; j < NJ; j++)
#pragma unroll
          for (int e = 0; e < 4; e++)
            score_gradient(s[m][j][e], w[m][j][e], params.scale, l[m][e / 2], d[m][e / 2],
                  !partial || is_visible(params, i0 + row(m, e / 2), j0 + col(j) + e % 2));
      accumulate<StepD, DIM_16>(y, w, stage, first_column);
    }
    store<DIM, AT::dq>(dq, y, by, i0, TQ, first_column);
  }

  /* Those of one head of keys, from all `group` heads of queries; mask_of
     gives the mask of the g-th of them. Rows of scores are keys here, columns queries. */
  template <typename MaskOf>
  __device__ __forceinline__ void backward_kv(const Stored *q, const Stored *k, const Stored *v, const Stored *dy,
                          const f32 *lse, const f32 *delta, Stored *dk, Stored *dv, const AttentionParams<f32> &params,
                          int group, int j0, int first_column, const MaskOf &mask_of) {
    enum { STATISTICS = StepD::BYTES + StepE::BYTES, STAGE = STATISTICS + 8 * STEP };
    char *const own_k = smem, *const own_v = own_k + RowsD::BYTES, *const ring = own_v + RowsE::BYTES;
    const int start = CAUSAL ? j0 / STEP * STEP : 0, blocks = (TQ - start + STEP - 1) / STEP;
    f32 y[MT][DIMS][4], z[MT][WIDES][4], by[MT][2], one[MT][2];
    clear(y);
    clear(z);
#pragma unroll
    for (int m = 0; m < MT; m++)
#pragma unroll
      for (int h = 0; h < 2; h++) by[m][h] = params.scale, one[m][h] = 1;
    const auto load = [=](char *stage, int step) {
      const int i = start + step % blocks * STEP;
      const int64_t g = step / blocks, at = g * TQ + i;
      StepD::template load_async<AT::q>(stage, q + (g * AT::q_head + (int64_t)i * AT::q), TQ - i);
      StepE::template load_async<AT::y>(stage + StepD::BYTES, dy + (g * AT::y_head + (int64_t)i * AT::y), TQ - i);
      for (int p = (int)threadIdx.x; p < 2 * STEP; p += THREADS) {
        const f32 *from = p < STEP ? lse : delta;
        const bool in = i + p % STEP < TQ;
        async_copy<4>(stage + STATISTICS + 4 * p, in ? from + at + p % STEP : from, in ? 4 : 0);
      }
    };
    RowsD::template load_async<AT::k>(own_k, k + (int64_t)j0 * AT::k, SK - j0);
    RowsE::template load_async<AT::v>(own_v, v + (int64_t)j0 * AT::v, SK - j0);
    load(ring, 0);
    async_commit();
    int now = 0;
#pragma unroll 1
    for (int step = 0; step < group * blocks; step++) {
      async_wait<0>();
      block_sync();
      const char *stage = ring + now * STAGE;
      now ^= 1;
      if (step + 1 < group * blocks) load(ring + now * STAGE, step + 1);
      async_commit();
      const int i0 = start + step % blocks * STEP;
      AttentionParams<f32> own = params;
      own.mask = mask_of(step / blocks);
      Scores s, w;
      scores<RowsD, StepD>(s, own_k, stage);
      scores<RowsE, StepE>(w, own_v, stage + StepD::BYTES);
      const bool partial = own.mask || (CAUSAL && j0 + ROWS - 1 > i0);
      const f32 *l = (const f32 *)(stage + STATISTICS), *d = l + STEP;
#pragma unroll
      for (int j = 0; j < NJ; j++)
#pragma unroll
        for (int c = 0; c < 2; c++) {
          const int at = col(j) + c;
          const f32 row_lse = l[at], row_delta = d[at];
#pragma unroll
          for (int m = 0; m < MT; m++)
#pragma unroll
            for (int h = 0; h < 2; h++)
              score_gradient(s[m][j][2 * h + c], w[m][j][2 * h + c], params.scale, row_lse, row_delta,
                    !partial || is_visible(own, i0 + at, j0 + row(m, h)));
        }
      accumulate<StepE, WIDE_16>(z, s, stage + StepD::BYTES, first_column);
      accumulate<StepD, DIM_16>(y, w, stage, first_column);
    }
    store<DIM, AT::dk>(dk, y, by, j0, SK, first_column);
    store<WIDE, AT::dv>(dv, z, one, j0, SK, first_column);
  }
};
