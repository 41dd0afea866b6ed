/* Reductions over axes that are not the last: a thread does one kept element, walking the reduced
   axes in order. Where what is reduced lies side by side, or there is much of it, a block evaluates
   tiles of a few columns into shared memory, neighbouring threads neighbouring elements, and one of
   its threads combines each column in order. Of few columns a block does one chunk of 256, and a
   second launch combines the chunks.
   Contract: the CPU's order: chunks added up in order, hence the same bits. Results have the kept
   shape and may lie over operands of it: a block reads of those its own columns alone, before its
   last barrier. */
#include "codegen/gpu/gpu.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

typedef struct GridReduce {
  ColsPrinter c;
  const Op *root;
  Dtype dt;
  const char *T;         /* what is combined */
  const char *start;     /* the identity of the combination */
  const ValueId *so_far; /* what has been added up before; or NULL */
  Loop *kept, *reduced;
  int nkept, nreduced;
  GridColumnsSchedule s;
  const char *rows, *columns; /* how many there are at run time, as positions */
} GridReduce;

static bool rows_bounded(const GridReduce *r) { return !text_is_number(r->rows); }
static bool columns_bounded(const GridReduce *r) { return !text_is_number(r->columns); }
/* Some columns of a block lie behind the last one. */
static bool ragged(const GridReduce *r) {
  return r->s.columns % r->s.width != 0 || columns_bounded(r);
}

static bool is_arg(const Op *root) { return root->kind == OP_ARGMAX || root->kind == OP_ARGMIN; }

/* ---- the schedule ---- */

/* The last axis of these that is more than one element, or -1. */
static int last_axis(const ColsPrinter *c, const int *axes, int n) {
  while (n > 0 && c->gr->domain->dim[axes[n - 1]] == 1) n--;
  return n ? axes[n - 1] : -1;
}

/* Do more bytes of what is read lie side by side along the reduced axes than along the kept ones?
 */
static bool is_along(const ColsPrinter *c, const Leaves *l) {
  int reduced = last_axis(c, c->reduced, c->nreduced), kept = last_axis(c, c->kept, c->nkept);
  int64_t more = 0;
  for (uint32_t i = 0; i < l->at.n; i++) {
    const Leaf *x = &l->at.at[i];
    int64_t size = (int64_t)value_type(c->gr->e, x->v)->bytes;
    if (group_arg(c->gr, x->v) < 0) continue;
    if (reduced >= 0 && x->stride[reduced] == 1) more += size;
    if (kept >= 0 && x->stride[kept] == 1) more -= size;
  }
  return more > 0;
}

static GridColumnsSchedule schedule_of(const CudaTarget *t, const Group *gr, bool along) {
  int64_t kept = value_type(gr->e, gr->root->results[0])->numel;
  Dtype dt = value_type(gr->e, gr->root->operands[0])->dtype;
  OpKind kind = gr->root->kind;
  bool real = dtype_is_float(dt);
  GridColumnsShape s = {.rows = kept ? gr->domain->numel / kept : 0,
                        .columns = kept,
                        .chunked = !is_arg(gr->root) && !(real && kind == OP_PROD),
                        .along = along,
                        .size = dt == DT_F64 || dt == DT_I64 ? 8 : 4};
  return grid_columns_schedule(&t->machine, &s);
}

uint64_t cuda_reduce_scratch(const CudaTarget *t, const Group *gr) {
  return schedule_of(t, gr, false).scratch;
}

/* n as a position. */
static const char *number(const GridReduce *r, int64_t n) {
  bool small = strcmp(r->c.g->index, "int") == 0;
  return arena_printf(r->c.g->a, small ? "%lld" : "(int64_t)%lld", (long long)n);
}

