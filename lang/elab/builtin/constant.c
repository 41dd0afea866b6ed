/* Tensors of a list of numbers: f32([0.5, 1.5]), i32([[1, 2], [3, 4]]).
   Contract: the numbers are known at compile time, lists within a list have one length. The tensor
   is a choice by its index among the numbers, which one kernel without operands computes: so it has
   no bytes beside those of a value, and is folded, fused and exported as any. */
#include "lang/elab/builtin/builtin.h"

typedef struct Items { /* the numbers in row-major order */
  VEC(Val) at;
  VEC(int64_t) dim;
} Items;

static bool mixes_depths(Elab *e, Loc loc) {
  return elab_fail(e, loc, "numbers and lists stand side by side in a list"), false;
}

static bool collect(Elab *e, Val v, uint32_t depth, Items *out, Dtype dt, Loc loc) {
  if (v.kind != VAL_LIST) {
    if (v.kind == VAL_BOOL) v = val_int(v.b, v.loc);
    if (!val_is_number(v)) {
      elab_error(e, loc, "%s needs numbers in its list, found %s", dtype_name(dt), val_str(e, v));
      if (v.kind == VAL_TENSOR) elab_hint(e, "stack([x, y]) puts tensors along a new axis");
      return elab_trace(e), false;
    }
    if (depth != out->dim.n) return mixes_depths(e, loc);
    vec_push(e->a, &out->at, v);
    return true;
  }
  if (v.list->n == 0) return elab_fail(e, loc, "a list without numbers is no tensor"), false;
  if (depth == out->dim.n && !out->at.n) vec_push(e->a, &out->dim, v.list->n);
  if (depth >= out->dim.n) return mixes_depths(e, loc);
  if (v.list->n != out->dim.at[depth])
    return elab_fail(e, loc,
                     "lists of %lld and of %d stand side by side; rows of a tensor have one length",
                     (long long)out->dim.at[depth], v.list->n),
           false;
  for (int i = 0; i < v.list->n; i++)
    if (!collect(e, v.list->at[i], depth + 1, out, dt, loc)) return false;
  return true;
}

void hint_list(Elab *e, Val v) {
  const Val *first = &v;
  while (first->kind == VAL_LIST && first->list->n) first = &first->list->at[0];
  if (first != &v && val_is_number(*first))
    elab_hint(e, "numbers become a tensor by f32([0.5, 1.5]), integers by i32([1, 2])");
}

/* -0 is another number than 0. */
static bool is_same(Val a, Val b) {
  const double x = val_number(a), y = val_number(b);
  return a.kind == b.kind && (a.kind == VAL_INT ? a.i == b.i : memcmp(&x, &y, sizeof x) == 0);
}

Val tensor_of_list(Elab *e, Val list, Dtype dt, Loc loc) {
  Items all = {0};
  if (!collect(e, list, 0, &all, dt, loc)) return error_value;
  const int64_t n = (int64_t)all.at.n;
  const Type *t = type_get(e->c, dt, 1, &n), *index = type_get(e->c, DT_I32, 1, &n);
  const Type *whole = type_get(e->c, dt, (int)all.dim.n, all.dim.at);
  if (!t || !index || !whole) gc_bug(e->c, "a list of %lld numbers", (long long)n);
  Builder *b = elab_at(e, loc);
  const ValueId at = build(b, OP_IOTA, NULL, 0, (Attr[MAX_ATTRS]){[AT_AXIS] = {.i = 0}}, index);
  ValueId y = NO_ID;
  for (int64_t i = n; i-- > 0;) {
    if (y != NO_ID && is_same(all.at.at[i], all.at.at[i + 1])) continue;
    Val v = number_as(e, all.at.at[i], dt, loc);
    if (v.kind != VAL_ERROR) v = val_to_const(e, v, t, loc);
    if (v.kind == VAL_ERROR) return v;
    b = elab_at(e, loc);
    if (y == NO_ID)
      y = v.tensor.id;
    else
      y = build3(b, OP_WHERE, build2(b, OP_LE, at, build_const_int(b, index, i)), v.tensor.id, y);
  }
  return val_tensor(e, build_reshape(b, y, whole));
}
