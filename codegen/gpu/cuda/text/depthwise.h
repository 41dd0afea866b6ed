/* The gradient of a depthwise convolution with respect to its filters, exactly: of each filter and chunk of pixels (FRAME,
   CHUNK of G, as in conv.h) a sum for every tap, one chain of fma over the pixels whose tap lies on the image. A block has
   UNITS pairs of a channel of the result and a chunk; a thread sums TAPS taps of a filter's row. SLAB rows of the result lie in
   shared memory at a time, with the image's rows under them: a pixel's number is read once for all taps of a thread, and the
   image's numbers under neighbouring pixels once for all taps that reach them. */
/* section DepthwiseFilter */
/* A, B: converters of the result's gradient and of the image. PITCH: elements of an image's row in shared memory; IMAGE, DY:
   those of a unit. */
template <typename G, typename I, typename T, typename A, typename B, int THREADS, int UNITS, int TAPS, int SLAB, int PITCH, int IMAGE, int DY>
struct DepthwiseFilter {
  enum {
    GROUPS = (G::KW + TAPS - 1) / TAPS, EACH = G::KH * GROUPS, /* threads of a unit */
    UNDER = (G::KH - 1) * G::DH + 1                            /* rows of the image under one of the result */
  };
  /* images of a chunk, or rows of one */
  template <typename R> INL_MEMBER int images(const R &size) { return size.CHUNK < size.OH * size.OW ? 1 : size.CHUNK / (size.OH * size.OW); }
  template <typename R> INL_MEMBER int rows(const R &size) { return size.CHUNK < size.OH * size.OW ? size.CHUNK / size.OW : (int)size.OH; }
  /* columns whose taps all lie on the image: [from, to) */
  template <typename R> INL_MEMBER int from(const R &size) { return smaller((G::PW + G::SW - 1) / G::SW, (int)size.OW); }
  template <typename R> INL_MEMBER int to(const R &size) {
    const int reach = (int)size.W - 1 + G::PW - (G::KW - 1) * G::DW, right = reach < 0 ? 0 : smaller(reach / G::SW + 1, (int)size.OW);
    return right < from(size) ? from(size) : right;
  }
  INL_MEMBER int unit() { return (int)threadIdx.x / EACH; }
  INL_MEMBER int row() { return (int)threadIdx.x % EACH / GROUPS; }
  INL_MEMBER int column(int k) { return (int)threadIdx.x % GROUPS * TAPS + k; }
  INL_MEMBER bool has(int k) { return G::KW % TAPS == 0 || column(k) < G::KW; }

  /* Rows [y, end) of the result, of one image, that a unit has in a slab. */
  struct Part {
    int channel, n, y, end;
  };
  /* Of unit u; before: chunks that come before the block's first unit, of channel 0. */
  template <typename R> INL_MEMBER Part part(int u, int all, int before, int image, int slab, const R &size) {
    const int chunk = before + u / G::COUT, each = images(size), per_image = ((int)size.OH + rows(size) - 1) / rows(size);
    const int y0 = each > 1 ? 0 : chunk % per_image * rows(size), y1 = smaller(y0 + rows(size), (int)size.OH);
    Part p = {u % G::COUT, each > 1 ? chunk * each + image : chunk / per_image, y0 + slab, smaller(y0 + slab + SLAB, y1)};
    if (u >= all || p.n >= size.N) p.end = p.y;
    return p;
  }

