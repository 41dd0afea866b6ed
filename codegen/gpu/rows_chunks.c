/* Few long rows on the GPU: a block does a chunk, and the last block of a row puts the chunks
   together, or a second launch where launches of the kernel may run side by side, pass by pass;
   results that need the sums may have a launch of their own. Contract: as rows.c; a thread reads
   what the elements that it writes are made of; chunks are added in order, whichever block ends
   last. */
#include "codegen/gpu/rows.h"

enum { AHEAD = 32 }; /* partial results that a thread has on their way at once */

/* Of an argmax the largest elements; behind them lie their places. */
static const char *partials(const WarpRows *t, uint32_t work) {
  return arena_printf(t->r.g->a, "scratch + %lld",
                      (long long)(rows_slot(&t->r, work) * t->s.rows * t->s.chunks * PARTIAL));
}

static const char *places(const WarpRows *t, uint32_t work) {
  return arena_printf(
      t->r.g->a, "scratch + %lld",
      (long long)((rows_slot(&t->r, work) + 1) * t->s.rows * t->s.chunks * PARTIAL));
}

static const char *type_of(const WarpRows *t, const Work *w) {
  return rows_is_arg(w) ? "i32" : dtype_compute(value_type(t->r.gr->e, w->x)->dtype);
}

/* The totals of rows; of one chunk its partial result. */
static const char *sum_of(const WarpRows *t, uint32_t work) {
  return arena_printf(
      t->r.g->a, "scratch + %llu",
      (unsigned long long)(t->s.sums + (uint64_t)(rows_slot(&t->r, work) * t->s.rows * PARTIAL)));
}

static bool even_tiles(const WarpRows *t) {
  return t->r.c % t->s.tile == 0 && !elements_bounded(t);
}

/* A thread keeps the best of its elements: their places rise. */
static void take_best(WarpRows *t, const Work *w, Text *x, const char *value) {
  Gen *g = t->r.g;
  const Dtype dt = value_type(t->r.gr->e, w->x)->dtype;
  const char *v = arena_printf(g->a, "v%d", g->names++);
  const char *best = arena_printf(g->a, "%s_best", w->name);
  text_line(x, "const %s %s = %s;", dtype_compute(dt), v, value);
  text_open(x, "if (%s_at == INT32_MAX || %s) {", w->name, reduce_beats(g, w->kind, dt, v, best));
  text_line(x, "%s = %s;", best, v);
  text_line(x, "%s_at = (i32)c;", w->name);
  text_close(x, "}");
}

static void declare_best(WarpRows *t, const Work *w) {
  const char *T = dtype_compute(value_type(t->r.gr->e, w->x)->dtype), *n = w->name;
  Text *row = t->r.p.level[1];
  text_line(row, "__shared__ %s %s_pv[%d];", T, n, t->s.threads / WARP);
  text_line(row, "__shared__ i32 %s_pi[%d];", n, t->s.threads / WARP);
  text_line(row, "%s %s_best = 0;", T, n);
  text_line(row, "i32 %s_at = INT32_MAX;", n);
}

/* The best of a block, of what its threads keep: the first one has it as `value` at `place`. */
static void join_best(WarpRows *t, const Work *w, const char *value, const char *place) {
  Gen *g = t->r.g;
  const Dtype dt = value_type(t->r.gr->e, w->x)->dtype;
  const char *n = w->name, *f = cuda_rows_best(g, w->kind, dt);
  Text *row = t->r.p.level[1];
  text_line(row, "%s_warp(%s_best, %s_at);", f, n, n);
  text_open(row, "if ((int)threadIdx.x %% %d == 0) {", WARP);
  text_line(row, "%s_pv[threadIdx.x / %d] = %s_best;", n, WARP, n);
  text_line(row, "%s_pi[threadIdx.x / %d] = %s_at;", n, WARP, n);
  text_close(row, "}");
  text_line(row, "block_sync();");
  text_line(row, "%s %s = 0;", dtype_compute(dt), value);
  text_line(row, "i32 %s = INT32_MAX;", place);
  text_line(row, "for (int q = 0; threadIdx.x == 0 && q < %d; q++) %s(%s, %s, %s_pv[q], %s_pi[q]);",
            t->s.threads / WARP, f, value, place, n, n);
}

