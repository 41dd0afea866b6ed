/* Prints the products of FlashAttention and its gradients in tile registers (text/amx.h), for bf16.
   Contract: a panel of 32 queries, or keys, begins at a multiple of 32 of its head's, and a step of
   the instruction at a multiple of 32 of the depth. What is multiplied beyond rows, columns and
   depth that there are is 0, or not used; such steps change no bit. So bits depend on shapes alone.
   Rows are packed as they lie, none is converted to f32; weights are rounded to bf16 for the
   products that read them, as by tensor cores. */
#include "codegen/cpu/attention.h"
#include "codegen/schedule/amx_conv.h"

int64_t flash_pairs(int64_t width) { return ceil_div(width, AMX_DEPTH) * AMX_DEPTH / 2; }
int64_t flash_wide(int64_t width) { return ceil_div(width, LINE) * LINE; }

/* ---- packing ---- */

static const char *rows_at(const FlashPrinter *p, const FlashRows *r, const char *head,
                           const char *row) {
  return arena_printf(p->g->a, "(const uint16_t *)(%s)", flash_row_at(p, r, head, row));
}

void flash_amx_tiles(const FlashPrinter *p, Text *x, const char *to, FlashRows r, const char *head,
                     const char *row, const char *rows, int64_t width) {
  text_line(x, "amx_rows(%s, %lld, %s, %lld, %s, %lld);", rows_at(p, &r, head, row),
            flash_row_stride(&r), to, (long long)flash_pairs(width), rows, (long long)width);
}

void flash_amx_pairs(const FlashPrinter *p, Text *x, const char *to, FlashRows r, const char *head,
                     const char *row, const char *rows, int64_t width) {
  const long long wide = flash_wide(width);
  text_line(x, "pairs_pack(%s, %lld, %s, %lld, %s, %lld);", rows_at(p, &r, head, row),
            flash_row_stride(&r), to, wide, rows, (long long)width);
  text_line(x, "amx_fill(%s, %lld, %s);", to, wide, rows);
}

void flash_amx_turned(const FlashPrinter *p, Text *x, const char *to, FlashRows r, const char *head,
                      const char *row, const char *rows, int64_t width) {
  const long long block = p->a.block;
  text_line(x, "pairs_pack_t(%s, %lld, %s, %lld, %lld, %s);", rows_at(p, &r, head, row),
            flash_row_stride(&r), to, block, (long long)width, rows);
  text_line(x, "amx_fill(%s, %lld, %lld);", to, block, (long long)width);
}

/* ---- products ---- */

typedef struct TileProduct { /* of the panel's r rows: c = a b, or added to it */
  const char *a, *b, *c;     /* texts */
  int64_t a_pairs;           /* of each of a's rows */
  int64_t nr;                /* columns that b has room for */
  const char *columns;       /* text of how many are computed; NULL: all */
  int64_t ldc;
  const char *depth;
  int64_t most_rows; /* of a panel */
  bool add;
} TileProduct;

/* A call for 32 or 16 columns, from n on. */
static void print_call(const FlashPrinter *p, Text *x, const TileProduct *m, int columns,
                       const char *n) {
  for (int rows = m->most_rows > LINE ? 2 : 1; rows > 0; rows--) {
    const char *name = arena_printf(p->g->a, "tile_amx_%dx%d_a%lld_b%lld", rows, columns,
                                    (long long)m->a_pairs, (long long)m->nr);
    gen_helper(p->g, arena_printf(p->g->a, "GC_TILE_AMX(%s, %d, %d, %lldL, %lldL)\n", name, rows,
                                  columns, (long long)m->a_pairs, (long long)m->nr));
    const char *which = rows > 1 ? "if (r > 16) " : m->most_rows > LINE ? "else " : "";
    text_line(x, "%s%s(%s, %s%s, %s%s, %lld, %s, %s);", which, name, m->a, m->b, n, m->c, n,
              (long long)m->ldc, m->depth, m->add ? "true" : "false");
  }
}

