/* Convolutions and their gradients with respect to the image as implicit GEMM, exactly: the left operand is the
   filters, the right one the pixels under their taps, gathered on their way to shared memory. Every element of
   the result is one chain of fma over the filter's rows, columns and channels, as on the CPU. Taps in the
   padding are left out of it, not added as zeros: their product with an infinity would be NaN, and
   -0 + 0 is 0. A block of 256 threads does BM channels by BN pixels of the result, a thread TM x TN. A k-tile
   is KC channels of one tap, or of TP taps if a tap has few; the next one is loaded into registers while one is
   multiplied.
   G: what the printer knows: N images, CIN and COUT channels, GIN and GOUT of a group, H x W pixels of the image,
   OH x OW of the result, KH x KW taps, strides SH, SW, dilations DH, DW, padding PH, PW before. I: of positions.
   R: the sizes N, H, W, OH, OW that a run has, which may be less: numbers, or constants where they are those of G. Images lie
   as at the bounds; pixels are numbered as in the program compiled for the sizes, and blocks behind the last one return. */
/* section ConvPixel ConvForward ConvPatches ConvInputGrad */
/* A pixel of the result, by its number. Of a gradient pixels of one phase, which are a stride apart and have their
   taps alike, follow each other, so that a block may leave out the taps that none of its pixels has. */
struct ConvPixel {
  int n, y, x;
  bool in; /* is there such a pixel? */
};
template <typename G, typename I> struct ConvForward {
  enum {
    M = G::GOUT, CHANNELS = G::GIN, ROWS = G::OH, COLS = G::OW, SOURCE_ROWS = G::H, SOURCE_COLS = G::W, SOURCE_AREA = G::H * G::W,
    KH = G::KH, KW = G::KW, IMAGES = G::N, PIXELS = G::N * G::OH * G::OW,
    FILTERS_IN_ORDER = 1,            /* of channels and their taps */
    FILTER_STEP = G::GIN * G::KH * G::KW, /* from one to the next */
    ALL_INSIDE = G::PH == 0 && G::PW == 0 && (G::OH - 1) * G::SH + (G::KH - 1) * G::DH < G::H &&
                 (G::OW - 1) * G::SW + (G::KW - 1) * G::DW < G::W /* is no tap in the padding? */
  };
  template <typename R> INL_MEMBER int source_rows(const R &size) { return size.H; }
  template <typename R> INL_MEMBER int source_cols(const R &size) { return size.W; }
  template <typename R> INL_MEMBER int result_rows(const R &size) { return size.OH; }
  template <typename R> INL_MEMBER int result_cols(const R &size) { return size.OW; }
  template <typename R> INL_MEMBER int pixels(const R &size) { return size.N * size.OH * size.OW; }
  template <typename R> INL_MEMBER ConvPixel place(int p, const R &size) {
    const ConvPixel of = {p / (size.OH * size.OW), p / size.OW % size.OH, p % size.OW, p < pixels(size)};
    return of;
  }
  /* may some pixel from `first` to `last` have the tap? */
  template <typename R> INL_MEMBER bool reaches(int first, int last, int tap, const R &size) { return true; }
  INL_MEMBER I filter(int group, int m, int c, int tap) {
    return (((I)group * G::GOUT + m) * G::GIN + c) * (KH * KW) + tap;
  }
  INL_MEMBER I pixel(int n, int group, int c, int row, int col) {
    return (((I)n * G::CIN + group * G::GIN + c) * G::H + row) * G::W + col;
  }
  enum { ALONG = 1, PATCHES = 0 }; /* channels that follow each other in a row of the image; are they those of patches? */
  INL_MEMBER I channel(int c) { return (I)c * SOURCE_AREA; } /* from a group's first one */
  /* the source's row under tap r of the result's row y; is there one? */
  template <typename R> INL_MEMBER bool row(int y, int r, int &at, const R &size) {
    at = y * G::SH - G::PH + r * G::DH;
    return at >= 0 && at < size.H;
  }
  template <typename R> INL_MEMBER bool col(int x, int s, int &at, const R &size) {
    at = x * G::SW - G::PW + s * G::DW;
    return at >= 0 && at < size.W;
  }
};
/* A convolution of patches as one of a single tap, whose channels are those of the image with the taps of each
   (codegen/schedule/patches.h). BESIDE of them, at multiples of BESIDE, lie side by side. */
