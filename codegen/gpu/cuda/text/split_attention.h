/* Attention of few queries on the ordinary units, as in decoding: blocks of threads share the keys of a head
   (Flash-Decoding; Dao et al., 2023), in one launch. A block computes the scores of B keys, tells the others their
   maxima, waits for those of all keys before its own, which the weights need, and multiplies its weights by B values
   (after the decoupled look-back of Merrill and Garland, 2016). The block of a head that ends last adds these products
   in the order of the keys.
   Contract: the order of every sum is that of FlashAttention, and so of the CPU, whichever block ends last; what goes
   from block to block lies in scratch, but for Signals. A block waits for those alone that began before it, whatever
   the order of blocks is.
   HEADS of keys, each for GROUP heads of TQ queries of DIM numbers; SK keys, values of WIDE: fewer of both where a run
   has fewer (AttentionParams). A row is a query of one of the heads. COPY: elements that one load of a key reads. */
/* section signal_of read_signal ask_signal */
/* A number as bits that are not 0, which stands for none: NaN of a result has other bits than all ones. */
INL unsigned signal_of(f32 x) { return ~(unsigned)__float_as_int(x); }
INL unsigned long long signal_of(f64 x) { return ~(unsigned long long)__double_as_longlong(x); }
INL f32 read_signal(unsigned bits) { return __int_as_float((i32)~bits); }
INL f64 read_signal(unsigned long long bits) { return __longlong_as_double((i64)~bits); }
INL unsigned ask_signal(unsigned *at) { return atomicAdd(at, 0u); }
INL unsigned long long ask_signal(unsigned long long *at) { return atomicAdd(at, 0ull); }
/* section SplitAttention */
template <typename T, typename A, int HEADS, int GROUP, int TQ, int SK, int DIM, int WIDE, int B, int THREADS, int COPY,
          typename AT>
struct SplitAttention {
  typedef typename A::Stored Stored;
  typedef decltype(signal_of((T)0)) Signal;
  enum {
    ROWS = GROUP * TQ, STEPS = (SK + B - 1) / B, WARPS = THREADS / 32, DEPTH = 64,
    KEY_GROUPS = THREADS / B,                            /* threads that have the same key */
    LANES = WIDE <= 32 ? 32 : WIDE <= 64 || THREADS <= 64 ? 64 : 128, /* threads side by side along a value */
    VALUE_GROUPS = THREADS / LANES,
    NUMBERS = (WIDE + 1) / 2 * 2,                /* even, so that pairs lie at multiples of their size */
    TURNS = (ROWS + WARPS - 1) / WARPS           /* rows of a warp */
  };
  struct Tiles {
    T keys[B][DEPTH + 1]; /* odd, so that threads of different keys read different banks */
    T queries[ROWS][DEPTH], weights[ROWS][B]; /* first scores */
    T tops[ROWS];                             /* maxima of scores */
  };
  /* What blocks tell each other; 0 before the launch, and behind it. */
  struct Signals {
    Signal top[HEADS][ROWS][STEPS]; /* the maximum of a row and a block of keys */
    unsigned begun, ended[HEADS];                      /* blocks; of a head, those that have stored their products */
  };
  char *scratch;
  Signals *signals;
  int h; /* the head of keys */

  /* The product of a row and a block of keys. */
  __device__ __forceinline__ T *numbers(int r, int step) const {
    return (T *)scratch + (((int64_t)h * ROWS + r) * STEPS + step) * NUMBERS;
  }
  /* ... the sum of its weights, and the factor of what the blocks before it have. */
  __device__ __forceinline__ Vec<T, 2> *sum_and_rescale(int r, int step) const {
    return (Vec<T, 2> *)((T *)scratch + (int64_t)HEADS * ROWS * STEPS * NUMBERS) + (((int64_t)h * ROWS + r) * STEPS + step);
  }
  /* The maximum of all keys of a row. */
  __device__ __forceinline__ T *last_top(int r) const {
    return (T *)scratch + (int64_t)HEADS * ROWS * STEPS * (NUMBERS + 2) + (h * ROWS + r);
  }
  static __device__ __forceinline__ int steps_of(const AttentionParams<T> &params) { return (params.keys + B - 1) / B; }

  /* DEPTH elements from d0 on of the block's keys, and of the queries. */
  INL_MEMBER void load(Tiles &t, const Stored *q, const Stored *k, const AttentionParams<T> &params, int j0, int d0) {
    enum { PIECES = DEPTH / COPY };
#pragma unroll 8
    for (int p = (int)threadIdx.x; p < B * PIECES; p += THREADS) {
      const int row = p / PIECES, d = p % PIECES * COPY;
      const bool in = j0 + row < params.keys && (DIM % DEPTH == 0 || d0 + d < DIM);
      Vec<Stored, COPY> piece;
      if (in) piece = *(const Vec<Stored, COPY> *)(k + ((int64_t)(j0 + row) * AT::k + d0 + d));
#pragma unroll
      for (int l = 0; l < COPY; l++) t.keys[row][d + l] = in ? A::get(piece.at[l]) : (T)0;
    }
    for (int p = (int)threadIdx.x; p < ROWS * DEPTH; p += THREADS) {
      const int r = p / DEPTH, i = r % TQ, d = d0 + p % DEPTH;
      const bool in = i < params.queries && (DIM % DEPTH == 0 || d < DIM);
      t.queries[r][p % DEPTH] = in ? A::get(q[r / TQ * AT::q_head + (int64_t)i * AT::q + d]) : (T)0;
    }
  }

