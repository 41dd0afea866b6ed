/* Attention on tensor cores, of operands of 2 bytes: FlashAttention-2 (Dao, 2023) and its gradients
   without atomics. A block of threads does ROWS queries against STEP keys at a time; of the gradients
   with respect to keys and values, ROWS keys against STEP queries. A warp has MT times 16 of the rows:
   scores, weights, running maxima and sums, and results stay in its registers, and weights become the
   left operand of the next product there. The other operands are double-buffered in shared memory: the
   next step's tiles are copied while this one's are multiplied.
   Heads lie TQ queries apart; queries and keys, of DIM elements, values of WIDE are as many as AttentionParams says; PART columns of the gradients at most, from `first_column`
   on. COPY_D, COPY_E: bytes of a copy of rows of DIM and of WIDE elements. Contract: sums are in f32, in an
   order that DIM and WIDE alone give; weights and slopes of scores are rounded to the operands' dtype.
   E: MmaBf16 or MmaF16 of tensor.h; AttentionParams is of attention.h. */
/* section AttentionScores */
#define LOG2_E 1.4426950408889634f
#define LN_2 0.6931471805599453f

/* What a thread has of scores and results, by mma.sync and by wgmma alike: R rows, two of each 16 of its warp, and two
   of eight columns. */
template <typename E, bool CAUSAL, int R> struct AttentionScores {
  typedef typename E::Stored Stored;
  INL_MEMBER int warp_row() { return (int)threadIdx.x / 32 * (8 * R); }
  INL_MEMBER int row(int r) { return warp_row() + r / 2 * 16 + r % 2 * 8 + (int)threadIdx.x % 32 / 4; }
  INL_MEMBER int col(int n) { return n / 2 * 8 + (int)threadIdx.x % 4 * 2 + n % 2; }
  INL_MEMBER bool is_visible(const AttentionParams<f32> &params, int i, int j) {
    if (j >= params.keys || (CAUSAL && j > i)) return false;
    return !params.mask || i >= params.queries ||
           params.mask[(int64_t)i * params.query_stride + j * params.key_stride] != 0;
  }
  /* Does some query from i0 on not see some key from j0 on? */
  INL_MEMBER bool is_partial(const AttentionParams<f32> &params, int i0, int j0, int keys) {
    return params.mask || (params.keys % keys != 0 && j0 + keys > params.keys) || (CAUSAL && j0 + keys - 1 > i0);
  }
  template <int N> INL_MEMBER void fill(f32 (&y)[N], f32 x) {
#pragma unroll
    for (int n = 0; n < N; n++) y[n] = x;
  }
  template <int N> INL_MEMBER void clear(f32 (&y)[R][N]) {
#pragma unroll
    for (int r = 0; r < R; r++) fill(y[r], 0);
  }
  /* Scores of 16 columns, from 16 k on, of the warp's m-th 16 rows as the left operand of a product; they are rounded. */
  template <int N> INL_MEMBER void left_operand(uint32_t (&a)[4], const f32 (&s)[R][N], int m, int k) {
#pragma unroll
    for (int l = 0; l < 4; l++) {
      const int n = 4 * k + l / 2 * 2;
      a[l] = E::pack(s[2 * m + l % 2][n], s[2 * m + l % 2][n + 1]);
    }
  }

  /* Scores of queries from i0 on, in units of log 2; those of keys, from j0 on, that are not visible are none. */
  template <int N>
  INL_MEMBER void scale(f32 (&s)[R][N], const AttentionParams<f32> &params, bool partial, int i0, int j0) {
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
      for (int n = 0; n < N; n++) {
        s[r][n] *= params.scale * LOG2_E;
        if (partial && !is_visible(params, i0 + row(r), j0 + col(n))) s[r][n] = -__builtin_inff();
      }
  }
  /* Scores in units of log 2 become weights 2^(s - maximum), with the running maximum, the thread's part
     of the running sum, and results so far scaled to the new maximum. */
  template <int N, int W>
  INL_MEMBER void softmax(f32 (&s)[R][N], f32 (&row_max)[R], f32 (&row_sum)[R], f32 (&y)[R][W]) {
    f32 rescale[R];
#pragma unroll
    for (int r = 0; r < R; r++) {
      f32 top = row_max[r];
#pragma unroll
      for (int n = 0; n < N; n += 2) top = fmaxf(top, fmaxf(s[r][n], s[r][n + 1]));
      top = fmaxf(top, warp_xor(top, 1));
      top = fmaxf(top, warp_xor(top, 2));
      const f32 shift = top == -__builtin_inff() ? 0.0f : top;
      rescale[r] = exp2_approximate(row_max[r] - shift);
      row_max[r] = top;
      f32 sum = 0;
#pragma unroll
      for (int n = 0; n < N; n++) {
        s[r][n] = exp2_approximate(s[r][n] - shift);
        sum += s[r][n];
      }
      row_sum[r] = row_sum[r] * rescale[r] + sum;
    }
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
      for (int n = 0; n < W; n++) y[r][n] *= rescale[r];
  }
  /* The factors of results, and the logarithms of the sums of queries from i0 on. */
  INL_MEMBER void finish(f32 (&by)[R], const f32 (&row_max)[R], const f32 (&row_sum)[R], f32 *lse, int i0, int queries) {
#pragma unroll
    for (int r = 0; r < R; r++) {
      f32 sum = row_sum[r];
      sum += warp_xor(sum, 1);
      sum += warp_xor(sum, 2);
      by[r] = divide(1.0f, sum == 0 ? 1.0f : sum);
      const int i = i0 + row(r);
      if ((int)threadIdx.x % 4 == 0 && i < queries)
        lse[i] = (row_max[r] == -__builtin_inff() ? 0.0f : row_max[r] * LN_2) + f32_log(sum);
    }
  }

  /* s: from scores to weights; w: from the gradient with respect to weights to that with respect to
     scores, without the scale. */
  INL_MEMBER void score_gradient(f32 &s, f32 &w, f32 scale, f32 lse, f32 delta, bool sees) {
    const f32 weight = exp2_approximate(s * (scale * LOG2_E) - lse * LOG2_E);
    s = sees ? weight : 0.0f;
    w = sees ? weight * (w - delta) : 0.0f;
  }
  /* lse and delta of the thread's queries, from i0 on. */
  INL_MEMBER void load_statistics(f32 (&l)[R], f32 (&d)[R], const f32 *lse, const f32 *delta, int i0, int queries) {
#pragma unroll
    for (int r = 0; r < R; r++) {
      const int i = i0 + row(r);
      l[r] = i < queries ? lse[i] : 0.0f;
      d[r] = i < queries ? delta[i] : 0.0f;
    }
  }
  /* Gradients of scores whose rows are queries, ... */
  template <int N>
  INL_MEMBER void gradients_of_queries(f32 (&s)[R][N], f32 (&w)[R][N], const AttentionParams<f32> &params,
                                       const f32 (&l)[R], const f32 (&d)[R], bool partial, int i0, int j0) {
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
      for (int n = 0; n < N; n++)
        score_gradient(s[r][n], w[r][n], params.scale, l[r], d[r],
                       !partial || is_visible(params, i0 + row(r), j0 + col(n)));
  }
  /* ... and whose rows are keys: of queries the lse and delta in shared memory, those below `queries`. */
  template <int N>
  INL_MEMBER void gradients_of_keys(f32 (&s)[R][N], f32 (&w)[R][N], const AttentionParams<f32> &params,
                                    const f32 *l, const f32 *d, bool partial, int i0, int j0, int queries) {
#pragma unroll
    for (int n = 0; n < N; n++) {
      const int i = i0 + col(n);
      const f32 own_lse = l[col(n)], own_delta = d[col(n)];
#pragma unroll
      for (int r = 0; r < R; r++)
        score_gradient(s[r][n], w[r][n], params.scale, own_lse, own_delta,
                       !partial || (i < queries && is_visible(params, i, j0 + row(r))));
    }
  }

  /* y, times `by` of each of a thread's rows, to rows of WIDTH, ROW apart, from row0 on, those below `rows`. */
  template <int WIDTH, int ROW, int N>
  INL_MEMBER void store(Stored *out, const f32 (&y)[R][N], const f32 (&by)[R], int row0, int rows, int first_column) {
#pragma unroll
    for (int r = 0; r < R; r++) {
      const int i = row0 + row(r);
      if (i >= rows) continue;
      Stored *to = out + (int64_t)i * ROW;
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        const int c = first_column + col(n);
        const uint32_t pair = E::pack(y[r][n] * by[r], y[r][n + 1] * by[r]);
        if (WIDTH % 2 == 0) { /* so are ROW and where rows begin */
          if (c < WIDTH) *(uint32_t *)(to + c) = pair;
        } else {
          if (c < WIDTH) to[c] = (Stored)pair;
          if (c + 1 < WIDTH) to[c + 1] = (Stored)(pair >> 16);
        }
      }
    }
  }
};