static GridReduce reduce_of(Gen *g, const Group *gr) {
  Leaves leaves = {0};
  GridReduce r = {.c = cols_new(g, gr, 3, &leaves), .root = gr->root};
  Printer *p = &r.c.p;
  r.dt = value_type(gr->e, r.root->operands[0])->dtype;
  r.T = dtype_compute(r.dt);
  r.s = schedule_of(cuda_target(g->target), gr, is_along(&r.c, &leaves));
  r.start = reduce_start(g, r.root->kind, r.dt, r.s.rows);
  r.so_far = op_accumulator(r.root) < 0 ? NULL : &r.root->operands[op_accumulator(r.root)];
  if (r.so_far) leaves_of(p, *r.so_far, cols_map(&r.c, *r.so_far), &leaves);
  for (int i = 0; i < gr->nout; i++)
    leaves_of(p, gr->yield[i], cols_map(&r.c, gr->yield[i]), &leaves);
  r.kept = ARENA_ARRAY(g->a, Loop, r.c.nkept + 1);
  r.reduced = ARENA_ARRAY(g->a, Loop, r.c.nreduced + 1);
  r.nkept = loops_over(p, &leaves, r.c.kept, r.c.nkept, r.kept);
  r.nreduced = loops_over(p, &leaves, r.c.reduced, r.c.nreduced, r.reduced);
  r.rows = loops_text(p, r.reduced, r.nreduced);
  r.columns = loops_text(p, r.kept, r.nkept);
  return r;
}

static bool may_be_empty(const GridReduce *r) {
  return type_may_be_empty(value_type(r->c.gr->e, r->root->operands[0]));
}

/* The last column of all. */
static const char *last_column(const GridReduce *r) {
  return columns_bounded(r) ? arena_printf(r->c.g->a, "%s - 1", r->columns)
                            : number(r, r->s.columns - 1);
}

static const char *all_rows(const GridReduce *r) {
  return rows_bounded(r) ? r->rows : number(r, r->s.rows);
}

/* ---- one column ---- */

static void declare(GridReduce *r, Text *x) {
  text_line(x, "%s acc = %s;", r->T, r->start);
  if (is_arg(r->root)) text_line(x, "i32 at = 0;");
}

/* Combines acc with the value of row r. */
static void step(GridReduce *r, Text *x, const char *value) {
  Gen *g = r->c.g;
  OpKind kind = r->root->kind;
  const char *v = arena_printf(g->a, "v%d", g->names++);
  text_line(x, "const %s %s = %s;", r->T, v, value);
  if (is_arg(r->root)) {
    text_open(x, "if (r == 0 || %s) {", reduce_beats(g, kind, r->dt, v, "acc"));
    text_line(x, "acc = %s;", v);
    text_line(x, "at = (i32)r;");
    text_close(x, "}");
    return;
  }
  text_line(x, "acc = %s;", reduce_step(g, kind, "acc", v));
}

/* The value of an element, in the text of level 2. */
static const char *element(GridReduce *r) {
  Printer *p = &r->c.p;
  ValueId x = r->root->operands[0];
  if (r->nreduced) printer_decode(p, r->reduced, r->nreduced, "r", "k", 2);
  return printer_value(p, x, printer_identity(p, x)).text;
}

static const char *before(GridReduce *r) {
  return r->so_far ? printer_value(&r->c.p, *r->so_far, cols_map(&r->c, *r->so_far)).text : NULL;
}

/* The epilogue, where the reduction's value is a name. */
static void results(GridReduce *r, const char *result) {
  Printer *p = &r->c.p;
  const Group *gr = r->c.gr;
  Dtype dt = value_type(gr->e, r->root->results[0])->dtype;
  text_line(p->level[1], "const %s sum = %s;", dtype_compute(dt),
            scalar_round_text(r->c.g->a, dt, result));
  vec_push(r->c.g->a, &p->terms, (Term){r->root, ROLE_VALUE, "sum", 1});
  for (int i = 0; i < gr->nout; i++) printer_value(p, gr->yield[i], cols_map(&r->c, gr->yield[i]));
  for (int i = 0; i < gr->nout; i++) printer_store(p, i, cols_map(&r->c, gr->yield[i]), 1);
}

static void finish(GridReduce *r, Kernel *k) {
  text_append(&k->text, r->c.p.level[0]);
  text_append(&k->text, r->c.p.level[1]);
}