/* What is known of the row before a pass, from the totals of those in front of it. */
static void known(WarpRows *t, int pass) {
  RowsPrinter *r = &t->r;
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->pass < pass)
      text_line(r->p.level[1], "const %s %s = ((const %s *)(%s))[u];", type_of(t, w), w->name,
                type_of(t, w), sum_of(t, i));
  }
}

static void before(WarpRows *t, int pass) {
  for (int i = 0; i <= pass; i++) rows_before(&t->r, i);
}

/* What a thread does for its elements of a tile. */
typedef struct TileTexts {
  Text declare, read, write; /* read: the operands of all of them before anything is written */
  bool writes;               /* there are results of the full shape */
} TileTexts;

static TileTexts tile_texts(WarpRows *t, const RowLoops *l, int pass) {
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
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->pass != pass) continue;
    const char *addend = rows_addend(r, w);
    if (rows_is_arg(w))
      take_best(t, w, p->level[2], addend);
    else
      text_line(p->level[2], "%s_t[h * %d + (int)threadIdx.x] = %s;", w->name, t->s.threads,
                addend);
  }
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
static void declare_tiles(WarpRows *t, Kernel *k, int pass) {
  const int64_t combined = t->ends ? combined_numbers(t) : 0;
  for (uint32_t i = 0; i < t->r.work.n; i++) {
    const Work *w = &t->r.work.at[i];
    if (w->pass == pass && !rows_is_arg(w))
      text_line(&k->text, "__shared__ %s %s_t[%lld];", type_of(t, w), w->name,
                (long long)(t->s.tile > combined ? t->s.tile : combined));
  }
}

/* The block's row, and its chunk from b to e. */
static void place_chunk(WarpRows *t, Kernel *k, int pass) {
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
  declare_tiles(t, k, pass);
}

/* The first warp adds up a tile, lane by lane. */
static void add_lanes(WarpRows *t, int pass, bool even) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  Text *row = r->p.level[1];
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
    if (w->pass != pass || rows_is_arg(w)) continue;
    const char *v = arena_printf(g->a, "v%d", g->names++);
    const char *lane = arena_printf(g->a, "%s_s[h]", w->name);
    text_line(row, "const %s %s = %s_t[s + h * %d];", type_of(t, w), v, w->name, WARP);
    text_line(row, "%s = %s;", lane, reduce_step(g, rows_combine(w), lane, v));
  }
  text_close(row, "}");
  text_close(row, "}");
  text_line(row, "block_sync();");
}

/* A block evaluates a chunk of a pass, and its first warp adds it up. */
static void chunk(WarpRows *t, const RowLoops *l, int pass) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  Text *row = r->p.level[1];
  if (l->nouter) printer_decode(&r->p, l->outer, l->nouter, "u", "i", 1);
  if (t->s.passes) {
    known(t, pass);
    before(t, pass);
  }
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->pass == pass && rows_is_arg(w)) declare_best(t, w);
    if (w->pass != pass || rows_is_arg(w)) continue;
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    const char *start = reduce_start(g, rows_combine(w), dt, r->c);
    text_line(row, "%s %s_s[2] = {%s, %s};", dtype_compute(dt), w->name, start, start);
  }
  text_open(row, "for (int64_t c0 = b; c0 < e; c0 += %d) {", t->s.tile);
  TileTexts x = tile_texts(t, l, pass);
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
  if (rows_pass_has(r, pass, false)) add_lanes(t, pass, even);
  text_close(row, "}");
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->pass == pass && rows_is_arg(w))
      join_best(t, w, arena_printf(g->a, "%s_v", w->name), w->name);
  }
}