template <typename G, typename I, int BESIDE> struct ConvPatches : ConvForward<G, I> {
  typedef ConvForward<G, I> Base;
  enum { CHANNELS = G::GIN * G::KH * G::KW, KH = 1, KW = 1, ALL_INSIDE = 1, ALONG = BESIDE, PATCHES = 1 };
  INL_MEMBER I filter(int group, int m, int c, int tap) { return ((I)group * G::GOUT + m) * CHANNELS + c; }
  INL_MEMBER I channel(int c) {
    return ((I)(c / (G::KH * G::KW)) * G::H + c / G::KW % G::KH) * G::W + c % G::KW;
  }
  INL_MEMBER I pixel(int n, int group, int c, int row, int col) { return Base::pixel(n, group, 0, row, col) + channel(c); }
};
template <typename G, typename I> struct ConvInputGrad {
  enum {
    M = G::GIN, CHANNELS = G::GOUT, ROWS = G::H, COLS = G::W, SOURCE_ROWS = G::OH, SOURCE_COLS = G::OW, SOURCE_AREA = G::OH * G::OW,
    KH = G::KH, KW = G::KW, IMAGES = G::N, PHASES = G::SH * G::SW,
    PIXELS = PHASES * G::N * ((G::H + G::SH - 1) / G::SH) * ((G::W + G::SW - 1) / G::SW), FILTERS_IN_ORDER = 0,
    FILTER_STEP = G::GIN * KH * KW,
    ALL_INSIDE = KH * KW == 1 && G::SH == 1 && G::SW == 1 && G::PH == 0 && G::PW == 0 && G::OH == G::H && G::OW == G::W
  };
  template <typename R> INL_MEMBER int source_rows(const R &size) { return size.OH; }
  template <typename R> INL_MEMBER int source_cols(const R &size) { return size.OW; }
  template <typename R> INL_MEMBER int result_rows(const R &size) { return size.H; }
  template <typename R> INL_MEMBER int result_cols(const R &size) { return size.W; }
  /* pixels of a phase, at most */
  template <typename R> INL_MEMBER int phase_rows(const R &size) { return ((int)size.H + G::SH - 1) / G::SH; }
  template <typename R> INL_MEMBER int phase_cols(const R &size) { return ((int)size.W + G::SW - 1) / G::SW; }
  template <typename R> INL_MEMBER int of_phase(const R &size) { return size.N * phase_rows(size) * phase_cols(size); }
  template <typename R> INL_MEMBER int phase(int p, const R &size) { return PHASES == 1 ? 0 : p / of_phase(size); }
  template <typename R> INL_MEMBER int pixels(const R &size) { return PHASES * of_phase(size); }
  template <typename R> INL_MEMBER ConvPixel place(int p, const R &size) {
    const int first = phase(p, size), at = p - first * of_phase(size), rows = phase_rows(size), cols = phase_cols(size);
    const int y = at / cols % rows * G::SH + first / G::SW;
    const int x = at % cols * G::SW + first % G::SW;
    const ConvPixel of = {at / (rows * cols), y, x, p < pixels(size) && y < size.H && x < size.W};
    return of;
  }
  template <typename R> INL_MEMBER bool reaches(int first, int last, int tap, const R &size) {
    const int at = phase(first, size);
    if (at != phase(last, size)) return true;
    return (at / G::SW + G::PH - tap / G::KW * G::DH) % G::SH == 0 &&
           (at % G::SW + G::PW - tap % G::KW * G::DW) % G::SW == 0;
  }
  INL_MEMBER I filter(int group, int m, int c, int tap) {
    return (((I)group * G::GOUT + c) * G::GIN + m) * (KH * KW) + tap;
  }
  INL_MEMBER I pixel(int n, int group, int c, int row, int col) {
    return (((I)n * G::COUT + group * G::GOUT + c) * G::OH + row) * G::OW + col;
  }
  enum { ALONG = 1 };
  INL_MEMBER I channel(int c) { return (I)c * SOURCE_AREA; }
  template <typename R> INL_MEMBER bool row(int y, int r, int &at, const R &size) {
    const int from = y + G::PH - r * G::DH;
    at = from / G::SH;
    return from >= 0 && at < size.OH && at * G::SH == from;
  }
  template <typename R> INL_MEMBER bool col(int x, int s, int &at, const R &size) {
    const int from = x + G::PW - s * G::DW;
    at = from / G::SW;
    return from >= 0 && at < size.OW && at * G::SW == from;
  }
};

