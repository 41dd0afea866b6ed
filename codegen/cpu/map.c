/* Element-wise kernels: loops over the domain, as few as the operands' strides allow, the innermost
   one left to the C compiler's vectoriser. Functions of arrays (calls.h) have loops over a block of
   elements for their arguments, which come before the block's stores, too.
   Contract: every yield has the domain's shape; loads of an element come before its stores, so an
   output may lie in the bytes of an input. Values in panels are walked over their storage. */
#include "codegen/schedule/map.h"
#include "codegen/cpu/calls.h"
#include "codegen/program/extent.h"

enum {
  BLOCK = MAP_BLOCK,
  LEAST_OF_ARRAY = 16 /* elements: of fewer there are few vectors to compute side by side */
};

/* Elements of the storage if the values lie in panels, else 0. */
static int64_t panel_elements(const Group *gr) {
  for (int i = 0; i < gr->nout; i++) {
    const Value *v = value_at(gr->e, gr->out[i]);
    uint64_t bytes;
    if (v->layout && v->layout->nr && layout_bytes(v->type, v->layout, &bytes))
      return (int64_t)bytes / dtype_size(v->type->dtype);
  }
  return 0;
}

static bool full(const Group *gr, ValueId v) {
  const Type *t = value_type(gr->e, v);
  bool same = t->rank == gr->domain->rank;
  for (int i = 0; same && i < t->rank; i++) same = t->dim[i] == gr->domain->dim[i];
  return same;
}

/* A member reads elements that another one computes at other places, as those of a reversed value.
 */
static bool reads_elsewhere(const Group *gr) {
  for (int i = 0; i < gr->nops; i++) {
    const Op *op = gr->ops[i];
    const ValueId of = op_info[op->kind].cls == CLASS_VIEW ? op->operands[0] : NO_ID;
    const Op *def = of == NO_ID || group_arg(gr, of) >= 0 ? NULL : value_def(gr->e, of);
    if (def && op_info[def->kind].cls == CLASS_ELEMENT && full(gr, of)) return true;
  }
  return false;
}

/* The argument is read by element-wise ops alone: position by position. */
static bool read_in_place(const Group *gr, int arg) {
  if (reads_elsewhere(gr)) return false;
  for (int i = 0; i < gr->nops; i++)
    for (int k = 0; k < gr->ops[i]->noperands; k++)
      if (gr->ops[i]->operands[k] == gr->arg[arg] && op_info[gr->ops[i]->kind].cls != CLASS_ELEMENT)
        return false;
  return full(gr, gr->in[arg]);
}

const Layout *cpu_domain_layout(const Group *gr) {
  return gr->nout ? value_at(gr->e, gr->out[0])->layout : NULL;
}

void cpu_split_full(Kernel *k, const Group *gr, const Layout *l, int64_t rows, int64_t stride,
                    int64_t width) {
  for (int i = 0; i < gr->nin + gr->nout; i++) {
    ValueId v = i < gr->nin ? gr->in[i] : gr->out[i - gr->nin];
    if (i < gr->nin ? !read_in_place(gr, i) : !full(gr, v)) continue;
    if (!layout_same(gr->domain, l, value_at(gr->e, v)->layout)) continue;
    uint64_t size = (uint64_t)dtype_size(value_type(gr->e, v)->dtype);
    if (i < gr->nin)
      kernel_split_in(k, gr, i, rows, (uint64_t)stride * size, (uint64_t)width * size);
    else
      kernel_split_out(k, gr, i - gr->nin, rows, (uint64_t)stride * size, (uint64_t)width * size);
  }
}

static void stores(Printer *p, int level) {
  for (int i = 0; i < p->gr->nout; i++)
    printer_value(p, p->gr->yield[i], printer_identity(p, p->gr->yield[i]));
  for (int i = 0; i < p->gr->nout; i++)
    printer_store(p, i, printer_identity(p, p->gr->yield[i]), level);
}

/* `for (long i = lo; i < hi; i++) { … }` around the text of a level, into the level above it. */
static void loop(Printer *p, Text *into, int level, const char *var, const char *lo,
                 const char *hi) {
  if (level == p->nlevels - 1) text_line(into, "GC_IVDEP");
  text_open(into, "for (long %s = %s; %s < %s; %s++) {", var, lo, var, hi, var);
  text_append(into, p->level[level]);
  text_close(into, "}");
}

