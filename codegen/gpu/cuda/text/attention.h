/* Attention by blocks of B queries and B keys: scores and weights stay in shared memory, results in
   registers. Contract: the order of every sum is the CPU's (text/attention.h and text/gemm.h there).
   TQ queries of DIM numbers, SK keys, values of WIDE. A block of 256 threads does B queries, or for
   the gradients by keys and values, B keys; of their results at most PART columns, from `first` on, for which
   it computes the scores again. */
INL f32 attend_exp(f32 x) { return f32_exp(x); }
INL f64 attend_exp(f64 x) { return f64_exp(x); }
INL f32 attend_log(f32 x) { return f32_log(x); }
INL f64 attend_log(f64 x) { return f64_log(x); }
template <typename T> INL void attend_put(AsItIs<T>, T *to, T x) { *to = x; }
INL void attend_put(AsF16, uint16_t *to, f32 x) { *to = f16_store(x); }
INL void attend_put(AsBf16, uint16_t *to, f32 x) { *to = bf16_store(x); }

template <typename T> struct Sight { /* which keys a query of a head sees */
  T scale;
  const uint8_t *mask; /* of the head, or null */
  int pitch, step;     /* of the mask, from query to query and from key to key */
};

template <typename T, typename A, int TQ, int SK, int DIM, int WIDE, int B, bool CAUSAL, int PART>
struct Attend {
  typedef typename A::Stored Stored;
  enum {
    THREADS = 256, BK = 16, PAD = 4, TM = B / 16, TN = TM, WARPS = THREADS / 32,
    CHAIN = DIM > WIDE ? (DIM > 0 ? DIM : 1) : WIDE > 0 ? WIDE : 1, /* one over all of the depth */
    DIMS = ((DIM < PART ? DIM : PART) + B - 1) / B, /* tiles of B columns */
    WIDES = ((WIDE < PART ? WIDE : PART) + B - 1) / B
  };
  typedef Gemm<int, T, A, A, TQ, SK, DIM, false, true, B, B, TM, TN, CHAIN> Keys;
  typedef Gemm<int, T, A, A, TQ, SK, WIDE, false, true, B, B, TM, TN, CHAIN> Values;
  T s[B][B + 1], w[B][B + 1];
  union {
    Keys keys;
    Values values;
    T slice[BK][B + PAD];
  } room;
  T most[B], sum[B], less[B];

  INL_MEMBER int row(int i) { return Keys::row(i); }
  INL_MEMBER int col(int j) { return Keys::col(j / Keys::VN) + j % Keys::VN; }
  INL_MEMBER bool sees(const Sight<T> &v, int i, int j) {
    if (i >= TQ || j >= SK || (CAUSAL && j > i)) return false;
    return !v.mask || v.mask[(int64_t)i * v.pitch + j * v.step] != 0;
  }
  __device__ __forceinline__ void keep(T (&to)[B][B + 1], const T (&c)[TM][TN]) {
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) to[row(i)][col(j)] = c[i][j];
  }
  /* The tree over a row's B numbers, of which a thread has those at lane and lane + 32. */
  INL_MEMBER T combine(T a, T b, bool max) { return max ? (b > a || b != b ? b : a) : a + b; }
  INL_MEMBER T tree(T a, T b, bool max) {
    if (B > 32) a = combine(a, b, max);
#pragma unroll
    for (int h = B > 32 ? 16 : B / 2; h; h /= 2) a = combine(a, warp_down(a, h), max);
    return warp_first(a);
  }
  /* Scores to weights, row by row of a warp. */
  __device__ __forceinline__ void weigh(const Sight<T> &v, int i0, int j0) {
    const int lane = (int)threadIdx.x % 32;
    const T none = -(T)__builtin_inff();
    for (int r = (int)threadIdx.x / 32; r < B; r += WARPS) {
      T x[2] = {none, none}, e[2] = {0, 0};
#pragma unroll
      for (int l = 0; l < 2; l++) {
        const int c = lane + l * 32;
        if (c >= B) continue;
        const T score = s[r][c] * v.scale;
        x[l] = sees(v, i0 + r, j0 + c) ? score : none;
      }
      const T top = tree(x[0], x[1], true), was = most[r];
      const T now = top > was || top != top ? top : was;
      const T shift = now == none ? (T)0 : now;
#pragma unroll
      for (int l = 0; l < 2; l++) {
        const int c = lane + l * 32;
        if (c >= B) continue;
        e[l] = attend_exp(x[l] - shift);
        s[r][c] = e[l];
      }
      const T total = tree(e[0], e[1], false), by = attend_exp(was - shift);
      warp_sync();
      if (lane == 0) {
        most[r] = now;
        sum[r] = sum[r] * by + total;
        less[r] = by;
      }
      warp_sync();
    }
  }
  /* y += a b: a is B rows of a block in shared memory, or its columns; b is rows of `width`. */
  template <bool COLUMNS>
  __device__ __forceinline__ void times(T (&y)[TM][TN], const T (&a)[B][B + 1], const Stored *b,
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
        room.slice[p / B][p % B] = k < depth && n < width ? A::get(b[(int64_t)k * width + n]) : (T)0;
      }
      block_sync();