/* The first warp has the chunk's results, in its first lane. */
static void name_chunk(WarpRows *t, int pass) {
  RowsPrinter *r = &t->r;
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    if (w->pass == pass && !rows_is_arg(w))
      text_line(r->p.level[1], "const %s %s = %s;", dtype_compute(dt), w->name,
                cuda_rows_lanes(t, rows_combine(w), dt, arena_printf(r->g->a, "%s_s", w->name)));
  }
}

/* Stores the partial results of chunks, or the totals of rows, of a pass: of an argmax the largest
   element, too, until its row is known. */
static void keep(WarpRows *t, int pass, bool sums) {
  RowsPrinter *r = &t->r;
  Text *row = r->p.level[1];
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->pass != pass) continue;
    const bool arg = rows_is_arg(w) && !sums;
    const char *to = sums ? sum_of(t, i) : arg ? places(t, i) : partials(t, i);
    text_line(row, "((%s *)(%s))[%s] = %s;", type_of(t, w), to, sums ? "u" : "blockIdx.x", w->name);
    if (arg)
      text_line(row, "((%s *)(%s))[blockIdx.x] = %s_v;",
                dtype_compute(value_type(r->gr->e, w->x)->dtype), partials(t, i), w->name);
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

static CombineTexts combine_texts(WarpRows *t, int pass) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  Text *row = r->p.level[1];
  const int at = row->indent;
  CombineTexts x = {text_new(g->a, at + 2), text_new(g->a, at + 2), text_new(g->a, at + 3),
                    text_new(g->a, at + 2), text_new(g->a, at + 2)};
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->pass != pass || rows_is_arg(w)) continue;
    Dtype dt = value_type(r->gr->e, w->x)->dtype;
    const OpKind kind = rows_combine(w);
    const char *T = dtype_compute(dt), *n = w->name, *start = reduce_start(g, kind, dt, r->c);
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
    text_line(&x.add, "%s = %s;", of_group, reduce_step(g, kind, of_group, v));
    text_line(&x.share, "%s_s[group] = %s;", n, of_group);
    text_line(&x.join, "%s = %s;", n,
              reduce_step(g, kind, n, arena_printf(g->a, "%s_s[group]", n)));
  }
  return x;
}

/* Of the largest elements of chunks the first largest one. */
static void combine_best(WarpRows *t, int pass, const char *chunks) {
  RowsPrinter *r = &t->r;
  Gen *g = r->g;
  Text *row = r->p.level[1];
  for (uint32_t i = 0; i < r->work.n; i++) {
    const Work *w = &r->work.at[i];
    if (w->pass != pass || !rows_is_arg(w)) continue;
    const Dtype dt = value_type(r->gr->e, w->x)->dtype;
    const char *n = w->name;
    const long long all = (long long)t->s.chunks;
    declare_best(t, w);
    text_line(row, "for (int q = (int)threadIdx.x; q < %s; q += %d)", chunks, t->s.threads);
    text_line(row,
              "  %s(%s_best, %s_at, ((const %s *)(%s))[u * %lld + q], ((const i32 *)(%s))[u * %lld "
              "+ q]);",
              cuda_rows_best(g, w->kind, dt), n, n, dtype_compute(dt), partials(t, i), all,
              places(t, i), all);
    join_best(t, w, arena_printf(g->a, "%s_v", n), n);
  }
}

/* Chunks of a row of this run. */
static const char *chunks_of(const WarpRows *t) {
  return elements_bounded(t) ? text_ceil_div(t->r.g->a, t->c, ROW_CHUNK)
                             : arena_printf(t->r.g->a, "%lld", (long long)t->s.chunks);
}

/* The total of a row from the partial results of its chunks: a block brings them into shared
   memory, a thread adds up a group, in order, and the first one those of the groups. Rows of
   partial results of a group lie in different banks. */
