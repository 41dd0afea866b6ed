/* Products on tensor cores: C = op(A) op(B) with operands of 2 bytes (f16, bf16) or 4 (f32 numbers of
   at most 11 significant bits), sums in f32. A block does BM x BN of C; its warps, WARPS_M x WARPS_N of
   them, WM x WN each. Tiles of the depth (k-tiles), 64 bytes of every row or column, go through a pipeline of
   STAGES in shared memory: while one is multiplied, the next ones are copied (cp.async). Contract: rows of A and B in
   memory begin at multiples of COPY bytes, 2 to 16; what lies outside of a matrix counts as zero; an element of C is a
   sum in an order that the shape alone gives.

   In shared memory an operand keeps the order that it has in global memory. Its chunks of 16 bytes are
   swizzled (permuted in each row), so that the eight rows that one ldmatrix reads lie in different banks. An
   operand stored along the depth has rows of 4 chunks, two of them side by side in the banks. An operand stored
   across the depth (A transposed, B not) has a row for each step of it; in f32, which matrix_load_t does not
   transpose, a warp reads 8 columns of 4 rows, word by word.

   Parts are separate so that other contractions can use them: SmemTile loads an operand from any address
   function of its rows, TensorTile multiplies, and the caller reads c[i][j]. */
/* section TensorTile SmemTile MmaBf16 MmaF16 MmaTf32 */
struct MmaBf16 {
  typedef uint16_t Stored;
  INL_MEMBER void fma(f32 &c0, f32 &c1, f32 &c2, f32 &c3, const uint32_t *a, const uint32_t *b) {
    tensor_fma_bf16(c0, c1, c2, c3, a, b);
  }
  INL_MEMBER uint32_t pack(f32 low, f32 high) { return pack_bf16(low, high); }
  /* word i of 16 bytes of operand elements, from f32 */
  INL_MEMBER uint32_t rounded(const f32 *x, int i) { return pack_bf16(x[2 * i], x[2 * i + 1]); }
};
struct MmaF16 {
  typedef uint16_t Stored;
  INL_MEMBER void fma(f32 &c0, f32 &c1, f32 &c2, f32 &c3, const uint32_t *a, const uint32_t *b) {
    tensor_fma_f16(c0, c1, c2, c3, a, b);
  }
  INL_MEMBER uint32_t pack(f32 low, f32 high) { return pack_f16(low, high); }
  INL_MEMBER uint32_t rounded(const f32 *x, int i) { return pack_f16(x[2 * i], x[2 * i + 1]); }
};
struct MmaTf32 {
  typedef f32 Stored;
  INL_MEMBER void fma(f32 &c0, f32 &c1, f32 &c2, f32 &c3, const uint32_t *a, const uint32_t *b) {
    tensor_fma_tf32(c0, c1, c2, c3, a, b);
  }
  INL_MEMBER uint32_t rounded(const f32 *x, int i) { return round_tf32(x[i]); }
  INL_MEMBER void round(uint32_t (&r)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) r[i] = round_tf32(bits_f32((i32)r[i]));
  }
};

/* An operand's k-tile: EDGE rows or columns of C's side, DEPTH elements of the depth. ACROSS: stored
   with the depth as rows. S: bytes of an element. */
template <int S, int EDGE, bool ACROSS> struct SmemTile {
  enum {
    DEPTH = 64 / S,
    ROWS = ACROSS ? DEPTH : EDGE,
    ROW_BYTES = ACROSS ? EDGE * S : 64,
    BYTES = ROWS * ROW_BYTES
  };
  /* where byte `at` of a row lies */
  INL_MEMBER int swizzle(int row, int at) {
    const int chunk = ROW_BYTES == 64 ? row >> 1 & 3 : S == 2 ? row & 7 : (row & 3) << 1;
    return row * ROW_BYTES + (at ^ chunk << 4);
  }
  /* Begins copies of the k-tile whose first element is `from`, of a matrix with rows of `stride`
     elements, of which `rows` and `bytes` of each are inside. ALL_ROWS, ALL_BYTES: certainly all. PARTS: the last copy
     of a row may have padding behind its bytes. */
  template <typename I, int THREADS, int COPY, bool ALL_ROWS, bool ALL_BYTES, bool PARTS = false>
  INL_MEMBER void load_async(char *to, const char *from, I stride, int rows, int bytes) {
    enum { PER_ROW = ROW_BYTES / COPY, COPIES = ROWS * PER_ROW };
#pragma unroll(COPY < 4 ? 8 : COPIES)
    for (int p = 0; p < (COPIES + THREADS - 1) / THREADS; p++) {
      const int e = (int)threadIdx.x + p * THREADS, row = e / PER_ROW, at = e % PER_ROW * COPY;
      if (COPIES % THREADS != 0 && e >= COPIES) break;
      const bool in = (ALL_ROWS || row < rows) && (ALL_BYTES || at < bytes);
      if (COPY < 4) /* too small for cp.async */
        *(uint16_t *)(to + swizzle(row, at)) = in ? *(const uint16_t *)(from + ((I)row * stride * S + at)) : 0;
      else
        async_copy<COPY>(to + swizzle(row, at), in ? from + ((I)row * stride * S + at) : from,
                         !in ? 0 : PARTS && bytes - at < COPY ? bytes - at : COPY);
    }
  }
  /* Fragments of 16 rows or columns from `first` on, in step `step` of 32 bytes of the depth: as a of
     tensor_fma; or two times b, of columns first + 0..7 and first + 8..15. */
  INL_MEMBER void fragment_a(uint32_t (&r)[4], const char *s, int first, int step) {
    const int t = (int)threadIdx.x % 32;
    if (!ACROSS) {
      matrix_load(r, s + swizzle(first + t % 16, step * 32 + t / 16 * 16));
    } else if (S == 2) {
      matrix_load_t(r, s + swizzle(step * 16 + t / 16 * 8 + t % 8, (first + t / 8 % 2 * 8) * 2));
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++)
        r[i] = *(const uint32_t *)(s + swizzle(step * 8 + t % 4 + i / 2 * 4, (first + t / 4 + i % 2 * 8) * 4));
    }
  }
  INL_MEMBER void fragment_b(uint32_t (&r)[4], const char *s, int first, int step) {
    const int t = (int)threadIdx.x % 32;
    if (!ACROSS) {
      matrix_load(r, s + swizzle(first + t / 16 * 8 + t % 8, step * 32 + t / 8 % 2 * 16));
    } else if (S == 2) {
      matrix_load_t(r, s + swizzle(step * 16 + t / 8 % 2 * 8 + t % 8, (first + t / 16 * 8) * 2));
    } else {
#pragma unroll
      for (int i = 0; i < 4; i++)
        r[i] = *(const uint32_t *)(s + swizzle(step * 8 + t % 4 + i % 2 * 4, (first + t / 4 + i / 2 * 8) * 4));
    }
  }
};

