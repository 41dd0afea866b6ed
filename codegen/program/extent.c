/* Counts at run time; see extent.h. */
#include "codegen/program/extent.h"

const char *extent_name(Gen *g, const Entry *e, const Extent *x) {
  const char *all = "1";
  for (int i = 0; x->nfactors > 1 && i < x->nfactors; i++)
    all = text_product(g->a, all, extent_name(g, e, x->factor[i]));
  if (x->nfactors > 1) return all;
  int slot = entry_extent(e, x);
  if (slot < 0) gc_bug(g->ctx, "extent %s is of no input of entry %s", x->name, e->name);
  return arena_printf(g->a, "extent%d", slot);
}

bool text_is_number(const char *count) { return count[0] >= '0' && count[0] <= '9'; }

const char *text_product(Arena *a, const char *x, const char *y) {
  if (strcmp(x, "1") == 0) return y;
  return strcmp(y, "1") == 0 ? x : arena_printf(a, "(%s * %s)", x, y);
}

const char *text_ceil_div(Arena *a, const char *n, int64_t by) {
  return by == 1 ? n
                 : arena_printf(a, "((%s + %lld) / %lld)", n, (long long)(by - 1), (long long)by);
}

const char *count_text(Gen *g, const Entry *e, int64_t n, const Extent *x) {
  if (!x) return arena_printf(g->a, "%lld", (long long)n);
  return text_product(g->a, extent_name(g, e, x),
                      arena_printf(g->a, "%lld", (long long)(n / x->bound)));
}

const char *dims_text(Gen *g, const Entry *e, const Type *t, int from, int to) {
  int64_t fixed = 1;
  const char *text = "1";
  for (int i = from; i < to; i++) {
    const Extent *x = type_extent(t, i);
    fixed *= x ? t->dim[i] / x->bound : t->dim[i];
    if (x) text = text_product(g->a, text, extent_name(g, e, x));
  }
  return text_product(g->a, text, arena_printf(g->a, "%lld", (long long)fixed));
}

bool dims_bounded(const Type *t, int from, int to) {
  for (int i = from; i < to; i++)
    if (type_extent(t, i)) return true;
  return false;
}

const char *prefix_axes_text(Gen *g, const Entry *e, const Type *t, int to) {
  int axis = 0;
  int64_t all = 1;
  while (axis < to && t->dim[axis] == 1) axis++;
  for (int i = 0; i < to; i++) all *= t->dim[i];
  if (dims_bounded(t, axis + 1, to)) return arena_printf(g->a, "%lld", (long long)all);
  return dims_text(g, e, t, 0, to);
}

const char *prefix_text(Gen *g, const Entry *e, const Type *t) {
  return prefix_axes_text(g, e, t, t->rank);
}

const char *place_text(Gen *g, const Entry *e, const Type *t, int from, int to, const char *at) {
  Text sum = text_new(g->a, 0);
  const char *inner = "1"; /* elements inside of the axes at hand, at run time … */
  int64_t stride = 1;      /* … and at the bounds */
  for (int end = to, i = to - 1; i >= from; i--) {
    bool outermost = true; /* axes [i, end) lie side by side */
    for (int k = from; k < i; k++) outermost &= t->dim[k] == 1;
    if (!type_extent(t, i) && !outermost) continue;
    const char *x = at, *plus = sum.s.n ? " + " : "";
    if (outermost && !sum.s.n) return at;
    if (strcmp(inner, "1") != 0) x = arena_printf(g->a, "%s / %s", x, inner);
    if (!outermost) x = arena_printf(g->a, "%s %% %s", x, dims_text(g, e, t, i, end));
    text_add(&sum, "%s%s", plus, x);
    if (stride != 1) text_add(&sum, " * %lld", (long long)stride);
    inner = text_product(g->a, inner, dims_text(g, e, t, i, end));
    for (int k = i; k < end; k++) stride *= t->dim[k];
    end = i;
    if (outermost) break;
  }
  return sum.s.n ? arena_printf(g->a, "(%s)", text_str(&sum)) : at;
}

bool type_is_mixed(const Type *t) {
  int first = 0;
  while (first < t->rank && t->dim[first] == 1) first++;
  return dims_bounded(t, first + 1, t->rank);
}

const char *inside_text(Gen *g, const Entry *e, const Type *t, const char *at) {
  Text all = text_new(g->a, 0);
  int64_t inner = t->numel;
  for (int i = 0; i < t->rank; i++) {
    if (t->dim[i]) inner /= t->dim[i];
    if (!type_extent(t, i)) continue;
    text_add(&all, "%s%s / %lld %% %lld < %s", all.s.n ? " && " : "", at, (long long)inner,
             (long long)t->dim[i], dims_text(g, e, t, i, i + 1));
  }
  return all.s.n ? text_str(&all) : NULL;
}

typedef struct Used {
  bool *slot; /* by number in the entry */
  const Entry *e;
  bool any;
} Used;

static void use(Used *u, const Extent *x) {
  u->any = true;
  for (int i = 0; i < x->nfactors; i++) {
    int slot = entry_extent(u->e, x->factor[i]);
    if (slot >= 0) u->slot[slot] = true;
  }
}

static void use_type(Used *u, const Type *t) {
  for (int i = 0; i < t->rank; i++)
    if (type_extent(t, i)) use(u, t->extent[i]);
}

static void use_op(Used *u, Ctx *c, const Op *op) {
  if (op->kind == OP_EXTENT) use(u, extent_get(c, op->attr[AT_NAME].str, op->attr[AT_BOUND].i));
  for (int i = 0; i < op->noperands; i++) use_type(u, value_type(u->e, op->operands[i]));
  for (int i = 0; i < op->nresults; i++) use_type(u, value_type(u->e, op->results[i]));
}

static bool used(const Group *gr, bool slot[ENTRY_EXTENTS]) {
  Used u = {slot, gr->e, false};
  for (int i = 0; i < gr->nops; i++) use_op(&u, gr->e->module->ctx, gr->ops[i]);
  return u.any;
}

bool group_is_bounded(const Group *gr) {
  bool slot[ENTRY_EXTENTS] = {false};
  return used(gr, slot);
}

void extent_declare(Gen *g, Text *head, const Group *gr) {
  bool slot[ENTRY_EXTENTS] = {false};
  (void)used(gr, slot);
  for (int i = 0; i < ENTRY_EXTENTS; i++)
    if (slot[i] && g->index)
      text_line(head, "const %s extent%d = env_extent(env, %d);", g->index, i, i);
    else if (slot[i])
      text_line(head, "const long extent%d = env->extents[%d];", i, i);
}