/* section ConvTile */
/* C: one of the above. A, B: converters of filters and pixels. */
template <typename C, typename I, typename T, typename A, typename B, int BM, int BN, int TM, int TN>
struct ConvTile {
  enum {
    THREADS = 256, BK = 16, PAD = 4, TAPS = C::KH * C::KW,
    PARTS = (C::CHANNELS + BK - 1) / BK,        /* of the channels */
    KC = (C::CHANNELS + PARTS - 1) / PARTS,     /* in equal parts */
    TP = BK / KC < TAPS ? BK / KC : TAPS, DEPTH = TP * KC,
    ROWS_B = THREADS / BN,                      /* of a k-tile, that the threads load at once */
    PA = (BM * DEPTH + THREADS - 1) / THREADS, PB = (DEPTH + ROWS_B - 1) / ROWS_B,
    VN = TN < 4 ? TN : 4, GROUPS = TN / VN, LANES = BN / TN
  };
  T a[DEPTH][BM + PAD], b[DEPTH][BN + PAD];
  uint8_t inside[TP][BN]; /* does the tap lie on the image? */

  INL_MEMBER int row(int i) { return (int)threadIdx.x / LANES * TM + i; }
  INL_MEMBER int col(int j) { return j / VN * (BN / GROUPS) + (int)threadIdx.x % LANES * VN + j % VN; }

