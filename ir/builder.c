/* The builder: appends ops to a block, folds and hash-conses (cons.h) pure ones; convenience forms.
   Contract: a built op satisfies its shape rule, or it is an internal error. Attributes of kind
   ATTR_NUM are rounded to the dtype. Effects, copies, ops with blocks or several results never
   merge. */
#include "ir/cons.h"
#include "ir/eval/interp.h"
#include "ir/fold/fold.h"

Builder *builder_new(Entry *e, Block *b) {
  Builder *r = ARENA_NEW(e->module->arena, Builder);
  *r = (Builder){.m = e->module, .e = e, .b = b, .scope = intern(e->module->ctx, ""), .fold = true};
  return r;
}

void builder_at(Builder *b, Block *block) { b->b = block; }

void builder_like(Builder *b, const Op *op) {
  b->loc = op->loc;
  b->scope = op->scope;
  b->backward = op->backward;
}

/* ---- appending ---- */

static bool round_num(const OpInfo *info, Attr attr[MAX_ATTRS], const Type *t) {
  bool any = false;
  for (int i = 0; i < MAX_ATTRS; i++)
    if (info->attr[i].kind == ATTR_NUM) {
      attr[i].i = scalar_round((Scalar){.i = attr[i].i}, t->dtype, INTERP_DTYPE).i;
      any = true;
    }
  return any;
}

Op *build_op(Builder *b, OpKind k, const ValueId *operands, int n, const Attr *attr,
             const Type *const *types, int nresults) {
  Arena *a = b->m->arena;
  Entry *e = b->e;
  Op *op = ARENA_NEW(a, Op);
  *op = (Op){.kind = k,
             .id = e->ops.n,
             .noperands = n,
             .nresults = nresults,
             .parent = b->b,
             .loc = b->loc,
             .scope = b->scope,
             .backward = b->backward,
             .nblocks = op_info[k].blocks};
  ValueId *ids = ARENA_ARRAY(a, ValueId, n + nresults);
  for (int i = 0; i < n; i++) {
    if (operands[i] >= e->values.n)
      gc_bug(b->m->ctx, "%s is built on value %u, which does not exist", op_info[k].name,
             operands[i]);
    ids[i] = operands[i];
  }
  op->operands = ids;
  op->results = ids + n;
  if (attr) memcpy(op->attr, attr, sizeof op->attr);
  if (nresults) round_num(&op_info[k], op->attr, types[0]);
  for (int i = 0; i < nresults; i++) {
    Value v = {
        .type = types[i], .name = i == 0 ? b->name : NULL, .def = op->id, .index = (uint32_t)i};
    ids[n + i] = e->values.n;
    vec_push(a, &e->values, v);
  }
  b->name = NULL;
  if (op->nblocks) {
    op->blocks = ARENA_ARRAY(a, Block *, op->nblocks);
    for (int i = 0; i < op->nblocks; i++) {
      op->blocks[i] = ARENA_NEW(a, Block);
      op->blocks[i]->op = op;
    }
  }
  vec_push(a, &e->ops, op);
  vec_push(a, &b->b->ops, op->id);
  return op;
}

/* The type of a result by the op's rule; a contradiction names the operands' types. */
static const Type *result_type(Builder *b, OpKind k, int result, const ValueId *x, int n,
                               const Attr *attr, const Type *given) {
  const Type *small[SMALL_OPERANDS] = {NULL};
  const Type **types = n <= SMALL_OPERANDS ? small : ARENA_ARRAY(b->m->arena, const Type *, n);
  for (int i = 0; i < n; i++) {
    if (x[i] >= b->e->values.n)
      gc_bug(b->m->ctx, "%s is built on value %u, which does not exist", op_info[k].name, x[i]);
    types[i] = value_type(b->e, x[i]);
  }
  char why[WHY_BYTES];
  const Type *t = op_shape_of(b->m->ctx, k, result, types, n, attr, given, why);
  bool bounded = given && given->extent;
  for (int i = 0; i < n; i++) bounded |= types[i]->extent != NULL;
  if (!t && bounded && (given || n)) { /* what needs a static extent: any type, after the error */
    if (!ctx_errors(b->m->ctx)) diag(b->m->ctx, SEV_ERROR, b->loc, "%s", why);
    return given ? given : types[0];
  }
  if (!t)
    gc_bug(b->m->ctx, "building %s at %s in entry %s: %s", op_info[k].name,
           loc_str(b->m->ctx, b->loc), b->e->name, why);
  return t;
}

