/* Which axes of a group's domain are one loop: those that every value which the group reads or
   writes walks evenly. Contract: loops are the caller's; this file counts them, names them, and
   says what the iteration number of several nested ones is in each. */
#include "codegen/print/printer.h"
#include "codegen/program/extent.h"

static void leaf(Printer *p, ValueId v, const int64_t *own, const Axis *map, Leaves *out) {
  const Type *t = value_type(p->gr->e, v);
  Leaf l = {.v = v, .stride = ARENA_ARRAY(p->g->a, int64_t, p->ncoords + 1)};
  for (int i = 0; i < t->rank; i++)
    if (map[i].coord >= 0) l.stride[map[i].coord] += own[i] * map[i].step;
  vec_push(p->g->a, &out->at, l);
}

void leaves_of(Printer *p, ValueId v, const Axis *map, Leaves *out) {
  for (uint32_t i = out->visited.n; i-- > 0;)
    if (out->visited.at[i].v == v && printer_same_map(p, v, out->visited.at[i].map, map)) return;
  vec_push(p->g->a, &out->visited, ((Visit){v, map}));
  const Type *t = value_type(p->gr->e, v);
  int64_t *stride = ARENA_ARRAY(p->g->a, int64_t, t->rank + 1);
  layout_strides(t, printer_layout(p, v), stride);
  if (group_arg(p->gr, v) >= 0) {
    leaf(p, v, stride, map, out);
    return;
  }
  const Op *op = value_def(p->gr->e, v);
  if (op->kind == OP_CONST || op->kind == OP_EXTENT) return;
  if (op->kind == OP_IOTA) {
    layout_strides(t, NULL, stride);
    for (int i = 0; i < t->rank; i++) stride[i] = i == op->attr[AT_AXIS].i;
    leaf(p, v, stride, map, out);
    return;
  }
  const Axis *inner = op_info[op->kind].cls == CLASS_VIEW ? printer_through(p, op, map) : NULL;
  if (inner) {
    leaves_of(p, op->operands[0], inner, out);
    return;
  }
  leaf(p, v, stride, map, out); /* a reduction's result, or the place of an element-wise one */
  if (op_info[op->kind].flags & OPF_POSITION) { /* its logical position is read, too */
    int64_t *own = ARENA_ARRAY(p->g->a, int64_t, t->rank + 1);
    layout_strides(t, NULL, own);
    leaf(p, v, own, map, out);
  }
  if (op_info[op->kind].cls == CLASS_ELEMENT)
    for (int i = 0; i < op->noperands; i++) leaves_of(p, op->operands[i], map, out);
}

void leaves_result(Printer *p, int yield, const Axis *map, Leaves *out) {
  const Value *v = value_at(p->gr->e, p->gr->out[yield]);
  int64_t *stride = ARENA_ARRAY(p->g->a, int64_t, v->type->rank + 1);
  layout_strides(v->type, v->layout, stride);
  leaf(p, p->gr->out[yield], stride, map, out);
  leaves_of(p, p->gr->yield[yield], map, out);
}

/* Axis a, and axis b further in, walk every leaf as one. Strides are the bound's. */
static bool even(const Printer *p, const Leaves *l, int a, int b) {
  if (p->coord[b].extent) return false;
  for (uint32_t i = 0; i < l->at.n; i++) {
    const int64_t *s = l->at.at[i].stride;
    if (s[a] != s[b] * p->coord[b].dim) return false;
  }
  return true;
}

int loops_over(Printer *p, const Leaves *l, const int *axes, int naxes, Loop *out) {
  int n = 0;
  for (int i = 0; i < naxes; i++) {
    int k = axes[i];
    p->coord[k].text = NULL;
    int64_t dim = p->coord[k].dim;
    if (dim == 1) continue;
    if (n && even(p, l, out[n - 1].coord, k))
      out[n - 1] = (Loop){out[n - 1].n * dim, k, out[n - 1].extent};
    else
      out[n++] = (Loop){dim, k, p->coord[k].extent};
  }
  return n;
}

