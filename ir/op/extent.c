/* Extents as values: the op `extent`, what a run has of a part of an axis, and counts of elements.
   Contract: an i32[] of the extent of an input; the interpreter evaluates at the bound. */
#include "ir/op/op.h"

const Type *shape_extent(const ShapeIn *in) {
  const Type *t = type_scalar(in->ctx, DT_I32);
  if (!in->attr[AT_NAME].str) return shape_wrong(in, "needs the name of an extent");
  if (in->attr[AT_BOUND].i < 2 || in->attr[AT_BOUND].i > INT32_MAX)
    return shape_wrong(in, "has a bound of 2 to 2147483647, not %lld",
                       (long long)in->attr[AT_BOUND].i);
  return in->given == t ? t : shape_wrong(in, "is an i32[]");
}

/* The interpreter evaluates at the bound. */
void eval_extent(EvalCtx *c, const Op *op) { eval_out(c, op)->at[0].i = op->attr[AT_BOUND].i; }

/* What a run has of the axis behind the part's first element, at most the part's bound. */
static ValueId build_extent_of_part(Builder *b, const Extent *x) {
  int64_t of, more;
  bool ends = axis_is_more(b->m->ctx, axis_of_extent(x, 1), &of, &more);
  bool plain = ends && !axis_may_lack(b->m->ctx, of, -more);
  const Type *i32 = type_scalar(b->m->ctx, DT_I32);
  ValueId n = build_extent(b, axis_extent(b->m->ctx, x->whole));
  n = build2(b, OP_MUL, n, build_const_int(b, i32, axis_multiple(x->whole)));
  n = build2(b, OP_SUB, n, build_const_int(b, i32, x->first));
  if (plain) return n;
  n = build2(b, OP_MAX, n, build_const_int(b, i32, 0));
  return build2(b, OP_MIN, n, build_const_int(b, i32, x->bound));
}

ValueId build_extent(Builder *b, const Extent *x) {
  ValueId all = NO_ID;
  if (x->whole) return build_extent_of_part(b, x);
  for (int i = 0; x->nfactors > 1 && i < x->nfactors; i++) {
    ValueId one = build_extent(b, x->factor[i]);
    all = i ? build2(b, OP_MUL, all, one) : one;
  }
  if (all != NO_ID) return all;
  Attr attr[MAX_ATTRS] = {[AT_NAME] = {.str = x->name}, [AT_BOUND] = {.i = x->bound}};
  return build(b, OP_EXTENT, NULL, 0, attr, type_scalar(b->m->ctx, DT_I32));
}

/* In integers, so that the count is exact. */
ValueId build_count(Builder *b, const Type *t, const int64_t *axes, int n) {
  const Type *count = type_scalar(b->m->ctx, DT_I64);
  ValueId v = NO_ID;
  int64_t fixed = 1;
  for (int i = 0; i < n; i++) {
    const Extent *x = type_extent(t, (int)axes[i]);
    fixed *= x ? t->dim[axes[i]] / x->bound : t->dim[axes[i]];
    if (!x) continue;
    ValueId one = build_convert(b, build_extent(b, x), DT_I64);
    v = v == NO_ID ? one : build2(b, OP_MUL, v, one);
  }
  if (v == NO_ID) return build_const_int(b, count, fixed);
  return fixed == 1 ? v : build2(b, OP_MUL, v, build_const_int(b, count, fixed));
}
