/* Reductions over axes that are not the last: a block of 64 kept elements side by side, the reduced
   axes walked in order outside of it, then the epilogue on the block.
   Contract: every sum is taken in order of the reduced axes, in chunks of 256 that are added in
   order: the bits depend on the shape alone. Sums of images over all pixels have the order of rows
   (rows.c), 64 lanes for each channel. Of few long columns, chunks are summed side by side
   and added in a second launch. Results have the kept shape and may lie over operands of it. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/pixel.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

static bool is_arg(const Op *root) { return root->kind == OP_ARGMAX || root->kind == OP_ARGMIN; }

bool cpu_sums_pixels(const Group *gr) {
  if (!group_sums_images(gr)) return false;
  const Value *x = value_at(gr->e, gr->in[group_arg(gr, gr->root->operands[0])]);
  const Layout *pixels = pixel_layout(gr->e->module->ctx);
  return x->layout && layout_same(x->type, x->layout, pixels) &&
         x->type->dim[2] * x->type->dim[3] <= ROW_CHUNK;
}

/* By the types of the group; columns and what lies around them where loops say which is which. */
static ColumnsShape shape_of(const Group *gr) {
  int64_t kept = value_type(gr->e, gr->root->results[0])->numel;
  Dtype dt = value_type(gr->e, gr->root->operands[0])->dtype;
  return (ColumnsShape){.rows = kept ? gr->domain->numel / kept : 0,
                        .columns = kept,
                        .outer = 1,
                        .work = group_work(gr),
                        .chunked = gr->root->kind == OP_SUM && dtype_is_float(dt) &&
                                   gr->form != FORM_ROWS};
}

uint64_t cpu_reduce_scratch(const Group *gr) {
  ColumnsShape shape = shape_of(gr);
  ColumnsSchedule s = columns_schedule(&shape);
  const Type *kept = value_type(gr->e, gr->root->results[0]);
  if (!s.split) return 0;
  return (uint64_t)(s.chunks * kept->numel) * (kept->dtype == DT_F64 ? 8 : 4);
}

/* The argument is read by element-wise ops alone. */
static bool elementwise(const Group *gr, int arg) {
  for (int j = 0; j < gr->nops; j++)
    for (int o = 0; o < gr->ops[j]->noperands; o++)
      if (gr->ops[j]->operands[o] == gr->arg[arg] &&
          op_info[gr->ops[j]->kind].cls != CLASS_ELEMENT && gr->ops[j] != gr->root)
        return false;
  return true;
}

/* With one loop over kept and one over reduced axes, columns last, a unit owns its columns. */
static void split(ColsPrinter *c, Kernel *k, int64_t rows, int64_t cols) {
  for (int i = 0; i < c->gr->nin + c->gr->nout; i++) {
    bool in = i < c->gr->nin;
    const Value *v = value_at(c->gr->e, in ? c->gr->in[i] : c->gr->out[i - c->gr->nin]);
    const Type *t = v->type;
    if (in && !elementwise(c->gr, i)) continue;
    uint64_t size = (uint64_t)dtype_size(t->dtype), width = (uint64_t)cols * size;
    bool full = t->rank == c->gr->domain->rank && t->numel == c->gr->domain->numel;
    if (full && in && c->kept[c->nkept - 1] == layout_axis(v->layout, t->rank - 1))
      kernel_split_in(k, c->gr, i, rows, width, width);
    else if (cols_is_kept(c, t) && in)
      kernel_split_in(k, c->gr, i, 1, 0, width);
    else if (!in)
      kernel_split_out(k, c->gr, i - c->gr->nin, 1, 0, width);
  }
}

typedef struct Reduce {
  ColsPrinter c;
  Kernel *k;
  const Op *root;
  ValueId before; /* what has been added up so far, or NO_ID */
  Dtype dt;
  const char *T;
  Loop *kept, *reduced;
  int nkept, nreduced;
  ColumnsSchedule s;
  /* at run time: reduced elements, columns, blocks of them, units of all, chunks of rows */
  const char *rows, *columns, *blocks, *units, *chunks;
} Reduce;

static bool is_number(const char *text) { return text[0] >= '0' && text[0] <= '9'; }

