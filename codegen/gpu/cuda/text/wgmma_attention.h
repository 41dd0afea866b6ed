/* Attention on the tensor cores of sm_90a, and its gradients without atomics: the division of work of FlashAttention-3
   (Shah et al., 2024). A block of threads does ROWS queries, 64 of each warpgroup that multiplies, against STEP keys at
   a time; of the gradients with respect to keys and values, ROWS keys against STEP queries. The first thread of the last
   warpgroup copies tiles by tensor maps (TMA): the block's own ones, and those of a step into a ring of STAGES in shared
   memory. Scores are products of two tiles (wgmma); weights, and gradients of scores, stay in registers, as the left
   operand of the next product. While one warpgroup computes them, the tensor cores have the products of another, and
   those of the step before. Two mbarriers a stage say when it is full and when every warp has read it.
   Contract: q, k, v and dy begin the copy of 64 rows and 64 columns of a head to shared memory, with zeros for what lies
   outside; statistics likewise of STEP numbers. Sums are in f32, in an order that DIM and WIDE alone give, that of TensorAttention; weights and
   gradients of scores are rounded to the operands' dtype. E: WgmmaBf16 or WgmmaF16. */
/* section WgmmaAttention WgmmaRows */
/* A tile: 64 columns after 64 columns, each with 128 bytes of every row, swizzled in eight rows. */
template <int ROWS, int WIDTH> struct WgmmaRows {
  enum {
    STEPS = (WIDTH + 15) / 16, /* of 16 elements of the depth */
    PIECES = (WIDTH + 63) / 64,
    PIECE = ROWS * 128,
    BYTES = PIECES * PIECE
  };
  template <typename Copy> INL_MEMBER void load(char *to, const Copy &copy, int row, int head, uint64_t *full) {
#pragma unroll
    for (int p = 0; p < PIECES; p++)
#pragma unroll
      for (int r = 0; r < ROWS; r += 64) copy(to + p * PIECE + r * 128, p * 64, row + r, head, full);
  }
  /* Rows from `first` on, in a step of their elements; columns, in a step of the rows. */
  INL_MEMBER uint64_t along(const char *tile, int first, int step) {
    return wgmma_matrix(tile + step / 4 * PIECE + first * 128 + step % 4 * 32, PIECE);
  }
  INL_MEMBER uint64_t across(const char *tile, int step) { return wgmma_matrix(tile + step * 2048, PIECE); }
};

template <typename E, int TQ, int SK, int DIM, int WIDE, int GROUPS, int RESIDENT, int STEP, int STAGES, bool CAUSAL,
          typename AT>
struct WgmmaAttention : AttentionScores<E, CAUSAL, 2> {
  typedef AttentionScores<E, CAUSAL, 2> Own;
  typedef typename E::Stored Stored;
  typedef RingPlace<STAGES> Place;
  enum {
    GROUP = 128, ROWS = 64 * GROUPS, PRODUCER = GROUP * GROUPS, /* its first thread */
    /* Registers of a thread of the producer, and of those that multiply: what is left of 65,536, of half of them where
       one warpgroup multiplies and the multiprocessor holds two blocks. Two warpgroups alone have 255 each. */
    MOVES = GROUPS > 1 || RESIDENT > 1, FEW = 40, MANY = GROUPS == 1 ? 216 : 232,
    NJ = STEP / 4 /* a thread's columns of a step's keys or queries */
  };
  typedef WgmmaRows<ROWS, DIM> RowsD; /* this block's own queries or keys */
  typedef WgmmaRows<ROWS, WIDE> RowsE;
  typedef WgmmaRows<STEP, DIM> StepD; /* the step's */
  typedef WgmmaRows<STEP, WIDE> StepE;
  enum {
    DIMS = StepD::PIECES * 16, WIDES = StepE::PIECES * 16, /* a thread's columns of results */
    STAGE = StepD::BYTES + StepE::BYTES, STATISTICS = 8 * STEP
  };
  char *smem;
  uint64_t *full, *empty, *ready; /* ready: the block's own tiles */

