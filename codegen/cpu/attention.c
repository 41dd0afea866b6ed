/* Prints attention and its gradients: blocks of queries against blocks of keys, products by the
   tile of text/gemm.h, weights by text/attention.h. Contract: see attention.h for the order of all
   sums. A block of scores lives on the stack and nowhere else; blocks that a causal query cannot
   see are not computed. Threads share the queries' blocks; of the gradients, the heads of keys, so
   that all three are added up by one thread in one order, each product once. Methods: the largest
   score so far is subtracted, and what was summed before is scaled down when it grows (Milakov and
   Gimelshein, 2018; Dao et al., 2022). */
#include "codegen/attention.h"
#include "codegen/cpu/target.h"
#include "passes/plan.h"

enum { TILE_ROWS = 6 };

typedef struct Printing {
  Gen *g;
  Attention a;
  int vectors, lanes; /* of the target */
  bool half;          /* blocks are converted on their way in */
} Printing;

/* ---- products ---- */

typedef struct Product { /* c [rows, n] = a b, or added to it */
  const char *rows;      /* text; `most` rows, or `last` in the last block */
  int64_t most, last;
  const char *a;
  int64_t li, lk; /* steps in a from row to row and along the depth */
  const char *b;
  bool packed; /* b lies in panels of `depth_most` rows */
  int64_t lb, depth_most;
  int64_t n;
  const char *c, *depth;
  int64_t ldc;
  bool first;
} Product;

static int64_t panel_width(const Printing *p, int64_t n) {
  int64_t nr = (int64_t)p->vectors * p->lanes;
  return n < nr ? (n + p->lanes - 1) / p->lanes * p->lanes : nr;
}

static void tile_calls(Printing *p, Text *x, const Product *m, int64_t width, int64_t lb) {
  bool height[TILE_ROWS + 1] = {false};
  const int64_t rows[2] = {m->most, m->last};
  for (int i = 0; i < 2; i++) {
    if (rows[i] >= TILE_ROWS) height[TILE_ROWS] = true;
    height[rows[i] % TILE_ROWS] = true;
  }
  const char *other = "";
  for (int h = TILE_ROWS; h > 0; h--) {
    if (!height[h]) continue;
    const char *T = p->a.T;
    const char *name =
        arena_printf(p->g->a, "tile_%s_%dx%lld_a%lld_%lld_b%lld", T, h, (long long)width,
                     (long long)m->li, (long long)m->lk, (long long)lb);
    gen_helper(p->g,
               arena_printf(p->g->a, "GC_TILE(%s, %s, %d, %lld, %lldL, %lldL, %lldL)\n", name, T, h,
                            (long long)width, (long long)m->li, (long long)m->lk, (long long)lb));
    text_line(x, "%sif (r == %d) %s(%s + i * %lld, b, c, %lld, %s, %s);", other, h, name, m->a,
              (long long)m->li, (long long)m->ldc, m->depth, m->first ? "NULL" : "c");
    other = "else ";
  }
}

static void product(Printing *p, Text *x, const Product *m) {
  if (m->n == 0) return;
  int64_t nr = panel_width(p, m->n), panels = (m->n + nr - 1) / nr, tail = m->n % nr;
  int64_t lb = m->packed ? nr : m->lb;
  text_open(x, "for (long n = 0; n < %lld; n++) {", (long long)panels);
  text_line(x, "const %s *b = %s + n * %lld;", p->a.T, m->b,
            (long long)(m->packed ? nr * m->depth_most : nr));
  text_open(x, "for (long i = 0; i < %s; i += %d) {", m->rows, TILE_ROWS);
  text_line(x, "const long r = %s - i < %d ? %s - i : %d;", m->rows, TILE_ROWS, m->rows, TILE_ROWS);
  text_line(x, "%s *c = %s + i * %lld + n * %lld;", p->a.T, m->c, (long long)m->ldc, (long long)nr);
  if (m->packed || !tail) { /* a panel is whole */
    tile_calls(p, x, m, nr, lb);
  } else if (panels == 1) {
    tile_calls(p, x, m, tail, lb);
  } else {
    text_open(x, "if (n < %lld) {", (long long)(panels - 1));
    tile_calls(p, x, m, nr, lb);
    x->indent--;
    text_open(x, "} else {");
    tile_calls(p, x, m, tail, lb);
    text_close(x, "}");
  }
  text_close(x, "}");
  text_close(x, "}");
}

