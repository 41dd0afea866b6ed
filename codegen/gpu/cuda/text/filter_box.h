/* Gradients of f32 with respect to filters of few channels a group, as of a stem, on the ordinary units, exactly: the sums of
   conv.h. A block computes all weights of BM filters for a chunk of pixels, a thread TM filters by TN weights. A k-tile is a
   run of PIXELS of a row of the result: the image's rows under it lie in shared memory once, and all weights read them. K-tiles
   go through a ring of STAGES: while one is multiplied, the next ones are copied (cp.async), without registers. Contract: a
   chunk is rows of one image, or whole images. */
/* section ConvFilterBox */
template <typename G, typename I, int BM, int BN, int TM, int TN, int PIXELS, int STAGES> struct ConvFilterBox {
  typedef ConvFilterGrad<G, I> C;
  enum {
    PAD = 4, BANKS = 32,
    LANES = BN / TN, ACTIVE = BM / TM * LANES, THREADS = (ACTIVE + 31) / 32 * 32, UNROLL = 256 / (TM * TN),
    USED = (PIXELS - 1) * G::SW + (G::KW - 1) * G::DW + 1, /* columns of the image under a run */
    BOX_ROW = USED + ((G::KW - USED) & (BANKS - 1)),       /* weights side by side are in different banks */
    ROWS = G::GIN * G::KH,                                 /* of the image */
    EDGES = G::PH > 0 || G::PW > 0 || (G::OH - 1) * G::SH + (G::KH - 1) * G::DH >= (int)G::H ||
            (G::OW - 1) * G::SW + (G::KW - 1) * G::DW >= (int)G::W /* may a tap lie in the padding? */
  };
  f32 a[STAGES][PIXELS][BM + PAD], b[STAGES][ROWS * BOX_ROW];

  /* Threads behind the active ones have the first filters, and weights behind the last, whose sums are not stored. */
  INL_MEMBER bool active() { return ACTIVE == THREADS || (int)threadIdx.x < ACTIVE; }
  INL_MEMBER int row(int i) { return (active() ? (int)threadIdx.x / LANES : 0) * TM + i; }
  INL_MEMBER int col(int j) { return (active() ? (int)threadIdx.x % LANES : (int)BN) + j * LANES; }

  /* Begins copies of a k-tile: pixels from x0 on of a row of the result, counted over all images. */
  template <typename R>
  __device__ __forceinline__ void load_async(int stage, const f32 *dy, const f32 *image, int group, int m0, int line, int x0,
                                             const R &size) {
    const int n = line / size.OH, y = line % size.OH;
    const f32 *const from = dy + (((I)n * G::COUT + group * G::GOUT + m0) * C::AREA + y * G::OW + x0);
#pragma unroll 2
    for (int e = (int)threadIdx.x; e < BM * PIXELS; e += THREADS) {
      const int m = e / PIXELS, x = e % PIXELS;
      const bool on = (C::M % BM == 0 || m0 + m < C::M) && x0 + x < size.OW;
      async_copy<4>(&a[stage][x][m], on ? from + ((I)m * C::AREA + x) : dy, on ? 4 : 0);
    }
    const int top = y * G::SH - G::PH, left = x0 * G::SW - G::PW;
    const f32 *const under = image + ((I)n * G::CIN + group * G::GIN) * C::IMAGE;
#pragma unroll 2
    for (int e = (int)threadIdx.x; e < ROWS * USED; e += THREADS) {
      const int at = e / USED, u = e % USED, v = top + at % G::KH * G::DH, x = left + u;
      const bool on = v >= 0 && v < size.H && x >= 0 && x < size.W;
      async_copy<4>(&b[stage][at * BOX_ROW + u], on ? under + ((I)(at / G::KH) * C::IMAGE + (v * G::W + x)) : image, on ? 4 : 0);
    }
  }
  /* adds so many pixels of a k-tile; place: of each weight in shared memory; width: columns of the image in its row, left:
     the one under its tap of the first pixel */
  __device__ __forceinline__ void multiply(f32 (&acc)[TM][TN], int stage, const int (&place)[TN], const int (&width)[TN],
                                           const int (&left)[TN], int pixels) {
#pragma unroll(UNROLL)
    for (int k = 0; k < pixels; k++) {
      f32 va[TM];
      read_fours(va, &a[stage][k][row(0)]);
#pragma unroll
      for (int j = 0; j < TN; j++) {
        const uint32_t on = (uint32_t)(left[j] + k * G::SW) < (uint32_t)width[j];
        fma_column<!EDGES>(acc, j, on, va, b[stage][place[j] + k * G::SW]);
      }
    }
  }
  /* acc: filters from m0 on of a group, all weights, of one chunk */
  template <typename R>
  __device__ __forceinline__ void run(f32 (&acc)[TM][TN], const f32 *dy, const f32 *image, int group, int m0, int chunk,
                                      const R &size) {
    const int first = C::chunk_start(chunk, size) / size.OW, lines = C::chunk_end(chunk, size) / size.OW - first;
    const int runs = ((int)size.OW + PIXELS - 1) / PIXELS, tiles = lines * runs;
    int place[TN], up[TN], across[TN];
#pragma unroll
    for (int j = 0; j < TN; j++) {
      const int w = col(j) < C::COLUMNS ? col(j) : 0;
      up[j] = w / G::KW % G::KH * G::DH - G::PH;
      across[j] = w % G::KW * G::DW;
      place[j] = w / G::KW * BOX_ROW + across[j];
    }
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    int stage = 0;
    block_sync(); /* none reads the chunk before */
#pragma unroll 1
    for (int t = 1 - STAGES; t < tiles; t++) { /* below 0 the first copies begin */
      if (t >= 0) {
        async_wait<STAGES - 2>();
        block_sync(); /* all have the k-tile, and none reads the one before */
      }
      const int next = t + STAGES - 1;
      if (next < tiles)
        load_async(t < 0 ? next : stage ? stage - 1 : STAGES - 1, dy, image, group, m0, first + next / runs, next % runs * PIXELS, size);
      async_commit();
      if (t < 0) continue;
      const int y = (first + t / runs) % size.OH * G::SH, x0 = t % runs * PIXELS;
      int width[TN], left[TN];
#pragma unroll
      for (int j = 0; j < TN; j++) {
        width[j] = y + up[j] >= 0 && y + up[j] < size.H ? (int)size.W : 0;
        left[j] = x0 * G::SW - G::PW + across[j];
      }
      multiply(acc, stage, place, width, left, smaller((int)PIXELS, (int)size.OW - x0));
      stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
  }
};