  /* All threads of the block. */
  __device__ __forceinline__ void start() {
    if (threadIdx.x == 0) {
      for (int i = 0; i < STAGES; i++) {
        mbarrier_init(full + i, 1);
        mbarrier_init(empty + i, 4 * GROUPS);
      }
      mbarrier_init(ready, 1);
      mbarrier_fence();
    }
    block_sync();
  }
  /* The last warpgroup: `own` begins copies of OWN bytes, `step` those of step i, of STEP_BYTES, into a stage. */
  template <int OWN, int STEP_BYTES, typename Load, typename LoadStep>
  __device__ __forceinline__ void produce(int steps, const Load &own, const LoadStep &step) {
    if (MOVES) registers_release<FEW>();
    if (threadIdx.x != PRODUCER) return;
    mbarrier_expect(ready, OWN);
    own();
    Place p = {0, 0};
#pragma unroll 1
    for (int i = 0; i < steps; i++, p.step()) {
      mbarrier_wait(empty + p.stage, p.parity ^ 1);
      mbarrier_expect(full + p.stage, STEP_BYTES);
      step(i, p.stage, full + p.stage);
    }
  }
  /* A warp has read the stage. */
  __device__ __forceinline__ void release(uint64_t *stage) {
    if (threadIdx.x % 32 == 0) mbarrier_arrive(stage);
  }
  INL_MEMBER int group() { return (int)threadIdx.x / GROUP; }
  /* The keys of all that the warpgroup's queries, from i0 on, see. */
  INL_MEMBER int last_key(int i0, int rows) { return CAUSAL && i0 + rows < SK ? i0 + rows : SK; }

  /* Begins s = the warpgroup's rows of one tile times all rows of another, over the depth. */
  template <typename Rows, typename Other> INL_MEMBER void scores(f32 (&s)[2][NJ], const char *own, const char *other) {
#pragma unroll
    for (int i = 0; i < Rows::STEPS; i++)
      E::template fma<0, 0>(s, Rows::along(own, 64 * group(), i), Other::along(other, 0, i), i);
  }
  INL_MEMBER void left_operands(uint32_t (&a)[STEP / 16][4], const f32 (&s)[2][NJ]) {
#pragma unroll
    for (int k = 0; k < STEP / 16; k++) Own::left_operand(a[k], s, 0, k);
    wgmma_hold(a);
  }
  /* Begins y += a times the tile's columns. */
  template <typename Tile, int N> INL_MEMBER void accumulate(f32 (&y)[2][N], const uint32_t (&a)[STEP / 16][4], const char *tile) {
#pragma unroll
    for (int k = 0; k < STEP / 16; k++) E::template fma_left<1>(y, a[k], Tile::across(tile, k));
  }

