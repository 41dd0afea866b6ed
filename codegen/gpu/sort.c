/* Sorting along the last axis: a block sorts a tile of a row in shared memory, then each launch
   merges runs of twice the length, forth and back between two buffers, each thread finding by
   bisection where its element goes: the ends of merge sort, stable. Contract: the order is that of
   the numbers alone, so no two ways of finding it differ. */
#include "codegen/gpu/sort.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

/* A step of merging: element i of w, whose runs are `run` long, goes to the variable `place`.
   order: where the element at a place is; key: its number. */
typedef struct Merge {
  const char *i, *w, *run;
  const char *order; /* a format of one name: "order[side][%s]" */
  bool shared;       /* the numbers are in key[], by the place in the tile */
} Merge;

static const char *named(Gen *g, const char *format, const char *name) {
  const char *at = strstr(format, "%s");
  return arena_printf(g->a, "%.*s%s%s", (int)(at - format), format, name, at + 2);
}

/* Number `at` of all. */
static const char *load(Gen *g, const Group *gr, const Sort *s, const char *at) {
  return s->load ? s->load(g, gr, at) : scalar_load(g->a, s->dt, s->in, at);
}

static const char *key(Gen *g, const Group *gr, const Sort *s, const Merge *m, const char *at) {
  return arena_printf(g->a, m->shared ? "key[%s]" : "%s",
                      m->shared ? at : load(g, gr, s, arena_printf(g->a, "(u + %s)", at)));
}

static void merge(Gen *g, const Group *gr, Text *x, const Sort *s, const Merge *m) {
  const char *T = dtype_compute(s->dt), *I = g->index;
  text_line(x, "const %s first = %s / (2 * %s) * (2 * %s), mid = smaller(first + %s, %s);", I, m->i,
            m->run, m->run, m->run, m->w);
  text_line(x, "const %s end = smaller(mid + %s, %s);", I, m->run, m->w);
  text_line(x, "const bool left = %s < mid;", m->i);
  text_line(x, "const int own = %s;", named(g, m->order, m->i));
  text_line(x, "const %s mine = %s;", T, key(g, gr, s, m, "own"));
  /* how many of the other run come before it: of the right one those that are in front of it, of
     the left one all that it is not in front of */
  text_line(x, "const %s other = left ? mid : first;", I);
  text_line(x, "%s lo = other, hi = left ? end : mid;", I);
  text_open(x, "while (lo < hi) {");
  text_line(x, "const %s at = (lo + hi) / 2;", I);
  text_line(x, "const %s that = %s;", T, key(g, gr, s, m, named(g, m->order, "at")));
  const char *mine = reduce_beats(g, OP_ARGMAX, s->dt, "mine", "that");
  const char *that = reduce_beats(g, OP_ARGMAX, s->dt, "that", "mine");
  text_line(x, "const bool before = left ? %s : !(%s);", s->descending ? that : mine,
            s->descending ? mine : that);
  text_line(x, "if (before) lo = at + 1;");
  text_line(x, "else hi = at;");
  text_close(x, "}");
  text_line(x, "const %s place = (left ? %s : %s - %s) + lo - other;", I, m->i, m->i, m->run);
}

/* The first launch: `to` is the buffer that it writes. */
static void tiles(Gen *g, const Group *gr, Kernel *k, const Sort *s, const char *to) {
  const GridSortSchedule *d = &s->schedule;
  const char *I = g->index, *T = dtype_compute(s->dt);
  Text *x = &k->text;
  long long n = d->elements;
  k->grid = d->blocks;
  k->block = d->threads;
  if (d->tiles > 1) {
    text_line(x, "const %s u = (%s)blockIdx.x / %lld * %lld;", I, I, (long long)d->tiles, n);
    text_line(x, "const %s tile = (%s)blockIdx.x %% %lld * %d;", I, I, (long long)d->tiles,
              d->tile);
    text_line(x, "const int w = (int)smaller((%s)%d, (%s)%s - tile);", I, d->tile, I, s->elements);
  } else {
    text_line(x, "const %s u = (%s)blockIdx.x * %lld;", I, I, n);
    text_line(x, "const int tile = 0, w = %s;", s->elements);
  }
  if (!text_is_number(s->rows)) text_line(x, "if (u >= %s * %lld) return;", s->rows, n);
  if (d->tiles > 1 && !text_is_number(s->elements)) text_line(x, "if (w <= 0) return;");
  text_line(x, "__shared__ %s key[%d];", T, d->tile);
  text_line(x, "__shared__ int order[2][%d];", d->tile);
  text_open(x, "for (int i = (int)threadIdx.x; i < w; i += %d) {", d->threads);
  text_line(x, "const %s own = u + tile + i;", I);
  text_line(x, "key[i] = %s;", load(g, gr, s, "own"));
  text_line(x, "order[0][i] = i;");
  if (s->check) text_line(x, "%s", s->check);
  text_close(x, "}");
  text_line(x, "int side = 0;");
  text_open(x, "for (int run = 1; run < w; run *= 2) {");
  text_line(x, "block_sync();");
  text_open(x, "for (int i = (int)threadIdx.x; i < w; i += %d) {", d->threads);
  const char *index = g->index;
  g->index = "int";
  merge(g, gr, x, s,
        &(Merge){.i = "i", .w = "w", .run = "run", .order = "order[side][%s]", .shared = true});
  g->index = index;
  text_line(x, "order[1 - side][place] = own;");
  text_close(x, "}");
  text_line(x, "side = 1 - side;");
  text_close(x, "}");
  text_line(x, "block_sync();");
  text_line(x, "for (int i = (int)threadIdx.x; i < w; i += %d)", d->threads);
  text_line(x, "  (%s)[u + tile + i] = (int)tile + order[side][i];", to);
}