#pragma unroll 1
      for (int k = 0; k < BK && k0 + k < depth; k++) {
        T va[TM], vb[TN];
#pragma unroll
        for (int i = 0; i < TM; i++) va[i] = COLUMNS ? a[k0 + k][row(i)] : a[row(i)][k0 + k];
#pragma unroll
        for (int j = 0; j < TN; j++) vb[j] = room.slice[k][col(j)];
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
  INL_MEMBER void put(Stored *out, const T (&y)[TM][TN], int row0, int rows, int width, int n0) {
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++)
        if (row0 + row(i) < rows && n0 + col(j) < width)
          attend_put(A(), out + (int64_t)(row0 + row(i)) * width + n0 + col(j), y[i][j]);
  }

  /* q, k, v, y and lse of one head; the queries from i0 on */
  __device__ __forceinline__ void forward(const Stored *q, const Stored *k, const Stored *v, Stored *out,
                                          Stored *lse, const Sight<T> &sight, int i0, int first) {
    const T none = -(T)__builtin_inff();
    T y[WIDES ? WIDES : 1][TM][TN], c[TM][TN];
#pragma unroll
    for (int n = 0; n < WIDES; n++)
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) y[n][i][j] = 0;
    for (int r = (int)threadIdx.x; r < B; r += THREADS) most[r] = none, sum[r] = 0;
    const int end = CAUSAL ? (i0 + B < SK ? i0 + B : SK) : SK;
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += B) {
      block_sync();
      room.keys.run(c, q, k, i0, j0);
      keep(s, c);
      block_sync();
      weigh(sight, i0, j0);
      block_sync();
#pragma unroll
      for (int n = 0; n < WIDES; n++) {
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
          for (int j = 0; j < TN; j++) y[n][i][j] = y[n][i][j] * less[row(i)];
        times<false>(y[n], s, v + (int64_t)j0 * WIDE, WIDE, first + n * B, SK - j0 < B ? SK - j0 : B);
      }
    }
    block_sync();