  /* Queries from i0 on of head h, whose keys are of head `shared`; y and lse of it. */
  template <typename Q, typename K, typename V>
  __device__ __forceinline__ void forward(const Q &q, const K &k, const V &v, Stored *out, f32 *lse,
                                          const AttentionParams<f32> &params, int i0, int h, int shared) {
    char *const ring = smem + RowsD::BYTES;
    start();
    if (threadIdx.x >= PRODUCER) {
      produce<RowsD::BYTES, STAGE>((last_key(i0, ROWS) + STEP - 1) / STEP,
                                   [&]() { RowsD::load(smem, q, i0, h, ready); },
                                   [&](int i, int stage, uint64_t *b) {
                                     StepD::load(ring + stage * STAGE, k, i * STEP, shared, b);
                                     StepE::load(ring + stage * STAGE + StepD::BYTES, v, i * STEP, shared, b);
                                   });
      return;
    }
    if (MOVES) registers_take<MANY>();
    const int first = i0 + 64 * group(), end = last_key(first, 64);
    f32 y[2][WIDES], row_max[2], row_sum[2], by[2];
    Own::clear(y);
    Own::fill(row_max, -__builtin_inff());
    Own::fill(row_sum, 0);
    Place p = {0, 0};
    uint64_t *last = empty;
    mbarrier_wait(ready, 0);
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += STEP, p.step()) {
      const char *stage = ring + p.stage * STAGE;
      f32 s[2][NJ];
      mbarrier_wait(full + p.stage, p.parity);
      wgmma_fence();
      scores<RowsD, StepD>(s, smem, stage);
      wgmma_commit();
      wgmma_wait<0>(); /* for the sums of the step before, too */
      wgmma_hold(s);
      wgmma_hold(y);
      if (j0 > 0) release(last);
      last = empty + p.stage;
      Own::scale(s, params, Own::is_partial(params, first, j0, STEP), i0, j0);
      Own::softmax(s, row_max, row_sum, y);
      uint32_t a[STEP / 16][4];
      left_operands(a, s);
      wgmma_hold(y);
      wgmma_fence();
      accumulate<StepE>(y, a, stage + StepD::BYTES);
      wgmma_commit();
    }
    wgmma_wait<0>();
    wgmma_hold(y);
    Own::finish(by, row_max, row_sum, lse, i0, TQ);
    Own::template store<WIDE, AT::y>(out, y, by, i0, TQ, 0);
  }

  template <typename Q, typename K, typename V, typename Y>
  __device__ __forceinline__ void backward_q(const Q &q, const K &k, const V &v, const Y &dy, const f32 *lse,
                                             const f32 *delta, Stored *dq, const AttentionParams<f32> &params, int i0,
                                             int h, int shared) {
    char *const own_dy = smem + RowsD::BYTES, *const ring = own_dy + RowsE::BYTES;
    start();
    if (threadIdx.x >= PRODUCER) {
      produce<RowsD::BYTES + RowsE::BYTES, STAGE>((last_key(i0, ROWS) + STEP - 1) / STEP,
                                                  [&]() {
                                                    RowsD::load(smem, q, i0, h, ready);
                                                    RowsE::load(own_dy, dy, i0, h, ready);
                                                  },
                                                  [&](int i, int stage, uint64_t *b) {
                                                    StepD::load(ring + stage * STAGE, k, i * STEP, shared, b);
                                                    StepE::load(ring + stage * STAGE + StepD::BYTES, v, i * STEP, shared, b);
                                                  });
      return;
    }
    if (MOVES) registers_take<MANY>();
    const int first = i0 + 64 * group(), end = last_key(first, 64);
    f32 y[2][DIMS], l[2], d[2], by[2];
    Own::clear(y);
    Own::fill(by, params.scale);
    Own::load_statistics(l, d, lse, delta, i0, TQ);
    Place p = {0, 0};
    uint64_t *last = empty;
    mbarrier_wait(ready, 0);
#pragma unroll 1
    for (int j0 = 0; j0 < end; j0 += STEP, p.step()) {
      const char *stage = ring + p.stage * STAGE;
      f32 s[2][NJ], w[2][NJ];
      mbarrier_wait(full + p.stage, p.parity);
      wgmma_fence();
      scores<RowsD, StepD>(s, smem, stage);
      scores<RowsE, StepE>(w, own_dy, stage + StepD::BYTES);
      wgmma_commit();
      wgmma_wait<0>(); /* for the sums of the step before, too */
      wgmma_hold(s);
      wgmma_hold(w);
      if (j0 > 0) release(last);
      last = empty + p.stage;
      Own::gradients_of_queries(s, w, params, l, d, Own::is_partial(params, first, j0, STEP), i0, j0);
      uint32_t a[STEP / 16][4];
      left_operands(a, w);
      wgmma_hold(y);
      wgmma_fence();
      accumulate<StepD>(y, a, stage);
      wgmma_commit();
    }
    wgmma_wait<0>();
    wgmma_hold(y);
    Own::template store<DIM, AT::dq>(dq, y, by, i0, TQ, 0);
  }

  /* Keys from j0 on of head h, and its values, from all `group` heads of queries from head `queries` on; mask_of gives
     the mask of the g-th of them, statistics begins the copy of a step's lse and delta, from a query of all heads on. Rows
     of scores are keys here, columns queries. */
  template <typename Q, typename K, typename V, typename Y, typename Statistics, typename MaskOf>
  __device__ __forceinline__ void backward_kv(const Q &q, const K &k, const V &v, const Y &dy, const Statistics &statistics,
                                              Stored *dk, Stored *dv, const AttentionParams<f32> &params, int heads,
                                              int j0, int h, int queries, const MaskOf &mask_of) {
    char *const own_v = smem + RowsD::BYTES, *const ring = own_v + RowsE::BYTES, *const numbers = ring + STAGES * STAGE;
    const int start_row = CAUSAL ? j0 / STEP * STEP : 0, blocks = (TQ - start_row + STEP - 1) / STEP;
    start();
    if (threadIdx.x >= PRODUCER) {
      produce<RowsD::BYTES + RowsE::BYTES, STAGE + STATISTICS>(
          heads * blocks,
          [&]() {
            RowsD::load(smem, k, j0, h, ready);
            RowsE::load(own_v, v, j0, h, ready);
          },
          [&](int i, int stage, uint64_t *b) {
            const int at = start_row + i % blocks * STEP, head = queries + i / blocks;
            StepD::load(ring + stage * STAGE, q, at, head, b);
            StepE::load(ring + stage * STAGE + StepD::BYTES, dy, at, head, b);
            statistics(numbers + stage * STATISTICS, numbers + stage * STATISTICS + 4 * STEP, head * TQ + at, b);
          });
      return;
    }
    if (MOVES) registers_take<MANY>();
    const int first = j0 + 64 * group();
    f32 y[2][DIMS], z[2][WIDES], by[2], one[2];
    Own::clear(y);
    Own::clear(z);
    Own::fill(by, params.scale);
    Own::fill(one, 1);
    Place p = {0, 0};
    mbarrier_wait(ready, 0);
#pragma unroll 1
    for (int i = 0; i < heads * blocks; i++, p.step()) {
      const char *stage = ring + p.stage * STAGE;
      const f32 *l = (const f32 *)(numbers + p.stage * STATISTICS);
      const int i0 = start_row + i % blocks * STEP;
      AttentionParams<f32> own = params;
      own.mask = mask_of(i / blocks);
      mbarrier_wait(full + p.stage, p.parity);
      if (CAUSAL && i0 + STEP <= first) { /* none of these queries sees a key of the warpgroup */
        release(empty + p.stage);
        continue;
      }
      f32 s[2][NJ], w[2][NJ];
      wgmma_fence();
      scores<RowsD, StepD>(s, smem, stage);
      scores<RowsE, StepE>(w, own_v, stage + StepD::BYTES);
      wgmma_commit();
      wgmma_wait<0>();
      wgmma_hold(s);
      wgmma_hold(w);
      const bool partial = own.mask || i0 + STEP > TQ || (CAUSAL && first + 63 > i0);
      Own::gradients_of_keys(s, w, own, l, l + STEP, partial, i0, j0, TQ);
      uint32_t a[STEP / 16][4], b[STEP / 16][4];
      left_operands(a, s);
      left_operands(b, w);
      wgmma_hold(y);
      wgmma_hold(z);
      wgmma_fence();
      accumulate<StepE>(z, a, stage + StepD::BYTES);
      accumulate<StepD>(y, b, stage);
      wgmma_commit();
      wgmma_wait<0>();
      warp_sync(); /* all threads have read the statistics */
      release(empty + p.stage);
    }
    wgmma_hold(y);
    wgmma_hold(z);
    Own::template store<DIM, AT::dk>(dk, y, by, j0, SK, 0);
    Own::template store<WIDE, AT::dv>(dv, z, one, j0, SK, 0);
  }
};