/* Those of a round's calls of a block, and the calls. */
static void arguments(Printer *p, Text *into, int level, const char *var, const Calls *c,
                      int round) {
  const Group *gr = p->gr;
  int k = calls_before(c, gr, round);
  for (int i = 0; i < gr->nops; i++) {
    if (c->round[i] != round) continue;
    const ValueId v = gr->ops[i]->operands[0];
    const char *x = printer_value(p, v, printer_identity(p, v)).text;
    text_line(p->level[level], "array%d[%s - some0] = %s;", k++, var, x);
  }
  loop(p, into, level, var, "some0", "some0 + some");
  calls_print(into, gr, c, round, "some");
}

/* Begins the text of the innermost loop, where results of earlier rounds are known. */
static void start_inner(Printer *p, int level, const char *var, const Calls *c, int round) {
  Arena *a = p->g->a;
  printer_drop(p, level);
  *p->level[level] = text_new(a, level + 2);
  int k = 0;
  for (int before = 0; before < round; before++)
    for (int i = 0; i < p->gr->nops; i++) {
      if (c->round[i] != before) continue;
      const ValueId v = p->gr->ops[i]->results[0];
      const char *name = arena_printf(a, "v%d", p->g->names++);
      const char *x = arena_printf(a, "array%d[%s - some0]", k++, var);
      text_line(p->level[level], "const f32 %s = %s;", name,
                scalar_round_text(a, value_type(p->gr->e, v)->dtype, x));
      printer_bind(p, v, printer_identity(p, v), (Printed){name, level});
    }
}

/* The loop over the elements lo to hi, n at most, with their stores; what does not depend on them
   goes to outer levels. */
static Text elements(Printer *p, int level, const char *var, const char *lo, const char *hi,
                     int64_t n) {
  Text x = text_new(p->g->a, level);
  const Calls c = n >= LEAST_OF_ARRAY ? calls_of(p->g, p->gr) : (Calls){0};
  if (!c.n) {
    stores(p, level);
    loop(p, &x, level, var, lo, hi);
    return x;
  }
  for (int i = 0; i < c.n; i++) text_line(&x, "GC_LANES f32 array%d[%d];", i, BLOCK);
  text_open(&x, "for (long some0 = %s, some; some0 < %s; some0 += some) {", lo, hi);
  text_line(&x, "some = %s - some0 < %d ? %s - some0 : %d;", hi, BLOCK, hi, BLOCK);
  for (int round = 0; round <= c.rounds; round++) {
    start_inner(p, level, var, &c, round);
    if (round < c.rounds) arguments(p, &x, level, var, &c, round);
  }
  stores(p, level);
  loop(p, &x, level, var, "some0", "some0 + some");
  text_close(&x, "}");
  return x;
}

/* The axes in the order of the loops: that of the results' storage. Where an argument lies in
   another order, and few elements lie side by side in the results', its fastest axis goes
   innermost; false then: the loops do not follow the storage. */
static bool axes_in_order(const Group *gr, int *axes) {
  enum { SHORT = 16 };
  const Type *t = gr->domain;
  const Layout *l = value_at(gr->e, gr->out[0])->layout;
  for (int i = 0; i < t->rank; i++) axes[i] = layout_axis(l, i);
  if (t->rank < 2 || t->dim[axes[t->rank - 1]] >= SHORT) return true;
  for (int i = 0; i < gr->nin; i++) {
    if (!full(gr, gr->in[i]) || layout_same(t, l, value_at(gr->e, gr->in[i])->layout)) continue;
    int last = layout_axis(value_at(gr->e, gr->in[i])->layout, t->rank - 1), k = 0;
    if (t->dim[last] < SHORT) continue;
    while (axes[k] != last) k++;
    for (; k + 1 < t->rank; k++) axes[k] = axes[k + 1];
    axes[k] = last;
    return false;
  }
  return true;
}

