/* Kernels over rows on the GPU: a thread does a row of fewer than 64 elements, a warp one of up to
   16,384, a block a longer one; of few long rows a block does a chunk, and a second launch puts the
   chunks together. Contract: the same lanes, trees and chunks as on the CPU, hence the same bits:
   thread t of a warp holds lanes t and t + 32, a warp adds up a chunk. A row is read completely
   before its results are written, so they may lie over operands; of rows in chunks, a thread reads
   what the elements that it writes are made of. */
#include "codegen/gpu/gpu.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

enum { WARPS = BLOCK / WARP };

typedef struct WarpRows {
  RowsPrinter r;
  ThreadGroup group;
  GridRowsSchedule s;
  const char *rows, *c; /* how many there are at run time; elements of each */
} WarpRows;

static bool rows_bounded(const WarpRows *t) { return !text_is_number(t->rows); }
/* Rows that may have few elements, or no second chunk. */
static bool elements_bounded(const WarpRows *t) { return !text_is_number(t->c); }

/* ---- what a group makes of its threads' parts ---- */

/* The lanes of a warp, two a thread, as a tree: everybody gets the result. */
static const char *lanes_function(Gen *g, OpKind k, Dtype dt) {
  const char *T = dtype_compute(dt);
  const char *name = arena_printf(g->a, "%s_lanes_%s", dtype_prefix(dt), op_info[k].name);
  gen_helper(g, arena_printf(g->a,
                             "INL %s %s(const %s *s) {\n"
                             "  %s a = s[0], b = s[1];\n"
                             "  a = %s;\n"
                             "  for (int h = %d; h; h /= 2) {\n"
                             "    b = warp_down(a, h);\n"
                             "    a = %s;\n"
                             "  }\n"
                             "  return warp_first(a);\n"
                             "}\n",
                             T, name, T, T, reduce_step(g, k, "a", "b"), WARP / 2,
                             reduce_step(g, k, "a", "b")));
  return name;
}

/* Of a row whose length the run decides: of one with fewer elements than lanes each is a lane of
   its own, and they follow each other as in a thread. */
static const char *lanes_sum(WarpRows *t, OpKind k, Dtype dt, const char *lanes) {
  Gen *g = t->r.g;
  const char *T = dtype_compute(dt), *tree = lanes_function(g, k, dt);
  if (!elements_bounded(t)) return arena_printf(g->a, "%s(%s)", tree, lanes);
  const char *name = arena_printf(g->a, "%s_of", tree);
  const char *v = "warp_at(i < 32 ? s[0] : s[1], i % 32)";
  gen_helper(g, arena_printf(g->a,
                             "INL %s %s(const %s *s, int64_t n) {\n"
                             "  if (n >= %d) return %s(s);\n"
                             "  %s a = %s;\n"
                             "  for (int i = 0; i < (int)n; i++) {\n"
                             "    const %s v = %s;\n"
                             "    a = %s;\n"
                             "  }\n"
                             "  return a;\n"
                             "}\n",
                             T, name, T, LANES, tree, T, reduce_start(g, k, dt, 1), T, v,
                             reduce_step(g, k, "a", "v")));
  return arena_printf(g->a, "%s(%s, %s)", name, lanes, t->c);
}

/* Replaces (a, i) by (b, j) where that is better, or as good and further left; INT32_MAX: none. And
   the same over a warp. */
static const char *best_function(Gen *g, OpKind k, Dtype dt) {
  const char *T = dtype_compute(dt);
  const char *name = arena_printf(g->a, "%s_%s", dtype_prefix(dt), op_info[k].name);
  gen_helper(g, arena_printf(g->a,
                             "INL void %s(%s &a, i32 &i, %s b, i32 j) {\n"
                             "  if (j == INT32_MAX) return;\n"
                             "  bool better = %s, worse = %s;\n"
                             "  if (i != INT32_MAX && !better && (worse || j > i)) return;\n"
                             "  a = b;\n"
                             "  i = j;\n"
                             "}\n"
                             "INL void %s_warp(%s &a, i32 &i) {\n"
                             "  for (int h = %d; h; h /= 2) {\n"
                             "    const %s b = warp_down(a, h);\n"
                             "    const i32 j = warp_down(i, h);\n"
                             "    %s(a, i, b, j);\n"
                             "  }\n"
                             "  a = warp_first(a);\n"
                             "  i = warp_first(i);\n"
                             "}\n",
                             name, T, T, reduce_beats(g, k, dt, "b", "a"),
                             reduce_beats(g, k, dt, "a", "b"), name, T, WARP / 2, T, name));
  return name;
}