  /* All threads; x, d: of the unit. */
  template <typename R>
  INL_MEMBER void load(T *x, T *d, const typename A::Stored *dy, const typename B::Stored *image, const Part &p, const R &size) {
    if (p.y >= p.end) return;
    const typename A::Stored *const from = dy + (((I)p.n * G::COUT + p.channel) * G::OH + p.y) * G::OW;
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < (p.end - p.y) * size.OW; e += THREADS) {
      const int at = (int)size.OW == (int)G::OW ? e : e / size.OW * G::OW + e % size.OW;
      d[at] = A::get(from[at]);
    }
    const int top = p.y * G::SH - G::PH, first = top < 0 ? 0 : top;
    const int last = smaller((p.end - 1) * G::SH - G::PH + UNDER, (int)size.H);
    const typename B::Stored *const under = image + (((I)p.n * G::CIN + p.channel / G::GOUT) * G::H + first) * G::W;
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < (last - first) * size.W; e += THREADS) {
      const int line = e / size.W, column = e % size.W;
      x[(first - top + line) * PITCH + column] = B::get(under[(int)size.W == (int)G::W ? e : line * G::W + column]);
    }
  }

  template <int P> INL_MEMBER void add(T (&acc)[TAPS], const T *x, const T *d, int j) {
#pragma unroll
    for (int p = 0; p < P; p++)
#pragma unroll
      for (int k = 0; k < TAPS; k++)
        if (has(k)) acc[k] = gemm_fma(d[j + p], x[(j + p) * G::SW + k * G::DW], acc[k]);
  }
  /* Some taps of the pixel lie in the padding. */
  template <typename R> INL_MEMBER void add_inside(T (&acc)[TAPS], const T *x, const T *d, int j, const R &size) {
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
      const int at = j * G::SW + column(k) * G::DW - G::PW;
      if (has(k) && at >= 0 && at < size.W) acc[k] = gemm_fma(d[j], x[j * G::SW + k * G::DW], acc[k]);
    }
  }

  /* acc: the sums of this thread's unit, of `all` from `first` on, over its chunk */
  template <typename R>
  INL_MEMBER void run(T (&acc)[TAPS], char *smem, const typename A::Stored *dy, const typename B::Stored *image, int first, int all,
                      int before, const R &size) {
    T *const xs = (T *)smem, *const ds = xs + UNITS * IMAGE;
    const int u = unit();
#pragma unroll
    for (int k = 0; k < TAPS; k++) acc[k] = 0;
#pragma unroll 1
    for (int at = 0; at < images(size); at++)
#pragma unroll 1
      for (int slab = 0; slab < rows(size); slab += SLAB) {
        if (at + slab > 0) block_sync();
#pragma unroll 1
        for (int v = 0; v < UNITS; v++) load(xs + v * IMAGE, ds + v * DY, dy, image, part(first + v, all, before, at, slab, size), size);
        block_sync();
        if (u >= UNITS) continue;
        const Part p = part(first + u, all, before, at, slab, size);
#pragma unroll 1
        for (int y = p.y; y < p.end; y++) {
          const int line = y * G::SH - G::PH + row() * G::DH;
          if (line < 0 || line >= size.H) continue;
          const T *const d = ds + u * DY + (y - p.y) * G::OW;
          const T *const x = xs + u * IMAGE + ((y - p.y) * G::SH + row() * G::DH) * PITCH + column(0) * G::DW - G::PW;
          int j = 0;
#pragma unroll 1
          for (; j < from(size); j++) add_inside(acc, x, d, j, size);
#pragma unroll 1
          for (; j + 8 <= to(size); j += 8) add<8>(acc, x, d, j);
#pragma unroll 1
          for (; j + 4 <= to(size); j += 4) add<4>(acc, x, d, j);
#pragma unroll 1
          for (; j < size.OW; j++) add_inside(acc, x, d, j, size);
        }
      }
  }
};

/* section DepthwiseConv: ConvPixel */
/* A depthwise convolution, or BACK its gradient with respect to the image if strides are 1 and a channel has one filter,
   exactly: the order of taps is ConvTile's. A block has SLAB rows of UNITS planes of the result, a thread DOWN of them of a
   column at a time. The rows of the source under them lie in shared memory: a number is read once for all rows of a thread.
   A, B: converters of filters and of the source. PITCH: elements of a source's row in shared memory; IMAGE: of a plane's. */
