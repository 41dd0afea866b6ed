/* Products on the tensor cores of sm_90a: C = op(A) op(B) with operands of 2 bytes, sums in f32. Blocks go from tile
   to tile of BM x BN of C. The first warpgroup's first thread copies k-tiles of both operands into a ring of STAGES in
   shared memory by tensor maps (TMA); the other two multiply them (wgmma), 64 rows of C each, and do the work fused
   behind while the copies of the next tile run. Two mbarriers a stage say when it is full and when every warp has read
   it. The CLUSTER blocks of a cluster have tiles of C above one another: each copies its part of B's k-tile to all of them
   (multicast), when the warps of all have read the stage. Contract: maps have the boxes of map_a and map_b; rows of A and B in memory are multiples of 16 bytes at
   multiples of 16; what lies outside of a matrix counts as zero; an element of C is a sum along the depth in order.

   A k-tile is 128 bytes of the depth. An operand stored along the depth lies in shared memory as rows of 128 bytes; one
   stored across it as pieces of 64 elements of C's side, each with a row of 128 bytes for every step of the depth. Units
   of 16 bytes are swizzled in eight rows, by TMA and again by wgmma. */
/* section WgmmaBf16 WgmmaF16 RingPlace */
struct WgmmaBf16 {
  typedef uint16_t Stored;
  INL_MEMBER uint32_t pack(f32 low, f32 high) { return pack_bf16(low, high); }
  template <int TA, int TB, int N> INL_MEMBER void fma(f32 (&c)[2][N], uint64_t a, uint64_t b, int add) { wgmma_bf16<TA, TB>(c, a, b, add); }
  template <int TB, int N> INL_MEMBER void fma_left(f32 (&c)[2][N], const uint32_t (&a)[4], uint64_t b) { wgmma_bf16_left<TB>(c, a, b); }
};
struct WgmmaF16 {
  typedef uint16_t Stored;
  INL_MEMBER uint32_t pack(f32 low, f32 high) { return pack_f16(low, high); }
  template <int TA, int TB, int N> INL_MEMBER void fma(f32 (&c)[2][N], uint64_t a, uint64_t b, int add) { wgmma_f16<TA, TB>(c, a, b, add); }
  template <int TB, int N> INL_MEMBER void fma_left(f32 (&c)[2][N], const uint32_t (&a)[4], uint64_t b) { wgmma_f16_left<TB>(c, a, b); }
};
/* Where a thread is in a ring: a stage, and the parity of its round. */
template <int STAGES> struct RingPlace {
  int stage, parity;
  __device__ __forceinline__ void step() {
    if (++stage == STAGES) stage = 0, parity ^= 1;
  }
};

/* section WgmmaTile */
/* TA: A is stored [K, M]; TB: B is stored [N, K]; BATCH such products, each in PARTS of K of the depth. Rows of tiles are a multiple of CLUSTER: the last
   may lie behind C. */
template <typename E, int BATCH, int M, int N, int K, bool TA, bool TB, int BN, int STAGES, int CLUSTER, int PARTS> struct WgmmaTile {
  enum {
    BM = 128, DEPTH = 64, GROUP = 128, WARPS = 8,      /* WARPS that multiply */
    PIECE = DEPTH * 128,                               /* bytes of 64 elements of C's side */
    A_BYTES = BM * 128, STAGE = A_BYTES + BN * 128,
    K_TILES = (K + DEPTH - 1) / DEPTH,
    PART = 64 / CLUSTER,                               /* of 64 rows of B in memory, those that a block copies */
    TILES_M = (M + BM * CLUSTER - 1) / (BM * CLUSTER) * CLUSTER, TILES_N = (N + BN - 1) / BN, TILES = PARTS * BATCH * TILES_M * TILES_N
  };
  typedef RingPlace<STAGES> Place;
  INL_MEMBER int row(int i) { return ((int)threadIdx.x / 32 - 4) * 16 + i * 8 + (int)threadIdx.x % 32 / 4; }
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

  /* The first warpgroup. */
  INL_MEMBER void copy(char *ring, uint64_t *full, uint64_t *empty, const GcTensorMap *a, const GcTensorMap *b,
                       int batch = BATCH, int rows = M) {
    registers_release<40>();
    if (threadIdx.x != 0) return;
    const int rank = CLUSTER > 1 ? cluster_rank() : 0;
    Place p = {0, 0};
    for (int tile = (int)blockIdx.x; tile < TILES; tile += (int)gridDim.x) {
      int part, bt, m0, n0;
      tile_coords(tile, part, bt, m0, n0);
      if ((batch != BATCH && bt >= batch) || (rows != M && m0 >= rows)) continue; /* behind the extent */
#pragma unroll 1
      for (int s = 0; s < K_TILES; s++, p.step()) {
        const int k0 = (part * K_TILES + s) * DEPTH;
        char *at = ring + p.stage * STAGE;
        mbarrier_wait(empty + p.stage, p.parity ^ 1);
        mbarrier_expect(full + p.stage, STAGE);
        if (TA)
          for (int i = 0; i < BM / 64; i++) tensor_copy(at + i * PIECE, a, m0 + 64 * i, k0, bt, 0, full + p.stage);
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

  /* The other two: c is the warp's part of the next tile. */
  INL_MEMBER void multiply(f32 (&c)[2][BN / 4], char *ring, uint64_t *full, uint64_t *empty, Place &p) {
    const int group = (int)threadIdx.x / GROUP - 1;
    const bool leads = threadIdx.x % 32 == 0;
    uint64_t *last = empty;
#pragma unroll 1
    for (int s = 0; s < K_TILES; s++, p.step()) {
      char *at = ring + p.stage * STAGE + group * PIECE, *bt = ring + p.stage * STAGE + A_BYTES;
      mbarrier_wait(full + p.stage, p.parity);
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < 4; i++) /* 32 bytes of the depth each */
        E::template fma<TA, !TB>(c, wgmma_matrix(at + (TA ? 2048 : 32) * i, PIECE), wgmma_matrix(bt + (TB ? 32 : 2048) * i, PIECE),
                                 s + i);
      wgmma_commit();
      wgmma_wait<1>();
      if (leads && s > 0) release(last);
      last = empty + p.stage;
    }
    wgmma_wait<0>();
    if (leads) release(last);
  }
};
