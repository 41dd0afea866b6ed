/* Products on tensor cores with a quantized matrix B: those of tensor.h, but a block makes B's numbers on their way to shared
   memory (gemm_quantized.h), of 2 bytes each. While a k-tile is multiplied, numbers of the next one are stored, and the
   integers and scales of the two behind it are on their way to registers. Contract: as of tensor.h; a number is that of
   dequantize, so the bits are those of the product of the dequantized matrix. */
/* section QuantizedTensorTile */
template <typename I, typename E, typename Q, typename P, int M, int N, int K, int GROUP, bool TB, int BM, int BN, int WM, int WN,
          int COPY_A, int COPY_B, int A_ROW, int B_ROW, bool ANY_M>
struct QuantizedTensorTile : TensorTile<I, E, M, N, K, false, TB, BM, BN, WM, WN, COPY_A, 16, A_ROW, B_ROW, ANY_M> {
  typedef TensorTile<I, E, M, N, K, false, TB, BM, BN, WM, WN, COPY_A, 16, A_ROW, B_ROW, ANY_M> Tile;
  typedef typename Tile::A A;
  typedef typename Tile::B B;
  enum { STAGES = Tile::STAGES, DEPTH = Tile::DEPTH, THREADS = Tile::THREADS, TM = Tile::TM, TN = Tile::TN, AHEAD = STAGES - 1 };
  typedef QuantizedSide<I, Q, Identity<f32>, GROUP, COPY_B, BN, N, K, !TB, B_ROW, DEPTH, THREADS> Side;

  INL_MEMBER void load_a(char *smem, int stage, const char *a, int m0, int k0, int rows, int depth) {
    A::template load_async<I, THREADS, COPY_A, Tile::ALL_M, Tile::ALL_K, K * Tile::S % COPY_A != 0>(
        smem + stage * A::BYTES, a + ((I)m0 * A_ROW + k0) * Tile::S, (I)A_ROW, rows - m0, (depth - k0) * Tile::S);
  }
  /* K-tile s, while numbers of the next one are made of what `next` has. */
  INL_MEMBER void step(f32 (&c)[TM][TN], char *smem, const char *a, QuantizedFrom pb, Side &next, int s, int m0, int n0, int rows,
                       int depth) {
    const int tiles = (depth + DEPTH - 1) / DEPTH;
    char *const made = smem + STAGES * A::BYTES;
    async_wait<STAGES - 2>();
    block_sync(); /* all have the k-tile, and none reads the one before */
    if (s + AHEAD < tiles) load_a(smem, (s + AHEAD) % STAGES, a, m0, (s + AHEAD) * DEPTH, rows, depth);
    async_commit();
    if (s + 1 < tiles) next.template store_packed<P, B>(made + (s + 1) % 2 * B::BYTES);
    if (s + 3 < tiles) next.load(pb, n0, (s + 3) * DEPTH, N, depth);
    Tile::step_at_once(c, smem + s % STAGES * A::BYTES, made + s % 2 * B::BYTES, 0);
    Tile::step_at_once(c, smem + s % STAGES * A::BYTES, made + s % 2 * B::BYTES, 1);
  }
  /* As of TensorTile; `smem` has STAGES k-tiles of A and two of B. */
  INL_MEMBER void run(f32 (&c)[TM][TN], char *smem, const uint16_t *pa, QuantizedFrom pb, int m0, int n0, int rows = M,
                      int depth = K) {
    const int tiles = (depth + DEPTH - 1) / DEPTH;
    const char *const a = (const char *)pa;
    Side b, other; /* of k-tiles of even numbers and of odd ones */
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) c[i][j] = 0;
    b.load(pb, n0, 0, N, depth);
    if (tiles > 1) other.load(pb, n0, DEPTH, N, depth);
#pragma unroll
    for (int s = 0; s < AHEAD; s++) {
      if (s < tiles) load_a(smem, s, a, m0, s * DEPTH, rows, depth);
      async_commit();
    }
    b.template store_packed<P, B>(smem + STAGES * A::BYTES);
    if (tiles > 2) b.load(pb, n0, 2 * DEPTH, N, depth);
#pragma unroll 1
    for (int s = 0; s < tiles; s += 2) {
      step(c, smem, a, pb, other, s, m0, n0, rows, depth);
      if (s + 1 < tiles) step(c, smem, a, pb, b, s + 1, m0, n0, rows, depth);
    }
  }
};
