/* Winograd's convolution F(2x2, 3x3). Each transform adds in one order, a vector of channels at a time. */
/* section GcWinograd winograd_source winograd_result */
typedef struct GcWinograd {
  long rows, columns, channels; /* of the source */
  long place, pitch;            /* rows from image to image, and columns from row to row: as many or more */
  long row_padding, column_padding;
  long down, across; /* tiles of an image */
  long pixel, plane; /* numbers from tile to tile, and from one of 16 planes to the next, of the transformed source */
} GcWinograd;
/* B^T d B of `count` tiles from `first` on, and none behind the last image: d is a tile's 4 x 4 pixels, 0 beyond the
   sides. Whole vectors are read and written: the lanes behind the last channel are not used. */
static __attribute__((noinline)) void winograd_source(const GcWinograd *s, const f32 *image, long images, long first,
                                                      long count, const f32 *zeros, f32 *restrict to) {
  long x = first % s->across, y = first / s->across % s->down, n = first / s->across / s->down;
  for (long i = 0; i < count; i++, to += s->pixel) {
    const f32 *p[4][4];
    for (long r = 0; r < 4; r++)
      for (long c = 0; c < 4; c++) {
        const long row = 2 * y - s->row_padding + r, column = 2 * x - s->column_padding + c;
        const bool inside = n < images && row >= 0 && row < s->rows && column >= 0 && column < s->columns;
        p[r][c] = inside ? image + ((n * s->place + row) * s->pitch + column) * s->channels : zeros;
      }
    if (++x == s->across) {
      x = 0;
      if (++y == s->down) y = 0, n++;
    }
    for (long k = 0; k < s->channels; k += VW) {
      Vf32 t[4][4];
      UNROLL for (int c = 0; c < 4; c++) {
        Vf32 d[4];
        UNROLL for (int r = 0; r < 4; r++) __builtin_memcpy(&d[r], p[r][c] + k, VBYTES);
        t[0][c] = d[0] - d[2];
        t[1][c] = d[1] + d[2];
        t[2][c] = d[2] - d[1];
        t[3][c] = d[1] - d[3];
      }
      UNROLL for (int r = 0; r < 4; r++) {
        const Vf32 v[4] = {t[r][0] - t[r][2], t[r][1] + t[r][2], t[r][2] - t[r][1], t[r][1] - t[r][3]};
        UNROLL for (int c = 0; c < 4; c++) __builtin_memcpy(to + (4 * r + c) * s->plane + k, &v[c], VBYTES);
      }
    }
  }
}
/* A^T m A of one tile, `n` channels: 2 x 2 results, n numbers from one to the next. */
INL void winograd_result(const f32 *restrict m, long plane, long n, f32 *restrict y) {
  for (long k = 0; k < n; k += VW) {
    Vf32 t[2][4];
    UNROLL for (int c = 0; c < 4; c++) {
      Vf32 v[4];
      UNROLL for (int r = 0; r < 4; r++) __builtin_memcpy(&v[r], m + (4 * r + c) * plane + k, VBYTES);
      t[0][c] = v[0] + v[1] + v[2];
      t[1][c] = v[1] - v[2] - v[3];
    }
    UNROLL for (int r = 0; r < 2; r++) {
      const Vf32 v[2] = {t[r][0] + t[r][1] + t[r][2], t[r][1] - t[r][2] - t[r][3]};
      UNROLL for (int c = 0; c < 2; c++) __builtin_memcpy(y + (2 * r + c) * n + k, &v[c], VBYTES);
    }
  }
}
/* section winograd_filter */
/* G f G^T of `rows` x `columns` filters: the taps of f lie `tap` apart, its rows `row`. Rows of the result lie `to`
   apart in 16 planes; columns beyond the last, up to `width`, are 0. The sum over the taps of a row is the same from both
   ends, so that the transform of a filter turned by 180 degrees has the same numbers in other planes. */
static __attribute__((noinline)) void winograd_filter(const f32 *f, long tap, long row, long rows, long columns,
                                                      long width, f32 *restrict u, long to, long plane) {
  for (long d = 0; d < rows; d++, f += row, u += to)
    for (long k = 0; k < width; k += VW) {
      Vf32 g[9], t[4][3];
      const long n = columns - k < 0 ? 0 : columns - k < VW ? columns - k : VW;
      UNROLL for (int i = 0; i < 9; i++) g[i] = (Vf32){0};
      if (n == VW)
        UNROLL for (int i = 0; i < 9; i++) __builtin_memcpy(&g[i], f + i * tap + k, VBYTES);
      else
        for (int i = 0; i < 9; i++) __builtin_memcpy(&g[i], f + i * tap + k, (unsigned long)n * sizeof *f);
      const Vf32 half = splat_f32(0.5f);
      UNROLL for (int c = 0; c < 3; c++) {
        const Vf32 ends = g[c] + g[6 + c];
        t[0][c] = g[c];
        t[1][c] = (ends + g[3 + c]) * half;
        t[2][c] = (ends - g[3 + c]) * half;
        t[3][c] = g[6 + c];
      }
      UNROLL for (int r = 0; r < 4; r++) {
        const Vf32 ends = t[r][0] + t[r][2];
        const Vf32 v[4] = {t[r][0], (ends + t[r][1]) * half, (ends - t[r][1]) * half, t[r][2]};
        UNROLL for (int c = 0; c < 4; c++) __builtin_memcpy(u + (4 * r + c) * plane + k, &v[c], VBYTES);
      }
    }
}