/* Merges runs of `run` elements. */
static void runs(Gen *g, const Group *gr, Kernel *k, const Sort *s, int64_t run, const char *from,
                 const char *to) {
  const GridSortSchedule *d = &s->schedule;
  const char *I = g->index;
  Text *x = &k->text;
  long long n = d->elements;
  bool bounded = !text_is_number(s->rows);
  const char *count = arena_printf(g->a, "%s * %lld", s->rows, n);
  cuda_threads_of(g, k, d->rows * d->elements, bounded ? count : NULL, "t");
  text_line(x, "const %s i = t %% %lld, u = t - i;", I, n);
  if (!text_is_number(s->elements)) text_line(x, "if (i >= %s) return;", s->elements);
  text_line(x, "const int *from = %s + u;", from);
  merge(g, gr, x, s,
        &(Merge){.i = "i",
                 .w = arena_printf(g->a, "(%s)%s", I, s->elements),
                 .run = arena_printf(g->a, "(%s)%lld", I, (long long)run),
                 .order = "from[%s]"});
  text_line(x, "(%s)[u + place] = own;", to);
}

void sort_rows(Gen *g, const Group *gr, Kernel *k, const Sort *s) {
  const GridSortSchedule *d = &s->schedule;
  int side = d->merges % 2; /* the last merge writes to buffer 0 */
  tiles(g, gr, k, s, s->buffer[side]);
  int64_t run = d->tile;
  for (int i = 0; i < d->merges; i++, run *= 2, side = 1 - side) {
    k = cuda_kernel_next(g, gr, "merge");
    kernel_schedule(k, &grid_sort_kind, d, sizeof *d);
    runs(g, gr, k, s, run, s->buffer[side], s->buffer[1 - side]);
  }
}

static GridSortSchedule schedule_of(const CudaTarget *t, const Group *gr) {
  const Type *x = value_type(gr->e, gr->in[0]);
  int64_t n = x->dim[x->rank - 1];
  return grid_sort_schedule(&t->machine, n ? x->numel / n : 0, n);
}

uint64_t cuda_order_scratch(const CudaTarget *t, const Group *gr) {
  if (gr->root->kind == OP_CUMSUM) return cuda_cumsum_scratch(t, gr);
  if (gr->root->kind != OP_ARGSORT || !schedule_of(t, gr).merges) return 0;
  return value_type(gr->e, gr->out[0])->bytes;
}

/* Rows of no run are sorted, too, and nobody reads them. */
static const char *load_inside(Gen *g, const Group *gr, const char *at) {
  const Type *t = value_type(gr->e, gr->in[0]);
  return arena_printf(g->a, "(%s ? %s : (%s)0)", inside_text(g, gr->e, t, at),
                      scalar_load(g->a, t->dtype, "in0", at), dtype_compute(t->dtype));
}

void cuda_order(Gen *g, const Group *gr) {
  const Type *t = value_type(gr->e, gr->in[0]);
  if (gr->root->kind == OP_CUMSUM) {
    cuda_cumsum(g, gr);
    return;
  }
  Kernel *k = cuda_kernel(g, gr);
  Sort s = {.dt = t->dtype,
            .descending = gr->root->attr[AT_DESCENDING].i,
            .in = "in0",
            .load = type_is_mixed(t) ? load_inside : NULL,
            .buffer = {"out0", "(int *)scratch"},
            .rows = prefix_axes_text(g, gr->e, t, t->rank - 1),
            .elements = dims_text(g, gr->e, t, t->rank - 1, t->rank),
            .schedule = schedule_of(cuda_target(g->target), gr)};
  kernel_schedule(k, &grid_sort_kind, &s.schedule, sizeof s.schedule);
  if (t->numel == 0) return;
  sort_rows(g, gr, k, &s);
  for (uint32_t i = 1; i < g->out.n; i++) /* merges go back and forth */
    g->out.at[i]->args[gr->nin].access.read = true;
}
