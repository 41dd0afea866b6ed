/* The product `@` with numpy's rules: vectors, matrices, stacks of matrices that broadcast.
   Contract: builds one matmul op with equal leading axes. A transposed operand becomes a flag (ta,
   tb), and a stack times one matrix becomes one tall product, so neither needs a copy. The op has
   no bounded columns: one row by them is a column, the product of the transposed sides; else they
   are taken up to the bound. */
#include "lang/elab/elab_impl.h"

static void swap_last(int64_t *perm, int rank) {
  for (int i = 0; i < rank; i++) perm[i] = i;
  perm[rank - 2] = rank - 1;
  perm[rank - 1] = rank - 2;
}

Val transpose_last(Elab *e, Val v) {
  int rank = v.tensor.type->rank;
  int64_t *perm = ARENA_ARRAY(e->a, int64_t, rank);
  swap_last(perm, rank);
  return val_tensor(e, build_transpose(e->run->b, v.tensor.id, perm));
}

/* Looks through a transposition of the last two axes. */
static Val strip_transpose(Elab *e, Val v, bool *transposed) {
  const Op *op = value_def(e->run->entry, v.tensor.id);
  int rank = v.tensor.type->rank;
  if (!op || op->kind != OP_TRANSPOSE || rank < 2) return v;
  int64_t *perm = ARENA_ARRAY(e->a, int64_t, rank);
  swap_last(perm, rank);
  if (op->attr[AT_PERM].ints != intern_ints(e->c, perm, rank)) return v;
  Loc made = v.loc;
  v = val_tensor(e, op->operands[0]);
  v.loc = made;
  *transposed = !*transposed;
  return v;
}

static Val reshape_to(Elab *e, Val v, int rank, const int64_t *dim) {
  const Type *t = type_get(e->c, v.tensor.type->dtype, rank, dim);
  if (t != v.tensor.type && (v.tensor.type->extent || t->extent))
    return build_checked(e, OP_RESHAPE, &v, 1, NULL, t, "'@'", e->run->b->loc);
  return val_tensor(e, build_reshape(e->run->b, v.tensor.id, t));
}

static Val lead_broadcast(Elab *e, Val v, const Type *lead) {
  const Type *t = v.tensor.type;
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, lead->rank + 2);
  for (int i = 0; i < lead->rank; i++) dim[i] = type_axis(lead, i);
  dim[lead->rank] = type_axis(t, t->rank - 2);
  dim[lead->rank + 1] = type_axis(t, t->rank - 1);
  const Type *want = type_get(e->c, t->dtype, lead->rank + 2, dim);
  return val_tensor(e, build_broadcast(e->run->b, v.tensor.id, want));
}

static bool misfit(Elab *e, Val l, Val r, Loc loc) {
  const Type *a = l.tensor.type, *b = r.tensor.type;
  int64_t ka = a->dim[a->rank - 1], kb = b->dim[b->rank < 2 ? 0 : b->rank - 2];
  elab_error(e, loc, "'@' cannot multiply %s by %s: %lld columns meet %lld rows",
             type_text(e->c, a), type_text(e->c, b), (long long)ka, (long long)kb);
  elab_note_tensor(e, "left", l);
  elab_note_tensor(e, "right", r);
  if (b->rank >= 2 && b->dim[b->rank - 1] == ka)
    elab_hint(e, "the right side fits transposed: x @ w'");
  else if (a->rank >= 2 && a->dim[a->rank - 2] == kb)
    elab_hint(e, "the left side fits transposed: w' @ x");
  return elab_trace(e), false;
}

static bool mixed(Elab *e, Val l, Val r, Loc loc) {
  elab_error(e, loc, "'@' mixes %s and %s", val_str(e, l), val_str(e, r));
  elab_note_tensor(e, "left", l);
  elab_note_tensor(e, "right", r);
  hint_mixed(e, l, r);
  return elab_trace(e), false;
}

/* Tensors of one dtype whose lengths meet; else says why not. */
static bool fit(Elab *e, Val *l, Val *r, Loc loc) {
  Val v[2] = {*l, *r};
  for (int i = 0; i < 2; i++) {
    if (v[i].kind == VAL_TENSOR && v[i].tensor.type->rank > 0) continue;
    elab_error(e, loc, "'@' needs tensors with axes, but its %s side is %s", i ? "right" : "left",
               val_str(e, v[i]));
    if (v[i].kind == VAL_LIST)
      hint_list(e, v[i]);
    else
      elab_hint(e, "multiply by a number with '*'");
    return elab_trace(e), false;
  }
  Dtype a = l->tensor.type->dtype, b = r->tensor.type->dtype, wide;
  if (!common_dtype(e, a, b, &wide)) return mixed(e, *l, *r, loc);
  if (a != b) {
    elab_at(e, loc);
    *l = val_convert(e, *l, wide);
    *r = val_convert(e, *r, wide);
    l->loc = v[0].loc;
    r->loc = v[1].loc;
  }
  const Type *tl = l->tensor.type, *tr = r->tensor.type;
  if (tl->dtype == DT_BOOL) return elab_fail(e, loc, "'@' needs numbers, not bools"), false;
  return tl->dim[tl->rank - 1] == tr->dim[tr->rank < 2 ? 0 : tr->rank - 2] ||
         misfit(e, *l, *r, loc);
}

