/* Prints FlashAttention and its gradients: blocks of queries by blocks of keys, six queries at a
   time, with the micro-kernel and the online softmax of text/attention.h. Contract:
   print/attention.h has the order of all sums. A block of scores lives in the thread's workspace
   alone. Blocks whose keys a causal mask hides are not computed; of the block on the diagonal, the
   keys that one of the six queries sees are. Threads share the blocks of queries, and
   pack a block of keys once for some of them. Of the gradients, they share the heads of keys, as
   one thread computes each product once; where these are few, the blocks of keys and those of
   queries, which compute the scores and their gradients for themselves. The sums have one order in
   any case. Methods: the running maximum is subtracted from scores, and earlier results are
   rescaled when it grows (Milakov and Gimelshein, 2018; Dao et al., 2022). Buffers of long heads
   lie in scratch, a part for each unit, since threads may have small stacks. */
#include "codegen/print/attention.h"
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/target.h"
#include "codegen/program/extent.h"
#include "passes/plan.h"

enum { BLOCK_ROWS = ATTENTION_ROWS };

typedef struct AttentionPrinter {
  Gen *g;
  Kernel *k;
  Attention a;
  const VectorMachine *machine;
  AttentionSchedule s;
  bool half;                        /* blocks are converted when they are loaded */
  bool apart;                       /* ... or copied, as rows lie apart from each other */
  const char *rows, *keys, *blocks; /* texts: queries and keys of a head, blocks of its queries */
  bool bounded_rows, bounded_keys;  /* those are known only at run time */
} AttentionPrinter;

typedef struct Buffer { /* for numbers, the thread's own or in scratch */
  const char *name;
  int64_t n;
} Buffer;
enum { MOST_BUFFERS = 8, BUFFER_ALIGN = 64 };

/* ---- products ---- */

typedef struct RowPanel { /* c [r, n] = a b, or added to it: rows i to i + r of up to `extent` */
  int64_t extent;
  bool bounded;     /* extent is so only at its bound */
  int64_t together; /* the rows are those of up to so many blocks */
  const char *a;    /* text, where row i begins */
  int64_t li, lk;   /* steps in a from row to row and along the depth */
  const char *b;
  int64_t lb, panel_stride; /* steps in b along the depth and from panel to panel */
  int64_t n;
  const char *panels; /* text of how many are computed, or NULL: all */
  const char *c;
  int64_t ldc;
  const char *depth;
  enum { STORE, ADD, ADD_TO_RESCALED } add; /* the last: to c times `rescale` */
} RowPanel;

static int64_t panel_width(const AttentionPrinter *p, int64_t n) {
  return attention_panel(p->machine, p->a.compute, n);
}

static void product_calls(AttentionPrinter *p, Text *x, const RowPanel *m, int64_t width,
                          const char *b, const char *c, const char *panels) {
  int64_t B = p->a.block, last = m->extent % B, whole = m->extent / B;
  bool height[BLOCK_ROWS + 1] = {false};
  for (int h = 1; m->bounded && h <= BLOCK_ROWS; h++) height[h] = true;
  for (int64_t n = 0; n <= whole && n <= m->together; n++)
    for (int i = 0; i < 2; i++) {
      int64_t rows = n * B + (i ? last : 0);
      if (i && n == m->together) continue;
      if (rows >= BLOCK_ROWS) height[BLOCK_ROWS] = true;
      height[rows % BLOCK_ROWS] = true;
    }
  const char *other = "", *T = p->a.T;
  for (int h = BLOCK_ROWS; h > 0; h--) {
    if (!height[h]) continue;
    const char *shape =
        arena_printf(p->g->a, "%d, %lld, %lld, %lld, %lld, %d", h, (long long)width,
                     (long long)m->li, (long long)m->lk, (long long)m->lb, (int)m->add);
    const char *name =
        arena_printf(p->g->a, "panels_%s_%dx%lld_a%lld_%lld_b%lld_%d", T, h, (long long)width,
                     (long long)m->li, (long long)m->lk, (long long)m->lb, (int)m->add);
    gen_helper(p->g, arena_printf(p->g->a, "GC_PANELS_TILE(%s, %s, %s)\n", name, T, shape));
    text_line(x, "%sif (r == %d) %s(%s, %s, %lld, %s, %lld, %s, %s, %s);", other, h, name, m->a, b,
              (long long)m->panel_stride, c, (long long)m->ldc, panels, m->depth,
              m->add == ADD_TO_RESCALED ? "rescale" : "NULL");
    other = "else ";
  }
}

static void print_product(AttentionPrinter *p, Text *x, const RowPanel *m) {
  int64_t nr = panel_width(p, m->n), panels = m->n ? m->n / nr : 0, tail = m->n - panels * nr;
  const char *all = arena_printf(p->g->a, "%lld", (long long)panels);
  if (panels) product_calls(p, x, m, nr, m->b, m->c, m->panels ? m->panels : all);
  if (!tail) return;
  product_calls(p, x, m, tail,
                arena_printf(p->g->a, "%s + %lld", m->b, (long long)(panels * m->panel_stride)),
                arena_printf(p->g->a, "%s + %lld", m->c, (long long)(panels * nr)), "1");
}

