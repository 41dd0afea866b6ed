/* Products of few rows with a quantized matrix, limited by the memory that holds its integers: as in thin.h a warp does
   32 * V columns of C over one chain of the depth, and the warps of a block chains side by side. Contract: a number is
   that of dequantize, and sums have the order of gemm.h; so the bits are those of the product of the dequantized matrix.
   Integers are bytes [K, N], or TB: [N, K], with scales of groups of GROUP of the depth in bf16; of 4 bits a byte holds
   two of the depth. M: rows of a tile. V: adjacent columns of a thread, 1 with TB; COPY: bytes of a load of B with TB,
   4 at least. */
/* section Quantized8 Quantized4 */
/* Number `half` of byte `byte` of a word: the integer, plus what makes it positive, as the last bits of 2^23, from which
   that much is taken away. */
struct Quantized8 {
  enum { NUMBERS = 1 }; /* of a byte */
  INL_MEMBER f32 number(uint32_t word, int byte, int) {
    return bits_f32((i32)choose_bytes(word ^ 0x80808080, 0x4b000000, 0x7650 + byte)) - 8388736.0f; /* 2^23 + 128 */
  }
};
struct Quantized4 {
  enum { NUMBERS = 2 };
  INL_MEMBER f32 number(uint32_t word, int byte, int half) {
    return bits_f32((i32)choose_bytes(word >> 4 * half & 0x0f0f0f0f, 0x4b000000, 0x7650 + byte)) - 8388616.0f; /* 2^23 + 8 */
  }
};
/* section Bytes */
/* What loads so many bytes into the first of a word, or into words. */
template <int N> struct Bytes;
template <> struct Bytes<1> { typedef uint8_t Type; };
template <> struct Bytes<2> { typedef uint16_t Type; };
template <> struct Bytes<4> { typedef uint32_t Type; };
/* section QuantizedTile: Quantized8 Quantized4 */
template <typename I, typename Q, int M, int N, int K, int GROUP, bool TB, int V, int WARPS, int COPY, int A_ROW>
struct QuantizedTile {
  enum {
    CHAIN = 1024, COLUMNS = 32 * V,
    MOST = TB || (M < 3 && Q::NUMBERS == 2) ? 128 : 64,            /* 64 loads of a thread, or fewer registers */
    STEP = K > MOST / 2 ? MOST : K > MOST / 4 ? MOST / 2 : MOST / 4, /* of the depth */
    BYTES = STEP / Q::NUMBERS,                                     /* of a column */
    ROW = (K + Q::NUMBERS - 1) / Q::NUMBERS,                       /* of a column of all of B */
    LOADS = TB ? BYTES / COPY : BYTES, WIDTH = TB ? COPY / 4 : 1,   /* of a thread in a step; words of each */
    SCALES = STEP > GROUP ? STEP / GROUP : 1, GROUPS = (K + GROUP - 1) / GROUP,
    BESIDE = TB && GROUPS % SCALES == 0 ? SCALES : 1,              /* scales of one load */
    TM = (M + WARPS - 1) / WARPS,                                  /* rows of C that a thread has at the end */
    ROOM = STEP > COLUMNS ? STEP : COLUMNS
  };
  f32 room[WARPS][M][ROOM];                               /* rows of A, and behind the chain its sums */
  uint32_t columns[TB ? WARPS : 1][TB ? COLUMNS : 1][BYTES / 4 + 1]; /* of B; odd, so that threads read different banks */

  INL_MEMBER int row(int i) { return (int)threadIdx.x / 32 * TM + i; }
  INL_MEMBER int col(int) { return (int)threadIdx.x % 32 * V; }

