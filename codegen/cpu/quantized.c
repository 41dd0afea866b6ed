/* Prints what products of a quantized matrix read of it: tiles that dequantize the integers, and
   the packing of panels of numbers. Contract: within the loops of cpu_matmul. Each number is that
   of dequantize, and a chain is one of fma in order of depth, so that the bits are those of the
   product of the dequantized matrix. Groups divide a chain's depth, and a row of pairs never spans
   two. The scales lie as the integers do. Algorithm: see text/quantized.h. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/product.h"

bool cpu_multiplies_quantized(const Target *t, const Entry *e, const Op *op) {
  (void)t;
  int64_t group = op->attr[AT_GROUP].i;
  bool pairs = op->attr[AT_BITS].i == 4;
  return value_type(e, op->operands[0])->dtype == DT_F32 &&
         value_type(e, op->operands[2])->dtype == DT_BF16 && DEPTH % group == 0 &&
         (!pairs || group % 2 == 0);
}

static const char *kind(const Product *p) { return p->s.bits == 8 ? "Q8" : "Q4"; }
static const char *type(const Product *p) { return p->s.bits == 8 ? "int8_t" : "uint8_t"; }

/* Rows of integers or of scales of so many rows of numbers. */
static int64_t stored_rows(const Product *p, int64_t rows) {
  return p->s.bits == 8 ? rows : ceil_div(rows, 2);
}
static int64_t scale_rows(const Product *p, int64_t rows) { return ceil_div(rows, p->scaled); }

/* From one row of the integers as they are stored to the next. */
static int64_t row_of(const Product *p) { return p->s.b_panels ? p->s.nr : p->s.n; }

const char *product_quantized_tile(Gen *g, const Product *p, int64_t rows, int64_t width) {
  const char *name =
      intern_printf(g->ctx, "tile_%s_%lldx%lld_a%lld_b%lld_g%d", kind(p), (long long)rows,
                    (long long)width, (long long)p->s.k, (long long)row_of(p), p->scaled);
  gen_helper(g, intern_printf(g->ctx, "GC_TILE_%s(%s, %lld, %lld, %lldL, 1L, %lldL, %d)\n", kind(p),
                              name, (long long)rows, (long long)width, (long long)p->s.k,
                              (long long)row_of(p), p->scaled));
  return name;
}

/* Where panel q begins at depth k0, of `rows` stored rows that each stand for `of` of the depth. */
static const char *place(const Product *p, int64_t rows, int64_t of) {
  Arena *a = p->arena;
  const char *row = *p->k0 == '0' ? "0" : arena_printf(a, "k0 / %lld", (long long)of);
  if (p->s.b_panels) return text_times(a, text_sum(a, text_times(a, "q", rows), row), p->s.nr);
  return text_plus(a, text_times(a, row, p->s.n), text_times(a, "q", p->s.nr));
}

void product_quantized_panel(Text *x, const Product *p) {
  text_line(x, "const %s *b = B + %s;", type(p),
            place(p, stored_rows(p, p->s.k), p->s.bits == 8 ? 1 : 2));
  text_line(x, "const uint16_t *s = S + %s;", place(p, scale_rows(p, p->s.k), p->scaled));
}

static void print_rows(Gen *g, Text *x, const Product *p, int64_t width) {
  const char *name = intern_printf(g->ctx, "dequantize_%s_%lld_b%lld_to%d_g%d", kind(p),
                                   (long long)width, (long long)row_of(p), p->s.nr, p->scaled);
  gen_helper(g, intern_printf(
                    g->ctx, "GC_DEQUANTIZE(%s, GC_NUMBERS_%s, %s, %lld, %lldL, %dL, %d)\n", name,
                    kind(p), type(p), (long long)width, (long long)row_of(p), p->s.nr, p->scaled));
  text_line(x, "%s(b, to, %s, s);", name, p->depth);
}

/* Of a matrix as it lies transposed: number by number. */
static void print_columns(Gen *g, Text *x, const Product *p) {
  const char *number = p->s.bits == 8 ? "number_q8" : "number_q4";
  text_line(x, "const long w = %lld - q * %d < %d ? %lld - q * %d : %d;", (long long)p->s.n,
            p->s.nr, p->s.nr, (long long)p->s.n, p->s.nr, p->s.nr);
  text_open(x, "for (long j = 0; j < w; j++) {");
  text_line(x, "const %s *b = B + (q * %d + j) * %lld;", type(p), p->s.nr,
            (long long)stored_rows(p, p->s.k));
  text_line(x, "const uint16_t *s = S + (q * %d + j) * %lld;", p->s.nr,
            (long long)scale_rows(p, p->s.k));
  text_line(x, "for (long k = 0; k < %s; k++) to[k * %d + j] = %s(b, s, %s, %d);", p->depth,
            p->s.nr, number, text_sum(g->a, p->k0, "k"), p->scaled);
  text_close(x, "}");
}

void product_dequantize(Gen *g, Text *x, const Product *p) {
  text_open(x, "for (long q = %s; q < %s; q++) {", p->g0, p->g1);
  text_line(x, "f32 *to = packed + %s * %s * %d;", text_minus(x->a, "q", p->g0), p->depth, p->s.nr);
  int64_t tail = p->s.n % p->s.nr;
  if (p->s.tb) {
    print_columns(g, x, p);
  } else {
    product_quantized_panel(x, p);
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
