/* Convolutions and their gradients on tensor cores, as implicit GEMM: operands of 2 bytes (f16, bf16) or 4 (f32 numbers
   of at most 11 significant bits), sums in f32. Both operands lie in shared memory as rows of 64 bytes of the
   depth, as text/tensor.h has them; two k-tiles of them, of which one is multiplied while the next one, gathered
   into registers, is on its way. Contract: what lies outside of an operand, and a pixel in the padding, counts as zero, so
   that beside an infinity it makes a NaN; an element of the result is a sum in an order that the shape alone gives. */
/* section FilterStored */
/* What filters lie as: f32 numbers that are rounded to operands, or operands. */
template <bool ROUND, typename T> struct FilterStored { typedef f32 Type; };
template <typename T> struct FilterStored<false, T> { typedef T Type; };
/* section TensorConv */
/* A convolution or its gradient with respect to the image. C: ConvForward, ConvPatches or ConvInputGrad. The depth goes over
   the channels and their taps, as they lie in the filters of a convolution; or, TAP_BY_TAP, over the taps and their
   channels: a k-tile has one tap then, and taps that no pixel of the block has are left out. Where each tap of a pixel
   reads is in a table, `place`: NOWHERE in the padding. Behind the last tap follow as many as a chunk may need, of the
   next channel. ROUND: filters are f32, and are rounded on their way to shared memory. */