/* The axes before the matrices. */
static const Type *leading(Elab *e, const Type *t) {
  int64_t *axis = ARENA_ARRAY(e->a, int64_t, t->rank);
  return type_get(e->c, t->dtype, t->rank - 2, type_axes(t, axis));
}

/* A stack of matrices as the rows of one. */
static Val one_matrix(Elab *e, Val l, const Type *lead, Loc loc) {
  const Type *t = l.tensor.type;
  Val rows = val_dim(type_axis(t, t->rank - 2), loc);
  for (int i = lead->rank; i-- > 0;)
    rows = expr_binary(e, BIN_MUL, val_dim(type_axis(lead, i), loc), rows, loc);
  const Ints *all = val_to_dims(e, rows, "the number of rows of '@'", loc);
  if (!all) return error_value;
  return reshape_to(e, l, 2, (int64_t[]){all->at[0], type_axis(t, t->rank - 1)});
}

/* The op, of sides with equal leading axes; the product has n columns. */
static Val product(Elab *e, Val l, Val r, bool ta, bool tb, int64_t n, Loc loc) {
  const Type *tl = l.tensor.type, *tr = r.tensor.type;
  int columns = tr->rank - (tb ? 2 : 1);
  bool bounded = type_extent(tr, columns) != NULL;
  if (bounded && type_axis(tl, tl->rank - (ta ? 1 : 2)) == 1) {
    Val one = l;
    bool flag = ta;
    l = r, r = one, ta = !tb, tb = !flag, bounded = false;
  }
  if (bounded) r = val_tensor(e, build_at_bound(e->run->b, r.tensor.id, columns));
  Val pair[2] = {l, r};
  Attr attr[MAX_ATTRS] = {[AT_TA] = {.i = ta}, [AT_TB] = {.i = tb}};
  Val y = build_checked(e, OP_MATMUL, pair, 2, attr, NULL, "'@'", loc);
  if (y.kind == VAL_ERROR || !bounded) return y;
  return val_tensor(e, build_slice(e->run->b, y.tensor.id, y.tensor.type->rank - 1, 0, n));
}

Val tensor_matmul(Elab *e, Val l, Val r, Loc loc) {
  const Val written[2] = {l, r};
  if (!fit(e, &l, &r, loc)) return error_value;
  elab_at(e, loc);
  /* Vectors become a row on the left, a column on the right, and lose that axis at the end. */
  bool row = l.tensor.type->rank == 1, column = r.tensor.type->rank == 1;
  if (row) l = reshape_to(e, l, 2, (int64_t[]){1, type_axis(l.tensor.type, 0)});
  if (column) r = reshape_to(e, r, 2, (int64_t[]){type_axis(r.tensor.type, 0), 1});
  bool ta = false, tb = false;
  l = strip_transpose(e, l, &ta);
  r = strip_transpose(e, r, &tb);
  const Type *tl = l.tensor.type, *tr = r.tensor.type, *lead = leading(e, tl);
  int64_t m = type_axis(tl, tl->rank - (ta ? 1 : 2)), n = type_axis(tr, tr->rank - (tb ? 2 : 1));
  if (tl->rank > 2 && tr->rank == 2 && !ta) {
    l = one_matrix(e, l, lead, loc);
    if (l.kind == VAL_ERROR) return l;
  } else {
    const Type *other = leading(e, tr), *both = type_broadcast(e->c, lead, other);
    if (!both)
      return elab_fail(e, loc, "'@' cannot broadcast the leading axes of %s and %s",
                       type_text(e->c, written[0].tensor.type),
                       type_text(e->c, written[1].tensor.type));
    if (lead != both) l = lead_broadcast(e, l, both);
    if (other != both) r = lead_broadcast(e, r, both);
    lead = both;
  }
  Val y = product(e, l, r, ta, tb, n, loc);
  if (y.kind == VAL_ERROR) return y;
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, lead->rank + 2);
  int rank = 0;
  for (; rank < lead->rank; rank++) dim[rank] = type_axis(lead, rank);
  if (!row) dim[rank++] = m;
  if (!column) dim[rank++] = n;
  const Type *want = type_get(e->c, y.tensor.type->dtype, rank, dim);
  if (want != y.tensor.type) y = reshape_to(e, y, rank, dim);
  return y;
}
