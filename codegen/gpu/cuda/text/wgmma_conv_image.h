/* Convolutions and their gradients with respect to the image on the tensor cores of sm_90a: for each tap a product of
   filters by pixels, whose depth is the channels. Operands of 2 bytes, sums in f32. Pixels are numbered with gaps
   (codegen/schedule/flat.h), so that one k-tile of the image in shared memory, of DEPTH channels, serves all taps: a
   tap's operand begins at another pixel of it. Of the last warpgroup the first warp copies k-tiles of filters, of one
   tap each, into a ring of FILTERS; the others gather those of the image into a ring of IMAGES. Two warpgroups multiply
   (wgmma), COLUMNS pixels each of 64 channels of the result: of the same ones, or, with ROWS of 2, of the next 64 for the
   same pixels. Two mbarriers a stage say when it is full and when every warp has read it. Blocks go from tile to tile.
   Contract: as TensorConv's; WgmmaConvPack has put the filters in order before, in another launch.

   In shared memory eight channels of a pixel, or of a filter, are a unit of 16 bytes; units of the same channels lie in the order
   of pixels, or of the result's channels. */
/* section FlatForward FlatInputGrad */
/* Where a tap reads, in places from the first of a plane for the result: `plane` is the source's phase, or, BY_ROWS, the
   filter's row with its phase. False: no pixel of the result's phase has the tap. F: as of WgmmaConv. R: the sizes of the run.
   first: of a plane's places, from the result's; phase_row: of its rows. */
template <typename G, typename F> struct FlatForward {
  INL_MEMBER int top(int r) { return r * G::DH - G::PH; } /* a filter's row, in rows of the source */
  INL_MEMBER int down(int r) { return (top(r) + G::PH * G::SH) / G::SH - G::PH; }
  INL_MEMBER int phase_of(int r) { return F::PLANES_H > 1 ? top(r) - down(r) * G::SH : (int)F::PHASE_H; }
  INL_MEMBER bool tap(const F &f, int phase, int tap, int &at, int &plane) {
    const int r = tap / G::KW, x = tap % G::KW * G::DW - G::PW, right = (x + G::PW * G::SW) / G::SW - G::PW;
    at = (F::BY_ROWS ? 0 : (down(r) - F::FIRST_H) * f.PITCH) + right - F::FIRST_W;
    plane = (F::BY_ROWS ? r : F::PLANES_H > 1 ? phase_of(r) : 0) * F::PLANES_W + (F::PLANES_W > 1 ? x - right * G::SW : 0);
    return true;
  }
  INL_MEMBER int first(const F &f, int phase, int plane) {
    return (F::BY_ROWS ? down(plane / F::PLANES_W) : (int)F::FIRST_H) * f.PITCH + F::FIRST_W;
  }
  INL_MEMBER int phase_row(int plane) {
    return F::BY_ROWS ? phase_of(plane / F::PLANES_W) : F::PLANES_H > 1 ? plane / F::PLANES_W : (int)F::PHASE_H;
  }
};
template <typename G, typename F> struct FlatInputGrad {
  INL_MEMBER int top(int phase, int r) { return phase / F::PHASES_W + G::PH - r * G::DH; }
  INL_MEMBER bool tap(const F &f, int phase, int tap, int &at, int &plane) {
    const int r = tap / G::KW, y = top(phase, r), x = phase % F::PHASES_W + G::PW - tap % G::KW * G::DW;
    at = (F::BY_ROWS ? 0 : (y / G::SH - F::FIRST_H) * f.PITCH) + x / G::SW - F::FIRST_W;
    plane = F::BY_ROWS ? r : 0;
    return y % G::SH == 0 && x % G::SW == 0;
  }
  INL_MEMBER int first(const F &f, int phase, int plane) {
    return (F::BY_ROWS ? top(phase, plane) / G::SH : (int)F::FIRST_H) * f.PITCH + F::FIRST_W;
  }
  INL_MEMBER int phase_row(int plane) { return F::PHASE_H; }
};
/* section WgmmaConv */
/* C: ConvForward, ConvPatches or ConvInputGrad; T: FlatForward or FlatInputGrad. F: what the printer knows of the numbers: PITCH and
   ROWS, places of a row and rows of an image, which the run may decide; FIRST_H, FIRST_W: rows and places from a result to its
   first tap; SPAN: places that a tile reads in a plane behind those of its pixels, of which a run's taps reach REACH; STEP_H,
   STEP_W: pixels of the source from one place to the next; PLANES_H, PLANES_W: its phases, or, where there is one, PHASE_H,
   PHASE_W; BY_ROWS: a plane for each row of the filter; PLANES: all; PHASES_H, PHASES_W: those of the result. */