/* Of six queries: scores q k^T, or the gradients dy v^T with respect to the weights. */
static void print_scores(AttentionPrinter *p, Text *x, const char *q, const char *keys,
                         const char *to, int64_t width) {
  const Attention *a = &p->a;
  int64_t nr = panel_width(p, a->block);
  print_product(p, x,
                &(RowPanel){.extent = a->t,
                            .bounded = p->bounded_rows,
                            .together = p->s.together,
                            .a = arena_printf(p->g->a, "%s + i * %lld", q, (long long)width),
                            .li = width,
                            .lk = 1,
                            .b = keys,
                            .lb = nr,
                            .panel_stride = nr * width,
                            .n = a->block,
                            .panels = arena_printf(p->g->a, "(visible + %lld) / %lld",
                                                   (long long)nr - 1, (long long)nr),
                            .c = to,
                            .ldc = a->block,
                            .depth = arena_printf(p->g->a, "%lld", (long long)width)});
}

/* Of six queries: results, weights times values; or dq, the gradients of scores times keys. */
static void print_results(AttentionPrinter *p, Text *x, const char *weights, const char *values,
                          const char *to, int64_t width, int64_t ldc, bool rescaled) {
  int64_t nr = panel_width(p, width);
  print_product(p, x,
                &(RowPanel){.extent = p->a.t,
                            .bounded = p->bounded_rows,
                            .together = p->s.together,
                            .a = weights,
                            .li = p->a.block,
                            .lk = 1,
                            .b = values,
                            .lb = width,
                            .panel_stride = nr,
                            .n = width,
                            .c = arena_printf(p->g->a, "%s + i * %lld", to, (long long)ldc),
                            .ldc = ldc,
                            .depth = "visible",
                            .add = rescaled ? ADD_TO_RESCALED : ADD});
}

/* Of six keys: dv or dk, summed over the queries of the block to which one of the six is visible.
 */
static void print_key_gradients(AttentionPrinter *p, Text *x, const char *weights, const char *from,
                                const char *to, int64_t width) {
  int64_t nr = panel_width(p, width), B = p->a.block;
  print_product(
      p, x,
      &(RowPanel){.extent = p->a.s,
                  .bounded = p->bounded_keys,
                  .together = 1,
                  .a = arena_printf(p->g->a, "%s + from * %lld + i", weights, (long long)B),
                  .li = 1,
                  .lk = B,
                  .b = arena_printf(p->g->a, "%s + from * %lld", from, (long long)width),
                  .lb = width,
                  .panel_stride = nr,
                  .n = width,
                  .c = arena_printf(p->g->a, "%s + i * %lld", to, (long long)width),
                  .ldc = width,
                  .depth = "rows - from",
                  .add = ADD});
}

/* ---- blocks ---- */

/* Rows of an operand or a result, as they lie in an argument of the kernel: "in2", "out0". */
typedef struct RowsAt {
  const char *base;
  const Type *type;
  const StridedView *at;
} RowsAt;

static RowsAt operand_rows(const AttentionPrinter *p, int operand, int arg, const StridedView *at) {
  return (RowsAt){arena_printf(p->g->a, "in%d", arg),
                  value_type(p->a.gr->e, p->a.op->operands[operand]), at};
}

static RowsAt result_rows(const AttentionPrinter *p, int k) {
  return (RowsAt){arena_printf(p->g->a, "out%d", p->a.result[k]),
                  value_type(p->a.gr->e, p->a.op->results[k]), &p->a.result_at[k]};
}

static bool is_whole(const RowsAt *r) { return attention_is_whole(r->type, r->at); }

static long long row_stride(const RowsAt *r) { return attention_row_stride(r->type, r->at); }

/* Text of where row `row` of the head begins: both are factors. */
static const char *row_at(const AttentionPrinter *p, const RowsAt *r, const char *head,
                          const char *row) {
  return arena_printf(p->g->a, "%s%s + (%s) * %lld", r->base,
                      attention_head_offset(p->g, r->type, r->at, head), row, row_stride(r));
}

/* The rows are read where they lie. */
static bool in_place(const AttentionPrinter *p, const RowsAt *r) { return !p->half && is_whole(r); }

/* Puts `rows` rows of `width` of the head from row `row` on together at `to`, converted, unless
   they are read in place. */