/* section TensorAttention RowTile */
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

template <typename E, int TQ, int DIM, int WIDE, int ROWS, int STEP, int MT, bool CAUSAL, int PART, int COPY_D, int COPY_E,
          typename AT>
struct TensorAttention : AttentionScores<E, CAUSAL, 2 * MT> {
  typedef AttentionScores<E, CAUSAL, 2 * MT> Own;
  typedef typename E::Stored Stored;
  enum {
    THREADS = ROWS / (16 * MT) * 32, R = 2 * MT,
    NJ = STEP / 4, /* a thread's columns of a step's keys or queries */
    DIM_16 = (DIM + 15) / 16 * 16, WIDE_16 = (WIDE + 15) / 16 * 16,
    PARTS = DIM_16 > PART || WIDE_16 > PART, /* several blocks of threads share the columns */
    DIMS = (DIM_16 < PART ? DIM_16 : PART) / 4, /* ... and of results */
    WIDES = (WIDE_16 < PART ? WIDE_16 : PART) / 4
  };
  typedef RowTile<ROWS, DIM, COPY_D, THREADS> RowsD; /* this block's own queries or keys */
  typedef RowTile<ROWS, WIDE, COPY_E, THREADS> RowsE;
  typedef RowTile<STEP, DIM, COPY_D, THREADS> StepD; /* the step's */
  typedef RowTile<STEP, WIDE, COPY_E, THREADS> StepE;
  char *smem;