/* ---- blocks ---- */

static int64_t last_rows(const Attention *a, int64_t n) { return n % a->block; }
static int64_t most_rows(const Attention *a, int64_t n) { return n < a->block ? n : a->block; }

/* Declares `name`, `rows` rows of `width` from argument `arg` on at row `at`: where they lie, or
   converted. */
static void block_of(Printing *p, Text *x, const char *name, int arg, const char *at,
                     const char *rows, int64_t width) {
  const char *T = p->a.T, *base = arena_printf(p->g->a, "in%d", arg);
  if (!p->half) {
    text_line(x, "const %s *%s = (const %s *)%s + (%s) * %lld;", T, name, T, base, at,
              (long long)width);
    return;
  }
  text_open(x, "GC_IVDEP for (long l = 0; l < %s * %lld; l++) {", rows, (long long)width);
  text_line(x, "%s_block[l] = %s;", name,
            scalar_load(p->g->a, p->a.dt, base,
                        arena_printf(p->g->a, "(%s) * %lld + l", at, (long long)width)));
  text_close(x, "}");
  text_line(x, "const %s *%s = %s_block;", T, name, name);
}

static void room_for(Printing *p, Text *x, const char *name, int64_t n) {
  text_line(x, "_Alignas(64) %s %s[%lld];", p->a.T, name, (long long)(n > 0 ? n : 1));
}

static void block_room(Printing *p, Text *x, const char *name, int64_t width) {
  if (!p->half) return;
  int64_t slack = 64; /* elements that a tile may read past its last row */
  room_for(p, x, arena_printf(p->g->a, "%s_block", name), p->a.block * width + slack);
}

/* Packs `cols` rows of `from`, transposed, in panels. */
static void pack(Printing *p, Text *x, const char *from, const char *to, int64_t width) {
  int64_t nr = panel_width(p, p->a.block);
  gen_helper(p->g, arena_printf(p->g->a, "GC_PACK(%s)\n", p->a.T));
  text_open(x, "for (long n = 0; n < cols; n += %lld) {", (long long)nr);
  text_line(x, "const long w = cols - n < %lld ? cols - n : %lld;", (long long)nr, (long long)nr);
  text_line(x, "pack_t_%s(%s + n * %lld, %lld, %s + n * %lld, %lld, %lld, w);", p->a.T, from,
            (long long)width, (long long)width, to, (long long)width, (long long)nr,
            (long long)width);
  text_close(x, "}");
}

static int64_t packed_size(const Printing *p, int64_t width) {
  int64_t nr = panel_width(p, p->a.block);
  return (p->a.block + nr - 1) / nr * nr * width;
}

/* [rows, cols] of the queries in `q` and the packed keys */
static Product scores(const Printing *p, const char *q, const char *keys, const char *to,
                      int64_t width) {
  const Attention *a = &p->a;
  int64_t nr = panel_width(p, a->block);
  return (Product){.rows = "rows",
                   .most = most_rows(a, a->t),
                   .last = last_rows(a, a->t),
                   .a = q,
                   .li = width,
                   .lk = 1,
                   .b = keys,
                   .packed = true,
                   .lb = nr,
                   .depth_most = width,
                   .n = (a->block + nr - 1) / nr * nr,
                   .c = to,
                   .ldc = (a->block + nr - 1) / nr * nr,
                   .depth = arena_printf(p->g->a, "%lld", (long long)width),
                   .first = true};
}

static long long pitch(const Printing *p) {
  int64_t nr = panel_width(p, p->a.block);
  return (p->a.block + nr - 1) / nr * nr;
}

/* Declares `last`, how many of the block's keys the query i0 + r may see, and with a mask `see`. */
static void row_sight(Printing *p, Text *x) {
  const Attention *a = &p->a;
  if (a->causal)
    text_line(x, "const long last = i0 + r - j0 < cols ? i0 + r - j0 + 1 : cols;");
  else
    text_line(x, "const long last = cols;");
  if (a->masked)
    text_line(x, "const uint8_t *see = in%d + %s%s;", a->mask,
              attention_mask_row(p->g, a, "h", "i0 + r"), attention_mask_step(a) ? " + j0" : "");
}