static void copy_block(AttentionPrinter *p, Text *x, const char *to, RowsAt r, const char *head,
                       const char *row, const char *rows, int64_t width) {
  const char *from = row_at(p, &r, head, row);
  const bool whole = is_whole(&r);
  if (in_place(p, &r)) return;
  const char *dt = dtype_name(p->a.dt), *step = arena_printf(p->g->a, "r * %lld", row_stride(&r));
  if (p->half) gen_helper(p->g, arena_printf(p->g->a, "GC_PACK_HALF_A(%s)\n", dt));
  if (p->half && whole)
    text_line(x, "half_row_%s(%s, %s, %s * %lld);", dt, from, to, rows, (long long)width);
  else if (p->half)
    text_line(x, "for (long r = 0; r < %s; r++) half_row_%s(%s + %s, %s + r * %lld, %lld);", rows,
              dt, from, step, to, (long long)width, (long long)width);
  else
    text_line(x, "for (long r = 0; r < %s; r++) __builtin_memcpy(%s + r * %lld, %s + %s, %lld);",
              rows, to, (long long)width, from, step, (long long)width * dtype_size(p->a.compute));
}

/* Declares `name`: these rows in place, or at `to`. */
static void declare_block(const AttentionPrinter *p, Text *x, const char *name, const char *to,
                          RowsAt r, const char *head, const char *row) {
  const char *T = p->a.T;
  if (in_place(p, &r))
    text_line(x, "const %s *%s = (const %s *)(%s);", T, name, T, row_at(p, &r, head, row));
  else
    text_line(x, "const %s *%s = %s;", T, name, to);
}

/* Both, in a block of their own. */
static void block_of(AttentionPrinter *p, Text *x, const char *name, RowsAt r, const char *head,
                     const char *row, const char *rows, int64_t width) {
  const char *to = arena_printf(p->g->a, "%s_block", name);
  copy_block(p, x, to, r, head, row, rows, width);
  declare_block(p, x, name, to, r, head, row);
}

static void buffer_for(AttentionPrinter *p, Text *x, const char *name, int64_t n) {
  kernel_buffer(p->g, p->k, x, p->a.T, dtype_size(p->a.compute), name, n);
}

/* Packs `cols` rows of `from`, transposed, in panels. */
static void pack(AttentionPrinter *p, Text *x, const char *from, const char *to, int64_t width) {
  int64_t nr = panel_width(p, p->a.block);
  gen_helper(p->g, arena_printf(p->g->a, "GC_PACK(%s)\n", p->a.T));
  text_open(x, "for (long n = 0; n < cols; n += %lld) {", (long long)nr);
  text_line(x, "const long w = cols - n < %lld ? cols - n : %lld;", (long long)nr, (long long)nr);
  text_line(x, "pack_t_%s(%s + n * %lld, %lld, %s + n * %lld, %lld, %lld, w);", p->a.T, from,
            (long long)width, (long long)width, to, (long long)width, (long long)nr,
            (long long)width);
  text_close(x, "}");
}

static void open_row_panels(Text *x, const char *from, const char *rows) {
  text_open(x, "for (long i = %s; i < %s; i += %d) {", from, rows, BLOCK_ROWS);
  text_line(x, "const long r = %s - i < %d ? %s - i : %d;", rows, BLOCK_ROWS, rows, BLOCK_ROWS);
}

/* Text of how many of the block's first `cols` keys come before those that the mask hides from all
   of `rows` queries from `row` on. */
static const char *seen_keys(const AttentionPrinter *p, const char *row, const char *rows,
                             const char *cols) {
  const Attention *a = &p->a;
  const bool one = !attention_mask_step(a); /* element for all keys */
  const char *first =
      arena_printf(p->g->a, "in%d + %s", a->mask, attention_mask_row(p->g, a, "h", row));
  return arena_printf(p->g->a, "seen_keys(%s%s, %d, %s, %s)%s", first, one ? "" : " + j0",
                      attention_mask_pitch(a), attention_mask_pitch(a) ? rows : "1",
                      one ? "1" : cols, one ? arena_printf(p->g->a, " * (%s)", cols) : "");
}

/* Declares `visible`: the block's keys from there on are masked for the queries i0 + i to i0 + i +
   r. Queries that a mask hides all of them from are done with. */
static void declare_visible(const AttentionPrinter *p, Text *x) {
  const char *visible = p->a.causal ? "i0 + i + r - j0 < cols ? i0 + i + r - j0 : cols" : "cols";
  if (p->a.masked && !p->a.grad) visible = seen_keys(p, "i0 + i", "r", visible);
  text_line(x, "const long visible = %s;", visible);
  if (p->a.masked && !p->a.grad) text_line(x, "if (!visible) continue;");
}

/* For each of the block's queries m, from row `row` of scores on: a loop over the keys c, which
   declares is_visible. Nothing is printed if all keys of all blocks are visible to all queries. */