/* ---- one pass ---- */

typedef struct Texts {   /* around the loop over elements */
  Text before;           /* of the row */
  Text start;            /* of a chunk */
  Text end, share, join; /* partial result of a warp's chunk; into shared memory; out of it */
  Text after;
} Texts;

static void add_arg(WarpRows *t, const Work *w, const char *x, Texts *s) {
  Gen *g = t->r.g;
  Dtype dt = value_type(t->r.gr->e, w->x)->dtype;
  const char *T = dtype_compute(dt), *n = w->name;
  const char *best = arena_printf(g->a, "%s_best", n), *f = best_function(g, w->kind, dt);
  bool block = t->group == GROUP_BLOCK;
  text_line(block ? &s->start : &s->before, "%s %s_best = 0;", T, n);
  text_line(block ? &s->start : &s->before, "i32 %s_at = INT32_MAX;", n);
  Text *inner = t->r.p.level[2];
  const char *v = arena_printf(g->a, "v%d", g->names++);
  text_line(inner, "const %s %s = %s;", T, v, x);
  text_open(inner, "if (%s_at == INT32_MAX || %s) {", n, reduce_beats(g, w->kind, dt, v, best));
  text_line(inner, "%s_best = %s;", n, v);
  text_line(inner, "%s_at = (i32)c;", n);
  text_close(inner, "}");
  if (block) {
    text_line(&s->before, "__shared__ %s %s_pv[%d];", T, n, WARPS);
    text_line(&s->before, "__shared__ i32 %s_pi[%d];", n, WARPS);
    text_line(&s->before, "%s %s_v = 0;", T, n);
    text_line(&s->before, "i32 %s = INT32_MAX;", n);
    text_line(&s->end, "%s_warp(%s_best, %s_at);", f, n, n);
    text_line(&s->share, "%s_pv[warp] = %s_best;", n, n);
    text_line(&s->share, "%s_pi[warp] = %s_at;", n, n);
    text_line(&s->join, "%s(%s_v, %s, %s_pv[q], %s_pi[q]);", f, n, n, n, n);
    return;
  }
  if (t->group == GROUP_WARP) text_line(&s->after, "%s_warp(%s_best, %s_at);", f, n, n);
  text_line(&s->after, "const i32 %s = %s_at;", n, n);
}

static void add_sum(WarpRows *t, const Work *w, const char *x, Texts *s) {
  Gen *g = t->r.g;
  Dtype dt = value_type(t->r.gr->e, w->x)->dtype;
  OpKind k = rows_combine(w);
  const char *T = dtype_compute(dt), *n = w->name, *start = reduce_start(g, k, dt, t->r.c);
  Text *inner = t->r.p.level[2];
  const char *v = arena_printf(g->a, "v%d", g->names++);
  text_line(inner, "const %s %s = %s;", T, v, x);
  if (t->group == GROUP_THREAD) {
    const char *acc = arena_printf(g->a, "%s_a", n);
    text_line(&s->before, "%s %s = %s;", T, acc, start);
    text_line(inner, "%s = %s;", acc, reduce_step(g, k, acc, v));
    text_line(&s->after, "const %s %s = %s;", T, n, acc);
    return;
  }
  const char *lane = arena_printf(g->a, "%s_s[h]", n);
  text_line(&s->start, "%s %s_s[2] = {%s, %s};", T, n, start, start);
  text_line(inner, "%s = %s;", lane, reduce_step(g, k, lane, v));
  const char *sum = lanes_sum(t, k, dt, arena_printf(g->a, "%s_s", n));
  if (t->group == GROUP_WARP) {
    text_line(&s->after, "const %s %s = %s;", T, n, sum);
    return;
  }
  text_line(&s->before, "__shared__ %s %s_p[%d];", T, n, WARPS);
  text_line(&s->before, "%s %s = %s;", T, n, start);
  text_line(&s->end, "const %s %s_c = %s;", T, n, sum);
  text_line(&s->share, "%s_p[warp] = %s_c;", n, n);
  text_line(&s->join, "%s = %s;", n, reduce_step(g, k, n, arena_printf(g->a, "%s_p[q]", n)));
}

