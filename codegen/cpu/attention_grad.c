/* Prints the gradients of FlashAttention; attention.c has the order of sums and what threads share.
 */
#include "codegen/cpu/attention.h"

/* Declares the part of a unit: u is its head of keys, whose blocks from key0 to key1 meet the
   queries from query0 to query1 of the heads h0 to h1. by_keys, by_queries: the gradients that it
   adds up, all of them of a whole head. */
static void declare_part(const FlashPrinter *p, Text *x) {
  const Attention *a = &p->a;
  long long B = a->block, group = a->group;
  text_line(x, "long u = unit, h0 = unit * %lld, h1 = h0 + %lld;", group, group);
  text_line(x, "long key0 = 0, key1 = %s, query0 = 0, query1 = %s;", p->keys, p->rows);
  if (!p->s.shared) return;
  text_line(x, "const int by_keys = whole || unit < key_units, by_queries = whole || !by_keys;");
  text_open(x, "if (!by_queries) {");
  text_line(x, "u = unit / key_blocks, h0 = u * %lld, h1 = h0 + %lld;", group, group);
  text_line(x, "key0 = (key_blocks - 1 - unit %% key_blocks) * %lld, key1 = key0 + 1;", B);
  x->indent--;
  text_open(x, "} else if (!by_keys) {");
  text_line(x, "h0 = (unit - key_units) / %s, h1 = h0 + 1, u = h0 / %lld;", p->blocks, group);
  text_line(x, "query0 = (unit - key_units) %% %s * %lld;", p->blocks, B);
  text_line(x, "query1 = query1 - query0 < %lld ? query1 : query0 + %lld;", B, B);
  if (a->causal) text_line(x, "key1 = key1 < query1 ? key1 : query1;");
  text_close(x, "}");
}

/* Opens a block for one of the gradients, where not all are added up. */
static void open_part(const FlashPrinter *p, Text *x, const char *by) {
  if (p->s.shared) text_open(x, "if (%s) {", by);
}

static void close_part(const FlashPrinter *p, Text *x) {
  if (p->s.shared) text_close(x, "}");
}

/* Where the sums of dq are: of halves in scratch, as if they were all of it. */
static const char *dq_at(const FlashPrinter *p, const char *head, const char *row) {
  const FlashRows r = flash_result(p, 0);
  if (!p->half) return flash_row_at(p, &r, head, row);
  return arena_printf(p->g->a, "(f32 *)scratch + (%s * %lld + %s) * %lld", head, (long long)p->a.t,
                      row, (long long)p->a.d);
}

static long long dq_stride(const FlashPrinter *p) {
  const FlashRows r = flash_result(p, 0);
  return p->half ? p->a.d : flash_row_stride(&r);
}

/* The numbers of the part's queries: zeros before the sum, or converted to the result behind it. */
static void print_query_sums(FlashPrinter *p, Text *x, bool store) {
  const FlashRows to = flash_result(p, 0);
  const long long d = p->a.d;
  open_part(p, x, "by_queries");
  text_open(x, "for (long h = h0; h < h1; h++) {");
  text_line(x, "%s *const dq = %s;", p->a.T, dq_at(p, "h", "query0"));
  if (store)
    text_line(x, "%s *const to = %s;", dtype_storage(p->a.dt), flash_row_at(p, &to, "h", "query0"));
  text_open(x, "for (long r = 0; r < query1 - query0; r++) {");
  text_open(x, "GC_IVDEP for (long l = 0; l < %lld; l++) {", d);
  if (store)
    text_line(x, "to[r * %lld + l] = %s;", flash_row_stride(&to),
              scalar_store(p->g->a, p->a.dt, arena_printf(p->g->a, "dq[r * %lld + l]", d)));
  else
    text_line(x, "dq[r * %lld + l] = 0;", dq_stride(p));
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
  close_part(p, x);
}

static void print_softmax_grad(FlashPrinter *p, Text *x) {
  const Attention *a = &p->a;
  long long B = a->block;
  text_line(
      x,
      "softmax_grad_%s_%lld(scores + i * %lld, grads + i * %lld, r, %s, visible, lse + i, delta + "
      "i);",
      a->T, B, B, B, attention_scale(p->g, a));
  if (!flash_open_mask(p, x, "(i + m)")) return;
  text_line(x, "s[c] = is_visible ? s[c] : 0;");
  text_line(x, "ds[c] = is_visible ? ds[c] : 0;");
  flash_close_mask(x);
  text_close(x, "}");
}

