/* Products of at most 16 rows on tensor cores with a quantized matrix B: those of thin_tensor.h, but a thread makes the
   numbers of an operand b in registers, of integers and scales that it reads from memory. Contract: as of thin_tensor.h; a
   number is that of dequantize, so the bits are those of the product of the dequantized matrix. Integers are bytes [K, N],
   of 4 bits two of an even depth in each; scales lie as in thin_quantized.h, of groups of 8 or more.
   V: bytes of a load, one for each of the thread's columns. AHEAD: steps whose loads are under way, a multiple of 4.
   P: makes two numbers (quantized_pairs.h). */
/* section QuantizedThinTensorTile */
template <typename I, typename E, typename Q, typename P, int M, int N, int K, int GROUP, int V, int WARPS, int AHEAD,
          int A_ROW, int B_ROW, int LENGTH>
struct QuantizedThinTensorTile : ThinTensorTile<I, E, M, N, K, false, V, WARPS, A_ROW, B_ROW, LENGTH> {
  typedef ThinTensorTile<I, E, M, N, K, false, V, WARPS, A_ROW, B_ROW, LENGTH> Tile;
  typedef typename E::Stored Stored;
  enum {
    STEP = Tile::STEP, COLUMNS = Tile::COLUMNS, TM = Tile::TM, PART = Tile::PART,
    HALF = STEP / 2,                                     /* of a step, of which a thread has two adjacent numbers */
    LOADS = 2 / Q::NUMBERS, WORDS = V < 4 ? 1 : V / 4,   /* of a half; of a load */
    DEPTH = AHEAD * STEP,
    UNIT = GROUP < 64 ? GROUP : 64,                      /* of the depth, with one scale: parts begin at multiples of 64 */
    REST = !LENGTH ? DEPTH : PART % DEPTH > Tile::LAST_PART % DEPTH ? PART % DEPTH : Tile::LAST_PART % DEPTH,
    REST_STEPS = REST ? (REST + STEP - 1) / STEP : 1
  };
  /* Where operands lie from number k0 of the depth on, B and its scales in the thread's columns, if it has some: inside. */
  struct From {
    const Stored *a;
    const uint8_t *b;
    const uint16_t *scale;
    int count, k0;
    bool inside;
  };
  /* The thread's two numbers of half a step, in its column j. */
  INL_MEMBER uint32_t made(const Vec<uint32_t, WORDS> (&b)[LOADS], const Vec<uint16_t, V> &scales, int j) {
    const uint32_t integers =
        Q::template pair<P>(b[0].at[j / 4], j % 4, 0, b[LOADS - 1].at[j / 4], j % 4, Q::NUMBERS - 1);
    return P::scaled(integers, P::scales(scales.at[j], scales.at[j]));
  }
  /* As of ThinTensorTile. */
  template <bool WHOLE, int COUNT> INL_MEMBER void steps(f32 (&acc)[V][4], const From &from, int left) {
    enum { UNITS = (COUNT * STEP + UNIT - 1) / UNIT };
    const int lane = (int)threadIdx.x % 32, group = lane / 4, first = lane % 4 * 2;
    Vec<uint32_t, WORDS> b[COUNT * 2][LOADS];
    Vec<uint16_t, V> scale[UNITS];
    uint32_t a[COUNT][4];
#pragma unroll
    for (int h = 0; h < COUNT * 2; h++)
#pragma unroll
      for (int i = 0; i < LOADS; i++) {
        const int k = h * HALF + first + i;
        const uint8_t *const at = from.b + (I)(k / Q::NUMBERS) * B_ROW;
#pragma unroll
        for (int l = 0; l < WORDS; l++) b[h][i].at[l] = 0;
        if (!from.inside || !(WHOLE || k < left)) continue;
        if (V < 4)
          b[h][i].at[0] = *(const uint16_t *)at;
        else
          b[h][i] = *(const Vec<uint32_t, WORDS> *)at;
      }
#pragma unroll
    for (int u = 0; u < UNITS; u++) {
#pragma unroll
      for (int l = 0; l < V; l++) scale[u].at[l] = 0;
      if (from.inside && (WHOLE || u * UNIT < left))
        scale[u] = *(const Vec<uint16_t, V> *)(from.scale + (I)((from.k0 + u * UNIT) / GROUP) * N);
    }
#pragma unroll
    for (int s = 0; s < COUNT; s++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int row = group + i % 2 * 8, k = s * STEP + first + i / 2 * HALF;
        a[s][i] = i % 2 < Tile::HALVES && row < from.count ? Tile::template pair<WHOLE>(from.a, row, k, left) : 0;
      }
#pragma unroll
    for (int s = 0; s < COUNT; s++) {
      if (!WHOLE && s * STEP >= left) break;
#pragma unroll
      for (int j = 0; j < V; j++) {
        const uint32_t fb[2] = {made(b[s * 2], scale[s * STEP / UNIT], j),
                                made(b[s * 2 + 1], scale[(s * STEP + HALF) / UNIT], j)};
        E::fma(acc[j][0], acc[j][1], acc[j][2], acc[j][3], a[s], fb);
      }
    }
  }
  INL_MEMBER void part(f32 (&to)[M][COLUMNS], const Stored *pa, QuantizedFrom pb, int n0, int first, int end, int count) {
    const int n = n0 + (int)threadIdx.x % 32 / 4 * V;
    f32 acc[V][4];
#pragma unroll
    for (int j = 0; j < V; j++)
#pragma unroll
      for (int l = 0; l < 4; l++) acc[j][l] = 0;
    From from = {pa + first, pb.q + ((I)(first / Q::NUMBERS) * B_ROW + n), pb.s + n, count, first, N % COLUMNS == 0 || n < N};
#pragma unroll 1
    for (; PART >= DEPTH && from.k0 + DEPTH <= end; from.k0 += DEPTH) {
      steps<true, AHEAD>(acc, from, DEPTH);
      from.a += DEPTH, from.b += (I)(DEPTH / Q::NUMBERS) * B_ROW;
    }
    if (REST && from.k0 < end) steps<false, REST_STEPS>(acc, from, end - from.k0);
    Tile::keep(to, acc);
  }
  /* As of ThinTensorTile. */
  __device__ __forceinline__ void run(f32 (&c)[TM][2], const Stored *pa, QuantizedFrom pb, int n0, int count, int length) {
    Tile::add(c, length, [=](f32 (&to)[M][COLUMNS], int first, int end) { part(to, pa, pb, n0, first, end, count); });
  }
};
