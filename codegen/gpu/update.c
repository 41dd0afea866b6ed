/* dynamic_update, of a value or of what the group computes: a thread writes one element. Contract:
   where the result lies over x, only y moves. What is computed has y's elements in their order,
   perhaps in another shape. */
#include "codegen/gpu/gpu.h"
#include "codegen/print/gather.h"
#include "codegen/program/extent.h"
#include "passes/plan.h"

typedef struct GridUpdate {
  Gen *g;
  const Group *gr;
  Kernel *k;
  Update s;
  long long inner, all, part; /* elements: behind the axis; from the axis on, of x and of y */
} GridUpdate;

/* Declares `at`, the place along the axis; outside of x it is reported, and is 0. */
static void print_start(const GridUpdate *u) {
  Text *t = &u->k->text;
  const char *starts = starts_text(u->g, u->gr, &u->s);
  text_line(
      t, "int64_t at = (int64_t)%s;",
      scalar_load(u->g->a, u->s.start->dtype, arena_printf(u->g->a, "in%d", u->s.start_arg), "0"));
  text_open(t, "if (at < 0 || at >= %s) {", starts);
  text_line(t, "if (t == 0) %s",
            gen_fault_below(u->g, u->gr, u->gr->root, "a start", "0", "at", starts));
  text_line(t, "at = 0;");
  text_close(t, "}");
}

/* Element `n` of y, as it is stored. */
static const char *element(const GridUpdate *u, const char *n) {
  Gen *g = u->g;
  if (u->s.y_arg >= 0) return arena_printf(g->a, "in%d[%s]", u->s.y_arg, n);
  ValueId v = u->gr->root->operands[1];
  while (!type_same_dims(value_type(u->gr->e, v), u->gr->domain))
    v = value_def(u->gr->e, v)->operands[0];
  Printer p = printer_new(g, u->gr, 2, 1);
  long long inner = 1;
  for (int i = u->gr->domain->rank - 1; i >= 0; i--) {
    const long long dim = u->gr->domain->dim[i];
    if (dim > 1) {
      p.coord[i].text = arena_printf(g->a, "c%d", i);
      p.coord[i].level = 1;
      const char *at = inner > 1 ? arena_printf(g->a, "%s / %lld", n, inner) : n;
      text_line(&u->k->text, "const %s c%d = (%s)(%s %% %lld);", g->index, i, g->index, at, dim);
    }
    inner *= dim;
  }
  const Printed r = printer_value(&p, v, printer_identity(&p, v));
  text_append(&u->k->text, p.level[0]);
  text_append(&u->k->text, p.level[1]);
  return scalar_store_rounded(g->a, value_type(u->gr->e, v)->dtype, r.text);
}

static void print_part(const GridUpdate *u, const char *moved, bool check_axis) {
  Text *t = &u->k->text;
  if (check_axis) text_line(t, "if (t %% %lld >= %s) return;", u->part, moved);
  const char *value = element(u, "t");
  text_line(t, "out0[t / %lld * %lld + at * %lld + t %% %lld] = %s;", u->part, u->all, u->inner,
            u->part, value);
}

static void print_whole(const GridUpdate *u, const char *moved) {
  Text *t = &u->k->text;
  text_line(t, "const int64_t u = t / %lld, j = t %% %lld - at * %lld;", u->all, u->all, u->inner);
  const char *own = arena_printf(u->g->a, "u * %lld + j", u->part);
  if (u->s.y_arg >= 0) {
    text_line(t, "out0[t] = j >= 0 && j < %s ? %s : in%d[t];", moved, element(u, own), u->s.x_arg);
    return;
  }
  text_open(t, "if (j < 0 || j >= %s) {", moved);
  text_line(t, "out0[t] = in%d[t];", u->s.x_arg);
  text_line(t, "return;");
  text_close(t, "}");
  text_line(t, "const %s n = (%s)(%s);", u->g->index, u->g->index, own);
  const char *value = element(u, "n");
  text_line(t, "out0[t] = %s;", value);
}

void cuda_update(Gen *g, const Group *gr) {
  GridUpdate u = {.g = g, .gr = gr, .s = update_of(gr), .inner = 1};
  const Type *x = u.s.x, *y = u.s.y;
  const int axis = u.s.axis;
  const bool in_place = plan_moves(gr->e, gr->op) == MOVES_PART;
  for (int i = axis + 1; i < x->rank; i++) u.inner *= x->dim[i];
  u.all = x->dim[axis] * u.inner, u.part = y->dim[axis] * u.inner;
  const Extent *shorter = type_extent(y, axis);
  const char *moved = count_text(g, gr->e, u.part, shorter);
  const char *inside = NULL; /* beside the axis, and along it of what is copied */
  if (dims_bounded(x, 0, axis) || dims_bounded(x, axis + 1, x->rank) ||
      (!in_place && !shorter && type_extent(x, axis)))
    inside = inside_text(g, gr->e, in_place ? y : x, "t");
  u.k = cuda_kernel(g, gr);
  if (u.s.y_arg < 0) u.k->flops = (uint64_t)(gr->domain->numel * gr->nops);
  cuda_threads(g, u.k, in_place ? y->numel : x->numel, "t");
  print_start(&u);
  if (inside) text_line(&u.k->text, "if (!(%s)) return;", inside);
  if (in_place)
    print_part(&u, moved, shorter && !inside);
  else
    print_whole(&u, moved);
}