  /* The first tap from this one on that a k-tile begins with and the block's pixels have. */
  template <typename R> INL_MEMBER int next_tap(int tap, int n0, const R &size) {
    while (TP == 1 && tap < TAPS && !C::reaches(n0, n0 + BN - 1, tap, size)) tap++;
    return tap;
  }
  template <typename R>
  INL_MEMBER void load_global(T (&ra)[PA], T (&rb)[PB], bool (&on)[TP], const typename A::Stored *filters,
                              const typename B::Stored *image, const ConvPixel &of, int group, int m0, int tap0, int c0,
                              const R &size) {
#pragma unroll
    for (int p = 0; p < PA; p++) {
      const int e = (int)threadIdx.x + p * THREADS, k = e % DEPTH, m = m0 + e / DEPTH;
      const int tap = tap0 + k / KC, c = c0 + k % KC;
      const bool in = e < BM * DEPTH && m < C::M && tap < TAPS && c < C::CHANNELS;
      ra[p] = in ? A::get(filters[C::filter(group, m, c, tap)]) : (T)0;
    }
    int y[TP], x[TP];
#pragma unroll
    for (int q = 0; q < TP; q++) {
      const int tap = tap0 + q;
      on[q] = tap < TAPS && C::row(of.y, tap / C::KW, y[q], size);
      on[q] = C::col(of.x, tap % C::KW, x[q], size) && on[q];
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
      const int k = (int)threadIdx.x / BN + p * ROWS_B, c = c0 + k % KC;
      bool in = k < DEPTH && c < C::CHANNELS && of.in;
      I at = 0;
#pragma unroll
      for (int q = 0; q < TP; q++) {
        if (TP > 1 && k / KC != q) continue;
        in = in && on[q];
        at = C::pixel(of.n, group, c, y[q], x[q]);
      }
      rb[p] = in ? B::get(image[at]) : (T)0;
    }
  }
  __device__ __forceinline__ void store_shared(const T (&ra)[PA], const T (&rb)[PB], const bool (&on)[TP], bool in) {
#pragma unroll
    for (int p = 0; p < PA; p++) {
      const int e = (int)threadIdx.x + p * THREADS;
      if (BM * DEPTH % THREADS == 0 || e < BM * DEPTH) a[e % DEPTH][e / DEPTH] = ra[p];
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
      const int k = (int)threadIdx.x / BN + p * ROWS_B;
      if (DEPTH % ROWS_B == 0 || k < DEPTH) b[k][(int)threadIdx.x % BN] = rb[p];
    }
    if ((int)threadIdx.x >= BN) return;
#pragma unroll
    for (int q = 0; q < TP; q++) inside[q][threadIdx.x] = on[q] || !in; /* results of pixels behind the last are not stored */
  }
  __device__ __forceinline__ void multiply(T (&acc)[TM][TN], int tap0, int c0) {
#pragma unroll
    for (int q = 0; q < TP; q++) {
      if (tap0 + q >= TAPS) break;
      uint32_t on[TN];
#pragma unroll
      for (int j = 0; j < TN; j++) on[j] = inside[q][col(j)];
#pragma unroll 8 /* the whole k-tile would spill registers */
      for (int k = 0; k < KC; k++)
        if (C::CHANNELS % KC == 0 || c0 + k < C::CHANNELS) step(acc, q * KC + k, on);
    }
  }
  __device__ __forceinline__ void step(T (&acc)[TM][TN], int k, const uint32_t (&on)[TN]) {
    T va[TM], vb[TN];
#pragma unroll
    for (int i = 0; i < TM; i++) va[i] = a[k][row(i)];
#pragma unroll
    for (int j = 0; j < TN; j++) vb[j] = b[k][col(j)];
#pragma unroll
    for (int j = 0; j < TN; j++)
#pragma unroll
      for (int i = 0; i < TM; i++) fma_where(on[j], va[i], vb[j], acc[i][j]);
  }
  /* acc: channels from m0 on of a group, pixels from n0 on */
  template <typename R>
  __device__ __forceinline__ void run(T (&acc)[TM][TN], const typename A::Stored *filters,
                                      const typename B::Stored *image, int group, int m0, int n0, const R &size) {
    T ra[PA], rb[PB];
    bool on[TP];
    const ConvPixel of = C::place(n0 + (int)threadIdx.x % BN, size); /* that this thread loads */
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    int tap0 = next_tap(0, n0, size), c0 = 0;
    if (tap0 < TAPS) load_global(ra, rb, on, filters, image, of, group, m0, tap0, 0, size);
#pragma unroll 1
    while (tap0 < TAPS) {
      store_shared(ra, rb, on, of.in);
      block_sync();
      const int tap = tap0, c = c0;
      c0 += KC;
      if (c0 >= C::CHANNELS) c0 = 0, tap0 = next_tap(tap0 + TP, n0, size);
      if (tap0 < TAPS) load_global(ra, rb, on, filters, image, of, group, m0, tap0, c0, size);
      multiply(acc, tap, c);
      block_sync();
    }
  }
};

/* section ConvFilterGrad */
/* The gradient with respect to filters as a product: its rows are the filters of a group, its columns their
   weights as they lie in memory, and its depth is the pixels of the convolution's result. FRAME, CHUNK of R, and of G if
   that is R: a chunk of pixels is one chain of fma, without the pixels whose tap lies in the padding; chunks lie in frames,
   one after the other, and a frame's last chunk may be shorter. */
