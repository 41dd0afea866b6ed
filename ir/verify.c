/* The verifier: checks the invariants of ir.h after any pass.
   Contract: reports every invalid op once, through diag without a location, as "after pass NAME: in
   entry E: op %12 matmul at mlp.g:4:7: …". It changes nothing, and accepts dangling ids as input.
   The rules are a table; time is linear in values, ops and uses. */
#include "ir.h"
#include "ir/eval/interp.h"
#include "ir/op/window.h"

#include <stdarg.h>

typedef struct Verifier {
  const Module *m;
  const Entry *e;
  const char *after;
  Arena *scratch;  /* of the entry at hand */
  int *depth;      /* by value: 1 + depth of the block that defines it; 0: out of scope */
  bool *placed;    /* by op: seen in a block */
  uint32_t *seen;  /* by global and by kind of access: stamp of the last block that did it */
  uint32_t stamp;  /* of the current block */
  uint32_t stamps; /* the last stamp */
  int block_depth; /* of the current block; the body has 1 */
  int min_depth;   /* of values that may be used here: kernels are isolated from above */
  bool ok, op_failed;
} Verifier;

enum { LOADED, STORED, ACCESSES };

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

/* Reports the first violation of an op only. */
__attribute__((format(printf, 3, 4))) static bool bad(Verifier *v, const Op *op, const char *fmt,
                                                      ...) {
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

static bool rule_counts(Verifier *v, const Op *op) {
  const OpInfo *i = &op_info[op->kind];
  if (op->noperands < 0 || (i->operands >= 0 && op->noperands != i->operands))
    return bad(v, op, "has %d operands, not %d", op->noperands, i->operands);
  if (op->nresults < 0 || (i->results >= 0 && op->nresults != i->results))
    return bad(v, op, "has %d results, not %d", op->nresults, i->results);
  if (op->kind == OP_ALL_REDUCE && (!op->noperands || op->nresults != op->noperands))
    return bad(v, op, "has %d operands and %d results", op->noperands, op->nresults);
  if (op->kind == OP_COLLECTIVE_BROADCAST && v->e->ranks && op->attr[AT_ROOT].i >= v->e->ranks)
    return bad(v, op, "is of rank %lld, and there are %d", (long long)op->attr[AT_ROOT].i,
               v->e->ranks);
  if (op->nblocks != i->blocks) return bad(v, op, "has %d blocks, not %d", op->nblocks, i->blocks);
  if (!op->scope) return bad(v, op, "has no scope, not even an empty one");
  return true;
}

static bool rule_uses(Verifier *v, const Op *op) {
  for (int i = 0; i < op->noperands; i++) {
    ValueId x = op->operands[i];
    if (x >= v->e->values.n)
      return bad(v, op, "operand %d is value %u, which does not exist", i, x);
    if (v->depth[x] == 0)
      return bad(v, op, "uses %s, which is not defined before it", value_str(v->e, x));
    if (v->depth[x] < v->min_depth)
      return bad(v, op, "uses %s from outside its kernel", value_str(v->e, x));
  }
  return true;
}

static bool value_ok(Verifier *v, const Op *op, ValueId id, OpId def, uint32_t index) {
  if (id >= v->e->values.n) return bad(v, op, "defines value %u, which does not exist", id);
  const Value *x = value_at(v->e, id);
  if (x->def != def || x->index != index || (def == NO_ID) != (x->block != NULL))
    return bad(v, op, "defines %s, which says it comes from elsewhere", value_str(v->e, id));
  if (v->depth[id]) return bad(v, op, "defines %s again", value_str(v->e, id));
  if (!x->type) return bad(v, op, "defines %s without a type", value_str(v->e, id));
  uint64_t bytes;
  if (!layout_fits(x->type, x->layout) || !layout_bytes(x->type, x->layout, &bytes))
    return bad(v, op, "gives %s of type %s a layout that does not fit it", value_str(v->e, id),
               tstr(v, id));
  return true;
}

static bool rule_results(Verifier *v, const Op *op) {
  for (int i = 0; i < op->nresults; i++)
    if (!value_ok(v, op, op->results[i], op->id, (uint32_t)i)) return false;
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
      ok = bad(v, op, "%s", why);
    else if (t != have)
      ok = bad(v, op, "has type %s, but its rule gives %s", type_str(v->m->ctx, have),
               type_str(v->m->ctx, t));
  }
  return ok;
}

