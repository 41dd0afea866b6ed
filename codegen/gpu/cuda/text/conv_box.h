/* Convolutions of f32 of few channels a group, as of a stem, on the ordinary units, exactly: the sums of conv.h. A block
   computes BM channels of a box of TW by BN / TW pixels of one image. A k-tile is KR rows of the filter by KS of its columns
   by all channels: the image's rows under the box lie in shared memory once, and all taps of a row of the filter read
   them. They lie by phases of the stride, so that threads side by side read numbers side by side. K-tiles go through
   a ring of STAGES: while one is multiplied, the next ones are copied (cp.async), without registers. Contract: a filter has
   at most 32 columns, which a mask has bits for. */
/* section ConvBox */
template <typename G, typename I, int BM, int BN, int TM, int TN, int TW, int KR, int KS, int STAGES> struct ConvBox {
  typedef ConvForward<G, I> C;
  enum {
    PAD = 4, BANKS = 32,
    LANES = BN / TN, THREADS = BM / TM * LANES, TH = BN / TW, CHANNELS = C::CHANNELS,
    WIDE = (KS - 1) * G::DW + 1,                    /* columns of the image under a pixel */
    PHASES = (int)G::SW < WIDE ? (int)G::SW : WIDE, /* that are read of a stride */
    PITCH = TW + (WIDE - 1) / G::SW,                /* columns of a phase */
    USED = (TW - 1) * PHASES + WIDE,                /* ... of all */
    BOX_ROW = PHASES * PITCH + (TW < BANKS ? (TW - PHASES * PITCH) & (BANKS - 1) : 0), /* rows of a warp are in different banks */
    DEPTH = KR * KS * CHANNELS, ROWS = KR * CHANNELS * TH, PARTS = (C::KW + KS - 1) / KS, K_TILES = (C::KH + KR - 1) / KR * PARTS,
    UNROLL = 256 / (TM * TN * CHANNELS) > 1 ? 256 / (TM * TN * CHANNELS) : 1 /* taps */
  };
  f32 a[STAGES][DEPTH][BM + PAD], b[STAGES][ROWS][BOX_ROW];

  INL_MEMBER int row(int i) { return (int)threadIdx.x / LANES * TM + i; }
  INL_MEMBER int col(int j) { return j * LANES + (int)threadIdx.x % LANES; }
  /* where pixel j of a thread lies in shared memory, behind its first one */
  INL_MEMBER int behind(int j) {
    return TW <= LANES ? j * (LANES / TW) * BOX_ROW : j * LANES / TW * BOX_ROW + j * LANES % TW;
  }

  template <typename R> INL_MEMBER int boxes_down(const R &size) { return ((int)size.OH + TH - 1) / TH; }
  template <typename R> INL_MEMBER int boxes_across(const R &size) { return ((int)size.OW + TW - 1) / TW; }
  template <typename R> INL_MEMBER int boxes(const R &size) { return size.N * boxes_down(size) * boxes_across(size); }
  template <typename R> INL_MEMBER ConvPixel place(int box, int p, const R &size) {
    const int across = boxes_across(size), y = box / across % boxes_down(size) * TH + p / TW, x = box % across * TW + p % TW;
    const ConvPixel of = {box / across / boxes_down(size), y, x, y < size.OH && x < size.OW};
    return of;
  }
  /* Begins copies of the k-tile of rows of the filter from r0 on and columns from s0 on. Filters behind the last one are
     not stored: they are zeros, and so is what lies outside of the image, which no sum takes. */
  template <typename R>
  __device__ __forceinline__ void load_async(int stage, const f32 *filters, const f32 *image, const ConvPixel &first, int group,
                                             int m0, int r0, int s0, const R &size) {
#pragma unroll 2
    for (int e = (int)threadIdx.x; e < BM * DEPTH; e += THREADS) { /* side by side as in memory */
      const int m = e / DEPTH, c = e % DEPTH / (KR * KS), r = e / KS % KR, s = e % KS;
      const bool on = (C::M % BM == 0 || m0 + m < C::M) && (C::KH % KR == 0 || r0 + r < C::KH) && (C::KW % KS == 0 || s0 + s < C::KW);
      async_copy<4>(&a[stage][(r * KS + s) * CHANNELS + c][m], on ? filters + C::filter(group, m0 + m, c, (r0 + r) * C::KW + s0 + s) : filters, on ? 4 : 0);
    }
    const int top = first.y * G::SH - G::PH + r0 * G::DH, left = first.x * G::SW - G::PW + s0 * G::DW;
#pragma unroll 2
    for (int e = (int)threadIdx.x; e < ROWS * USED; e += THREADS) {
      const int at = e / USED, u = e % USED, c = at / TH % CHANNELS;
      const int y = top + at / (TH * CHANNELS) * G::DH + at % TH * G::SH, x = left + u / PHASES * G::SW + u % PHASES;
      const bool on = y >= 0 && y < size.H && x >= 0 && x < size.W;
      async_copy<4>(&b[stage][at][u % PHASES * PITCH + u / PHASES], on ? image + C::pixel(first.n, group, c, y, x) : image, on ? 4 : 0);
    }
  }
  /* adds a k-tile; top: of a thread's first pixel, the image's row under the first row of the filter; cols: of each pixel, a
     bit for each column of the filter that lies on the image */
  template <typename R>
  __device__ __forceinline__ void multiply(f32 (&acc)[TM][TN], int stage, int r0, int s0, int top, const uint32_t (&cols)[TN], const R &size) {
#pragma unroll 1
    for (int r = 0; r < KR; r++) {
      if (C::KH % KR != 0 && r0 + r >= C::KH) break;
      uint32_t inside[TN];
#pragma unroll
      for (int j = 0; j < TN; j++) {
        const int y = top + (r0 + r) * G::DH + j * LANES / TW * G::SH;
        inside[j] = y >= 0 && y < size.H ? cols[j] >> s0 : 0;
      }
      const f32 *const under = &b[stage][r * CHANNELS * TH][0] + (col(0) / TW * BOX_ROW + col(0) % TW);
#pragma unroll(UNROLL)
      for (int s = 0; s < KS; s++) {
        if (C::KW % KS != 0 && s0 + s >= C::KW) break;
        const f32 *const x = under + (s * G::DW % PHASES * PITCH + s * G::DW / PHASES);
        uint32_t on[TN];
#pragma unroll
        for (int j = 0; j < TN; j++) on[j] = inside[j] >> s & 1;
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
          f32 va[TM];
          read_fours(va, &a[stage][(r * KS + s) * CHANNELS + c][row(0)]);
#pragma unroll
          for (int j = 0; j < TN; j++) fma_column<C::ALL_INSIDE>(acc, j, on[j], va, x[c * TH * BOX_ROW + behind(j)]);
        }
      }
    }
  }
  /* acc: channels from m0 on of a group, pixels of a box */
  template <typename R>
  __device__ __forceinline__ void run(f32 (&acc)[TM][TN], const f32 *filters, const f32 *image, int group, int m0, int box,
                                      const R &size) {
    const ConvPixel first = place(box, 0, size), own = place(box, col(0), size);
    uint32_t cols[TN];
#pragma unroll
    for (int j = 0; j < TN; j++) {
      cols[j] = 0;
      if (C::ALL_INSIDE) continue;
      const int left = (own.x + (TW <= LANES ? 0 : j * LANES % TW)) * G::SW - G::PW;
#pragma unroll 1
      for (int s = 0; s < C::KW; s++) cols[j] |= (uint32_t)(left + s * G::DW >= 0 && left + s * G::DW < size.W) << s;
    }
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    int stage = 0;
#pragma unroll 1
    for (int t = 1 - STAGES; t < K_TILES; t++) { /* below 0 the first copies begin */
      if (t >= 0) {
        async_wait<STAGES - 2>();
        block_sync(); /* all have the k-tile, and none reads the one before */
      }
      const int next = t + STAGES - 1;
      if (next < K_TILES)
        load_async(t < 0 ? next : stage ? stage - 1 : STAGES - 1, filters, image, first, group, m0, next / PARTS * KR, next % PARTS * KS, size);
      async_commit();
      if (t < 0) continue;
      multiply(acc, stage, t / PARTS * KR, t % PARTS * KS, own.y * G::SH - G::PH, cols, size);
      stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
  }
};