template <typename G, typename I, typename T, typename A, typename B, bool BACK, int THREADS, int UNITS, int SLAB, int DOWN, int PITCH, int IMAGE>
struct DepthwiseConv {
  enum {
    ROWS = BACK ? G::H : G::OH, COLS = BACK ? G::W : G::OW, CHANNELS = BACK ? G::CIN : G::COUT,
    SOURCE_ROWS = BACK ? G::OH : G::H, SOURCE_COLS = BACK ? G::OW : G::W, SOURCES = BACK ? G::COUT : G::CIN,
    SH = BACK ? 1 : G::SH, SW = BACK ? 1 : G::SW, TAPS = G::KH * G::KW, HIGH = (G::KH - 1) * G::DH, WIDE = (G::KW - 1) * G::DW,
    SLABS = (ROWS + SLAB - 1) / SLAB, GROUPS = SLAB / DOWN, LINES = (DOWN - 1) * SH + HIGH + 1,
    LEFT = BACK ? WIDE - G::PW : (G::PW + SW - 1) / SW
  };
  /* Of a run. */
  template <typename R> INL_MEMBER int rows(const R &size) { return BACK ? (int)size.H : (int)size.OH; }
  template <typename R> INL_MEMBER int cols(const R &size) { return BACK ? (int)size.W : (int)size.OW; }
  template <typename R> INL_MEMBER int source_rows(const R &size) { return BACK ? (int)size.OH : (int)size.H; }
  template <typename R> INL_MEMBER int source_cols(const R &size) { return BACK ? (int)size.OW : (int)size.W; }
  /* columns whose taps all lie on the source: [from, from + inner) */
  template <typename R> INL_MEMBER int from(const R &size) { return LEFT < 0 ? 0 : smaller((int)LEFT, cols(size)); }
  template <typename R> INL_MEMBER int inner(const R &size) {
    const int reach = source_cols(size) - 1 + G::PW - WIDE, right = BACK ? (int)size.OW - G::PW : reach < 0 ? 0 : reach / SW + 1;
    const int to = smaller(right, cols(size));
    return to < from(size) ? 0 : to - from(size);
  }
  /* rows that a thread does at a time, over each other in a block, which has some */
  template <typename R> INL_MEMBER int groups(int block, const R &size) {
    const bool whole = (int)ROWS % SLAB == 0 && rows(size) == (int)ROWS;
    return whole ? (int)GROUPS : smaller((rows(size) - slab(block) + DOWN - 1) / DOWN, (int)GROUPS);
  }
  template <typename R> INL_MEMBER int tasks(int block, const R &size) { return UNITS * groups(block, size) * cols(size); }
  template <typename R> INL_MEMBER bool behind(int block, const R &size) { return first(block) / CHANNELS >= size.N || slab(block) >= rows(size); }
  struct Task { /* rows from y on of a column; `in`: there are some */
    int unit, n, channel, y, x, line; /* line: of the slab's source rows, under y */
    bool in, inner;
  };
  /* Of a block, which the kernel names: of several launches in one it is that of its part. */
  INL_MEMBER int slab(int block) { return block % SLABS * SLAB; }
  INL_MEMBER int first(int block) { return block / SLABS * UNITS; }
  INL_MEMBER int top(int y) { return BACK ? y + G::PH - HIGH : y * SH - G::PH; }           /* row under the first tap */
  INL_MEMBER int left(int x) { return BACK ? x + G::PW : x * SW - G::PW; } /* column under the first tap */

  /* Those of columns in the middle come first, so that few warps have both. */
  template <typename R> INL_MEMBER Task task(int block, int t, const R &size) {
    Task of;
    const int high = groups(block, size), middle = inner(size), inners = UNITS * high * middle;
    of.inner = t < inners;
    const int width = of.inner ? middle : cols(size) - middle, at = of.inner ? t : t - inners, column = at % width;
    of.x = of.inner ? from(size) + column : column < from(size) ? column : column + middle;
    of.unit = at / width / high;
    const int down = at / width % high * DOWN, plane = first(block) + of.unit;
    of.n = plane / CHANNELS, of.channel = plane % CHANNELS;
    of.y = slab(block) + down, of.line = down * SH;
    of.in = of.n < size.N && of.y < rows(size);
    return of;
  }