  /* Begins copies of a step's keys and values, those from j0 on, of so many. */
  INL_MEMBER void load_keys(char *stage, const Stored *k, const Stored *v, int j0, int keys) {
    StepD::template load_async<AT::k>(stage, k + (int64_t)j0 * AT::k, keys - j0);
    StepE::template load_async<AT::v>(stage + StepD::BYTES, v + (int64_t)j0 * AT::v, keys - j0);
  }
  /* Columns j and j + 1 of eight of the warp's m-th 16 rows. */
  template <int N>
  INL_MEMBER void multiply(f32 (&c)[R][N], int m, int j, const uint32_t *a, const uint32_t *b) {
    E::fma(c[2 * m][2 * j], c[2 * m][2 * j + 1], c[2 * m + 1][2 * j], c[2 * m + 1][2 * j + 1], a, b);
  }
  /* The warp's rows of one tile times all rows of another, over the depth. */
  template <typename Rows, typename Other>
  INL_MEMBER void scores(f32 (&s)[R][NJ], const char *own, const char *other) {
    Own::clear(s);
#pragma unroll
    for (int step = 0; step < Rows::STEPS; step++) {
      uint32_t a[MT][4];
#pragma unroll
      for (int m = 0; m < MT; m++) Rows::fragment_a(a[m], own, Own::warp_row() + m * 16, step);
#pragma unroll
      for (int j = 0; j < NJ / 2; j += 2) {
        uint32_t b[4];
        Other::fragment_b(b, other, j * 8, step);
#pragma unroll
        for (int m = 0; m < MT; m++) {
          multiply(s, m, j, a[m], b);
          multiply(s, m, j + 1, a[m], b + 2);
        }
      }
    }
  }
  /* y += s times the tile's columns from `first_column` on; s is rounded. */
  template <typename Tile, int WIDTH_16, int N>
  INL_MEMBER void accumulate(f32 (&y)[R][N], const f32 (&s)[R][NJ], const char *tile, int first_column) {
#pragma unroll
    for (int k = 0; k < NJ / 4; k++) {
      uint32_t a[MT][4];
#pragma unroll
      for (int m = 0; m < MT; m++) Own::left_operand(a[m], s, m, k);
#pragma unroll
      for (int n = 0; n < N / 2; n += 2) {
        if (PARTS && first_column + n * 8 >= WIDTH_16) break;
        uint32_t b[4];
        Tile::fragment_across(b, tile, first_column + n * 8, k);
#pragma unroll
        for (int m = 0; m < MT; m++) {
          multiply(y, m, n, a[m], b);
          multiply(y, m, n + 1, a[m], b + 2);
        }
      }
    }
  }