static void pass(WarpRows *t, int number, const Loop *loop, int n) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  Text *row = r->p.level[1];
  const char *I = g->index, *c = t->c;
  *r->p.level[2] = text_new(g->a, row->indent + 3);
  printer_drop(&r->p, 2);
  rows_name(r, loop, n);
  Texts s;
  s.before = s.after = text_new(g->a, row->indent);
  s.start = s.end = text_new(g->a, row->indent + (t->group == GROUP_BLOCK));
  s.share = s.join = text_new(g->a, row->indent + 2);
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->pass != number) continue;
    const char *x = rows_addend(r, w);
    if (rows_is_arg(w))
      add_arg(t, w, x, &s);
    else
      add_sum(t, w, x, &s);
  }
  text_append(row, &s.before);
  if (t->group == GROUP_THREAD) {
    text_line(row, "#pragma unroll %d", cuda_unroll(r->gr, 8));
    text_open(row, "for (%s c = 0; c < %s; c++) {", I, c);
    text_append(row, r->p.level[2]);
    text_close(row, "}");
    text_append(row, &s.after);
    return;
  }
  if (t->group == GROUP_BLOCK) {
    text_open(row, "for (int64_t b0 = 0; b0 < %s; b0 += %d) {", c, WARPS * ROW_CHUNK);
    text_line(row, "const int64_t b = b0 + warp * %d, e = %s - b < %d ? %s : b + %d;", ROW_CHUNK, c,
              ROW_CHUNK, c, ROW_CHUNK);
  }
  text_append(row, &s.start);
  text_line(row, "#pragma unroll %d", cuda_unroll(r->gr, 4) > 2 ? 2 : 1);
  if (t->group == GROUP_BLOCK)
    text_open(row, "for (int64_t c0 = b; c0 < e; c0 += %d) {", LANES);
  else
    text_open(row, "for (%s c0 = 0; c0 < %s; c0 += %d) {", I, c, LANES);
  text_line(row, "#pragma unroll");
  text_open(row, "for (int h = 0; h < 2; h++) {");
  text_line(row, "const %s c = (%s)c0 + h * %d + lane;", I, I, WARP);
  text_open(row, r->c % LANES || elements_bounded(t) ? "if (c < %s) {" : "{", c);
  text_append(row, r->p.level[2]);
  text_close(row, "}");
  text_close(row, "}");
  text_close(row, "}");
  text_append(row, &s.end);
  if (t->group == GROUP_BLOCK) {
    text_line(row, "block_sync();");
    text_open(row, "if (lane == 0) {");
    text_append(row, &s.share);
    text_close(row, "}");
    text_line(row, "block_sync();");
    text_open(row, "for (int q = 0; q < %d && b0 + q * %d < %s; q++) {", WARPS, ROW_CHUNK, c);
    text_append(row, &s.join);
    text_close(row, "}");
    text_close(row, "}");
  }
  text_append(row, &s.after);
}

/* ---- results ---- */

static bool *full_yields(const RowsPrinter *r) {
  bool *full = ARENA_ARRAY(r->g->a, bool, r->gr->nout + 1);
  for (int i = 0; i < r->gr->nout; i++)
    full[i] = type_same_dims(value_type(r->gr->e, r->gr->yield[i]), r->gr->domain);
  return full;
}

