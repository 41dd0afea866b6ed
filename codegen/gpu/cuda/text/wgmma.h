/* Products on the tensor cores of sm_90a: C = op(A) op(B) with operands of 2 bytes, or f32 rounded to tf32, sums in f32. Blocks go from tile
   to tile of BM x BN of C. The first warpgroup's first thread copies k-tiles of both operands into a ring of STAGES in
   shared memory by tensor maps (TMA); the other two multiply them (wgmma), 64 rows of C each, and do the work fused
   behind while the copies of the next tile run. Two mbarriers a stage say when it is full and when every warp has read
   it. The CLUSTER blocks of a cluster have tiles of C above one another: each copies its part of B's k-tile to all of them
   (multicast), when the warps of all have read the stage. Contract: maps have the boxes of map_a and map_b; rows of A and B in memory are multiples of 16 bytes at
   multiples of 16; what lies outside of a matrix counts as zero; an element of C is a sum along the depth in order.
   Maps have the sizes of the bounds, so one captured graph serves every extent. Tiles all of whose cluster lie behind the
   rows of a run are left out; the last k-tile may hold what lies behind its depth, which those that multiply replace by zeros.

   A k-tile is 128 bytes of the depth. An operand stored along the depth lies in shared memory as rows of 128 bytes; one
   stored across it as pieces of 128 bytes of C's side, each with a row for every step of the depth. Units of 16 bytes are
   swizzled in eight rows, by TMA and again by wgmma, which reads tf32 along the depth alone: an A stored across it comes
   from registers, and the printer turns C where B is.

   Rows of an A along the depth that begin anywhere (50,257 halves): every eighth row begins at a multiple of 16 bytes, so a
   map has eight rows as one, and one copy brings the rows 8 j + i of a tile for one i, which begin at element i times a row of
   it. They lie in shared memory in that order (phases), which is that of the rows of C alone. Across the depth it would be the
   order of the sums, which is that of every other product. */
/* section WgmmaBf16 WgmmaF16 WgmmaTf32 RingPlace */
struct WgmmaBf16 {
  typedef uint16_t Stored;
  enum { LEFT = 0 };
  INL_MEMBER uint32_t pack(f32 low, f32 high) { return pack_bf16(low, high); }
  template <int TA, int TB, int N> INL_MEMBER void fma(f32 (&c)[2][N], uint64_t a, uint64_t b, int add) { wgmma_bf16<TA, TB>(c, a, b, add); }
  template <int TB, int N> INL_MEMBER void fma_left(f32 (&c)[2][N], const uint32_t (&a)[4], uint64_t b) { wgmma_bf16_left<TB>(c, a, b); }
};
struct WgmmaF16 {
  typedef uint16_t Stored;
  enum { LEFT = 0 };
  INL_MEMBER uint32_t pack(f32 low, f32 high) { return pack_f16(low, high); }
  template <int TA, int TB, int N> INL_MEMBER void fma(f32 (&c)[2][N], uint64_t a, uint64_t b, int add) { wgmma_f16<TA, TB>(c, a, b, add); }
  template <int TB, int N> INL_MEMBER void fma_left(f32 (&c)[2][N], const uint32_t (&a)[4], uint64_t b) { wgmma_f16_left<TB>(c, a, b); }
};
struct WgmmaTf32 {
  typedef uint32_t Stored;
  enum { LEFT = 1 }; /* what is stored across the depth comes from registers */
  template <int TA, int TB, int N> INL_MEMBER void fma(f32 (&c)[2][N], uint64_t a, uint64_t b, int add) { wgmma_tf32(c, a, b, add); }
};
/* Where a thread is in a ring: a stage, and the parity of its round. */
template <int STAGES> struct RingPlace {
  int stage, parity;
  __device__ __forceinline__ void step() {
    if (++stage == STAGES) stage = 0, parity ^= 1;
  }
};