template <typename C, typename T, typename G, typename F, typename I, typename E, int ROWS, int COLUMNS, int DEPTH, int IMAGES,
          int FILTERS>
struct WgmmaConv {
  typedef typename E::Stored Stored;
  typedef RingPlace<IMAGES> ImagePlace;
  typedef RingPlace<FILTERS> FilterPlace;
  enum {
    SIDE = 64, UNIT = 16, EIGHT = 8, WARP = 32,
    GROUP = 128, GROUPS = 2, COPY = GROUP * GROUPS, GATHER = COPY + WARP, GATHERERS = GROUP - WARP, /* threads; the first that copies, that gathers */
    TAPS = C::KH * C::KW, OCTETS = DEPTH / EIGHT, K_TILES = (C::CHANNELS + DEPTH - 1) / DEPTH, AT_ONCE = SIDE / DEPTH,
    PIXELS = COLUMNS * GROUPS / ROWS, /* of a tile */
    HALO = PIXELS + F::SPAN, PLANE = OCTETS * HALO * UNIT, GATHERED = F::PLANES * HALO,
    SIDE_BYTES = OCTETS * SIDE * UNIT, IMAGE = OCTETS * GATHERED * UNIT, FILTER = ROWS * SIDE_BYTES, /* bytes */
    DOWN = (C::M + ROWS * SIDE - 1) / (ROWS * SIDE), ACROSS = (F::PLACES + PIXELS - 1) / PIXELS,
    PHASES = F::PHASES_H * F::PHASES_W, TILES = G::CIN / G::GIN * PHASES * DOWN * ACROSS,
    LINE = 40, OWN = 16 * LINE, CHUNK = 32, CHUNKS = (COLUMNS + CHUNK - 1) / CHUNK, /* of a warp's results on their way to memory */
    FILTERS_AT = IMAGES * IMAGE, RESULTS_AT = FILTERS_AT + FILTERS * FILTER
  };
  struct __align__(16) Octet { Stored at[EIGHT]; };
  struct Barriers { uint64_t image_full[IMAGES], image_empty[IMAGES], filter_full[FILTERS], filter_empty[FILTERS]; };
  struct Part { int group, phase, m0, f0; };

  /* Blocks that run at the same time read the same pixels. */
  INL_MEMBER Part tile_at(int t) {
    const Part of = {t / (PHASES * DOWN * ACROSS), t / (DOWN * ACROSS) % PHASES, t % DOWN * (ROWS * SIDE), t / DOWN % ACROSS * PIXELS};
    return of;
  }
  /* Do all of its pixels lie behind the run's images? */
  template <typename R> INL_MEMBER bool behind(const Part &of, const F &f, const R &size) { return of.f0 >= size.N * (f.ROWS * f.PITCH); }

  /* All threads of the block. */
  INL_MEMBER void start(Barriers &b) {
    if (threadIdx.x == 0) {
      for (int i = 0; i < IMAGES; i++) {
        mbarrier_init(b.image_full + i, GATHERERS);
        mbarrier_init(b.image_empty + i, COPY / WARP);
      }
      for (int i = 0; i < FILTERS; i++) {
        mbarrier_init(b.filter_full + i, 1);
        mbarrier_init(b.filter_empty + i, COPY / WARP);
      }
      mbarrier_fence();
    }
    block_sync();
  }

  /* Channels of a k-tile that a phase sums over: none, if it has no tap. */
  INL_MEMBER int k_tiles(const F &f, int phase) {
    if (PHASES == 1) return K_TILES;
    bool any = false;
    int at, plane;
    for (int tap = 0; tap < TAPS; tap++) any |= T::tap(f, phase, tap, at, plane);
    return any ? K_TILES : 0;
  }

