/* FlashAttention on CUDA cores: blocks of R queries by B keys, an online softmax (Milakov and Gimelshein,
   2018; Dao et al., 2022). Scores s, then weights exp(s - row_max), and results stay in registers; weights also go to
   shared memory, as the left operand of what they are multiplied with. The 16 threads that share a row add up its tree.
   Contract: the order of every sum is the CPU's (text/attention.h and text/gemm.h there).
   TQ queries of KEY_DIM numbers, SK keys, values of VALUE_DIM: fewer of both where a run has fewer (AttentionParams). A block of BLOCK threads computes R queries; of the
   gradients with respect to keys and values, B keys, and R is B. It computes at most COLUMNS columns of the results, from
   first_column on; blocks for other columns compute the scores again. */
/* section AttentionParams */
template <typename T> struct AttentionParams {
  T scale;                      /* of scores */
  int queries, keys;            /* of this run: TQ and SK, or fewer */
  const uint8_t *mask;          /* of the head, or null */
  int query_stride, key_stride; /* of the mask */
};
/* Elements from row to row of queries, keys, values, of results or the gradients with respect to them, and of the
   gradients; from head to head of queries and of results. */
template <int Q, int K, int V, int Y, int DQ, int DK, int DV, int64_t Q_HEAD, int64_t Y_HEAD> struct AttentionRows {
  static const int q = Q, k = K, v = V, y = Y, dq = DQ, dk = DK, dv = DV;
  static const int64_t q_head = Q_HEAD, y_head = Y_HEAD;
};
/* section attention_exp attention_log attention_store */
INL f32 attention_exp(f32 x) { return f32_exp(x); }
INL f64 attention_exp(f64 x) { return f64_exp(x); }
INL f32 attention_log(f32 x) { return f32_log(x); }
INL f64 attention_log(f64 x) { return f64_log(x); }
template <typename T> INL void attention_store(Identity<T>, T *to, T x) { *to = x; }
INL void attention_store(FromF16, uint16_t *to, f32 x) { *to = f16_store(x); }
INL void attention_store(FromBf16, uint16_t *to, f32 x) { *to = bf16_store(x); }
/* section attention_combine attention_tree */
template <typename T> INL T attention_combine(T a, T b, bool max) { return max ? (b > a || b != b ? b : a) : a + b; }
/* The tree over a row's B numbers, of which a thread has those at lane and lane + 32. */
template <int B, typename T> INL T attention_tree(T a, T b, bool max) {
  if (B > 32) a = attention_combine(a, b, max);
#pragma unroll
  for (int h = B > 32 ? 16 : B / 2; h; h /= 2) a = attention_combine(a, warp_down(a, h), max);
  return warp_first(a);
}
/* section FlashAttention */
template <typename T, typename A, int TQ, int SK, int KEY_DIM, int VALUE_DIM, int B, int R,
          bool CAUSAL, int COLUMNS, int BLOCK, int OPERANDS, typename AT>
struct FlashAttention {
  typedef typename A::Stored Stored;
  enum {
    THREADS = BLOCK, BK = 16, PAD = 4, LANES = 16, TM = R * LANES / THREADS, TN = B / LANES,
    SHARE = LANES / TM, /* threads that have the numbers of the same row of theirs */
    /* one chain over all of the depth */
    CHAIN = KEY_DIM > VALUE_DIM ? (KEY_DIM > 0 ? KEY_DIM : 1) : VALUE_DIM > 0 ? VALUE_DIM : 1,
    KEY_TILES = ((KEY_DIM < COLUMNS ? KEY_DIM : COLUMNS) + B - 1) / B, /* tiles of B columns */
    VALUE_TILES = ((VALUE_DIM < COLUMNS ? VALUE_DIM : COLUMNS) + B - 1) / B
  };
  typedef Gemm<int, T, A, A, TQ, SK, KEY_DIM, false, true, R, B, TM, TN, CHAIN, AT::q, AT::k,
               GemmSide<int, T, A, B, SK, KEY_DIM, false, AT::k, BK, THREADS>, THREADS>
      ScoreGemm; /* q k^T */
  typedef Gemm<int, T, A, A, TQ, SK, VALUE_DIM, false, true, R, B, TM, TN, CHAIN, AT::y, AT::v,
               GemmSide<int, T, A, B, SK, VALUE_DIM, false, AT::v, BK, THREADS>, THREADS>
      WeightGradGemm; /* dy v^T */
  typedef T Operand[B][R + PAD]; /* of multiply_add: the depth is its rows */
  union {
    ScoreGemm scores;
    WeightGradGemm weight_grads;
    T b[BK][B + PAD]; /* the right operand of multiply_add */
  } smem;
  Operand left[OPERANDS];

