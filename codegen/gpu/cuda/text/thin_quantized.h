/* Products of few rows with a quantized matrix, limited by the memory that holds its integers: as in thin.h a warp does
   32 * V columns of C over one chain of the depth, and the warps of a block chains side by side. Contract: a number is
   that of dequantize, and sums have the order of gemm.h; so the bits are those of the product of the dequantized matrix.
   Integers are bytes [K, N], or TB: [N, K], with scales of groups of GROUP of the depth in bf16; of 4 bits a byte holds
   two of the depth. Of the next step of the depth a thread loads each of its registers as soon as it is read. M: rows of a
   tile. V: adjacent columns of a thread, 1 with TB; COPY: bytes of a load of B with TB, 4 at least. */
/* section Quantized8 Quantized4 */
/* Number `half` of byte `byte` of a word: the integer, plus what makes it positive, as the last bits of 2^23, from which
   that much is taken away. */
struct Quantized8 {
  enum { NUMBERS = 1 }; /* of a byte */
  INL_MEMBER f32 number(uint32_t word, int byte, int) {
    return bits_f32((i32)choose_bytes(word ^ 0x80808080, 0x4b000000, 0x7650 + byte)) - 8388736.0f; /* 2^23 + 128 */
  }
  /* Those of byte i of word x and byte j of word y, as P has two of them (quantized_pairs.h). */
  template <typename P> INL_MEMBER uint32_t pair(uint32_t x, int i, int, uint32_t y, int j, int) {
    return P::bytes(choose_bytes(x, y, (uint32_t)((4 + j) << 8 | i)));
  }
};
struct Quantized4 {
  enum { NUMBERS = 2 };
  /* Four bits become the last of a number of fewer bits where they lie, if they are not those of its exponent. */
  INL_MEMBER f32 number(uint32_t word, int byte, int half) {
    const int place = 2 * byte + half, first = place < 5 ? 4 * place : 4 * place - 12;
    const uint32_t bits = bits_within(place < 5 ? word : word >> 12, 15u << first, (uint32_t)(150 - first) << 23);
    return bits_f32((i32)bits) - (f32)((1 << 23 >> first) + 8);
  }
  template <typename P> INL_MEMBER uint32_t pair(uint32_t x, int i, int half, uint32_t y, int j, int other) {
    return P::nibbles(choose_bytes(half ? x >> 4 : x, other ? y >> 4 : y, (uint32_t)((4 + j) << 8 | i)));
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
    /* 32 loads of a thread of several columns, and else 64, or fewer registers */
    MOST = TB ? 128 : V > 1 ? 32 * Q::NUMBERS : M < 3 && Q::NUMBERS == 2 ? 128 : 64,
    STEP = K > MOST / 2 ? MOST : K > MOST / 4 ? MOST / 2 : MOST / 4, /* of the depth */
    BYTES = STEP / Q::NUMBERS,                                     /* of a column */
    ROW = (K + Q::NUMBERS - 1) / Q::NUMBERS,                       /* of a column of all of B */
    LOADS = TB ? BYTES / COPY : BYTES, WIDTH = TB ? COPY / 4 : 1,   /* of a thread in a step; words of each */
    SCALES = STEP > GROUP ? STEP / GROUP : 1, GROUPS = (K + GROUP - 1) / GROUP,
    BESIDE = TB && GROUPS % SCALES == 0 ? SCALES : 1,              /* scales of one load */
    OF_A = (M * STEP + 31) / 32,                                   /* loads of A of a thread in a step */
    TM = (M + WARPS - 1) / WARPS,                                  /* rows of C that a thread has at the end */
    ROOM = STEP > COLUMNS ? STEP : COLUMNS
  };
  f32 room[WARPS][M][ROOM];                               /* rows of A, and behind the chain its sums */
  uint32_t columns[TB ? WARPS : 1][TB ? COLUMNS : 1][BYTES / 4 + 1]; /* of B; odd, so that threads read different banks */

  INL_MEMBER int row(int i) { return (int)threadIdx.x / 32 * TM + i; }
  INL_MEMBER int col(int) { return (int)threadIdx.x % 32 * V; }

