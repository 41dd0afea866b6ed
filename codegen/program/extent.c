/* Counts at run time; see extent.h. */
#include "codegen/program/extent.h"

#include <stdlib.h>

const char *extent_name(Gen *g, const Entry *e, const Extent *x) {
  const char *all = "1";
  for (int i = 0; x->nfactors > 1 && i < x->nfactors; i++)
    all = text_product(g->a, all, extent_name(g, e, x->factor[i]));
  if (x->nfactors > 1) return all;
  for (uint32_t i = 0; x->whole && i < g->parts.n; i++)
    if (g->parts.at[i] == x) return arena_printf(g->a, "part%u", i);
  int slot = entry_extent(e, x);
  if (slot < 0) gc_bug(g->ctx, "extent %s is of no input of entry %s", x->name, e->name);
  return arena_printf(g->a, "extent%d", slot);
}

bool text_is_number(const char *count) { return count[0] >= '0' && count[0] <= '9'; }

const char *text_last(Arena *a, const char *count) {
  if (!text_is_number(count)) return arena_printf(a, "%s - 1", count);
  return arena_printf(a, "%lld", strtoll(count, NULL, 10) - 1);
}

const char *text_product(Arena *a, const char *x, const char *y) {
  if (strcmp(x, "1") == 0) return y;
  return strcmp(y, "1") == 0 ? x : arena_printf(a, "(%s * %s)", x, y);
}

const char *text_ceil_div(Arena *a, const char *n, int64_t by) {
  return by == 1 ? n
                 : arena_printf(a, "((%s + %lld) / %lld)", n, (long long)(by - 1), (long long)by);
}

const char *text_quotient(Arena *a, const char *n, const char *by) {
  return arena_printf(a, "(long)(((double)%s + 0.5) * (1.0 / (double)%s))", n, by);
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

static bool only_pads_read(const Entry *e, const Block *b, ValueId v) {
  bool only = true;
  for (uint32_t i = 0; i < b->ops.n && only; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    for (int k = 0; k < op->noperands; k++) only &= op->operands[k] != v || op->kind == OP_PAD;
    for (int k = 0; k < op->nblocks; k++) only = only && only_pads_read(e, op->blocks[k], v);
  }
  return only;
}

bool input_is_compact(const Target *t, const Entry *e, ValueId v) {
  const Value *x = value_at(e, v);
  bool input = false;
  for (uint32_t i = 0; i < entry_inputs(e); i++) input |= e->body->args.at[i] == v;
  return input && t->compact_inputs && !e->ahead && x->type->extent && !x->layout &&
         only_pads_read(e, e->body, v);
}

const char *stride_text(Gen *g, const Entry *e, const Type *t, int axis, bool of_run) {
  int64_t bound = 1;
  for (int i = axis + 1; i < t->rank; i++) bound *= t->dim[i];
  return of_run ? dims_text(g, e, t, axis + 1, t->rank)
                : arena_printf(g->a, "%lld", (long long)bound);
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

bool type_may_be_empty(const Type *t) {
  for (int i = 0; i < t->rank; i++)
    for (int k = 0; type_extent(t, i) && k < t->extent[i]->nfactors; k++)
      if (t->extent[i]->factor[k]->whole) return true;
  return false;
}

typedef struct Used {
  Ctx *c;
  Arena *a; /* of the parts; NULL: they are not asked for */
  const Entry *e;
  bool slot[ENTRY_EXTENTS]; /* by number in the entry */
  ExtentList parts;         /* each once */
  bool any;
} Used;

static void use(Used *u, const Extent *x) {
  u->any = true;
  for (int i = 0; i < x->nfactors; i++) {
    const Extent *f = x->factor[i];
    int slot = f->whole ? -1 : entry_extent(u->e, f);
    if (slot >= 0) u->slot[slot] = true;
    if (!f->whole) continue;
    use(u, axis_extent(u->c, f->whole));
    bool known = !u->a;
    for (uint32_t k = 0; k < u->parts.n; k++) known |= u->parts.at[k] == f;
    if (!known) vec_push(u->a, &u->parts, f);
  }
}

static void use_type(Used *u, const Type *t) {
  for (int i = 0; i < t->rank; i++)
    if (type_extent(t, i)) use(u, t->extent[i]);
}

static void use_op(Used *u, const Op *op) {
  if (op->kind == OP_EXTENT) use(u, extent_get(u->c, op->attr[AT_NAME].str, op->attr[AT_BOUND].i));
  for (int i = 0; i < op->noperands; i++) use_type(u, value_type(u->e, op->operands[i]));
  for (int i = 0; i < op->nresults; i++) use_type(u, value_type(u->e, op->results[i]));
}

static Used used(Arena *a, const Group *gr) {
  Used u = {.c = gr->e->module->ctx, .a = a, .e = gr->e};
  for (int i = 0; i < gr->nops; i++) use_op(&u, gr->ops[i]);
  for (int i = 0; i < gr->nout; i++) { /* a copy whose layout a run decides */
    const Layout *l = value_at(gr->e, gr->out[i])->layout;
    if (l && l->image) use_type(&u, l->image);
  }
  return u;
}

bool group_is_bounded(const Group *gr) { return used(NULL, gr).any; }

ExtentList group_parts(Arena *a, const Group *gr) { return used(a, gr).parts; }

void extent_declare(Gen *g, Text *head, const Kernel *k, const Group *gr) {
  const Used u = used(NULL, gr);
  for (int i = 0; i < ENTRY_EXTENTS; i++)
    if (u.slot[i] && g->index)
      text_line(head, "const %s extent%d = env_extent(env, %d);", g->index, i, i);
    else if (u.slot[i])
      text_line(head, "const long extent%d = env->extents[%d];", i, i);
  for (uint32_t i = 0; i < g->parts.n; i++) {
    const Extent *x = g->parts.at[i], *of = axis_extent(g->ctx, x->whole);
    const char *T = g->index ? g->index : "long";
    const char *at = arena_printf(g->a, g->index ? "p%d" : "p[%d]", kernel_part_arg(k, (int)i));
    const char *rows = text_product(g->a, extent_name(g, gr->e, of),
                                    arena_printf(g->a, "%lld", (long long)axis_multiple(x->whole)));
    /* parts that follow each other share the code, and are told apart by their number */
    int64_t from = x->first - extent_number(x) * x->bound;
    text_line(head, "const %s behind%u = %s - (*(const int32_t *)%s * (%s)%lld + %lld);", T, i,
              rows, at, T, (long long)x->bound, (long long)from);
    text_line(head, "const %s part%u = behind%u < 0 ? 0 : behind%u < %lld ? behind%u : %lld;", T, i,
              i, i, (long long)x->bound, i, (long long)x->bound);
  }
}