template <typename C, typename I, typename E, bool ROUND, int BM, int BN, int WM, int WN> struct TensorConv {
  typedef typename E::Stored Stored;
  typedef typename FilterStored<ROUND, Stored>::Type Filter;
  enum { TAPS = C::KH * C::KW, K = C::CHANNELS * TAPS };
  typedef TensorTile<I, E, C::M, C::PIXELS, K, false, true, BM, BN, WM, WN, 16, 16> Tile;
  typedef typename Tile::A A;
  typedef typename Tile::B B;
  enum {
    S = sizeof(Stored), THREADS = Tile::THREADS, TM = Tile::TM, TN = Tile::TN, DEPTH = Tile::DEPTH,
    SIDE = 16 / S, CHUNKS = 4, /* elements of a chunk; chunks of a row */
    PA = (BM * CHUNKS + THREADS - 1) / THREADS, PB = BN * CHUNKS / THREADS, /* chunks that a thread loads */
    STAGE = Tile::STAGE, PLACES = TAPS + SIDE - 1, SHARED = 2 * STAGE + PLACES * BN * 4, WHOLE = C::FILTERS_IN_ORDER && K % SIDE == 0,
    TAP_BY_TAP = C::CHANNELS % DEPTH == 0 && (TAPS == 1 || !C::FILTERS_IN_ORDER),
    ALL_M = C::M % BM == 0, ALL_K = K % SIDE == 0
  };
  static const uint32_t NOWHERE = 0xffffffffu;
  struct __align__(16) Chunk { Stored at[SIDE]; };
  struct __align__(16) Words { uint32_t at[4]; };
  struct __align__(16) Filters { Filter at[SIDE]; }; /* of a chunk */

  INL_MEMBER int row(int i) { return Tile::row(i); }
  INL_MEMBER int col(int j) { return Tile::col(j / 2) + j % 2; }

  INL_MEMBER int channel_of(int k) { return TAP_BY_TAP ? k % C::CHANNELS : k / TAPS; }
  INL_MEMBER int tap_of(int k) { return TAP_BY_TAP ? k / C::CHANNELS : k % TAPS; }
  INL_MEMBER void next_of(int &c, int &tap) { /* in a chunk */
    if (TAP_BY_TAP)
      c++;
    else if (++tap == TAPS)
      tap = 0, c++;
  }
  /* the first k-tile from this one on that some pixel of the block has */
  template <typename R> INL_MEMBER int next_tile(int k, int n0, const R &size) {
    const int last = smaller(n0 + BN, C::pixels(size)) - 1;
    while (TAP_BY_TAP && k < K && k % C::CHANNELS == 0 && !C::reaches(n0, last, tap_of(k), size)) k += C::CHANNELS;
    return k;
  }
  /* the row and the chunk of filters that a thread loads: neighbours load what lies side by side */
  INL_MEMBER int filter_row(int e) { return C::FILTERS_IN_ORDER ? e / CHUNKS : e % BM; }
  INL_MEMBER int filter_chunk(int e) { return C::FILTERS_IN_ORDER ? e % CHUNKS : e / BM; }

  template <typename R> INL_MEMBER void fill_table(uint32_t *place, int n0, const R &size) {
    for (int e = (int)threadIdx.x; e < PLACES * BN; e += THREADS) {
      const int tap = e / BN % TAPS, channel = e / BN / TAPS;
      const ConvPixel of = C::place(n0 + e % BN, size);
      int row, col;
      const bool rows = C::row(of.y, tap / C::KW, row, size), cols = C::col(of.x, tap % C::KW, col, size);
      const uint32_t at = (uint32_t)(row * C::SOURCE_COLS + col + channel * C::SOURCE_AREA);
      place[e] = of.in && rows && cols ? at : NOWHERE;
    }
  }
  template <typename R>
  INL_MEMBER void load_global(Filters (&ra)[PA], Chunk (&rb)[PB], const Filter *filters, const Stored *image,
                              const uint32_t *place, int group, int m0, int n0, int k0, const R &size) {
#pragma unroll
    for (int p = 0; p < PA; p++) {
      const int e = (int)threadIdx.x + p * THREADS, m = m0 + filter_row(e), k = k0 + filter_chunk(e) * SIDE;
      if (e >= BM * CHUNKS) break;
      const Filters none = {};
      int c = channel_of(k), tap = tap_of(k);
      ra[p] = none;
      if (!(ALL_M || m < C::M) || k >= K) continue;
      if (WHOLE) {
        ra[p] = *(const Filters *)(filters + C::filter(group, m, c, tap));
        continue;
      }
#pragma unroll
      for (int q = 0; q < SIDE; q++) {
        if (ALL_K || k + q < K) ra[p].at[q] = filters[C::filter(group, m, c, tap)];
        next_of(c, tap);
      }
    }
    const int n = C::place(n0 + (int)threadIdx.x % BN, size).n;
#pragma unroll
    for (int p = 0; p < PB; p++) {
      const int e = (int)threadIdx.x + p * THREADS, k = k0 + e / BN * SIDE;
      const Chunk none = {};
      rb[p] = none;
      if (k >= K) continue;
      const uint32_t *at = place + (tap_of(k) * BN + e % BN);
      const Stored *from = image + C::pixel(n, group, channel_of(k), 0, 0);
      if ((TAP_BY_TAP || C::ALONG > 1) && *at == NOWHERE) continue;
      if (C::ALONG > 1) { /* of a patch: what lies side by side comes at once */
        enum { BESIDE = C::ALONG < SIDE ? (int)C::ALONG : (int)SIDE };
#pragma unroll
        for (int q = 0; q < SIDE; q += BESIDE)
          if (ALL_K || k + q < K)
            *(Vec<Stored, BESIDE> *)(rb[p].at + q) = *(const Vec<Stored, BESIDE> *)(image + C::pixel(n, group, k + q, 0, 0) + *at);
        continue;
      }
      if (TAP_BY_TAP) from += *at;
#pragma unroll
      for (int q = 0; q < SIDE; q++) {
        if (TAP_BY_TAP)
          rb[p].at[q] = from[q * C::SOURCE_AREA];
        else if (at[q * BN] != NOWHERE && (ALL_K || k + q < K))
          rb[p].at[q] = from[at[q * BN]];
      }
    }
  }
  INL_MEMBER void store_shared(char *stage, const Filters (&ra)[PA], const Chunk (&rb)[PB]) {
#pragma unroll
    for (int p = 0; p < PA; p++) {
      const int e = (int)threadIdx.x + p * THREADS;
      if (e >= BM * CHUNKS) break;
      char *to = stage + A::swizzle(filter_row(e), filter_chunk(e) * 16);
      if (ROUND) {
        const f32 *x = (const f32 *)ra[p].at;
        const Words words = {{E::rounded(x, 0), E::rounded(x, 1), E::rounded(x, 2), E::rounded(x, 3)}};
        *(Words *)to = words;
      } else {
        *(Filters *)to = ra[p];
      }
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
      const int e = (int)threadIdx.x + p * THREADS;
      *(Chunk *)(stage + A::BYTES + B::swizzle(e % BN, e / BN * 16)) = rb[p];
    }
  }
  /* acc: channels from m0 on of a group, pixels from n0 on; `smem` has SHARED bytes. */
  template <typename R>
  INL_MEMBER void run(f32 (&acc)[TM][TN], char *smem, const Filter *filters, const Stored *image, int group, int m0,
                      int n0, const R &size) {
    uint32_t *place = (uint32_t *)(smem + 2 * STAGE);
    Filters ra[PA];
    Chunk rb[PB];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    fill_table(place, n0, size);
    block_sync();
    int k0 = next_tile(0, n0, size), now = 0;
    if (k0 < K) load_global(ra, rb, filters, image, place, group, m0, n0, k0, size);
#pragma unroll 1
    while (k0 < K) {
      char *stage = smem + now * STAGE;
      store_shared(stage, ra, rb);
      block_sync();
      k0 = next_tile(k0 + DEPTH, n0, size);
      if (k0 < K) load_global(ra, rb, filters, image, place, group, m0, n0, k0, size);
      Tile::step_at_once(acc, stage, 0);
      Tile::step_at_once(acc, stage, 1);
      now ^= 1;
    }
  }
};

