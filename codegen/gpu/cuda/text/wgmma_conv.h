/* Gradients of convolutions with respect to filters on the tensor cores of sm_90a: for each tap a product of filters by
   channels, whose depth is the pixels of all images. Operands of 2 bytes, sums in f32. Pixels are numbered with gaps
   (codegen/schedule/flat.h), so that one tile of the image in shared memory serves all taps: a tap's operand
   begins at another pixel of it. A block has ROWS tiles of 64 filters by 64 channels and TAPS taps. The last warpgroup
   gathers k-tiles of DEPTH pixels into a ring of STAGES; three others multiply them (wgmma), filters from registers if one
   tile of them serves all taps. Two mbarriers a stage say
   when it is full and when every warp has read it.
   Contract: a block sums `chunk` pixels, in order, of which those of images behind the run's are left out; the CLUSTER blocks of a cluster, whose parts follow each other, add theirs, which
   lie tap by tap in scratch, and another launch adds those. What
   lies outside of an operand, a pixel in the padding, and a gap count as zero, so that beside an infinity they make a NaN.

   In shared memory eight channels of a pixel are a unit of 16 bytes; units of the same channels lie in the pixels' order. */
/* section WgmmaConvFilter */
/* G: as of ConvFilterGrad. F: as of WgmmaConv; a k-tile reads SPAN places of a plane behind those of its pixels. */
template <typename G, typename F, typename I, typename E, int ROWS, int TAPS, int DEPTH, int STAGES, int CLUSTER>
struct WgmmaConvFilter {
  typedef typename E::Stored Stored;
  typedef RingPlace<STAGES> Place;
  typedef FlatForward<G, F> T;
  enum {
    SIDE = 64, UNIT = 16, EIGHT = 8,
    GROUP = 128, GROUPS = 3, GATHER = GROUP * GROUPS, /* threads; the first one that gathers */
    TILES = ROWS * TAPS, EACH = (TILES + GROUPS - 1) / GROUPS, SUMS = 32, PAIRS = SUMS / 2, /* EACH: tiles of a warpgroup */
    ALL_TAPS = G::KH * G::KW, AREA = G::OH * G::OW, IMAGE = G::H * G::W,
    HALO = DEPTH + F::SPAN, PLANE = SIDE / EIGHT * HALO * UNIT, TILE = SIDE / EIGHT * DEPTH * UNIT, /* bytes of the latter */
    IMAGES = ROWS * TILE, STAGE = IMAGES + F::PLANES * PLANE
  };
  struct __align__(16) Octet { Stored at[EIGHT]; };

  /* All threads of the block. */
  INL_MEMBER void start(uint64_t *full, uint64_t *empty) {
    if (threadIdx.x == 0) {
      for (int i = 0; i < STAGES; i++) {
        mbarrier_init(full + i, GROUP);
        mbarrier_init(empty + i, GATHER / 32);
      }
      mbarrier_fence();
    }
    block_sync();
  }

