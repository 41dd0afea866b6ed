/* Gradients of convolutions with respect to filters on the tensor cores of sm_90a, where both operands can be copied as
   they lie: of patches (ConvPatches) and of one tap with a stride of 1. A product of filters by weights, whose depth is the
   pixels of all images. Operands of 2 bytes, sums in f32. K-tiles of DEPTH pixels go through a ring of STAGES: the last
   warpgroup copies them (cp.async), two others multiply (wgmma), COLUMNS weights each of 64 filters: of the same ones, or,
   with ROWS of 2, of the next 64 by the same weights. Two mbarriers a stage say when it is full and when every warp has
   read it.
   Contract: a block sums `chunk` pixels, in order, of which those of images behind the run's are left out; the sums of a part
   lie in scratch as filters do, and another launch adds those of all parts. BESIDE of a run's pixels, at multiples of it, lie
   side by side. R: the sizes of the run.

   In shared memory a unit of 16 bytes is eight pixels of a filter, or of a channel: units of the same pixels lie in the
   order of filters. Of patches it is eight weights of a pixel: units of the same weights lie in the order of pixels. */
/* section WgmmaCopiedFilter */
/* C: ConvForward or ConvPatches of G. A unit's copies are of BESIDE pixels, or of C::ALONG weights. */
template <typename C, typename G, typename I, typename E, int BESIDE, int ROWS, int COLUMNS, int DEPTH, int STAGES>
struct WgmmaCopiedFilter {
  typedef typename E::Stored Stored;
  typedef RingPlace<STAGES> Place;
  enum {
    SIDE = 64, UNIT = 16, EIGHT = 8, WARP = 32, GROUP = 128, GROUPS = 2, COPY = GROUP * GROUPS, /* COPY: the first thread that copies */
    AREA = G::OH * G::OW, PATCHES = C::PATCHES, OCTETS = DEPTH / EIGHT, BEHIND = STAGES / 2,
    FILTERS = ROWS * SIDE, WEIGHTS = COLUMNS * GROUPS / ROWS,
    LINE = FILTERS + 1, RIGHT_LINE = PATCHES ? DEPTH + 4 : WEIGHTS + 1, /* units; the next lines begin in other banks */
    RIGHT = OCTETS * LINE * UNIT, STAGE = RIGHT + (PATCHES ? WEIGHTS / EIGHT : (int)OCTETS) * RIGHT_LINE * UNIT /* bytes */
  };

  /* All threads of the block. */
  INL_MEMBER void start(uint64_t *full, uint64_t *empty) {
    if (threadIdx.x == 0) {
      for (int i = 0; i < STAGES; i++) {
        mbarrier_init(full + i, GROUP);
        mbarrier_init(empty + i, COPY / WARP);
      }
      mbarrier_fence();
    }
    block_sync();
  }
  template <typename R> INL_MEMBER int end_of(int part, int chunk, const R &size) {
    return smaller((part + 1) * chunk, size.N * size.OH * size.OW);
  }
  /* where a pixel of the run's results lies in a channel */
  template <typename R> INL_MEMBER int place(int at, const R &size) {
    return (int)size.OW == (int)G::OW ? at : at / size.OW * G::OW + at % size.OW;
  }

  /* COUNT filters or channels, of which there are `some`: of each the k-tile's pixels from f0 on; `first` has those of all
     images, CHANNELS of each. Neighbouring lanes copy pixels side by side. */
  template <int COUNT, int OF_LINE, int CHANNELS, typename R>
  INL_MEMBER void copy_rows(char *to, const Stored *first, int f0, int end, int some, const R &size) {
    enum {
      PIECES = DEPTH / BESIDE, AT_ONCE = GROUP / PIECES, BYTES = BESIDE * 2,
      LOADS = BYTES == 2 ? 64 : 8 /* copies at once, which a thread waits for if they are of one element */
    };
    const int thread = (int)threadIdx.x - COPY, own = thread % PIECES * BESIDE, row = thread / PIECES;
    const int f = f0 + own, area = size.OH * size.OW, n = f / area;
    const Stored *from = first + ((I)(n * CHANNELS + row) * AREA + place(f % area, size));
    to += (own / EIGHT * OF_LINE + row) * UNIT + own % EIGHT * 2;
#pragma unroll LOADS
    for (int r = 0; r < COUNT; r += AT_ONCE) {
      if (COUNT % AT_ONCE != 0 && row + r >= COUNT) break;
      const bool in = f < end && row + r < some;
      copy_some<BYTES>(to + r * UNIT, in ? from + (I)r * AREA : first, in ? BYTES : 0);
    }
  }
  /* Weights from n0 on of the k-tile's pixels. Neighbouring lanes copy what lies side by side of two units of a pixel. */
  template <typename R>
  INL_MEMBER void copy_patches(char *to, const Stored *image, int group, int n0, int f0, int end, const R &size) {
    enum { PIECES = 2 * EIGHT / C::ALONG, AT_ONCE = GROUP / PIECES, BYTES = C::ALONG * 2 };
    const int thread = (int)threadIdx.x - COPY, own = thread % PIECES * C::ALONG;
    to += own / EIGHT * (RIGHT_LINE * UNIT) + own % EIGHT * 2;
#pragma unroll 1
    for (int e = thread / PIECES; e < DEPTH; e += AT_ONCE) {
      const int f = f0 + e, area = size.OH * size.OW, n = f / area, y = f % area / size.OW, x = f % size.OW;
      const Stored *from = image + C::pixel(n, group, 0, y * G::SH, x * G::SW);
#pragma unroll 4
      for (int i = 0; i < WEIGHTS; i += 2 * EIGHT) {
        const int weight = n0 + i + own;
        const bool in = f < end && weight < C::CHANNELS;
        copy_some<BYTES>(to + (i / EIGHT * RIGHT_LINE + e) * UNIT, in ? from + C::channel(weight) : image, in ? BYTES : 0);
      }
    }
  }
  INL_MEMBER void copied(uint64_t *full, Place &p) {
    proxy_fence();
    mbarrier_arrive(full + p.stage);
    p.step();
  }
  /* The last warpgroup: filters from m0 on and weights from n0 on, of a group; a part of the pixels. Copies of BEHIND k-tiles
     are on their way before one is told of. */
  template <typename R>
  INL_MEMBER void copy(char *ring, uint64_t *full, uint64_t *empty, const Stored *dy, const Stored *image, int group, int m0,
                       int n0, int part, int chunk, const R &size) {
    registers_release<104>();
    const int first = part * chunk, end = end_of(part, chunk, size);
    Place p = {0, 0}, told = {0, 0};
#pragma unroll 1
    for (int f0 = first; f0 < end; f0 += DEPTH, p.step()) {
      char *stage = ring + p.stage * STAGE;
      mbarrier_wait(empty + p.stage, p.parity ^ 1);
      copy_rows<FILTERS, LINE, G::COUT>(stage, dy + (I)(group * G::GOUT + m0) * AREA, f0, end, G::GOUT - m0, size);
      if (PATCHES)
        copy_patches(stage + RIGHT, image, group, n0, f0, end, size);
      else
        copy_rows<WEIGHTS, RIGHT_LINE, G::CIN>(stage + RIGHT, image + (I)(group * G::GIN + n0) * AREA, f0, end, G::GIN - n0, size);
      async_commit();
      if (f0 - first < BEHIND * DEPTH) continue;
      async_wait<BEHIND>();
      copied(full, told);
    }
    async_wait<0>();
    while (told.stage != p.stage || told.parity != p.parity) copied(full, told);
  }