  /* q: of the first head of the group; mask_of(g): the mask of its g-th. */
  template <typename MaskOf>
  __device__ __forceinline__ void score(Tiles &t, const Stored *q, const Stored *k, const AttentionParams<T> &params,
                                        int step, const MaskOf &mask_of) const {
    enum { MINE = (ROWS + KEY_GROUPS - 1) / KEY_GROUPS };
    const int key = (int)threadIdx.x % B, first = (int)threadIdx.x / B, lane = (int)threadIdx.x % 32, j = step * B + key;
    const T none = -(T)__builtin_inff();
    T acc[MINE];
#pragma unroll
    for (int o = 0; o < MINE; o++) acc[o] = 0;
#pragma unroll 1
    for (int d0 = 0; d0 < DIM; d0 += DEPTH) {
      if (d0) block_sync();
      load(t, q, k, params, step * B, d0);
      block_sync();
#pragma unroll 16
      for (int d = 0; d < DEPTH; d++) {
        if (DIM % DEPTH != 0 && d0 + d >= DIM) break;
#pragma unroll
        for (int o = 0; o < MINE; o++)
          if (ROWS % KEY_GROUPS == 0 || first + o * KEY_GROUPS < ROWS)
            acc[o] = gemm_fma(t.queries[first + o * KEY_GROUPS][d], t.keys[key][d], acc[o]);
      }
    }
#pragma unroll
    for (int o = 0; o < MINE; o++) {
      const int r = first + o * KEY_GROUPS, i = r % TQ;
      if (ROWS % KEY_GROUPS != 0 && r >= ROWS) break;
      const uint8_t *mask = params.mask ? mask_of(r / TQ) : (const uint8_t *)0;
      const T x = acc[o] * params.scale;
      const bool visible = i < params.queries && j < params.keys &&
                           (!mask || mask[(int64_t)i * params.query_stride + j * params.key_stride] != 0);
      t.weights[r][key] = visible ? x : none;
    }
    block_sync();
  }

  /* Column c of the values of the block's keys. */
  INL_MEMBER void load_values(Stored (&value)[B], const Stored *v, int c, int j0, int keys) {
#pragma unroll
    for (int j = 0; j < B; j++) value[j] = j < keys && c < WIDE ? v[(int64_t)(j0 + j) * AT::v + c] : (Stored)0;
  }
  /* The maxima of a warp's rows of scores; others are told. */
  __device__ __forceinline__ void tell_tops(Tiles &t, int step) const {
    const int lane = (int)threadIdx.x % 32;
    for (int r = (int)threadIdx.x / 32; r < ROWS; r += WARPS) {
      const T none = -(T)__builtin_inff();
      const T most = attention_tree<B>(t.weights[r][lane], B > 32 ? t.weights[r][lane + (B > 32 ? 32 : 0)] : none, true);
      if (lane == 0) t.tops[r] = most, atomicExch(&signals->top[h][r][step], signal_of(most));
    }
    warp_sync();
  }
  /* before: of each row of a warp the maximum of all keys before the block's. Waits of all its rows are one. */
  __device__ __forceinline__ void wait_for_tops(T (&before)[TURNS], int step) const {
    const int lane = (int)threadIdx.x % 32, first = (int)threadIdx.x / 32;
    const T none = -(T)__builtin_inff();
#pragma unroll
    for (int i = 0; i < TURNS; i++) before[i] = none;
    for (int s = lane; s < step; s += 32) {
      Signal top[TURNS];
#pragma unroll
      for (int i = 0; i < TURNS; i++)
        if (first + i * WARPS < ROWS) top[i] = ask_signal(&signals->top[h][first + i * WARPS][s]);
#pragma unroll
      for (int i = 0; i < TURNS; i++) {
        if (first + i * WARPS >= ROWS) break;
        while (!top[i]) top[i] = ask_signal(&signals->top[h][first + i * WARPS][s]);
        before[i] = attention_combine(before[i], read_signal(top[i]), true);
      }
    }
    warp_sync();
#pragma unroll
    for (int i = 0; i < TURNS; i++) before[i] = attention_tree<32>(before[i], none, true);
  }
  /* Weights in place of scores. */
  __device__ __forceinline__ void weigh(Tiles &t, const AttentionParams<T> &params, int step) const {
    const int lane = (int)threadIdx.x % 32, first = (int)threadIdx.x / 32;
    const T none = -(T)__builtin_inff();
    T all_before[TURNS];
    tell_tops(t, step);
    wait_for_tops(all_before, step);
#pragma unroll
    for (int i = 0; i < TURNS; i++) {
      const int r = first + i * WARPS;
      if (r >= ROWS) break;
      T e[2] = {0, 0};
      const T before = all_before[i];
      const T most = attention_combine(before, t.tops[r], true), shift = most == none ? (T)0 : most;
#pragma unroll
      for (int l = 0; l < B / 32; l++) {
        const T x = t.weights[r][lane + l * 32];
        t.weights[r][lane + l * 32] = e[l] = attention_exp(x - shift);
      }
      const T sum = attention_tree<B>(e[0], e[1], false), rescale = attention_exp(before - shift);
      if (lane == 0) sum_and_rescale(r, step)->at[0] = sum, sum_and_rescale(r, step)->at[1] = rescale;
      if (lane == 0 && step + 1 == steps_of(params)) *last_top(r) = most;
    }
    block_sync();
  }

