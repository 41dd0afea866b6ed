/* FlashAttention on CUDA cores: blocks of R queries by B keys, an online softmax (Milakov and Gimelshein,
   2018; Dao et al., 2022). Scores s, then weights exp(s - row_max), stay in shared memory, results in registers.
   Contract: the order of every sum is the CPU's (text/attention.h and text/gemm.h there).
   TQ queries of KEY_DIM numbers, SK keys, values of VALUE_DIM: fewer of both where a run has fewer (AttentionParams). A block of 256 threads computes R queries; of the
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
          bool CAUSAL, int COLUMNS, typename AT>
struct FlashAttention {
  typedef typename A::Stored Stored;
  enum {
    THREADS = 256, BK = 16, PAD = 4, TM = R / 16, TN = B / 16, WARPS = THREADS / 32,
    /* one chain over all of the depth */
    CHAIN = KEY_DIM > VALUE_DIM ? (KEY_DIM > 0 ? KEY_DIM : 1) : VALUE_DIM > 0 ? VALUE_DIM : 1,
    KEY_TILES = ((KEY_DIM < COLUMNS ? KEY_DIM : COLUMNS) + B - 1) / B, /* tiles of B columns */
    VALUE_TILES = ((VALUE_DIM < COLUMNS ? VALUE_DIM : COLUMNS) + B - 1) / B
  };
  typedef Gemm<int, T, A, A, TQ, SK, KEY_DIM, false, true, R, B, TM, TN, CHAIN, AT::q, AT::k>
      ScoreGemm; /* q k^T */
  typedef Gemm<int, T, A, A, TQ, SK, VALUE_DIM, false, true, R, B, TM, TN, CHAIN, AT::y, AT::v>
      WeightGradGemm; /* dy v^T */
  T s[R][B + 1], ds[R][B + 1];
  union {
    ScoreGemm scores;
    WeightGradGemm weight_grads;
    T b[BK][B + PAD]; /* the right operand of multiply_add */
  } smem;
  T row_max[R], row_sum[R];
  T row_rescale[R]; /* exp(old row_max - new row_max): what earlier results are multiplied by */

  INL_MEMBER int row(int i) { return ScoreGemm::row(i); }
  INL_MEMBER int col(int j) { return ScoreGemm::col(j / ScoreGemm::VN) + j % ScoreGemm::VN; }
  INL_MEMBER bool is_visible(const AttentionParams<T> &params, int i, int j) {
    if (i >= params.queries || j >= params.keys || (CAUSAL && j > i)) return false;
    return !params.mask || params.mask[(int64_t)i * params.query_stride + j * params.key_stride] != 0;
  }
  __device__ __forceinline__ void store_tile(T (&to)[R][B + 1], const T (&c)[TM][TN]) {
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) to[row(i)][col(j)] = c[i][j];
  }
  /* Scores to weights; a warp does a row. */
  __device__ __forceinline__ void online_softmax(const AttentionParams<T> &params, int i0, int j0) {
    const int lane = (int)threadIdx.x % 32;
    const T none = -(T)__builtin_inff();
    for (int r = (int)threadIdx.x / 32; r < R; r += WARPS) {
      T x[2] = {none, none}, e[2] = {0, 0};
#pragma unroll
      for (int l = 0; l < 2; l++) {
        const int c = lane + l * 32;
        if (c >= B) continue;
        const T score = s[r][c] * params.scale;
        x[l] = is_visible(params, i0 + r, j0 + c) ? score : none;
      }
      const T tile_max = attention_tree<B>(x[0], x[1], true), old_max = row_max[r];
      const T new_max = tile_max > old_max || tile_max != tile_max ? tile_max : old_max;
      const T shift = new_max == none ? (T)0 : new_max;
#pragma unroll
      for (int l = 0; l < 2; l++) {
        const int c = lane + l * 32;
        if (c >= B) continue;
        e[l] = attention_exp(x[l] - shift);
        s[r][c] = e[l];
      }
      const T tile_sum = attention_tree<B>(e[0], e[1], false), rescale = attention_exp(old_max - shift);
      warp_sync();
      if (lane == 0) {
        row_max[r] = new_max;
        row_sum[r] = row_sum[r] * rescale + tile_sum;
        row_rescale[r] = rescale;
      }
      warp_sync();
    }
  }
  /* y += op(a) b: a is a block in shared memory; b is rows of `width`, ROW apart. */
  template <bool TRANSPOSE_A, int ROW>
  __device__ __forceinline__ void multiply_add(T (&y)[TM][TN], const T (&a)[R][B + 1], const Stored *b,
                                        int width, int n0, int depth) {
    T acc[TM][TN];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
#pragma unroll 1
    for (int k0 = 0; k0 < depth; k0 += BK) {
      block_sync();
      for (int p = (int)threadIdx.x; p < BK * B; p += THREADS) {
        const int k = k0 + p / B, n = n0 + p % B;
        smem.b[p / B][p % B] = k < depth && n < width ? A::get(b[(int64_t)k * ROW + n]) : (T)0;
      }
      block_sync();
#pragma unroll 1
      for (int k = 0; k < BK && k0 + k < depth; k++) {
        T va[TM], vb[TN];
#pragma unroll
        for (int i = 0; i < TM; i++) va[i] = TRANSPOSE_A ? a[k0 + k][row(i)] : a[row(i)][k0 + k];
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
    T y[VALUE_TILES ? VALUE_TILES : 1][TM][TN], c[TM][TN];
#pragma unroll
    for (int n = 0; n < VALUE_TILES; n++)
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) y[n][i][j] = 0;
    for (int r = (int)threadIdx.x; r < R; r += THREADS) row_max[r] = none, row_sum[r] = 0;
    const int end = CAUSAL && i0 + R < params.keys ? i0 + R : params.keys;
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += B) {
      block_sync();
      smem.scores.run(c, q, k, i0, j0, params.queries, KEY_DIM, params.keys);
      store_tile(s, c);
      block_sync();
      online_softmax(params, i0, j0);
      block_sync();
#pragma unroll
      for (int n = 0; n < VALUE_TILES; n++) {
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
          for (int j = 0; j < TN; j++) y[n][i][j] = y[n][i][j] * row_rescale[row(i)];
        multiply_add<false, AT::v>(y[n], s, v + (int64_t)j0 * AT::v, VALUE_DIM, first_column + n * B,
                            params.keys - j0 < B ? params.keys - j0 : B);
      }
    }
    block_sync();
#pragma unroll
    for (int n = 0; n < VALUE_TILES; n++) {
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) {
          const T l = row_sum[row(i)];
          y[n][i][j] = divide(y[n][i][j], l == 0 ? (T)1 : l);
        }
      store<AT::y>(out, y[n], i0, params.queries, VALUE_DIM, first_column + n * B);
    }
    if (first_column > 0) return;
    for (int r = (int)threadIdx.x; r < R; r += THREADS)
      if (i0 + r < params.queries)
        lse[i0 + r] = (row_max[r] == none ? (T)0 : row_max[r]) + attention_log(row_sum[r]);
  }

  /* Of one block: s becomes the weights, ds the gradient with respect to the scores. */
  __device__ __forceinline__ void score_gradients(const Stored *q, const Stored *k, const Stored *v,
                                         const Stored *dy, const T *lse, const T *delta,
                                         const AttentionParams<T> &params, int i0, int j0) {
    T u[TM][TN];
    block_sync();
    smem.scores.run(u, q, k, i0, j0, params.queries, KEY_DIM, params.keys);
    store_tile(s, u);
    block_sync();
    smem.weight_grads.run(u, dy, v, i0, j0, params.queries, VALUE_DIM, params.keys);
    store_tile(ds, u);
#pragma unroll 1
    for (int i = 0; i < TM; i++) {
      const int r = i0 + row(i);
      const T l = r < params.queries ? lse[r] : (T)0, d = r < params.queries ? delta[r] : (T)0;
#pragma unroll 1
      for (int j = 0; j < TN; j++) {
        const T weight = attention_exp(s[row(i)][col(j)] * params.scale - l);
        const T grad = weight * (ds[row(i)][col(j)] - d) * params.scale;
        const bool visible = is_visible(params, r, j0 + col(j));
        s[row(i)][col(j)] = visible ? weight : (T)0;
        ds[row(i)][col(j)] = visible ? grad : (T)0;
      }
    }
    block_sync();
  }
  __device__ __forceinline__ void backward_q(const Stored *q, const Stored *k, const Stored *v,
                                             const Stored *dy, const T *lse, const T *delta,
                                             Stored *dq, const AttentionParams<T> &params, int i0,
                                             int first_column) {
    T y[KEY_TILES ? KEY_TILES : 1][TM][TN];
#pragma unroll
    for (int n = 0; n < KEY_TILES; n++)
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) y[n][i][j] = 0;
    const int end = CAUSAL && i0 + R < params.keys ? i0 + R : params.keys;
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += B) {
      score_gradients(q, k, v, dy, lse, delta, params, i0, j0);
#pragma unroll
      for (int n = 0; n < KEY_TILES; n++)
        multiply_add<false, AT::k>(y[n], ds, k + (int64_t)j0 * AT::k, KEY_DIM, first_column + n * B,
                            params.keys - j0 < B ? params.keys - j0 : B);
    }