/* I: of positions. TA: A is stored [K, M]; TB: B is stored [N, K]. COPY_A, COPY_B: bytes of a copy. A_ROW, B_ROW:
   elements from one stored row to the next. ANY_M, ANY_K: the run decides how many rows there are and how much depth.
   ROUND_A, ROUND_B: the operand is rounded to tf32 as it comes from shared memory. */
template <typename I, typename E, int M, int N, int K, bool TA, bool TB, int BM, int BN, int WM, int WN,
          int COPY_A, int COPY_B, int A_ROW = TA ? M : K, int B_ROW = TB ? K : N, bool ANY_M = false, bool ANY_K = false, bool ROUND_A = false,
          bool ROUND_B = false>
struct TensorTile {
  typedef typename E::Stored Stored;
  typedef SmemTile<sizeof(Stored), BM, TA> A;
  typedef SmemTile<sizeof(Stored), BN, !TB> B;
  enum {
    S = sizeof(Stored), STAGES = 4, STEPS = 2, DEPTH = A::DEPTH,
    WARPS_N = BN / WN, THREADS = BM / WM * WARPS_N * 32,
    MI = WM / 16, NI = WN / 8, /* instructions of a warp in a step */
    TM = 2 * MI, TN = 2 * NI,  /* rows and columns of a thread */
    EARLY_FRAGMENTS = S == 2 || (!TA && TB), /* operands are read a step early; f32 across the depth lacks registers */
    STAGE = A::BYTES + B::BYTES, SHARED = STAGES * STAGE,
    ALL_M = M % BM == 0 && !ANY_M, ALL_N = N % BN == 0, ALL_K = K % DEPTH == 0 && !ANY_K /* in whole tiles */
  };
  INL_MEMBER int warp_m() { return (int)threadIdx.x / 32 / WARPS_N * WM; }
  INL_MEMBER int warp_n() { return (int)threadIdx.x / 32 % WARPS_N * WN; }
  INL_MEMBER int row(int i) { return warp_m() + i / 2 * 16 + i % 2 * 8 + (int)threadIdx.x % 32 / 4; }
  /* the first column of group q of two */
  INL_MEMBER int col(int q) { return warp_n() + q * 8 + (int)threadIdx.x % 4 * 2; }

  /* Block `at` of C, rasterised in bands of eight rows of tiles, column by column: the blocks that run at the same
     time read few rows of A and few columns of B. */
  INL_MEMBER void tile_coords(int at, int &m0, int &n0) {
    enum { TILES_M = (M + BM - 1) / BM, TILES_N = (N + BN - 1) / BN, BAND = 8 };
    const int band = at / (BAND * TILES_N), in = at % (BAND * TILES_N);
    const int rows = TILES_M - band * BAND < BAND ? TILES_M - band * BAND : BAND;
    m0 = (band * BAND + in % rows) * BM;
    n0 = in / rows * BN;
  }