template <typename G, typename I> struct ConvFilterGrad {
  enum {
    M = G::GOUT, TAPS = G::KH * G::KW, COLUMNS = G::GIN * TAPS, AREA = G::OH * G::OW,
    IMAGE = G::H * G::W,
    /* weights are channels, and each has a pixel under each of the result */
    ALL_INSIDE = TAPS == 1 && G::PH == 0 && G::PW == 0 && (G::OH - 1) * G::SH < G::H && (G::OW - 1) * G::SW < G::W
  };
  struct Pixel {  /* of the result */
    I dy, image;  /* where it lies in a group's first channel, and the image's pixel under it before padding */
    int row, col; /* of the latter */
  };
  template <typename R> INL_MEMBER Pixel pixel(int p, int group, const R &size) {
    const int area = size.OH * size.OW, n = p / area, at = p % area, y = at / size.OW, x = at % size.OW;
    const int row = y * G::SH, col = x * G::SW, place = (int)size.OW == (int)G::OW ? at : y * G::OW + x;
    Pixel of = {((I)n * G::COUT + group * G::GOUT) * AREA + place,
                (((I)n * G::CIN + group * G::GIN) * G::H + row) * G::W + col, row, col};
    return of;
  }
  struct Column { /* a weight: where its tap reads, from such a pixel on */
    I at;
    int row, col;
  };
  INL_MEMBER Column column(int n) {
    const int c = n / TAPS, row = n % TAPS / G::KW * G::DH - G::PH, col = n % G::KW * G::DW - G::PW;
    Column of = {((I)c * G::H + row) * G::W + col, row, col};
    return of;
  }
  template <typename R> INL_MEMBER bool inside(const Pixel &p, const Column &c, const R &size) {
    const int row = p.row + c.row, col = p.col + c.col;
    return row >= 0 && row < size.H && col >= 0 && col < size.W;
  }
  template <typename R> INL_MEMBER int per_frame(const R &size) { return ((int)size.FRAME + size.CHUNK - 1) / size.CHUNK; }
  template <typename R> INL_MEMBER int chunk_start(int chunk, const R &size) {
    return chunk / per_frame(size) * size.FRAME + chunk % per_frame(size) * size.CHUNK;
  }
  template <typename R> INL_MEMBER int chunk_end(int chunk, const R &size) {
    const int end = smaller(chunk_start(chunk, size) + size.CHUNK, (chunk / per_frame(size) + 1) * size.FRAME);
    const bool whole = (int)size.N == (int)G::N && (int)size.OH == (int)G::OH && (int)size.OW == (int)G::OW;
    return whole ? end : smaller(end, size.N * size.OH * size.OW);
  }
};

/* section ConvFilterTile */
/* The same exactly, by a block of 256 threads: BM filters by BN weights, a thread TM x TN. A k-tile is BK pixels. */
template <typename G, typename I, typename T, typename A, typename B, int BM, int BN, int TM, int TN>
struct ConvFilterTile {
  typedef ConvFilterGrad<G, I> C;
  enum {
    THREADS = 256, BK = 16, PAD = 4, ALL_PIXELS = (1 << BK) - 1,
    ROWS = THREADS / BK, PA = BM / ROWS, PB = BN / ROWS, /* rows that threads load at once; of a thread */
    VN = TN < 4 ? TN : 4, GROUPS = TN / VN, LANES = BN / TN
  };
  T a[BK][BM + PAD], b[BK][BN + PAD];
  typename C::Column column[BN];
  uint32_t inside[2][BN]; /* of a k-tile and the next one: a bit for each pixel */

  INL_MEMBER int row(int i) { return (int)threadIdx.x / LANES * TM + i; }
  INL_MEMBER int col(int j) { return j / VN * (BN / GROUPS) + (int)threadIdx.x % LANES * VN + j % VN; }