static const char *seen(const Printing *p) {
  if (!p->a.masked) return "c < last";
  return attention_mask_step(&p->a) ? "(c < last) & (see[c] != 0)" : "(c < last) & (see[0] != 0)";
}

/* ---- the results ---- */

static void print_rows(Printing *p, Text *x) {
  const Attention *a = &p->a;
  const char *T = a->T;
  text_open(x, "for (long r = 0; r < rows; r++) {");
  text_line(x, "%s *s = scores + r * %lld;", T, pitch(p));
  row_sight(p, x);
  text_open(x, "GC_IVDEP for (long c = 0; c < %lld; c++) {", (long long)a->block);
  text_line(x, "const %s score = s[c] * %s;", T, attention_scale(p->g, a));
  text_line(x, "const int on = %s;", seen(p));
  text_line(x, "s[c] = on ? score : -(%s)__builtin_inff();", T);
  text_close(x, "}");
  text_line(x, "const %s less = attend_%s_%lld(s, most + r, sum + r);", T, T, (long long)a->block);
  text_line(x, "GC_IVDEP for (long c = 0; c < %lld; c++) y[r * %lld + c] *= less;", (long long)a->e,
            (long long)a->e);
  text_close(x, "}");
}

static void print_attention(Printing *p, Kernel *k) {
  const Attention *a = &p->a;
  Text *x = &k->text;
  long long nb = attention_blocks(a, a->t), B = a->block, e = a->e;
  const char *T = a->T;
  gen_helper(p->g, arena_printf(p->g->a, "GC_ATTEND(%s, %lld)\n", T, B));
  room_for(p, x, "scores", B * pitch(p));
  room_for(p, x, "keys", packed_size(p, a->d));
  room_for(p, x, "y", B * e);
  block_room(p, x, "q", a->d);
  block_room(p, x, "k", a->d);
  block_room(p, x, "v", a->e);
  text_line(x, "%s most[%lld], sum[%lld];", T, B, B);
  text_open(x, "for (long u = u0; u < u1; u++) {");
  text_line(x, "const long h = u / %lld, i0 = u %% %lld * %lld;", nb, nb, B);
  text_line(x, "const long rows = %lld - i0 < %lld ? %lld - i0 : %lld;", (long long)a->t, B,
            (long long)a->t, B);
  block_of(p, x, "q", a->q, arena_printf(p->g->a, "h * %lld + i0", (long long)a->t), "rows", a->d);
  text_line(x, "for (long r = 0; r < rows; r++) most[r] = -(%s)__builtin_inff(), sum[r] = 0;", T);
  text_line(x, "for (long l = 0; l < rows * %lld; l++) y[l] = 0;", e);
  text_line(x, "const long end = %s;",
            a->causal ? "i0 + rows" : arena_printf(p->g->a, "%lld", (long long)a->s));
  text_open(x, "for (long j0 = 0; j0 < end; j0 += %lld) {", B);
  text_line(x, "const long cols = %lld - j0 < %lld ? %lld - j0 : %lld;", (long long)a->s, B,
            (long long)a->s, B);
  const char *at =
      arena_printf(p->g->a, "h / %lld * %lld + j0", (long long)a->group, (long long)a->s);
  block_of(p, x, "k", a->k, at, "cols", a->d);
  block_of(p, x, "v", a->v, at, "cols", a->e);
  pack(p, x, "k", "keys", a->d);
  Product s = scores(p, "q", "keys", "scores", a->d);
  product(p, x, &s);
  print_rows(p, x);
  product(p, x,
          &(Product){.rows = "rows",
                     .most = s.most,
                     .last = s.last,
                     .a = "scores",
                     .li = pitch(p),
                     .lk = 1,
                     .b = "v",
                     .lb = e,
                     .n = e,
                     .c = "y",
                     .ldc = e,
                     .depth = "cols"});
  text_close(x, "}");
  text_open(x, "for (long r = 0; r < rows; r++) {");
  text_line(
      x,
      "const %s l = sum[r] == 0 ? 1 : sum[r], m = most[r] == -(%s)__builtin_inff() ? 0 : most[r];",
      T, T);
  text_line(x, "const long row = h * %lld + i0 + r;", (long long)a->t);
  text_open(x, "GC_IVDEP for (long c = 0; c < %lld; c++) {", e);
  text_line(x, "const %s value = divide(y[r * %lld + c], l);", T, e);
  text_line(x, "out0[row * %lld + c] = %s;", e, scalar_store(p->g->a, a->dt, "value"));
  text_close(x, "}");
  text_line(x, "const %s lse = m + %s_log(sum[r]);", T, T);
  text_line(x, "out1[row] = %s;", scalar_store(p->g->a, a->dt, "lse"));
  text_close(x, "}");
  text_close(x, "}");
}