/* A column's total, with what has been added up before it. */
static const char *alone(GridReduce *r, const char *so_far) {
  if (is_arg(r->root)) return "at";
  if (!so_far) return "acc";
  return r->s.rows ? arena_printf(r->c.g->a, "%s + acc", so_far) : so_far;
}

static void a_thread(GridReduce *r, Kernel *k) {
  Gen *g = r->c.g;
  Printer *p = &r->c.p;
  Text *x = p->level[1];
  cuda_threads_of(g, k, r->s.columns, r->columns, "u");
  if (r->nkept) printer_decode(p, r->kept, r->nkept, "u", "i", 1);
  const char *so_far = before(r);
  const char *value = element(r);
  step(r, p->level[2], value);
  declare(r, x);
  text_line(x, "#pragma unroll %d", cuda_unroll(r->c.gr, dtype_size(r->dt) == 1 ? 4 : 16));
  if (rows_bounded(r))
    text_open(x, "for (%s r = 0; r < %s; r++) {", g->index, r->rows);
  else
    text_open(x, "for (%s r = 0; r < %lld; r++) {", g->index, (long long)r->s.rows);
  text_append(x, p->level[2]);
  text_close(x, "}");
  printer_drop(p, 2);
  results(r, alone(r, so_far));
  finish(r, k);
}

/* ---- tiles ---- */

/* The columns of a block, and the one of this thread, which other threads have, too. */
static void place(GridReduce *r, Kernel *k) {
  const char *I = r->c.g->index;
  const GridColumnsSchedule *s = &r->s;
  const char *block = k->grid > s->column_blocks
                          ? arena_printf(r->c.g->a, " %% %lld", (long long)s->column_blocks)
                          : "";
  text_line(&k->text, "const %s j0 = (%s)blockIdx.x%s * %d;", I, I, block, s->width);
  if (columns_bounded(r)) text_line(&k->text, "if (j0 >= %s) return;", r->columns);
  text_line(&k->text, "const %s own = j0 + (int)threadIdx.x %% %d;", I, s->width);
  if (ragged(r))
    text_line(&k->text, "const %s u = smaller(own, %s);", I, last_column(r));
  else
    text_line(&k->text, "const %s u = own;", I);
  if (r->nkept) printer_decode(&r->c.p, r->kept, r->nkept, "u", "i", 1);
}

/* One thread a column goes on, with the epilogue. */
static void leave(GridReduce *r) {
  const GridColumnsSchedule *s = &r->s;
  Text *x = r->c.p.level[1];
  if (r->so_far && may_be_empty(r)) /* where no tile has had the threads wait for one another */
    text_line(x, "block_sync();");
  if (columns_bounded(r))
    text_line(x, "if ((int)threadIdx.x >= %d || own >= %s) return;", s->width, r->columns);
  else if (ragged(r))
    text_line(x, "if ((int)threadIdx.x >= %d || own >= %lld) return;", s->width,
              (long long)s->columns);
  else
    text_line(x, "if ((int)threadIdx.x >= %d) return;", s->width);
}

/* Rows [from, to) of the block's columns. */
typedef struct ColumnTile {
  int depth; /* rows of it */
  bool along;
  int64_t most, rows; /* of [from, to), and of a whole column */
  const char *from, *to;
  const char *fill; /* the element at row r and column j … */
  Text before;      /* … and the lines that it needs, 2 deeper than the tile */
  int unroll;
  bool again; /* others follow */
  bool ends;  /* the last tile may be shorter, whatever `rows` are */
} ColumnTile;

/* One tile has all rows, and there are some. */
static bool is_one_tile(const GridReduce *r, int depth, int64_t most) {
  return most <= depth && !may_be_empty(r);
}

static int tile_indent(const GridReduce *r, int depth, int64_t most) {
  return r->c.p.level[1]->indent + !is_one_tile(r, depth, most) + 2;
}

