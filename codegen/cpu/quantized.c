/* Prints what products of a quantized matrix read of it: tiles that read its integers, and their
   packing in panels. Contract: within the loops of cpu_matmul. Where A is of floats, the integers
   become numbers, in the tile or as they are packed: each is that of dequantize, and a chain is one
   of fma in order of depth, so that the bits are those of the product of the dequantized matrix.
   Where A is of integers, too, words of them are multiplied: a group's sum is exact, and a chain is
   one of fma of these sums, so that the bits depend on no instruction. Groups divide a chain's
   depth, and a row of pairs never spans two. The scales lie as the integers do. Algorithm: see
   text/quantized.h and text/integers.h. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/product.h"

bool cpu_multiplies_quantized(const Target *t, const Entry *e, const Op *op) {
  (void)t;
  int64_t group = op->attr[AT_GROUP].i;
  bool pairs = op->attr[AT_BITS].i == 4;
  /* the sum of a group, and each of its parts, is an i32 */
  if (op->attr[AT_BITS].i == 16) return false;
  if (op->kind == OP_QUANTIZED_MATMUL && op->attr[AT_WIDE_PRODUCT].i) return false;
  if (op->kind == OP_SCALED_MATMUL && op->attr[AT_LEFT_BITS].i == 16 && group > 256) return false;
  for (int i = 2; i < op->noperands; i++)
    if (value_type(e, op->operands[i])->dtype != DT_BF16) return false;
  return value_type(e, op->results[0])->dtype == DT_F32 && DEPTH % group == 0 &&
         (!pairs || group % 2 == 0);
}

static const char *kind(const Product *p) {
  if (p->interleaved) return p->s.bits == 8 ? "INTERLEAVED_Q8" : "INTERLEAVED_Q4";
  return p->s.bits == 8 ? "Q8" : "Q4";
}
static const char *type(const Product *p) { return p->s.bits == 8 ? "int8_t" : "uint8_t"; }

/* Rows of integers or of scales of so many rows of numbers. */
static int64_t stored_rows(const Product *p, int64_t rows) {
  const int64_t stored = p->s.bits == 8 ? rows : ceil_div(rows, 2);
  return p->interleaved ? ceil_div(stored, WORD_BYTES) * WORD_BYTES : stored;
}
static int64_t scale_rows(const Product *p, int64_t rows) { return ceil_div(rows, p->scaled); }

/* From one row of the integers as they are stored to the next. */
static int64_t row_of(const Product *p) { return p->s.b_panels ? p->s.nr : p->s.n; }

/* What tiles read of it. */
static const char *read_kind(const Product *p) {
  if (!p->s.pack) return kind(p);
  return p->interleaved && p->s.bits == 4 ? "INTERLEAVED_WORDS" : "WORDS";
}

/* ---- tiles ---- */

static const char *integer_tile(Gen *g, const Product *p, int64_t rows, int64_t width) {
  const char *of = read_kind(p);
  long long li = product_a_steps(&p->s, p->s.chain), lb = p->s.pack ? p->s.nr : row_of(p);
  const char *name =
      intern_printf(g->ctx, "tile_integers%d_%s_%lldx%lld_a%lld_b%lld_g%d", p->s.left_bits, of,
                    (long long)rows, (long long)width, li, lb, p->scaled);
  gen_helper(g, intern_printf(g->ctx,
                              "GC_TILE_INTEGERS(%s, %s, %s, %lld, %lld, %lldL, %lldL, %d, %d)\n",
                              name, of, p->s.pack ? "i32" : type(p), (long long)rows,
                              (long long)width, li, lb, p->scaled, p->s.left_bits));
  return name;
}

const char *product_quantized_tile(Gen *g, const Product *p, int64_t rows, int64_t width) {
  if (p->s.integers) return integer_tile(g, p, rows, width);
  const char *name =
      intern_printf(g->ctx, "tile_%s_%lldx%lld_a%lld_b%lld_g%d", kind(p), (long long)rows,
                    (long long)width, (long long)p->s.k, (long long)row_of(p), p->scaled);
  gen_helper(g, intern_printf(g->ctx, "GC_TILE_%s(%s, %lld, %lld, %lldL, 1L, %lldL, %d)\n", kind(p),
                              name, (long long)rows, (long long)width, (long long)p->s.k,
                              (long long)row_of(p), p->scaled));
  return name;
}

/* ---- panels ---- */

/* Where panel q begins at depth k0, of `rows` stored rows that each stand for `of` of the depth. */
static const char *place(const Product *p, int64_t rows, int64_t of) {
  Arena *a = p->arena;
  const char *row = *p->k0 == '0' ? "0" : arena_printf(a, "k0 / %lld", (long long)of);
  if (p->s.b_panels) return text_times(a, text_sum(a, text_times(a, "q", rows), row), p->s.nr);
  return text_plus(a, text_times(a, row, p->s.n), text_times(a, "q", p->s.nr));
}

static void print_stored_panel(Text *x, const Product *p) {
  text_line(x, "const %s *b = B + %s;", type(p),
            place(p, stored_rows(p, p->s.k), p->s.bits == 8 ? 1 : 2));
  text_line(x, "const uint16_t *s = S + %s;", place(p, scale_rows(p, p->s.k), p->scaled));
}