static Reduce reduce_of(Gen *g, const Group *gr) {
  Leaves leaves = {0};
  Reduce r = {.c = cols_new(g, gr, 4, &leaves), .root = gr->root, .before = NO_ID};
  Printer *p = &r.c.p;
  r.dt = value_type(gr->e, r.root->operands[0])->dtype;
  r.T = dtype_compute(r.dt);
  if (op_accumulator(r.root) >= 0) {
    r.before = r.root->operands[op_accumulator(r.root)];
    leaves_of(p, r.before, cols_map(&r.c, r.before), &leaves);
  }
  for (int i = 0; i < gr->nout; i++) leaves_result(p, i, cols_map(&r.c, gr->yield[i]), &leaves);
  r.kept = ARENA_ARRAY(g->a, Loop, r.c.nkept + 1);
  r.reduced = ARENA_ARRAY(g->a, Loop, r.c.nreduced + 1);
  r.nkept = loops_over(p, &leaves, r.c.kept, r.c.nkept, r.kept);
  r.nreduced = loops_over(p, &leaves, r.c.reduced, r.c.nreduced, r.reduced);
  ColumnsShape shape = shape_of(gr);
  shape.rows = loops_count(r.reduced, r.nreduced);
  shape.columns = r.nkept ? r.kept[r.nkept - 1].n : 1;
  shape.outer = r.nkept ? loops_count(r.kept, r.nkept - 1) : 1;
  r.s = columns_schedule(&shape);
  r.rows = loops_text(p, r.reduced, r.nreduced);
  r.columns = r.nkept ? loops_text(p, r.kept + r.nkept - 1, 1) : "1";
  r.blocks = is_number(r.columns) ? arena_printf(g->a, "%lld", (long long)r.s.blocks)
                                  : text_ceil_div(g->a, r.columns, r.s.width);
  r.units = text_product(g->a, r.nkept ? loops_text(p, r.kept, r.nkept - 1) : "1", r.blocks);
  if (is_number(r.units)) r.units = arena_printf(g->a, "%lld", (long long)r.s.all_units);
  r.chunks = is_number(r.rows) ? arena_printf(g->a, "%lld", (long long)r.s.chunks)
                               : text_ceil_div(g->a, r.rows, COL_CHUNK);
  return r;
}

/* Positions: u is the unit, r counts reduced elements, j = j0 + l the column. */
static void positions(Reduce *r) {
  Printer *p = &r->c.p;
  Text *unit = p->level[1];
  if (r->nkept) p->coord[r->kept[r->nkept - 1].coord] = (Coord){r->s.columns, "j", 3, NULL};
  if (r->nkept > 1) {
    const char *o = "u";
    if (r->s.blocks > 1) {
      text_line(unit, "const long o = u / %s;", r->blocks);
      o = "o";
    }
    printer_decode(p, r->kept, r->nkept - 1, o, "i", 1);
  }
  if (r->s.blocks > 1) {
    int width = r->s.width;
    text_line(unit, "const long j0 = u %% %s * %d;", r->blocks, width);
    if (r->s.columns % width || !is_number(r->columns))
      text_line(unit, "const int w = %s - j0 < %d ? (int)(%s - j0) : %d;", r->columns, width,
                r->columns, width);
    else
      text_line(unit, "enum { w = %d };", width);
  } else {
    text_line(unit,
              is_number(r->columns) ? "enum { j0 = 0, w = %s };" : "const long j0 = 0, w = %s;",
              r->columns);
  }
}

/* Opens loops over rows [from, to) of reduced axes, of which an inner one is bounded; gives their
   number. Each outer iteration takes a run along the innermost axis: its rows lie evenly, so only a
   run divides by the extent, and the loop over columns becomes vectors. */
static int open_runs(Reduce *r, const char *from, const char *to) {
  Printer *p = &r->c.p;
  Text *unit = p->level[1], *row = p->level[2];
  int outer = r->nreduced - 1;
  const char *inner = loops_text(p, r->reduced + outer, 1);
  text_open(unit, "for (long first = %s, last; first < %s; first = last) {", from, to);
  text_line(unit, "const long run = first / %s, base = run * %s;", inner, inner);
  text_line(unit, "last = %s - base < %s ? %s : base + %s;", to, inner, to, inner);
  printer_decode(p, r->reduced, outer, "run", "k", 2);
  text_append(unit, row);
  *row = text_new(r->c.g->a, 2);
  text_open(unit, "for (long r = first; r < last; r++) {");
  text_line(unit, "const long k = r - base;");
  Coord *c = &p->coord[r->reduced[outer].coord];
  c->text = "k";
  c->level = 2;
  return 2;
}

static int open_rows(Reduce *r, const char *from, const char *to) {
  for (int k = 1; k < r->nreduced; k++)
    if (r->reduced[k].extent) return open_runs(r, from, to);
  if (r->nreduced) printer_decode(&r->c.p, r->reduced, r->nreduced, "r", "k", 2);
  text_open(r->c.p.level[1], "for (long r = %s; r < %s; r++) {", from, to);
  return 1;
}

