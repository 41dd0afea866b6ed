/* Places of values: the map from a value's axes to the loops, and the index there as text.
   Contract: as of printer.h; nothing is printed. A matrix group's values have the domain's
   coordinates, or those of the product's own shape behind them. */
#include "codegen/print/printer.h"

/* ---- the map ---- */

int printer_extra_coords(const Group *gr) { return gr->matrix ? gr->matrix->rank - 1 : 0; }

int printer_domain_coords(const Printer *p) { return p->ncoords - printer_extra_coords(p->gr); }

static bool is_matrix(const Printer *p, const Type *t) {
  return p->gr->matrix && type_same_dims(t, p->gr->matrix);
}

static const Axis *identity(const Printer *p, const Type *t) {
  if (!is_matrix(p, t)) return axes_identity(p->g->a, t);
  int domain = printer_domain_coords(p), last = t->rank - 1;
  Axis *m = ARENA_ARRAY(p->g->a, Axis, t->rank + 1);
  for (int i = 0; i <= last; i++)
    m[i] = t->dim[i] == 1 ? (Axis){.coord = -1}
                          : (Axis){.coord = i < last ? domain + i : domain - 1, .step = 1};
  return m;
}

const Axis *printer_identity(Printer *p, ValueId v) { return identity(p, value_type(p->gr->e, v)); }

static bool same_axes(const Type *t, const Axis *a, const Axis *b) {
  for (int i = 0; i < t->rank; i++) {
    if (a[i].coord != b[i].coord || a[i].start != b[i].start) return false;
    if (a[i].coord >= 0 && a[i].step != b[i].step) return false;
  }
  return true;
}

bool printer_same_map(const Printer *p, ValueId v, const Axis *a, const Axis *b) {
  return same_axes(value_type(p->gr->e, v), a, b);
}

const Axis *printer_through(Printer *p, const Op *op, const Axis *map) {
  const Group *gr = p->gr;
  if (op->kind == OP_RESHAPE && gr->matrix) {
    const Type *from = value_type(gr->e, op->operands[0]), *to = value_type(gr->e, op->results[0]);
    bool back = is_matrix(p, to) && type_same_dims(from, gr->domain);
    bool renames = back || (is_matrix(p, from) && type_same_dims(to, gr->domain));
    if (renames && printer_same_map(p, op->results[0], map, identity(p, to)))
      return identity(p, from);
  }
  return axes_through(p->g->a, gr->e, op, map);
}

const Layout *printer_layout(const Printer *p, ValueId v) {
  int arg = group_arg(p->gr, v);
  return value_at(p->gr->e, arg >= 0 ? p->gr->in[arg] : v)->layout;
}

/* ---- its index, as text ---- */

static void add_term(Text *x, const char *text, int64_t factor) {
  const char *sign = x->s.n ? (factor < 0 ? " - " : " + ") : (factor < 0 ? "-" : "");
  int64_t f = factor < 0 ? -factor : factor;
  if (f == 1)
    text_add(x, "%s%s", sign, text);
  else
    text_add(x, "%s%s * %lld", sign, text, (long long)f);
}

/* start + sum of factor[k] times coordinate k */
static const char *linear(Printer *p, int64_t start, const int64_t *factor, int *level) {
  Text x = text_new(p->g->a, 0);
  for (int k = 0; k < p->ncoords; k++) {
    if (!factor[k] || !p->coord[k].text) continue;
    add_term(&x, p->coord[k].text, factor[k]);
    if (p->coord[k].level > *level) *level = p->coord[k].level;
  }
  if (start || !x.s.n) {
    const char *sign = start < 0 ? " - " : " + ";
    if (x.s.n)
      text_add(&x, "%s%lld", sign, (long long)(start < 0 ? -start : start));
    else
      text_add(&x, "%lld", (long long)start);
  }
  return text_str(&x);
}

const char *printer_axis(Printer *p, Axis a, int *level) {
  int64_t *factor = ARENA_ARRAY(p->g->a, int64_t, p->ncoords + 1);
  if (a.coord >= 0) factor[a.coord] = a.step;
  return linear(p, a.start, factor, level);
}

static bool at_home(const Printer *p, const Type *t, const Axis *map) {
  int ncoords = printer_domain_coords(p);
  if (is_matrix(p, t)) return same_axes(t, map, identity(p, t));
  if (t->numel == 1 || t->rank > ncoords) return false;
  int lead = 0;
  for (int k = 0; k < ncoords; k++) {
    if (p->coord[k].dim == 1) continue;
    while (lead < t->rank && t->dim[lead] == 1) lead++;
    if (lead == t->rank || map[lead].coord != k || map[lead].start || map[lead].step != 1 ||
        t->dim[lead] != p->coord[k].dim)
      return false;
    lead++;
  }
  while (lead < t->rank && t->dim[lead] == 1) lead++;
  return lead == t->rank;
}

const char *printer_strided(Printer *p, const Type *t, const int64_t *own, const Axis *map,
                            int *level) {
  int64_t start = 0, *factor = ARENA_ARRAY(p->g->a, int64_t, p->ncoords + 1);
  for (int i = 0; i < t->rank; i++) {
    start += own[i] * map[i].start;
    if (map[i].coord >= 0) factor[map[i].coord] += own[i] * map[i].step;
  }
  return linear(p, start, factor, level);
}

const char *printer_index(Printer *p, ValueId v, const Axis *map, int *level) {
  const Entry *e = p->gr->e;
  const Type *t = value_type(e, v);
  const Layout *l = printer_layout(p, v);
  bool home = at_home(p, t, map);
  int64_t *own = ARENA_ARRAY(p->g->a, int64_t, t->rank + 1);
  int64_t panel = layout_strides(t, l, own);
  if (panel && !p->storage) {
    if (home && p->panel) {
      *level = p->flat_level > *level ? p->flat_level : *level;
      return p->panel;
    }
    if (layout_row(t, l)) return printer_strided(p, t, own, map, level);
    int column = layout_axis(l, t->rank - 1);
    const char *j = printer_axis(p, map[column], level);
    own[column] = 0;
    const char *i = printer_strided(p, t, own, map, level);
    return arena_printf(p->g->a, "(%s) / %d * %lld + %s + (%s) %% %d", j, l->nr, (long long)panel,
                        i, j, l->nr);
  }
  if (home && p->flat && (p->storage || l == p->layout)) {
    *level = p->flat_level > *level ? p->flat_level : *level;
    return p->flat;
  }
  return printer_strided(p, t, own, map, level);
}
