/* Few long rows on the GPU: a block does a chunk, and the last block of a row puts the chunks
   together, or a second launch where launches of the kernel may run side by side; results that need
   the sums may have a launch of their own. Contract: as rows.c; a thread reads what the elements
   that it writes are made of; chunks are added in order, whichever block ends last. */
#include "codegen/gpu/rows.h"

enum { AHEAD = 32 }; /* partial results that a thread has on their way at once */

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
  bool *full = t->s.apply ? ARENA_ARRAY(g->a, bool, gr->nout + 1) : cuda_rows_full(r);
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
    text_line(p->level[2], "y%d[h] = %s;", i, scalar_store_rounded(g->a, dt, y.text));
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

/* Partial results that a block brings to shared memory at a time, whose groups lie in different
   banks. */
static int64_t combined_at_once(const WarpRows *t) {
  return t->s.chunks < t->s.tile ? t->s.chunks : t->s.tile;
}

static int64_t combined_numbers(const WarpRows *t) {
  const int64_t most = combined_at_once(t);
  return most + ceil_div(most, ROW_GROUP);
}

/* Shared memory of each reduction, for a tile of elements, then for partial results. */
static void declare_tiles(WarpRows *t, Kernel *k) {
  const int64_t combined = t->ends ? combined_numbers(t) : 0;
  for (uint32_t i = 0; i < t->r.work.n; i++) {
    const Work *w = &t->r.work.at[i];
    text_line(&k->text, "__shared__ %s %s_t[%lld];",
              dtype_compute(value_type(t->r.gr->e, w->x)->dtype), w->name,
              (long long)(t->s.tile > combined ? t->s.tile : combined));
  }
}

/* The block's row, and its chunk from b to e. */
static void place_chunk(WarpRows *t, Kernel *k) {
  const char *I = t->r.g->index;
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
  if (t->ends && elements_bounded(t)) { /* of no elements the first block has the result */
    cuda_rows_leave(t, &k->text, "0");
    text_line(&k->text, "if (b && b >= %s) return;", t->c);
  } else {
    cuda_rows_leave(t, &k->text, t->s.chunks > 1 ? "b" : "0");
  }
  declare_tiles(t, k);
}

/* A block evaluates a chunk, and its first warp adds it up, lane by lane. */
static void chunk(WarpRows *t, const RowLoops *l) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  Text *row = r->p.level[1];
  if (l->nouter) printer_decode(&r->p, l->outer, l->nouter, "u", "i", 1);
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    const char *start = reduce_start(g, w->kind, dt, r->c);
    text_line(row, "%s %s_s[2] = {%s, %s};", dtype_compute(dt), w->name, start, start);
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
}

/* The first warp has the chunk's results, in its first lane. */
static void name_chunk(WarpRows *t) {
  RowsPrinter *r = &t->r;
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    text_line(r->p.level[1], "const %s %s = %s;", dtype_compute(dt), w->name,
              cuda_rows_lanes(t, w->kind, dt, arena_printf(r->g->a, "%s_s", w->name)));
  }
}

/* Stores the partial results of chunks, or the totals of rows. */
static void keep(WarpRows *t, bool sums) {
  RowsPrinter *r = &t->r;
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    text_line(r->p.level[1], "((%s *)(%s))[%s] = %s;",
              dtype_compute(value_type(r->gr->e, w->x)->dtype),
              sums ? sum_of(t, i) : partials(t, i), sums ? "u" : "blockIdx.x", w->name);
  }
}

/* What the threads of a block do with the partial results that are in shared memory, of each
   reduction. */
typedef struct CombineTexts {
  Text load;  /* a partial result */
  Text start; /* a group's sum */
  Text add;   /* a partial result to it */
  Text share; /* it, with the thread that adds up groups */
  Text join;  /* such a sum to the row's */
} CombineTexts;

static CombineTexts combine_texts(WarpRows *t) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  Text *row = r->p.level[1];
  const int at = row->indent;
  CombineTexts x = {text_new(g->a, at + 2), text_new(g->a, at + 2), text_new(g->a, at + 3),
                    text_new(g->a, at + 2), text_new(g->a, at + 2)};
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    const char *T = dtype_compute(dt), *n = w->name, *start = reduce_start(g, w->kind, dt, r->c);
    const char *of_group = arena_printf(g->a, "%s_g", n),
               *v = arena_printf(g->a, "v%d", g->names++);
    if (!t->ends) text_line(row, "__shared__ %s %s_t[%lld];", T, n, (long long)combined_numbers(t));
    text_line(row, "__shared__ %s %s_s[%lld];", T, n,
              (long long)ceil_div(combined_at_once(t), ROW_GROUP));
    text_line(row, "%s %s = %s;", T, n, start);
    text_line(&x.load, "%s_t[q + q / %d] = ((const %s *)(%s))[u * %lld + b + q];", n, ROW_GROUP, T,
              partials(t, i), (long long)t->s.chunks);
    text_line(&x.start, "%s %s = %s;", T, of_group, start);
    text_line(&x.add, "const %s %s = %s_t[q + group];", T, v, n);
    text_line(&x.add, "%s = %s;", of_group, reduce_step(g, w->kind, of_group, v));
    text_line(&x.share, "%s_s[group] = %s;", n, of_group);
    text_line(&x.join, "%s = %s;", n,
              reduce_step(g, w->kind, n, arena_printf(g->a, "%s_s[group]", n)));
  }
  return x;
}

/* Chunks of a row of this run. */
static const char *chunks_of(const WarpRows *t) {
  return elements_bounded(t) ? text_ceil_div(t->r.g->a, t->c, ROW_CHUNK)
                             : arena_printf(t->r.g->a, "%lld", (long long)t->s.chunks);
}