static bool rule_attrs(Verifier *v, const Op *op) {
  const OpInfo *info = &op_info[op->kind];
  for (int i = 0; i < MAX_ATTRS; i++) {
    const AttrSpec *s = &info->attr[i];
    Attr a = op->attr[i];
    if (s->kind == ATTR_NONE && a.i) return bad(v, op, "has an attribute in the unused slot %d", i);
    if (s->kind == ATTR_BOOL && a.i != 0 && a.i != 1)
      return bad(v, op, "attribute %s is %lld, not 0 or 1", s->name, (long long)a.i);
    if (s->kind != ATTR_NUM || op->nresults == 0) continue;
    Dtype dt = value_type(v->e, op->results[0])->dtype;
    Scalar r = scalar_round((Scalar){.i = a.i}, dt, INTERP_DTYPE);
    bool nan = dtype_is_float(dt) && a.f != a.f; /* any NaN will do */
    if (!nan && r.i != a.i)
      return bad(v, op, "attribute %s is not a value of %s", s->name, dtype_name(dt));
  }
  return true;
}

/* Every extent is that of an input. An axis of an input is a multiple of one. */
static bool rule_extents(Verifier *v, const Op *op) {
  for (int i = 0; i < op->nresults; i++) {
    const Type *t = value_type(v->e, op->results[i]);
    for (int k = 0; k < t->rank; k++)
      if (type_extent(t, k) && !entry_has_extent(v->e, t->extent[k]))
        return bad(v, op, "has extent %s, which no input of the entry has", t->extent[k]->name);
  }
  if (op->kind != OP_EXTENT) return true;
  const Extent *x = extent_get(v->m->ctx, op->attr[AT_NAME].str, op->attr[AT_BOUND].i);
  if (entry_extent(v->e, x) >= 0) return true;
  return bad(v, op, "is %s of at most %lld, which no input of the entry has", x->name,
             (long long)x->bound);
}

/* Transformed filters are made by a copy, and read by convolutions and kernels of them. */
static bool rule_winograd(Verifier *v, const Op *op) {
  const bool conv = op->kind == OP_CONV || op->kind == OP_CONV_INPUT_GRAD;
  for (int i = 0; i < op->noperands; i++) {
    const Value *x = value_at(v->e, op->operands[i]);
    if (!x->layout || !x->layout->winograd || op->kind == OP_KERNEL) continue;
    if (!conv || i != 1)
      return bad(v, op, "reads %s, which holds filters transformed for a convolution",
                 value_str(v->e, op->operands[i]));
    const ConvGeom c = conv_geom(v->e, op);
    if (!conv_is_dense(&c) || c.x->dtype != DT_F32 || c.f->dtype != DT_F32)
      return bad(v, op, "reads transformed filters %s, which are for f32, one group and stride 1",
                 value_str(v->e, op->operands[i]));
  }
  for (int i = 0; i < op->nresults; i++) {
    const Value *x = value_at(v->e, op->results[i]);
    if (x->layout && x->layout->winograd && op->kind != OP_COPY)
      return bad(v, op, "gives %s in a layout that only a copy makes",
                 value_str(v->e, op->results[i]));
  }
  return true;
}

