/* Convolutions of few channels a group and their gradients on tensor cores, for f16 and bf16: rows of the image under a box
   of TH x TW pixels lie in shared memory as they lie in global memory, copied by up to 16 bytes (cp.async), and each tap reads
   its elements there. What is multiplied with filters, or with the result's gradient, is put together in registers: nothing is
   gathered from global memory tap by tap. Boxes go through a ring of stages: while one is multiplied, the next ones are
   copied. Contract: as of tensor_conv.h; what is multiplied by the zeros behind the end of a row, or of a filter, is replaced
   by zeros, since it may be an infinity. A box is TW columns, a multiple of
   eight; rows of the image, and of the result's gradient, begin at multiples of COPY bytes. */
/* section copy_some */
/* COPY bytes to shared memory, of which `valid` are there and zeros follow; 2 bytes are too few for cp.async. */
template <int COPY> INL void copy_some(void *to, const void *from, int valid) {
  if (COPY == 2)
    *(uint16_t *)to = valid ? *(const uint16_t *)from : (uint16_t)0;
  else
    async_copy<COPY == 2 ? 4 : COPY>(to, from, valid);
}
/* section choose_pair pair_of */
/* Two numbers of 2 bytes in one register. The choice is of those that exist, the first `there` of them; the others are zeros, as
   the upper bytes of x are. */
INL uint32_t choose_pair(int there) { return there > 1 ? 0x5410 : there > 0 ? 0x2210 : 0x2222; }
INL uint32_t pair_of(uint16_t x, uint16_t y, uint32_t choice) { return choose_bytes(x, y, choice); }
/* section BoxSource */
/* What a convolution reads, or, BACK, its gradient with respect to the image, of strides of 1, which is a convolution of the
   result's gradient by filters turned around. */
template <typename G, bool BACK> struct BoxSource {
  enum {
    M = BACK ? G::GIN : G::GOUT, CHANNELS = BACK ? G::GOUT : G::GIN, OF_IMAGE = BACK ? G::COUT : G::CIN,
    ROWS = BACK ? G::OH : G::H, COLS = BACK ? G::OW : G::W, AREA = ROWS * COLS, TAPS = G::KH * G::KW,
    SH = BACK ? 1 : G::SH, SW = BACK ? 1 : G::SW, HIGH = (G::KH - 1) * G::DH, WIDE = (G::KW - 1) * G::DW,
    TOP = BACK ? HIGH - G::PH : G::PH, LEFT = BACK ? WIDE - G::PW : G::PW
  };
  template <typename R> INL_MEMBER int rows(const R &size) { return BACK ? (int)size.OH : (int)size.H; }
  template <typename R> INL_MEMBER int cols(const R &size) { return BACK ? (int)size.OW : (int)size.W; }
  template <typename R> INL_MEMBER int result_rows(const R &size) { return BACK ? (int)size.H : (int)size.OH; }
  template <typename R> INL_MEMBER int result_cols(const R &size) { return BACK ? (int)size.W : (int)size.OW; }
  /* of tap `tap`, behind the first row and column that a pixel reads */
  INL_MEMBER int down(int tap) { return (BACK ? G::KH - 1 - tap / G::KW : tap / G::KW) * G::DH; }
  INL_MEMBER int across(int tap) { return (BACK ? G::KW - 1 - tap % G::KW : tap % G::KW) * G::DW; }
};
/* section BoxRows */
/* V: a BoxSource. CHANNELS of it; PITCH: elements from one row in shared memory to the next, chosen so that rows
   one below the other are in different banks. */