static void results(WarpRows *t, const Loop *inner, int ninner) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  const Group *gr = r->gr;
  Printer *p = &r->p;
  Text *row = p->level[1];
  bool any = false, *full = full_yields(r);
  for (int i = 0; i < gr->nout; i++) {
    any |= full[i] && t->group != GROUP_BLOCKS; /* with their chunks */
    if (!full[i]) printer_value(p, gr->yield[i], printer_identity(p, gr->yield[i]));
  }
  printer_drop(p, 2);
  *p->level[2] = text_new(g->a, row->indent + 1);
  int v = ninner == 1 ? cuda_width(gr, loop_unit(inner)) : 1;
  if (any) {
    if (ninner > 1) rows_name(r, inner, ninner);
    cuda_vector(p, ninner == 1 ? inner[0].coord : -1, "c", v, 2, full);
  }
  if (t->group == GROUP_WARP) text_line(row, "warp_sync();");
  if (t->group == GROUP_BLOCK) text_line(row, "block_sync();");
  if (any) {
    const char *I = g->index;
    if (t->group == GROUP_THREAD)
      text_open(row, "for (%s c = 0; c < %s; c += %d) {", I, t->c, v);
    else
      text_open(row, "for (%s c = %s * %d; c < %s; c += %d) {", I,
                t->group == GROUP_WARP ? "lane" : "(int)threadIdx.x", v, t->c,
                v * (t->group == GROUP_WARP ? WARP : BLOCK));
    text_append(row, p->level[2]);
    text_close(row, "}");
  }
  if (t->group == GROUP_WARP) text_line(row, "if (lane != 0) return;");
  if (t->group == GROUP_BLOCK) text_line(row, "if (threadIdx.x != 0) return;");
  for (int i = 0; i < gr->nout; i++)
    if (!full[i]) printer_store(p, i, printer_identity(p, gr->yield[i]), 1);
}

/* ---- rows in chunks ---- */

typedef struct RowLoops {
  Loop *outer, *inner;
  int nouter, ninner;
} RowLoops;

static RowLoops start(RowsPrinter *r) {
  Gen *g = r->g;
  const Group *gr = r->gr;
  r->p = printer_new(g, gr, 4, 1);
  r->work.n = 0;
  int rank = gr->domain->rank, *axes = ARENA_ARRAY(g->a, int, rank + 1);
  for (int i = 0; i < rank; i++) axes[i] = i;
  rows_passes(r);
  Leaves leaves = {0};
  rows_leaves(r, &leaves);
  RowLoops l = {.outer = ARENA_ARRAY(g->a, Loop, rank + 1),
                .inner = ARENA_ARRAY(g->a, Loop, rank + 1)};
  l.nouter = loops_over(&r->p, &leaves, axes, r->outer, l.outer);
  l.ninner = loops_over(&r->p, &leaves, axes + r->outer, rank - r->outer, l.inner);
  return l;
}

static const char *partials(const WarpRows *t, uint32_t work) {
  return arena_printf(t->r.g->a, "scratch + %lld",
                      (long long)work * t->s.rows * t->s.chunks * PARTIAL);
}

/* The totals of rows; of one chunk its partial result. */
static const char *sum_of(const WarpRows *t, uint32_t work) {
  return arena_printf(t->r.g->a, "scratch + %llu",
                      (unsigned long long)(t->s.sums + work * (uint64_t)t->s.rows * PARTIAL));
}

static bool even_tiles(const WarpRows *t) {
  return t->r.c % t->s.tile == 0 && !elements_bounded(t);
}

/* Blocks of rows or of chunks that this run has not. */
static void leave_behind(const WarpRows *t, Text *x, const char *first) {
  if (rows_bounded(t)) text_line(x, "if (u >= %s) return;", t->rows);
  if (elements_bounded(t) && *first != '0') text_line(x, "if (%s >= %s) return;", first, t->c);
}