#pragma unroll
    for (int n = 0; n < WIDES; n++) {
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) {
          const T l = sum[row(i)];
          y[n][i][j] = divide(y[n][i][j], l == 0 ? (T)1 : l);
        }
      put(out, y[n], i0, TQ, WIDE, first + n * B);
    }
    if (first > 0) return;
    for (int r = (int)threadIdx.x; r < B; r += THREADS)
      if (i0 + r < TQ) attend_put(A(), lse + i0 + r, (most[r] == none ? (T)0 : most[r]) + attend_log(sum[r]));
  }

  /* Weights into s and what the scores want into w, of one block. */
  __device__ __forceinline__ void slopes(const Stored *q, const Stored *k, const Stored *v,
                                         const Stored *dy, const Stored *lse, const Stored *delta,
                                         const Sight<T> &sight, int i0, int j0) {
    T u[TM][TN];
    block_sync();
    room.keys.run(u, q, k, i0, j0);
    keep(s, u);
    block_sync();
    room.values.run(u, dy, v, i0, j0);
    keep(w, u);
#pragma unroll 1
    for (int i = 0; i < TM; i++) {
      const int r = i0 + row(i);
      const T l = r < TQ ? A::get(lse[r]) : (T)0, d = r < TQ ? A::get(delta[r]) : (T)0;
#pragma unroll 1
      for (int j = 0; j < TN; j++) {
        const T weight = attend_exp(s[row(i)][col(j)] * sight.scale - l);
        const T slope = weight * (w[row(i)][col(j)] - d) * sight.scale;
        const bool on = sees(sight, r, j0 + col(j));
        s[row(i)][col(j)] = on ? weight : (T)0;
        w[row(i)][col(j)] = on ? slope : (T)0;
      }
    }
    block_sync();
  }
  __device__ __forceinline__ void by_queries(const Stored *q, const Stored *k, const Stored *v,
                                             const Stored *dy, const Stored *lse, const Stored *delta,
                                             Stored *dq, const Sight<T> &sight, int i0, int first) {
    T y[DIMS ? DIMS : 1][TM][TN];
#pragma unroll
    for (int n = 0; n < DIMS; n++)
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) y[n][i][j] = 0;
    const int end = CAUSAL ? (i0 + B < SK ? i0 + B : SK) : SK;
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += B) {
      slopes(q, k, v, dy, lse, delta, sight, i0, j0);
#pragma unroll
      for (int n = 0; n < DIMS; n++)
        times<false>(y[n], w, k + (int64_t)j0 * DIM, DIM, first + n * B, SK - j0 < B ? SK - j0 : B);
    }
#pragma unroll
    for (int n = 0; n < DIMS; n++) put(dq, y[n], i0, TQ, DIM, first + n * B);
  }
  /* Those of one head of keys, from all `group` heads of queries, which lie one behind the other; mask_of
     says where the mask of the g-th of them begins. */
  template <typename Offset>
  __device__ __forceinline__ void by_keys(const Stored *q, const Stored *k, const Stored *v,
                                          const Stored *dy, const Stored *lse, const Stored *delta,
                                          Stored *dk, Stored *dv, const Sight<T> &sight, int group,
                                          int j0, int first, const Offset &mask_of) {
    T y[DIMS ? DIMS : 1][TM][TN], z[WIDES ? WIDES : 1][TM][TN];
#pragma unroll
    for (int n = 0; n < DIMS; n++)
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) y[n][i][j] = 0;
#pragma unroll
    for (int n = 0; n < WIDES; n++)
#pragma unroll
      for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) z[n][i][j] = 0;
#pragma unroll 1
    for (int g = 0; g < group; g++) {
      Sight<T> own = sight;
      own.mask = mask_of(g);
      const int64_t at = (int64_t)g * TQ;
#pragma unroll 1
      for (int i0 = CAUSAL ? j0 : 0; i0 < TQ; i0 += B) {
        const int rows = TQ - i0 < B ? TQ - i0 : B;
        slopes(q + at * DIM, k, v, dy + at * WIDE, lse + at, delta + at, own, i0, j0);
#pragma unroll
        for (int n = 0; n < WIDES; n++)
          times<true>(z[n], s, dy + (at + i0) * WIDE, WIDE, first + n * B, rows);
#pragma unroll
        for (int n = 0; n < DIMS; n++) times<true>(y[n], w, q + (at + i0) * DIM, DIM, first + n * B, rows);
      }
    }
#pragma unroll
    for (int n = 0; n < DIMS; n++) put(dk, y[n], j0, SK, DIM, first + n * B);
#pragma unroll
    for (int n = 0; n < WIDES; n++) put(dv, z[n], j0, SK, WIDE, first + n * B);
  }
};