/* section WgmmaBounds */
/* What a run has of a product of BATCH times M rows, N columns and the depth K; the rest as of WgmmaTile. */
template <typename Stored, int BATCH, int M, int N, int K, bool TA, bool TB, int BM, int BN, int CLUSTER, bool TAIL> struct WgmmaBounds {
  enum { ROW = 128, DEPTH = ROW / (int)sizeof(Stored), THREADS = 256, UNIT = 16, UNITS = ROW / UNIT, EACH = UNIT / (int)sizeof(Stored) };
  /* Does the tile's cluster begin behind so many products of so many rows and columns? A block alone behind the rows copies its part of B. */
  INL_MEMBER bool behind(int bt, int m0, int n0, int batch, int rows, int columns) {
    return (batch != BATCH && bt >= batch) || (rows != M && m0 / (BM * CLUSTER) * (BM * CLUSTER) >= rows) || (columns != N && n0 >= columns);
  }
  /* Of no depth, that of an empty part of a batch, one, of zeros. */
  INL_MEMBER int k_tiles(int depth) { return depth == 0 ? 1 : (depth + DEPTH - 1) / DEPTH; }

  /* An operand's k-tile from step `left` of the depth on: zeros. */
  template <bool ACROSS, int SIDE> INL_MEMBER void clear(char *tile, int left, int thread) {
    const Vec<uint32_t, 4> zero = {};
#pragma unroll 1
    for (int u = thread; u < SIDE * UNITS; u += THREADS) {
      const int row = u / UNITS, stays = ACROSS ? (left - row % DEPTH) * EACH : left - u % UNITS * EACH; /* elements of the unit */
      char *const at = tile + (ACROSS ? u : row * UNITS + (u % UNITS ^ row % UNITS)) * UNIT;
      if (stays <= 0) *(Vec<uint32_t, 4> *)at = zero;
      for (int e = stays; e > 0 && e < EACH; e++) ((Stored *)at)[e] = 0;
    }
  }
  /* Behind the depth memory has what is of no run, of one before or, if TAIL, of the next row: zeros in both operands of
     the last k-tile, by all threads that multiply. */
  INL_MEMBER void clear_behind(char *a, char *b, int s, int depth, int thread) {
    if ((!TAIL && depth == K) || (depth != 0 && depth % DEPTH == 0) || s != k_tiles(depth) - 1) return;
    clear<TA, BM>(a, depth % DEPTH, thread);
    clear<!TB, BN>(b, depth % DEPTH, thread);
    proxy_fence();
    threads_sync<THREADS>(1);
  }
};
/* section WgmmaTile */
/* TA: A is stored [K, M]; TB: B is stored [N, K]; BATCH such products, each in PARTS of K of the depth, or in fewer, of
   `length` of it, as a run decides, which tells the whole depth then. Rows of tiles are a multiple of CLUSTER: the last
   may lie behind C. PHASED: elements from one row to the next of an A along the depth whose rows come in phases; 0: they do
   not. */
template <typename E, int BATCH, int M, int N, int K, bool TA, bool TB, int BN, int STAGES, int CLUSTER, int PARTS, int PHASED = 0>
struct WgmmaTile {
  enum {
    BM = 128, ROW = 128, DEPTH = ROW / (int)sizeof(typename E::Stored), GROUP = 128, WARPS = 8, /* WARPS that multiply */
    ACROSS = DEPTH * ROW, PIECE = 64 * ROW,            /* bytes of 128 bytes, and of 64 elements of C's side */
    A_BYTES = BM * 128, STAGE = A_BYTES + BN * 128,
    PART = 64 / CLUSTER,                               /* of 64 rows of B in memory, those that a block copies */
    PHASES = 8,
    TILES_M = (M + BM * CLUSTER - 1) / (BM * CLUSTER) * CLUSTER, TILES_N = (N + BN - 1) / BN, TILES = PARTS * BATCH * TILES_M * TILES_N
  };
  typedef RingPlace<STAGES> Place;
  typedef WgmmaBounds<typename E::Stored, BATCH, M, N, K, TA, TB, BM, BN, CLUSTER, PHASED != 0> Bounds;
  /* The unit of 4 elements of A's side, of 32, that a lane reads from registers' rows, and its two of them: four steps of the
     depth and four such units lie in all banks. */
  INL_MEMBER int left_unit() {
    const int row = (int)threadIdx.x % 32 / 4;
    return (int)threadIdx.x / 32 % 2 * 2 + row / 2 % 2 * 4 + row / 4;
  }
  INL_MEMBER int left_two() { return (int)threadIdx.x % 32 / 4 % 2 * 2; }
  INL_MEMBER int row(int i) {
    if (E::LEFT && TA) return ((int)threadIdx.x - GROUP) / 64 * 32 + left_unit() * 4 + left_two() + i;
    const int row = ((int)threadIdx.x / 32 - 4) * 16 + i * 8 + (int)threadIdx.x % 32 / 4;
    return PHASED ? row % (BM / PHASES) * PHASES + row / (BM / PHASES) : row;
  }
  /* The column of sum i of a row. */
  INL_MEMBER int column(int i) { return i / 2 * 8 + (int)threadIdx.x % 4 * 2 + i % 2; }
  /* the first column of group q of two */
  INL_MEMBER int col(int q) { return q * 8 + (int)threadIdx.x % 4 * 2; }