/* The value of a load or store has the global's type and layout. */
static bool rule_global(Verifier *v, const Op *op) {
  if (op_info[op->kind].cls != CLASS_GLOBAL) return true;
  int64_t g = op->attr[AT_GLOBAL].i;
  if (g < 0 || g >= v->m->globals.n)
    return bad(v, op, "names global %lld of %u", (long long)g, v->m->globals.n);
  const Global *global = &v->m->globals.at[g];
  if (v->min_depth)
    return bad(v, op, "touches @%s inside a kernel: it must come in as an operand", global->path);
  if (v->block_depth > 1)
    return bad(v, op, "touches @%s inside a loop: load it before, and carry what it becomes",
               global->path);
  bool store = op->kind == OP_STORE;
  const Value *x = value_at(v->e, store ? op->operands[0] : op->results[0]);
  if (x->type != global->type)
    return bad(v, op, "%s @%s as %s, but it is %s", store ? "stores" : "loads", global->path,
               type_str(v->m->ctx, x->type), type_str(v->m->ctx, global->type));
  if (x->layout != global->layout)
    return bad(v, op, "%s @%s in another layout than it has", store ? "stores" : "loads",
               global->path);
  if (store && global->kind == GLOBAL_HYPER)
    return bad(v, op, "stores the hyperparameter @%s", global->path);
  uint32_t *loaded = &v->seen[g * ACCESSES + LOADED], *stored = &v->seen[g * ACCESSES + STORED];
  if (!store && *loaded == v->stamp)
    return bad(v, op, "loads @%s again in its block", global->path);
  if (!store && *stored == v->stamp) return bad(v, op, "loads @%s after its store", global->path);
  if (store && *stored == v->stamp)
    return bad(v, op, "stores @%s again in its block", global->path);
  *(store ? stored : loaded) = v->stamp;
  return true;
}

static bool rule_return(Verifier *v, const Op *op) {
  if (op->kind != OP_RETURN) return true;
  const char *names = op->attr[AT_NAMES].str;
  int n = names != NULL;
  for (const char *p = names; p && *p; p++) n += *p == ',';
  if (n != op->noperands) return bad(v, op, "returns %d values, but names %d", op->noperands, n);
  const char *how = op->attr[AT_AGGREGATES].str;
  if (how && aggregates_read(how, NULL, 0) != n)
    return bad(v, op, "returns %d values, but \"%s\" are not so many aggregates", n, how);
  return true;
}

/* Each result is the gradient with respect to an operand, and has its type. */
static bool rule_grad(Verifier *v, const Op *op) {
  if (op->kind != OP_GRAD) return true;
  if (op->noperands < 2 || op->nresults != op->noperands - 1)
    return bad(v, op,
               "has %d operands and %d results; it takes a loss and values, and gives one "
               "gradient a value",
               op->noperands, op->nresults);
  for (int i = 0; i < op->noperands; i++) {
    const Type *t = value_type(v->e, op->operands[i]);
    if (!dtype_is_float(t->dtype) || (i == 0 && t->rank > 0))
      return bad(v, op, "has %s of type %s as %s", value_str(v->e, op->operands[i]),
                 tstr(v, op->operands[i]),
                 i ? "a value: it must be a float" : "its loss: it must be a scalar float");
    if (i && value_type(v->e, op->results[i - 1]) != t)
      return bad(v, op, "gives %s of type %s for %s of type %s",
                 value_str(v->e, op->results[i - 1]), tstr(v, op->results[i - 1]),
                 value_str(v->e, op->operands[i]), tstr(v, op->operands[i]));
  }
  return true;
}

static bool rule_kernel(Verifier *v, const Op *op) {
  if (op->kind != OP_KERNEL) return true;
  const Block *b = op->blocks[0];
  if (b->args.n != (uint32_t)op->noperands)
    return bad(v, op, "has %d operands, but its block has %u arguments", op->noperands, b->args.n);
  for (uint32_t i = 0; i < b->args.n; i++) {
    if (b->args.at[i] >= v->e->values.n) return bad(v, op, "has an argument that does not exist");
    const Value *x = value_at(v->e, op->operands[i]), *y = value_at(v->e, b->args.at[i]);
    if (x->type != y->type || x->layout != y->layout)
      return bad(v, op, "passes %s as operand %u, but argument %s is of another type or layout",
                 value_str(v->e, op->operands[i]), i, value_str(v->e, b->args.at[i]));
  }
  const Op *y = b->ops.n && b->ops.at[b->ops.n - 1] < v->e->ops.n
                    ? op_at(v->e, b->ops.at[b->ops.n - 1])
                    : NULL;
  if (!y || y->kind != OP_YIELD) return bad(v, op, "has a block that does not end in yield");
  if (y->noperands != op->nresults)
    return bad(v, op, "has %d results, but its block yields %d", op->nresults, y->noperands);
  for (int i = 0; i < y->noperands; i++)
    if (y->operands[i] < v->e->values.n &&
        value_type(v->e, y->operands[i]) != value_type(v->e, op->results[i]))
      return bad(v, op, "has result %s of type %s, but its block yields %s",
                 value_str(v->e, op->results[i]), tstr(v, op->results[i]), tstr(v, y->operands[i]));
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
    return bad(v, op, "has a value that does not exist");
  const Value *x = value_at(v->e, outer), *y = value_at(v->e, inner);
  bool fits = stacked ? stacks(x->type, scan_axis(v->e, op), y->type) && !x->layout && !y->layout
                      : x->type == y->type && x->layout == y->layout;
  if (fits) return true;
  return bad(v, op, "has the %s %s of type %s, but %s is of type %s%s", what,
             value_str(v->e, outer), tstr(v, outer), value_str(v->e, inner), tstr(v, inner),
             stacked ? ", which is not a slice of it" : " or of another layout");
}

