/* The gradient of a depthwise convolution with respect to its filters, exactly: of each filter and chunk of pixels (FRAME,
   CHUNK of G, as in conv.h) a sum for every tap, one chain of fma over the pixels whose tap lies on the image. A block has
   UNITS pairs of a channel of the result and a chunk; a thread sums TAPS taps of a filter's row. SLAB rows of the result lie in
   shared memory at a time, with the image's rows under them, with zeros beside both, which are read, but not added. A thread goes
   along a row PIXELS at a time: a pixel's number is read once for all of its taps, and the image's numbers, in vectors of V, once
   for all pixels that reach them, those of the pixels before included. */
/* section DepthwiseFilter */
/* A, B: converters of the result's gradient and of the image. ASYNC: they are copied as they lie (cp.async). COPY, COPY_DY:
   elements of a copy; PITCH, PITCH_DY: elements of a row in shared memory; IMAGE, DY: those of a unit; BEFORE, BEHIND: that are
   read in front of the first unit's image, and behind the last one's. */
template <typename G, typename I, typename T, typename A, typename B, bool ASYNC, int THREADS, int UNITS, int TAPS, int SLAB, int V, int COPY,
          int COPY_DY, int PITCH, int PITCH_DY, int IMAGE, int DY, int BEFORE, int BEHIND>
struct DepthwiseFilter {
  enum {
    GROUPS = (G::KW + TAPS - 1) / TAPS, EACH = G::KH * GROUPS, /* threads of a unit */
    UNDER = (G::KH - 1) * G::DH + 1,                           /* rows of the image under one of the result */
    LINES = (SLAB - 1) * G::SH + UNDER, PIXELS = 8, QUADS = 16 / sizeof(T),
    LEAD = (-G::PW % V + V) % V, SPAN = LEAD + (PIXELS - 1) * G::SW + (TAPS - 1) * G::DW + 1,
    APART = SPAN > 64, /* the image's numbers are read one by one, where taps need them */
    VECTORS = (SPAN + V - 1) / V, MOVE = PIXELS * G::SW / V, KEPT = VECTORS > MOVE ? VECTORS - MOVE : 0,
    COPIERS = UNITS * 32 < THREADS ? THREADS : 32, /* threads that copy a unit */
    FILLED = (UNITS * (IMAGE + DY) + BEFORE + BEHIND) / QUADS /* vectors of shared memory */
  };
  /* images of a chunk, or rows of one */
  template <typename R> INL_MEMBER int images(const R &size) { return size.CHUNK < size.OH * size.OW ? 1 : size.CHUNK / (size.OH * size.OW); }
  template <typename R> INL_MEMBER int rows(const R &size) { return size.CHUNK < size.OH * size.OW ? size.CHUNK / size.OW : (int)size.OH; }
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

  /* Rows `first` and more of a plane whose rows are ROW apart in memory, those in [0, end) `width` long, to rows TO apart, whose
     ends are zeros already; zeros for other rows. */
  template <typename X, int EACH_COPY, int ROW, int TO>
  INL_MEMBER void copy(T *rows, const typename X::Stored *plane, int first, int lines, int end, int width, int thread) {
    enum { PER_LINE = ROW / EACH_COPY };
#pragma unroll 4
    for (int e = thread; e < lines * PER_LINE; e += COPIERS) {
      const int at = (first * PER_LINE + e) * EACH_COPY, over = e / PER_LINE;
      T *const to = rows + e * EACH_COPY + over * (TO - ROW);
      int left = EACH_COPY;
      if (width < ROW) left = smaller(width - (e - over * PER_LINE) * EACH_COPY, EACH_COPY);
      if (left < 0 || (uint32_t)(first * PER_LINE + e) >= (uint32_t)(end * PER_LINE)) left = 0;
      const typename X::Stored *const from = plane + (left > 0 ? at : 0);
      if (ASYNC) {
        async_copy<EACH_COPY * (int)sizeof(T)>(to, from, left * (int)sizeof(T));
      } else {
        Vec<T, EACH_COPY> x;
        if (EACH_COPY > 1 && left == EACH_COPY) {
          const Vec<typename X::Stored, EACH_COPY> whole = *(const Vec<typename X::Stored, EACH_COPY> *)from;
#pragma unroll
          for (int l = 0; l < EACH_COPY; l++) x.at[l] = X::get(whole.at[l]);
        } else {
#pragma unroll
          for (int l = 0; l < EACH_COPY; l++) x.at[l] = l < left ? (T)X::get(from[l]) : (T)0;
        }
        *(Vec<T, EACH_COPY> *)to = x;
      }
    }
  }
  /* A slab of all units, by all threads. */
  template <typename R>
  INL_MEMBER void load(T *xs, T *ds, const typename A::Stored *dy, const typename B::Stored *image, int first, int all, int before, int at,
                       int slab, const R &size) {
    const int thread = (int)threadIdx.x % COPIERS;
#pragma unroll 1
    for (int v = (int)threadIdx.x / COPIERS; v < UNITS; v += THREADS / COPIERS) {
      const Part p = part(first + v, all, before, at, slab, size);
      const bool in = p.y < p.end;
      const I plane = in ? (I)p.n * G::CIN + p.channel / G::GOUT : 0, result = in ? (I)p.n * G::COUT + p.channel : 0;
      copy<B, COPY, G::W, PITCH>(xs + v * IMAGE, image + plane * (G::H * G::W), p.y * G::SH - G::PH, LINES, in ? (int)size.H : 0, (int)size.W,
                                 thread);
      copy<A, COPY_DY, G::OW, PITCH_DY>(ds + v * DY, dy + result * (G::OH * G::OW), p.y, SLAB, p.end, (int)size.OW, thread);
    }
    if (ASYNC) {
      async_commit();
      async_wait<0>();
    }
    block_sync();
  }