/* ---- the gradients ---- */

static void print_weights(Printing *p, Text *x) {
  const Attention *a = &p->a;
  const char *T = a->T;
  text_open(x, "for (long r = 0; r < rows; r++) {");
  text_line(x, "const long row = h * %lld + i0 + r;", (long long)a->t);
  text_line(x, "%s *s = scores + r * %lld, *w = slopes + r * %lld;", T, pitch(p), pitch(p));
  text_line(x, "const %s lse = %s, delta = %s;", T,
            scalar_load(p->g->a, a->dt, arena_printf(p->g->a, "in%d", a->lse), "row"),
            scalar_load(p->g->a, a->dt, arena_printf(p->g->a, "in%d", a->delta), "row"));
  row_sight(p, x);
  const char *scale = attention_scale(p->g, a);
  text_open(x, "GC_IVDEP for (long c = 0; c < %lld; c++) {", (long long)a->block);
  text_line(x, "const %s weight = %s_exp(s[c] * %s - lse);", T, T, scale);
  text_line(x, "const %s slope = weight * (w[c] - delta) * %s;", T, scale);
  text_line(x, "const int on = %s;", seen(p));
  text_line(x, "s[c] = on ? weight : 0;");
  text_line(x, "w[c] = on ? slope : 0;");
  text_close(x, "}");
  text_close(x, "}");
}

static void store_block(Printing *p, Text *x, const char *from, int out, int64_t width) {
  text_open(x, "GC_IVDEP for (long l = 0; l < cols * %lld; l++) {", (long long)width);
  text_line(x, "out%d[(u * %lld + j0) * %lld + l] = %s;", out, (long long)p->a.s, (long long)width,
            scalar_store(p->g->a, p->a.dt, arena_printf(p->g->a, "%s[l]", from)));
  text_close(x, "}");
}