  INL_MEMBER int row(int i) { return ScoreGemm::row(i); }
  INL_MEMBER int col(int j) { return ScoreGemm::col(j / ScoreGemm::VN) + j % ScoreGemm::VN; }
  /* Of the rows of a thread, the one whose numbers it has by itself, as those beside it have those of others. */
  INL_MEMBER int own_row() { return row((int)threadIdx.x % LANES / SHARE); }
  INL_MEMBER T of_row(T own, int i) { return warp_at(own, (int)threadIdx.x % 32 / LANES * LANES + i * SHARE); }
  INL_MEMBER bool is_visible(const AttentionParams<T> &params, int i, int j) {
    if (i >= params.queries || j >= params.keys || (CAUSAL && j > i)) return false;
    return !params.mask || params.mask[(int64_t)i * params.query_stride + j * params.key_stride] != 0;
  }
  /* The tree over each row's B numbers, of which a thread has TN in each of TM rows; the result is its own row's. */
  INL_MEMBER T own_tree(T (&x)[TM][TN], bool max) {
    fold<TM, LANES / 2>(x, max);
#pragma unroll
    for (int h = TN / 2; h; h /= 2)
#pragma unroll
      for (int j = 0; j < h; j++) x[0][j] = attention_combine(x[0][j], x[0][j + h], max);
    return x[0][0];
  }
  /* Combines the columns of the threads that differ in the bit H, and those below it. Two threads with several rows
     each give half of them to the other. */
  template <int ROWS, int H> INL_MEMBER void fold(T (&x)[TM][TN], bool max) {
    enum { HALF = ROWS > 1 ? ROWS / 2 : 1 };
    if (H == 0) return;
    const bool upper = ROWS > 1 && ((int)threadIdx.x & H) != 0;
#pragma unroll
    for (int i = 0; i < HALF; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) {
        const T low = x[i][j], high = x[ROWS > 1 ? i + HALF : i][j];
        x[i][j] = attention_combine(upper ? high : low, warp_xor(upper ? low : high, H), max);
      }
    fold<HALF, H / 2>(x, max);
  }
  template <int TILES> INL_MEMBER void clear(T (&y)[TILES][TM][TN]) {
#pragma unroll
    for (int n = 0; n < TILES; n++)
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) y[n][i][j] = 0;
  }
  /* What the threads have as a left operand whose depth is the columns; is the rows. */
  INL_MEMBER void store_by_columns(Operand &to, const T (&c)[TM][TN]) {
#pragma unroll
    for (int j = 0; j < TN; j++)
#pragma unroll
      for (int i = 0; i < TM; i++) to[col(j)][row(i)] = c[i][j];
  }
  INL_MEMBER void store_by_rows(Operand &to, const T (&c)[TM][TN]) {
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) to[row(i)][col(j)] = c[i][j];
  }
  INL_MEMBER void load_by_rows(T (&c)[TM][TN], const Operand &from) {
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) c[i][j] = from[row(i)][col(j)];
  }
  /* Scores to weights. row_max, row_sum: of the thread's own row, of all keys so far. Returns exp(old row_max - new
     row_max): what the row's earlier results are multiplied by. */
  __device__ __forceinline__ T online_softmax(T (&c)[TM][TN], const AttentionParams<T> &params, int i0, int j0,
                                              T &row_max, T &row_sum) {
    const T none = -(T)__builtin_inff();
    T x[TM][TN];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) {
        const T score = c[i][j] * params.scale;
        x[i][j] = c[i][j] = is_visible(params, i0 + row(i), j0 + col(j)) ? score : none;
      }
    const T tile_max = own_tree(x, true);
    const T new_max = tile_max > row_max || tile_max != tile_max ? tile_max : row_max;
    const T own_shift = new_max == none ? (T)0 : new_max;
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const T shift = of_row(own_shift, i);
#pragma unroll
      for (int j = 0; j < TN; j++) x[i][j] = c[i][j] = attention_exp(c[i][j] - shift);
    }
    const T tile_sum = own_tree(x, false), rescale = attention_exp(row_max - own_shift);
    row_sum = row_sum * rescale + tile_sum;
    row_max = new_max;
    return rescale;
  }
  /* y += the left operand times b, rows of WIDTH, ROW apart: the columns from n0 on. */
  template <int WIDTH, int ROW>
  __device__ __forceinline__ void multiply_add(T (&y)[TM][TN], const Operand &a, const Stored *b, int n0, int depth) {
    GemmSide<int, T, A, B, WIDTH, B, true, ROW, BK, THREADS> side;
    T acc[TM][TN];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    side.load(b, n0, 0, WIDTH, depth);
#pragma unroll 1
    for (int k0 = 0; k0 < depth; k0 += BK) {
      block_sync();
      side.store(smem.b);
      block_sync();
      if (k0 + BK < depth) side.load(b, n0, k0 + BK, WIDTH, depth);
      const int end = depth - k0 < BK ? depth - k0 : BK;
#pragma unroll 4
      for (int k = 0; k < end; k++) {
        T va[TM], vb[TN];
#pragma unroll
        for (int i = 0; i < TM; i++) va[i] = a[k0 + k][row(i)];
#pragma unroll
        for (int j = 0; j < TN; j++) vb[j] = smem.b[k][col(j)];
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
          for (int j = 0; j < TN; j++) acc[i][j] = gemm_fma(vb[j], va[i], acc[i][j]);
      }
    }
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) y[i][j] = acc[i][j] + y[i][j];
  }
  /* one tile of B columns, of rows from row0 on */
  template <int ROW> INL_MEMBER void store(Stored *out, const T (&y)[TM][TN], int row0, int rows, int width, int n0) {
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++)
        if (row0 + row(i) < rows && n0 + col(j) < width)
          attention_store(A(), out + (int64_t)(row0 + row(i)) * ROW + n0 + col(j), y[i][j]);
  }

  /* q, k, v, y and lse of one head; the queries from i0 on */
  __device__ __forceinline__ void forward(const Stored *q, const Stored *k, const Stored *v, Stored *out,
                                          T *lse, const AttentionParams<T> &params, int i0,
                                             int first_column) {
    const T none = -(T)__builtin_inff();
    T y[VALUE_TILES ? VALUE_TILES : 1][TM][TN], c[TM][TN], row_max = none, row_sum = 0;
    clear(y);
    const int end = CAUSAL && i0 + R < params.keys ? i0 + R : params.keys;
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += B) {
      block_sync();
      smem.scores.run(c, q, k, i0, j0, params.queries, KEY_DIM, params.keys);
      const T own = online_softmax(c, params, i0, j0, row_max, row_sum);
      store_by_columns(left[0], c);
#pragma unroll
      for (int i = 0; i < TM; i++) {
        const T rescale = of_row(own, i);
#pragma unroll
        for (int n = 0; n < VALUE_TILES; n++)
#pragma unroll
          for (int j = 0; j < TN; j++) y[n][i][j] = y[n][i][j] * rescale;
      }
#pragma unroll
      for (int n = 0; n < VALUE_TILES; n++)
        multiply_add<VALUE_DIM, AT::v>(y[n], left[0], v + (int64_t)j0 * AT::v, first_column + n * B,
                                       params.keys - j0 < B ? params.keys - j0 : B);
    }
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const T l = of_row(row_sum, i);
#pragma unroll
      for (int n = 0; n < VALUE_TILES; n++)