  /* 64 channels of a pixel, of which `channels` are in the operand; `from` is the first one's. */
  template <int APART, bool WHOLE> INL_MEMBER void put(char *to, int pixels, const Stored *from, bool in, int channels) {
    Octet unit[SIDE / EIGHT] = {};
    if (in) { /* all loads are on their way at once */
#pragma unroll
      for (int c = 0; c < SIDE; c++)
        if (WHOLE || c < channels) unit[c / EIGHT].at[c % EIGHT] = from[(I)c * APART];
    }
#pragma unroll
    for (int o = 0; o < SIDE / EIGHT; o++) *(Octet *)(to + o * pixels * UNIT) = unit[o];
  }
  template <typename R> INL_MEMBER int end_of(int part, int chunk, const F &f, const R &size) {
    return smaller((part + 1) * chunk, (int)size.N * (f.ROWS * f.PITCH));
  }
  /* Where a plane's pixel with such a number lies in a group's first channel; is there one? */
  template <typename R> INL_MEMBER bool pixel_at(int p, int plane, const F &f, const R &size, I &at) {
    const int n = p / (f.ROWS * f.PITCH), y = p / f.PITCH % f.ROWS, x = p % f.PITCH;
    const int row = y * G::SH + T::phase_row(plane);
    const int col = x * G::SW + (F::PLANES_W > 1 ? plane % F::PLANES_W : (int)F::PHASE_W);
    at = (I)n * G::CIN * IMAGE + row * G::W + col;
    return p >= 0 && n < size.N && row < size.H && col < size.W;
  }
  template <typename R> INL_MEMBER bool result_at(int p, const F &f, const R &size, I &at) {
    const int n = p / (f.ROWS * f.PITCH), y = p / f.PITCH % f.ROWS, x = p % f.PITCH;
    at = (I)n * G::COUT * AREA + y * G::OW + x;
    return n < size.N && y < size.OH && x < size.OW;
  }
  /* The last warpgroup: filters from m0 on and channels from c0 on, of a group; a part of the pixels. */
  template <typename R>
  INL_MEMBER void gather(char *ring, uint64_t *full, uint64_t *empty, const Stored *dy, const Stored *image, int group, int m0,
                         int c0, int part, int chunk, const F &f, const R &size) {
    registers_release<104>();
    const int thread = (int)threadIdx.x - GATHER;
    const int end = end_of(part, chunk, f, size);
    Place p = {0, 0};
#pragma unroll 1
    for (int f0 = part * chunk; f0 < end; f0 += DEPTH, p.step()) {
      char *stage = ring + p.stage * STAGE;
      mbarrier_wait(empty + p.stage, p.parity ^ 1);
#pragma unroll 1
      for (int e = thread; e < ROWS * DEPTH; e += GROUP) {
        I at;
        const bool in = result_at(f0 + e % DEPTH, f, size, at);
        const int m = m0 + e / DEPTH * SIDE;
        put<AREA, G::GOUT % (ROWS * SIDE) == 0>(stage + e / DEPTH * TILE + e % DEPTH * UNIT, DEPTH,
                                                dy + (at + (I)(group * G::GOUT + m) * AREA), in, G::GOUT - m);
      }
#pragma unroll 1
      for (int e = thread; e < F::PLANES * HALO; e += GROUP) {
        I at;
        if (e % HALO >= DEPTH + f.REACH) continue;
        const bool in = pixel_at(f0 + T::first(f, 0, e / HALO) + e % HALO, e / HALO, f, size, at);
        put<IMAGE, G::GIN % SIDE == 0>(stage + IMAGES + e / HALO * PLANE + e % HALO * UNIT, HALO,
                                       image + (at + (I)(group * G::GIN + c0) * IMAGE), in, G::GIN - c0);
      }
      proxy_fence();
      mbarrier_arrive(full + p.stage);
    }
  }