/* section TensorConvFilter */
/* The gradient with respect to filters; see ConvFilterGrad. A thread loads one pixel of each row of a k-tile. */
template <typename G, typename I, typename E, int BM, int BN, int WM, int WN> struct TensorConvFilter {
  typedef typename E::Stored Stored;
  typedef ConvFilterGrad<G, I> C;
  typedef TensorTile<I, E, C::M, C::COLUMNS, 1, false, true, BM, BN, WM, WN, 16, 16> Tile;
  typedef typename Tile::A A;
  typedef typename Tile::B B;
  typedef typename C::Column Column;
  enum {
    S = sizeof(Stored), THREADS = Tile::THREADS, TM = Tile::TM, TN = Tile::TN, DEPTH = Tile::DEPTH,
    ROWS = THREADS / DEPTH, PA = BM / ROWS, PB = BN / ROWS, STAGE = Tile::STAGE,
    SHARED = 2 * STAGE + BN * (int)sizeof(Column)
  };

  INL_MEMBER int row(int i) { return Tile::row(i); }
  INL_MEMBER int col(int j) { return Tile::col(j / 2) + j % 2; }

  template <typename R>
  INL_MEMBER void load_global(Stored (&ra)[PA], Stored (&rb)[PB], const Stored *dy, const Stored *image,
                              const Column *column, int group, int m0, int n0, int p0, int end, const R &size) {
    const int k = (int)threadIdx.x % DEPTH, first = (int)threadIdx.x / DEPTH;
    const bool exists = p0 + k < end;
    const typename C::Pixel of = C::pixel(p0 + k, group, size);
    const Stored *channel = image + (of.image + (I)(n0 + first) * C::IMAGE); /* if a weight is one */
#pragma unroll
    for (int p = 0; p < PA; p++) {
      const int m = m0 + first + p * ROWS;
      ra[p] = exists && m < C::M ? dy[of.dy + (I)m * C::AREA] : (Stored)0;
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
      const int n = first + p * ROWS;
      if (C::ALL_INSIDE) {
        rb[p] = exists && (C::COLUMNS % BN == 0 || n0 + n < C::COLUMNS) ? channel[(I)p * ROWS * C::IMAGE] : (Stored)0;
        continue;
      }
      const Column c = column[n];
      rb[p] = exists && n0 + n < C::COLUMNS && C::inside(of, c, size) ? image[of.image + c.at] : (Stored)0;
    }
  }
  INL_MEMBER void store_shared(char *stage, const Stored (&ra)[PA], const Stored (&rb)[PB]) {
    const int k = (int)threadIdx.x % DEPTH * S, first = (int)threadIdx.x / DEPTH;
#pragma unroll
    for (int p = 0; p < PA; p++) *(Stored *)(stage + A::swizzle(first + p * ROWS, k)) = ra[p];
#pragma unroll
    for (int p = 0; p < PB; p++) *(Stored *)(stage + A::BYTES + B::swizzle(first + p * ROWS, k)) = rb[p];
  }
  INL_MEMBER void start(char *smem, int n0) {
    Column *column = (Column *)(smem + 2 * STAGE);
    for (int n = (int)threadIdx.x; n < BN; n += THREADS) column[n] = C::column(n0 + n);
    block_sync();
  }
  /* acc: filters from m0 on of a group, weights from n0 on, of one chunk; behind start; `smem` has SHARED bytes. */
  template <typename R>
  INL_MEMBER void run(f32 (&acc)[TM][TN], char *smem, const Stored *dy, const Stored *image, int group, int m0,
                      int n0, int chunk, const R &size) {
    const Column *column = (const Column *)(smem + 2 * STAGE);
    Stored ra[PA], rb[PB];
    const int first = C::chunk_start(chunk, size), end = C::chunk_end(chunk, size);
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    load_global(ra, rb, dy, image, column, group, m0, n0, first, end, size);
    int now = 0;
#pragma unroll 1
    for (int p0 = first; p0 < end; p0 += DEPTH) {
      char *stage = smem + now * STAGE;
      store_shared(stage, ra, rb);
      block_sync();
      if (p0 + DEPTH < end) load_global(ra, rb, dy, image, column, group, m0, n0, p0 + DEPTH, end, size);
      Tile::step_at_once(acc, stage, 0);
      Tile::step_at_once(acc, stage, 1);
      now ^= 1;
    }
  }
};