  /* The first warp of the last warpgroup. */
  template <typename R> INL_MEMBER void copy(char *smem, Barriers &b, const Stored *packed, const F &f, const R &size) {
    if (threadIdx.x % WARP != 0) return;
    FilterPlace p = {0, 0};
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < TILES; t += (int)gridDim.x) {
      const Part of = tile_at(t);
      if (behind(of, f, size)) continue;
#pragma unroll 1
      for (int k = 0; k < K_TILES; k++)
#pragma unroll 1
        for (int tap = 0; tap < TAPS; tap++) {
          int at, plane;
          if (!T::tap(f, of.phase, tap, at, plane)) continue;
          const I part = ((I)(of.group * TAPS + tap) * K_TILES + k) * (DOWN * ROWS) + of.m0 / SIDE;
          mbarrier_wait(b.filter_empty + p.stage, p.parity ^ 1);
          mbarrier_expect(b.filter_full + p.stage, FILTER);
          bulk_copy(smem + FILTERS_AT + p.stage * FILTER, packed + part * (SIDE_BYTES / (int)sizeof(Stored)), FILTER, b.filter_full + p.stage);
          p.step();
        }
    }
  }

  /* Where a plane's pixel with such a number lies in a group's first channel; is there one? */
  template <typename R> INL_MEMBER bool pixel_at(int p, int plane, int group, const F &f, const R &size, I &at) {
    const int n = p / (f.ROWS * f.PITCH), y = p / f.PITCH % f.ROWS, x = p % f.PITCH;
    const int row = y * F::STEP_H + T::phase_row(plane);
    const int col = x * F::STEP_W + (F::PLANES_W > 1 ? plane % F::PLANES_W : (int)F::PHASE_W);
    at = C::pixel(n, group, 0, row, col);
    return p >= 0 && n < size.N && row < C::source_rows(size) && col < C::source_cols(size);
  }
  /* The last warpgroup's other warps. */
  template <typename R> INL_MEMBER void gather(char *smem, Barriers &b, const Stored *image, const F &f, const R &size) {
    const int thread = (int)threadIdx.x - GATHER;
    ImagePlace p = {0, 0};
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < TILES; t += (int)gridDim.x) {
      const Part of = tile_at(t);
      if (behind(of, f, size)) continue;
      const int tiles = k_tiles(f, of.phase);
#pragma unroll 1
      for (int k = 0; k < tiles; k++, p.step()) {
        char *stage = smem + p.stage * IMAGE;
        mbarrier_wait(b.image_empty + p.stage, p.parity ^ 1);
#pragma unroll 1
        for (int e0 = thread; e0 < GATHERED; e0 += GATHERERS * AT_ONCE) {
          Octet unit[AT_ONCE][OCTETS] = {};
#pragma unroll
          for (int q = 0; q < AT_ONCE; q++) { /* all loads are on their way at once */
            const int e = e0 + q * GATHERERS;
            I at;
            if (e >= GATHERED || e % HALO >= PIXELS + f.REACH) continue;
            if (!pixel_at(of.f0 + T::first(f, of.phase, e / HALO) + e % HALO, e / HALO, of.group, f, size, at)) continue;
            const Stored *from = image + (at + C::channel(k * DEPTH));
#pragma unroll
            for (int c = 0; c < DEPTH; c++)
              if (C::CHANNELS % DEPTH == 0 || k * DEPTH + c < C::CHANNELS) unit[q][c / EIGHT].at[c % EIGHT] = from[(I)c * C::SOURCE_AREA];
          }
#pragma unroll
          for (int q = 0; q < AT_ONCE; q++) {
            const int e = e0 + q * GATHERERS;
            if (e >= GATHERED) break;
#pragma unroll
            for (int o = 0; o < OCTETS; o++) *(Octet *)(stage + e / HALO * PLANE + (o * HALO + e % HALO) * UNIT) = unit[q][o];
          }
        }
        proxy_fence();
        mbarrier_arrive(b.image_full + p.stage);
      }
    }
  }

  /* The same of patches, without registers (cp.async): neighbouring lanes copy what lies side by side of two units of a
     pixel, then of the next pixel. Copies of BEHIND k-tiles are on their way before one is told of. */
  INL_MEMBER void copied(Barriers &b, ImagePlace &p) {
    proxy_fence();
    mbarrier_arrive(b.image_full + p.stage);
    p.step();
  }
  template <typename R> INL_MEMBER void gather_patches(char *smem, Barriers &b, const Stored *image, const F &f, const R &size) {
    enum {
      EACH = C::ALONG, BYTES = EACH * (int)sizeof(Stored), PIECES = 2 * EIGHT / EACH, AT_ONCE_P = GATHERERS / PIECES,
      STEPS = DEPTH / (2 * EIGHT), BEHIND = IMAGES / 2
    };
    const int thread = (int)threadIdx.x - GATHER, own = thread % PIECES * EACH, first = thread / PIECES;
    ImagePlace p = {0, 0}, full = {0, 0};
    int begun = 0; /* k-tiles that are not told of */
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < TILES; t += (int)gridDim.x) {
      const Part of = tile_at(t);
      if (behind(of, f, size)) continue;
#pragma unroll 1
      for (int k = 0; k < K_TILES; k++, p.step()) {
        I channel[STEPS];
        bool has[STEPS];
#pragma unroll
        for (int i = 0; i < STEPS; i++) {
          const int c = k * DEPTH + i * 2 * EIGHT + own;
          has[i] = C::CHANNELS % DEPTH == 0 || c < C::CHANNELS;
          channel[i] = has[i] ? C::channel(c) : 0;
        }
        char *to = smem + p.stage * IMAGE + own / EIGHT * (HALO * UNIT) + own % EIGHT * (int)sizeof(Stored);
        mbarrier_wait(b.image_empty + p.stage, p.parity ^ 1);
#pragma unroll 4
        for (int e = first; e < PIXELS; e += AT_ONCE_P) {
          I at;
          const bool in = pixel_at(of.f0 + e, 0, of.group, f, size, at);
          const Stored *from = in ? image + at : image;
#pragma unroll
          for (int i = 0; i < STEPS; i++)
            copy_some<BYTES>(to + (i * 2 * HALO + e) * UNIT, from + channel[i], in && has[i] ? BYTES : 0);
        }
        async_commit();
        if (begun++ < BEHIND) continue;
        async_wait<BEHIND>();
        copied(b, full);
        begun--;
      }
    }
    async_wait<0>();
    while (begun-- > 0) copied(b, full);
  }

  /* The others: c is the sums of a warpgroup's pixels. */
  INL_MEMBER void multiply(f32 (&c)[2][COLUMNS / 4], char *smem, Barriers &b, const Part &of, ImagePlace &pi, FilterPlace &pf, const F &f) {
    const int group = (int)threadIdx.x / GROUP, tiles = k_tiles(f, of.phase);
    const bool leads = threadIdx.x % WARP == 0;
    /* in the first stages; the address of a matrix counts units */
    const uint64_t filters = wgmma_units(smem + FILTERS_AT + (ROWS > 1 ? group * SIDE_BYTES : 0), SIDE * UNIT);
    const uint64_t pixels = wgmma_units(smem + (ROWS > 1 ? 0 : group * COLUMNS * UNIT), HALO * UNIT);
    uint64_t *image_read = nullptr, *filter_read = nullptr; /* by products that may not be done */
#pragma unroll 1
    for (int k = 0; k < tiles; k++, pi.step()) {
      mbarrier_wait(b.image_full + pi.stage, pi.parity);
#pragma unroll 1
      for (int tap = 0; tap < TAPS; tap++) {
        int at, plane;
        if (!T::tap(f, of.phase, tap, at, plane)) continue;
        const uint64_t left = filters + (uint32_t)(pf.stage * (FILTER / UNIT));
        const uint64_t right = pixels + (uint32_t)((pi.stage * IMAGE + plane * PLANE) / UNIT + at);
        mbarrier_wait(b.filter_full + pf.stage, pf.parity);
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < OCTETS; i += 2) /* 16 channels */
          E::template fma<0, 0>(c, left + (uint32_t)(i * SIDE), right + (uint32_t)(i * HALO), filter_read || i);
        wgmma_commit();
        wgmma_wait<1>();
        if (leads && filter_read) mbarrier_arrive(filter_read);
        if (leads && image_read) mbarrier_arrive(image_read);
        image_read = nullptr;
        filter_read = b.filter_empty + pf.stage;
        pf.step();
      }
      image_read = b.image_empty + pi.stage;
    }
    wgmma_wait<0>();
    if (leads && filter_read) mbarrier_arrive(filter_read);
    if (leads && image_read) mbarrier_arrive(image_read);
    if (filter_read) return;
