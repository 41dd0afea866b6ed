/* Convolutions of f32 and their gradients with respect to the image on the ordinary units, exactly: the sums of conv.h.
   K-tiles of up to BK channels of one tap go through a ring of STAGES in shared memory: while one is multiplied, the next
   ones are copied (cp.async), without registers. Contract: no tap has a row or column of the filter beyond MOST. */
/* section fma_four_where */
/* fma_where of four numbers side by side: one test, and a quarter of the text */
INL void fma_four_where(uint32_t on, const f32 *a, f32 b, f32 &c0, f32 &c1, f32 &c2, f32 &c3) {
  asm("{\n.reg .pred p;\nsetp.ne.b32 p, %9, 0;\n@p fma.rn.ftz.f32 %0, %4, %8, %0;\n@p fma.rn.ftz.f32 %1, %5, %8, %1;\n"
      "@p fma.rn.ftz.f32 %2, %6, %8, %2;\n@p fma.rn.ftz.f32 %3, %7, %8, %3;\n}"
      : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "f"(a[0]), "f"(a[1]), "f"(a[2]), "f"(a[3]), "f"(b), "r"(on));
}
/* section fma_column */
/* adds column j of a thread's sums, where `on` says so, or ALWAYS */
template <bool ALWAYS, int TM, int TN> INL void fma_column(f32 (&acc)[TM][TN], int j, uint32_t on, const f32 (&a)[TM], f32 b) {
#pragma unroll
  for (int i = 0; i < TM; i += 4)
    if (ALWAYS)
#pragma unroll
      for (int l = i; l < i + 4; l++) acc[l][j] = gemm_fma(a[l], b, acc[l][j]);
    else
      fma_four_where(on, a + i, b, acc[i][j], acc[i + 1][j], acc[i + 2][j], acc[i + 3][j]);
}
/* section read_fours */
/* N numbers side by side in shared memory, four at a time */
template <int N> INL void read_fours(f32 (&v)[N], const f32 *from) {
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    const Vec<f32, 4> x = *(const Vec<f32, 4> *)(from + i);
#pragma unroll
    for (int l = 0; l < 4; l++) v[i + l] = x.at[l];
  }
}
/* section ConvRing */
template <typename C, typename I, int BM, int BN, int TM, int TN, int STAGES> struct ConvRing {
  enum {
    BK = 16, PAD = 4, MOST = 16,
    LANES = BN / TN, THREADS = BM / TM * LANES, TAPS = C::KH * C::KW,
    PARTS = (C::CHANNELS + BK - 1) / BK,    /* of the channels */
    KC = (C::CHANNELS + PARTS - 1) / PARTS, /* in equal parts */
    ROWS_B = THREADS / BN,                  /* of a k-tile, that the threads copy at once */
    ROWS_A = THREADS / BM, COLS_A = THREADS / BK,
    /* Channels that are multiplied without a branch. Of 16 a compiler may begin all loads before any sum, and spill. */
    UNROLL = TM * TN < 32 ? 8 : 256 / (TM * TN)
  };
  f32 a[STAGES][KC][BM + PAD], b[STAGES][KC][BN + PAD];

  INL_MEMBER int row(int i) { return (int)threadIdx.x / LANES * TM + i; }
  INL_MEMBER int col(int j) { return (int)threadIdx.x % LANES * TN + j; }

  /* The first tap from this one on that the block's pixels have. */
  template <typename R> INL_MEMBER int next_tap(int tap, int n0, const R &size) {
    while (tap < TAPS && !C::reaches(n0, n0 + BN - 1, tap, size)) tap++;
    return tap;
  }
  /* a bit for each row of the filter that has a pixel of the image, and behind MOST for each column */
  template <typename R> INL_MEMBER uint32_t taps_of(const ConvPixel &of, const R &size) {
    uint32_t bits = 0;
    int at;
#pragma unroll 1
    for (int r = 0; r < C::KH; r++) bits |= (uint32_t)C::row(of.y, r, at, size) << r;
#pragma unroll 1
    for (int s = 0; s < C::KW; s++) bits |= (uint32_t)C::col(of.x, s, at, size) << (MOST + s);
    return bits;
  }
  /* does the k-tile have channel k, where the threads copy so many at once? */
  INL_MEMBER bool has_channel(int k, int c0, int at_once) {
    return (KC % at_once == 0 || k < KC) && (C::CHANNELS % KC == 0 || c0 + k < C::CHANNELS);
  }
  /* Begins copies of the k-tile of a tap from channel c0 on. Results of rows and pixels behind the last ones are not
     stored: they are zeros. */
  template <typename R>
  __device__ __forceinline__ void load_async(int stage, const f32 *filters, const f32 *image, const ConvPixel &of, int group,
                                             int m0, int tap, int c0, const R &size) {
    const int t = (int)threadIdx.x;
    if (C::FILTERS_IN_ORDER) { /* threads side by side copy channels */
      const int k = t % BK, first = m0 + t / BK;
      const f32 *const from = filters + C::filter(group, first, c0 + k, tap);
      if (has_channel(k, c0, BK))
#pragma unroll
        for (int p = 0; p < BM; p += COLS_A)
          async_copy<4>(&a[stage][k][t / BK + p], from + (I)p * C::FILTER_STEP, C::M % BM == 0 || first + p < C::M ? 4 : 0);
    } else {
      const f32 *const from = filters + C::filter(group, m0 + t % BM, c0 + t / BM, tap);
#pragma unroll
      for (int p = 0; p < KC; p += ROWS_A)
        if (has_channel(t / BM + p, c0, ROWS_A))
          async_copy<4>(&a[stage][t / BM + p][t % BM], from + (I)p * C::FILTER_STEP, C::M % BM == 0 || m0 + t % BM < C::M ? 4 : 0);
    }
    int y, x;
    bool on = C::row(of.y, tap / C::KW, y, size);
    on = C::col(of.x, tap % C::KW, x, size) && on && of.in;
    const f32 *const from = on ? image + C::pixel(of.n, group, c0 + t / BN, y, x) : image;
#pragma unroll
    for (int p = 0; p < KC; p += ROWS_B)
      if (has_channel(t / BN + p, c0, ROWS_B)) async_copy<4>(&b[stage][t / BN + p][t % BN], from + (I)p * C::SOURCE_AREA, on ? 4 : 0);
  }
  /* adds so many channels of a k-tile for the pixels that have its tap */
  __device__ __forceinline__ void multiply(f32 (&acc)[TM][TN], int stage, const uint32_t (&on)[TN], int channels) {
#pragma unroll(UNROLL)
    for (int k = 0; k < channels; k++) {
      f32 va[TM], vb[TN];
      read_fours(va, &a[stage][k][row(0)]);
      read_fours(vb, &b[stage][k][col(0)]);
#pragma unroll
      for (int j = 0; j < TN; j++) fma_column<C::ALL_INSIDE>(acc, j, on[j], va, vb[j]);
    }
  }
  /* acc: channels from m0 on of a group, pixels from n0 on */
  template <typename R>
  __device__ __forceinline__ void run(f32 (&acc)[TM][TN], const f32 *filters, const f32 *image, int group, int m0, int n0,
                                      const R &size) {
    uint32_t has[TN], on[TN];
    const ConvPixel of = C::place(n0 + (int)threadIdx.x % BN, size); /* that this thread copies */
#pragma unroll
    for (int j = 0; j < TN; j++) has[j] = C::ALL_INSIDE ? 0 : taps_of(C::place(n0 + col(j), size), size);
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    int tap = next_tap(0, n0, size), c = 0, next = tap, next_c = 0, stage = 0;
#pragma unroll 1
    for (int t = 1 - STAGES; tap < TAPS; t++) { /* below 0 the first copies begin */
      if (t >= 0) {
        async_wait<STAGES - 2>();
        block_sync(); /* all have the k-tile, and none reads the one before */
      }
      if (next < TAPS) {
        load_async(t < 0 ? t + STAGES - 1 : stage ? stage - 1 : STAGES - 1, filters, image, of, group, m0, next, next_c, size);
        next_c += KC;
        if (next_c >= C::CHANNELS) next_c = 0, next = next_tap(next + 1, n0, size);
      }
      async_commit();
      if (t < 0) continue;
#pragma unroll
      for (int j = 0; j < TN; j++) on[j] = has[j] >> (tap / C::KW) & has[j] >> (MOST + tap % C::KW) & 1;
      multiply(acc, stage, on, C::CHANNELS % KC == 0 ? (int)KC : smaller(KC, C::CHANNELS - c));
      stage = stage + 1 == STAGES ? 0 : stage + 1;
      c += KC;
      if (c >= C::CHANNELS) c = 0, tap = next_tap(tap + 1, n0, size);
    }
  }
};