#pragma unroll
        for (int j = 0; j < TN; j++) y[n][i][j] = divide(y[n][i][j], l == 0 ? (T)1 : l);
    }
#pragma unroll
    for (int n = 0; n < VALUE_TILES; n++) store<AT::y>(out, y[n], i0, params.queries, VALUE_DIM, first_column + n * B);
    const int r = i0 + own_row();
    if (first_column > 0 || (int)threadIdx.x % SHARE || r >= params.queries) return;
    lse[r] = (row_max == none ? (T)0 : row_max) + attention_log(row_sum);
  }

  /* Of one block: scores to weights. own_lse: of the thread's own row. */
  INL_MEMBER void weights(T (&c)[TM][TN], T own_lse, const AttentionParams<T> &params, int i0, int j0) {
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const T l = of_row(own_lse, i);
#pragma unroll
      for (int j = 0; j < TN; j++) {
        const T weight = attention_exp(c[i][j] * params.scale - l);
        c[i][j] = is_visible(params, i0 + row(i), j0 + col(j)) ? weight : (T)0;
      }
    }
  }
  /* ... and gradients with respect to weights to those with respect to scores */
  INL_MEMBER void score_gradients(T (&u)[TM][TN], const T (&c)[TM][TN], T own_delta, const AttentionParams<T> &params,
                                  int i0, int j0) {
#pragma unroll
    for (int i = 0; i < TM; i++) {
      const T d = of_row(own_delta, i);
#pragma unroll
      for (int j = 0; j < TN; j++) {
        const T grad = c[i][j] * (u[i][j] - d) * params.scale;
        u[i][j] = is_visible(params, i0 + row(i), j0 + col(j)) ? grad : (T)0;
      }
    }
  }
  __device__ __forceinline__ void backward_q(const Stored *q, const Stored *k, const Stored *v,
                                             const Stored *dy, const T *lse, const T *delta,
                                             Stored *dq, const AttentionParams<T> &params, int i0,
                                             int first_column) {
    T y[KEY_TILES ? KEY_TILES : 1][TM][TN], c[TM][TN], u[TM][TN];
    clear(y);
    const int r = i0 + own_row(), end = CAUSAL && i0 + R < params.keys ? i0 + R : params.keys;
    const T l = r < params.queries ? lse[r] : (T)0, d = r < params.queries ? delta[r] : (T)0;
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += B) {
      block_sync();
      smem.scores.run(c, q, k, i0, j0, params.queries, KEY_DIM, params.keys);
      weights(c, l, params, i0, j0);
      smem.weight_grads.run(u, dy, v, i0, j0, params.queries, VALUE_DIM, params.keys);
      score_gradients(u, c, d, params, i0, j0);
      store_by_columns(left[0], u);
#pragma unroll
      for (int n = 0; n < KEY_TILES; n++)
        multiply_add<KEY_DIM, AT::k>(y[n], left[0], k + (int64_t)j0 * AT::k, first_column + n * B,
                                     params.keys - j0 < B ? params.keys - j0 : B);
    }