static bool open_mask(AttentionPrinter *p, Text *x, const char *row) {
  const Attention *a = &p->a;
  long long B = a->block;
  Text some = text_new(p->g->a, 0);
  bool shorter = a->s % B || p->bounded_keys;
  if (shorter) text_add(&some, "cols < %lld", B);
  if (a->causal) text_add(&some, "%si0 + i - j0 < %lld", shorter ? " || " : "", B - 1);
  if (!a->masked && !some.s.n) return false;
  text_open(x, a->masked ? "{" : "if (%s) {", text_str(&some));
  text_open(x, "for (long m = 0; m < r; m++) {");
  text_line(x, "const int last = %s;",
            a->causal ? "(int)(i0 + i + m - j0 < cols ? i0 + i + m - j0 + 1 : cols)" : "(int)cols");
  if (a->masked)
    text_line(x, "const uint8_t *mask = in%d + %s%s;", a->mask,
              attention_mask_row(p->g, a, "h", "i0 + i + m"),
              attention_mask_step(a) ? " + j0" : "");
  text_line(x, "%s *s = scores + %s * %lld;", a->T, row, B);
  if (a->grad) text_line(x, "%s *ds = grads + %s * %lld;", a->T, row, B);
  text_open(x, "GC_IVDEP for (int c = 0; c < %lld; c++) {", B);
  text_line(x, "const int is_visible = %s;",
            !a->masked               ? "c < last"
            : attention_mask_step(a) ? "(c < last) & (mask[c] != 0)"
                                     : "(c < last) & (mask[0] != 0)");
  return true;
}

static void close_mask(Text *x) {
  for (int i = 0; i < 2; i++) text_close(x, "}");
}

/* ---- the results ---- */

static void print_rows(AttentionPrinter *p, Text *x) {
  const Attention *a = &p->a;
  long long B = a->block;
  const char *T = a->T, *scale = attention_scale(p->g, a);
  text_line(x, "%s scale = %s;", T, scale);
  if (open_mask(p, x, "m")) {
    text_line(x, "const %s score = s[c] * scale;", T);
    text_line(x, "s[c] = is_visible ? score : -(%s)__builtin_inff();", T);
    close_mask(x);
    text_line(x, "scale = 1; /* they are scaled */");
    text_close(x, "}");
  }
  text_line(x, "GC_LANES %s rescale[%d];", T, BLOCK_ROWS);
  text_line(x, "softmax_%s_%lld(scores, r, scale, visible, row_max + i, row_sum + i, rescale);", T,
            B);
}

/* Buffers as long as queries, keys or values; returns how many. */
static int buffers_of(const AttentionPrinter *p, Buffer *out) {
  const Attention *a = &p->a;
  int64_t B = a->block, d = B * a->d, e = B * a->e, of_queries = p->s.together;
  int64_t slack = 64; /* elements that a row block may read past its last row */
  int n = 0;
  out[n++] = (Buffer){"keys", d};
  out[n++] = (Buffer){a->grad ? "values" : "sums", of_queries * e};
  if (!p->apart) return n;
  out[n++] = (Buffer){"q_block", of_queries * d + slack};
  out[n++] = (Buffer){"k_block", d + slack};
  out[n++] = (Buffer){"v_block", e + slack};
  if (!a->grad) return n;
  out[n++] = (Buffer){"dy_block", e + slack};
  out[n++] = (Buffer){"dk_block", d + slack};
  out[n++] = (Buffer){"dv_block", e + slack};
  return n;
}