static bool rule_scan(Verifier *v, const Op *op) {
  if (op->kind != OP_SCAN) return true;
  const Block *b = op->blocks[0];
  const Op *y = yield_of(v, b);
  int64_t trips = op->attr[AT_TRIPS].i, n = op->attr[AT_CARRIES].i;
  if (trips < 1 || trips > INT32_MAX)
    return bad(v, op, "makes %lld iterations; it makes 1 to 2^31 - 1", (long long)trips);
  const Extent *x = scan_extent(v->e, op);
  if (op->attr[AT_EXTENT].str && (!x || trips % x->bound))
    return bad(v, op, "makes %lld iterations, which are no multiple of an extent %s of an input",
               (long long)trips, op->attr[AT_EXTENT].str);
  if (n < 0 || n > op->noperands || n > op->nresults)
    return bad(v, op, "has %lld carries, but %d operands and %d results", (long long)n,
               op->noperands, op->nresults);
  if (b->args.n != (uint32_t)op->noperands + 1)
    return bad(v, op, "has %d operands, but its block has %u arguments; one counts", op->noperands,
               b->args.n);
  if (!y) return bad(v, op, "has a block that does not end in yield");
  if (y->noperands != op->nresults)
    return bad(v, op, "has %d results, but its block yields %d", op->nresults, y->noperands);
  const Type *count = b->args.at[0] < v->e->values.n ? value_type(v->e, b->args.at[0]) : NULL;
  if (count != type_scalar(v->m->ctx, DT_I32)) return bad(v, op, "has a counter that is not i32[]");
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

/* ---- blocks ---- */

static void verify_block(Verifier *v, const Block *b, const Op *owner);

static void verify_nested(Verifier *v, const Op *op) {
  int min_depth = v->min_depth;
  uint32_t stamp = v->stamp;
  for (int i = 0; i < op->nblocks; i++) {
    if (op->kind == OP_KERNEL) v->min_depth = v->block_depth + 1;
    v->stamp = ++v->stamps;
    verify_block(v, op->blocks[i], op);
  }
  v->min_depth = min_depth;
  v->stamp = stamp;
}

static void verify_op(Verifier *v, const Block *b, uint32_t at) {
  OpId id = b->ops.at[at];
  if (id >= v->e->ops.n) {
    bad(v, NULL, "a block holds op %u of %u", id, v->e->ops.n);
    return;
  }
  const Op *op = op_at(v->e, id);
  v->op_failed = false;
  if (op->id != id || (unsigned)op->kind >= OP_KINDS) {
    bad(v, NULL, "op %u says that it is op %u of kind %d", id, op->id, (int)op->kind);
    return;
  }
  if (v->placed[id]) {
    bad(v, op, "stands in a block twice");
    return;
  }
  v->placed[id] = true;
  bool ends = op_info[op->kind].flags & OPF_TERMINATOR, ok = true;
  if (op->parent != b)
    ok = bad(v, op, "says that it is in another block");
  else if (ends && at + 1 < b->ops.n)
    ok = bad(v, op, "ends its block, but ops follow it");
  else if (!ends && at + 1 == b->ops.n)
    ok = bad(v, op, "is the last of its block, which must end in %s", b->op ? "yield" : "return");
  else if (ends && op->kind != (b->op ? OP_YIELD : OP_RETURN))
    ok = bad(v, op, "ends a block that must end in %s", b->op ? "yield" : "return");
  for (size_t i = 0; ok && i < sizeof op_rules / sizeof op_rules[0]; i++) ok = op_rules[i](v, op);
  if (ok) verify_nested(v, op);
  for (int i = 0; i < op->nresults; i++)
    if (op->results[i] < v->e->values.n) v->depth[op->results[i]] = v->block_depth;
}

static void verify_block(Verifier *v, const Block *b, const Op *owner) {
  v->block_depth++;
  if (b->op != owner) bad(v, owner, "has a block that belongs to another op");
  if (b->ops.n == 0) bad(v, owner, "has an empty block");
  v->op_failed = false;
  for (uint32_t i = 0; i < b->args.n; i++)
    if (value_ok(v, owner, b->args.at[i], NO_ID, i)) v->depth[b->args.at[i]] = v->block_depth;
  for (uint32_t i = 0; i < b->ops.n; i++) verify_op(v, b, i);
  if (owner) { /* values of a nested block are out of scope after it */
    for (uint32_t i = 0; i < b->args.n; i++)
      if (b->args.at[i] < v->e->values.n) v->depth[b->args.at[i]] = 0;
    for (uint32_t i = 0; i < b->ops.n; i++) {
      if (b->ops.at[i] >= v->e->ops.n) continue;
      const Op *op = op_at(v->e, b->ops.at[i]);
      for (int k = 0; k < op->nresults; k++)
        if (op->results[k] < v->e->values.n) v->depth[op->results[k]] = 0;
    }
  }
  v->block_depth--;
}

/* ---- entries and modules ---- */

static void verify_entry(Verifier *v, const Entry *e) {
  v->e = e;
  if (e->module != v->m) bad(v, NULL, "the entry belongs to another module");
  if (!e->body || e->body->op) {
    bad(v, NULL, "the entry has no body of its own");
    return;
  }
  v->scratch = arena_new();
  v->depth = ARENA_ARRAY(v->scratch, int, e->values.n);
  v->placed = ARENA_ARRAY(v->scratch, bool, e->ops.n);
  v->seen = ARENA_ARRAY(v->scratch, uint32_t, (size_t)v->m->globals.n * ACCESSES);
  v->stamp = v->stamps = 1;
  v->block_depth = 0;
  v->min_depth = 0;
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    ValueId x = e->body->args.at[i];
    const Type *t = x < e->values.n ? value_type(e, x) : NULL;
    for (int k = 0; t && k < t->rank; k++)
      if (type_extent(t, k) && (t->extent[k]->nfactors > 1 || t->extent[k]->whole))
        bad(v, NULL, "input %u has the %s %s as an axis", i,
            t->extent[k]->whole ? "part" : "product", t->extent[k]->name);
  }
  verify_block(v, e->body, NULL);
  for (uint32_t i = 0; i < e->ops.n && v->ok; i++)
    if (!v->placed[i]) bad(v, op_at(e, i), "stands in no block");
  for (uint32_t i = 0; i < e->values.n && v->ok; i++) {
    const Value *x = value_at(e, i);
    if (x->def != NO_ID && x->def >= e->ops.n)
      bad(v, NULL, "value %u is defined by op %u of %u", i, x->def, e->ops.n);
  }
  arena_free(v->scratch);
  v->e = NULL;
}