/* What a thread does for its elements of a tile. */
typedef struct TileTexts {
  Text declare, read, write; /* read: the operands of all of them before anything is written */
  bool writes;               /* there are results of the full shape */
} TileTexts;

static TileTexts tile_texts(WarpRows *t, const RowLoops *l) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  const Group *gr = r->gr;
  Printer *p = &r->p;
  bool *full = t->s.apply ? ARENA_ARRAY(g->a, bool, gr->nout + 1) : full_yields(r);
  TileTexts x = {0};
  for (int i = 0; i < gr->nout; i++) x.writes |= full[i];
  int deep = !even_tiles(t) && x.writes; /* whole tiles and the last one have texts of their own */
  x.declare = text_new(g->a, p->level[1]->indent + deep);
  *p->level[2] = text_new(g->a, p->level[1]->indent + 2 + deep);
  printer_drop(p, 2);
  rows_name(r, l->inner, l->ninner);
  for (uint32_t i = 0; i < r->work.n; i++)
    text_line(p->level[2], "%s_t[h * %d + (int)threadIdx.x] = %s;", r->work.at[i].name,
              t->s.threads, rows_addend(r, &r->work.at[i]));
  for (int i = 0; i < gr->nout; i++) {
    if (!full[i]) continue;
    Dtype dt = value_type(gr->e, gr->yield[i])->dtype;
    text_line(&x.declare, "%s y%d[%d];", dtype_storage(dt), i, t->s.tile / t->s.threads);
    Printed y = printer_value(p, gr->yield[i], printer_identity(p, gr->yield[i]));
    text_line(p->level[2], "y%d[h] = %s;", i, scalar_store(g->a, dt, y.text));
  }
  x.read = *p->level[2];
  *p->level[2] = text_new(g->a, x.read.indent);
  printer_drop(p, 2);
  rows_name(r, l->inner, l->ninner);
  for (int i = 0; i < gr->nout; i++) {
    int level = 2;
    if (full[i])
      text_line(p->level[2], "out%d[%s] = y%d[h];", i,
                printer_index(p, gr->out[i], printer_identity(p, gr->yield[i]), &level), i);
  }
  x.write = *p->level[2];
  return x;
}

/* All threads evaluate a tile: what is combined goes to shared memory, results of the full shape to
   where they belong. If `whole`, no element of it is behind the end. */
static void tile(WarpRows *t, const TileTexts *x, bool whole) {
  Text *row = t->r.p.level[1];
  const char *I = t->r.g->index;
  /* Behind the end a thread evaluates the last element once more, so that no branch keeps its loads
     from being under way together; but not where another thread writes that element. */
  bool again = !whole && !x->writes;
  text_append(row, &x->declare);
  for (int write = 0; write <= x->writes; write++) {
    text_line(row, "#pragma unroll");
    text_open(row, "for (int h = 0; h < %d; h++) {", t->s.tile / t->s.threads);
    text_line(row,
              again ? "const %s c = smaller((%s)c0 + h * %d + (int)threadIdx.x, (%s)e - 1);"
                    : "const %s c = (%s)c0 + h * %d + (int)threadIdx.x;",
              I, I, t->s.threads, I);
    text_open(row, whole || again ? "{" : "if (c < e) {");
    text_append(row, write ? &x->write : &x->read);
    text_close(row, "}");
    text_close(row, "}");
  }
}

