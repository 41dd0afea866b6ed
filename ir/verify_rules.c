/* The rules of the verifier for one op, and how it reports; see verify.c. */
#include "ir/eval/interp.h"
#include "ir/op/window.h"
#include "ir/verify.h"

#include <stdarg.h>

/* ---- messages ---- */

static const char *op_text(const Verifier *v, const Op *op) {
  Ctx *c = v->m->ctx;
  const char *at = op->loc.line ? intern_printf(c, " at %s", loc_str(c, op->loc)) : "";
  const char *name = (unsigned)op->kind < OP_KINDS ? op_info[op->kind].name : "?";
  if (op->nresults > 0)
    return intern_printf(c, "op %s %s%s", value_str(v->e, op->results[0]), name, at);
  return intern_printf(c, "op %s%s", name, at);
}

static void say(Verifier *v, const char *what, const char *why) {
  Ctx *c = v->m->ctx;
  const char *pass = v->after ? intern_printf(c, "after pass %s: ", v->after) : "";
  const char *entry = v->e ? intern_printf(c, "in entry %s: ", v->e->name) : "";
  diag(c, SEV_ERROR, (Loc){0}, "%s%s%s%s%s", pass, entry, what, what[0] ? ": " : "", why);
  v->ok = false;
}

bool verify_failed(Verifier *v, const Op *op, const char *fmt, ...) {
  char why[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(why, sizeof why, fmt, ap);
  va_end(ap);
  if (!op || !v->op_failed) say(v, op ? op_text(v, op) : "", why);
  v->op_failed = op != NULL;
  return false;
}

static const char *tstr(const Verifier *v, ValueId id) {
  return type_str(v->m->ctx, value_type(v->e, id));
}

/* ---- rules for one op, in this order; the first that fails ends the op ---- */

/* What each rank has of a value that is made of all or of which all is made: along axis 0 the last
   ranks' may be short. */
static bool runs_fit(const Verifier *v, const Op *op) {
  const bool gathers = op->kind == OP_ALL_GATHER && op->attr[AT_AXIS].i == 0;
  if (!v->e->ranks || (!gathers && op->kind != OP_REDUCE_SCATTER)) return true;
  const Type *x = value_type(v->e, op->operands[0]), *y = value_type(v->e, op->results[0]);
  const Type *all = gathers ? y : x, *run = gathers ? x : y;
  return !all->rank || !run->rank || run->dim[0] == slice_rows(all->dim[0], v->e->ranks);
}

static bool rule_counts(Verifier *v, const Op *op) {
  const OpInfo *i = &op_info[op->kind];
  if (op->noperands < 0 || (i->operands >= 0 && op->noperands != i->operands))
    return verify_failed(v, op, "has %d operands, not %d", op->noperands, i->operands);
  if (op->nresults < 0 || (i->results >= 0 && op->nresults != i->results))
    return verify_failed(v, op, "has %d results, not %d", op->nresults, i->results);
  if (op->kind == OP_ALL_REDUCE && (!op->noperands || op->nresults != op->noperands))
    return verify_failed(v, op, "has %d operands and %d results", op->noperands, op->nresults);
  if (op->kind == OP_COLLECTIVE_BROADCAST && v->e->ranks && op->attr[AT_ROOT].i >= v->e->ranks)
    return verify_failed(v, op, "is of rank %lld, and there are %d", (long long)op->attr[AT_ROOT].i,
                         v->e->ranks);
  if (!runs_fit(v, op))
    return verify_failed(v, op, "gives %d ranks no equal runs, of which the last may be short",
                         v->e->ranks);
  if (op->nblocks != i->blocks)
    return verify_failed(v, op, "has %d blocks, not %d", op->nblocks, i->blocks);
  if (!op->scope) return verify_failed(v, op, "has no scope, not even an empty one");
  return true;
}

static bool rule_uses(Verifier *v, const Op *op) {
  for (int i = 0; i < op->noperands; i++) {
    ValueId x = op->operands[i];
    if (x >= v->e->values.n)
      return verify_failed(v, op, "operand %d is value %u, which does not exist", i, x);
    if (v->depth[x] == 0)
      return verify_failed(v, op, "uses %s, which is not defined before it", value_str(v->e, x));
    if (v->depth[x] < v->min_depth)
      return verify_failed(v, op, "uses %s from outside its kernel", value_str(v->e, x));
  }
  return true;
}

bool verify_definition(Verifier *v, const Op *op, ValueId id, OpId def, uint32_t index) {
  if (id >= v->e->values.n)
    return verify_failed(v, op, "defines value %u, which does not exist", id);
  const Value *x = value_at(v->e, id);
  if (x->def != def || x->index != index || (def == NO_ID) != (x->block != NULL))
    return verify_failed(v, op, "defines %s, which says it comes from elsewhere",
                         value_str(v->e, id));
  if (v->depth[id]) return verify_failed(v, op, "defines %s again", value_str(v->e, id));
  if (!x->type) return verify_failed(v, op, "defines %s without a type", value_str(v->e, id));
  uint64_t bytes;
  if (!layout_fits(x->type, x->layout) || !layout_bytes(x->type, x->layout, &bytes))
    return verify_failed(v, op, "gives %s of type %s a layout that does not fit it",
                         value_str(v->e, id), tstr(v, id));
  return true;
}

static bool rule_results(Verifier *v, const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (!verify_definition(v, op, op->results[i], op->id, (uint32_t)i)) return false;
  return true;
}

static bool rule_shape(Verifier *v, const Op *op) {
  if (!op_info[op->kind].shape) return true;
  const Type *small[SMALL_OPERANDS] = {NULL};
  const Type **types = op->noperands <= SMALL_OPERANDS
                           ? small
                           : ARENA_ARRAY(v->scratch, const Type *, op->noperands);
  for (int i = 0; i < op->noperands; i++) types[i] = value_type(v->e, op->operands[i]);
  bool ok = true;
  for (int i = 0; ok && i < op->nresults; i++) {
    const Type *have = value_type(v->e, op->results[i]);
    char why[WHY_BYTES];
    const Type *t = op_shape_of(v->m->ctx, op->kind, i, types, op->noperands, op->attr, have, why);
    if (!t)
      ok = verify_failed(v, op, "%s", why);
    else if (t != have)
      ok = verify_failed(v, op, "has type %s, but its rule gives %s", type_str(v->m->ctx, have),
                         type_str(v->m->ctx, t));
  }
  return ok;
}

static bool rule_attrs(Verifier *v, const Op *op) {
  const OpInfo *info = &op_info[op->kind];
  for (int i = 0; i < MAX_ATTRS; i++) {
    const AttrSpec *s = &info->attr[i];
    Attr a = op->attr[i];
    if (s->kind == ATTR_NONE && a.i)
      return verify_failed(v, op, "has an attribute in the unused slot %d", i);
    if (s->kind == ATTR_BOOL && a.i != 0 && a.i != 1)
      return verify_failed(v, op, "attribute %s is %lld, not 0 or 1", s->name, (long long)a.i);
    if (s->kind != ATTR_NUM || op->nresults == 0) continue;
    Dtype dt = value_type(v->e, op->results[0])->dtype;
    Scalar r = scalar_round((Scalar){.i = a.i}, dt, INTERP_DTYPE);
    bool nan = dtype_is_float(dt) && a.f != a.f; /* any NaN will do */
    if (!nan && r.i != a.i)
      return verify_failed(v, op, "attribute %s is not a value of %s", s->name, dtype_name(dt));
  }
  return true;
}

/* Every extent is that of an input. An axis of an input is a multiple of one. */
static bool rule_extents(Verifier *v, const Op *op) {
  for (int i = 0; i < op->nresults; i++) {
    const Type *t = value_type(v->e, op->results[i]);
    for (int k = 0; k < t->rank; k++)
      if (type_extent(t, k) && !entry_has_extent(v->e, t->extent[k]))
        return verify_failed(v, op, "has extent %s, which no input of the entry has",
                             t->extent[k]->name);
  }
  if (op->kind != OP_EXTENT) return true;
  const Extent *x = extent_get(v->m->ctx, op->attr[AT_NAME].str, op->attr[AT_BOUND].i);
  if (entry_extent(v->e, x) >= 0) return true;
  return verify_failed(v, op, "is %s of at most %lld, which no input of the entry has", x->name,
                       (long long)x->bound);
}

/* Transformed filters are made by a copy, and read by convolutions and kernels of them. */
static bool rule_winograd(Verifier *v, const Op *op) {
  const bool conv = op->kind == OP_CONV || op->kind == OP_CONV_INPUT_GRAD;
  for (int i = 0; i < op->noperands; i++) {
    const Value *x = value_at(v->e, op->operands[i]);
    if (!x->layout || !x->layout->winograd || op->kind == OP_KERNEL) continue;
    if (!conv || i != 1)
      return verify_failed(v, op, "reads %s, which holds filters transformed for a convolution",
                           value_str(v->e, op->operands[i]));
    const ConvGeom c = conv_geom(v->e, op);
    if (!conv_is_dense(&c) || c.x->dtype != DT_F32 || c.f->dtype != DT_F32)
      return verify_failed(
          v, op, "reads transformed filters %s, which are for f32, one group and stride 1",
          value_str(v->e, op->operands[i]));
    const int64_t padding[] = {c.h.lo, c.h.hi, c.w.lo, c.w.hi};
    bool same = true;
    for (int k = 0; x->layout->image && k < 4; k++)
      same &= x->layout->padding->at[k] == padding[k] &&
              (k >= 2 || type_axis(x->layout->image, k) == type_axis(c.x, 2 + k));
    if (!same)
      return verify_failed(v, op, "reads filters %s, transformed for images of other sizes",
                           value_str(v->e, op->operands[i]));
  }
  for (int i = 0; i < op->nresults; i++) {
    const Value *x = value_at(v->e, op->results[i]);
    if (x->layout && x->layout->winograd && op->kind != OP_COPY)
      return verify_failed(v, op, "gives %s in a layout that only a copy makes",
                           value_str(v->e, op->results[i]));
  }
  return true;
}

/* The value of a load or store has the global's type and layout. */
static bool rule_global(Verifier *v, const Op *op) {
  if (op_info[op->kind].cls != CLASS_GLOBAL) return true;
  int64_t g = op->attr[AT_GLOBAL].i;
  if (g < 0 || g >= v->m->globals.n)
    return verify_failed(v, op, "names global %lld of %u", (long long)g, v->m->globals.n);
  const Global *global = &v->m->globals.at[g];
  if (v->min_depth)
    return verify_failed(v, op, "touches @%s inside a kernel: it must come in as an operand",
                         global->path);
  if (v->block_depth > 1)
    return verify_failed(v, op,
                         "touches @%s inside a loop: load it before, and carry what it becomes",
                         global->path);
  bool store = op->kind == OP_STORE;
  const Value *x = value_at(v->e, store ? op->operands[0] : op->results[0]);
  if (x->type != global->type)
    return verify_failed(v, op, "%s @%s as %s, but it is %s", store ? "stores" : "loads",
                         global->path, type_str(v->m->ctx, x->type),
                         type_str(v->m->ctx, global->type));
  if (x->layout != global->layout)
    return verify_failed(v, op, "%s @%s in another layout than it has", store ? "stores" : "loads",
                         global->path);
  if (store && global->kind == GLOBAL_HYPER)
    return verify_failed(v, op, "stores the hyperparameter @%s", global->path);
  if (store && global->table) return verify_failed(v, op, "stores the table @%s", global->path);
  uint32_t *loaded = &v->seen[g * ACCESSES + LOADED], *stored = &v->seen[g * ACCESSES + STORED];
  if (!store && *loaded == v->stamp)
    return verify_failed(v, op, "loads @%s again in its block", global->path);
  if (!store && *stored == v->stamp)
    return verify_failed(v, op, "loads @%s after its store", global->path);
  if (store && *stored == v->stamp)
    return verify_failed(v, op, "stores @%s again in its block", global->path);
  *(store ? stored : loaded) = v->stamp;
  return true;
}

static bool rule_return(Verifier *v, const Op *op) {
  if (op->kind != OP_RETURN) return true;
  const char *names = op->attr[AT_NAMES].str;
  int n = names != NULL;
  for (const char *p = names; p && *p; p++) n += *p == ',';
  if (n != op->noperands)
    return verify_failed(v, op, "returns %d values, but names %d", op->noperands, n);
  const char *how = op->attr[AT_AGGREGATES].str;
  if (how && aggregates_read(how, NULL, 0) != n)
    return verify_failed(v, op, "returns %d values, but \"%s\" are not so many aggregates", n, how);
  return true;
}

/* Each result is the gradient with respect to an operand, and has its type. */
static bool rule_grad(Verifier *v, const Op *op) {
  if (op->kind != OP_GRAD) return true;
  if (op->noperands < 2 || op->nresults != op->noperands - 1)
    return verify_failed(
        v, op,
        "has %d operands and %d results; it takes a loss and values, and gives one "
        "gradient a value",
        op->noperands, op->nresults);
  for (int i = 0; i < op->noperands; i++) {
    const Type *t = value_type(v->e, op->operands[i]);
    if (!dtype_is_float(t->dtype) || (i == 0 && t->rank > 0))
      return verify_failed(v, op, "has %s of type %s as %s", value_str(v->e, op->operands[i]),
                           tstr(v, op->operands[i]),
                           i ? "a value: it must be a float"
                             : "its loss: it must be a scalar float");
    if (i && value_type(v->e, op->results[i - 1]) != t)
      return verify_failed(v, op, "gives %s of type %s for %s of type %s",
                           value_str(v->e, op->results[i - 1]), tstr(v, op->results[i - 1]),
                           value_str(v->e, op->operands[i]), tstr(v, op->operands[i]));
  }
  return true;
}

static bool rule_kernel(Verifier *v, const Op *op) {
  if (op->kind != OP_KERNEL) return true;
  const Block *b = op->blocks[0];
  if (b->args.n != (uint32_t)op->noperands)
    return verify_failed(v, op, "has %d operands, but its block has %u arguments", op->noperands,
                         b->args.n);
  for (uint32_t i = 0; i < b->args.n; i++) {
    if (b->args.at[i] >= v->e->values.n)
      return verify_failed(v, op, "has an argument that does not exist");
    const Value *x = value_at(v->e, op->operands[i]), *y = value_at(v->e, b->args.at[i]);
    if (x->type != y->type || x->layout != y->layout)
      return verify_failed(v, op,
                           "passes %s as operand %u, but argument %s is of another type or layout",
                           value_str(v->e, op->operands[i]), i, value_str(v->e, b->args.at[i]));
  }
  const Op *y = b->ops.n && b->ops.at[b->ops.n - 1] < v->e->ops.n
                    ? op_at(v->e, b->ops.at[b->ops.n - 1])
                    : NULL;
  if (!y || y->kind != OP_YIELD)
    return verify_failed(v, op, "has a block that does not end in yield");
  if (y->noperands != op->nresults)
    return verify_failed(v, op, "has %d results, but its block yields %d", op->nresults,
                         y->noperands);
  for (int i = 0; i < y->noperands; i++)
    if (y->operands[i] < v->e->values.n &&
        value_type(v->e, y->operands[i]) != value_type(v->e, op->results[i]))
      return verify_failed(v, op, "has result %s of type %s, but its block yields %s",
                           value_str(v->e, op->results[i]), tstr(v, op->results[i]),
                           tstr(v, y->operands[i]));
  return true;
}

static const Op *yield_of(const Verifier *v, const Block *b) {
  OpId last = b->ops.n ? b->ops.at[b->ops.n - 1] : NO_ID;
  const Op *op = last < v->e->ops.n ? op_at(v->e, last) : NULL;
  return op && op->kind == OP_YIELD ? op : NULL;
}

/* The type is [trips, …] of rows of the other. */
static bool stacks(const Type *t, int64_t trips, const Type *row) {
  bool same = t->dtype == row->dtype && t->rank == row->rank + 1 && type_axis(t, 0) == trips;
  for (int i = 0; same && i < row->rank; i++) same = type_axis(t, i + 1) == type_axis(row, i);
  return same;
}

/* Compares an operand with an argument, or a result with a yield, of a scan. */
static bool scan_pair(Verifier *v, const Op *op, const char *what, ValueId outer, ValueId inner,
                      bool stacked) {
  if (outer >= v->e->values.n || inner >= v->e->values.n)
    return verify_failed(v, op, "has a value that does not exist");
  const Value *x = value_at(v->e, outer), *y = value_at(v->e, inner);
  bool fits = stacked ? stacks(x->type, scan_axis(v->e, op), y->type) && !x->layout && !y->layout
                      : x->type == y->type && x->layout == y->layout;
  if (fits) return true;
  return verify_failed(v, op, "has the %s %s of type %s, but %s is of type %s%s", what,
                       value_str(v->e, outer), tstr(v, outer), value_str(v->e, inner),
                       tstr(v, inner),
                       stacked ? ", which is not a slice of it" : " or of another layout");
}

static bool rule_scan(Verifier *v, const Op *op) {
  if (op->kind != OP_SCAN) return true;
  const Block *b = op->blocks[0];
  const Op *y = yield_of(v, b);
  int64_t trips = op->attr[AT_TRIPS].i, n = op->attr[AT_CARRIES].i;
  if (trips < 1 || trips > INT32_MAX)
    return verify_failed(v, op, "makes %lld iterations; it makes 1 to 2^31 - 1", (long long)trips);
  const Extent *x = scan_extent(v->e, op);
  if (op->attr[AT_EXTENT].str && (!x || trips % x->bound))
    return verify_failed(v, op,
                         "makes %lld iterations, which are no multiple of an extent %s of an input",
                         (long long)trips, op->attr[AT_EXTENT].str);
  if (n < 0 || n > op->noperands || n > op->nresults)
    return verify_failed(v, op, "has %lld carries, but %d operands and %d results", (long long)n,
                         op->noperands, op->nresults);
  if (b->args.n != (uint32_t)op->noperands + 1)
    return verify_failed(v, op, "has %d operands, but its block has %u arguments; one counts",
                         op->noperands, b->args.n);
  if (!y) return verify_failed(v, op, "has a block that does not end in yield");
  if (y->noperands != op->nresults)
    return verify_failed(v, op, "has %d results, but its block yields %d", op->nresults,
                         y->noperands);
  const Type *count = b->args.at[0] < v->e->values.n ? value_type(v->e, b->args.at[0]) : NULL;
  if (count != type_scalar(v->m->ctx, DT_I32))
    return verify_failed(v, op, "has a counter that is not i32[]");
  for (int i = 0; i < op->noperands; i++)
    if (!scan_pair(v, op, "operand", op->operands[i], b->args.at[i + 1], i >= n)) return false;
  for (int i = 0; i < op->nresults; i++)
    if (!scan_pair(v, op, "result", op->results[i], y->operands[i], i >= n)) return false;
  return true;
}

typedef bool OpRule(Verifier *v, const Op *op);
static OpRule *const op_rules[] = {rule_counts, rule_uses,    rule_results, rule_attrs,
                                   rule_shape,  rule_extents, rule_global,  rule_return,
                                   rule_grad,   rule_kernel,  rule_scan,    rule_winograd};

bool verify_rules(Verifier *v, const Op *op) {
  for (size_t i = 0; i < sizeof op_rules / sizeof op_rules[0]; i++)
    if (!op_rules[i](v, op)) return false;
  return true;
}