/* The sums of result k are added up where they lie. */
static bool sums_in_place(const FlashPrinter *p, int k) {
  const FlashRows r = flash_result(p, k);
  return !p->half && flash_is_whole(&r);
}

/* From a row of a block's sums to the next. */
static int64_t block_width(const FlashPrinter *p, int64_t width) {
  return p->s.amx ? flash_wide(width) : width;
}

/* Declares `name`, zeros for the block's keys: where result k has them, or a block of its own. */
static void sums_of_keys(FlashPrinter *p, Text *x, const char *name, int k, int64_t width) {
  const FlashRows r = flash_result(p, k);
  if (sums_in_place(p, k))
    text_line(x, "%s *%s = (%s *)(%s);", p->a.T, name, p->a.T, flash_row_at(p, &r, "u", "j0"));
  else
    text_line(x, "%s *%s = %s_block;", p->a.T, name, name);
  open_part(p, x, "by_keys");
  text_line(x, "for (long l = 0; l < cols * %lld; l++) %s[l] = 0;",
            (long long)block_width(p, width), name);
  close_part(p, x);
}

static void store_block(FlashPrinter *p, Text *x, const char *from, int k, int64_t width) {
  const FlashRows r = flash_result(p, k);
  if (sums_in_place(p, k)) return;
  open_part(p, x, "by_keys");
  text_open(x, "{");
  text_line(x, "%s *const to = %s;", dtype_storage(p->a.dt), flash_row_at(p, &r, "u", "j0"));
  text_open(x, "for (long r = 0; r < cols; r++) {");
  text_open(x, "GC_IVDEP for (long l = 0; l < %lld; l++) {", (long long)width);
  text_line(x, "to[r * %lld + l] = %s;", flash_row_stride(&r),
            scalar_store(
                p->g->a, p->a.dt,
                arena_printf(p->g->a, "%s[r * %lld + l]", from, (long long)block_width(p, width))));
  for (int i = 0; i < 3; i++) text_close(x, "}");
  close_part(p, x);
}

/* Keys and values of a block, and what they are packed as. */
static void print_keys(FlashPrinter *p, Text *x) {
  const Attention *a = &p->a;
  const FlashRows k = flash_operand(p, 2, a->k, &a->k_at), v = flash_operand(p, 3, a->v, &a->v_at);
  if (p->s.amx) {
    flash_amx_turned(p, x, "keys", k, "u", "j0", "cols", a->d);
    flash_amx_turned(p, x, "values", v, "u", "j0", "cols", a->e);
    flash_amx_pairs(p, x, "k_pairs", k, "u", "j0", "cols", a->d);
    return;
  }
  flash_block(p, x, "k", k, "u", "j0", "cols", a->d);
  flash_block(p, x, "v", v, "u", "j0", "cols", a->e);
  flash_pack(p, x, "k", "keys", a->d);
  flash_pack(p, x, "v", "values", a->e);
}

/* The same of queries and the gradients of their results. */
static void print_queries(FlashPrinter *p, Text *x) {
  const Attention *a = &p->a;
  const FlashRows q = flash_operand(p, 1, a->q, &a->q_at),
                  dy = flash_operand(p, 0, a->dy, &a->dy_at);
  if (p->s.amx) {
    flash_amx_tiles(p, x, "q_tiles", q, "h", "i0", "rows", a->d);
    flash_amx_tiles(p, x, "dy_tiles", dy, "h", "i0", "rows", a->e);
    open_part(p, x, "by_keys");
    flash_amx_pairs(p, x, "q_pairs", q, "h", "i0", "rows", a->d);
    flash_amx_pairs(p, x, "dy_pairs", dy, "h", "i0", "rows", a->e);
    close_part(p, x);
    return;
  }
  flash_block(p, x, "q", q, "h", "i0", "rows", a->d);
  flash_block(p, x, "dy", dy, "h", "i0", "rows", a->e);
}