#pragma unroll
    for (int j = 0; j < COLUMNS / 2; j++) c[j % 2][j / 2] = 0; /* no tap */
  }

  /* A warp's results on their way to memory: 16 channels of CHUNK pixels. */
  INL_MEMBER f32 *results(char *smem) { return (f32 *)(smem + RESULTS_AT) + (int)threadIdx.x / WARP * OWN; }
  INL_MEMBER void put(f32 *results, const f32 (&c)[2][COLUMNS / 4], int chunk) {
    const int lane = (int)threadIdx.x % WARP;
#pragma unroll
    for (int j = 0; j < CHUNK / 8; j++) {
      const int at = (chunk * CHUNK / 8 + j) * 2;
      if (at >= COLUMNS / 4) break;
#pragma unroll
      for (int r = 0; r < 2; r++) {
        const Vec<f32, 2> two = {{c[r][at], c[r][at + 1]}};
        *(Vec<f32, 2> *)(results + (lane / 4 + r * 8) * LINE + j * 8 + lane % 4 * 2) = two;
      }
    }
  }
  /* The result's channel of row r of them; the pixel of this lane; is there one? */
  INL_MEMBER int row(const Part &of, int r) {
    return of.m0 + (ROWS > 1 ? (int)threadIdx.x / GROUP * SIDE : 0) + (int)threadIdx.x % GROUP / WARP * 16 + r;
  }
  template <typename R> INL_MEMBER ConvPixel pixel(const Part &of, int chunk, const F &f, const R &size) {
    const int column = chunk * CHUNK + (int)threadIdx.x % WARP;
    const int p = of.f0 + (ROWS > 1 ? 0 : (int)threadIdx.x / GROUP * COLUMNS) + column;
    const int y = p / f.PITCH % f.ROWS * F::PHASES_H + of.phase / F::PHASES_W, x = p % f.PITCH * F::PHASES_W + of.phase % F::PHASES_W;
    const int n = p / (f.ROWS * f.PITCH);
    const ConvPixel is = {n, y, x, column < COLUMNS && n < size.N && y < C::result_rows(size) && x < C::result_cols(size)};
    return is;
  }
};
/* section WgmmaConvPack */
/* Puts filters in the order that WgmmaConv copies them in: k-tile by k-tile of each tap, of 64 channels of the result
   after another; what lies outside of them is zero. A block of 256 threads does a unit of 32 channels of the result, with all taps. ROUND: filters are f32. */