/* All threads evaluate it, then one for each column combines it into acc. */
static void tile(GridReduce *r, ColumnTile *t) {
  Text *x = r->c.p.level[1];
  const char *I = r->c.g->index;
  const GridColumnsSchedule *s = &r->s;
  int stride = grid_tile_stride(s->width),
      all = t->depth * s->width; /* no two rows begin in one bank */
  int each = (all + s->threads - 1) / s->threads;
  bool once = is_one_tile(r, t->depth, t->most), even = t->rows % t->depth == 0 && !t->ends;
  if (once)
    text_line(x, "const %s t0 = %s;", I, t->from);
  else
    text_open(x, "for (%s t0 = %s; t0 < %s; t0 += %d) {", I, t->from, t->to, t->depth);
  if (each > 1) {
    text_line(x, "#pragma unroll %d", t->unroll < each ? t->unroll : each);
    text_open(x, "for (int q = 0; q < %d; q++) {", each);
    text_line(x, "const int n = q * %d + (int)threadIdx.x;", s->threads);
  } else {
    text_open(x, "{");
    text_line(x, "const int n = (int)threadIdx.x;");
  }
  if (t->along)
    text_line(x, "const int row = n %% %d, column = n / %d;", t->depth, t->depth);
  else
    text_line(x, "const int row = n / %d, column = n %% %d;", s->width, s->width);
  text_open(x, all % s->threads ? "if (n < %d) {" : "{", all);
  /* behind the end the last row or column once more: no branch keeps loads from being under way
     together */
  text_line(x, even ? "const %s r = t0 + row;" : "const %s r = smaller(t0 + row, %s - 1);", I,
            t->to);
  text_line(x, ragged(r) ? "const %s j = smaller(j0 + column, %s);" : "const %s j = j0 + column;",
            I, last_column(r));
  text_append(x, &t->before);
  text_line(x, "part[row * %d + column] = %s;", stride, t->fill);
  text_close(x, "}");
  text_close(x, "}");
  text_line(x, "block_sync();");
  text_open(x, "if ((int)threadIdx.x < %d) {", s->width);
  text_line(x, "#pragma unroll 8");
  text_open(
      x, even ? "for (int h = 0; h < %d; h++) {" : "for (int h = 0; h < %d && t0 + h < %s; h++) {",
      t->depth, t->to);
  if (is_arg(r->root)) text_line(x, "const %s r = t0 + h;", I);
  step(r, x, arena_printf(r->c.g->a, "part[h * %d + (int)threadIdx.x]", stride));
  text_close(x, "}");
  text_close(x, "}");
  if (!once || t->again) text_line(x, "block_sync();");
  if (!once) text_close(x, "}");
}

static void share(GridReduce *r, int depth) {
  text_line(r->c.p.level[1], "__shared__ %s part[%d];", r->T, depth * grid_tile_stride(r->s.width));
}

/* Tiles of the operand. Columns have other names in them than around them. */
static void elements(GridReduce *r, const char *from, const char *to, int64_t most) {
  Printer *p = &r->c.p;
  const GridColumnsSchedule *s = &r->s;
  Coord *own = ARENA_ARRAY(r->c.g->a, Coord, p->ncoords + 1);
  memcpy(own, p->coord, sizeof *own * (size_t)p->ncoords);
  printer_drop(p, 1);
  *p->level[2] = text_new(r->c.g->a, tile_indent(r, s->depth, most));
  if (r->nkept) printer_decode(p, r->kept, r->nkept, "j", "c", 2);
  const char *value = element(r);
  ColumnTile t = {.depth = s->depth,
                  .along = s->along,
                  .most = most,
                  .rows = s->rows,
                  .from = from,
                  .to = to,
                  .fill = value,
                  .before = *p->level[2],
                  .unroll = cuda_unroll(r->c.gr, 16),
                  .again = s->chunks > 1 && !s->split,
                  .ends = rows_bounded(r)};
  tile(r, &t);
  memcpy(p->coord, own, sizeof *own * (size_t)p->ncoords);
  printer_drop(p, 1);
}