  /* Adds PIXELS of a row from j on. EDGE: some of them, or of their taps, may lie beside the row or the image. */
  template <bool EDGE, typename R> INL_MEMBER void add(T (&acc)[TAPS], const T *x, const T (&v)[VECTORS * V], const T *d, int j, const R &size) {
    T dv[PIXELS];
#pragma unroll
    for (int i = 0; i < PIXELS; i += QUADS) {
      const Vec<T, QUADS> four = *(const Vec<T, QUADS> *)(d + j + i);
#pragma unroll
      for (int l = 0; l < QUADS; l++) dv[i + l] = four.at[l];
    }
#pragma unroll
    for (int p = 0; p < PIXELS; p++) {
      if (EDGE && j + p >= size.OW) break;
#pragma unroll
      for (int k = 0; k < TAPS; k++) {
        const int at = LEAD + p * G::SW + k * G::DW;
        const uint32_t on = !EDGE || (uint32_t)((j + p) * G::SW + column(k) * G::DW - G::PW) < (uint32_t)size.W;
        if (!has(k)) continue;
        const T number = APART ? (on ? x[j * G::SW + at] : (T)0) : v[at];
        if (EDGE)
          fma_where(on, dv[p], number, acc[k]);
        else
          acc[k] = gemm_fma(dv[p], number, acc[k]);
      }
    }
  }
  /* A row: x begins LEAD before the image's number under the thread's first tap of pixel 0. */
  template <typename R> INL_MEMBER void add_row(T (&acc)[TAPS], const T *x, const T *d, const R &size) {
    T v[VECTORS * V];
#pragma unroll
    for (int i = 0; i < VECTORS * V; i++) v[i] = 0;
#pragma unroll
    for (int i = 0; i < KEPT && !APART; i++) {
      const Vec<T, V> part = *(const Vec<T, V> *)(x + i * V);
#pragma unroll
      for (int l = 0; l < V; l++) v[i * V + l] = part.at[l];
    }
#pragma unroll 2
    for (int j = 0; j < size.OW; j += PIXELS) {
#pragma unroll
      for (int i = KEPT; i < VECTORS && !APART; i++) {
        const Vec<T, V> part = *(const Vec<T, V> *)(x + j * G::SW + i * V);
#pragma unroll
        for (int l = 0; l < V; l++) v[i * V + l] = part.at[l];
      }
      if (j * G::SW >= G::PW && j + PIXELS <= size.OW && (j + PIXELS - 1) * G::SW + (G::KW - 1) * G::DW - G::PW < size.W)
        add<false>(acc, x, v, d, j, size);
      else
        add<true>(acc, x, v, d, j, size);
#pragma unroll
      for (int i = 0; i < KEPT * V && !APART; i++) v[i] = v[i + MOVE * V];
    }
  }