template <typename V, typename I, int CHANNELS, int TH, int TW, int PITCH, int COPY> struct BoxRows {
  enum {
    EACH = COPY / 2,
    SHIFT = ((-V::LEFT) % EACH + EACH) % EACH, /* columns that are copied before the first */
    LINES = (TH - 1) * V::SH + V::HIGH + 1, USED = SHIFT + (TW - 1) * V::SW + V::WIDE + 1, PER_ROW = (USED + EACH - 1) / EACH,
    SIZE = CHANNELS * LINES * PITCH
  };
  template <typename R> INL_MEMBER int down(const R &size) { return (V::result_rows(size) + TH - 1) / TH; }
  template <typename R> INL_MEMBER int across(const R &size) { return (V::result_cols(size) + TW - 1) / TW; }
  template <typename R> INL_MEMBER int all(const R &size) { return size.N * down(size) * across(size); }
  /* pixel p of a box */
  template <typename R> INL_MEMBER ConvPixel place(int box, int p, const R &size) {
    const int n = across(size), y = box / n % down(size) * TH + p / TW, x = box % n * TW + p % TW;
    const ConvPixel of = {box / n / down(size), y, x, y < V::result_rows(size) && x < V::result_cols(size)};
    return of;
  }
  /* Are all pixels of a box in the result? */
  template <typename R> INL_MEMBER bool whole(const ConvPixel &first, const R &size) {
    return (V::result_rows(size) % TH == 0 || first.y + TH <= V::result_rows(size)) &&
           (V::result_cols(size) % TW == 0 || first.x + TW <= V::result_cols(size));
  }
  /* Pixels from p on in the result, of the box's row. */
  template <typename R> INL_MEMBER int there(const ConvPixel &first, int p, const R &size) {
    return first.y + p / TW < V::result_rows(size) ? V::result_cols(size) - first.x - p % TW : 0;
  }
  /* where a pixel's first tap lies */
  INL_MEMBER int pixel(int p) { return p / TW * V::SH * PITCH + p % TW * V::SW + SHIFT; }
  /* ... and, behind it, a tap of a channel */
  INL_MEMBER int tap(int channel, int tap) { return (channel * LINES + V::down(tap)) * PITCH + V::across(tap); }
  /* Begins copies of the rows under a box, of channels from c0 on. */
  template <int THREADS, typename R>
  INL_MEMBER void load_async(uint16_t *to, const uint16_t *image, const ConvPixel &first, int group, int c0, const R &size) {
    const int top = first.y * V::SH - V::TOP, left = first.x * V::SW - V::LEFT - SHIFT;
    const uint16_t *const from = image + ((I)first.n * V::OF_IMAGE + group * V::CHANNELS + c0) * V::AREA;
#pragma unroll 2
    for (int e = (int)threadIdx.x; e < CHANNELS * LINES * PER_ROW; e += THREADS) {
      const int row = e / PER_ROW, at = e % PER_ROW * EACH, c = row / LINES, y = top + row % LINES, x = left + at;
      const bool on = (V::CHANNELS % CHANNELS == 0 || c0 + c < V::CHANNELS) && y >= 0 && y < V::rows(size) && x >= 0 && x < V::cols(size);
      copy_some<COPY>(to + row * PITCH + at, on ? from + ((I)c * V::AREA + (y * V::COLS + x)) : image,
                      on ? 2 * smaller((int)EACH, V::cols(size) - x) : 0);
    }
  }
};
/* section TensorFilterBox */
/* Gradients with respect to filters: BM filters of a group by the weights of CHANNELS of its channels, NI times eight of
   them for each warp, summed over some boxes. PITCH_DY, COPY_DY: as of the image's rows, of the result's gradient. */
template <typename G, typename I, typename E, int BM, int WARPS, int NI, int CHANNELS, int TH, int TW, int PITCH, int COPY, int COPY_DY,
          int STAGES>