#pragma unroll
    for (int n = 0; n < KEY_TILES; n++) store<AT::dq>(dq, y[n], i0, params.queries, KEY_DIM, first_column + n * B);
  }
  /* The gradients of one head of keys and values, from all `group` heads of queries.
     mask_of(g) is the mask of the g-th of them. */
  template <typename Offset>
  __device__ __forceinline__ void backward_kv(const Stored *q, const Stored *k, const Stored *v,
                                          const Stored *dy, const T *lse, const T *delta,
                                          Stored *dk, Stored *dv, const AttentionParams<T> &params, int group,
                                          int j0, int first_column, const Offset &mask_of) {
    T y[KEY_TILES ? KEY_TILES : 1][TM][TN], z[VALUE_TILES ? VALUE_TILES : 1][TM][TN];
#pragma unroll
    for (int n = 0; n < KEY_TILES; n++)
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) y[n][i][j] = 0;
#pragma unroll
    for (int n = 0; n < VALUE_TILES; n++)
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) z[n][i][j] = 0;
#pragma unroll 1
    for (int g = 0; g < group; g++) {
      AttentionParams<T> head = params;
      head.mask = mask_of(g);
      const int64_t at = (int64_t)g * TQ;
#pragma unroll 1
      for (int i0 = CAUSAL ? j0 : 0; i0 < params.queries; i0 += B) {
        const int rows = params.queries - i0 < B ? params.queries - i0 : B;
        score_gradients(q + g * AT::q_head, k, v, dy + g * AT::y_head, lse + at, delta + at, head, i0, j0);
#pragma unroll
        for (int n = 0; n < VALUE_TILES; n++)
          multiply_add<true, AT::y>(z[n], s, dy + (g * AT::y_head + (int64_t)i0 * AT::y), VALUE_DIM, first_column + n * B, rows);
#pragma unroll
        for (int n = 0; n < KEY_TILES; n++)
          multiply_add<true, AT::q>(y[n], ds, q + (g * AT::q_head + (int64_t)i0 * AT::q), KEY_DIM, first_column + n * B, rows);
      }
    }
#pragma unroll
    for (int n = 0; n < KEY_TILES; n++) store<AT::dk>(dk, y[n], j0, params.keys, KEY_DIM, first_column + n * B);
#pragma unroll
    for (int n = 0; n < VALUE_TILES; n++) store<AT::dv>(dv, z[n], j0, params.keys, VALUE_DIM, first_column + n * B);
  }
};
