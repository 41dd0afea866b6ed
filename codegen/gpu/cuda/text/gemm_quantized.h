/* The right side of a k-tile that is made of a quantized matrix on its way to shared memory (gemm.h): no other kernel
   dequantizes it, and memory holds no floats of it. Contract: a number is that of dequantize, so the bits of the product are
   those of the product of the dequantized matrix. Integers and scales lie as in thin_quantized.h. */
/* section QuantizedFrom */
/* Where its integers lie, and its scales; elements of the first group before them. */
struct QuantizedFrom {
  const uint8_t *q;
  const uint16_t *s;
  int within;
};
/* section QuantizedSide */
/* As GemmSide. R: rounds scales and numbers to the dtype that dequantize would have made. COPY: bytes of a load, of columns
   side by side if the matrix is stored [K, N] (DOWN), else of one column, 4 at least; no load spans two groups. */
template <typename I, typename Q, typename R, int GROUP, int COPY, int EDGE, int SIZE, int K, bool DOWN, int ROW, int BK, int THREADS>
struct QuantizedSide {
  typedef QuantizedFrom From;
  enum {
    COLUMNS = DOWN ? COPY : 1,                          /* of a load; numbers of each */
    DEEP = DOWN ? Q::NUMBERS : COPY * Q::NUMBERS,
    ACROSS = DOWN ? EDGE / COLUMNS : BK / DEEP,         /* loads side by side */
    LOADS = EDGE * BK / (COLUMNS * DEEP), EACH = (LOADS + THREADS - 1) / THREADS,
    SCALES = DOWN && GROUP >= BK && THREADS % ACROSS == 0 ? 1 : EACH, /* 1: all loads of a thread are of the same */
    WORDS = COPY < 4 ? 1 : COPY / 4,
    GROUPS = (ROW * Q::NUMBERS + GROUP - 1) / GROUP     /* of a column, unless DOWN */
  };
  Vec<uint32_t, WORDS> word[EACH];
  Vec<uint16_t, COLUMNS> scale[SCALES];

  /* of load p: its first column and number of a k-tile */
  INL_MEMBER int column(int p) {
    const int e = (int)threadIdx.x + p * THREADS;
    return DOWN ? e % ACROSS * COLUMNS : e / ACROSS;
  }
  INL_MEMBER int number(int p) {
    const int e = (int)threadIdx.x + p * THREADS;
    return (DOWN ? e / ACROSS : e % ACROSS) * DEEP;
  }
  /* column l and number d of what load p has */
  __device__ __forceinline__ f32 made(int p, int l, int d) {
    const int byte = DOWN ? l : d / Q::NUMBERS;
    return R::get(Q::number(word[p].at[byte / 4], byte % 4, d % Q::NUMBERS) * R::get(bf16_to_f32(scale[p % SCALES].at[l])));
  }
  INL_MEMBER bool is_load(int p) { return LOADS % THREADS == 0 || (int)threadIdx.x + p * THREADS < LOADS; }

  __device__ __forceinline__ void load(From from, int first, int k0, int size, int depth) {
#pragma unroll
    for (int p = 0; p < EACH; p++) {
      const int n = first + column(p), k = k0 + number(p);
#pragma unroll
      for (int l = 0; l < WORDS; l++) word[p].at[l] = 0;
      if (p < SCALES)
#pragma unroll
        for (int l = 0; l < COLUMNS; l++) scale[p].at[l] = 0;
      if (!is_load(p) || !((SIZE % EDGE == 0 && size == SIZE) || n < size) || !((K % BK == 0 && depth == K) || k < depth))
        continue;
      if (DOWN) {
        const uint8_t *const at = from.q + ((I)(k / Q::NUMBERS) * ROW + n);
        if (COLUMNS > 4)
          word[p] = *(const Vec<uint32_t, WORDS> *)at;
        else
          word[p].at[0] = *(const typename Bytes<COLUMNS < 4 ? COLUMNS : 4>::Type *)at;
        if (p < SCALES) scale[p] = *(const Vec<uint16_t, COLUMNS> *)(from.s + (I)((from.within + k) / GROUP) * ROW + n);
      } else {
        word[p] = *(const Vec<uint32_t, WORDS> *)(from.q + (I)n * ROW + k / Q::NUMBERS);
        scale[p].at[0] = from.s[(I)n * GROUPS + (from.within + k) / GROUP];
      }
    }
  }
  template <int PITCH> __device__ __forceinline__ void store(f32 (&to)[BK][PITCH]) {
#pragma unroll
    for (int p = 0; p < EACH; p++) {
      if (!is_load(p)) break;
      const int n = column(p), k = number(p);
#pragma unroll
      for (int d = 0; d < DEEP; d++) {
        Vec<f32, COLUMNS> x;
#pragma unroll
        for (int l = 0; l < COLUMNS; l++) x.at[l] = made(p, l, d);
        *(Vec<f32, COLUMNS> *)&to[k + d][n] = x;
      }
    }
  }
  /* The same for tensor cores: of 2 bytes each, in the k-tile that Tile, a SmemTile, describes. P makes two of them
     (quantized_pairs.h), and rounds them. */
  template <typename P> INL_MEMBER uint32_t scales(const Vec<uint16_t, COLUMNS> &s, int l) {
    return P::scales(s.at[l], s.at[DOWN && COLUMNS > 1 ? l + 1 : l]);
  }
  template <typename P, typename Tile> __device__ __forceinline__ void store_packed(char *to) {
    enum { MOST = 8, LINE = DOWN ? COLUMNS : DEEP < MOST ? DEEP : MOST, PAIRS = (LINE + 1) / 2 }; /* side by side there */
#pragma unroll
    for (int p = 0; p < EACH; p++) {
      if (!is_load(p)) break;
      const int n = column(p), k = number(p);
#pragma unroll
      for (int d = 0; d < DEEP; d += DOWN ? 1 : LINE) {
        Vec<uint32_t, PAIRS> x;
#pragma unroll
        for (int l = 0; l < LINE; l += 2) {
          const int next = LINE == 1 ? l : l + 1; /* bytes and numbers in them, of both */
          const int i = DOWN ? l : (d + l) / Q::NUMBERS, half = (DOWN ? d : d + l) % Q::NUMBERS;
          const int j = DOWN ? next : (d + next) / Q::NUMBERS, other = (DOWN ? d : d + next) % Q::NUMBERS;
          const uint32_t integers = Q::template pair<P>(word[p].at[i / 4], i % 4, half, word[p].at[j / 4], j % 4, other);
          x.at[l / 2] = P::scaled(integers, scales<P>(scale[p % SCALES], DOWN ? l : 0));
        }
        char *const at = to + (DOWN ? Tile::swizzle(k + d, n * 2) : Tile::swizzle(n, (k + d) * 2));
        if (LINE == 1)
          *(uint16_t *)at = (uint16_t)x.at[0];
        else
          *(Vec<uint32_t, PAIRS> *)at = x;
      }
    }
  }
};
