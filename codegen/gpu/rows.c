/* Kernels over rows on the GPU: a thread does a row of fewer than 64 elements, a warp one of up to
   16,384, a block a longer one; few long rows are cut (rows_chunks.c). Contract: the same lanes,
   trees and chunks as on the CPU, hence the same bits: thread t of a warp holds lanes t and t + 32,
   a warp adds up a chunk. A row is read completely before its results are written, so they may lie
   over operands. */
#include "codegen/gpu/rows.h"

enum { WARPS = BLOCK / WARP };

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

const char *cuda_rows_lanes(WarpRows *t, OpKind k, Dtype dt, const char *lanes) {
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

const char *cuda_rows_best(Gen *g, OpKind k, Dtype dt) {
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
  Text group;            /* behind a group of chunks */
  Text after;
} Texts;

static void add_arg(WarpRows *t, const Work *w, const char *x, Texts *s) {
  Gen *g = t->r.g;
  Dtype dt = value_type(t->r.gr->e, w->x)->dtype;
  const char *T = dtype_compute(dt), *n = w->name;
  const char *best = arena_printf(g->a, "%s_best", n), *f = cuda_rows_best(g, w->kind, dt);
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

/* Of a block: it has chunks of several groups. */
static bool in_groups(const WarpRows *t) {
  return t->group == GROUP_BLOCK && t->r.c > (int64_t)ROW_GROUP * ROW_CHUNK;
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
  const char *sum = cuda_rows_lanes(t, k, dt, arena_printf(g->a, "%s_s", n));
  if (t->group == GROUP_WARP) {
    text_line(&s->after, "const %s %s = %s;", T, n, sum);
    return;
  }
  text_line(&s->before, "__shared__ %s %s_p[%d];", T, n, WARPS);
  text_line(&s->before, "%s %s = %s;", T, n, start);
  text_line(&s->end, "const %s %s_c = %s;", T, n, sum);
  text_line(&s->share, "%s_p[warp] = %s_c;", n, n);
  const char *of_group = n;
  if (in_groups(t)) {
    of_group = arena_printf(g->a, "%s_g", n);
    text_line(&s->before, "%s %s = %s;", T, of_group, start);
    text_line(&s->group, "%s = %s;", n, reduce_step(g, k, n, of_group));
    text_line(&s->group, "%s = %s;", of_group, start);
  }
  text_line(&s->join, "%s = %s;", of_group,
            reduce_step(g, k, of_group, arena_printf(g->a, "%s_p[q]", n)));
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
  s.share = s.join = s.group = text_new(g->a, row->indent + 2);
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
  text_line(row, "#pragma unroll %d", t->s.rounds);
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
    if (in_groups(t)) {
      text_open(row, "if (b0 + %d >= %s || b0 / %d %% %d == %d) {", WARPS * ROW_CHUNK, c,
                WARPS * ROW_CHUNK, ROW_GROUP / WARPS, ROW_GROUP / WARPS - 1);
      text_append(row, &s.group);
      text_close(row, "}");
    }
    text_close(row, "}");
  }
  text_append(row, &s.after);
}

/* ---- results ---- */

bool *cuda_rows_full(const RowsPrinter *r) {
  bool *full = ARENA_ARRAY(r->g->a, bool, r->gr->nout + 1);
  for (int i = 0; i < r->gr->nout; i++)
    full[i] = type_same_dims(value_type(r->gr->e, r->gr->yield[i]), r->gr->domain);
  return full;
}

/* A warp evaluates several vectors of a row, or all, before it stores any: as a result may lie over
   an operand, no load would come before another one's store. */
static void print_together(WarpRows *t, const Loop *inner, const bool *full) {
  Printer *p = &t->r.p;
  Text *row = p->level[1];
  const int v = t->s.width, vectors = t->s.vectors;
  const int64_t at_once = (int64_t)vectors * v * WARP;
  const bool turns = at_once < t->r.c, even = t->r.c % (turns ? at_once : (int64_t)v * WARP) == 0;
  const bool all = even && !elements_bounded(t);
  if (turns) {
    text_line(row, "#pragma unroll 1");
    text_open(row, "for (%s c1 = 0; c1 < %s; c1 += %lld) {", t->r.g->index, t->c,
              (long long)at_once);
  }
  *p->level[2] = text_new(t->r.g->a, row->indent + 2);
  const Text stores = cuda_vector_apart(p, inner[0].coord, "c", v, 2, full, "[q]");
  cuda_vector_results(p, row, v, vectors, full);
  for (int store = 0; store < 2; store++) {
    text_line(row, "#pragma unroll");
    text_open(row, "for (int q = 0; q < %d; q++) {", vectors);
    text_line(row, "const %s c = %s(q * %d + lane) * %d;", t->r.g->index, turns ? "c1 + " : "",
              WARP, v);
    text_open(row, all ? "{" : "if (c < %s) {", t->c);
    text_append(row, store ? &stores : p->level[2]);
    text_close(row, "}");
    text_close(row, "}");
  }
  if (turns) text_close(row, "}");
}

void cuda_rows_results(WarpRows *t, const Loop *inner, int ninner) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  const Group *gr = r->gr;
  Printer *p = &r->p;
  Text *row = p->level[1];
  bool any = false, *full = cuda_rows_full(r);
  for (int i = 0; i < gr->nout; i++) {
    any |= full[i] && t->group != GROUP_BLOCKS; /* with their chunks */
    if (!full[i]) printer_value(p, gr->yield[i], printer_identity(p, gr->yield[i]));
  }
  printer_drop(p, 2);
  *p->level[2] = text_new(g->a, row->indent + 1);
  int v = ninner == 1 ? cuda_width(gr, loop_unit(inner)) : 1;
  const bool together = any && t->s.vectors > 1 && v == t->s.width;
  if (any && !together) {
    if (ninner > 1) rows_name(r, inner, ninner);
    cuda_vector(p, ninner == 1 ? inner[0].coord : -1, "c", v, 2, full);
  }
  if (t->group == GROUP_WARP) text_line(row, "warp_sync();");
  if (t->group == GROUP_BLOCK) text_line(row, "block_sync();");
  if (together) {
    print_together(t, inner, full);
  } else if (any) {
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

/* ---- the whole ---- */

RowLoops cuda_rows_start(RowsPrinter *r) {
  r->p = printer_new(r->g, r->gr, 4, 1);
  return rows_start(r);
}

void cuda_rows_leave(const WarpRows *t, Text *x, const char *first) {
  if (rows_bounded(t)) text_line(x, "if (u >= %s) return;", t->rows);
  if (elements_bounded(t) && *first != '0') text_line(x, "if (%s >= %s) return;", first, t->c);
}

static GridRowsSchedule schedule_of(const CudaTarget *t, const Group *gr) {
  GridRowsShape s = {.rows = 1,
                     .elements = rows_elements(gr),
                     .independent = rows_independent(gr),
                     .one_pass = rows_one_pass(gr),
                     .may_wait = rows_may_wait(gr),
                     .full = rows_has_full_results(gr),
                     .reductions = rows_reductions(gr),
                     .unroll = cuda_unroll(gr, 32),
                     .width = cuda_width(gr, rows_elements(gr))};
  for (int i = 0; i < gr->nin; i++)
    s.operands += value_type(gr->e, gr->in[i])->numel >= gr->domain->numel;
  if (s.operands < 1) s.operands = 1;
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
  RowLoops l = cuda_rows_start(r);
  int64_t rows = t.s.rows;
  kernel_schedule(k, &grid_rows_kind, &t.s, sizeof t.s);
  t.group = t.s.group;
  k->flops = (uint64_t)group_work(gr);
  Text *x = &k->text;
  k->block = t.s.threads;
  if (t.group == GROUP_BLOCKS) {
    cuda_rows_in_chunks(&t, k, &l);
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
    cuda_rows_leave(&t, x, "0");
  }
  if (l.nouter) printer_decode(&r->p, l.outer, l.nouter, "u", "i", 1);
  for (int i = 0; i <= r->npasses; i++) {
    rows_before(r, i);
    if (i < r->npasses) pass(&t, i, l.inner, l.ninner);
  }
  cuda_rows_results(&t, l.inner, l.ninner);
  text_append(x, r->p.level[0]);
  text_append(x, r->p.level[1]);
}