template <typename C, typename I, typename E, bool ROUND, int PARTS, int DEPTH> struct WgmmaConvPack {
  typedef typename E::Stored Stored;
  typedef typename FilterStored<ROUND, Stored>::Type Filter;
  enum {
    SIDE = 64, EIGHT = 8, ROWS = 32, THREADS = 256, TAPS = C::KH * C::KW, OCTETS = DEPTH / EIGHT,
    K_TILES = (C::CHANNELS + DEPTH - 1) / DEPTH, WEIGHTS = ROWS * EIGHT * TAPS,
    LINE = ROWS * EIGHT + EIGHT, SHARED = TAPS * LINE /* elements; rows of units that begin in other banks */
  };
  INL_MEMBER Stored stored(f32 x) { return (Stored)E::pack(x, 0); }
  INL_MEMBER Stored stored(Stored x) { return x; }
  INL_MEMBER void run(Stored *to, Stored (&shared)[SHARED], const Filter *filters) {
    const int octet = (int)blockIdx.x % (K_TILES * OCTETS), m0 = (int)blockIdx.x / (K_TILES * OCTETS) % (PARTS * 2) * ROWS;
    const int group = (int)blockIdx.x / (K_TILES * OCTETS * PARTS * 2);
#pragma unroll 16
    for (int e = (int)threadIdx.x; e < WEIGHTS; e += THREADS) { /* as they lie */
      const int tap = e % TAPS, m = C::FILTERS_IN_ORDER ? e / TAPS / EIGHT : e / TAPS % ROWS;
      const int c = C::FILTERS_IN_ORDER ? e / TAPS % EIGHT : e / TAPS / ROWS;
      const bool in = m0 + m < C::M && octet * EIGHT + c < C::CHANNELS;
      shared[tap * LINE + m * EIGHT + c] = in ? stored(filters[C::filter(group, m0 + m, octet * EIGHT + c, tap)]) : (Stored)0;
    }
    block_sync();
    for (int e = (int)threadIdx.x; e < ROWS * TAPS; e += THREADS) {
      const int tap = e / ROWS, m = e % ROWS;
      const I part = ((I)(group * TAPS + tap) * K_TILES + octet / OCTETS) * PARTS + (m0 + m) / SIDE;
      *(Vec<Stored, EIGHT> *)(to + ((part * OCTETS + octet % OCTETS) * SIDE + (m0 + m) % SIDE) * EIGHT) =
          *(const Vec<Stored, EIGHT> *)(shared + tap * LINE + m * EIGHT);
    }
  }
};
