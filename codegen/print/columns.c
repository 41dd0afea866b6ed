/* What column reductions share on every target: which axes are reduced and which are kept; see
   reduction.h. */
#include "codegen/print/reduction.h"

static void find_axes(ColsPrinter *c) {
  const Op *op = c->gr->root;
  int rank = c->gr->domain->rank;
  c->kept = ARENA_ARRAY(c->g->a, int, rank + 1);
  c->reduced = ARENA_ARRAY(c->g->a, int, rank + 1);
  for (int i = 0; i < rank; i++) {
    bool reduced = false;
    if (op->kind == OP_ARGMAX || op->kind == OP_ARGMIN)
      reduced = op->attr[AT_AXIS].i == i;
    else
      for (int k = 0; k < op->attr[AT_AXES].ints->n; k++)
        reduced |= op->attr[AT_AXES].ints->at[k] == i;
    if (reduced)
      c->reduced[c->nreduced++] = i;
    else
      c->kept[c->nkept++] = i;
  }
}

ColsPrinter cols_new(Gen *g, const Group *gr, int levels, Leaves *l) {
  ColsPrinter c = {.g = g, .gr = gr, .p = printer_new(g, gr, levels, 1)};
  ValueId x = gr->root->operands[0];
  find_axes(&c);
  leaves_of(&c.p, x, printer_identity(&c.p, x), l);
  return c;
}

/* A value of the kept shape, axis i at the i-th kept axis of the domain. Values whose axes of
   extent 1 come and go are matched from the left. */
const Axis *cols_map(ColsPrinter *c, ValueId v) {
  const Type *t = value_type(c->gr->e, v);
  Axis *m = ARENA_ARRAY(c->g->a, Axis, t->rank + 1);
  int k = 0;
  for (int i = 0; i < t->rank; i++) {
    m[i] = (Axis){.coord = -1};
    if (t->dim[i] == 1) continue;
    while (k < c->nkept && c->gr->domain->dim[c->kept[k]] == 1) k++;
    if (k == c->nkept || c->gr->domain->dim[c->kept[k]] != t->dim[i])
      gc_bug(c->g->ctx, "a result of a column reduction has another shape than what is kept");
    m[i] = (Axis){.coord = c->kept[k++], .step = 1};
  }
  return m;
}

bool cols_is_kept(const ColsPrinter *c, const Type *t) {
  int k = 0;
  for (int i = 0; i < t->rank; i++) {
    if (t->dim[i] == 1) continue;
    while (k < c->nkept && c->gr->domain->dim[c->kept[k]] == 1) k++;
    if (k == c->nkept || c->gr->domain->dim[c->kept[k++]] != t->dim[i]) return false;
  }
  while (k < c->nkept && c->gr->domain->dim[c->kept[k]] == 1) k++;
  return k == c->nkept;
}
