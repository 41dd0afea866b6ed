/* Kernels of reductions by tiles: a block evaluates tiles of a few columns into shared memory,
   neighbouring threads neighbouring elements, and one of its threads combines each column in order.
   Of few columns a block does one chunk of 256, and the last block of some columns combines the
   chunks, or a second launch. Contract: see reduce.c; a block reads of operands that results lie
   over its own columns alone, before its last barrier. */
#include "codegen/gpu/reduce.h"

/* Some columns of a block lie behind the last one. */
static bool ragged(const GridReduce *r) {
  return r->s.columns % r->s.width != 0 || columns_bounded(r);
}

/* The last column of all. */
static const char *last_column(const GridReduce *r) {
  return columns_bounded(r) ? arena_printf(r->c.g->a, "%s - 1", r->columns)
                            : cuda_reduce_position(r, r->s.columns - 1);
}

static const char *all_rows(const GridReduce *r) {
  return rows_bounded(r) ? r->rows : cuda_reduce_position(r, r->s.rows);
}

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
}

static void decode(GridReduce *r) {
  if (r->nkept) printer_decode(&r->c.p, r->kept, r->nkept, "u", "i", 1);
}

/* Whether the thread has a column that others have, too, or one behind the last one. */
static const char *has_none(const GridReduce *r) {
  Arena *a = r->c.g->a;
  const GridColumnsSchedule *s = &r->s;
  const char *other = arena_printf(a, "(int)threadIdx.x >= %d", s->width);
  if (columns_bounded(r)) return arena_printf(a, "%s || own >= %s", other, r->columns);
  return ragged(r) ? arena_printf(a, "%s || own >= %lld", other, (long long)s->columns) : other;
}

/* One thread a column goes on, with the epilogue. */
static void leave(GridReduce *r) {
  Text *x = r->c.p.level[1];
  if (r->so_far && may_be_empty(r)) /* where no tile has had the threads wait for one another */
    text_line(x, "block_sync();");
  text_line(x, "if (%s) return;", has_none(r));
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
  cuda_reduce_step(r, x, arena_printf(r->c.g->a, "part[h * %d + (int)threadIdx.x]", stride));
  text_close(x, "}");
  text_close(x, "}");
  if (!once || t->again) text_line(x, "block_sync();");
  if (!once) text_close(x, "}");
}