  __device__ __forceinline__ void start(int n0) {
    if ((int)threadIdx.x < BN) column[threadIdx.x] = C::column(n0 + (int)threadIdx.x);
    block_sync();
  }
  template <typename R>
  __device__ __forceinline__ void load_global(T (&ra)[PA], T (&rb)[PB], uint32_t (&in)[BN],
                                              const typename A::Stored *dy, const typename B::Stored *image,
                                              int group, int m0, int n0, int p0, int end, const R &size) {
    const int k = (int)threadIdx.x % BK, first = (int)threadIdx.x / BK;
    const bool exists = p0 + k < end;
    const typename C::Pixel of = C::pixel(p0 + k, group, size);
#pragma unroll
    for (int p = 0; p < PA; p++) {
      const int m = m0 + first + p * ROWS;
      ra[p] = exists && (C::M % BM == 0 || m < C::M) ? A::get(dy[of.dy + (I)m * C::AREA]) : (T)0;
    }
#pragma unroll
    for (int p = 0; p < PB; p++) {
      const int n = first + p * ROWS;
      const typename C::Column c = column[n];
      const bool behind = C::COLUMNS % BN != 0 && n0 + n >= C::COLUMNS; /* results that are not stored */
      const bool on = exists && !behind && C::inside(of, c, size);
      rb[p] = on ? B::get(image[of.image + c.at]) : (T)0;
      const uint32_t pixels = warp_ballot(on || (exists && behind)) >> ((int)threadIdx.x % 32 / BK * BK);
      if (k == 0) in[n] = pixels & ALL_PIXELS;
    }
  }
  __device__ __forceinline__ void store_shared(const T (&ra)[PA], const T (&rb)[PB]) {
    const int k = (int)threadIdx.x % BK, first = (int)threadIdx.x / BK;
#pragma unroll
    for (int p = 0; p < PA; p++) a[k][first + p * ROWS] = ra[p];
#pragma unroll
    for (int p = 0; p < PB; p++) b[k][first + p * ROWS] = rb[p];
  }
  __device__ __forceinline__ void multiply(T (&acc)[TM][TN], const uint32_t (&in)[BN]) {
    uint32_t on[TN], all = ALL_PIXELS;
#pragma unroll
    for (int j = 0; j < TN; j++) all &= on[j] = in[col(j)];
    if (warp_ballot(all == ALL_PIXELS) == ALL) /* both ways in a warp would take the time of both */
      steps<false>(acc, on);
    else
      steps<true>(acc, on);
  }
  template <bool MASKED> __device__ __forceinline__ void steps(T (&acc)[TM][TN], const uint32_t (&on)[TN]) {
#pragma unroll
    for (int k = 0; k < BK; k++) {
      T va[TM], vb[TN];
#pragma unroll
      for (int i = 0; i < TM; i++) va[i] = a[k][row(i)];
#pragma unroll
      for (int j = 0; j < TN; j++) vb[j] = b[k][col(j)];
#pragma unroll
      for (int j = 0; j < TN; j++)
#pragma unroll
        for (int i = 0; i < TM; i++)
          if (MASKED)
            fma_where(on[j] & 1u << k, va[i], vb[j], acc[i][j]);
          else
            acc[i][j] = gemm_fma(va[i], vb[j], acc[i][j]);
    }
  }
  /* acc: filters from m0 on of a group, weights from n0 on, of one chunk; behind start(n0) */
  template <typename R>
  __device__ __forceinline__ void run(T (&acc)[TM][TN], const typename A::Stored *dy,
                                      const typename B::Stored *image, int group, int m0, int n0, int chunk,
                                      const R &size) {
    T ra[PA], rb[PB];
    const int first = C::chunk_start(chunk, size), end = C::chunk_end(chunk, size);
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    int now = 0;
    load_global(ra, rb, inside[0], dy, image, group, m0, n0, first, end, size);
#pragma unroll 1
    for (int p0 = first; p0 < end; p0 += BK) {
      store_shared(ra, rb);
      block_sync();
      if (p0 + BK < end) load_global(ra, rb, inside[now ^ 1], dy, image, group, m0, n0, p0 + BK, end, size);
      multiply(acc, inside[now]);
      block_sync();
      now ^= 1;
    }
  }
};
