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
    AREA = G::OH * G::OW, IMAGES = G::CHUNK < AREA ? 1 : G::CHUNK / AREA, /* of a chunk, or some rows of one */
    ROWS = G::CHUNK < AREA ? G::CHUNK / G::OW : G::OH, PER_IMAGE = (G::OH + ROWS - 1) / ROWS,
    GROUPS = (G::KW + TAPS - 1) / TAPS, EACH = G::KH * GROUPS, /* threads of a unit */
    UNDER = (G::KH - 1) * G::DH + 1,                           /* rows of the image under one of the result */
    /* columns whose taps all lie on the image: [FROM, TO) */
    REACH = G::W - 1 + G::PW - (G::KW - 1) * G::DW, LEFT = (G::PW + G::SW - 1) / G::SW, RIGHT = REACH < 0 ? 0 : REACH / G::SW + 1,
    FROM = LEFT < G::OW ? LEFT : G::OW, TO = RIGHT > G::OW ? G::OW : RIGHT < FROM ? FROM : RIGHT
  };
  INL_MEMBER int unit() { return (int)threadIdx.x / EACH; }
  INL_MEMBER int row() { return (int)threadIdx.x % EACH / GROUPS; }
  INL_MEMBER int column(int k) { return (int)threadIdx.x % GROUPS * TAPS + k; }
  INL_MEMBER bool has(int k) { return G::KW % TAPS == 0 || column(k) < G::KW; }

  /* Rows [y, end) of the result, of one image, that a unit has in a slab. */
  struct Part {
    int channel, n, y, end;
  };
  /* Of unit u; before: chunks that come before the block's first unit, of channel 0. */
  INL_MEMBER Part part(int u, int all, int before, int image, int slab, int images) {
    const int chunk = before + u / G::COUT;
    const int y0 = IMAGES > 1 ? 0 : chunk % PER_IMAGE * ROWS, y1 = smaller(y0 + ROWS, (int)G::OH);
    Part p = {u % G::COUT, IMAGES > 1 ? chunk * IMAGES + image : chunk / PER_IMAGE, y0 + slab, smaller(y0 + slab + SLAB, y1)};
    if (u >= all || p.n >= images) p.end = p.y;
    return p;
  }

  /* All threads; x, d: of the unit. */
  INL_MEMBER void load(T *x, T *d, const typename A::Stored *dy, const typename B::Stored *image, const Part &p) {
    if (p.y >= p.end) return;
    const typename A::Stored *const from = dy + (((I)p.n * G::COUT + p.channel) * G::OH + p.y) * G::OW;
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < (p.end - p.y) * G::OW; e += THREADS) d[e] = A::get(from[e]);
    const int top = p.y * G::SH - G::PH, first = top < 0 ? 0 : top;
    const int last = smaller((p.end - 1) * G::SH - G::PH + UNDER, (int)G::H);
    const typename B::Stored *const under = image + (((I)p.n * G::CIN + p.channel / G::GOUT) * G::H + first) * G::W;
#pragma unroll 4
    for (int e = (int)threadIdx.x; e < (last - first) * G::W; e += THREADS) x[(first - top + e / G::W) * PITCH + e % G::W] = B::get(under[e]);
  }

  template <int P> INL_MEMBER void add(T (&acc)[TAPS], const T *x, const T *d, int j) {
#pragma unroll
    for (int p = 0; p < P; p++)
#pragma unroll
      for (int k = 0; k < TAPS; k++)
        if (has(k)) acc[k] = gemm_fma(d[j + p], x[(j + p) * G::SW + k * G::DW], acc[k]);
  }
  /* Some taps of the pixel lie in the padding. */
  INL_MEMBER void add_inside(T (&acc)[TAPS], const T *x, const T *d, int j) {
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
      const int at = j * G::SW + column(k) * G::DW - G::PW;
      if (has(k) && at >= 0 && at < G::W) acc[k] = gemm_fma(d[j], x[j * G::SW + k * G::DW], acc[k]);
    }
  }

  /* acc: the sums of this thread's unit, of `all` from `first` on, over its chunk; of so many images */
  INL_MEMBER void run(T (&acc)[TAPS], char *smem, const typename A::Stored *dy, const typename B::Stored *image, int first, int all,
                      int before, int images = G::N) {
    T *const xs = (T *)smem, *const ds = xs + UNITS * IMAGE;
    const int u = unit();
#pragma unroll
    for (int k = 0; k < TAPS; k++) acc[k] = 0;
#pragma unroll 1
    for (int at = 0; at < IMAGES; at++)
#pragma unroll 1
      for (int slab = 0; slab < ROWS; slab += SLAB) {
        if (at + slab > 0) block_sync();
#pragma unroll 1
        for (int v = 0; v < UNITS; v++) load(xs + v * IMAGE, ds + v * DY, dy, image, part(first + v, all, before, at, slab, images));
        block_sync();
        if (u >= UNITS) continue;
        const Part p = part(first + u, all, before, at, slab, images);
#pragma unroll 1
        for (int y = p.y; y < p.end; y++) {
          const int from = y * G::SH - G::PH + row() * G::DH;
          if (from < 0 || from >= G::H) continue;
          const T *const d = ds + u * DY + (y - p.y) * G::OW;
          const T *const x = xs + u * IMAGE + ((y - p.y) * G::SH + row() * G::DH) * PITCH + column(0) * G::DW - G::PW;
          int j = 0;
#pragma unroll 1
          for (; j < FROM; j++) add_inside(acc, x, d, j);
#pragma unroll 1
          for (; j + 8 <= TO; j += 8) add<8>(acc, x, d, j);
#pragma unroll 1
          for (; j + 4 <= TO; j += 4) add<4>(acc, x, d, j);
#pragma unroll 1
          for (; j < G::OW; j++) add_inside(acc, x, d, j);
        }
      }
  }
};