/* A block evaluates a chunk, and its first warp adds it up, lane by lane. */
static void chunk(WarpRows *t, Kernel *k, const RowLoops *l) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  Text *row = r->p.level[1];
  const char *I = g->index;
  k->grid = t->s.blocks;
  text_line(&k->text, "const int lane = (int)threadIdx.x %% %d, warp = (int)threadIdx.x / %d;",
            WARP, WARP);
  if (t->s.chunks > 1) {
    text_line(&k->text, "const %s u = (%s)blockIdx.x / %lld;", I, I, (long long)t->s.chunks);
    text_line(&k->text, "const int64_t b = (int64_t)blockIdx.x %% %lld * %d;",
              (long long)t->s.chunks, ROW_CHUNK);
    text_line(&k->text, "const int64_t e = smaller(b + %d, (i64)%s);", ROW_CHUNK, t->c);
  } else {
    text_line(&k->text, "const %s u = (%s)blockIdx.x;", I, I);
    text_line(&k->text, "const int64_t b = 0, e = %s;", t->c);
  }
  leave_behind(t, &k->text, t->s.chunks > 1 ? "b" : "0");
  if (l->nouter) printer_decode(&r->p, l->outer, l->nouter, "u", "i", 1);
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    const char *T = dtype_compute(dt), *start = reduce_start(g, w->kind, dt, r->c);
    text_line(row, "__shared__ %s %s_t[%d];", T, w->name, t->s.tile);
    text_line(row, "%s %s_s[2] = {%s, %s};", T, w->name, start, start);
  }
  text_open(row, "for (int64_t c0 = b; c0 < e; c0 += %d) {", t->s.tile);
  TileTexts x = tile_texts(t, l);
  bool even = even_tiles(t);
  if (!even && x.writes) {
    text_open(row, "if (e - c0 >= %d) {", t->s.tile);
    tile(t, &x, true);
    row->indent--;
    text_open(row, "} else {");
    tile(t, &x, false);
    text_close(row, "}");
  } else {
    tile(t, &x, even);
  }
  text_line(row, "block_sync();");
  text_line(row, "#pragma unroll 8");
  text_open(row, "for (int s = lane; warp == 0 && s < %d; s += %d) {", t->s.tile, LANES);
  text_line(row, "#pragma unroll");
  text_open(row,
            even ? "for (int h = 0; h < 2; h++) {"
                 : "for (int h = 0; h < 2 && c0 + s + h * %d < e; h++) {",
            WARP);
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    const char *v = arena_printf(g->a, "v%d", g->names++);
    const char *lane = arena_printf(g->a, "%s_s[h]", w->name);
    text_line(row, "const %s %s = %s_t[s + h * %d];",
              dtype_compute(value_type(r->gr->e, w->x)->dtype), v, w->name, WARP);
    text_line(row, "%s = %s;", lane, reduce_step(g, w->kind, lane, v));
  }
  text_close(row, "}");
  text_close(row, "}");
  text_line(row, "block_sync();");
  text_close(row, "}");
  text_line(row, "if (warp != 0) return;");
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    text_line(row, "const %s %s = %s;", dtype_compute(dt), w->name,
              lanes_sum(t, w->kind, dt, arena_printf(g->a, "%s_s", w->name)));
  }
  text_line(row, "if (lane != 0) return;");
}

/* Stores the partial results of chunks, or the totals of rows: one number of each reduction for
 * each block. */
static void keep(WarpRows *t, bool sums) {
  RowsPrinter *r = &t->r;
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    text_line(r->p.level[1], "((%s *)(%s))[blockIdx.x] = %s;",
              dtype_compute(value_type(r->gr->e, w->x)->dtype),
              sums ? sum_of(t, i) : partials(t, i), w->name);
  }
}

/* The total of a row from the partial results of its chunks, in order: a block brings them into
 * shared memory. */