int64_t loops_count(const Loop *l, int n) {
  int64_t count = 1;
  for (int i = 0; i < n; i++) count *= l[i].n;
  return count;
}

int64_t loop_unit(const Loop *l) { return l->extent ? l->n / l->extent->bound : l->n; }

const char *loops_text(const Printer *p, const Loop *l, int n) {
  const char *text = "1";
  int64_t fixed = 1;
  for (int i = 0; i < n; i++) {
    if (l[i].extent)
      text = text_product(p->g->a, text, count_text(p->g, p->gr->e, l[i].n, l[i].extent));
    else
      fixed *= l[i].n;
  }
  return text_product(p->g->a, text, arena_printf(p->g->a, "%lld", (long long)fixed));
}

/* The same where an inner count is known at run time: from the outermost loop inwards, of what the
   outer ones leave. */
static void decode_bounded(Printer *p, const Loop *loop, int n, const char *u, const char *prefix,
                           int level) {
  Text *x = p->level[level];
  Arena *a = p->g->a;
  for (int k = 0; k < n; k++) {
    Coord *c = &p->coord[loop[k].coord];
    const char *inner = loops_text(p, loop + k + 1, n - 1 - k);
    c->level = level;
    c->text = arena_printf(a, "%s%d", prefix, k);
    const char *here = strcmp(inner, "1") == 0 ? u
                       : text_is_number(inner) ? arena_printf(a, "%s / %s", u, inner)
                                               : text_quotient(a, u, inner);
    text_line(x, "const long %s = %s;", c->text, here);
    if (k + 1 == n) break;
    const char *rest = arena_printf(a, "%s%d_rest", prefix, k);
    text_line(x, "const long %s = %s - %s * %s;", rest, u, c->text, inner);
    u = rest;
  }
}

void printer_decode(Printer *p, const Loop *loop, int n, const char *u, const char *prefix,
                    int level) {
  const char *index = p->g->index ? p->g->index : "long";
  for (int k = n - 1; k >= 0; k--) {
    Coord *c = &p->coord[loop[k].coord];
    c->level = level;
    c->text = n == 1 ? u : arena_printf(p->g->a, "%s%d", prefix, k);
    if (n == 1) return;
    const char *inner = loops_text(p, loop + k + 1, n - 1 - k);
    const char *div = strcmp(inner, "1") == 0 ? u : arena_printf(p->g->a, "%s / %s", u, inner);
    if (k == 0)
      text_line(p->level[level], "const %s %s = %s;", index, c->text, div);
    else
      text_line(p->level[level], "const %s %s = %s %% %s;", index, c->text, div,
                loops_text(p, loop + k, 1));
  }
}

void printer_decode_element(Printer *p, const Loop *loop, int n, const char *u, const char *prefix,
                            int level) {
  bool bounded = false;
  for (int k = 1; k < n; k++) bounded |= loop[k].extent != NULL;
  if (bounded && !p->g->index)
    decode_bounded(p, loop, n, u, prefix, level);
  else
    printer_decode(p, loop, n, u, prefix, level);
}

void printer_leading(Printer *p, const char *at, int level) {
  const Group *gr = p->gr;
  Arena *a = p->g->a;
  Leaves l = {0};
  int n = printer_domain_coords(p) - 1, *axes = ARENA_ARRAY(a, int, n + 1);
  for (int i = 0; i < gr->nout; i++) leaves_result(p, i, printer_identity(p, gr->yield[i]), &l);
  for (int i = 0; i < n; i++) axes[i] = i;
  Loop *loop = ARENA_ARRAY(a, Loop, n + 1);
  n = loops_over(p, &l, axes, n, loop);
  for (int k = n - 1; k >= 0; k--) {
    const char *text = at, *inner = loops_text(p, loop + k + 1, n - 1 - k);
    if (strcmp(inner, "1") != 0) text = arena_printf(a, "%s / %s", text, inner);
    if (k) text = arena_printf(a, "%s %% %s", text, loops_text(p, loop + k, 1));
    p->coord[loop[k].coord].text = n > 1 ? arena_printf(a, "(%s)", text) : text;
    p->coord[loop[k].coord].level = level;
  }
}