  /* The others: c is the sums of a warpgroup's weights. */
  template <typename R>
  INL_MEMBER void multiply(f32 (&c)[2][COLUMNS / 4], char *ring, uint64_t *full, uint64_t *empty, int part, int chunk, const R &size) {
    registers_take<200>();
    const int group = (int)threadIdx.x / GROUP, first = part * chunk, end = end_of(part, chunk, size);
    const bool leads = threadIdx.x % WARP == 0;
    /* in the first stage; the address of a matrix counts units */
    const uint64_t left = wgmma_units(ring + (ROWS > 1 ? group * SIDE * UNIT : 0), LINE * UNIT);
    char *const columns = ring + RIGHT + (ROWS > 1 ? 0 : group * COLUMNS / (PATCHES ? EIGHT : 1) * (PATCHES ? RIGHT_LINE : 1) * UNIT);
    const uint64_t right = PATCHES ? wgmma_octets(columns, RIGHT_LINE * UNIT) : wgmma_units(columns, RIGHT_LINE * UNIT);
#pragma unroll
    for (int j = 0; j < COLUMNS / 2; j++) c[j % 2][j / 2] = 0;
    uint64_t *last = empty;
    Place p = {0, 0};
#pragma unroll 1
    for (int f0 = first; f0 < end; f0 += DEPTH, p.step()) {
      const uint32_t stage = (uint32_t)(p.stage * (STAGE / UNIT));
      mbarrier_wait(full + p.stage, p.parity);
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < OCTETS; i += 2) /* 16 pixels */
        E::template fma<0, PATCHES>(c, left + stage + (uint32_t)(i * LINE), right + stage + (uint32_t)(PATCHES ? i * EIGHT : i * RIGHT_LINE),
                                    f0 > first || i);
      wgmma_commit();
      wgmma_wait<1>();
      if (leads && f0 > first) mbarrier_arrive(last);
      last = empty + p.stage;
    }
    wgmma_wait<0>();
    if (leads && first < end) mbarrier_arrive(last);
  }
  /* `to`: the sums of a part. Threads of the multiplying warpgroups. */
  INL_MEMBER void store(f32 *to, const f32 (&c)[2][COLUMNS / 4], int group, int m0, int n0) {
    const int lane = (int)threadIdx.x % WARP, own = (int)threadIdx.x / GROUP;
    const int row = (ROWS > 1 ? own * SIDE : 0) + (int)threadIdx.x % GROUP / WARP * 16 + lane / 4;
#pragma unroll
    for (int r = 0; r < 2; r++) {
      const int m = m0 + row + r * 8;
      if (m >= G::GOUT) break;
      f32 *const at = to + (I)(group * G::GOUT + m) * C::CHANNELS;
#pragma unroll
      for (int j = 0; j < COLUMNS / 4; j += 2) {
        const int n = n0 + (ROWS > 1 ? 0 : own * COLUMNS) + j * 4 + lane % 4 * 2;
        const Vec<f32, 2> two = {{c[r][j], c[r][j + 1]}};
        if (C::CHANNELS % 2 == 0) {
          if (n < C::CHANNELS) *(Vec<f32, 2> *)(at + n) = two;
          continue;
        }
        if (n < C::CHANNELS) at[n] = two.at[0];
        if (n + 1 < C::CHANNELS) at[n + 1] = two.at[1];
      }
    }
  }
};