static void combine(WarpRows *t, Kernel *k, const RowLoops *l) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  Text *row = r->p.level[1];
  long long chunks = t->s.chunks, most = chunks < t->s.tile ? chunks : t->s.tile;
  k->grid = t->s.rows;
  text_line(&k->text, "const %s u = (%s)blockIdx.x;", g->index, g->index);
  leave_behind(t, &k->text, "0");
  if (l->nouter) printer_decode(&r->p, l->outer, l->nouter, "u", "i", 1);
  Text load = text_new(g->a, row->indent + 1 + (chunks > most)), join = load;
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    const char *T = dtype_compute(dt), *n = w->name;
    text_line(row, "__shared__ %s %s_t[%lld];", T, n, most);
    text_line(row, "%s %s = %s;", T, n, reduce_start(g, w->kind, dt, r->c));
    text_line(&load, "%s_t[q] = ((const %s *)(%s))[u * %lld + %sq];", n, T, partials(t, i), chunks,
              chunks > most ? "b + " : "");
    const char *v = arena_printf(g->a, "v%d", g->names++);
    text_line(&join, "const %s %s = %s_t[q];", T, v, n);
    text_line(&join, "%s = %s;", n, reduce_step(g, w->kind, n, v));
  }
  bool once = chunks == most;
  const char *all = text_ceil_div(g->a, t->c, ROW_CHUNK); /* chunks of this run */
  const char *end =
      arena_printf(g->a, chunks % most ? "%lld && b + q < %lld" : "%lld", most, chunks);
  if (elements_bounded(t)) end = once ? all : arena_printf(g->a, "%lld && b + q < %s", most, all);
  if (!once) text_open(row, "for (int b = 0; b < %lld; b += %lld) {", chunks, most);
  text_open(row, "for (int q = (int)threadIdx.x; q < %s; q += %d) {", end, t->s.threads);
  text_append(row, &load);
  text_close(row, "}");
  text_line(row, "block_sync();");
  if (once) text_line(row, "if (threadIdx.x != 0) return;");
  text_line(row, "#pragma unroll 8");
  text_open(row, "for (int q = 0; q < %s; q++) {", end);
  text_append(row, &join);
  text_close(row, "}");
  if (once) return;
  text_line(row, "block_sync();");
  text_close(row, "}");
  text_line(row, "if (threadIdx.x != 0) return;");
}

/* What is known of the row of this thread, from the sums that lie in scratch. */
static void reduced(WarpRows *t, const RowLoops *l) {
  RowsPrinter *r = &t->r;
  if (l->nouter) printer_decode(&r->p, l->outer, l->nouter, "u", "i", 1);
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    const char *T = dtype_compute(value_type(r->gr->e, w->x)->dtype);
    text_line(r->p.level[1], "const %s %s = ((const %s *)(%s))[u];", T, w->name, T, sum_of(t, i));
  }
  rows_before(r, r->npasses);
}

/* Results of the full shape, a thread a vector. */
static void apply(WarpRows *t, Kernel *k, const RowLoops *l) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  const char *I = g->index;
  int v = l->ninner == 1 ? cuda_width(r->gr, loop_unit(l->inner)) : 1;
  int64_t share = (int64_t)v * t->s.threads, parts = (r->c + share - 1) / share;
  k->grid = t->s.rows * parts;
  text_line(&k->text, "const %s u = (%s)blockIdx.x / %lld;", I, I, (long long)parts);
  text_line(&k->text, "const %s c = ((%s)blockIdx.x %% %lld * %d + (int)threadIdx.x) * %d;", I, I,
            (long long)parts, t->s.threads, v);
  if (r->c % share || elements_bounded(t)) text_line(&k->text, "if (c >= %s) return;", t->c);
  leave_behind(t, &k->text, "0");
  reduced(t, l);
  printer_drop(&r->p, 2);
  *r->p.level[2] = text_new(g->a, 1);
  if (l->ninner > 1) rows_name(r, l->inner, l->ninner);
  cuda_vector(&r->p, l->ninner == 1 ? l->inner[0].coord : -1, "c", v, 2, full_yields(r));
  text_append(r->p.level[1], r->p.level[2]);
}

static void finish(RowsPrinter *r, Kernel *k) {
  text_append(&k->text, r->p.level[0]);
  text_append(&k->text, r->p.level[1]);
}

static Kernel *next(WarpRows *t, const char *suffix, RowLoops *l) {
  Kernel *k = cuda_kernel_next(t->r.g, t->r.gr, suffix);
  k->block = t->s.threads;
  kernel_schedule(k, &grid_rows_kind, &t->s, sizeof t->s);
  *l = start(&t->r);
  return k;
}

