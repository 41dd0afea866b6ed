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
/* A convolution or its gradient with respect to the image. C: ConvForward or ConvInputGrad. The depth goes over
   the channels and their taps, as they lie in the filters of a convolution. Where each tap of a pixel reads is in
   a table, `place`: -1 in the padding. ROUND: filters are f32, and are rounded on their way to shared memory. */
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
    STAGE = Tile::STAGE, SHARED = 2 * STAGE + TAPS * BN * 4, WHOLE = C::FILTERS_IN_ORDER && K % SIDE == 0
  };
  struct __align__(16) Chunk { Stored at[SIDE]; };
  struct __align__(16) Words { uint32_t at[4]; };
  struct __align__(16) Filters { Filter at[SIDE]; }; /* of a chunk */

  INL_MEMBER int row(int i) { return Tile::row(i); }
  INL_MEMBER int col(int j) { return Tile::col(j / 2) + j % 2; }

  INL_MEMBER void fill_table(int *place, int n0) {
    for (int e = (int)threadIdx.x; e < TAPS * BN; e += THREADS) {
      const int tap = e / BN;
      const ConvPixel of = C::place(n0 + e % BN);
      int row, col;
      const bool rows = C::row(of.y, tap / C::KW, row), cols = C::col(of.x, tap % C::KW, col);
      place[e] = of.in && rows && cols ? row * C::SOURCE_COLS + col : -1;
    }
  }
  INL_MEMBER void load_global(Filters (&ra)[PA], Chunk (&rb)[PB], const Filter *filters, const Stored *image,
                              const int *place, int group, int m0, int n0, int k0) {
#pragma unroll
    for (int p = 0; p < PA; p++) {
      const int e = (int)threadIdx.x + p * THREADS, m = m0 + e / CHUNKS, k = k0 + e % CHUNKS * SIDE;
      if (e >= BM * CHUNKS) break;
      int c = k / TAPS, tap = k % TAPS;
      if (WHOLE) {
        const Filters none = {};
        ra[p] = m < C::M && k < K ? *(const Filters *)(filters + C::filter(group, m, c, tap)) : none;
        continue;
      }
#pragma unroll
      for (int q = 0; q < SIDE; q++) {
        ra[p].at[q] = m < C::M && c < C::CHANNELS ? filters[C::filter(group, m, c, tap)] : (Filter)0;
        if (++tap == TAPS) tap = 0, c++;
      }
    }
    const int n = C::place(n0 + (int)threadIdx.x % BN).n;
#pragma unroll
    for (int p = 0; p < PB; p++) {
      const int e = (int)threadIdx.x + p * THREADS, k = k0 + e / BN * SIDE;
      int c = k / TAPS, tap = k % TAPS;
#pragma unroll
      for (int q = 0; q < SIDE; q++) {
        const int at = c < C::CHANNELS ? place[tap * BN + e % BN] : -1;
        rb[p].at[q] = at >= 0 ? image[C::pixel(n, group, c, 0, 0) + at] : (Stored)0;
        if (++tap == TAPS) tap = 0, c++;
      }
    }
  }
  INL_MEMBER void store_shared(char *stage, const Filters (&ra)[PA], const Chunk (&rb)[PB]) {
#pragma unroll
    for (int p = 0; p < PA; p++) {
      const int e = (int)threadIdx.x + p * THREADS;
      if (e >= BM * CHUNKS) break;
      char *to = stage + A::swizzle(e / CHUNKS, e % CHUNKS * 16);
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
  INL_MEMBER void run(f32 (&acc)[TM][TN], char *smem, const Filter *filters, const Stored *image, int group, int m0,
                      int n0) {
    int *place = (int *)(smem + 2 * STAGE);
    Filters ra[PA];
    Chunk rb[PB];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    fill_table(place, n0);
    block_sync();
    load_global(ra, rb, filters, image, place, group, m0, n0, 0);
    int now = 0;
#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
      char *stage = smem + now * STAGE;
      store_shared(stage, ra, rb);
      block_sync();
      if (k0 + DEPTH < K) load_global(ra, rb, filters, image, place, group, m0, n0, k0 + DEPTH);
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

  INL_MEMBER void load_global(Stored (&ra)[PA], Stored (&rb)[PB], const Stored *dy, const Stored *image,
                              const Column *column, int group, int m0, int n0, int p0, int end) {
    const int k = (int)threadIdx.x % DEPTH, first = (int)threadIdx.x / DEPTH;
    const bool exists = p0 + k < end;
    const typename C::Pixel of = C::pixel(p0 + k, group);
#pragma unroll
    for (int p = 0; p < PA; p++) {
      const int m = m0 + first + p * ROWS;
      ra[p] = exists && m < C::M ? dy[of.dy + (I)m * C::AREA] : (Stored)0;
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
      const int n = first + p * ROWS;
      const Column c = column[n];
      rb[p] = exists && n0 + n < C::COLUMNS && C::inside(of, c) ? image[of.image + c.at] : (Stored)0;
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
  INL_MEMBER void run(f32 (&acc)[TM][TN], char *smem, const Stored *dy, const Stored *image, int group, int m0,
                      int n0, int chunk) {
    const Column *column = (const Column *)(smem + 2 * STAGE);
    Stored ra[PA], rb[PB];
    const int end = C::chunk_end(chunk);
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    load_global(ra, rb, dy, image, column, group, m0, n0, C::chunk_start(chunk), end);
    int now = 0;
#pragma unroll 1
    for (int p0 = C::chunk_start(chunk); p0 < end; p0 += DEPTH) {
      char *stage = smem + now * STAGE;
      store_shared(stage, ra, rb);
      block_sync();
      if (p0 + DEPTH < end) load_global(ra, rb, dy, image, column, group, m0, n0, p0 + DEPTH, end);
      Tile::step_at_once(acc, stage, 0);
      Tile::step_at_once(acc, stage, 1);
      now ^= 1;
    }
  }
};