Op *build_several(Builder *b, OpKind k, const ValueId *operands, int n, const Attr *attr) {
  const Type *small[SMALL_OPERANDS] = {NULL};
  int results = op_info[k].results;
  const Type **types =
      results <= SMALL_OPERANDS ? small : ARENA_ARRAY(b->m->arena, const Type *, results);
  for (int i = 0; i < results; i++) types[i] = result_type(b, k, i, operands, n, attr, NULL);
  return build_op(b, k, operands, n, attr, types, results);
}

/* The user's name goes to a value that has none; constants are shared and stay numbers. */
static ValueId give_name(Builder *b, ValueId v) {
  Value *value = value_at(b->e, v);
  const Op *def = value_def(b->e, v);
  if (b->name && !value->name && !(def && def->kind == OP_CONST)) value->name = b->name;
  b->name = NULL;
  return v;
}

ValueId build(Builder *b, OpKind k, const ValueId *operands, int n, const Attr *attr,
              const Type *type) {
  const OpInfo *info = &op_info[k];
  if (info->results > 1) return build_several(b, k, operands, n, attr)->results[0];
  const Type *t = result_type(b, k, 0, operands, n, attr, type);
  Attr own[MAX_ATTRS] = {0};
  if (attr) memcpy(own, attr, sizeof own);
  round_num(info, own, t);
  /* loads are merged even without folding, since a block may hold only one of each global */
  if (!cons_merges(k) || !(b->fold || k == OP_LOAD))
    return build_op(b, k, operands, n, own, &t, 1)->results[0];

  ValueId swapped[2];
  if (b->fold && n == 2 && fold_commutes(k, value_type(b->e, operands[0]))) {
    Attr c;
    bool c0 = value_const(b->e, operands[0], &c), c1 = value_const(b->e, operands[1], &c);
    if (c0 != c1 ? c0 : operands[0] > operands[1]) {
      swapped[0] = operands[1];
      swapped[1] = operands[0];
      operands = swapped;
    }
  }
  if (b->fold) {
    const char *name = b->name; /* not for what the rules build on the way */
    b->name = NULL;
    ValueId v = fold_op(&(Fold){b, b->e, k, n, operands, own, t});
    b->name = name;
    if (v != NO_ID) return give_name(b, v);
  }
  struct ConsTable *table = cons_table(b);
  OpId same = cons_enter(b, table, &(ConsKey){k, operands, n, own, t}, b->e->ops.n);
  if (same < b->e->ops.n) return give_name(b, op_at(b->e, same)->results[0]);
  table->entered++;
  return build_op(b, k, operands, n, own, &t, 1)->results[0];
}

bool value_const(const Entry *e, ValueId v, Attr *out) {
  const Op *op = value_def(e, v);
  if (!op || op->kind != OP_CONST) return false;
  *out = op->attr[AT_VALUE];
  return true;
}

/* ---- convenience ---- */

ValueId build1(Builder *b, OpKind k, ValueId x) { return build(b, k, &x, 1, NULL, NULL); }

ValueId build2(Builder *b, OpKind k, ValueId x, ValueId y) {
  return build(b, k, (ValueId[]){x, y}, 2, NULL, NULL);
}

ValueId build3(Builder *b, OpKind k, ValueId x, ValueId y, ValueId z) {
  return build(b, k, (ValueId[]){x, y, z}, 3, NULL, NULL);
}

ValueId build_const(Builder *b, const Type *t, double v) {
  if (!dtype_is_float(t->dtype)) return build_const_int(b, t, (int64_t)v);
  return build(b, OP_CONST, NULL, 0, (Attr[MAX_ATTRS]){[AT_VALUE] = {.f = v}}, t);
}

ValueId build_const_int(Builder *b, const Type *t, int64_t v) {
  if (dtype_is_float(t->dtype)) return build_const(b, t, (double)v);
  return build(b, OP_CONST, NULL, 0, (Attr[MAX_ATTRS]){[AT_VALUE] = {.i = v}}, t);
}

ValueId build_convert(Builder *b, ValueId x, Dtype dt) {
  const Type *t = value_type(b->e, x);
  if (t->dtype == dt) return give_name(b, x);
  return build(b, OP_CONVERT, &x, 1, NULL, type_with_dtype(b->m->ctx, t, dt));
}

ValueId build_broadcast(Builder *b, ValueId x, const Type *t) {
  if (value_type(b->e, x) == t) return give_name(b, x);
  return build(b, OP_BROADCAST, &x, 1, NULL, t);
}