/* The total of a row from the partial results of its chunks: a block brings them into shared
   memory, a thread adds up a group, in order, and the first one those of the groups. Rows of
   partial results of a group lie in different banks. */
static void combine(WarpRows *t, const RowLoops *l) {
  RowsPrinter *r = &t->r;
  Text *row = r->p.level[1];
  const long long most = combined_at_once(t);
  const int64_t numbers = AHEAD / (int64_t)r->work.n, ahead = numbers > 4 ? numbers : 4;
  if (l->nouter) printer_decode(&r->p, l->outer, l->nouter, "u", "i", 1);
  const CombineTexts x = combine_texts(t);
  const char *all = chunks_of(t);
  text_open(row, "for (int b = 0; b < %s; b += %lld) {", all, most);
  text_line(row, "const int n = smaller(%lld, (int)(%s) - b);", most, all);
  text_line(row, "#pragma unroll %lld", (long long)ahead / 2);
  text_open(row, "for (int q = (int)threadIdx.x; q < n; q += %d) {", t->s.threads);
  text_append(row, &x.load);
  text_close(row, "}");
  text_line(row, "block_sync();");
  text_open(row, "for (int group = (int)threadIdx.x; group * %d < n; group += %d) {", ROW_GROUP,
            t->s.threads);
  text_append(row, &x.start);
  text_line(row, "#pragma unroll %lld", (long long)ahead);
  text_open(row, "for (int q = group * %d; q < smaller((group + 1) * %d, n); q++) {", ROW_GROUP,
            ROW_GROUP);
  text_append(row, &x.add);
  text_close(row, "}");
  text_append(row, &x.share);
  text_close(row, "}");
  text_line(row,
            "block_sync();"); /* the next tile's groups wait for the first thread at the next */
  text_line(row, "#pragma unroll %lld", (long long)ahead);
  text_open(row, "for (int group = 0; threadIdx.x == 0 && group * %d < n; group++) {", ROW_GROUP);
  text_append(row, &x.join);
  text_close(row, "}");
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
  cuda_rows_leave(t, &k->text, "0");
  reduced(t, l);
  printer_drop(&r->p, 2);
  *r->p.level[2] = text_new(g->a, 1);
  if (l->ninner > 1) rows_name(r, l->inner, l->ninner);
  cuda_vector(&r->p, l->ninner == 1 ? l->inner[0].coord : -1, "c", v, 2, cuda_rows_full(r));
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
  *l = cuda_rows_start(&t->r);
  return k;
}

/* A chunk, whose results go to scratch; the last block of a row goes on with all of them. */
static RowLoops chunk_and_count(WarpRows *t, Kernel *k, const RowLoops *l) {
  RowsPrinter *r = &t->r;
  Text *row = r->p.level[1];
  const char *all = chunks_of(t);
  if (elements_bounded(t)) all = arena_printf(r->g->a, "%s > 0 ? %s : 1", t->c, all);
  text_open(&k->text, "{");
  for (int i = 0; i < 2; i++) r->p.level[i]->indent++;
  chunk(t, l);
  text_open(row, "if (warp == 0) {");
  name_chunk(t);
  text_open(row, "if (lane == 0) {");
  keep(t, false);
  text_close(row, "}");
  text_close(row, "}");
  finish(r, k);
  text_close(&k->text, "}");
  cuda_leave_but_last(k, t->s.rows, "u", all);
  return cuda_rows_start(r);
}

static void leave_but_first_lane(WarpRows *t) {
  Text *row = t->r.p.level[1];
  text_line(row, "if (warp != 0) return;");
  name_chunk(t);
  text_line(row, "if (lane != 0) return;");
}

/* A launch for the chunks' results. */
static Kernel *chunks_and_combine(WarpRows *t, Kernel *k, RowLoops *l) {
  chunk(t, l);
  leave_but_first_lane(t);
  keep(t, false);
  finish(&t->r, k);
  k = next(t, "combine", l);
  k->grid = t->s.rows;
  text_line(&k->text, "const %s u = (%s)blockIdx.x;", t->r.g->index, t->r.g->index);
  cuda_rows_leave(t, &k->text, "0");
  return k;
}

/* What needs the sums of rows: results of the full shape, and others. */
static void apply_sums(WarpRows *t) {
  RowsPrinter *r = &t->r;
  RowLoops l;
  Kernel *k = next(t, "apply", &l);
  apply(t, k, &l);
  finish(r, k);
  bool all = true, *full = cuda_rows_full(r);
  for (int i = 0; i < r->gr->nout; i++) all &= full[i];
  if (all) return;
  k = next(t, "results", &l);
  k->block = WARP;
  cuda_threads_of(r->g, k, t->s.rows, t->rows, "u");
  reduced(t, &l);
  cuda_rows_results(t, l.inner, l.ninner);
  finish(r, k);
}

void cuda_rows_in_chunks(WarpRows *t, Kernel *k, const RowLoops *first) {
  RowsPrinter *r = &t->r;
  RowLoops l = *first;
  const bool several = t->s.chunks > 1;
  t->ends = several && !cuda_runs_beside(r->g, r->gr->e);
  place_chunk(t, k);
  if (t->ends) {
    l = chunk_and_count(t, k, &l);
  } else if (several) {
    k = chunks_and_combine(t, k, &l);
  } else {
    chunk(t, &l);
    leave_but_first_lane(t);
  }
  if (several) combine(t, &l);
  if (t->s.apply) {
    keep(t, several);
    finish(r, k);
    apply_sums(t);
    return;
  }
  rows_before(r, r->npasses);
  cuda_rows_results(t, l.inner, l.ninner);
  finish(r, k);
}