  /* A step of B from k0 on, of which `left` of the depth are there, or WHOLE: all. With TB pieces of all columns of the
     warp. */
  template <bool WHOLE>
  INL_MEMBER void load(Vec<uint32_t, WIDTH> (&b)[LOADS], const uint8_t *pb, int n0, int k0, int left) {
    const int lane = (int)threadIdx.x % 32, first = k0 / Q::NUMBERS;
    const int there = WHOLE ? BYTES : (left + Q::NUMBERS - 1) / Q::NUMBERS;
#pragma unroll
    for (int s = 0; s < LOADS; s++) {
      const int piece = lane + s * 32, byte = TB ? piece % LOADS * COPY : s, n = n0 + (TB ? piece / LOADS : lane * V);
#pragma unroll
      for (int l = 0; l < WIDTH; l++) b[s].at[l] = 0;
      if ((!WHOLE && byte >= there) || (N % COLUMNS != 0 && n >= N)) continue;
      if (TB)
        b[s] = *(const Vec<uint32_t, WIDTH> *)(pb + (I)n * ROW + first + byte);
      else
        b[s].at[0] = *(const typename Bytes<V>::Type *)(pb + (I)(first + byte) * N + n);
    }
  }
  template <bool WHOLE>
  INL_MEMBER void load_scales(f32 (&scale)[SCALES][V], const uint16_t *ps, int n0, int k0, int left) {
    const int n = n0 + (int)threadIdx.x % 32 * V, first = k0 / GROUP;
#pragma unroll
    for (int j = 0; j < SCALES; j += BESIDE) {
      Vec<uint16_t, BESIDE * V> s;
#pragma unroll
      for (int l = 0; l < BESIDE * V; l++) s.at[l] = 0;
      if ((WHOLE || j * GROUP < left) && (N % COLUMNS == 0 || n < N))
        s = *(const Vec<uint16_t, BESIDE * V> *)(ps + (TB ? (I)n * GROUPS + first + j : (I)(first + j) * N + n));
#pragma unroll
      for (int l = 0; l < BESIDE * V; l++) scale[j + l / V][l % V] = bf16_to_f32(s.at[l]);
    }
  }
  template <bool WHOLE>
  __device__ __forceinline__ void step(f32 (&acc)[M][V], const f32 *pa, const uint8_t *pb, const uint16_t *ps, int n0, int k0,
                                       int left, int count) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    Vec<uint32_t, WIDTH> b[LOADS];
    f32 scale[SCALES][V];
    load<WHOLE>(b, pb, n0, k0, left);
    load_scales<WHOLE>(scale, ps, n0, k0, left);
    warp_sync();
#pragma unroll(M < 3 ? 2 : 4)
    for (int p = lane; p < M * STEP; p += 32) {
      const int m = p / STEP, k = p % STEP;
      room[warp][m][k] = m < count && (WHOLE || k < left) ? pa[(I)m * A_ROW + k0 + k] : 0;
    }
    if (TB)
#pragma unroll
      for (int s = 0; s < LOADS; s++)
#pragma unroll
        for (int l = 0; l < WIDTH; l++)
          columns[warp][(lane + s * 32) / LOADS][(lane + s * 32) % LOADS * WIDTH + l] = b[s].at[l];
    warp_sync();
#pragma unroll
    for (int k = 0; k < STEP; k++) {
      const int byte = k / Q::NUMBERS;
      const uint32_t word = TB ? columns[warp][lane][byte / 4] : b[TB ? 0 : byte].at[0];
#pragma unroll
      for (int l = 0; l < V; l++) {
        const f32 y = Q::number(word, TB ? byte % 4 : l, k % Q::NUMBERS) * scale[k / GROUP][l];
#pragma unroll
        for (int m = 0; m < M; m++) {
          const f32 sum = gemm_fma(room[warp][m][k], y, acc[m][l]);
          acc[m][l] = WHOLE || k < left ? sum : acc[m][l]; /* a sum of -0 and 0 would be 0 */
        }
      }
    }
  }
  /* c: TM rows from row(0) on; count: rows of C, of M or fewer. */
  __device__ __forceinline__ void run(f32 (&c)[TM][V], const f32 *pa, const uint8_t *pb, const uint16_t *ps, int n0,
                                      int count = M) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int l = 0; l < V; l++) c[i][l] = 0;
#pragma unroll 1
    for (int d0 = 0; d0 < K; d0 += WARPS * CHAIN) {
      const int first = d0 + warp * CHAIN;
      if (first < K) {
        const int end = K - first < CHAIN ? K : first + CHAIN;
        f32 acc[M][V];
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
          for (int l = 0; l < V; l++) acc[m][l] = 0;
        int k0 = first;
#pragma unroll 1
        for (; K >= STEP && k0 + STEP <= end; k0 += STEP) step<true>(acc, pa, pb, ps, n0, k0, STEP, count);
        if (K % STEP != 0 && k0 < end) step<false>(acc, pa, pb, ps, n0, k0, K % STEP, count);
        warp_sync();
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
          for (int l = 0; l < V; l++) room[warp][m][lane * V + l] = acc[m][l];
      }
      block_sync();
      add_chains<CHAIN>(c, room, d0, K);
      block_sync();
    }
  }
};