  /* Bytes from the first plane to a tap's operand of a k-tile's first pixel. */
  INL_MEMBER int tap_at(const F &f, int tap) {
    int at, plane;
    T::tap(f, 0, tap, at, plane);
    return plane * PLANE + at * UNIT;
  }
  /* Products with one tile of filters, which registers hold for all taps of a warpgroup: two steps of 16 pixels take
     turns with them. `reads`: what the lane reads of the filters; `last`: the stage that is read behind the first step. */
  INL_MEMBER void multiply_left(f32 (&c)[EACH][2][SUMS / 2], const char *reads, const uint64_t (&b)[EACH], uint64_t *last) {
#pragma unroll 1
    for (int k0 = 0; k0 < DEPTH; k0 += 32) {
      uint32_t a[2][4];
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const int k = k0 + half * 16;
        matrix_load_t(a[half], reads + k * UNIT);
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < EACH; i++) E::template fma_left<1>(c[i], a[half], b[i] + (uint32_t)k);
        wgmma_commit();
        wgmma_wait<1>();
        if (k > 0) continue;
        warp_sync(); /* all lanes have read their filters */
        if (last) mbarrier_arrive(last);
      }
    }
  }
  /* The others: c is the sums of a warpgroup's tiles. Behind the last tile it does that once more. */
  template <typename R>
  INL_MEMBER void multiply(f32 (&c)[EACH][2][SUMS / 2], char *ring, uint64_t *full, uint64_t *empty, int tap0, int part,
                           int chunk, const F &f, const R &size) {
    registers_take<136>();
    const bool leads = threadIdx.x % 32 == 0;
    uint64_t a[EACH], b[EACH]; /* in the first stage; the address of a matrix counts units */
#pragma unroll
    for (int i = 0; i < EACH; i++) {
      const int tile = smaller((int)threadIdx.x / GROUP * EACH + i, TILES - 1);
      a[i] = wgmma_octets(ring + tile / TAPS * TILE, DEPTH * UNIT);
      b[i] = wgmma_octets(ring + IMAGES + tap_at(f, smaller(tap0 + tile % TAPS, ALL_TAPS - 1)), HALO * UNIT);
    }
    const int lane = (int)threadIdx.x % 32, octet = (int)threadIdx.x % GROUP / 32 * 2 + lane / 8 % 2;
    const char *const reads = ring + (octet * DEPTH + lane / 16 * 8 + lane % 8) * UNIT;
    const int first = part * chunk, end = end_of(part, chunk, f, size);
#pragma unroll
    for (int n = 0; n < EACH * SUMS; n++) c[n / SUMS][n % 2][n % SUMS / 2] = first < end ? 0.0f : -0.0f; /* adds nothing */
#pragma unroll
    for (int i = 0; i < EACH; i++) wgmma_hold(c[i]);
    uint64_t *last = empty;
    Place p = {0, 0};
#pragma unroll 1
    for (int f0 = first; f0 < end; f0 += DEPTH, p.step()) {
      mbarrier_wait(full + p.stage, p.parity);
      if (ROWS == 1) {
        uint64_t right[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) right[i] = b[i] + (uint32_t)(p.stage * (STAGE / UNIT));
        multiply_left(c, reads + p.stage * STAGE, right, leads && f0 > first ? last : nullptr);
        last = empty + p.stage;
        continue;
      }
      wgmma_fence();
#pragma unroll 2 /* all steps would need more registers than there are */
      for (int k = 0; k < DEPTH; k += 16)
#pragma unroll
        for (int i = 0; i < EACH; i++)
          E::template fma<1, 1>(c[i], a[i] + (uint32_t)(p.stage * (STAGE / UNIT) + k), b[i] + (uint32_t)(p.stage * (STAGE / UNIT) + k),
                                f0 - first + k);
      wgmma_commit();
      wgmma_wait<1>();
      if (leads && f0 > first) mbarrier_arrive(last);
      last = empty + p.stage;
    }
    wgmma_wait<0>();
    if (leads && first < end) mbarrier_arrive(last);
  }
  /* `to`: the sums of a part, or of a cluster's parts, tap by tap: of each filter its channels. Two sums of a thread. */
  INL_MEMBER void store(f32 *to, int pair, const Vec<f32, 2> &two, int group, int m0, int c0, int tap0) {
    const int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x % GROUP / 32 * 16 + lane / 4;
    const int tile = (int)threadIdx.x / GROUP * EACH + pair / PAIRS, tap = tap0 + tile % TAPS;
    const int m = m0 + tile / TAPS * SIDE + row + pair % PAIRS / (PAIRS / 2) * 8;
    const int channel = c0 + pair % (PAIRS / 2) * 8 + lane % 4 * 2;
    if (tile >= TILES || tap >= ALL_TAPS || m >= G::GOUT || channel >= G::GIN) return;
    f32 *at = to + (((I)tap * G::COUT + group * G::GOUT + m) * G::GIN + channel);
    if (G::GIN % 2 == 0) {
      *(Vec<f32, 2> *)at = two;
      return;
    }
    at[0] = two.at[0];
    if (channel + 1 < G::GIN) at[1] = two.at[1];
  }
  /* What threads of the multiplying warpgroups do with their sums: blocks of a cluster put them where the ring was. */
  INL_MEMBER void finish(f32 *to, char *smem, const f32 (&c)[EACH][2][SUMS / 2], int group, int m0, int c0, int tap0) {
    if (CLUSTER > 1) threads_sync<GATHER>(1); /* all have read the ring */
#pragma unroll
    for (int pair = 0; pair < EACH * PAIRS; pair++) {
      const f32(&own)[SUMS / 2] = c[pair / PAIRS][pair % PAIRS / (PAIRS / 2)];
      const int j = pair % (PAIRS / 2) * 2;
      const Vec<f32, 2> two = {{own[j], own[j + 1]}};
      if (CLUSTER > 1)
        ((Vec<f32, 2> *)smem)[pair * GATHER + (int)threadIdx.x] = two;
      else
        store(to, pair, two, group, m0, c0, tap0);
    }
  }
  /* All threads, behind that: each block of a cluster adds its part of the sums of all of them, in their order. */
  INL_MEMBER void combine(f32 *to, const char *smem, int group, int m0, int c0, int tap0) {
    if (CLUSTER == 1) return;
    enum { SHARE = EACH * PAIRS / CLUSTER };
    const int first = cluster_rank() * SHARE;
    cluster_sync();
    if (threadIdx.x < GATHER)
#pragma unroll 4
      for (int n = 0; n < SHARE; n++) {
        const Vec<f32, 2> *const at = (const Vec<f32, 2> *)smem + ((first + n) * GATHER + (int)threadIdx.x);
        Vec<f32, 2> sum = cluster_load(at, 0);
#pragma unroll
        for (int q = 1; q < CLUSTER; q++) {
          const Vec<f32, 2> other = cluster_load(at, q);
          sum.at[0] += other.at[0], sum.at[1] += other.at[1];
        }
        store(to, first + n, sum, group, m0, c0, tap0);
      }
    cluster_sync(); /* no block ends while its sums are read */
  }
};
