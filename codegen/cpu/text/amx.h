/* Products of bf16 in tile registers (AMX): eight of 16 rows of 64 bytes. Four hold sums, two 16 rows of a each, and two
   16 columns of b each: 32 of the depth, in pairs as vdpbf16ps reads them. The compilers' intrinsics are such statements,
   too: they know neither registers nor what reads memory. */
/* section amx_configure amx_release GcTiles */
/* A thread that has configured the registers has to release them: the system saves what is in use. */
typedef struct GcTiles {
  u8 palette, first_row, unused[14];
  uint16_t bytes[16]; /* of a row */
  u8 rows[16];
} GcTiles;
static const GcTiles amx_tiles = {.palette = 1,
                                  .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
                                  .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
INL void amx_configure(void) { __asm__ volatile("ldtilecfg %0" : : "m"(amx_tiles)); }
INL void amx_release(void) { __asm__ volatile("tilerelease"); }
/* section amx_configure_bytes: amx_configure */
/* Sums of four times 16 columns; 16 rows of a, of a group of 32 bytes of the depth, and twice 16 columns of b. */
static const GcTiles amx_groups = {.palette = 1,
                                   .bytes = {64, 64, 64, 64, 32, 0, 64, 64},
                                   .rows = {16, 16, 16, 16, 16, 0, 8, 8}};
INL void amx_configure_bytes(void) { __asm__ volatile("ldtilecfg %0" : : "m"(amx_groups)); }
/* section amx_rows: splat_i32 GC_SWAP_HALVES GcWords */
/* `rows` rows of A, ld apart, of `depth`: for each 16 of them, tiles of 16 rows by 32 of the depth, which is filled up by
   zeros. `to` pairs of each row have room. What is left of the last tile's rows is not used. */
static __attribute__((noinline)) void amx_rows(const uint16_t *restrict a, long ld, i32 *restrict p, long to, long rows,
                                               long depth) {
  for (long r = 0; r < rows; r++, a += ld) {
    i32 *tile = p + r / 16 * 16 * to + r % 16 * 16;
    for (long k = 0; k < depth; k += 32, tile += 256) {
      uint16_t rest[32] = {0};
      const uint16_t *from = a + k;
      if (depth - k < 32) from = __builtin_memcpy(rest, from, (unsigned long)(depth - k) * sizeof *a);
      for (long l = 0; l < 16; l += VW) {
        GcWords x;
        __builtin_memcpy(&x, from + 2 * l, sizeof x);
        x = GC_SWAP_HALVES(x);
        __builtin_memcpy(tile + l, &x, sizeof x);
      }
    }
  }
}
/* section amx_columns: zip_half_rows GC_PAIR GC_TRANSPOSE */
/* The same of A^T: `rows` columns, of `depth` rows that are ld apart. */
static __attribute__((noinline)) void amx_columns(const uint16_t *restrict a, long ld, i32 *restrict p, long to, long rows,
                                                  long depth) {
  for (long k = 0; k < depth; k += 32)
    for (long r = 0; r < rows; r += 16) {
      i32 *tile = p + r * to + k * 8;
      const uint16_t *from = a + k * ld + r;
      if (rows - r >= 16 && depth - k >= 32) {
        GC_LANES i32 block[16][16];
        for (long l = 0; l < 16; l++)
          for (long i = 0; i < 16; i += VW) {
            const Vi32 x = zip_half_rows(from + 2 * l * ld + i, from + (2 * l + 1) * ld + i);
            __builtin_memcpy(&block[l][i], &x, sizeof x);
          }
        transpose16_f32((const f32 *)block[0], 16, (f32 *)tile, 16);
        continue;
      }
      for (long i = 0; i < 16 && i < rows - r; i++)
        for (long l = 0; l < 16; l++) {
          const long first = k + 2 * l;
          const uint16_t *pair = from + 2 * l * ld + i;
          tile[i * 16 + l] = GC_PAIR(first < depth ? pair[0] : 0, first + 1 < depth ? pair[ld] : 0);
        }
    }
}
/* section amx_fill */
/* Fills rows of pairs of b, nr wide, behind those of `depth`: what lies there might be no number. */
INL void amx_fill(i32 *p, long nr, long depth) {
  const long from = (depth + 1) / 2, to = (depth + 31) / 32 * 16;
  __builtin_memset(p + from * nr, 0, (unsigned long)((to - from) * nr) * sizeof *p);
}
/* section amx_begin amx_steps amx_end GC_AMX_ZERO GC_AMX_LOAD GC_AMX_STORE GC_AMX_DOT */
#define GC_AMX_ZERO(N) __asm__ volatile("tilezero %%tmm" #N : :)
#define GC_AMX_LOAD(N, p, bytes) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #N : : "r"(p), "r"(bytes) : "memory")
#define GC_AMX_STORE(N, p, bytes) __asm__ volatile("tilestored %%tmm" #N ", (%0,%1,1)" : : "r"(p), "r"(bytes) : "memory")
#define GC_AMX_DOT(C, A, B) __asm__ volatile("tdpbf16ps %%tmm" #B ", %%tmm" #A ", %%tmm" #C : :)
/* One or two tiles of rows by one or two of columns begin with 0, or with what lies in c. */
INL void amx_begin(int rows, int columns, const f32 *c, long ldc, bool more) {
  const long of_c = ldc * (long)sizeof *c;
  const f32 *d = c + 16 * ldc;
  if (more) {
    GC_AMX_LOAD(0, c, of_c);
    if (columns > 1) GC_AMX_LOAD(1, c + 16, of_c);
    if (rows > 1) GC_AMX_LOAD(2, d, of_c);
    if (rows > 1 && columns > 1) GC_AMX_LOAD(3, d + 16, of_c);
  } else {
    GC_AMX_ZERO(0);
    if (columns > 1) GC_AMX_ZERO(1);
    if (rows > 1) GC_AMX_ZERO(2);
    if (rows > 1 && columns > 1) GC_AMX_ZERO(3);
  }
}
/* Adds products over `steps` tiles of the depth. From a's rows to the next ones are `row` bytes, from its tiles to the
   next ones `next`, to those below `below`. The instruction sums
   products of first numbers of pairs and those of second ones, each by a chain of fma from 0, and adds both to c: so sums
   depend on where the tiles of the depth begin, which is the same for every shape and thread. */
INL void amx_steps(int rows, int columns, const void *tiles, long row, long next, long below, const i32 *b, long nr, long steps) {
  const char *a = tiles;
  const long of_b = nr * (long)sizeof *b;
  for (long k = 0; k < steps; k++, a += next, b += 16 * nr) {
    GC_AMX_LOAD(4, a, row);
    GC_AMX_LOAD(6, b, of_b);
    GC_AMX_DOT(0, 4, 6);
    if (columns > 1) GC_AMX_LOAD(7, b + 16, of_b);
    if (columns > 1) GC_AMX_DOT(1, 4, 7);
    if (rows > 1) GC_AMX_LOAD(5, a + below, row);
    if (rows > 1) GC_AMX_DOT(2, 5, 6);
    if (rows > 1 && columns > 1) GC_AMX_DOT(3, 5, 7);
  }
}
INL void amx_end(int rows, int columns, f32 *c, long ldc) {
  const long of_c = ldc * (long)sizeof *c;
  f32 *d = c + 16 * ldc;
  GC_AMX_STORE(0, c, of_c);
  if (columns > 1) GC_AMX_STORE(1, c + 16, of_c);
  if (rows > 1) GC_AMX_STORE(2, d, of_c);
  if (rows > 1 && columns > 1) GC_AMX_STORE(3, d + 16, of_c);
}
/* section GC_TILE_AMX */
/* C = a b + c or, if nothing is there yet, a b, for ROWS by COLUMNS tiles. a has A pairs of each row, b rows of NR pairs. */
#define GC_TILE_AMX(NAME, ROWS, COLUMNS, A, NR)                                                   \
  static __attribute__((noinline)) void NAME(const i32 *a, const i32 *b, f32 *c, long ldc, long depth, bool more) { \
    UNROLL for (int j = 0; j < COLUMNS; j += 2) {                                                 \
      const int columns = COLUMNS - j > 1 ? 2 : 1;                                                \
      amx_begin(ROWS, columns, c + 16 * j, ldc, more);                                            \
      amx_steps(ROWS, columns, a, 64, 1024, 64 * (long)A, b + 16 * j, NR, (depth + 31) / 32);          \
      amx_end(ROWS, columns, c + 16 * j, ldc);                                                    \
    }                                                                                             \
  }
/* section amx_group GC_TILE_AMX_BYTES: amx_begin GC_STORE_ROW load_bf16 splat_f32 splat_i32 vfma_f32 */
/* Products of integers by tile registers, with the words of vpdpbusd: a's rows as GC_INTEGER_ROW packs them, LI apart,
   and rows of LB words of b, which have an offset. Sums of a group are exact and leave the registers to be scaled: as
   those of GC_TILE_INTEGERS they are added by one fma each, so that the bits are the same. Of a last group that is not
   whole, what lies behind b's words meets zeros of a. Rows of a behind the last one are read, and their sums not used. */
#define GC_AMX_DOT_BYTES(C, A, B) __asm__ volatile("tdpbsud %%tmm" #B ", %%tmm" #A ", %%tmm" #C : :)
INL void amx_group(int columns, const i32 *a, long of_a, const i32 *b, long of_b, i32 *sum, long of_sum) {
  GC_AMX_LOAD(4, a, of_a);
  GC_AMX_ZERO(0);
  GC_AMX_LOAD(6, b, of_b);
  GC_AMX_DOT_BYTES(0, 4, 6);
  if (columns > 1) {
    GC_AMX_ZERO(1);
    GC_AMX_LOAD(7, b + 16, of_b);
    GC_AMX_DOT_BYTES(1, 4, 7);
  }
  if (columns > 2) {
    GC_AMX_ZERO(2);
    GC_AMX_LOAD(6, b + 32, of_b);
    GC_AMX_DOT_BYTES(2, 4, 6);
  }
  if (columns > 3) {
    GC_AMX_ZERO(3);
    GC_AMX_LOAD(7, b + 48, of_b);
    GC_AMX_DOT_BYTES(3, 4, 7);
  }
  GC_AMX_STORE(0, sum, of_sum);
  if (columns > 1) GC_AMX_STORE(1, sum + 16, of_sum);
  if (columns > 2) GC_AMX_STORE(2, sum + 32, of_sum);
  if (columns > 3) GC_AMX_STORE(3, sum + 48, of_sum);
}
#define GC_TILE_AMX_BYTES(NAME, W, LI, LB)                                                        \
  static __attribute__((noinline)) void NAME(const i32 *a, const i32 *b, f32 *c, long ldc, long depth, \
                                             const f32 *c_in, const uint16_t *s, long rows) {     \
    enum { L = VW, NV = (W + L - 1) / L, GROUP = 32, WORDS = 8 };                                 \
    GC_LANES i32 sums[16][NV * L];                                                                \
    Vf32 acc[16][NV];                                                                             \
    for (long i = 0; i < rows; i++) UNROLL for (int j = 0; j < NV; j++) acc[i][j] = (Vf32){0};    \
    for (; depth > 0; depth -= GROUP, s += LB, b += WORDS * LB, a += 2 + WORDS) {                 \
      Vf32 v[NV];                                                                                 \
      amx_group(NV, a + 2, 4 * LI, b, 4 * LB, sums[0], sizeof sums[0]);                           \
      UNROLL for (int j = 0; j < NV; j++) v[j] = load_bf16(s + j * L);                            \
      for (long i = 0; i < rows; i++) {                                                           \
        const Vi32 less = splat_i32(a[i * LI]);                                                   \
        const Vf32 scale = (Vf32)splat_i32(a[i * LI + 1]);                                        \
        UNROLL for (int j = 0; j < NV; j++) {                                                     \
          Vi32 sum;                                                                               \
          __builtin_memcpy(&sum, &sums[i][j * L], sizeof sum);                                    \
          acc[i][j] = vfma_f32(__builtin_convertvector(sum + less, Vf32), scale * v[j], acc[i][j]); \
        }                                                                                         \
      }                                                                                           \
    }                                                                                             \
    for (long i = 0; i < rows; i++) GC_STORE_ROW(f32, W, i)                                       \
  }
/* section amx_weights: store_row_bf16 splat_i32 GC_SWAP_HALVES GcWords */
/* Rows of f32, ld apart, as the tiles of bf16 that amx_rows makes: rounded, 32 of `depth` at a time. Behind it rows have
   zeros up to ld, a multiple of 32. */
static __attribute__((noinline)) void amx_weights(const f32 *restrict s, long ld, i32 *restrict p, long to, long rows,
                                                  long depth) {
  for (long r = 0; r < rows; r++, s += ld) {
    i32 *tile = p + r / 16 * 16 * to + r % 16 * 16;
    for (long k = 0; k < depth; k += 32, tile += 256) {
      GC_LANES uint16_t halves[32];
      store_row_bf16(halves, s + k, 32);
      for (long l = 0; l < 16; l += VW) {
        GcWords x;
        __builtin_memcpy(&x, halves + 2 * l, sizeof x);
        x = GC_SWAP_HALVES(x);
        __builtin_memcpy(tile + l, &x, sizeof x);
      }
    }
  }
}
/* section amx_rescale */
/* Rows of sums, ld apart, each times its factor. */
static __attribute__((noinline)) void amx_rescale(f32 *restrict c, long ld, const f32 *restrict by, long rows) {
  for (long r = 0; r < rows; r++, c += ld) {
    if (by[r] == 1) continue;
    GC_IVDEP for (long j = 0; j < ld; j++) c[j] *= by[r];
  }
}
/* section amx_add_rows */
/* Adds rows of n sums to others. */
static __attribute__((noinline)) void amx_add_rows(f32 *restrict to, long ld, const f32 *restrict c, long ldc, long rows,
                                                   long n) {
  for (long r = 0; r < rows; r++, to += ld, c += ldc) GC_IVDEP for (long j = 0; j < n; j++) to[j] += c[j];
}
/* section GC_ROW_AMX: load_bf16 bf16_to_f32 vfma_f32 splat_f32 */
/* One row of A, and P panels of NR columns of B as they are stored, `panel` elements apart: for one row B is not packed.
   The bits are those of tiles: 32 of the depth by two chains. A panel has 32 of the depth at a time, while those behind
   them are on their way from memory. */
#define GC_ROW_AMX_STEP(s, sums, row)                                                             \
  UNROLL for (int j = 0; j < NV; j++) sums[j] = vfma_f32(load_bf16(q + (row) * N + j * L), s, sums[j]);
#define GC_ROW_AMX(NAME, PANELS, NR)                                                              \
  static __attribute__((noinline)) void NAME(const uint16_t *restrict a, const uint16_t *restrict b, long panel, \
                                             f32 *restrict c, long depth) {                       \
    enum { P = PANELS, N = NR, L = VW, NV = N / L };                                              \
    Vf32 sum[P][NV];                                                                              \
    UNROLL for (int p = 0; p < P; p++) UNROLL for (int j = 0; j < NV; j++) sum[p][j] = (Vf32){0}; \
    for (long k = 0; k < depth; k += 32, a += 32, b += 32 * N) {                                  \
      const long steps = depth - k < 32 ? depth - k : 32;                                         \
      for (int p = 0; p < P; p++) {                                                               \
        const uint16_t *q = b + p * panel;                                                        \
        Vf32 first[NV], second[NV];                                                               \
        UNROLL for (int j = 0; j < NV; j++) first[j] = second[j] = (Vf32){0};                     \
        long l = 0;                                                                               \
        for (; l + 1 < steps; l += 2, q += 2 * N) {                                               \
          const Vf32 s = splat_f32(bf16_to_f32(a[l])), t = splat_f32(bf16_to_f32(a[l + 1]));      \
          UNROLL for (int i = 0; i < 2 * N; i += 32) GC_PREFETCH(q, 32 * N + i);                  \
          GC_ROW_AMX_STEP(s, first, 0)                                                            \
          GC_ROW_AMX_STEP(t, second, 1)                                                           \
        }                                                                                         \
        if (l < steps) {                                                                          \
          const Vf32 s = splat_f32(bf16_to_f32(a[l]));                                            \
          GC_ROW_AMX_STEP(s, first, 0)                                                            \
        }                                                                                         \
        UNROLL for (int j = 0; j < NV; j++) sum[p][j] += first[j] + second[j];                    \
      }                                                                                           \
    }                                                                                             \
    __builtin_memcpy(c, sum, sizeof sum);                                                         \
  }
/* section GC_CONV_AMX GcTap: amx_begin */
/* The words from a position to the number that a tap reads, and from the first tap's filters to its. */
typedef struct GcTap {
  long a, b;
} GcTap;
/* Sums of ROWS times 16 positions by COLUMNS times 16 columns: rows and columns of taps by `chunks` of 32 channels, those
   of a `next` words apart. A position has 16 words of each. */
#define GC_CONV_AMX(NAME, ROWS, COLUMNS, NR)                                                      \
  static __attribute__((noinline)) void NAME(const i32 *a, long next, long chunks, const GcTap *rows, long nrows, \
                                             const GcTap *columns, long ncolumns, const i32 *b, f32 *c) { \
    UNROLL for (int j = 0; j < COLUMNS; j += 2) {                                                 \
      const int wide = COLUMNS - j > 1 ? 2 : 1;                                                   \
      amx_begin(ROWS, wide, c + 16 * j, NR, false);                                               \
      for (long r = 0; r < nrows; r++)                                                            \
        for (long s = 0; s < ncolumns; s++)                                                       \
          amx_steps(ROWS, wide, a + rows[r].a + columns[s].a, 64, 4 * next, 1024, b + rows[r].b + columns[s].b + 16 * j, NR, chunks); \
      amx_end(ROWS, wide, c + 16 * j, NR);                                                        \
    }                                                                                             \
  }
/* section GcImages */
/* Images of bf16 in memory, and planes of them: those of every so many-th row and column, from some on. */
typedef struct GcImages {
  long rows, columns;      /* of an image */
  long image, row, pixel;  /* numbers from one to the next */
  long channels;           /* to copy of each pixel, which takes 16 words for 32 of them */
  long over[2], planes[2]; /* rows and columns from one of a plane to the next; planes */
  const long *first[2];    /* rows and columns, by plane */
  long before, pitch;      /* places before a plane's first row, and from row to row */
  long plane, chunk;       /* words from plane to plane, and from 32 channels to the next */
} GcImages;
/* section amx_images: splat_i32 GC_SWAP_HALVES GcWords */
/* One row of a plane, whose first number is column `first` of the row at `from`, from place x on: zeros where it has none.
   All are if `from` is NULL. */
INL void amx_line(const GcImages *s, const uint16_t *from, long first, long x, i32 *to) {
  const long all = from && first < s->columns ? (s->columns - first + s->over[1] - 1) / s->over[1] : 0;
  const long begin = x < 0 ? -x : 0, there = all - x < s->pitch ? all - x : s->pitch, end = there > begin ? there : begin;
  const long whole = s->channels / 32, rest = s->channels % 32;
  GcWords mask;
  for (int l = 0; l < VW; l++) mask[l] = (2 * l < rest ? 0xffffu : 0) | (2 * l + 1 < rest ? 0xffff0000u : 0);
  for (long i = begin; i < end; i++) {
    const uint16_t *pixel = from + (first + (x + i) * s->over[1]) * s->pixel;
    for (long k = 0; k <= whole; k++) {
      GcWords v;
      if (k == whole && !rest) break;
      __builtin_memcpy(&v, pixel + 32 * k, sizeof v);
      if (k == whole) v &= mask;
      v = GC_SWAP_HALVES(v);
      __builtin_memcpy(to + k * s->chunk + i * 16, &v, sizeof v);
    }
  }
  for (long k = 0; k < whole + (rest > 0); k++) {
    __builtin_memset(to + k * s->chunk, 0, (unsigned long)begin * 64);
    __builtin_memset(to + k * s->chunk + end * 16, 0, (unsigned long)(s->pitch - end) * 64);
  }
}
/* `lines` rows of each plane, from place x on, of images that have `of_image` of them; `top` lie before the first image's
   row y0. */
static __attribute__((noinline)) void amx_images(const GcImages *s, const uint16_t *image, long of_image, long top, long y0,
                                                 long x, long lines, i32 *to) {
  for (long p = 0; p < s->planes[0]; p++)
    for (long q = 0; q < s->planes[1]; q++) {
      i32 *line = to + (p * s->planes[1] + q) * s->plane;
      for (long k = 0; k < s->channels; k += 32) __builtin_memset(line + k / 32 * s->chunk, 0, (unsigned long)s->before * 64);
      line += s->before * 16;
      for (long l = 0; l < lines; l++, line += s->pitch * 16) {
        const long m = l < top ? 0 : (l - top) / of_image;
        const long y = (l - top - m * of_image + y0) * s->over[0] + s->first[0][p];
        const bool there = y >= 0 && y < s->rows;
        amx_line(s, there ? image + m * s->image + y * s->row : (const uint16_t *)0, s->first[1][q], x, line);
      }
    }
}
/* section amx_pixels */
/* Where the pixel of each of `count` places of plane p, q lies, or zeros, as above. */
static __attribute__((noinline)) void amx_pixels(const GcImages *s, const uint16_t *image, long p, long q, long of_image,
                                                 long top, long y0, long lines, const uint16_t *zeros, const uint16_t **at,
                                                 long count) {
  long n = 0;
  for (; n < s->before; n++) at[n] = zeros;
  for (long l = 0; l < lines; l++, n += s->pitch) {
    const long m = l < top ? 0 : (l - top) / of_image;
    const long y = (l - top - m * of_image + y0) * s->over[0] + s->first[0][p];
    const uint16_t *row = image + m * s->image + y * s->row;
    long i = 0;
    if (y >= 0 && y < s->rows)
      for (long x = s->first[1][q]; x < s->columns; x += s->over[1]) at[n + i++] = row + x * s->pixel;
    for (; i < s->pitch; i++) at[n + i] = zeros;
  }
  for (; n < count; n++) at[n] = zeros;
}
/* section amx_turn amx_pair: zip_half_rows GC_TRANSPOSE */
/* `channels` of the pixels, transposed: each has `places` numbers, of which there are `count`. */
static __attribute__((noinline)) void amx_turn(const uint16_t *const *at, long count, long places, long channels,
                                               uint16_t *to) {
  for (long k = 0; k < count; k += 32)
    for (long r = 0; r < channels; r += 16) {
      GC_LANES i32 block[16][16];
      for (long l = 0; l < 16; l++)
        for (long i = 0; i < 16; i += VW) {
          const Vi32 x = zip_half_rows(at[k + 2 * l + 1] + r + i, at[k + 2 * l] + r + i);
          __builtin_memcpy(&block[l][i], &x, sizeof x);
        }
      transpose16_f32((const f32 *)block[0], 16, (f32 *)(to + r * places + k), places / 2);
    }
}
/* Pixels in pairs: rows of nr words, each of one channel of two. What lies behind `channels` is not used. */
static __attribute__((noinline)) void amx_pair(const uint16_t *const *at, long count, long nr, long channels, i32 *to) {
  const long w = channels < nr ? channels : nr;
  for (long k = 0; k < count; k += 2, to += nr)
    for (long j = 0; j < w; j += VW) {
      const Vi32 x = zip_half_rows(at[k + 1] + j, at[k] + j);
      __builtin_memcpy(to + j, &x, sizeof x);
    }
}
/* section GC_FILTER_AMX: amx_begin amx_steps amx_end */
/* Sums over pixels of ROWS times 16 channels of x, which have PLACES numbers each, by COLUMNS times 16 of dy. */
#define GC_FILTER_AMX(NAME, ROWS, COLUMNS, PLACES, NR)                                            \
  static __attribute__((noinline)) void NAME(const uint16_t *a, const i32 *b, long steps, f32 *c) { \
    UNROLL for (int j = 0; j < COLUMNS; j += 2) {                                                 \
      const int wide = COLUMNS - j > 1 ? 2 : 1;                                                   \
      amx_begin(ROWS, wide, c + 16 * j, NR, false);                                               \
      amx_steps(ROWS, wide, a, 2 * PLACES, 64, 32 * PLACES, b + 16 * j, NR, steps);               \
      amx_end(ROWS, wide, c + 16 * j, NR);                                                        \
    }                                                                                             \
  }