struct TensorFilterBox {
  typedef BoxSource<G, false> V;
  typedef BoxRows<V, I, CHANNELS, TH, TW, PITCH, COPY> Rows;
  enum {
    THREADS = WARPS * 32, MI = BM / 16, TM = 2 * MI, TN = 2 * NI, PIXELS = TH * TW, PITCH_DY = PIXELS + 8,
    WEIGHTS = CHANNELS * V::TAPS, NONE = 1 << 30, AREA = G::OH * G::OW, EACH = COPY_DY / 2, PER_ROW = PIXELS / EACH,
    STAGE = BM * PITCH_DY + Rows::SIZE, STEP = 16 /* pixels */
  };
  INL_MEMBER int lane() { return (int)threadIdx.x % 32; }
  INL_MEMBER int row(int i) { return i * 8 + lane() / 4; }
  INL_MEMBER int col(int j) {
    const int w = ((int)threadIdx.x / 32 * NI + j / 2) * 8 + lane() % 4 * 2 + j % 2;
    return w < WEIGHTS ? w : (int)NONE;
  }
  template <typename R>
  INL_MEMBER void load_async(uint16_t *stage, const uint16_t *dy, const uint16_t *image, int group, int m0, int c0, int box,
                             const R &size) {
    const ConvPixel first = Rows::place(box, 0, size);
    const uint16_t *const from = dy + ((I)first.n * G::COUT + group * G::GOUT + m0) * AREA;
#pragma unroll 2
    for (int e = (int)threadIdx.x; e < BM * PER_ROW; e += THREADS) {
      const int m = e / PER_ROW, p = e % PER_ROW * EACH, y = first.y + p / TW, x = first.x + p % TW;
      const bool on = (G::GOUT % BM == 0 || m0 + m < G::GOUT) && y < size.OH && x < size.OW;
      copy_some<COPY_DY>(stage + m * PITCH_DY + p, on ? from + ((I)m * AREA + (y * G::OW + x)) : dy,
                         on ? 2 * smaller((int)EACH, (int)size.OW - x) : 0);
    }
    Rows::template load_async<THREADS>(stage + BM * PITCH_DY, image, first, group, c0, size);
  }
  /* adds a box, which has so many columns and, if not WHOLE, rows of the result; place: of the first of a thread's pixels
     under each of its weights */
  template <bool WHOLE>
  INL_MEMBER void multiply(f32 (&acc)[TM][TN], const uint16_t *stage, const int (&place)[NI], int columns, int rows) {
    const uint32_t of_row = choose_pair(TW < STEP ? columns - lane() % 4 * 2 : 2);
#pragma unroll 2
    for (int k = 0; k < PIXELS; k += STEP) {
      const uint16_t *const low = stage + BM * PITCH_DY + (Rows::pixel(k) - Rows::SHIFT);
      const uint16_t *const high = stage + BM * PITCH_DY + (Rows::pixel(k + STEP / 2) - Rows::SHIFT);
      uint32_t of_low = of_row, of_high = of_row;
      if (!WHOLE && k / TW >= rows) break;
      if (TW >= STEP && columns < TW) {
        const int in_low = columns - k % TW, in_high = columns - (k + STEP / 2) % TW;
        if (in_low <= 0 && in_high <= 0) continue;
        of_low = choose_pair(in_low - lane() % 4 * 2);
        of_high = choose_pair(in_high - lane() % 4 * 2);
      }
      if (!WHOLE && TW % STEP != 0 && (k + STEP / 2) / TW >= rows) of_high = choose_pair(0);
      uint32_t fa[MI][4];
#pragma unroll
      for (int i = 0; i < MI; i++) matrix_load(fa[i], stage + (i * 16 + lane() % 16) * PITCH_DY + k + lane() / 16 * 8);
#pragma unroll
      for (int j = 0; j < NI; j++) {
        const uint16_t *const x = low + place[j], *const y = high + place[j];
        const uint32_t fb[2] = {pair_of(x[0], x[V::SW], of_low), pair_of(y[0], y[V::SW], of_high)};
#pragma unroll
        for (int i = 0; i < MI; i++) E::fma(acc[2 * i][2 * j], acc[2 * i][2 * j + 1], acc[2 * i + 1][2 * j], acc[2 * i + 1][2 * j + 1], fa[i], fb);
      }
    }
  }
  /* acc: filters from m0 on of a group, weights from n0 on, the first of a channel, of one part of the boxes, of so many;
     `smem` has STAGES stages. */
  template <typename R>
  INL_MEMBER void run(f32 (&acc)[TM][TN], char *smem, const uint16_t *dy, const uint16_t *image, int group, int m0, int n0, int part,
                      int of_part, const R &size) {
    const int first = part * of_part, boxes = smaller(first + of_part, Rows::all(size)) - first;
    uint16_t *const ring = (uint16_t *)smem;
    int place[NI];
#pragma unroll
    for (int j = 0; j < NI; j++) {
      const int w = ((int)threadIdx.x / 32 * NI + j) * 8 + lane() / 4;
      place[j] = (w < WEIGHTS ? Rows::tap(w / V::TAPS, w % V::TAPS) : 0) + Rows::pixel(lane() % 4 * 2);
    }
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    int stage = 0;
    block_sync(); /* none reads the part before */
#pragma unroll 1
    for (int t = 1 - STAGES; t < boxes; t++) { /* below 0 the first copies begin */
      if (t >= 0) {
        async_wait<STAGES - 2>();
        block_sync(); /* all have the box, and none reads the one before */
      }
      const int next = t + STAGES - 1;
      if (next < boxes)
        load_async(ring + (t < 0 ? next : stage ? stage - 1 : STAGES - 1) * STAGE, dy, image, group, m0, n0 / V::TAPS, first + next, size);
      async_commit();
      if (t < 0) continue;
      const ConvPixel at = Rows::place(first + t, 0, size);
      const int columns = size.OW % TW == 0 ? (int)TW : (int)size.OW - at.x, rows = (int)size.OH - at.y;
      if (size.OH % TH == 0 || rows >= TH)
        multiply<true>(acc, ring + stage * STAGE, place, columns, rows);
      else
        multiply<false>(acc, ring + stage * STAGE, place, columns, rows);
      stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
  }
};
/* section TensorConvBox */
/* A convolution or, BACK, its gradient with respect to the image: BM channels of a group by the pixels of a box, NJ times
   eight of them, 32, for each warp. All weights of the filters lie in shared memory, rounded if they are f32 (ROUND), for all boxes
   of a thread block. PITCH_A: elements from one filter there to the next. */
template <typename G, bool BACK, typename I, typename E, bool ROUND, int BM, int WARPS, int NJ, int TH, int TW, int PITCH, int COPY>
struct TensorConvBox {
  typedef BoxSource<G, BACK> V;
  typedef BoxRows<V, I, V::CHANNELS, TH, TW, PITCH, COPY> Rows;
  typedef typename FilterStored<ROUND, uint16_t>::Type Filter;
  enum {
    THREADS = WARPS * 32, MI = BM / 16, TM = 2 * MI, TN = 2 * NJ, STEP = 16, K = V::CHANNELS * V::TAPS,
    BY_TAP = BACK && V::CHANNELS % 32 == 0, /* the depth is that of TensorConv: TAP_BY_TAP, and of k-tiles of 64 bytes */
    DEPTH = (K + STEP - 1) / STEP * STEP, PITCH_A = DEPTH + 8, FILTERS = BM * PITCH_A, TABLE = DEPTH,
    LINE = 40, OCTET = 8 /* of channels whose sums go through shared memory, LINE numbers of each */
  };
  INL_MEMBER int lane() { return (int)threadIdx.x % 32; }
  INL_MEMBER uint16_t *rows(char *smem, int stage) { return (uint16_t *)smem + (FILTERS + TABLE + stage * Rows::SIZE); }