static void combine(WarpRows *t, const RowLoops *l, int pass) {
  RowsPrinter *r = &t->r;
  Text *row = r->p.level[1];
  const long long most = combined_at_once(t);
  const int64_t numbers = AHEAD / (int64_t)r->work.n, ahead = numbers > 4 ? numbers : 4;
  if (l->nouter) printer_decode(&r->p, l->outer, l->nouter, "u", "i", 1);
  const char *all = chunks_of(t);
  combine_best(t, pass, all);
  if (!rows_pass_has(r, pass, false)) {
    text_line(row, "if (threadIdx.x != 0) return;");
    return;
  }
  const CombineTexts x = combine_texts(t, pass);
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
  known(t, r->npasses);
  before(t, r->npasses);
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
  kernel_touched(k, r->gr);
}

static Kernel *next(WarpRows *t, const char *suffix, RowLoops *l) {
  Kernel *k = cuda_kernel_next(t->r.g, t->r.gr, suffix);
  k->block = t->s.threads;
  kernel_schedule(k, &grid_rows_kind, &t->s, sizeof t->s);
  *l = cuda_rows_start(&t->r);
  return k;
}

/* A chunk, whose results go to scratch; the last block of a row goes on with all of them. */
static RowLoops chunk_and_count(WarpRows *t, Kernel *k, const RowLoops *l, int pass) {
  RowsPrinter *r = &t->r;
  Text *row = r->p.level[1];
  const char *all = chunks_of(t);
  if (elements_bounded(t)) all = arena_printf(r->g->a, "%s > 0 ? %s : 1", t->c, all);
  text_open(&k->text, "{");
  for (int i = 0; i < 2; i++) r->p.level[i]->indent++;
  chunk(t, l, pass);
  text_open(row, "if (warp == 0) {");
  name_chunk(t, pass);
  text_open(row, "if (lane == 0) {");
  keep(t, pass, false);
  text_close(row, "}");
  text_close(row, "}");
  finish(r, k);
  text_close(&k->text, "}");
  cuda_leave_but_last(k, t->s.rows, "u", all);
  return cuda_rows_start(r);
}

static void leave_but_first_lane(WarpRows *t, int pass) {
  Text *row = t->r.p.level[1];
  text_line(row, "if (warp != 0) return;");
  name_chunk(t, pass);
  text_line(row, "if (lane != 0) return;");
}

/* A launch for the chunks' results. */
static Kernel *chunks_and_combine(WarpRows *t, Kernel *k, RowLoops *l, int pass) {
  chunk(t, l, pass);
  leave_but_first_lane(t, pass);
  keep(t, pass, false);
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

/* The launches of a pass, up to what its totals are known to: the kernel at hand, and its printer.
 */
static Kernel *pass_in_chunks(WarpRows *t, Kernel *k, RowLoops *l, int pass) {
  const bool several = t->s.chunks > 1;
  place_chunk(t, k, pass);
  if (t->ends) {
    *l = chunk_and_count(t, k, l, pass);
  } else if (several) {
    k = chunks_and_combine(t, k, l, pass);
  } else {
    chunk(t, l, pass);
    leave_but_first_lane(t, pass);
  }
  if (several) combine(t, l, pass);
  return k;
}

void cuda_rows_in_chunks(WarpRows *t, Kernel *k, const RowLoops *first) {
  RowsPrinter *r = &t->r;
  RowLoops l = *first;
  const bool several = t->s.chunks > 1;
  const int last = r->npasses - 1;
  t->ends = several && !cuda_runs_beside(r->g, r->gr->e);
  for (int pass = 0; pass <= last; pass++) {
    if (pass > 0) k = next(t, "sums", &l);
    k = pass_in_chunks(t, k, &l, pass);
    if (pass == last && !t->s.apply) break;
    keep(t, pass, several);
    finish(r, k);
  }
  if (t->s.apply) {
    apply_sums(t);
    return;
  }
  known(t, last);
  before(t, last + 1);
  cuda_rows_results(t, l.inner, l.ninner);
  finish(r, k);
}