  /* The products of a block's keys. Its values are on their way while scores and weights are computed. */
  template <typename MaskOf>
  __device__ __forceinline__ void multiply(Tiles &t, const Stored *q, const Stored *k, const Stored *v,
                                           const AttentionParams<T> &params, int step, const MaskOf &mask_of) const {
    enum { MINE = (ROWS + VALUE_GROUPS - 1) / VALUE_GROUPS };
    const int first = (int)threadIdx.x / LANES, j0 = step * B;
    const int keys = params.keys - j0 < B ? params.keys - j0 : B;
    Stored value[B];
    load_values(value, v, (int)threadIdx.x % LANES, j0, keys);
    score(t, q, k, params, step, mask_of);
    weigh(t, params, step);
    for (int c = (int)threadIdx.x % LANES; c < WIDE; c += LANES) {
      if (c >= LANES) load_values(value, v, c, j0, keys);
      T acc[MINE];
#pragma unroll
      for (int o = 0; o < MINE; o++) acc[o] = 0;
#pragma unroll
      for (int j = 0; j < B; j++) { /* registers have numbers that are constants */
        if (j >= keys) break;
        const T x = A::get(value[j]);
#pragma unroll
        for (int o = 0; o < MINE; o++)
          if (ROWS % VALUE_GROUPS == 0 || first + o * VALUE_GROUPS < ROWS)
            acc[o] = gemm_fma(x, t.weights[first + o * VALUE_GROUPS][j], acc[o]);
      }
#pragma unroll
      for (int o = 0; o < MINE; o++)
        if (ROWS % VALUE_GROUPS == 0 || first + o * VALUE_GROUPS < ROWS)
          numbers(first + o * VALUE_GROUPS, step)[c] = acc[o];
    }
  }

  /* Results, if all other blocks of the head have stored their products; out, lse: of the first head of the group; those
     of heads lie lse_head apart. A thread adds up COLUMNS elements side by side, whose products of STEPS_AHEAD blocks are
     on their way at once. */
  __device__ __forceinline__ void combine(Stored *out, T *lse, int64_t lse_head, const AttentionParams<T> &params) const {
    enum {
      COLUMNS = ROWS * WIDE <= THREADS || WIDE % 2 ? 1 : ROWS * WIDE <= 2 * THREADS || WIDE % 4 ? 2 : 4,
      STEPS_AHEAD = COLUMNS == 4 ? 16 : 32
    };
    const int steps = steps_of(params);
    if (!last_block(&signals->ended[h], (unsigned)steps)) return;
    for (int i = (int)threadIdx.x; i < ROWS * STEPS; i += THREADS) signals->top[h][i / STEPS][i % STEPS] = 0;
    for (int at = (int)threadIdx.x * COLUMNS; at < ROWS * WIDE; at += THREADS * COLUMNS) {
      const int r = at / WIDE, c = at % WIDE;
      T y[COLUMNS], sum = 0;
#pragma unroll
      for (int l = 0; l < COLUMNS; l++) y[l] = 0;
#pragma unroll STEPS_AHEAD
      for (int step = 0; step < steps; step++) {
        const Vec<T, COLUMNS> product = *(const Vec<T, COLUMNS> *)(numbers(r, step) + c);
        const Vec<T, 2> all = *sum_and_rescale(r, step);
#pragma unroll
        for (int l = 0; l < COLUMNS; l++) y[l] = product.at[l] + y[l] * all.at[1];
        sum = sum * all.at[1] + all.at[0];
      }
      store(out, lse, lse_head, params, r, c, y, sum);
    }
  }
  /* Elements from column c on of row r. */
  template <int COLUMNS>
  __device__ __forceinline__ void store(Stored *out, T *lse, int64_t lse_head, const AttentionParams<T> &params, int r,
                                        int c, const T (&y)[COLUMNS], T sum) const {
    const int head = r / TQ, i = r % TQ;
    if (i >= params.queries) return;
#pragma unroll
    for (int l = 0; l < COLUMNS; l++)
      attention_store(A(), out + (head * AT::y_head + (int64_t)i * AT::y + c + l), divide(y[l], sum == 0 ? (T)1 : sum));
    if (c) return;
    const T top = *last_top(r);
    lse[head * lse_head + i] = (top == -(T)__builtin_inff() ? (T)0 : top) + attention_log(sum);
  }
};