  /* acc: the sums of this thread's unit, of `all` from `first` on, over its chunk */
  template <typename R>
  INL_MEMBER void run(T (&acc)[TAPS], char *smem, const typename A::Stored *dy, const typename B::Stored *image, int first, int all,
                      int before, const R &size) {
    T *const xs = (T *)smem + BEFORE, *const ds = xs + UNITS * IMAGE + BEHIND;
    const int u = unit();
#pragma unroll
    for (int k = 0; k < TAPS; k++) acc[k] = 0;
#pragma unroll 1
    for (int e = (int)threadIdx.x; e < FILLED; e += THREADS) {
      Vec<T, QUADS> none;
#pragma unroll
      for (int l = 0; l < QUADS; l++) none.at[l] = 0;
      *(Vec<T, QUADS> *)((T *)smem + e * QUADS) = none;
    }
    block_sync();
#pragma unroll 1
    for (int at = 0; at < images(size); at++)
#pragma unroll 1
      for (int slab = 0; slab < rows(size); slab += SLAB) {
        if (at + slab > 0) block_sync();
        load(xs, ds, dy, image, first, all, before, at, slab, size);
        if (u >= UNITS) continue;
        const Part p = part(first + u, all, before, at, slab, size);
#pragma unroll 1
        for (int y = p.y; y < p.end; y++) {
          const int line = y * G::SH - G::PH + row() * G::DH;
          if (line < 0 || line >= size.H) continue;
          const T *const x = xs + u * IMAGE + ((y - p.y) * G::SH + row() * G::DH) * PITCH + column(0) * G::DW - G::PW - LEAD;
          add_row(acc, x, ds + u * DY + (y - p.y) * PITCH_DY, size);
        }
      }
  }
};

/* section DepthwiseConv: ConvPixel */
/* A depthwise convolution, or BACK its gradient with respect to the image if strides are 1 and a channel has one filter,
   exactly: the order of taps is ConvTile's. A block has SLAB rows of UNITS planes of the result, a thread DOWN rows of
   ACROSS columns at a time. The rows of the source under them lie in shared memory, and a number is read once for all results
   of a thread, in vectors of V. Those of the padding are zeros there, which are read, but not added.
   A, B: converters of filters and of the source. COPY: elements of a load from memory; PITCH: elements in shared memory of a
   source's row, IMAGE: of a plane's, FILTER: of a filter's taps; BEFORE, BEHIND: that are read in front of the first plane, and
   behind the last one. */
template <typename G, typename I, typename T, typename A, typename B, bool BACK, int THREADS, int UNITS, int SLAB, int DOWN, int ACROSS,
          int V, int COPY, int PITCH, int IMAGE, int FILTER, int BEFORE, int BEHIND>
struct DepthwiseConv {
  enum {
    ROWS = BACK ? G::H : G::OH, COLS = BACK ? G::W : G::OW, CHANNELS = BACK ? G::CIN : G::COUT,
    SOURCE_ROWS = BACK ? G::OH : G::H, SOURCE_COLS = BACK ? G::OW : G::W, SOURCES = BACK ? G::COUT : G::CIN,
    SH = BACK ? 1 : G::SH, SW = BACK ? 1 : G::SW, TAPS = G::KH * G::KW, HIGH = (G::KH - 1) * G::DH, WIDE = (G::KW - 1) * G::DW,
    SLABS = (ROWS + SLAB - 1) / SLAB, GROUPS = SLAB / DOWN, LINES = (DOWN - 1) * SH + HIGH + 1, QUADS = 16 / sizeof(T),
    LEFT = BACK ? WIDE - G::PW : (G::PW + SW - 1) / SW, FIRST = LEFT < 0 ? 0 : (LEFT + ACROSS - 1) / ACROSS,
    COLUMN = BACK ? G::PW - WIDE : -G::PW, /* of the source, under the first tap of column 0 */
    LEAD = (COLUMN % V + V) % V, SPAN = LEAD + (ACROSS - 1) * SW + WIDE + 1, VECTORS = (SPAN + V - 1) / V, /* of a line */
    STEP = ACROSS > 1 ? 1 : G::DW /* columns between those that taps have */
  };
  /* Of a run. */
  template <typename R> INL_MEMBER int rows(const R &size) { return BACK ? (int)size.H : (int)size.OH; }
  template <typename R> INL_MEMBER int cols(const R &size) { return BACK ? (int)size.W : (int)size.OW; }
  template <typename R> INL_MEMBER int source_rows(const R &size) { return BACK ? (int)size.OH : (int)size.H; }
  template <typename R> INL_MEMBER int source_cols(const R &size) { return BACK ? (int)size.OW : (int)size.W; }
  /* columns in ACROSSes; those whose taps all lie on the source: [from, from + inner) */
  template <typename R> INL_MEMBER int strips(const R &size) { return (cols(size) + ACROSS - 1) / ACROSS; }
  template <typename R> INL_MEMBER int from(const R &size) { return smaller((int)FIRST, strips(size)); }
  template <typename R> INL_MEMBER int inner(const R &size) {
    const int reach = source_cols(size) - 1 + G::PW - WIDE, right = BACK ? (int)size.OW - G::PW : reach < 0 ? 0 : reach / SW + 1;
    const int to = smaller(right, cols(size)) / ACROSS;
    return to < from(size) ? 0 : to - from(size);
  }
  /* rows that a thread does at a time, over each other in a block, which has some */
  template <typename R> INL_MEMBER int groups(int block, const R &size) {
    const bool whole = (int)ROWS % SLAB == 0 && rows(size) == (int)ROWS;
    return whole ? (int)GROUPS : smaller((rows(size) - slab(block) + DOWN - 1) / DOWN, (int)GROUPS);
  }
  template <typename R> INL_MEMBER int tasks(int block, const R &size) { return UNITS * groups(block, size) * strips(size); }
  template <typename R> INL_MEMBER bool behind(int block, const R &size) { return first(block) / CHANNELS >= size.N || slab(block) >= rows(size); }
  struct Task { /* rows from y on of columns from x on; `in`: there are some */
    int unit, n, channel, y, x, line; /* line: of the slab's source rows, under y */
    bool in, inner;                   /* inner: of all of a warp's tasks no tap lies in the padding's columns */
  };
  /* Of a block, which the kernel names: of several launches in one it is that of its part. */
  INL_MEMBER int slab(int block) { return block % SLABS * SLAB; }
  INL_MEMBER int first(int block) { return block / SLABS * UNITS; }
  INL_MEMBER int top(int y) { return BACK ? y + G::PH - HIGH : y * SH - G::PH; } /* row under the first line */