/* The loop over rows [from, to), added to `acc`, "acc[l]" or another place of column l. */
static void accumulate(Reduce *r, const char *acc, const char *from, const char *to) {
  Gen *g = r->c.g;
  Printer *p = &r->c.p;
  ValueId x = r->root->operands[0];
  OpKind kind = r->root->kind;
  Text *unit = p->level[1], *row = p->level[2], *cell = p->level[3];
  bool arg = is_arg(r->root);
  int loops = open_rows(r, from, to);
  const char *value = printer_value(p, x, printer_identity(p, x)).text;
  if (arg) {
    text_open(cell, "if (r == 0 || (%s)) {", reduce_beats(g, kind, r->dt, value, "acc[l]"));
    text_line(cell, "acc[l] = %s;", value);
    text_line(cell, "at[l] = (int32_t)r;");
    text_close(cell, "}");
  } else {
    text_line(cell, "%s = %s;", acc, reduce_step(g, kind, acc, value));
  }
  text_append(unit, row);
  if (!arg) text_line(unit, "GC_IVDEP");
  text_open(unit, "for (int l = 0; l < w; l++) {");
  text_line(unit, "const long j = j0 + l;");
  text_append(unit, cell);
  text_close(unit, "}");
  while (loops-- > 0) text_close(unit, "}");
}

static void print_start(Reduce *r, const char *name, const char *start) {
  text_line(r->c.p.level[1], "GC_LANES %s %s[%d];", r->T, name, r->s.width);
  text_line(r->c.p.level[1], "for (int l = 0; l < w; l++) %s[l] = %s;", name, start);
}

/* total: what has been added up so far. */
static void print_total(Reduce *r) {
  const char *start = reduce_start(r->c.g, r->root->kind, r->dt, r->s.rows);
  if (r->before == NO_ID) {
    print_start(r, "total", start);
    return;
  }
  Printer *p = &r->c.p;
  Text *unit = p->level[1], *cell = p->level[3];
  const char *before = printer_value(p, r->before, cols_map(&r->c, r->before)).text;
  text_line(cell, "total[l] = %s;", before);
  text_line(unit, "GC_LANES %s total[%d];", r->T, r->s.width);
  text_open(unit, "for (int l = 0; l < w; l++) {");
  text_line(unit, "const long j = j0 + l;");
  text_append(unit, cell);
  text_close(unit, "}");
  printer_drop(p, 2);
  *cell = text_new(r->c.g->a, 3);
}

/* The order of a row's sum: row r of a column goes to lane r % LANES, and the lanes are added in a
   tree. */
static const char *print_lanes(Reduce *r, const char *start) {
  Gen *g = r->c.g;
  Text *unit = r->c.p.level[1];
  int width = r->s.width, size = r->dt == DT_F64 ? 8 : 4;
  kernel_buffer(g, r->k, unit, r->T, size, "lane", LANES * width);
  text_line(unit, "for (int l = 0; l < %d; l++) lane[l] = %s;", LANES * width, start);
  accumulate(r, arena_printf(g->a, "lane[(r & %d) * %d + l]", LANES - 1, width), "0", r->rows);
  text_line(unit, "for (int h = %d; h >= %d; h /= 2)", LANES / 2 * width, width);
  text_line(unit, "  for (int l = 0; l < h; l++) lane[l] = %s;",
            reduce_step(g, r->root->kind, "lane[l]", "lane[l + h]"));
  return "lane[l]";
}

/* The whole of a block's columns; gives the name of their totals. */
static const char *print_sums(Reduce *r) {
  Text *unit = r->c.p.level[1];
  const char *rows = r->rows;
  if (is_arg(r->root)) {
    text_line(unit, "GC_LANES %s acc[%d];", r->T, r->s.width);
    text_line(unit, "GC_LANES int32_t at[%d];", r->s.width);
    accumulate(r, "acc[l]", "0", rows);
    return "at[l]";
  }
  const char *start = reduce_start(r->c.g, r->root->kind, r->dt, r->s.rows);
  if (r->c.gr->form == FORM_ROWS && r->s.rows >= LANES) return print_lanes(r, start);
  print_start(r, "acc", start);
  bool chunks = r->s.chunks > 1;
  if (chunks || r->before != NO_ID) print_total(r);
  if (!chunks) {
    accumulate(r, "acc[l]", "0", rows);
    if (r->before == NO_ID) return "acc[l]";
    return r->s.rows ? "total[l] + acc[l]" : "total[l]";
  }
  text_open(unit, "for (long r0 = 0; r0 < %s; r0 += %d) {", rows, COL_CHUNK);
  text_line(unit, "const long r1 = %s - r0 < %d ? %s : r0 + %d;", rows, COL_CHUNK, rows, COL_CHUNK);
  accumulate(r, "acc[l]", "r0", "r1");
  text_open(unit, "for (int l = 0; l < w; l++) {");
  text_line(unit, "total[l] += acc[l];");
  text_line(unit, "acc[l] = %s;", start);
  text_close(unit, "}");
  text_close(unit, "}");
  return "total[l]";
}