  /* What a thread has loaded of a step before it begins: of B, of its scales, and of A. */
  struct Ahead {
    Vec<uint32_t, WIDTH> b[LOADS];
    Vec<uint16_t, BESIDE * V> scale[SCALES / BESIDE];
    f32 a[OF_A];
  };
  /* Where a chain's operands lie. */
  struct From {
    const f32 *a;
    const uint8_t *b;
    const uint16_t *scale;
    int n0, count;
  };
  /* Where the first load of a thread of a step of B from k0 on lies. With TB a warp loads pieces of all of its columns. */
  INL_MEMBER const uint8_t *place(const From &from, int k0) {
    const int lane = (int)threadIdx.x % 32, first = k0 / Q::NUMBERS;
    if (TB) return from.b + ((I)(from.n0 + lane / LOADS) * ROW + first + lane % LOADS * COPY);
    return from.b + ((I)first * N + from.n0 + lane * V);
  }
  /* Load s of a step of B, of which `left` of the depth are there, or WHOLE: all. */
  template <bool WHOLE> INL_MEMBER void load_one(Vec<uint32_t, WIDTH> &b, int s, const uint8_t *at, int n0, int left) {
    const int lane = (int)threadIdx.x % 32, there = WHOLE ? BYTES : (left + Q::NUMBERS - 1) / Q::NUMBERS;
    const int n = n0 + (TB ? lane / LOADS + s * (32 / LOADS) : lane * V);
    if ((!WHOLE && (TB ? lane % LOADS * COPY : s) >= there) || (N % COLUMNS != 0 && n >= N)) return;
    if (TB)
      b = *(const Vec<uint32_t, WIDTH> *)(at + (I)s * (32 / LOADS) * ROW);
    else
      b.at[0] = *(const typename Bytes<V>::Type *)(at + (I)s * N);
  }
  template <bool WHOLE> INL_MEMBER void load_scales(Ahead &x, const From &from, int k0, int left) {
    const int n = from.n0 + (int)threadIdx.x % 32 * V, first = k0 / GROUP;
    const uint16_t *at = from.scale + (TB ? (I)n * GROUPS + first : (I)first * N + n);
#pragma unroll
    for (int j = 0; j < SCALES; j += BESIDE)
      if ((WHOLE || j * GROUP < left) && (N % COLUMNS == 0 || n < N))
        x.scale[j / BESIDE] = *(const Vec<uint16_t, BESIDE * V> *)(at + (TB ? (I)j : (I)j * N));
  }
  /* Of a thread's number i of A in a step: its row, and its place in the depth. */
  INL_MEMBER int row_of(int i) { return i * 32 / STEP + (STEP < 32 ? (int)threadIdx.x % 32 / STEP : 0); }
  INL_MEMBER int depth_of(int i) { return i * 32 % STEP + (int)threadIdx.x % (STEP < 32 ? STEP : 32); }
  template <bool WHOLE> INL_MEMBER void load_rows(Ahead &x, const From &from, int k0, int left) {
    const f32 *at = from.a + ((I)row_of(0) * A_ROW + k0 + depth_of(0));
#pragma unroll
    for (int i = 0; i < OF_A; i++) {
      const bool there = row_of(i) < M && row_of(i) < from.count && (WHOLE || depth_of(i) < left);
      x.a[i] = there ? at[(I)(i * 32 / STEP) * A_ROW + i * 32 % STEP] : 0;
    }
  }
  template <bool WHOLE> __device__ __forceinline__ void load(Ahead &x, const From &from, int k0, int left) {
    const uint8_t *at = place(from, k0);
#pragma unroll
    for (int s = 0; s < LOADS; s++) load_one<WHOLE>(x.b[s], s, at, from.n0, left);
    load_scales<WHOLE>(x, from, k0, left);
    load_rows<WHOLE>(x, from, k0, left);
  }
  /* Of a step that is loaded; if there is more, a whole step follows, which is loaded on the way. */
  template <bool WHOLE>
  __device__ __forceinline__ void step(f32 (&acc)[M][V], Ahead &x, const From &from, int k0, int left, bool more) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    f32 scale[SCALES][V];
#pragma unroll
    for (int j = 0; j < SCALES; j++)
#pragma unroll
      for (int l = 0; l < V; l++) scale[j][l] = bf16_to_f32(x.scale[j / BESIDE].at[j % BESIDE * V + l]);
    warp_sync();
#pragma unroll
    for (int i = 0; i < OF_A; i++)
      if (row_of(i) < M) room[warp][row_of(i)][depth_of(i)] = x.a[i];
    if (TB)
#pragma unroll
      for (int s = 0; s < LOADS; s++)
#pragma unroll
        for (int l = 0; l < WIDTH; l++)
          columns[warp][(lane + s * 32) / LOADS][(lane + s * 32) % LOADS * WIDTH + l] = x.b[s].at[l];
    warp_sync();
    const uint8_t *next = place(from, k0 + STEP);
    if (WHOLE && more) {
      load_scales<true>(x, from, k0 + STEP, STEP);
      load_rows<true>(x, from, k0 + STEP, STEP);
      if (TB)
#pragma unroll
        for (int s = 0; s < LOADS; s++) load_one<true>(x.b[s], s, next, from.n0, STEP);
    }
#pragma unroll
    for (int k = 0; k < STEP; k++) {
      const int byte = k / Q::NUMBERS;
      const uint32_t word = TB ? columns[warp][lane][byte / 4] : x.b[TB ? 0 : byte].at[0];
#pragma unroll
      for (int l = 0; l < V; l++) {
        const f32 y = Q::number(word, TB ? byte % 4 : l, k % Q::NUMBERS) * scale[k / GROUP][l];
#pragma unroll
        for (int m = 0; m < M; m++) {
          const f32 sum = gemm_fma(room[warp][m][k], y, acc[m][l]);
          acc[m][l] = WHOLE || k < left ? sum : acc[m][l]; /* a sum of -0 and 0 would be 0 */
        }
      }
      if (!TB && WHOLE && k % Q::NUMBERS == Q::NUMBERS - 1 && more)
        load_one<true>(x.b[TB ? 0 : byte], byte, next, from.n0, STEP);
    }
  }
  /* The chain from `first` to `end`, of which the depth may leave a part of the last step. */
  __device__ __forceinline__ void chain(f32 (&acc)[M][V], const From &from, int first, int end) {
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
      for (int l = 0; l < V; l++) acc[m][l] = 0;
    Ahead x = {}; /* what is not there stays what it was, which no result needs */
    int k0 = first;
    if constexpr (K >= STEP) {
      if (k0 + STEP <= end) load<true>(x, from, k0, STEP);
#pragma unroll 1
      for (; k0 + STEP <= end; k0 += STEP) step<true>(acc, x, from, k0, STEP, k0 + 2 * STEP <= end);
    }
    if (K % STEP != 0 && k0 < end) {
      load<false>(x, from, k0, K % STEP);
      step<false>(acc, x, from, k0, K % STEP, false);
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
        chain(acc, From{pa, pb, ps, n0, count}, first, end);
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