/* A block does all of its columns. */
static void whole_columns(GridReduce *r, Kernel *k) {
  const GridColumnsSchedule *s = &r->s;
  Text *x = r->c.p.level[1];
  const char *I = r->c.g->index, *rows = all_rows(r);
  place(r, k);
  share(r, s->depth);
  const char *so_far = before(r);
  if (s->chunks == 1) {
    declare(r, x);
    elements(r, "0", rows, s->rows);
    leave(r);
    results(r, alone(r, so_far));
  } else {
    text_line(x, "%s total = %s;", r->T, so_far ? so_far : r->start);
    text_open(x, "for (%s r0 = 0; r0 < %s; r0 += %d) {", I, rows, COL_CHUNK);
    text_line(x, "const %s e = smaller(r0 + %d, %s);", I, COL_CHUNK, rows);
    declare(r, x);
    elements(r, "r0", "e", COL_CHUNK);
    text_line(x, "total = %s;", reduce_step(r->c.g, r->root->kind, "total", "acc"));
    text_close(x, "}");
    leave(r);
    results(r, "total");
  }
  finish(r, k);
}

/* A block does one chunk of its columns. */
static void chunks(GridReduce *r, Kernel *k) {
  const GridColumnsSchedule *s = &r->s;
  Text *x = r->c.p.level[1];
  const char *I = r->c.g->index, *rows = all_rows(r);
  place(r, k);
  share(r, s->depth);
  text_line(x, "const %s chunk = (%s)blockIdx.x / %lld, r0 = chunk * %d;", I, I,
            (long long)s->column_blocks, COL_CHUNK);
  if (rows_bounded(r)) text_line(x, "if (r0 >= %s) return;", rows);
  text_line(x, "const %s e = smaller(r0 + %d, %s);", I, COL_CHUNK, rows);
  declare(r, x);
  elements(r, "r0", "e", COL_CHUNK);
  leave(r);
  text_line(x, "((%s *)scratch)[chunk * %lld + u] = acc;", r->T, (long long)s->columns);
  finish(r, k);
}

/* The total of a column from the partial results of its chunks, in order. */
static void combine(GridReduce *r, Kernel *k) {
  const GridColumnsSchedule *s = &r->s;
  Text *x = r->c.p.level[1];
  place(r, k);
  share(r, s->parts);
  const char *so_far = before(r);
  text_line(x, "%s acc = %s;", r->T, so_far ? so_far : r->start);
  ColumnTile t = {.depth = s->parts,
                  .most = s->chunks,
                  .rows = s->chunks,
                  .from = "0",
                  .to = rows_bounded(r) ? text_ceil_div(r->c.g->a, r->rows, COL_CHUNK)
                                        : number(r, s->chunks),
                  .ends = rows_bounded(r),
                  .fill = arena_printf(r->c.g->a, "((const %s *)scratch)[r * %lld + j]", r->T,
                                       (long long)s->columns),
                  .before = text_new(r->c.g->a, 0),
                  .unroll = 16};
  tile(r, &t);
  leave(r);
  results(r, "acc");
  finish(r, k);
}

void cuda_reduce(Gen *g, const Group *gr) {
  Kernel *k = cuda_kernel(g, gr);
  GridReduce r = reduce_of(g, gr);
  kernel_schedule(k, &grid_columns_kind, &r.s, sizeof r.s);
  k->flops = (uint64_t)group_work(gr);
  k->block = r.s.threads;
  k->grid = r.s.blocks;
  if (!r.s.tiled) {
    a_thread(&r, k);
  } else if (!r.s.split) {
    whole_columns(&r, k);
  } else {
    chunks(&r, k);
    k = cuda_kernel_next(g, gr, "combine");
    k->block = r.s.threads;
    k->grid = r.s.combine_blocks;
    kernel_schedule(k, &grid_columns_kind, &r.s, sizeof r.s);
    GridReduce again = reduce_of(g, gr);
    again.s.width = r.s.combine_width;
    again.s.column_blocks = r.s.combine_blocks;
    combine(&again, k);
  }
}