  INL_MEMBER int channel_of(int k) { return BY_TAP ? k % V::CHANNELS : k / V::TAPS; }
  INL_MEMBER int tap_of(int k) { return BY_TAP ? k / V::CHANNELS : k % V::TAPS; }
  INL_MEMBER uint32_t filter(const f32 *x) { return E::pack(x[0], x[1]); }
  INL_MEMBER uint32_t filter(const uint16_t *x) { return x[0] | (uint32_t)x[1] << 16; }
  /* Filters and the table of where each tap lies; and copies of the first box begin. */
  template <typename R>
  INL_MEMBER void start(char *smem, const Filter *filters, const uint16_t *image, int group, int m0, int box, const R &size) {
    uint16_t *const a = (uint16_t *)smem, *const at = a + FILTERS;
    Rows::template load_async<THREADS>(rows(smem, 0), image, Rows::place(box, 0, size), group, 0, size);
    async_commit();
    for (int k = (int)threadIdx.x; k < DEPTH; k += THREADS) at[k] = (uint16_t)(k < K ? Rows::tap(channel_of(k), tap_of(k)) : 0);
#pragma unroll 8
    for (int e = (int)threadIdx.x; e < BM * DEPTH / 2; e += THREADS) {
      const int m = e / (DEPTH / 2), k = e % (DEPTH / 2) * 2;
      Filter x[2];
#pragma unroll
      for (int q = 0; q < 2; q++) {
        const int c = channel_of(k + q), tap = tap_of(k + q);
        const I from = BACK ? (((I)group * G::GOUT + c) * G::GIN + m0 + m) * V::TAPS + tap : (((I)group * G::GOUT + m0 + m) * G::GIN + c) * V::TAPS + tap;
        x[q] = (V::M % BM == 0 || m0 + m < V::M) && k + q < K ? filters[from] : (Filter)0;
      }
      *(uint32_t *)(a + m * PITCH_A + k) = filter(x);
    }
  }
  /* Where a warp has the sums of an octet of channels and NJ times eight pixels, so that neighbours store neighbours. */
  INL_MEMBER f32 *results(char *smem) { return (f32 *)rows(smem, 2) + (int)threadIdx.x / 32 * OCTET * LINE; }
  INL_MEMBER void put(f32 *results, const f32 (&acc)[TM][TN], int octet) {
#pragma unroll
    for (int j = 0; j < NJ; j++) {
      const Vec<f32, 2> two = {{acc[octet][2 * j], acc[octet][2 * j + 1]}};
      *(Vec<f32, 2> *)(results + lane() / 4 * LINE + j * 8 + lane() % 4 * 2) = two;
    }
  }
  /* Has a warp pixels in the result? */
  template <typename R> INL_MEMBER bool any(const ConvPixel &first, const R &size) {
    bool is = Rows::whole(first, size);
#pragma unroll
    for (int j = 0; j < NJ; j++) is |= Rows::there(first, ((int)threadIdx.x / 32 * NJ + j) * 8, size) > 0;
    return is;
  }
  /* acc: channels from m0 on of a group, pixels of a box, number t of the block's boxes; copies of the next one begin, if
     it is before `end`. Behind start. False: the warp has none. */
  template <typename R>
  INL_MEMBER bool run(f32 (&acc)[TM][TN], char *smem, const uint16_t *image, int group, int box, int t, int end, const R &size) {
    const uint16_t *const a = (const uint16_t *)smem, *const at = a + (FILTERS + lane() % 4 * 2);
    async_wait<0>();
    block_sync(); /* all have the box, and none reads the one before */
    if (box + 1 < end) Rows::template load_async<THREADS>(rows(smem, (t + 1) % 2), image, Rows::place(box + 1, 0, size), group, 0, size);
    async_commit();
    if (!any(Rows::place(box, 0, size), size)) return false;
    const uint16_t *x[NJ];
#pragma unroll
    for (int j = 0; j < NJ; j++) x[j] = rows(smem, t % 2) + Rows::pixel(((int)threadIdx.x / 32 * NJ + j) * 8 + lane() / 4);
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
#pragma unroll 2
    for (int k = 0; k < DEPTH; k += STEP) {
      const uint32_t low = *(const uint32_t *)(at + k), high = *(const uint32_t *)(at + k + STEP / 2);
      const int place[4] = {(int)(low & 0xffff), (int)(low >> 16), (int)(high & 0xffff), (int)(high >> 16)};
      uint32_t of_low = choose_pair(2), of_high = choose_pair(2);
      if (K % STEP != 0 && k == DEPTH - STEP) { /* behind the last tap */
        of_low = choose_pair(K - k - lane() % 4 * 2);
        of_high = choose_pair(K - k - STEP / 2 - lane() % 4 * 2);
      }
      uint32_t fa[MI][4];
#pragma unroll
      for (int i = 0; i < MI; i++) matrix_load(fa[i], a + (i * 16 + lane() % 16) * PITCH_A + k + lane() / 16 * 8);
#pragma unroll
      for (int j = 0; j < NJ; j++) {
        const uint32_t fb[2] = {pair_of(x[j][place[0]], x[j][place[1]], of_low), pair_of(x[j][place[2]], x[j][place[3]], of_high)};
#pragma unroll
        for (int i = 0; i < MI; i++) E::fma(acc[2 * i][2 * j], acc[2 * i][2 * j + 1], acc[2 * i + 1][2 * j], acc[2 * i + 1][2 * j + 1], fa[i], fb);
      }
    }
    return true;
  }
};
