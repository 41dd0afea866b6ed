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
/* Where a tap reads, in places from the result's: `plane` is the source's phase. False: no pixel of the result's phase
   has the tap. F: as of WgmmaConv. */
template <typename G, typename F> struct FlatForward {
  INL_MEMBER bool tap(int phase, int tap, int &at, int &plane) {
    const int y = tap / G::KW * G::DH - G::PH, x = tap % G::KW * G::DW - G::PW;
    const int down = (y + G::PH * G::SH) / G::SH - G::PH, right = (x + G::PW * G::SW) / G::SW - G::PW;
    at = down * F::PITCH + right;
    plane = (F::PLANES_H > 1 ? y - down * G::SH : 0) * F::PLANES_W + (F::PLANES_W > 1 ? x - right * G::SW : 0);
    return true;
  }
};
template <typename G, typename F> struct FlatInputGrad {
  INL_MEMBER bool tap(int phase, int tap, int &at, int &plane) {
    const int y = phase / F::PHASES_W + G::PH - tap / G::KW * G::DH, x = phase % F::PHASES_W + G::PW - tap % G::KW * G::DW;
    at = y / G::SH * F::PITCH + x / G::SW;
    plane = 0;
    return y % G::SH == 0 && x % G::SW == 0;
  }
};
/* section WgmmaConv */
/* C: ConvForward, ConvPatches or ConvInputGrad; T: FlatForward or FlatInputGrad. F: what the printer knows of the numbers: PITCH and
   ROWS, places of a row and rows of an image; FIRST: from a result to its first tap; SPAN: from there to its last one;
   STEP_H, STEP_W: pixels of the source from one place to the next; PLANES_H, PLANES_W: its phases, or, where there is
   one, PHASE_H, PHASE_W; PHASES_H, PHASES_W: those of the result. */
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
    PIXELS = COLUMNS * GROUPS / ROWS, PLACES = C::IMAGES * F::ROWS * F::PITCH, /* of a tile, of all images */
    HALO = PIXELS + F::SPAN, PLANE = OCTETS * HALO * UNIT, GATHERED = F::PLANES_H * F::PLANES_W * HALO,
    SIDE_BYTES = OCTETS * SIDE * UNIT, IMAGE = OCTETS * GATHERED * UNIT, FILTER = ROWS * SIDE_BYTES, /* bytes */
    DOWN = (C::M + ROWS * SIDE - 1) / (ROWS * SIDE), ACROSS = (PLACES + PIXELS - 1) / PIXELS,
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
  /* Do all of its pixels lie behind so many images? */
  INL_MEMBER bool behind(const Part &of, int images) { return of.f0 >= images * (F::ROWS * F::PITCH); }

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
  INL_MEMBER int k_tiles(int phase) {
    if (PHASES == 1) return K_TILES;
    bool any = false;
    int at, plane;
    for (int tap = 0; tap < TAPS; tap++) any |= T::tap(phase, tap, at, plane);
    return any ? K_TILES : 0;
  }

  /* The first warp of the last warpgroup. */
  INL_MEMBER void copy(char *smem, Barriers &b, const Stored *packed, int images) {
    if (threadIdx.x % WARP != 0) return;
    FilterPlace p = {0, 0};
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < TILES; t += (int)gridDim.x) {
      const Part of = tile_at(t);
      if (behind(of, images)) continue;
#pragma unroll 1
      for (int k = 0; k < K_TILES; k++)
#pragma unroll 1
        for (int tap = 0; tap < TAPS; tap++) {
          int at, plane;
          if (!T::tap(of.phase, tap, at, plane)) continue;
          const I part = ((I)(of.group * TAPS + tap) * K_TILES + k) * (DOWN * ROWS) + of.m0 / SIDE;
          mbarrier_wait(b.filter_empty + p.stage, p.parity ^ 1);
          mbarrier_expect(b.filter_full + p.stage, FILTER);
          bulk_copy(smem + FILTERS_AT + p.stage * FILTER, packed + part * (SIDE_BYTES / (int)sizeof(Stored)), FILTER, b.filter_full + p.stage);
          p.step();
        }
    }
  }

  /* Where a plane's pixel with such a number lies in a group's first channel; is there one? */
  INL_MEMBER bool pixel_at(int f, int plane, int group, int images, I &at) {
    const int n = f / (F::ROWS * F::PITCH), y = f / F::PITCH % F::ROWS, x = f % F::PITCH;
    const int row = y * F::STEP_H + (F::PLANES_H > 1 ? plane / F::PLANES_W : F::PHASE_H);
    const int col = x * F::STEP_W + (F::PLANES_W > 1 ? plane % F::PLANES_W : F::PHASE_W);
    at = C::pixel(n, group, 0, row, col);
    return f >= 0 && n < images && row < C::SOURCE_ROWS && col < C::SOURCE_COLS;
  }
  /* The last warpgroup's other warps. */
  INL_MEMBER void gather(char *smem, Barriers &b, const Stored *image, int images) {
    const int thread = (int)threadIdx.x - GATHER;
    ImagePlace p = {0, 0};
#pragma unroll 1
    for (int t = (int)blockIdx.x; t < TILES; t += (int)gridDim.x) {
      const Part of = tile_at(t);
      if (behind(of, images)) continue;
      const int tiles = k_tiles(of.phase);
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
            if (!pixel_at(of.f0 + F::FIRST + e % HALO, e / HALO, of.group, images, at) || e >= GATHERED) continue;
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
  INL_MEMBER void gather_patches(char *smem, Barriers &b, const Stored *image, int images) {
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
      if (behind(of, images)) continue;
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
          const bool in = pixel_at(of.f0 + e, 0, of.group, images, at);
          const Stored *from = in ? image + at : image;
#pragma unroll
          for (int i = 0; i < STEPS; i++)
            async_copy<BYTES>(to + (i * 2 * HALO + e) * UNIT, from + channel[i], in && has[i] ? BYTES : 0);
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
  INL_MEMBER void multiply(f32 (&c)[2][COLUMNS / 4], char *smem, Barriers &b, const Part &of, ImagePlace &pi, FilterPlace &pf) {
    const int group = (int)threadIdx.x / GROUP, tiles = k_tiles(of.phase);
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
        if (!T::tap(of.phase, tap, at, plane)) continue;
        const uint64_t left = filters + (uint32_t)(pf.stage * (FILTER / UNIT));
        const uint64_t right = pixels + (uint32_t)((pi.stage * IMAGE + plane * PLANE) / UNIT + at - F::FIRST);
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
  INL_MEMBER ConvPixel pixel(const Part &of, int chunk) {
    const int column = chunk * CHUNK + (int)threadIdx.x % WARP;
    const int f = of.f0 + (ROWS > 1 ? 0 : (int)threadIdx.x / GROUP * COLUMNS) + column;
    const int y = f / F::PITCH % F::ROWS * F::PHASES_H + of.phase / F::PHASES_W, x = f % F::PITCH * F::PHASES_W + of.phase % F::PHASES_W;
    const ConvPixel is = {f / (F::ROWS * F::PITCH), y, x, column < COLUMNS && f < PLACES && y < C::ROWS && x < C::COLS};
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