  /* As TensorTile's. */
  INL_MEMBER void tile_coords(int tile, int &part, int &bt, int &m0, int &n0) {
    enum { BAND = 8 };
    const int at = tile % (TILES_M * TILES_N), band = at / (BAND * TILES_N), in = at % (BAND * TILES_N);
    const int rows = TILES_M - band * BAND < BAND ? TILES_M - band * BAND : BAND;
    bt = tile / (TILES_M * TILES_N) % BATCH;
    part = tile / (TILES_M * TILES_N * BATCH);
    m0 = (band * BAND + in % rows) * BM;
    n0 = in / rows * BN;
  }

  /* All threads of the block. */
  INL_MEMBER void start(uint64_t *full, uint64_t *empty) {
    if (threadIdx.x == 0) {
      for (int i = 0; i < STAGES; i++) {
        mbarrier_init(full + i, 1);
        mbarrier_init(empty + i, WARPS * CLUSTER);
      }
      mbarrier_fence();
    }
    block_sync();
    if (CLUSTER > 1) cluster_sync();
  }
  /* All threads, last: other blocks of the cluster copy to this one's shared memory, and tell its mbarriers. */
  INL_MEMBER void end() {
    if (CLUSTER > 1) cluster_sync();
  }
  /* A warp has read a stage. */
  INL_MEMBER void release(uint64_t *stage) {
    if (CLUSTER == 1)
      mbarrier_arrive(stage);
    else
#pragma unroll
      for (int i = 0; i < CLUSTER; i++) mbarrier_arrive_at(stage, i);
  }
  INL_MEMBER void copy_b(char *to, const GcTensorMap *b, int x, int y, int z, uint64_t *full) {
    if (CLUSTER == 1)
      tensor_copy(to, b, x, y, z, 0, full);
    else
      tensor_copy_to((1 << CLUSTER) - 1, to, b, x, y, z, 0, full);
  }

  /* Each phase of A's rows of a k-tile by a copy of its own. */
  INL_MEMBER void copy_phases(char *to, const GcTensorMap *a, int x, int y, int z, uint64_t *full) {
#pragma unroll 1
    for (int i = 0; i < PHASES; i++) tensor_copy(to + i * (BM / PHASES * ROW), a, x + i * PHASED, y, z, 0, full);
  }