static void in_chunks(WarpRows *t, Kernel *k, const RowLoops *first) {
  RowsPrinter *r = &t->r;
  RowLoops l = *first;
  chunk(t, k, &l);
  if (t->s.chunks > 1 || t->s.apply) {
    keep(t, false);
    finish(r, k);
  }
  if (t->s.chunks > 1) {
    k = next(t, "combine", &l);
    combine(t, k, &l);
    if (t->s.apply) {
      keep(t, true);
      finish(r, k);
    }
  }
  if (t->s.apply) {
    k = next(t, "apply", &l);
    apply(t, k, &l);
    finish(r, k);
    bool all = true, *full = full_yields(r);
    for (int i = 0; i < r->gr->nout; i++) all &= full[i];
    if (all) return;
    k = next(t, "results", &l);
    k->block = WARP;
    cuda_threads_of(r->g, k, t->s.rows, t->rows, "u");
    reduced(t, &l);
  } else {
    rows_before(r, r->npasses);
  }
  results(t, l.inner, l.ninner);
  finish(r, k);
}

/* ---- the whole ---- */

static GridRowsSchedule schedule_of(const CudaTarget *t, const Group *gr) {
  GridRowsShape s = {.rows = 1,
                     .elements = rows_elements(gr),
                     .independent = rows_independent(gr),
                     .one_pass = rows_one_pass(gr),
                     .reductions = rows_reductions(gr),
                     .unroll = cuda_unroll(gr, 16)};
  int outer = op_outer_axes(gr->e, gr->root);
  for (int i = 0; i < outer; i++) s.rows *= gr->domain->dim[i];
  return grid_rows_schedule(&t->machine, &s);
}

uint64_t cuda_rows_scratch(const CudaTarget *t, const Group *gr) {
  return schedule_of(t, gr).scratch;
}

void cuda_rows(Gen *g, const Group *gr) {
  Kernel *k = cuda_kernel(g, gr);
  WarpRows t = {.r = {.g = g,
                      .gr = gr,
                      .outer = op_outer_axes(gr->e, gr->root),
                      .c = rows_elements(gr),
                      .number = "u"},
                .s = schedule_of(cuda_target(g->target), gr)};
  RowsPrinter *r = &t.r;
  t.rows = dims_text(g, gr->e, gr->domain, 0, r->outer);
  t.c = dims_text(g, gr->e, gr->domain, r->outer, gr->domain->rank);
  RowLoops l = start(r);
  int64_t rows = t.s.rows;
  kernel_schedule(k, &grid_rows_kind, &t.s, sizeof t.s);
  t.group = t.s.group;
  k->flops = (uint64_t)group_work(gr);
  Text *x = &k->text;
  k->block = t.s.threads;
  if (t.group == GROUP_BLOCKS) {
    in_chunks(&t, k, &l);
    return;
  }
  if (t.group == GROUP_THREAD) {
    cuda_threads_of(g, k, rows, t.rows, "u");
  } else if (t.group == GROUP_WARP) {
    const char *threads = rows_bounded(&t) ? text_product(g->a, t.rows, "32") : NULL;
    cuda_threads_of(g, k, rows * WARP, threads, "t"); /* whole warps leave */
    text_line(x, "const int lane = (int)threadIdx.x %% %d;", WARP);
    text_line(x, "const %s u = t / %d;", g->index, WARP);
  } else {
    k->grid = t.s.blocks;
    text_line(x, "const int lane = (int)threadIdx.x %% %d, warp = (int)threadIdx.x / %d;", WARP,
              WARP);
    text_line(x, "const %s u = blockIdx.x;", g->index);
    leave_behind(&t, x, "0");
  }
  if (l.nouter) printer_decode(&r->p, l.outer, l.nouter, "u", "i", 1);
  for (int i = 0; i <= r->npasses; i++) {
    rows_before(r, i);
    if (i < r->npasses) pass(&t, i, l.inner, l.ninner);
  }
  results(&t, l.inner, l.ninner);
  text_append(x, r->p.level[0]);
  text_append(x, r->p.level[1]);
}