/* Weights and their gradients, panel by panel of queries, and what those add to dq. */
static void print_by_queries(FlashPrinter *p, Text *x) {
  const Attention *a = &p->a;
  const long long B = a->block;
  const bool amx = p->s.amx;
  flash_open_row_panels(p, x, "0", "rows");
  flash_declare_visible(p, x);
  const char *to_scores = arena_printf(p->g->a, "scores + i * %lld", B);
  const char *to_grads = arena_printf(p->g->a, "grads + i * %lld", B);
  if (amx) {
    flash_amx_scores(p, x, "q_tiles", "keys", to_scores, a->d);
    flash_amx_scores(p, x, "dy_tiles", "values", to_grads, a->e);
  } else {
    flash_scores(p, x, "q", "keys", to_scores, a->d);
    flash_scores(p, x, "dy", "values", to_grads, a->e);
  }
  print_softmax_grad(p, x);
  open_part(p, x, "by_queries");
  if (amx)
    flash_amx_query_gradients(p, x, to_grads, dq_stride(p));
  else
    flash_results(p, x, to_grads, "k", "dq", a->d, dq_stride(p), false);
  close_part(p, x);
  text_close(x, "}");
}

/* dv, or dk, panel by panel of keys. */
static void print_by_keys(FlashPrinter *p, Text *x, int i) {
  static const char *const names[2][4] = {{"scores", "dy", "dv", "dy_pairs"},
                                          {"grads", "q", "dk", "q_pairs"}};
  const Attention *a = &p->a;
  const char *const *of = names[i];
  const int64_t width = i ? a->d : a->e;
  if (p->s.amx) flash_amx_turn_weights(p, x, of[0]);
  flash_open_row_panels(p, x, "0", "cols");
  text_line(x, "const long from = %s;", a->causal ? "i0 == j0 ? i : 0" : "0");
  if (p->s.amx)
    flash_amx_key_gradients(p, x, of[3], of[2], width);
  else
    flash_key_gradients(p, x, of[0], of[1], of[2], width);
  text_close(x, "}");
}

void flash_gradients(FlashPrinter *p, Kernel *k) {
  const Attention *a = &p->a;
  Text *x = &k->text;
  long long B = a->block, d = a->d, e = a->e;
  const char *T = a->T;
  gen_helper(p->g, arena_printf(p->g->a, "GC_SOFTMAX_GRAD(%s, %lld)\n", T, B));
  flash_buffer(p, x, "scores", B * B);
  flash_buffer(p, x, "grads", B * B);
  if (p->s.amx) {
    kernel_buffer(p->g, k, x, "i32", 4, "weights", p->s.rows * flash_pairs(B));
    kernel_buffer(p->g, k, x, "uint16_t", 2, "halves", B * B);
    kernel_buffer(p->g, k, x, "i32", 4, "turned", B * flash_pairs(B));
  }
  flash_open_units(p, x);
  declare_part(p, x);
  print_query_sums(p, x, false);
  text_open(x, "for (long j0 = key0; j0 < key1; j0 += %lld) {", B);
  text_line(x, "const long cols = %s - j0 < %lld ? %s - j0 : %lld;", p->keys, B, p->keys, B);
  print_keys(p, x);
  sums_of_keys(p, x, "dk", 1, d);
  sums_of_keys(p, x, "dv", 2, e);
  text_open(x, "for (long h = h0; h < h1; h++) {");
  text_open(x, "for (long i0 = %s; i0 < query1; i0 += %lld) {",
            a->causal ? "query0 < j0 ? j0 : query0" : "query0", B);
  text_line(x, "const long rows = %s - i0 < %lld ? %s - i0 : %lld;", p->rows, B, p->rows, B);
  const char *at = arena_printf(p->g->a, "h * %lld + i0", (long long)a->t);
  print_queries(p, x);
  text_line(x, "const %s *lse = (const %s *)in%d + %s;", T, T, a->lse, at);
  text_line(x, "const %s *delta = (const %s *)in%d + %s;", T, T, a->delta, at);
  text_line(x, "%s *dq = %s;", T, dq_at(p, "h", "i0"));
  print_by_queries(p, x);
  open_part(p, x, "by_keys");
  print_by_keys(p, x, 0);
  print_by_keys(p, x, 1);
  close_part(p, x);
  text_close(x, "}");
  text_close(x, "}");
  store_block(p, x, "dk", 1, d);
  store_block(p, x, "dv", 2, e);
  text_close(x, "}");
  if (p->half) print_query_sums(p, x, true);
  text_close(x, "}");
}