static void print_tiles(const FlashPrinter *p, Text *x, const TileProduct *m) {
  const int64_t pair = 2 * LINE, pairs = m->nr / pair * pair;
  if (pairs) {
    const char *end = m->columns ? m->columns : arena_printf(p->g->a, "%lld", (long long)pairs);
    text_open(x, "for (long n = 0; n < %s; n += %lld) {", end, (long long)pair);
    print_call(p, x, m, 2, " + n");
    text_close(x, "}");
  }
  if (m->nr > pairs) print_call(p, x, m, 1, arena_printf(p->g->a, " + %lld", (long long)pairs));
}

/* Rows of a panel of up to `of`. */
static int64_t most_rows(const FlashPrinter *p, int64_t of, bool bounded) {
  return !bounded && of < p->s.rows ? of : p->s.rows;
}

static int64_t most_queries(const FlashPrinter *p) { return most_rows(p, p->a.t, p->bounded_rows); }

void flash_amx_scores(const FlashPrinter *p, Text *x, const char *q, const char *keys,
                      const char *to, int64_t width) {
  const Attention *a = &p->a;
  const long long pairs = flash_pairs(width);
  print_tiles(p, x,
              &(TileProduct){.a = arena_printf(p->g->a, "%s + i * %lld", q, pairs),
                             .b = keys,
                             .c = to,
                             .a_pairs = pairs,
                             .nr = a->block,
                             .columns = "visible",
                             .ldc = a->block,
                             .depth = arena_printf(p->g->a, "%lld", (long long)width),
                             .most_rows = most_queries(p)});
}

/* weights: rows of f32, which are rounded. */
static void print_weights(const FlashPrinter *p, Text *x, const char *weights) {
  const long long B = p->a.block, pairs = flash_pairs(B);
  text_line(x, "amx_weights(%s, %lld, weights, %lld, r, visible);", weights, B, pairs);
}

void flash_amx_results(const FlashPrinter *p, Text *x) {
  const int64_t wide = flash_wide(p->a.e);
  print_weights(p, x, "scores");
  text_line(x, "amx_rescale(y + i * %lld, %lld, rescale, r);", (long long)wide, (long long)wide);
  print_tiles(p, x,
              &(TileProduct){.a = "weights",
                             .b = "values",
                             .c = arena_printf(p->g->a, "y + i * %lld", (long long)wide),
                             .a_pairs = flash_pairs(p->a.block),
                             .nr = wide,
                             .ldc = wide,
                             .depth = "visible",
                             .most_rows = most_queries(p),
                             .add = true});
}

void flash_amx_query_gradients(const FlashPrinter *p, Text *x, const char *grads, long long ldq) {
  const int64_t d = p->a.d, wide = flash_wide(d);
  print_weights(p, x, grads);
  print_tiles(p, x,
              &(TileProduct){.a = "weights",
                             .b = "k_pairs",
                             .c = "tile",
                             .a_pairs = flash_pairs(p->a.block),
                             .nr = wide,
                             .ldc = wide,
                             .depth = "visible",
                             .most_rows = most_queries(p)});
  text_line(x, "amx_add_rows(dq + i * %lld, %lld, tile, %lld, r, %lld);", ldq, ldq, (long long)wide,
            (long long)d);
}

void flash_amx_turn_weights(const FlashPrinter *p, Text *x, const char *from) {
  const long long B = p->a.block;
  text_line(x, "for (long l = 0; l < rows * %lld; l += 16) store_row_bf16(halves + l, %s + l, 16);",
            B, from);
  text_line(x, "amx_columns(halves, %lld, turned, %lld, cols, rows);", B,
            (long long)flash_pairs(B));
}

void flash_amx_key_gradients(const FlashPrinter *p, Text *x, const char *from, const char *to,
                             int64_t width) {
  const int64_t wide = flash_wide(width), pairs = flash_pairs(p->a.block);
  print_tiles(
      p, x,
      &(TileProduct){.a = arena_printf(p->g->a, "turned + i * %lld + from * 8", (long long)pairs),
                     .b = arena_printf(p->g->a, "%s + from / 2 * %lld", from, (long long)wide),
                     .c = arena_printf(p->g->a, "%s + i * %lld", to, (long long)wide),
                     .a_pairs = pairs,
                     .nr = wide,
                     .ldc = wide,
                     .depth = "rows - from",
                     .most_rows = most_rows(p, p->a.s, p->bounded_keys),
                     .add = true});
}
