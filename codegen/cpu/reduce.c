/* Reductions over axes that are not the last: a block of 64 kept elements side by side, the reduced
   axes walked in order outside of it, then the epilogue on the block.
   Contract: every sum is taken in order of the reduced axes, in chunks of 256 that are added in
   order: the bits depend on the shape alone. Results have the kept shape and may lie over operands
   of it. */
#include "codegen/cpu/cpu.h"
#include "codegen/reduction.h"

enum { BLOCK = 64 };

uint64_t cpu_reduce_scratch(const Group *gr) {
  (void)gr;
  return 0;
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
static void split(Cols *c, Kernel *k, int64_t rows, int64_t cols) {
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

void cpu_reduce(Gen *g, const Group *gr) {
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  Cols c = {.g = g, .gr = gr};
  c.p = printer_new(g, gr, 4, 1);
  Printer *p = &c.p;
  cols_axes(&c);
  const Op *root = gr->root;
  ValueId x = root->operands[0], y = root->results[0];
  Dtype dt = value_type(gr->e, x)->dtype;
  bool arg = root->kind == OP_ARGMAX || root->kind == OP_ARGMIN;
  Leaves leaves = {0};
  leaves_of(p, x, printer_identity(p, x), &leaves);
  for (int i = 0; i < gr->nout; i++) leaves_result(p, i, cols_map(&c, gr->yield[i]), &leaves);
  Loop *kept = ARENA_ARRAY(g->a, Loop, c.nkept + 1), *gone = ARENA_ARRAY(g->a, Loop, c.ngone + 1);
  int nkept = loops_over(p, &leaves, c.kept, c.nkept, kept);
  int ngone = loops_over(p, &leaves, c.gone, c.ngone, gone);
  int64_t cols = nkept ? kept[nkept - 1].n : 1, rows = loops_count(gone, ngone);
  int64_t outer = nkept ? loops_count(kept, nkept - 1) : 1, blocks = (cols + BLOCK - 1) / BLOCK;
  int64_t units = outer * blocks, work = group_work(gr);
  k->flops = (uint64_t)work;
  kernel_units(k, work < SERIAL_WORK ? 1 : units);
  if (k->units > 1 && outer == 1 && ngone <= 1 && cols % BLOCK == 0) split(&c, k, rows, cols);

  /* positions: u is the unit, r counts reduced elements, j = j0 + l the column */
  Text *unit = p->level[1], *row = p->level[2], *cell = p->level[3];
  if (nkept) p->coord[kept[nkept - 1].coord] = (Coord){cols, "j", 3};
  if (nkept > 1) {
    const char *o = "u";
    if (blocks > 1) {
      text_line(unit, "const long o = u / %lld;", (long long)blocks);
      o = "o";
    }
    printer_decode(p, kept, nkept - 1, o, "i", 1);
  }
  if (blocks > 1) {
    text_line(unit, "const long j0 = u %% %lld * %d;", (long long)blocks, BLOCK);
    if (cols % BLOCK)
      text_line(unit, "const int w = %lld - j0 < %d ? (int)(%lld - j0) : %d;", (long long)cols,
                BLOCK, (long long)cols, BLOCK);
    else
      text_line(unit, "enum { w = %d };", BLOCK);
  } else {
    text_line(unit, "enum { j0 = 0, w = %lld };", (long long)cols);
  }
  const char *T = dtype_compute(dt), *start = reduce_start(g, root->kind, dt);
  int width = blocks > 1 ? BLOCK : (int)cols;
  bool chunks = root->kind == OP_SUM && dtype_is_float(dt) && rows > COL_CHUNK;
  if (ngone) printer_decode(p, gone, ngone, "r", "k", 2);
  Printed v = printer_value(p, x, printer_identity(p, x));
  const char *value = v.text;
  text_line(unit, "%s acc[%d];", T, width > 0 ? width : 1);
  if (arg) {
    text_line(unit, "int32_t at[%d];", width > 0 ? width : 1);
    text_line(cell, "if (r == 0 || (%s)) {", reduce_beats(g, root->kind, dt, value, "acc[l]"));
    text_line(cell, "  acc[l] = %s;", value);
    text_line(cell, "  at[l] = (int32_t)r;");
    text_line(cell, "}");
  } else {
    text_line(cell, "acc[l] = %s;", reduce_step(g, root->kind, "acc[l]", value));
    text_line(unit, "for (int l = 0; l < w; l++) acc[l] = %s;", start);
  }
  if (chunks) {
    text_line(unit, "%s total[%d];", T, width);
    text_line(unit, "for (int l = 0; l < w; l++) total[l] = 0;");
    text_open(unit, "for (long r0 = 0; r0 < %lld; r0 += %d) {", (long long)rows, COL_CHUNK);
    text_line(unit, "const long r1 = %lld - r0 < %d ? %lld : r0 + %d;", (long long)rows, COL_CHUNK,
              (long long)rows, COL_CHUNK);
    text_open(unit, "for (long r = r0; r < r1; r++) {");
  } else {
    text_open(unit, "for (long r = 0; r < %lld; r++) {", (long long)rows);
  }
  text_append(unit, row);
  if (!arg) text_line(unit, "GC_IVDEP");
  text_open(unit, "for (int l = 0; l < w; l++) {");
  text_line(unit, "const long j = j0 + l;");
  text_append(unit, cell);
  text_close(unit, "}");
  text_close(unit, "}");
  if (chunks) {
    text_open(unit, "for (int l = 0; l < w; l++) {");
    text_line(unit, "total[l] += acc[l];");
    text_line(unit, "acc[l] = 0;");
    text_close(unit, "}");
    text_close(unit, "}");
  }
  /* the epilogue, where the reduction's value is a name */
  printer_drop(p, 2);
  *cell = text_new(g->a, 3);
  const char *sum = arg ? "at[l]" : chunks ? "total[l]" : "acc[l]";
  Dtype ydt = value_type(gr->e, y)->dtype;
  text_line(cell, "const %s sum = %s;", dtype_compute(ydt), scalar_round_text(g->a, ydt, sum));
  vec_push(g->a, &p->terms, (Term){root, ROLE_VALUE, "sum", 3});
  for (int step = 0; step < 2; step++)
    for (int i = 0; i < gr->nout; i++) {
      const Axis *map = cols_map(&c, gr->yield[i]);
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
  text_append(&k->text, p->level[0]);
  if (k->units > 1)
    text_line(&k->text, "for (long u = u0; u < u1; u++) {");
  else
    text_line(&k->text, "for (long u = 0; u < %lld; u++) {", (long long)units);
  text_append(&k->text, unit);
  text_line(&k->text, "}");
}
