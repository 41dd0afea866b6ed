/* Prints what FlashAttention and its gradients do with blocks of queries and keys: products in
   panels, rows that are loaded, packed and masked, and the buffers of a unit. */
#include "codegen/cpu/attention.h"
#include "codegen/program/extent.h"

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

static int64_t panel_width(const FlashPrinter *p, int64_t n) {
  return attention_panel(p->machine, p->a.compute, n);
}

/* Rows that a panel may have, of up to `together` blocks of B rows. */
static void find_heights(const RowPanel *m, int64_t B, int64_t together, bool *height) {
  int64_t last = m->extent % B, whole = m->extent / B;
  for (int64_t n = 0; n <= whole && n <= together; n++)
    for (int i = 0; i < 2; i++) {
      int64_t rows = n * B + (i ? last : 0);
      if (i && n == together) continue;
      if (rows >= BLOCK_ROWS) height[BLOCK_ROWS] = true;
      height[rows % BLOCK_ROWS] = true;
    }
}

static void product_calls(FlashPrinter *p, Text *x, const RowPanel *m, int64_t width, const char *b,
                          const char *c, const char *panels) {
  bool height[BLOCK_ROWS + 1] = {false};
  for (int h = 1; m->bounded && h <= BLOCK_ROWS; h++) height[h] = true;
  for (int parts = 1; parts <= p->s.finest; parts *= 2)
    find_heights(m, p->a.block / parts, m->together * parts, height);
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

static void print_product(FlashPrinter *p, Text *x, const RowPanel *m) {
  int64_t nr = panel_width(p, m->n), panels = m->n ? m->n / nr : 0, tail = m->n - panels * nr;
  const char *all = arena_printf(p->g->a, "%lld", (long long)panels);
  if (panels) product_calls(p, x, m, nr, m->b, m->c, m->panels ? m->panels : all);
  if (!tail) return;
  product_calls(p, x, m, tail,
                arena_printf(p->g->a, "%s + %lld", m->b, (long long)(panels * m->panel_stride)),
                arena_printf(p->g->a, "%s + %lld", m->c, (long long)(panels * nr)), "1");
}

void flash_scores(FlashPrinter *p, Text *x, const char *q, const char *keys, const char *to,
                  int64_t width) {
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

void flash_results(FlashPrinter *p, Text *x, const char *weights, const char *values,
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

void flash_key_gradients(FlashPrinter *p, Text *x, const char *weights, const char *from,
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

FlashRows flash_operand(const FlashPrinter *p, int operand, int arg, const StridedView *at) {
  return (FlashRows){arena_printf(p->g->a, "in%d", arg),
                     value_type(p->a.gr->e, p->a.op->operands[operand]), at};
}

FlashRows flash_result(const FlashPrinter *p, int k) {
  return (FlashRows){arena_printf(p->g->a, "out%d", p->a.result[k]),
                     value_type(p->a.gr->e, p->a.op->results[k]), &p->a.result_at[k]};
}

bool flash_is_whole(const FlashRows *r) { return attention_is_whole(r->type, r->at); }

long long flash_row_stride(const FlashRows *r) { return attention_row_stride(r->type, r->at); }

const char *flash_row_at(const FlashPrinter *p, const FlashRows *r, const char *head,
                         const char *row) {
  return arena_printf(p->g->a, "%s%s + (%s) * %lld", r->base,
                      attention_head_offset(p->g, r->type, r->at, head), row, flash_row_stride(r));
}

/* The rows are read where they lie. */
static bool in_place(const FlashPrinter *p, const FlashRows *r) {
  return !p->half && flash_is_whole(r);
}

void flash_copy_block(FlashPrinter *p, Text *x, const char *to, FlashRows r, const char *head,
                      const char *row, const char *rows, int64_t width) {
  const char *from = flash_row_at(p, &r, head, row);
  const bool whole = flash_is_whole(&r);
  if (in_place(p, &r)) return;
  const char *dt = dtype_name(p->a.dt),
             *step = arena_printf(p->g->a, "r * %lld", flash_row_stride(&r));
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

void flash_declare_block(const FlashPrinter *p, Text *x, const char *name, const char *to,
                         FlashRows r, const char *head, const char *row) {
  const char *T = p->a.T;
  if (in_place(p, &r))
    text_line(x, "const %s *%s = (const %s *)(%s);", T, name, T, flash_row_at(p, &r, head, row));
  else
    text_line(x, "const %s *%s = %s;", T, name, to);
}

void flash_block(FlashPrinter *p, Text *x, const char *name, FlashRows r, const char *head,
                 const char *row, const char *rows, int64_t width) {
  const char *to = arena_printf(p->g->a, "%s_block", name);
  flash_copy_block(p, x, to, r, head, row, rows, width);
  flash_declare_block(p, x, name, to, r, head, row);
}

void flash_buffer(FlashPrinter *p, Text *x, const char *name, int64_t n) {
  kernel_buffer(p->g, p->k, x, p->a.T, dtype_size(p->a.compute), name, n);
}

void flash_pack(FlashPrinter *p, Text *x, const char *from, const char *to, int64_t width) {
  int64_t nr = panel_width(p, p->a.block);
  gen_helper(p->g, arena_printf(p->g->a, "GC_PACK(%s)\n", p->a.T));
  text_open(x, "for (long n = 0; n < cols; n += %lld) {", (long long)nr);
  text_line(x, "const long w = cols - n < %lld ? cols - n : %lld;", (long long)nr, (long long)nr);
  text_line(x, "pack_t_%s(%s + n * %lld, %lld, %s + n * %lld, %lld, %lld, w);", p->a.T, from,
            (long long)width, (long long)width, to, (long long)width, (long long)nr,
            (long long)width);
  text_close(x, "}");
}

void flash_open_row_panels(const FlashPrinter *p, Text *x, const char *from, const char *rows) {
  const int most = p->s.rows;
  text_open(x, "for (long i = %s; i < %s; i += %d) {", from, rows, most);
  text_line(x, "const long r = %s - i < %d ? %s - i : %d;", rows, most, rows, most);
}

const char *flash_seen_keys(const FlashPrinter *p, const char *row, const char *rows,
                            const char *cols) {
  const Attention *a = &p->a;
  const bool one = !attention_mask_step(a); /* element for all keys */
  const char *first =
      arena_printf(p->g->a, "in%d + %s", a->mask, attention_mask_row(p->g, a, "h", row));
  return arena_printf(p->g->a, "seen_keys(%s%s, %d, %s, %s)%s", first, one ? "" : " + j0",
                      attention_mask_pitch(a), attention_mask_pitch(a) ? rows : "1",
                      one ? "1" : cols, one ? arena_printf(p->g->a, " * (%s)", cols) : "");
}

void flash_declare_visible(const FlashPrinter *p, Text *x) {
  const char *visible = p->a.causal ? "i0 + i + r - j0 < cols ? i0 + i + r - j0 : cols" : "cols";
  if (p->a.masked && !p->a.grad) visible = flash_seen_keys(p, "i0 + i", "r", visible);
  text_line(x, "const long visible = %s;", visible);
  if (p->a.masked && !p->a.grad) text_line(x, "if (!visible) continue;");
}

bool flash_open_mask(FlashPrinter *p, Text *x, const char *row) {
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

void flash_close_mask(Text *x) {
  for (int i = 0; i < 2; i++) text_close(x, "}");
}

/* ---- buffers, and units ---- */

typedef struct Buffer { /* for numbers, the thread's own or in scratch */
  const char *T, *name;
  int64_t n;
} Buffer;
enum { MOST_BUFFERS = 10, BUFFER_ALIGN = 64 };

/* The same for tile registers. */
static int amx_buffers_of(const FlashPrinter *p, Buffer *out) {
  const Attention *a = &p->a;
  const int64_t B = a->block, of_queries = a->grad ? B : p->s.together * B;
  const int64_t d = flash_wide(a->d), e = flash_wide(a->e);
  const int64_t keys = flash_pairs(B); /* of a column: of queries as many */
  int n = 0;
  out[n++] = (Buffer){"i32", "keys", flash_pairs(a->d) * B};
  out[n++] = (Buffer){"i32", "q_tiles", of_queries * flash_pairs(a->d)};
  out[n++] = (Buffer){"i32", "values", a->grad ? flash_pairs(a->e) * B : keys * e};
  if (!a->grad) out[n++] = (Buffer){"f32", "sums", of_queries * e};
  if (!a->grad) return n;
  out[n++] = (Buffer){"i32", "k_pairs", keys * d};
  out[n++] = (Buffer){"i32", "q_pairs", keys * d};
  out[n++] = (Buffer){"i32", "dy_tiles", of_queries * flash_pairs(a->e)};
  out[n++] = (Buffer){"i32", "dy_pairs", keys * e};
  out[n++] = (Buffer){"f32", "tile", p->s.rows * d};
  out[n++] = (Buffer){"f32", "dk_block", B * d};
  out[n++] = (Buffer){"f32", "dv_block", B * e};
  return n;
}

/* Buffers as long as queries, keys or values; returns how many. */
static int buffers_of(const FlashPrinter *p, Buffer *out) {
  if (p->s.amx) return amx_buffers_of(p, out);
  const Attention *a = &p->a;
  const char *const T = a->T;
  int64_t B = a->block, d = B * a->d, e = B * a->e, of_queries = p->s.together;
  int64_t slack = 64; /* elements that a row block may read past its last row */
  int n = 0;
  out[n++] = (Buffer){T, "keys", d};
  out[n++] = (Buffer){T, a->grad ? "values" : "sums", of_queries * e};
  if (!p->apart) return n;
  out[n++] = (Buffer){T, "q_block", of_queries * d + slack};
  out[n++] = (Buffer){T, "k_block", d + slack};
  out[n++] = (Buffer){T, "v_block", e + slack};
  if (!a->grad) return n;
  out[n++] = (Buffer){T, "dy_block", e + slack};
  out[n++] = (Buffer){T, "dk_block", d + slack};
  out[n++] = (Buffer){T, "dv_block", e + slack};
  return n;
}

static uint64_t buffer_bytes(const FlashPrinter *p, const Buffer *r) {
  uint64_t bytes = (uint64_t)r->n * (uint64_t)dtype_size(p->a.compute);
  return (bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
}

uint64_t flash_unit_bytes(const FlashPrinter *p) {
  Buffer buffer[MOST_BUFFERS];
  uint64_t bytes = 0;
  for (int i = buffers_of(p, buffer) - 1; i >= 0 && p->a.long_heads; i--)
    bytes += buffer_bytes(p, &buffer[i]);
  return bytes;
}

uint64_t flash_sums_bytes(const Attention *a) {
  uint64_t bytes = (uint64_t)(a->heads * a->t * a->d) * 4;
  return a->grad && a->compute != a->dt ? (bytes + BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN
                                        : 0;
}

void flash_open_units(FlashPrinter *p, Text *x) {
  Buffer buffer[MOST_BUFFERS];
  int n = buffers_of(p, buffer);
  for (int i = 0; i < n && !p->a.long_heads; i++)
    kernel_buffer(p->g, p->k, x, buffer[i].T, dtype_size(p->a.compute), buffer[i].name,
                  buffer[i].n);
  const char *unit = p->a.grad ? "unit" : "u";
  text_open(x, p->a.grad ? "for (long unit = u0; unit < u1; unit++) {"
                         : "for (long u = u0, next; u < u1; u = next) {");
  unsigned long long at = flash_sums_bytes(&p->a), step = flash_unit_bytes(p);
  for (int i = 0; i < n && p->a.long_heads; i++) {
    const char *T = buffer[i].T;
    text_line(x, "%s *const %s = (%s *)(scratch + %llu + (uint64_t)%s * %llu);", T, buffer[i].name,
              T, at, unit, step);
    at += buffer_bytes(p, &buffer[i]);
  }
}

void flash_declare_unit(const FlashPrinter *p, Text *x) {
  long long B = p->a.block, group = p->a.group, together = p->s.together;
  const char *step = p->s.finest > 1 ? "step" : arena_printf(x->a, "%lld", B);
  const char *most_blocks = arena_printf(x->a, p->s.finest > 1 ? "%lld * parts" : "%lld", together);
  text_line(x, "const long head = u / %s, first = u %% %s, i0 = first * %s;", p->blocks, p->blocks,
            step);
  text_line(x, "const long left = %s - first < u1 - u ? %s - first : u1 - u;", p->blocks,
            p->blocks);
  text_line(x, "const long whole = left < %s ? left : %s;", most_blocks, most_blocks);
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
  text_line(x, "const long most = whole * %s, rows = %s - i0 < most ? %s - i0 : most;", step,
            p->rows, p->rows);
}

int64_t flash_sums_width(const FlashPrinter *p) { return p->s.amx ? flash_wide(p->a.e) : p->a.e; }

void flash_open_heads(const FlashPrinter *p, Text *x) {
  text_open(x, "for (long h = head; h < head + heads; h++) {");
  text_line(x, "const long slot = (h - head) * %lld;", (long long)p->a.block);
  text_line(x, "%s *const y = sums + slot * %lld, *const row_max = maxima + slot;", p->a.T,
            (long long)flash_sums_width(p));
  text_line(x, "%s *const row_sum = totals + slot;", p->a.T);
}