  /* q, k, v, y and lse of one head; the queries from i0 on */
  __device__ __forceinline__ void forward(const Stored *q, const Stored *k, const Stored *v, Stored *out,
                                          f32 *lse, const AttentionParams<f32> &params, int i0, int) {
    enum { STAGE = StepD::BYTES + StepE::BYTES };
    char *const own = smem, *const ring = own + RowsD::BYTES;
    const int keys = params.keys, end = CAUSAL && i0 + ROWS < keys ? i0 + ROWS : keys;
    f32 y[R][WIDES], row_max[R], row_sum[R], by[R];
    Own::clear(y);
    Own::fill(row_max, -__builtin_inff());
    Own::fill(row_sum, 0);
    RowsD::template load_async<AT::q>(own, q + (int64_t)i0 * AT::q, params.queries - i0);
    load_keys(ring, k, v, 0, keys);
    async_commit();
    int now = 0;
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += STEP) {
      async_wait<0>();
      block_sync();
      const char *stage = ring + now * STAGE;
      now ^= 1;
      if (j0 + STEP < end) load_keys(ring + now * STAGE, k, v, j0 + STEP, keys);
      async_commit();
      f32 s[R][NJ];
      scores<RowsD, StepD>(s, own, stage);
      Own::scale(s, params, Own::is_partial(params, i0, j0, STEP), i0, j0);
      Own::softmax(s, row_max, row_sum, y);
      accumulate<StepE, WIDE_16>(y, s, stage + StepD::BYTES, 0);
    }
    Own::finish(by, row_max, row_sum, lse, i0, params.queries);
    Own::template store<WIDE, AT::y>(out, y, by, i0, params.queries, 0);
  }

  __device__ __forceinline__ void backward_q(const Stored *q, const Stored *k, const Stored *v, const Stored *dy,
                             const f32 *lse, const f32 *delta, Stored *dq, const AttentionParams<f32> &params,
                             int i0, int first_column) {
    enum { STAGE = StepD::BYTES + StepE::BYTES };
    char *const own_q = smem, *const own_dy = own_q + RowsD::BYTES, *const ring = own_dy + RowsE::BYTES;
    const int keys = params.keys, end = CAUSAL && i0 + ROWS < keys ? i0 + ROWS : keys;
    f32 y[R][DIMS], l[R], d[R], by[R];
    Own::clear(y);
    Own::fill(by, params.scale);
    RowsD::template load_async<AT::q>(own_q, q + (int64_t)i0 * AT::q, params.queries - i0);
    RowsE::template load_async<AT::y>(own_dy, dy + (int64_t)i0 * AT::y, params.queries - i0);
    load_keys(ring, k, v, 0, keys);
    async_commit();
    Own::load_statistics(l, d, lse, delta, i0, params.queries);
    int now = 0;
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += STEP) {
      async_wait<0>();
      block_sync();
      const char *stage = ring + now * STAGE;
      now ^= 1;
      if (j0 + STEP < end) load_keys(ring + now * STAGE, k, v, j0 + STEP, keys);
      async_commit();
      f32 s[R][NJ], w[R][NJ];
      scores<RowsD, StepD>(s, own_q, stage);
      scores<RowsE, StepE>(w, own_dy, stage + StepD::BYTES);
      Own::gradients_of_queries(s, w, params, l, d, Own::is_partial(params, i0, j0, STEP), i0, j0);
      accumulate<StepD, DIM_16>(y, w, stage, first_column);
    }
    Own::template store<DIM, AT::dq>(dq, y, by, i0, params.queries, first_column);
  }

  /* Those of one head of keys, from all `group` heads of queries; mask_of
     gives the mask of the g-th of them. Rows of scores are keys here, columns queries. */
  template <typename MaskOf>
  __device__ __forceinline__ void backward_kv(const Stored *q, const Stored *k, const Stored *v, const Stored *dy,
                          const f32 *lse, const f32 *delta, Stored *dk, Stored *dv, const AttentionParams<f32> &params,
                          int group, int j0, int first_column, const MaskOf &mask_of) {
    enum { STATISTICS = StepD::BYTES + StepE::BYTES, STAGE = STATISTICS + 8 * STEP };
    char *const own_k = smem, *const own_v = own_k + RowsD::BYTES, *const ring = own_v + RowsE::BYTES;
    const int queries = params.queries, start = CAUSAL ? j0 / STEP * STEP : 0, blocks = (queries - start + STEP - 1) / STEP;
    f32 y[R][DIMS], z[R][WIDES], by[R], one[R];
    Own::clear(y);
    Own::clear(z);
    Own::fill(by, params.scale);
    Own::fill(one, 1);
    const auto load = [=](char *stage, int step) {
      const int i = start + step % blocks * STEP;
      const int64_t g = step / blocks, at = g * TQ + i;
      StepD::template load_async<AT::q>(stage, q + (g * AT::q_head + (int64_t)i * AT::q), queries - i);
      StepE::template load_async<AT::y>(stage + StepD::BYTES, dy + (g * AT::y_head + (int64_t)i * AT::y), queries - i);
      for (int p = (int)threadIdx.x; p < 2 * STEP; p += THREADS) {
        const f32 *from = p < STEP ? lse : delta;
        const bool in = i + p % STEP < queries;
        async_copy<4>(stage + STATISTICS + 4 * p, in ? from + at + p % STEP : from, in ? 4 : 0);
      }
    };
    RowsD::template load_async<AT::k>(own_k, k + (int64_t)j0 * AT::k, params.keys - j0);
    RowsE::template load_async<AT::v>(own_v, v + (int64_t)j0 * AT::v, params.keys - j0);
    if (blocks > 0) load(ring, 0); /* some queries see the keys */
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
      f32 s[R][NJ], w[R][NJ];
      scores<RowsD, StepD>(s, own_k, stage);
      scores<RowsE, StepE>(w, own_v, stage + StepD::BYTES);
      const f32 *l = (const f32 *)(stage + STATISTICS);
      const bool partial = own.mask || (CAUSAL && j0 + ROWS - 1 > i0);
      Own::gradients_of_keys(s, w, own, l, l + STEP, partial, i0, j0, INT32_MAX); /* queries behind the last are zeros */
      accumulate<StepE, WIDE_16>(z, s, stage + StepD::BYTES, first_column);
      accumulate<StepD, DIM_16>(y, w, stage, first_column);
    }
    Own::template store<DIM, AT::dk>(dk, y, by, j0, params.keys, first_column);
    Own::template store<WIDE, AT::dv>(dv, z, one, j0, params.keys, first_column);
  }
};