static void share(const GridReduce *r, Text *x, int depth) {
  text_line(x, "__shared__ %s part[%d];", r->T, depth * grid_tile_stride(r->s.width));
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
  const char *value = cuda_reduce_element(r);
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

void cuda_reduce_whole(GridReduce *r, Kernel *k) {
  const GridColumnsSchedule *s = &r->s;
  Text *x = r->c.p.level[1];
  const char *I = r->c.g->index, *rows = all_rows(r);
  place(r, k);
  decode(r);
  share(r, x, s->depth);
  const char *so_far = cuda_reduce_before(r);
  if (s->chunks == 1) {
    cuda_reduce_declare(r, x);
    elements(r, "0", rows, s->rows);
    leave(r);
    cuda_reduce_results(r, cuda_reduce_alone(r, so_far));
  } else {
    text_line(x, "%s total = %s;", r->T, so_far ? so_far : r->start);
    text_open(x, "for (%s r0 = 0; r0 < %s; r0 += %d) {", I, rows, COL_CHUNK);
    text_line(x, "const %s e = smaller(r0 + %d, %s);", I, COL_CHUNK, rows);
    cuda_reduce_declare(r, x);
    elements(r, "r0", "e", COL_CHUNK);
    text_line(x, "total = %s;", reduce_step(r->c.g, r->root->kind, "total", "acc"));
    text_close(x, "}");
    leave(r);
    cuda_reduce_results(r, "total");
  }
  cuda_reduce_finish(r, k);
}

void cuda_reduce_by_warps(GridReduce *r, Kernel *k) {
  const GridColumnsSchedule *s = &r->s;
  Gen *g = r->c.g;
  Printer *p = &r->c.p;
  Text *x = p->level[1];
  const char *I = g->index, *rows = all_rows(r);
  const int stride = grid_tile_stride(s->width);
  place(r, k);
  decode(r);
  share(r, x, s->warps);
  text_line(x, "const int lane = (int)threadIdx.x %% %d, warp = (int)threadIdx.x / %d;", WARP,
            WARP);
  const char *so_far = cuda_reduce_before(r);
  text_line(x, "%s total = %s;", r->T, so_far ? so_far : r->start);
  /* in front of the loop, since results may read what a column has for all of its rows, too */
  printer_drop(p, 2);
  *p->level[2] = text_new(g->a, x->indent + 2);
  cuda_reduce_step(r, p->level[2], cuda_reduce_element(r));
  text_open(x, "for (%s r0 = 0; r0 < %s; r0 += %d) {", I, rows, s->warps * COL_CHUNK);
  text_line(x, "const %s b = r0 + warp * %d, e = smaller(b + %d, %s);", I, COL_CHUNK, COL_CHUNK,
            rows);
  cuda_reduce_declare(r, x);
  text_line(x, "#pragma unroll %d", cuda_unroll(r->c.gr, 16));
  text_open(x, "for (%s r = b; r < e; r++) {", I);
  text_append(x, p->level[2]);
  text_close(x, "}");
  printer_drop(p, 2);
  text_line(x, "part[warp * %d + lane] = acc;", stride);
  text_line(x, "block_sync();");
  /* of warps that had no rows the identity, which changes nothing */
  text_open(x, "for (int w = 0; warp == 0 && w < %d; w++) {", s->warps);
  const char *v = arena_printf(g->a, "v%d", g->names++);
  text_line(x, "const %s %s = part[w * %d + lane];", r->T, v, stride);
  text_line(x, "total = %s;", reduce_step(g, r->root->kind, "total", v));
  text_close(x, "}");
  text_line(x, "block_sync();");
  text_close(x, "}");
  leave(r);
  cuda_reduce_results(r, "total");
  cuda_reduce_finish(r, k);
}

/* Chunks of a column of this run. */
static const char *all_chunks(const GridReduce *r) {
  return rows_bounded(r) ? text_ceil_div(r->c.g->a, r->rows, COL_CHUNK)
                         : cuda_reduce_position(r, r->s.chunks);
}

void cuda_reduce_chunks(GridReduce *r, Kernel *k) {
  const GridColumnsSchedule *s = &r->s;
  Text *x = r->c.p.level[1];
  const char *I = r->c.g->index, *rows = all_rows(r);
  place(r, k);
  share(r, &k->text, s->depth);
  text_line(&k->text, "const %s chunk = (%s)blockIdx.x / %lld, r0 = chunk * %d;", I, I,
            (long long)s->column_blocks, COL_CHUNK);
  if (rows_bounded(r)) /* of no rows the first block has the result */
    text_line(&k->text, s->ends ? "if (chunk && r0 >= %s) return;" : "if (r0 >= %s) return;", rows);
  text_line(&k->text, "const %s e = smaller(r0 + %d, %s);", I, COL_CHUNK, rows);
  text_open(&k->text, "{");
  for (int i = 0; i < 2; i++) r->c.p.level[i]->indent++;
  decode(r);
  cuda_reduce_declare(r, x);
  elements(r, "r0", "e", COL_CHUNK);
  text_line(x, "if (!(%s)) ((%s *)scratch)[chunk * %lld + u] = acc;", has_none(r), r->T,
            (long long)s->columns);
  cuda_reduce_finish(r, k);
  text_close(&k->text, "}");
}

void cuda_reduce_ends(GridReduce *r, Kernel *k) {
  const GridColumnsSchedule *s = &r->s;
  Arena *a = r->c.g->a;
  const char *all = all_chunks(r), *column = "0";
  if (rows_bounded(r)) all = arena_printf(a, "%s > 0 ? %s : 1", r->rows, all);
  if (s->column_blocks > 1)
    column = arena_printf(a, "blockIdx.x %% %lldu", (long long)s->column_blocks);
  cuda_leave_but_last(k, s->column_blocks, column, all);
}

void cuda_reduce_combine(GridReduce *r, Kernel *k) {
  const GridColumnsSchedule *s = &r->s;
  Text *x = r->c.p.level[1];
  const int depth = s->ends && s->depth < s->parts ? s->depth : s->parts;
  if (!s->ends) {
    place(r, k);
    share(r, x, depth);
  }
  decode(r);
  const char *so_far = cuda_reduce_before(r);
  text_line(x, "%s acc = %s;", r->T, so_far ? so_far : r->start);
  ColumnTile t = {.depth = depth,
                  .most = s->chunks,
                  .rows = s->chunks,
                  .from = "0",
                  .to = all_chunks(r),
                  .ends = rows_bounded(r),
                  .fill = arena_printf(r->c.g->a, "((const %s *)scratch)[r * %lld + j]", r->T,
                                       (long long)s->columns),
                  .before = text_new(r->c.g->a, 0),
                  .unroll = 16};
  tile(r, &t);
  leave(r);
  cuda_reduce_results(r, "acc");
  cuda_reduce_finish(r, k);
}