ValueId build_reshape(Builder *b, ValueId x, const Type *t) {
  if (value_type(b->e, x) == t) return give_name(b, x);
  return build(b, OP_RESHAPE, &x, 1, NULL, t);
}

/* One number an axis: `at` for this one, `rest` for the others. */
static const Ints *by_axis(Builder *b, const Type *t, int axis, int64_t at, int64_t rest) {
  int64_t small[SMALL_RANK];
  int64_t *all = t->rank <= SMALL_RANK ? small : ARENA_ARRAY(b->m->arena, int64_t, t->rank);
  for (int i = 0; i < t->rank; i++) all[i] = i == axis ? at : rest;
  return intern_ints(b->m->ctx, all, t->rank);
}

ValueId build_slice(Builder *b, ValueId x, int axis, int64_t from, int64_t n) {
  const Type *t = value_type(b->e, x);
  const Attr attr[MAX_ATTRS] = {
      [AT_STARTS].ints = by_axis(b, t, axis, from, 0), [AT_STEPS].ints = by_axis(b, t, axis, 1, 1)};
  return build(b, OP_SLICE, &x, 1, attr, type_with_extent(b->m->ctx, t, axis, n));
}

/* to: the type, where it has a bounded axis that x has a part of; else NULL. */
static ValueId pad_to(Builder *b, ValueId x, int axis, int64_t before, int64_t behind,
                      const Type *to) {
  const Type *t = value_type(b->e, x);
  const Attr attr[MAX_ATTRS] = {[AT_LO].ints = by_axis(b, t, axis, before, 0),
                                [AT_HI].ints = by_axis(b, t, axis, behind, 0),
                                [AT_INTERIOR].ints = by_axis(b, t, axis, 0, 0)};
  return build(b, OP_PAD, &x, 1, attr, to);
}

ValueId build_pad(Builder *b, ValueId x, int axis, int64_t before, int64_t behind) {
  return pad_to(b, x, axis, before, behind, NULL);
}

ValueId build_part(Builder *b, ValueId whole, ValueId part, int axis, int64_t at, int64_t extent) {
  const Type *t = value_type(b->e, part);
  if (whole == NO_ID) {
    const Type *to = type_with_extent(b->m->ctx, t, axis, extent);
    return pad_to(b, part, axis, at, to->dim[axis] - t->dim[axis] - at,
                  axis_is_bounded(extent) ? to : NULL);
  }
  ValueId x[] = {whole, part, build_const_int(b, type_scalar(b->m->ctx, DT_I32), at)};
  return build(b, OP_DYNAMIC_UPDATE, x, 3, (Attr[MAX_ATTRS]){[AT_AXIS].i = axis}, NULL);
}

ValueId build_transpose(Builder *b, ValueId x, const int64_t *perm) {
  const Ints *p = intern_ints(b->m->ctx, perm, value_type(b->e, x)->rank);
  return build(b, OP_TRANSPOSE, &x, 1, (Attr[MAX_ATTRS]){[AT_PERM] = {.ints = p}}, NULL);
}

ValueId build_reduce(Builder *b, OpKind k, ValueId x, const int64_t *axes, int n) {
  if (n == 0) return give_name(b, x);
  const Ints *a = intern_ints(b->m->ctx, axes, n);
  return build(b, k, &x, 1, (Attr[MAX_ATTRS]){[AT_AXES] = {.ints = a}}, NULL);
}

static int64_t *copy_dims(Builder *b, const Type *t) {
  int64_t *dim = ARENA_ARRAY(b->m->arena, int64_t, t->rank + 1);
  (void)type_axes(t, dim);
  return dim;
}

ValueId build_reduce_keep(Builder *b, OpKind k, ValueId x, const int64_t *axes, int n) {
  const Type *t = value_type(b->e, x);
  int64_t *dim = copy_dims(b, t);
  for (int i = 0; i < n; i++)
    if (axes[i] >= 0 && axes[i] < t->rank) dim[axes[i]] = 1;
  const char *name = b->name;
  b->name = NULL;
  ValueId y = build_reduce(b, k, x, axes, n);
  b->name = name;
  return build_reshape(b, y, type_get(b->m->ctx, t->dtype, t->rank, dim));
}