bool entry_verify(const Entry *e, const char *after) {
  Verifier v = {.m = e->module, .after = after, .ok = true};
  verify_entry(&v, e);
  return v.ok;
}

static void verify_globals(Verifier *v) {
  const Module *m = v->m;
  Ctx *c = m->ctx;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    uint64_t bytes;
    if (!g->path || !g->type) {
      bad(v, NULL, "global %u has no path or no type", i);
      continue;
    }
    if (module_find_global(m, g->path) != (int)i) bad(v, NULL, "@%s is declared twice", g->path);
    if (g->kind == GLOBAL_HYPER && !hyper_is_type(g->type))
      bad(v, NULL, "the hyperparameter @%s is %s, not f32[], i32[] or bool[]", g->path,
          type_str(c, g->type));
    else if (g->kind == GLOBAL_HYPER && !hyper_holds(g->type, g->value))
      bad(v, NULL, "the hyperparameter @%s holds %g, which is not of %s", g->path, g->value,
          type_str(c, g->type));
    int master = g->master ? module_find_global(m, g->master) : -1;
    if (g->master && (master < 0 || !global_is_copy(g, &m->globals.at[master])))
      bad(v, NULL, "@%s is no copy of a param @%s", g->path, g->master);
    if (!layout_fits(g->type, g->layout) || !layout_bytes(g->type, g->layout, &bytes))
      bad(v, NULL, "@%s of type %s has a layout that does not fit it", g->path,
          type_str(c, g->type));
  }
}