/* One loop over the storage, in blocks, or none over a scalar. */
static void one_loop(Printer *p, Kernel *k, const Loop *loops, int n, const char *end,
                     const MapSchedule *s) {
  if (n == 0) {
    stores(p, 0);
    text_append(&k->text, p->level[0]);
    return;
  }
  p->nlevels = 2;
  p->coord[loops[0].coord] = (Coord){p->coord[loops[0].coord].dim, "i", 1, NULL};
  const bool shared = s->units > 1;
  const char *lo = shared ? arena_printf(p->g->a, "u0 * %d", BLOCK) : "0";
  const Text all = elements(p, 1, "i", lo, shared ? "end" : end, s->inner);
  text_append(&k->text, p->level[0]);
  if (shared)
    text_line(&k->text, "const long end = u1 * %d < %s ? u1 * %d : %s;", BLOCK, end, BLOCK, end);
  text_append(&k->text, &all);
}

/* A loop over the elements of a row in a loop over rows; units are blocks of either. */
static void two_loops(Printer *p, Kernel *k, const Loop *loops, int n, const char *rows,
                      const char *end, const MapSchedule *s) {
  const bool by_column = s->split == MAP_COLUMNS;
  printer_decode(p, loops, n - 1, "u", "i", 1);
  p->coord[loops[n - 1].coord].text = "j";
  p->coord[loops[n - 1].coord].level = 2;
  const char *lo = by_column ? arena_printf(p->g->a, "u0 * %d", BLOCK) : "0";
  const Text of_row = elements(p, 2, "j", lo, by_column ? "end" : end, s->inner);
  Text *row = p->level[1];
  if (by_column)
    text_line(row, "const long end = u1 * %d < %s ? u1 * %d : %s;", BLOCK, end, BLOCK, end);
  text_append(row, &of_row);
  text_append(&k->text, p->level[0]);
  if (s->units == 1 || by_column)
    loop(p, &k->text, 1, "u", "0", rows);
  else
    loop(p, &k->text, 1, "u", "u0", "u1");
}

void cpu_map(Gen *g, const Group *gr) {
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  Printer p = printer_new(g, gr, 3, 1);
  int64_t storage = panel_elements(gr), work = gr->domain->numel * (gr->nops + 1);
  k->flops = (uint64_t)(gr->domain->numel * gr->nops);
  Leaves leaves = {0};
  const Layout *l = cpu_domain_layout(gr);
  Loop *loops = ARENA_ARRAY(g->a, Loop, p.ncoords + 1);
  int n = 0;
  bool in_order = true;
  if (storage) {
    p.storage = true;
    loops[n++] = (Loop){storage, p.ncoords - 1, NULL};
    p.flat = "i";
    p.flat_level = 1;
  } else {
    for (int i = 0; i < gr->nout; i++)
      leaves_result(&p, i, printer_identity(&p, gr->yield[i]), &leaves);
    int *axes = ARENA_ARRAY(g->a, int, p.ncoords + 1);
    in_order = axes_in_order(gr, axes);
    n = loops_over(&p, &leaves, axes, p.ncoords, loops);
  }
  MapShape shape = {.outer = n > 1 ? loops_count(loops, n - 1) : 1,
                    .inner = n ? loops[n - 1].n : 1,
                    .work = work};
  MapSchedule s = map_schedule(&shape, n <= 1);
  kernel_schedule(k, &map_kind, &s, sizeof s);
  const char *rows = loops_text(&p, loops, n ? n - 1 : 0);
  const char *end = n ? loops_text(&p, loops + n - 1, 1) : "1";
  if (group_is_bounded(gr))
    kernel_units_of(k, s.units, s.split == MAP_ROWS ? rows : text_ceil_div(g->a, end, BLOCK));
  else
    kernel_units(k, s.units);
  if (n <= 1) {
    cpu_split_full(k, gr, l, s.units > 1, 0, s.units * BLOCK);
    one_loop(&p, k, loops, n, end, &s);
    return;
  }
  if (in_order && s.split != MAP_COLUMNS) /* else what a unit writes is no slice */
    cpu_split_full(k, gr, l, s.units > 1, 0, gr->domain->numel);
  else if (in_order && s.inner % BLOCK == 0)
    cpu_split_full(k, gr, l, s.outer, s.inner, s.inner);
  two_loops(&p, k, loops, n, rows, end, &s);
}