  /* Those of columns in the middle come first, so that few warps have both. */
  template <typename R> INL_MEMBER Task task(int block, int t, const R &size) {
    Task of;
    const int high = groups(block, size), middle = inner(size), inners = UNITS * high * middle;
    of.inner = smaller(t | 31, tasks(block, size) - 1) < inners;
    int strip, over; /* by numbers that are constants of most programs */
    if (t < inners) {
      strip = from(size) + t % middle, over = t / middle;
    } else {
      const int ends = strips(size) - middle, at = t - inners;
      strip = at % ends, over = at / ends;
      if (strip >= from(size)) strip += middle;
    }
    of.x = strip * ACROSS;
    of.unit = over / high;
    const int down = over % high * DOWN, plane = first(block) + of.unit;
    of.n = plane / CHANNELS, of.channel = plane % CHANNELS;
    of.y = slab(block) + down, of.line = down * SH;
    of.in = of.n < size.N && of.y < rows(size);
    return of;
  }

  INL_MEMBER T *images(T *smem) { return smem + UNITS * FILTER + BEFORE; }
  /* COPY numbers of the planes in shared memory; zeros beside the source. Rows of programs without extents end with a copy. */
  template <typename R> INL_MEMBER Vec<T, COPY> read(const typename B::Stored *source, int own, int above, int e, const R &size) {
    enum { PER_LINE = PITCH / COPY, COPIES = IMAGE / COPY };
    const bool dense = (int)PITCH == (int)SOURCE_COLS && source_cols(size) == (int)SOURCE_COLS; /* rows follow each other */
    const int u = UNITS == 1 ? 0 : e / COPIES, at = e - u * COPIES;
    bool in = e < UNITS * COPIES && own + u < size.N * CHANNELS;
    int row = above, column = at * COPY;
    if (dense) {
      in = in && (uint32_t)(above * PER_LINE + at) < (uint32_t)(source_rows(size) * PER_LINE);
    } else {
      row += at / PER_LINE, column = at % PER_LINE * COPY;
      in = in && row >= 0 && row < source_rows(size);
    }
    const int left = !in ? 0 : dense ? (int)COPY : source_cols(size) - column;
    const typename B::Stored *const from =
        source + (I)((own + u) / (CHANNELS / SOURCES)) * (SOURCE_ROWS * SOURCE_COLS) + (row * SOURCE_COLS + column);
    Vec<T, COPY> x;
#pragma unroll
    for (int l = 0; l < COPY; l++) x.at[l] = 0;
    if (left >= COPY) {
      const Vec<typename B::Stored, COPY> all = *(const Vec<typename B::Stored, COPY> *)from;
#pragma unroll
      for (int l = 0; l < COPY; l++) x.at[l] = B::get(all.at[l]);
    } else if (source_cols(size) % COPY != 0) {
#pragma unroll
      for (int l = 0; l < COPY; l++)
        if (l < left) x.at[l] = B::get(from[l]);
    }
    return x;
  }
  INL_MEMBER T filter(const typename A::Stored *filters, int own, int e) { /* zeros behind the taps */
    const int tap = e % FILTER, u = e / FILTER;
    T w = 0;
    if (u < UNITS && tap < TAPS) w = A::get(filters[(own + u) % CHANNELS * TAPS + tap]);
    return w;
  }
  /* All threads. */
  template <typename R>
  INL_MEMBER void load(T *smem, int block, const typename A::Stored *filters, const typename B::Stored *source, const R &size) {
    enum { COPIES = UNITS * IMAGE / COPY, AT_ONCE = 4 };
    const int own = first(block), above = top(slab(block));
    T *const x = images(smem);
    T w = filter(filters, own, (int)threadIdx.x); /* comes while the planes do */
#pragma unroll 1
    for (int e = (int)threadIdx.x; e < COPIES; e += AT_ONCE * THREADS) {
      Vec<T, COPY> v[AT_ONCE];
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++) v[i] = read(source, own, above, e + i * THREADS, size);
#pragma unroll
      for (int i = 0; i < AT_ONCE; i++)
        if (e + i * THREADS < COPIES) *(Vec<T, COPY> *)(x + (e + i * THREADS) * COPY) = v[i];
    }
#pragma unroll 1
    for (int e = (int)threadIdx.x; e < UNITS * FILTER; e += THREADS) {
      smem[e] = w;
      w = filter(filters, own, e + THREADS);
    }
#pragma unroll 1
    for (int e = (int)threadIdx.x; e < BEFORE + BEHIND; e += THREADS) x[e < BEFORE ? e - BEFORE : UNITS * IMAGE + e - BEFORE] = 0;
    block_sync();
  }

  /* x: the first line under the thread's results, from column `column` of the source on */
  template <bool EDGE, typename R> INL_MEMBER void taps(T (&acc)[DOWN][ACROSS], const T *f, const T *x, int row, int column, const R &size) {
    T w[FILTER];
#pragma unroll
    for (int i = 0; i < FILTER; i += QUADS) {
      const Vec<T, QUADS> v = *(const Vec<T, QUADS> *)(f + i);
#pragma unroll
      for (int l = 0; l < QUADS; l++) w[i + l] = v.at[l];
    }
#pragma unroll
    for (int l = 0; l < LINES; l++) {
      const int line = BACK ? LINES - 1 - l : l;
      if (row + line < 0 || row + line >= source_rows(size)) continue;
      T v[VECTORS * V];
#pragma unroll
      for (int i = 0; i < VECTORS; i += STEP) {
        const Vec<T, V> part = *(const Vec<T, V> *)(x + line * PITCH + i * V);
#pragma unroll
        for (int k = 0; k < V; k++) v[i * V + k] = part.at[k];
      }
#pragma unroll
      for (int c = 0; c < SPAN - LEAD; c += STEP) {
        const int at = BACK ? SPAN - LEAD - 1 - c : c; /* from the first tap of the first column */
        const uint32_t on = !EDGE || (uint32_t)(column + LEAD + at) < (uint32_t)source_cols(size);
#pragma unroll
        for (int p = 0; p < DOWN; p++) {
          const int tap = line - p * SH, r = BACK ? G::KH - 1 - tap / G::DH : tap / G::DH;
          if (tap < 0 || tap > HIGH || tap % G::DH != 0) continue;
#pragma unroll
          for (int q = 0; q < ACROSS; q++) {
            const int side = at - q * SW, s = BACK ? G::KW - 1 - side / G::DW : side / G::DW;
            if (side < 0 || side > WIDE || side % G::DW != 0) continue;
            if (EDGE)
              fma_where(on, w[r * G::KW + s], v[LEAD + at], acc[p][q]);
            else
              acc[p][q] = gemm_fma(w[r * G::KW + s], v[LEAD + at], acc[p][q]);
          }
        }
      }
    }
  }
  template <typename R> INL_MEMBER void sum(T (&acc)[DOWN][ACROSS], T *smem, const Task &of, const R &size) {
    const int column = of.x * SW + COLUMN - LEAD;
    const T *const f = smem + of.unit * FILTER, *const x = images(smem) + of.unit * IMAGE + of.line * PITCH + column;
#pragma unroll
    for (int p = 0; p < DOWN; p++)
#pragma unroll
      for (int q = 0; q < ACROSS; q++) acc[p][q] = 0;
    if (of.inner)
      taps<false>(acc, f, x, top(of.y), column, size);
    else
      taps<true>(acc, f, x, top(of.y), column, size);
  }
};