/* Declares where panel q's words and scales are packed. */
static void print_packed_panel(Text *x, const Product *p, const char *words, const char *scales) {
  const char *q = text_minus(x->a, "q", p->g0);
  text_line(x, "%s = packed + %s;", words,
            text_times(x->a, q, product_steps(&p->s, p->s.chain) * p->s.nr));
  text_line(x, "%s = packed_s + %s;", scales,
            text_times(x->a, q, scale_rows(p, p->s.chain) * p->s.nr));
}

void product_quantized_panel(Text *x, const Product *p) {
  if (p->s.pack)
    print_packed_panel(x, p, "const i32 *b", "const uint16_t *s");
  else
    print_stored_panel(x, p);
}

/* ---- packing ---- */

static void print_rows(Gen *g, Text *x, const Product *p, int64_t width) {
  const char *of = p->s.integers ? "pack_words" : "dequantize";
  const char *name = intern_printf(g->ctx, "%s_%s_%lld_b%lld_to%d_g%d", of, kind(p),
                                   (long long)width, (long long)row_of(p), p->s.nr, p->scaled);
  if (p->s.integers)
    gen_helper(g, intern_printf(g->ctx, "GC_PACK_WORDS(%s, %s, %s, %lld, %lldL, %dL, %d)\n", name,
                                kind(p), type(p), (long long)width, (long long)row_of(p), p->s.nr,
                                p->scaled));
  else
    gen_helper(g,
               intern_printf(g->ctx, "GC_DEQUANTIZE(%s, GC_NUMBERS_%s, %s, %lld, %lldL, %dL, %d)\n",
                             name, kind(p), type(p), (long long)width, (long long)row_of(p),
                             p->s.nr, p->scaled));
  text_line(x, "%s(b, to, %s, s%s);", name, p->depth, p->s.integers ? ", to_s" : "");
}

/* Of a matrix as it lies transposed: number by number, or word by word. */
static void print_columns(Gen *g, Text *x, const Product *p) {
  const char *number = p->s.bits == 8 ? "number_q8" : "number_q4";
  text_line(x, "const long w = %lld - q * %d < %d ? %lld - q * %d : %d;", (long long)p->s.n,
            p->s.nr, p->s.nr, (long long)p->s.n, p->s.nr, p->s.nr);
  text_open(x, "for (long j = 0; j < w; j++) {");
  text_line(x, "const %s *b = B + (q * %d + j) * %lld;", type(p), p->s.nr,
            (long long)stored_rows(p, p->s.k));
  text_line(x, "const uint16_t *s = S + (q * %d + j) * %lld;", p->s.nr,
            (long long)scale_rows(p, p->s.k));
  if (p->s.integers)
    text_line(x, "column_words_%s(b, to + j, %d, %s, %s, %d, s, to_s + j);",
              p->s.bits == 8 ? "q8" : "q4", p->s.nr, p->k0, p->depth, p->scaled);
  else
    text_line(x, "for (long k = 0; k < %s; k++) to[k * %d + j] = %s(b, s, %s, %d);", p->depth,
              p->s.nr, number, text_sum(g->a, p->k0, "k"), p->scaled);
  text_close(x, "}");
}

void product_pack_quantized(Gen *g, Text *x, const Product *p) {
  text_open(x, "for (long q = %s; q < %s; q++) {", p->g0, p->g1);
  if (p->s.integers)
    print_packed_panel(x, p, "i32 *to", "uint16_t *to_s");
  else
    text_line(x, "f32 *to = packed + %s * %s * %d;", text_minus(x->a, "q", p->g0), p->depth,
              p->s.nr);
  int64_t tail = p->s.n % p->s.nr;
  if (p->s.tb) {
    print_columns(g, x, p);
  } else {
    print_stored_panel(x, p);
    if (tail && p->s.np > 1) text_open(x, "if (q < %lld) {", (long long)(p->s.np - 1));
    if (!tail || p->s.np > 1) print_rows(g, x, p, p->s.nr);
    if (tail && p->s.np > 1) {
      x->indent--;
      text_open(x, "} else {");
    }
    if (tail) print_rows(g, x, p, tail);
    if (tail && p->s.np > 1) text_close(x, "}");
  }
  text_close(x, "}");
}

void product_integer_rows(Gen *g, Text *x, const Product *p, const char *row) {
  const int bits = p->s.left_bits;
  const char *of = read_kind(p);
  const long long lb = p->s.pack ? p->s.nr : row_of(p);
  const char *name =
      intern_printf(g->ctx, "integer%d_row_%s_%s_b%lld_g%d", bits, kind(p), of, lb, p->scaled);
  gen_helper(g, intern_printf(g->ctx, "GC_INTEGER_ROW(%s, %s, %d, %d, GC_STEP_OF(%s, %lld, %d))\n",
                              name, kind(p), p->scaled, bits, of, lb, p->scaled));
  const char *first =
      text_plus(g->a, arena_printf(g->a, "(m + r) * %lld", (long long)p->s.k), p->k0);
  if (bits == 16) first = arena_printf(g->a, "2 * (%s)", first);
  const char *scale = arena_printf(g->a, "(m + r) * %lld", (long long)scale_rows(p, p->s.k));
  if (*p->k0 != '0') scale = arena_printf(g->a, "%s + k0 / %d", scale, p->scaled);
  text_line(x, "for (long r = 0; r < rows; r++)");
  text_line(x, "  %s(A + %s, scale_a + %s, packed_a + %s * %lld, %s);", name, first, scale, row,
            (long long)product_a_steps(&p->s, p->s.chain), p->depth);
}