ValueId build_unbroadcast(Builder *b, ValueId x, const Type *t) {
  const Type *from = value_type(b->e, x);
  if (from == t) return give_name(b, x);
  int lead = from->rank - t->rank, n = 0;
  int64_t *axes = ARENA_ARRAY(b->m->arena, int64_t, from->rank + 1);
  for (int i = 0; i < from->rank; i++)
    if (i < lead || (t->dim[i - lead] == 1 && from->dim[i] != 1)) axes[n++] = i;
  const char *name = b->name;
  b->name = NULL;
  ValueId y = build_reduce(b, OP_SUM, x, axes, n);
  b->name = name;
  return build_reshape(b, y, t);
}

ValueId build_filled(Builder *b, ValueId x, int axis, Attr value) {
  const Type *t = value_type(b->e, x);
  if (!type_extent(t, axis)) return x;
  const Ints *none = by_axis(b, t, axis, 0, 0);
  const Attr attr[MAX_ATTRS] = {
      [AT_LO].ints = none, [AT_HI].ints = none, [AT_INTERIOR].ints = none, [AT_VALUE] = value};
  return build(b, OP_PAD, &x, 1, attr, type_with_extent(b->m->ctx, t, axis, t->dim[axis]));
}

ValueId build_at_bound(Builder *b, ValueId x, int axis) {
  return build_filled(b, x, axis, (Attr){0});
}

ValueId build_matmul(Builder *b, ValueId x, ValueId y, bool ta, bool tb) {
  Attr attr[MAX_ATTRS] = {[AT_TA] = {.i = ta}, [AT_TB] = {.i = tb}};
  const Type *t = value_type(b->e, y);
  int columns = t->rank - (tb ? 2 : 1);
  if (!type_extent(t, columns)) return build(b, OP_MATMUL, (ValueId[]){x, y}, 2, attr, NULL);
  ValueId v = build_at_bound(b, y, columns);
  v = build(b, OP_MATMUL, (ValueId[]){x, v}, 2, attr, NULL);
  return build_slice(b, v, t->rank - 1, 0, type_axis(t, columns));
}

ValueId build_matmul_narrow(Builder *b, ValueId x, ValueId y, bool ta, bool tb) {
  bool tf32 = value_type(b->e, x)->dtype == DT_F32;
  Attr attr[MAX_ATTRS] = {
      [AT_TA] = {.i = ta}, [AT_TB] = {.i = tb}, [AT_WIDE] = {.i = !tf32}, [AT_TF32] = {.i = tf32}};
  return build(b, OP_MATMUL, (ValueId[]){x, y}, 2, attr, NULL);
}

ValueId build_load(Builder *b, int global) {
  Attr attr[MAX_ATTRS] = {[AT_GLOBAL] = {.i = global}};
  ValueId v = build(b, OP_LOAD, NULL, 0, attr, b->m->globals.at[global].type);
  value_at(b->e, v)->layout = b->m->globals.at[global].layout;
  return v;
}

void build_store(Builder *b, int global, ValueId v) {
  build_op(b, OP_STORE, &v, 1, (Attr[MAX_ATTRS]){[AT_GLOBAL] = {.i = global}}, NULL, 0);
}

void build_return(Builder *b, const ValueId *v, const char *const *names, int n) {
  size_t size = 1, at = 0;
  for (int i = 0; i < n; i++) size += strlen(names[i]) + 1;
  char *list = ARENA_ARRAY(b->m->arena, char, size);
  for (int i = 0; i < n; i++)
    at += (size_t)snprintf(list + at, size - at, i ? ",%s" : "%s", names[i]);
  Attr attr[MAX_ATTRS] = {[AT_NAMES] = {.str = n ? intern(b->m->ctx, list) : NULL}};
  build_op(b, OP_RETURN, v, n, attr, NULL, 0);
}

int entry_outputs(const Entry *e, const ValueId **values, const char *const **names) {
  if (values) *values = NULL;
  if (names) *names = NULL;
  if (e->body->ops.n == 0) return 0;
  const Op *op = op_at(e, e->body->ops.at[e->body->ops.n - 1]);
  if (op->kind != OP_RETURN || op->noperands == 0) return 0;
  if (values) *values = op->operands;
  if (!names) return op->noperands;
  const char **list = ARENA_ARRAY(e->module->arena, const char *, op->noperands);
  const char *p = op->attr[AT_NAMES].str;
  for (int i = 0; i < op->noperands; i++) {
    size_t len = p ? strcspn(p, ",") : 0;
    list[i] = intern_n(e->module->ctx, p ? p : "", len);
    if (p) p = p[len] ? p + len + 1 : NULL;
  }
  *names = list;
  return op->noperands;
}