  INL_MEMBER void load_async(char *stage, const char *a, const char *b, int m0, int n0, int k0, int rows, int depth) {
    const int m = rows - m0, n = N - n0, k = depth - k0;
    const bool parts_a = (TA ? ANY_M : ANY_K) || (TA ? M : K) * S % COPY_A != 0;
    const bool parts_b = (TB && ANY_K) || (TB ? K : N) * S % COPY_B != 0;
    if (TA)
      A::template load_async<I, THREADS, COPY_A, ALL_K, ALL_M, parts_a>(
          stage, a + ((I)k0 * A_ROW + m0) * S, (I)A_ROW, k, m * S);
    else
      A::template load_async<I, THREADS, COPY_A, ALL_M, ALL_K, parts_a>(
          stage, a + ((I)m0 * A_ROW + k0) * S, (I)A_ROW, m, k * S);
    if (TB)
      B::template load_async<I, THREADS, COPY_B, ALL_N, ALL_K, parts_b>(
          stage + A::BYTES, b + ((I)n0 * B_ROW + k0) * S, (I)B_ROW, n, k * S);
    else
      B::template load_async<I, THREADS, COPY_B, ALL_K, ALL_N, parts_b>(
          stage + A::BYTES, b + ((I)k0 * B_ROW + n0) * S, (I)B_ROW, k, n * S);
  }
  INL_MEMBER void fragment_a(uint32_t (&r)[4], const char *s, int first, int step) {
    A::fragment_a(r, s, first, step);
    if constexpr (ROUND_A) E::round(r);
  }
  INL_MEMBER void fragment_b(uint32_t (&r)[4], const char *s, int first, int step) {
    B::fragment_b(r, s, first, step);
    if constexpr (ROUND_B) E::round(r);
  }
  INL_MEMBER void fragments(uint32_t (&fa)[MI][4], uint32_t (&fb)[NI / 2][4], const char *stage, int step) {
#pragma unroll
    for (int i = 0; i < MI; i++) fragment_a(fa[i], stage, warp_m() + i * 16, step);
#pragma unroll
    for (int j = 0; j < NI / 2; j++) fragment_b(fb[j], stage + A::BYTES, warp_n() + j * 16, step);
  }
  INL_MEMBER void multiply_row(f32 (&c)[TM][TN], int i, const uint32_t (&fa)[4], const uint32_t (&fb)[NI / 2][4]) {
#pragma unroll
    for (int j = 0; j < NI; j++)
      E::fma(c[2 * i][2 * j], c[2 * i][2 * j + 1], c[2 * i + 1][2 * j], c[2 * i + 1][2 * j + 1], fa,
             &fb[j / 2][j % 2 * 2]);
  }
  INL_MEMBER void multiply(f32 (&c)[TM][TN], const uint32_t (&fa)[MI][4], const uint32_t (&fb)[NI / 2][4]) {
#pragma unroll
    for (int i = 0; i < MI; i++) multiply_row(c, i, fa[i], fb);
  }
  /* A step whose operands are read as they are needed, from k-tiles a and b. */
  INL_MEMBER void step_at_once(f32 (&c)[TM][TN], const char *a, const char *b, int step) {
    uint32_t fa[4], fb[NI / 2][4];
#pragma unroll
    for (int j = 0; j < NI / 2; j++) fragment_b(fb[j], b, warp_n() + j * 16, step);
#pragma unroll
    for (int i = 0; i < MI; i++) {
      fragment_a(fa, a, warp_m() + i * 16, step);
      multiply_row(c, i, fa, fb);
    }
  }
  INL_MEMBER void step_at_once(f32 (&c)[TM][TN], const char *stage, int step) {
    step_at_once(c, stage, stage + A::BYTES, step);
  }
  /* c: the block's part of the product that starts at row m0, column n0; `smem` has SHARED bytes. */
  INL_MEMBER void run(f32 (&c)[TM][TN], char *smem, const Stored *pa, const Stored *pb, int m0, int n0,
                      int rows = M, int depth = K) {
    const int tiles = (depth + DEPTH - 1) / DEPTH;
    const char *a = (const char *)pa, *b = (const char *)pb;
    uint32_t fa[2][MI][4], fb[2][NI / 2][4];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) c[i][j] = 0;
    if (K == 0) return;
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
      if (s < tiles) load_async(smem + s * STAGE, a, b, m0, n0, s * DEPTH, rows, depth);
      async_commit();
    }
    async_wait<STAGES - 2>();
    block_sync();
    if (EARLY_FRAGMENTS) fragments(fa[0], fb[0], smem, 0);
    int now = 0, into = STAGES - 1; /* stages read and filled */
#pragma unroll 1
    for (int s = 0; s < tiles; s++) {
      if (s + STAGES - 1 < tiles) load_async(smem + into * STAGE, a, b, m0, n0, (s + STAGES - 1) * DEPTH, rows, depth);
      async_commit();
      into = now;
      if (EARLY_FRAGMENTS) {
        fragments(fa[1], fb[1], smem + now * STAGE, 1);
        multiply(c, fa[0], fb[0]);
      } else {
        step_at_once(c, smem + now * STAGE, 0);
        step_at_once(c, smem + now * STAGE, 1);
      }
      async_wait<STAGES - 2>();
      block_sync();
      now = now + 1 == STAGES ? 0 : now + 1;
      if (!EARLY_FRAGMENTS) continue;
      if (s + 1 < tiles) fragments(fa[0], fb[0], smem + now * STAGE, 0);
      multiply(c, fa[1], fb[1]);
    }
  }
};