#pragma unroll
    for (int n = 0; n < KEY_TILES; n++) store<AT::dq>(dq, y[n], i0, params.queries, KEY_DIM, first_column + n * B);
  }
  /* The gradients of one head of keys and values, from all `group` heads of queries.
     mask_of(g) is the mask of the g-th of them. R is B. */
  template <typename Offset>
  __device__ __forceinline__ void backward_kv(const Stored *q, const Stored *k, const Stored *v,
                                          const Stored *dy, const T *lse, const T *delta,
                                          Stored *dk, Stored *dv, const AttentionParams<T> &params, int group,
                                          int j0, int first_column, const Offset &mask_of) {
    T y[KEY_TILES ? KEY_TILES : 1][TM][TN], z[VALUE_TILES ? VALUE_TILES : 1][TM][TN];
    clear(y);
    clear(z);
#pragma unroll 1
    for (int g = 0; g < group; g++) {
      AttentionParams<T> head = params;
      head.mask = mask_of(g);
#pragma unroll 1
      for (int i0 = CAUSAL ? j0 : 0; i0 < params.queries; i0 += B) {
        const int rows = params.queries - i0 < B ? params.queries - i0 : B, r = own_row();
        const int64_t at = (int64_t)g * TQ + i0 + r;
        const T l = r < rows ? lse[at] : (T)0, d = r < rows ? delta[at] : (T)0;
        const Stored *q_head = q + g * AT::q_head, *dy_head = dy + g * AT::y_head;
        T c[TM][TN], u[TM][TN];
        block_sync();
        smem.scores.run(c, q_head, k, i0, j0, params.queries, KEY_DIM, params.keys);
        weights(c, l, head, i0, j0);
        store_by_rows(left[0], c);
        smem.weight_grads.run(u, dy_head, v, i0, j0, params.queries, VALUE_DIM, params.keys);
        load_by_rows(c, left[0]); /* registers have no room for them meanwhile */
        score_gradients(u, c, d, head, i0, j0);
        store_by_rows(left[OPERANDS - 1], u);
#pragma unroll
        for (int n = 0; n < VALUE_TILES; n++)
          multiply_add<VALUE_DIM, AT::y>(z[n], left[0], dy_head + (int64_t)i0 * AT::y, first_column + n * B, rows);
#pragma unroll
        for (int n = 0; n < KEY_TILES; n++)
          multiply_add<KEY_DIM, AT::q>(y[n], left[OPERANDS - 1], q_head + (int64_t)i0 * AT::q, first_column + n * B, rows);
      }
    }
#pragma unroll
    for (int n = 0; n < KEY_TILES; n++) store<AT::dk>(dk, y[n], j0, params.keys, KEY_DIM, first_column + n * B);
#pragma unroll
    for (int n = 0; n < VALUE_TILES; n++) store<AT::dv>(dv, z[n], j0, params.keys, VALUE_DIM, first_column + n * B);
  }
};