static void print_gradients(Printing *p, Kernel *k) {
  const Attention *a = &p->a;
  Text *x = &k->text;
  long long B = a->block, d = a->d, e = a->e, t = a->t, s = a->s;
  const char *T = a->T;
  room_for(p, x, "scores", B * pitch(p));
  room_for(p, x, "slopes", B * pitch(p));
  room_for(p, x, "keys", packed_size(p, d));
  room_for(p, x, "values", packed_size(p, e));
  room_for(p, x, "dk", B * d);
  room_for(p, x, "dv", B * e);
  block_room(p, x, "q", d);
  block_room(p, x, "k", d);
  block_room(p, x, "v", e);
  block_room(p, x, "dy", e);
  text_line(x, "%s *dq_all = (%s *)%s;", T, T, p->half ? "scratch" : "out0");
  text_open(x, "for (long u = u0; u < u1; u++) {");
  text_line(x, "%s *dq_head = dq_all + u * %lld;", T, (long long)a->group * t * d);
  text_line(x, "for (long l = 0; l < %lld; l++) dq_head[l] = 0;", (long long)a->group * t * d);
  text_open(x, "for (long j0 = 0; j0 < %lld; j0 += %lld) {", s, B);
  text_line(x, "const long cols = %lld - j0 < %lld ? %lld - j0 : %lld;", s, B, s, B);
  block_of(p, x, "k", a->k, arena_printf(p->g->a, "u * %lld + j0", s), "cols", d);
  block_of(p, x, "v", a->v, arena_printf(p->g->a, "u * %lld + j0", s), "cols", e);
  pack(p, x, "k", "keys", d);
  pack(p, x, "v", "values", e);
  text_line(x, "for (long l = 0; l < cols * %lld; l++) dk[l] = 0;", d);
  text_line(x, "for (long l = 0; l < cols * %lld; l++) dv[l] = 0;", e);
  text_open(x, "for (long h = u * %lld; h < (u + 1) * %lld; h++) {", (long long)a->group,
            (long long)a->group);
  text_open(x, "for (long i0 = %s; i0 < %lld; i0 += %lld) {", a->causal ? "j0" : "0", t, B);
  text_line(x, "const long rows = %lld - i0 < %lld ? %lld - i0 : %lld;", t, B, t, B);
  block_of(p, x, "q", a->q, arena_printf(p->g->a, "h * %lld + i0", t), "rows", d);
  block_of(p, x, "dy", a->dy, arena_printf(p->g->a, "h * %lld + i0", t), "rows", e);
  Product m = scores(p, "q", "keys", "scores", d);
  product(p, x, &m);
  m = scores(p, "dy", "values", "slopes", e);
  product(p, x, &m);
  print_weights(p, x);
  Product back = {.rows = "cols",
                  .most = most_rows(a, s),
                  .last = last_rows(a, s),
                  .li = 1,
                  .lk = pitch(p),
                  .depth = "rows"};
  back.a = "scores", back.b = "dy", back.c = "dv", back.lb = back.n = back.ldc = e;
  product(p, x, &back);
  back.a = "slopes", back.b = "q", back.c = "dk", back.lb = back.n = back.ldc = d;
  product(p, x, &back);
  text_line(x, "%s *dq = dq_all + (h * %lld + i0) * %lld;", T, t, d);
  product(p, x,
          &(Product){.rows = "rows",
                     .most = m.most,
                     .last = m.last,
                     .a = "slopes",
                     .li = pitch(p),
                     .lk = 1,
                     .b = "k",
                     .lb = d,
                     .n = d,
                     .c = "dq",
                     .ldc = d,
                     .depth = "cols"});
  text_close(x, "}");
  text_close(x, "}");
  store_block(p, x, "dk", 1, d);
  store_block(p, x, "dv", 2, e);
  text_close(x, "}");
  if (p->half)
    text_line(x, "for (long l = 0; l < %lld; l++) out0[u * %lld + l] = %s;",
              (long long)a->group * t * d, (long long)a->group * t * d,
              scalar_store(p->g->a, a->dt, "dq_head[l]"));
  text_close(x, "}");
}

/* ---- the whole ---- */

/* Gradients by the queries of half precision are added up in f32. */
uint64_t cpu_attention_scratch(const Group *gr) {
  Attention a = attention_of(gr);
  if (!a.grad || a.compute == a.dt) return 0;
  return (uint64_t)(a.heads * a.t * a.d) * 4;
}

void cpu_attention(Gen *g, const Group *gr) {
  Printing p = {.g = g, .a = attention_of(gr)};
  const CpuTarget *cpu = cpu_target(g->target);
  const Attention *a = &p.a;
  p.vectors = cpu->vectors;
  p.lanes = cpu->vector / dtype_size(a->compute);
  p.half = a->compute != a->dt;
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  k->flops = op_flops(gr->e, gr->op);
  int64_t units = a->grad ? a->heads / a->group : a->heads * attention_blocks(a, a->t);
  kernel_units(k, k->flops < SERIAL_WORK * 4 ? 1 : units);
  if (k->units == 1) text_line(&k->text, "const long u0 = 0, u1 = %lld;", (long long)units);
  if (k->units > 1 && (a->grad || a->t % a->block == 0 || a->t < a->block)) {
    const int by_query[] = {a->q, a->dy, a->lse, a->delta};
    for (int i = 0; i < 4; i++)
      if (by_query[i] >= 0)
        kernel_split_in(k, gr, by_query[i], 1, 0, value_type(gr->e, gr->in[by_query[i]])->bytes);
    for (int i = 0; i < gr->nout; i++)
      kernel_split_out(k, gr, i, 1, 0, value_type(gr->e, gr->out[i])->bytes);
  }
  if (a->grad)
    print_gradients(&p, k);
  else
    print_attention(&p, k);
}