  /* The first warpgroup. */
  INL_MEMBER void copy(char *ring, uint64_t *full, uint64_t *empty, const GcTensorMap *a, const GcTensorMap *b,
                       int batch = BATCH, int rows = M, int columns = N, int depth = K, int parts = PARTS, int length = 0) {
    registers_release<40>();
    if (threadIdx.x != 0) return;
    const int rank = CLUSTER > 1 ? cluster_rank() : 0, each = length ? length : K;
    Place p = {0, 0};
    for (int tile = (int)blockIdx.x; tile < TILES; tile += (int)gridDim.x) {
      int part, bt, m0, n0;
      tile_coords(tile, part, bt, m0, n0);
      if ((length && part >= parts) || Bounds::behind(bt, m0, n0, batch, rows, columns)) continue;
      const int tiles = Bounds::k_tiles(length ? smaller(length, depth - part * length) : depth);
#pragma unroll 1
      for (int s = 0; s < tiles; s++, p.step()) {
        const int k0 = part * each + s * DEPTH;
        char *at = ring + p.stage * STAGE;
        mbarrier_wait(empty + p.stage, p.parity ^ 1);
        mbarrier_expect(full + p.stage, STAGE);
        if (PHASED)
          copy_phases(at, a, k0, m0 / PHASES, bt, full + p.stage);
        else if (TA)
          for (int i = 0; i < BM / DEPTH; i++) tensor_copy(at + i * ACROSS, a, m0 + DEPTH * i, k0, bt, 0, full + p.stage);
        else
          tensor_copy(at, a, k0, m0, bt, 0, full + p.stage);
        char *const own = at + A_BYTES + rank * (TB ? BN / 64 : 1) * PART * 128;
        if (TB)
          copy_b(own, b, k0, n0 + rank * (BN / 64 * PART), bt, full + p.stage);
        else
          for (int i = 0; i < BN / 64; i++)
            copy_b(own + i * PIECE, b, n0 + 64 * i, k0 + rank * PART, bt, full + p.stage);
      }
    }
  }

  /* A k-tile whose A is in registers: two halves of its depth take turns with them. `last`: the stage that is read behind
     the first half, or null. */
  INL_MEMBER void multiply_left(f32 (&c)[2][BN / 4], const char *a, uint64_t b, int s, uint64_t *last) {
    const int step = (int)threadIdx.x % 4, unit = left_unit();
    a += (int)threadIdx.x / 64 % 2 * ACROSS + step * ROW + left_two() * 4;
#pragma unroll
    for (int half = 0; half < 2; half++) {
      uint32_t left[2][4];
#pragma unroll
      for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) { /* step, and step + 4, of eight */
          const Vec<uint32_t, 2> two = *(const Vec<uint32_t, 2> *)(a + (half * 2 + i) * 8 * ROW + j * 4 * ROW + (unit ^ (step + j * 4)) * 16);
          left[i][2 * j] = two.at[0], left[i][2 * j + 1] = two.at[1];
        }
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < 2; i++) wgmma_tf32_left(c, left[i], b + (uint32_t)((half * 2 + i) * 32 / 16), s + half + i);
      wgmma_commit();
      wgmma_wait<1>();
      if (half > 0) continue;
      warp_sync(); /* all lanes have read the stage before */
      if (last) release(last);
    }
  }

  /* The other two: c is the warp's part of the next tile. */
  INL_MEMBER void multiply(f32 (&c)[2][BN / 4], char *ring, uint64_t *full, uint64_t *empty, Place &p, int depth = K) {
    const int group = (int)threadIdx.x / GROUP - 1, tiles = Bounds::k_tiles(depth);
    const bool leads = threadIdx.x % 32 == 0;
    uint64_t *last = empty;
    int s = 0;
#pragma unroll 1
    do { /* one at least: a way around them would make the compiler move sums to other registers */
      char *at = ring + p.stage * STAGE + group * PIECE, *bt = ring + p.stage * STAGE + A_BYTES;
      mbarrier_wait(full + p.stage, p.parity);
      Bounds::clear_behind(ring + p.stage * STAGE, bt, s, depth, (int)threadIdx.x - GROUP);
      if constexpr (E::LEFT && TA) {
        multiply_left(c, at, wgmma_matrix(bt, PIECE), s, leads && s > 0 ? last : nullptr);
        last = empty + p.stage;
        p.step();
        continue;
      }
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < 4; i++) /* 32 bytes of the depth each */
        E::template fma<TA, !TB>(c, wgmma_matrix(at + (TA ? 2048 : 32) * i, PIECE), wgmma_matrix(bt + (TB ? 32 : 2048) * i, PIECE),
                                 s + i);
      wgmma_commit();
      wgmma_wait<1>();
      if (leads && s > 0) release(last);
      last = empty + p.stage;
      p.step();
    } while (++s < tiles);
    wgmma_wait<0>();
    if (leads) release(last);
  }
};