/* An entry stores a copy when it stores its master, and only then. Of all ranks' runs an entry that
   trains has no copy but the one that it makes, and `gather` stores every one. */
static void verify_copies(Verifier *v, const Entry *e, const bool *loaded, const bool *stored) {
  const Module *m = v->m;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    if (!g->master) continue;
    if (global_gathered(m, (int)i) >= 0) {
      v->e = e;
      if (e->training && loaded[i])
        bad(v, NULL, "@%s is loaded where @%s trains", g->path, g->master);
      if (e == m->gather && !stored[i]) bad(v, NULL, "gather does not set @%s", g->path);
      continue;
    }
    bool of = stored[module_find_global(m, g->master)];
    if (of != stored[i])
      v->e = e,
      bad(v, NULL, "@%s is stored without @%s", of ? g->master : g->path, of ? g->path : g->master);
  }
}

/* If there is an init entry, it stores every param and state. Modules of tests may have none. */
static void verify_init(Verifier *v, const bool *stored) {
  const Module *m = v->m;
  v->e = m->init;
  if (m->init->body->args.n) bad(v, NULL, "init has inputs");
  for (uint32_t i = 0; i < m->globals.n; i++)
    if (!stored[i] && m->globals.at[i].kind != GLOBAL_HYPER && global_gathered(m, (int)i) < 0)
      bad(v, NULL, "init does not set @%s", m->globals.at[i].path);
}

static void verify_stores(Verifier *v) {
  const Module *m = v->m;
  Arena *scratch = arena_new();
  const Entry *e;
  for (uint32_t k = 0; (e = module_entry(m, k)); k++) {
    bool *stored = ARENA_ARRAY(scratch, bool, m->globals.n + 1);
    bool *loaded = ARENA_ARRAY(scratch, bool, m->globals.n + 1);
    for (uint32_t i = 0; i < e->body->ops.n; i++) {
      const Op *op = op_at(e, e->body->ops.at[i]);
      if (op->kind == OP_STORE) stored[op->attr[AT_GLOBAL].i] = true;
      if (op->kind == OP_LOAD) loaded[op->attr[AT_GLOBAL].i] = true;
    }
    verify_copies(v, e, loaded, stored);
    if (e == m->init) verify_init(v, stored);
    if (e == m->gather && e->body->args.n) bad(v, NULL, "gather has inputs");
  }
  arena_free(scratch);
}

/* Entries are few, so pairs are compared. */
static void verify_names(Verifier *v) {
  const Module *m = v->m;
  for (uint32_t i = 0; i < m->entries.n; i++) {
    if (m->entries.at[i] == m->init) bad(v, NULL, "init is among the entries");
    if (m->entries.at[i] == m->gather) bad(v, NULL, "gather is among the entries");
    for (uint32_t k = 0; k < i; k++)
      if (strcmp(m->entries.at[i]->name, m->entries.at[k]->name) == 0)
        bad(v, NULL, "there are two entries %s", m->entries.at[i]->name);
  }
}

bool module_verify(const Module *m, const char *after) {
  Verifier v = {.m = m, .after = after, .ok = true};
  verify_globals(&v);
  verify_names(&v);
  if (!v.ok) return false;
  for (uint32_t i = 0; module_entry(m, i); i++) verify_entry(&v, module_entry(m, i));
  if (v.ok) verify_stores(&v);
  return v.ok;
}
