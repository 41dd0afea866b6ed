/* Gradients of f32 with respect to filters on the ordinary units, exactly: the sums of conv.h, by the ring of k-tiles
   of gemm_ring.h. A block computes BM filters by BN channels of one tap. The pixels that have the tap are some rows
   and columns of each image, so the depth goes over these alone, and no product is left out. */
/* section ConvFilterRing */
template <typename G, typename I, int BM, int BN, int TM, int TN, int STAGES>
struct ConvFilterRing : GemmRing<I, f32, G::GOUT, G::GIN, 0, 0, 0, false, true, BM, BN, TM, TN, 4, 4, STAGES> {
  typedef GemmRing<I, f32, G::GOUT, G::GIN, 0, 0, 0, false, true, BM, BN, TM, TN, 4, 4, STAGES> Ring;
  typedef ConvFilterGrad<G, I> C;
  enum { BK = Ring::BK, AT_ONCE = Ring::THREADS / BK, PITCH = Ring::A::PITCH /* rows that threads copy at once */ };

  /* Positions of the result along an axis: the first one from `from` on, and behind the last one to `to`, of those
     whose tap, `before` in front of the image, lies on it. */
  INL_MEMBER int first_of(int from, int before, int stride) {
    const int first = before > 0 ? (before + stride - 1) / stride : 0;
    return first > from ? first : from;
  }
  INL_MEMBER int end_of(int to, int before, int stride, int size) {
    return size - 1 + before < 0 ? 0 : smaller(to, (size - 1 + before) / stride + 1);
  }
  struct Pixels { /* of a chunk that have a tap: so many, in `rows` by `cols` of each image from these on */
    int image, row, col, rows, cols, all;
  };
  template <typename R> INL_MEMBER Pixels pixels_of(int chunk, int tap, const R &size) {
    const int start = C::chunk_start(chunk, size), count = C::chunk_end(chunk, size) - start, area = size.OH * size.OW;
    const int row = start % area / size.OW, up = G::PH - tap / G::KW * G::DH, left = G::PW - tap % G::KW * G::DW;
    const int of = count < area ? 1 : count / area; /* whole images, or rows of one */
    Pixels p;
    p.image = start / area;
    p.row = first_of(row, up, G::SH), p.col = first_of(0, left, G::SW);
    p.rows = end_of(count < area ? row + count / size.OW : (int)size.OH, up, G::SH, size.H) - p.row;
    p.cols = end_of(size.OW, left, G::SW, size.W) - p.col;
    p.all = count > 0 && p.rows > 0 && p.cols > 0 ? of * p.rows * p.cols : 0;
    return p;
  }
  struct Place { /* of a pixel among them */
    int image, row, col;
  };
  INL_MEMBER Place place(const Pixels &p, int q) {
    const Place at = {q / p.cols / p.rows, q / p.cols % p.rows, q % p.cols};
    return at;
  }
  /* Copies of a k-tile, threads side by side of pixels side by side; results of filters and channels behind the last
     ones are not stored: they are zeros. */
  __device__ __forceinline__ void load_pixels(int stage, const f32 *dy, const f32 *image, const Pixels &p, const Place &at,
                                              bool on, int group, int m0, int c0, int tap) {
    const int k = (int)threadIdx.x % BK, first = (int)threadIdx.x / BK;
    const int n = p.image + at.image, row = p.row + at.row, col = p.col + at.col;
    const int y = row * G::SH - G::PH + tap / G::KW * G::DH, x = col * G::SW - G::PW + tap % G::KW * G::DW;
    const f32 *const a = dy + (((I)n * G::COUT + group * G::GOUT + m0 + first) * C::AREA + row * G::OW + col);
    const f32 *const b = image + ((((I)n * G::CIN + group * G::GIN + c0 + first) * G::H + y) * G::W + x);
#pragma unroll
    for (int i = 0; i < BM; i += AT_ONCE)
      async_copy<4>(this->a[stage] + (first + i) * PITCH + k, a + (I)i * C::AREA, on && (G::GOUT % BM == 0 || m0 + first + i < G::GOUT) ? 4 : 0);
#pragma unroll
    for (int i = 0; i < BN; i += AT_ONCE)
      async_copy<4>(this->b[stage] + (first + i) * PITCH + k, b + (I)i * C::IMAGE, on && (G::GIN % BN == 0 || c0 + first + i < G::GIN) ? 4 : 0);
  }
  /* acc: filters from m0 on of a group, channels from c0 on, of one tap and chunk */
  template <typename R>
  __device__ __forceinline__ void run(f32 (&acc)[TM][TN], const f32 *dy, const f32 *image, int group, int m0, int c0, int tap,
                                      int chunk, const R &size) {
    const Pixels p = pixels_of(chunk, tap, size);
    Place at = {0, 0, 0}, step = {0, 0, 0};
    if (p.all) at = place(p, (int)threadIdx.x % BK), step = place(p, BK);
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
      for (int j = 0; j < TN; j++) acc[i][j] = 0;
    int stage = 0;
    block_sync(); /* none reads the chunk before */
#pragma unroll 1
    for (int q0 = (1 - STAGES) * BK; q0 < p.all; q0 += BK) { /* below 0 the first copies begin */
      if (q0 >= 0) {
        async_wait<STAGES - 2>();
        block_sync(); /* all have the k-tile, and none reads the one before */
      }
      const int next = q0 + (STAGES - 1) * BK, free = q0 < 0 ? next / BK : stage ? stage - 1 : STAGES - 1;
      if (next < p.all) {
        load_pixels(free, dy, image, p, at, next + (int)threadIdx.x % BK < p.all, group, m0, c0, tap);
        at.col += step.col, at.row += step.row, at.image += step.image;
        if (at.col >= p.cols) at.col -= p.cols, at.row++;
        if (at.row >= p.rows) at.row -= p.rows, at.image++;
      }
      async_commit();
      if (q0 < 0) continue;
      this->multiply(acc, stage, p.all - q0);
      stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
  }
};