static uint64_t buffer_bytes(const AttentionPrinter *p, const Buffer *r) {
  uint64_t bytes = (uint64_t)r->n * (uint64_t)dtype_size(p->a.compute);
  return (bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
}

/* Of all buffers of a unit in scratch; 0: they are the thread's own. */
static uint64_t unit_bytes(const AttentionPrinter *p) {
  Buffer buffer[MOST_BUFFERS];
  uint64_t bytes = 0;
  for (int i = buffers_of(p, buffer) - 1; i >= 0 && p->a.long_heads; i--)
    bytes += buffer_bytes(p, &buffer[i]);
  return bytes;
}

/* Gradients by the queries of half precision are added up in f32, where scratch begins. */
static uint64_t sums_bytes(const Attention *a) {
  uint64_t bytes = (uint64_t)(a->heads * a->t * a->d) * 4;
  return a->grad && a->compute != a->dt ? (bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN
                                        : 0;
}

/* Opens the loop over units, behind the thread's own buffers or before those in scratch. */
static void open_units(AttentionPrinter *p, Text *x) {
  Buffer buffer[MOST_BUFFERS];
  int n = buffers_of(p, buffer);
  for (int i = 0; i < n && !p->a.long_heads; i++) buffer_for(p, x, buffer[i].name, buffer[i].n);
  const char *unit = p->a.grad ? "unit" : "u";
  text_open(x, p->a.grad ? "for (long unit = u0; unit < u1; unit++) {"
                         : "for (long u = u0, next; u < u1; u = next) {");
  unsigned long long at = sums_bytes(&p->a), step = unit_bytes(p);
  for (int i = 0; i < n && p->a.long_heads; i++) {
    text_line(x, "%s *const %s = (%s *)(scratch + %llu + (uint64_t)%s * %llu);", p->a.T,
              buffer[i].name, p->a.T, at, unit, step);
    at += buffer_bytes(p, &buffer[i]);
  }
}

/* Declares the unit's rows of queries, of one head; or, where all queries of a head make one block,
   as those of a chat that writes token by token, of some heads that have common keys. */
static void declare_unit(const AttentionPrinter *p, Text *x) {
  long long B = p->a.block, group = p->a.group, together = p->s.together;
  text_line(x, "const long head = u / %s, first = u %% %s, i0 = first * %lld;", p->blocks,
            p->blocks, B);
  text_line(x, "const long left = %s - first < u1 - u ? %s - first : u1 - u;", p->blocks,
            p->blocks);
  text_line(x, "const long whole = left < %lld ? left : %lld;", together, together);
  if (group == 1) {
    text_line(x, "enum { heads = 1 };");
  } else {
    long long most = group < together ? group : together;
    text_line(x, "const long of_group = %s > 1 ? 1 : %lld - head %% %lld;", p->blocks, group,
              group);
    text_line(x, "const long all = of_group < u1 - u ? of_group : u1 - u;");
    text_line(x, "const long heads = all < %lld ? all : %lld;", most, most);
  }
  text_line(x, "next = u + whole * heads;");
  text_line(x, "const long most = whole * %lld, rows = %s - i0 < most ? %s - i0 : most;", B,
            p->rows, p->rows);
}

/* Opens the loop over the unit's heads h, which have a block of the sums each. */
static void open_heads(const AttentionPrinter *p, Text *x) {
  text_open(x, "for (long h = head; h < head + heads; h++) {");
  text_line(x, "const long slot = (h - head) * %lld;", (long long)p->a.block);
  text_line(x, "%s *const y = sums + slot * %lld, *const row_max = maxima + slot;", p->a.T,
            (long long)p->a.e);
  text_line(x, "%s *const row_sum = totals + slot;", p->a.T);
}

static void print_attention(AttentionPrinter *p, Kernel *k) {
  const Attention *a = &p->a;
  Text *x = &k->text;
  long long B = a->block, e = a->e;
  const char *T = a->T;
  const RowsAt q = operand_rows(p, 0, a->q, &a->q_at);
  const char *to_q = arena_printf(p->g->a, "q_block + slot * %lld", (long long)a->d);
  gen_helper(p->g, arena_printf(p->g->a, "GC_SOFTMAX(%s, %lld, %d)\n", T, B, BLOCK_ROWS));
  buffer_for(p, x, "scores", BLOCK_ROWS * B);
  buffer_for(p, x, "maxima", p->s.together * B);
  buffer_for(p, x, "totals", p->s.together * B);
  open_units(p, x);
  declare_unit(p, x);
  open_heads(p, x);
  copy_block(p, x, to_q, q, "h", "i0", "rows", a->d);
  text_line(
      x, "for (long r = 0; r < rows; r++) row_max[r] = -(%s)__builtin_inff(), row_sum[r] = 0;", T);
  text_line(x, "for (long l = 0; l < rows * %lld; l++) y[l] = 0;", e);
  text_close(x, "}");
  text_line(x, "const long end = %s;", a->causal ? "i0 + rows" : p->keys);
  text_open(x, "for (long j0 = 0; j0 < end; j0 += %lld) {", B);
  text_line(x, "const long cols = %s - j0 < %lld ? %s - j0 : %lld;", p->keys, B, p->keys, B);
  if (a->masked) {
    text_line(x, "long seen = 0;");
    text_line(x, "for (long h = head; h < head + heads && !seen; h++) seen = %s;",
              seen_keys(p, "i0", "rows", "cols"));
    text_line(x, "if (!seen) continue;");
  }
  const char *keys =
      a->group == 1 ? "head" : arena_printf(p->g->a, "head / %lld", (long long)a->group);
  block_of(p, x, "k", operand_rows(p, 1, a->k, &a->k_at), keys, "j0", "cols", a->d);
  block_of(p, x, "v", operand_rows(p, 2, a->v, &a->v_at), keys, "j0", "cols", a->e);
  pack(p, x, "k", "keys", a->d);
  open_heads(p, x);
  declare_block(p, x, "q", to_q, q, "h", "i0");
  open_row_panels(x, a->causal ? "j0 < i0 ? 0 : j0 - i0" : "0", "rows");
  declare_visible(p, x);
  print_scores(p, x, "q", "keys", "scores", a->d);
  print_rows(p, x);
  print_results(p, x, "scores", "v", "y", e, e, true);
  for (int i = 0; i < 3; i++) text_close(x, "}");
  const RowsAt y = result_rows(p, 0);
  open_heads(p, x);
  text_line(x, "%s *const to = %s;", dtype_storage(a->dt), row_at(p, &y, "h", "i0"));
  text_open(x, "for (long r = 0; r < rows; r++) {");
  text_line(x, "const %s l = row_sum[r] == 0 ? 1 : row_sum[r];", T);
  text_open(x, "GC_IVDEP for (long c = 0; c < %lld; c++) {", e);
  text_line(x, "const %s value = divide(y[r * %lld + c], l);", T, e);
  text_line(x, "to[r * %lld + c] = %s;", row_stride(&y), scalar_store(p->g->a, a->dt, "value"));
  text_close(x, "}");
  text_close(x, "}");
  text_open(x, "GC_IVDEP for (long r = 0; r < rows; r++) {");
  text_line(x, "const %s m = row_max[r] == -(%s)__builtin_inff() ? 0 : row_max[r];", T, T);
  text_line(x, "const %s lse = m + %s_log(row_sum[r]);", T, T);
  text_line(x, "out%d[h * %lld + i0 + r] = lse;", a->result[1], (long long)a->t);
  for (int i = 0; i < 3; i++) text_close(x, "}");
}

/* ---- the gradients ---- */

/* Declares the part of a unit: u is its head of keys, whose blocks from key0 to key1 meet the
   queries from query0 to query1 of the heads h0 to h1. by_keys, by_queries: the gradients that it
   adds up, all of them of a whole head. */
static void declare_part(const AttentionPrinter *p, Text *x) {
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
static void open_part(const AttentionPrinter *p, Text *x, const char *by) {
  if (p->s.shared) text_open(x, "if (%s) {", by);
}

static void close_part(const AttentionPrinter *p, Text *x) {
  if (p->s.shared) text_close(x, "}");
}

/* Where the sums of dq are: of halves in scratch, as if they were all of it. */
static const char *dq_at(const AttentionPrinter *p, const char *head, const char *row) {
  const RowsAt r = result_rows(p, 0);
  if (!p->half) return row_at(p, &r, head, row);
  return arena_printf(p->g->a, "(f32 *)scratch + (%s * %lld + %s) * %lld", head, (long long)p->a.t,
                      row, (long long)p->a.d);
}

static long long dq_stride(const AttentionPrinter *p) {
  const RowsAt r = result_rows(p, 0);
  return p->half ? p->a.d : row_stride(&r);
}

/* The numbers of the part's queries: zeros before the sum, or converted to the result behind it. */
static void print_query_sums(AttentionPrinter *p, Text *x, bool store) {
  const RowsAt to = result_rows(p, 0);
  const long long d = p->a.d;
  open_part(p, x, "by_queries");
  text_open(x, "for (long h = h0; h < h1; h++) {");
  text_line(x, "%s *const dq = %s;", p->a.T, dq_at(p, "h", "query0"));
  if (store)
    text_line(x, "%s *const to = %s;", dtype_storage(p->a.dt), row_at(p, &to, "h", "query0"));
  text_open(x, "for (long r = 0; r < query1 - query0; r++) {");
  text_open(x, "GC_IVDEP for (long l = 0; l < %lld; l++) {", d);
  if (store)
    text_line(x, "to[r * %lld + l] = %s;", row_stride(&to),
              scalar_store(p->g->a, p->a.dt, arena_printf(p->g->a, "dq[r * %lld + l]", d)));
  else
    text_line(x, "dq[r * %lld + l] = 0;", dq_stride(p));
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
  close_part(p, x);
}

static void print_softmax_grad(AttentionPrinter *p, Text *x) {
  const Attention *a = &p->a;
  long long B = a->block;
  text_line(
      x,
      "softmax_grad_%s_%lld(scores + i * %lld, grads + i * %lld, r, %s, visible, lse + i, delta + "
      "i);",
      a->T, B, B, B, attention_scale(p->g, a));
  if (!open_mask(p, x, "(i + m)")) return;
  text_line(x, "s[c] = is_visible ? s[c] : 0;");
  text_line(x, "ds[c] = is_visible ? ds[c] : 0;");
  close_mask(x);
  text_close(x, "}");
}

/* The sums of result k are added up where they lie. */
static bool sums_in_place(const AttentionPrinter *p, int k) {
  const RowsAt r = result_rows(p, k);
  return !p->half && is_whole(&r);
}

/* Declares `name`, zeros for the block's keys: where result k has them, or a block of its own. */
static void sums_of_keys(AttentionPrinter *p, Text *x, const char *name, int k, int64_t width) {
  const RowsAt r = result_rows(p, k);
  if (sums_in_place(p, k))
    text_line(x, "%s *%s = (%s *)(%s);", p->a.T, name, p->a.T, row_at(p, &r, "u", "j0"));
  else
    text_line(x, "%s *%s = %s_block;", p->a.T, name, name);
  open_part(p, x, "by_keys");
  text_line(x, "for (long l = 0; l < cols * %lld; l++) %s[l] = 0;", (long long)width, name);
  close_part(p, x);
}

static void store_block(AttentionPrinter *p, Text *x, const char *from, int k, int64_t width) {
  const RowsAt r = result_rows(p, k);
  if (sums_in_place(p, k)) return;
  open_part(p, x, "by_keys");
  text_open(x, "{");
  text_line(x, "%s *const to = %s;", dtype_storage(p->a.dt), row_at(p, &r, "u", "j0"));
  text_open(x, "for (long r = 0; r < cols; r++) {");
  text_open(x, "GC_IVDEP for (long l = 0; l < %lld; l++) {", (long long)width);
  text_line(x, "to[r * %lld + l] = %s;", row_stride(&r),
            scalar_store(p->g->a, p->a.dt,
                         arena_printf(p->g->a, "%s[r * %lld + l]", from, (long long)width)));
  for (int i = 0; i < 3; i++) text_close(x, "}");
  close_part(p, x);
}

static void print_gradients(AttentionPrinter *p, Kernel *k) {
  const Attention *a = &p->a;
  Text *x = &k->text;
  long long B = a->block, d = a->d, e = a->e;
  const char *T = a->T;
  gen_helper(p->g, arena_printf(p->g->a, "GC_SOFTMAX_GRAD(%s, %lld)\n", T, B));
  buffer_for(p, x, "scores", B * B);
  buffer_for(p, x, "grads", B * B);
  open_units(p, x);
  declare_part(p, x);
  print_query_sums(p, x, false);
  text_open(x, "for (long j0 = key0; j0 < key1; j0 += %lld) {", B);
  text_line(x, "const long cols = %s - j0 < %lld ? %s - j0 : %lld;", p->keys, B, p->keys, B);
  block_of(p, x, "k", operand_rows(p, 2, a->k, &a->k_at), "u", "j0", "cols", d);
  block_of(p, x, "v", operand_rows(p, 3, a->v, &a->v_at), "u", "j0", "cols", e);
  pack(p, x, "k", "keys", d);
  pack(p, x, "v", "values", e);
  sums_of_keys(p, x, "dk", 1, d);
  sums_of_keys(p, x, "dv", 2, e);
  text_open(x, "for (long h = h0; h < h1; h++) {");
  text_open(x, "for (long i0 = %s; i0 < query1; i0 += %lld) {",
            a->causal ? "query0 < j0 ? j0 : query0" : "query0", B);
  text_line(x, "const long rows = %s - i0 < %lld ? %s - i0 : %lld;", p->rows, B, p->rows, B);
  const char *at = arena_printf(p->g->a, "h * %lld + i0", (long long)a->t);
  block_of(p, x, "q", operand_rows(p, 1, a->q, &a->q_at), "h", "i0", "rows", d);
  block_of(p, x, "dy", operand_rows(p, 0, a->dy, &a->dy_at), "h", "i0", "rows", e);
  text_line(x, "const %s *lse = (const %s *)in%d + %s;", T, T, a->lse, at);
  text_line(x, "const %s *delta = (const %s *)in%d + %s;", T, T, a->delta, at);
  text_line(x, "%s *dq = %s;", T, dq_at(p, "h", "i0"));
  open_row_panels(x, "0", "rows");
  declare_visible(p, x);
  const char *to_scores = arena_printf(p->g->a, "scores + i * %lld", B);
  const char *to_grads = arena_printf(p->g->a, "grads + i * %lld", B);
  print_scores(p, x, "q", "keys", to_scores, d);
  print_scores(p, x, "dy", "values", to_grads, e);
  print_softmax_grad(p, x);
  open_part(p, x, "by_queries");
  print_results(p, x, to_grads, "k", "dq", d, dq_stride(p), false);
  close_part(p, x);
  text_close(x, "}");
  open_part(p, x, "by_keys");
  const char *const of_keys[2][3] = {{"scores", "dy", "dv"}, {"grads", "q", "dk"}};
  for (int i = 0; i < 2; i++) {
    open_row_panels(x, "0", "cols");
    text_line(x, "const long from = %s;", a->causal ? "i0 == j0 ? i : 0" : "0");
    print_key_gradients(p, x, of_keys[i][0], of_keys[i][1], of_keys[i][2], i ? d : e);
    text_close(x, "}");
  }
  close_part(p, x);
  text_close(x, "}");
  text_close(x, "}");
  store_block(p, x, "dk", 1, d);
  store_block(p, x, "dv", 2, e);
  text_close(x, "}");
  if (p->half) print_query_sums(p, x, true);
  text_close(x, "}");
}

/* ---- the whole ---- */

/* Blocks of rows are copied where those of an operand or a result lie apart. */
static void find_blocks(AttentionPrinter *p) {
  const Attention *a = &p->a;
  const StridedView *at[] = {&a->q_at, &a->k_at, &a->v_at, &a->dy_at};
  static const int operands[2][4] = {{0, 1, 2}, {1, 2, 3, 0}};
  p->half = p->apart = a->compute != a->dt;
  for (int i = 0; i < 3 + a->grad; i++) {
    const Type *t = value_type(a->gr->e, a->op->operands[operands[a->grad][i]]);
    p->apart |= !attention_is_whole(t, at[i]);
  }
  for (int k = 1; k < 3 && a->grad; k++)
    p->apart |= !attention_is_whole(value_type(a->gr->e, a->op->results[k]), &a->result_at[k]);
}

uint64_t cpu_attention_scratch(const Group *gr) {
  Arena *a = arena_new();
  AttentionPrinter p = {.a = attention_of(a, gr), .s = {.together = 1}}; /* as of long heads */
  find_blocks(&p);
  uint64_t bytes = sums_bytes(&p.a) + (uint64_t)attention_units(&p.a.shape) * unit_bytes(&p);
  arena_free(a);
  return bytes;
}

static void count_rows(AttentionPrinter *p) {
  const Group *gr = p->a.gr;
  const Type *q = value_type(gr->e, p->a.op->operands[p->a.grad]);
  const Type *k = value_type(gr->e, p->a.op->operands[p->a.grad + 1]);
  int row = q->rank - 2;
  p->bounded_rows = type_extent(q, row) != NULL;
  p->bounded_keys = type_extent(k, row) != NULL;
  p->rows = dims_text(p->g, gr->e, q, row, row + 1);
  p->keys = dims_text(p->g, gr->e, k, row, row + 1);
  p->blocks = p->bounded_rows ? text_ceil_div(p->g->a, p->rows, p->a.block)
                              : arena_printf(p->g->a, "%lld", (long long)p->s.blocks);
}

/* Declares the thread's units where they do not take equal time. */
static void print_shares(const AttentionPrinter *p, Kernel *k) {
  const Attention *a = &p->a;
  Arena *arena = p->g->a;
  Text *x = &k->text;
  const Type *of = value_type(a->gr->e, a->op->operands[a->grad ? 2 : 0]);
  const char *heads = dims_text(p->g, a->gr->e, of, 0, of->rank - 2);
  k->units = p->s.units;
  if (!a->grad) {
    text_line(x, "const long heads = %s, blocks = %s;", heads, p->blocks);
    text_line(x, "const long u0 = attention_share(t, nt, heads, blocks, 1);");
    text_line(x, "const long u1 = attention_share(t + 1, nt, heads, blocks, 1);");
    return;
  }
  long long group = a->group;
  const char *key_blocks = p->bounded_keys
                               ? text_ceil_div(arena, p->keys, a->block)
                               : arena_printf(arena, "%lld", (long long)p->s.key_blocks);
  text_line(x, "const long heads = %s, key_blocks = %s, query_blocks = %s * %lld;", heads,
            key_blocks, p->blocks, group);
  text_line(x, "const int whole = attention_grad_whole(nt, heads, key_blocks, query_blocks);");
  text_line(x, "const long key_units = heads * key_blocks;");
  for (int i = 0; i < 2; i++)
    text_line(x,
              "const long u%d = attention_grad_share(t + %d, nt, heads, key_blocks, query_blocks, "
              "%lld, %d);",
              i, i, group, a->causal);
}

/* Of what has a row a query and lies head by head, threads own slices. */
static void declare_slices(const AttentionPrinter *p, Kernel *k) {
  const Attention *a = &p->a;
  const Group *gr = a->gr;
  const int by_query[] = {a->q, a->dy, a->lse, a->delta};
  const StridedView *at[] = {&a->q_at, &a->dy_at, NULL, NULL};
  const int operand[] = {a->grad, 0};
  for (int i = 0; i < 4; i++) {
    if (by_query[i] < 0) continue;
    if (at[i] && !attention_is_whole(value_type(gr->e, a->op->operands[operand[i]]), at[i]))
      continue;
    kernel_split_in(k, gr, by_query[i], 1, 0, value_type(gr->e, gr->in[by_query[i]])->bytes);
  }
  for (int i = 0; i < a->op->nresults; i++)
    if (attention_is_whole(value_type(gr->e, a->op->results[i]), &a->result_at[i]))
      kernel_split_out(k, gr, a->result[i], 1, 0, value_type(gr->e, a->op->results[i])->bytes);
  for (int i = 0; i < gr->nin + gr->nout; i++)
    if (k->args[i].access.rows && p->s.parts != k->units) k->args[i].access.parts = p->s.parts;
}

void cpu_attention(Gen *g, const Group *gr) {
  AttentionPrinter p = {.g = g, .a = attention_of(g->a, gr)};
  const Attention *a = &p.a;
  p.machine = &cpu_target(g->target)->machine;
  find_blocks(&p);
  Kernel *k = p.k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  k->flops = op_flops(gr->e, gr->op);
  p.s = attention_schedule(p.machine, &a->shape, k->flops);
  kernel_schedule(k, &attention_kind, &p.s, sizeof p.s);
  const char *all = arena_printf(g->a, "%lld", (long long)p.s.all_units);
  count_rows(&p);
  if (group_is_bounded(gr)) { /* heads of queries in blocks; of gradients, heads of keys */
    const Type *heads = value_type(gr->e, a->op->operands[a->grad ? 2 : 0]);
    all = dims_text(g, gr->e, heads, 0, heads->rank - 2);
    if (!a->grad) all = text_product(g->a, all, p.blocks);
  }
  if (p.s.shared)
    print_shares(&p, k);
  else
    kernel_units_of(k, p.s.units, all);
  k->balance = attention_balance;
  if (k->units == 1) text_line(&k->text, "const long u0 = 0, u1 = %s;", all);
  if (p.s.parts > 1) declare_slices(&p, k);
  if (a->grad)
    print_gradients(&p, k);
  else
    print_attention(&p, k);
}