  /* All threads. */
  template <typename R>
  INL_MEMBER void load(T *smem, int block, const typename A::Stored *filters, const typename B::Stored *source, const R &size) {
    const int own = first(block), above = top(slab(block));
    T *const f = smem + UNITS * IMAGE;
    for (int e = (int)threadIdx.x; e < UNITS * TAPS; e += THREADS) f[e] = A::get(filters[(own + e / TAPS) % CHANNELS * TAPS + e % TAPS]);
    const int top = above < 0 ? 0 : above, to = smaller(above + (SLAB - 1) * SH + HIGH + 1, source_rows(size)), width = source_cols(size);
#pragma unroll 1
    for (int u = 0; u < UNITS; u++) {
      const int n = (own + u) / CHANNELS, channel = (own + u) % CHANNELS / (CHANNELS / SOURCES);
      if (n >= size.N) break;
      const typename B::Stored *const lines = source + (((I)n * SOURCES + channel) * SOURCE_ROWS + top) * SOURCE_COLS;
      T *const x = smem + u * IMAGE + (top - above) * PITCH;
#pragma unroll 4
      for (int e = (int)threadIdx.x; e < (to - top) * width; e += THREADS) {
        const int line = e / width, column = e % width;
        x[line * PITCH + column] = B::get(lines[width == (int)SOURCE_COLS ? e : line * SOURCE_COLS + column]);
      }
    }
    block_sync();
  }

  template <bool EDGE, typename R> INL_MEMBER void taps(T (&acc)[DOWN], const T *f, const T *x, int row, int column, const R &size) {
    T w[TAPS];
    uint32_t on[G::KW];
#pragma unroll
    for (int i = 0; i < TAPS; i++) w[i] = f[i];
#pragma unroll
    for (int s = 0; s < G::KW; s++) {
      const int at = column + (BACK ? -s : s) * G::DW;
      on[s] = at >= 0 && at < source_cols(size);
    }
#pragma unroll
    for (int l = 0; l < LINES; l++) {
      const int line = BACK ? LINES - 1 - l : l;
      if (row + line < 0 || row + line >= source_rows(size)) continue;
      T v[G::KW];
#pragma unroll
      for (int s = 0; s < G::KW; s++) v[s] = !EDGE || on[s] ? x[line * PITCH + (BACK ? -s : s) * G::DW] : (T)0;
#pragma unroll
      for (int p = 0; p < DOWN; p++) {
        const int tap = line - p * SH, r = BACK ? G::KH - 1 - tap / G::DH : tap / G::DH;
        if (tap < 0 || tap > HIGH || tap % G::DH != 0) continue;
#pragma unroll
        for (int s = 0; s < G::KW; s++)
          if (EDGE)
            fma_where(on[s], w[r * G::KW + s], v[s], acc[p]);
          else
            acc[p] = gemm_fma(w[r * G::KW + s], v[s], acc[p]);
      }
    }
  }
  template <typename R> INL_MEMBER void sum(T (&acc)[DOWN], const T *smem, const Task &of, const R &size) {
    const T *const f = smem + UNITS * IMAGE + of.unit * TAPS;
    const T *const x = smem + of.unit * IMAGE + of.line * PITCH + left(of.x);
#pragma unroll
    for (int p = 0; p < DOWN; p++) acc[p] = 0;
    if (of.inner)
      taps<false>(acc, f, x, top(of.y), left(of.x), size);
    else
      taps<true>(acc, f, x, top(of.y), left(of.x), size);
  }
};