/* The epilogue, where the reduction's value is a name. */
static void print_results(Reduce *r, const char *sum) {
  Gen *g = r->c.g;
  const Group *gr = r->c.gr;
  Printer *p = &r->c.p;
  Text *unit = p->level[1], *cell = p->level[3];
  printer_drop(p, 2);
  *cell = text_new(g->a, 3);
  Dtype ydt = value_type(gr->e, r->root->results[0])->dtype;
  text_line(cell, "const %s sum = %s;", dtype_compute(ydt), scalar_round_text(g->a, ydt, sum));
  vec_push(g->a, &p->terms, (Term){r->root, ROLE_VALUE, "sum", 3});
  for (int step = 0; step < 2; step++)
    for (int i = 0; i < gr->nout; i++) {
      const Axis *map = cols_map(&r->c, gr->yield[i]);
      if (step)
        printer_store(p, i, map, 3);
      else
        printer_value(p, gr->yield[i], map);
    }
  text_line(unit, "GC_IVDEP");
  text_open(unit, "for (int l = 0; l < w; l++) {");
  text_line(unit, "const long j = j0 + l;");
  text_append(unit, cell);
  text_close(unit, "}");
}

static void finish(Reduce *r, Kernel *k, const char *from, const char *to) {
  text_append(&k->text, r->c.p.level[0]);
  text_open(&k->text, "for (long u = %s; u < %s; u++) {", from, to);
  text_append(&k->text, r->c.p.level[1]);
  text_close(&k->text, "}");
}

static void print_blocks(Reduce *r) {
  text_line(r->c.p.level[1],
            is_number(r->blocks) ? "enum { blocks = %s };" : "const long blocks = %s;", r->blocks);
}

/* Chunks of rows side by side, then their sums in order: the same as in one go. */
static void print_split(Reduce *r, Kernel *k) {
  Gen *g = r->c.g;
  const Group *gr = r->c.gr;
  const char *units = r->units;
  const char *at = arena_printf(g->a, "%s * %lld + j0", r->s.blocks > 1 ? "(u / blocks)" : "u",
                                (long long)r->s.columns);
  const char *all = text_product(g->a, r->chunks, units);
  kernel_units_of(k, r->s.units, is_number(r->chunks) && is_number(units) ? "1" : all);
  Text *unit = r->c.p.level[1];
  text_line(unit, "const long h = v / %s, u = v %% %s, r0 = h * %d;", units, units, COL_CHUNK);
  print_blocks(r);
  positions(r);
  print_start(r, "acc", reduce_start(g, r->root->kind, r->dt, r->s.rows));
  text_line(unit, "const long r1 = %s - r0 < %d ? %s : r0 + %d;", r->rows, COL_CHUNK, r->rows,
            COL_CHUNK);
  accumulate(r, "acc[l]", "r0", "r1");
  text_line(unit, "%s *part = (%s *)scratch + h * %lld + %s;", r->T, r->T,
            (long long)(r->s.outer * r->s.columns), at);
  text_line(unit, "for (int l = 0; l < w; l++) part[l] = acc[l];");
  text_append(&k->text, r->c.p.level[0]);
  text_open(&k->text, "for (long v = u0; v < u1; v++) {");
  text_append(&k->text, unit);
  text_close(&k->text, "}");

  k = kernel_next(g, gr, "combine");
  kernel_args(g, k, gr);
  bool shared = r->s.chunks * r->s.columns * r->s.outer >= SERIAL_WORK;
  kernel_units_of(k, shared ? r->s.all_units : 1, units);
  *r = reduce_of(g, gr);
  unit = r->c.p.level[1];
  print_blocks(r);
  positions(r);
  print_total(r);
  text_open(unit, "for (long h = 0; h < %s; h++) {", r->chunks);
  text_line(unit, "const %s *part = (const %s *)scratch + h * %lld + %s;", r->T, r->T,
            (long long)(r->s.outer * r->s.columns), at);
  text_line(unit, "for (int l = 0; l < w; l++) total[l] += part[l];");
  text_close(unit, "}");
  print_results(r, "total[l]");
  finish(r, k, k->units > 1 ? "u0" : "0", k->units > 1 ? "u1" : r->units);
  kernel_touched(k, gr);
}

void cpu_reduce(Gen *g, const Group *gr) {
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  Reduce r = reduce_of(g, gr);
  r.k = k;
  k->flops = (uint64_t)group_work(gr);
  kernel_schedule(k, &columns_kind, &r.s, sizeof r.s);
  if (r.s.split) {
    print_split(&r, k);
    return;
  }
  kernel_units_of(k, r.s.units, r.units);
  if (k->units > 1 && r.s.outer == 1 && r.nreduced <= 1 && r.s.columns % r.s.width == 0)
    split(&r.c, k, r.s.rows, r.s.columns);
  positions(&r);
  print_results(&r, print_sums(&r));
  finish(&r, k, k->units > 1 ? "u0" : "0", k->units > 1 ? "u1" : r.units);
}
