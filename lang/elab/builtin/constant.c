/* Tensors of a list of numbers: f32([0.5, 1.5]), i32([[1, 2], [3, 4]]).
   Contract: the numbers are known at compile time, lists within a list have one length. A short
   list is a choice by its index among the numbers, which one kernel without operands computes; a
   long one is a constant table of the module, which lies among the program's states. */
#include "ir/eval/interp.h"
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

/* Comparisons that cost an element less than a load of it. */
enum { FEW = 16 };

/* The list by its runs of equal numbers, each chosen by the element's index: it has no bytes beside
   those of a value, and is folded and fused as any. */
static ValueId choice(Elab *e, const Type *t, const Attr *at, Loc loc) {
  Builder *b = elab_at(e, loc);
  const Type *index = type_get(e->c, DT_I32, 1, t->dim);
  const ValueId i = build(b, OP_IOTA, NULL, 0, (Attr[MAX_ATTRS]){[AT_AXIS] = {.i = 0}}, index);
  ValueId y = NO_ID;
  for (int64_t k = t->numel; k-- > 0;) {
    if (y != NO_ID && at[k].i == at[k + 1].i) continue;
    const ValueId v = build(b, OP_CONST, NULL, 0, (Attr[MAX_ATTRS]){[AT_VALUE] = at[k]}, t);
    y = y == NO_ID ? v
                   : build3(b, OP_WHERE, build2(b, OP_LE, i, build_const_int(b, index, k)), v, y);
  }
  return y;
}

/* The list as a constant table, one for all lists of the same numbers. No part of a
   variable's path begins with a digit, so none has a table's. */
static int table_of(Elab *e, const Type *t, const Attr *at, Loc loc) {
  int n = 0;
  for (uint32_t i = 0; i < e->m->globals.n; i++) {
    const Global *g = &e->m->globals.at[i];
    if (!g->table) continue;
    if (g->type == t && memcmp(g->table, at, sizeof *at * (size_t)t->numel) == 0) return (int)i;
    n++;
  }
  Attr *own = ARENA_ARRAY(e->m->arena, Attr, t->numel);
  memcpy(own, at, sizeof *at * (size_t)t->numel);
  const int global = module_add_global(e->m, (Global){.kind = GLOBAL_STATE,
                                                      .path = intern_printf(e->c, "table.%d", n),
                                                      .type = t,
                                                      .transient = true,
                                                      .table = own,
                                                      .loc = loc});
  while (e->info.n <= (uint32_t)global) vec_push(e->a, &e->info, (GlobalInfo){0});
  e->info.at[global] = (GlobalInfo){loc, "", e->run->entry->name, NO_ID};
  return global;
}

/* Each number as an element of the tensor; NULL after an error. */
static Attr *elements(Elab *e, const Items *all, Dtype dt, Loc loc) {
  const Type *t = type_scalar(e->c, dt);
  Attr *at = ARENA_ARRAY(e->a, Attr, all->at.n);
  for (uint32_t i = 0; i < all->at.n; i++) {
    const Val v = number_as(e, all->at.at[i], dt, loc);
    if (v.kind == VAL_ERROR || !val_to_element(e, v, t, loc, &at[i])) return NULL;
    at[i].i = scalar_round((Scalar){.i = at[i].i}, dt, INTERP_DTYPE).i;
  }
  return at;
}

Val tensor_of_list(Elab *e, Val list, Dtype dt, Loc loc) {
  Items all = {0};
  if (!collect(e, list, 0, &all, dt, loc)) return error_value;
  const int64_t n = (int64_t)all.at.n;
  const Attr *at = elements(e, &all, dt, loc);
  if (!at) return error_value;
  const Type *t = type_get(e->c, dt, 1, &n),
             *whole = type_get(e->c, dt, (int)all.dim.n, all.dim.at);
  if (!t || !whole) gc_bug(e->c, "a list of %lld numbers", (long long)n);
  int64_t runs = 1;
  for (int64_t i = 1; i < n; i++) runs += at[i].i != at[i - 1].i;
  if (runs <= FEW || e->run->kind == BUILD_LET)
    return val_tensor(e, build_reshape(elab_at(e, loc), choice(e, t, at, loc), whole));
  return val_tensor(e, global_read(e, table_of(e, whole, at, loc), loc));
}
