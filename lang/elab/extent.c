/* Extents that are known only when the program runs: what `n <= 64` declares in an entry's inputs,
   and the numbers that follow from it. Contract: a multiple of one extent is a dim; any other
   number is a scalar of the entry, an i64 or an f64, so that arithmetic on it rounds as
   compile-time arithmetic does, and takes the dtype of the tensor that it meets, as a literal does.
 */
#include "lang/elab/elab_impl.h"

Val val_dim(int64_t axis, Loc loc) {
  if (!axis_is_bounded(axis)) return val_int(axis, loc);
  Val v = {.kind = VAL_EXTENT, .loc = loc};
  v.extent.axis = axis;
  v.extent.id = NO_ID;
  return v;
}

static Val computed(ValueId id, bool real, Loc loc) {
  Val v = {.kind = VAL_EXTENT, .loc = loc};
  v.extent.id = id;
  v.extent.real = real;
  return v;
}

static const Extent *extent_of(const Elab *e, Val v) {
  return v.kind == VAL_EXTENT ? axis_extent(e->c, v.extent.axis) : NULL;
}

/* The elements of an axis as an i64[] where the builder stands. */
static ValueId count_of(Elab *e, int64_t axis, Loc loc) {
  Builder *b = elab_at(e, loc);
  const Type *t = type_scalar(e->c, DT_I64);
  int64_t of, more, k = axis_multiple(axis);
  if (axis_is_more(e->c, axis, &of, &more) && !axis_may_lack(e->c, of, -more))
    return build2(b, more < 0 ? OP_SUB : OP_ADD, count_of(e, of, loc),
                  build_const_int(b, t, more < 0 ? -more : more));
  ValueId id = build_convert(b, build_extent(b, axis_extent(e->c, axis)), DT_I64);
  return k == 1 ? id : build2(b, OP_MUL, id, build_const_int(b, t, k));
}

/* The number as an i64[] or f64[] where the builder stands; NO_ID after an error. */
static ValueId scalar_of(Elab *e, Val v, bool real, Loc loc) {
  Builder *b = elab_at(e, loc);
  const Type *t = type_scalar(e->c, real ? DT_F64 : DT_I64);
  if (v.kind == VAL_INT && !real) return build_const_int(b, t, v.i);
  if (val_is_number(v)) return build_const(b, t, val_number(v));
  if (e->run->kind != BUILD_ENTRY) {
    elab_fail(e, loc, "%s is known only when an entry runs, not when params are initialised",
              val_str(e, v));
    return NO_ID;
  }
  ValueId id = v.extent.id;
  const Extent *x = extent_of(e, v);
  if (x) id = count_of(e, v.extent.axis, loc);
  return real ? build_convert(b, id, DT_F64) : id;
}

Val extent_tensor(Elab *e, Val v, const Type *t, Loc loc) {
  if (v.extent.real && !dtype_is_float(t->dtype)) {
    elab_error(e, loc, "%s is not an integer, but %s holds integers", val_str(e, v),
               type_text(e->c, t));
    elab_hint(e, "convert the integers with f32(x)");
    return elab_trace(e);
  }
  ValueId id = scalar_of(e, v, v.extent.real, loc);
  if (id == NO_ID) return error_value;
  /* as a literal is rounded: from a double */
  if (dtype_is_float(t->dtype)) id = build_convert(e->run->b, id, DT_F64);
  id = build_convert(e->run->b, id, t->dtype);
  return val_tensor(e, build_broadcast(e->run->b, id, t));
}

/* So many elements more or fewer, if no run has fewer than those. */
static bool stays_shifted(Elab *e, BinaryOp op, Val l, Val r, Loc loc, Val *out) {
  if (op == BIN_ADD && l.kind == VAL_INT) return stays_shifted(e, op, r, l, loc, out);
  bool shifts = op == BIN_ADD || op == BIN_SUB;
  if (!shifts || !extent_of(e, l) || r.kind != VAL_INT || r.i == INT64_MIN) return false;
  int64_t more = op == BIN_ADD ? r.i : -r.i;
  if (axis_may_lack(e->c, l.extent.axis, -more)) return false;
  int64_t k = axis_and_more(e->c, l.extent.axis, more);
  return k ? (*out = val_dim(k, loc), true) : false;
}

/* A multiple of an extent times or over a number, if that is one, too. */
static bool stays_dim(Elab *e, BinaryOp op, Val l, Val r, Loc loc, Val *out) {
  const Extent *x = extent_of(e, l), *y = extent_of(e, r);
  int64_t a = x ? axis_multiple(l.extent.axis) : 0, b = y ? axis_multiple(r.extent.axis) : 0, k;
  if (op == BIN_MUL && y && l.kind == VAL_INT) return stays_dim(e, op, r, l, loc, out);
  if ((x || y) && stays_shifted(e, op, l, r, loc, out)) return true;
  if (!x) return false;
  bool over = op == BIN_DIV || op == BIN_QUOTIENT;
  int64_t other = y ? r.extent.axis : r.kind == VAL_INT ? r.i : 0;
  if (op == BIN_MUL && (y || other > 0) && (k = axis_product(e->c, l.extent.axis, other)) != 0)
    return *out = val_dim(k, loc), true;
  if (over && r.kind == VAL_INT && r.i > 0 && a % r.i == 0)
    return *out = val_dim(axis_of_extent(x, a / r.i), loc), true;
  if (over && x == y && a % b == 0) return *out = val_int(a / b, loc), true;
  const Extent *rest = over && y && a % b == 0 ? extent_quotient(e->c, x, y) : NULL;
  if (rest) return *out = val_dim(axis_of_extent(rest, a / b), loc), true;
  if (x == y && a == b && (op == BIN_EQ || op == BIN_NE))
    return *out = val_bool(op == BIN_EQ, loc), true;
  return false;
}

Val extent_binary(Elab *e, BinaryOp op, Val l, Val r, Loc loc) {
  static const OpKind kind[BIN_COUNT] = {
      [BIN_ADD] = OP_ADD, [BIN_SUB] = OP_SUB, [BIN_MUL] = OP_MUL, [BIN_DIV] = OP_DIV,
      [BIN_MOD] = OP_MOD, [BIN_EQ] = OP_EQ,   [BIN_NE] = OP_NE,   [BIN_LT] = OP_LT,
      [BIN_LE] = OP_LE,   [BIN_GT] = OP_GT,   [BIN_GE] = OP_GE,   [BIN_QUOTIENT] = OP_QUOTIENT,
  };
  bool numbers =
      (l.kind == VAL_EXTENT || val_is_number(l)) && (r.kind == VAL_EXTENT || val_is_number(r));
  if (!numbers || !kind[op])
    return elab_fail(e, loc, "'%s' is not defined for %s and %s", binary_spelling(op),
                     val_str(e, l), val_str(e, r));
  Val v;
  if (stays_dim(e, op, l, r, loc, &v)) return v;
  bool real = op == BIN_DIV || l.kind == VAL_NUM || r.kind == VAL_NUM ||
              (l.kind == VAL_EXTENT && l.extent.real) || (r.kind == VAL_EXTENT && r.extent.real);
  ValueId a = scalar_of(e, l, real, loc), b = scalar_of(e, r, real, loc);
  if (a == NO_ID || b == NO_ID) return error_value;
  bool floor = op == BIN_QUOTIENT && real;
  ValueId y = build2(elab_at(e, loc), floor ? OP_DIV : kind[op], a, b);
  if (floor) y = build1(e->run->b, OP_FLOOR, y);
  if (op_info[kind[op]].flags & OPF_BOOL_RESULT) return val_tensor(e, y);
  return computed(y, real, loc);
}

Val extent_function(Elab *e, OpKind k, Val v, Loc loc) {
  bool real = v.extent.real || !op_info[k].iexpr;
  ValueId x = scalar_of(e, v, real, loc);
  return x == NO_ID ? error_value : computed(build1(elab_at(e, loc), k, x), real, loc);
}

Val extent_best(Elab *e, OpKind k, Val a, Val b, Loc loc) {
  bool real = a.kind == VAL_NUM || b.kind == VAL_NUM || (a.kind == VAL_EXTENT && a.extent.real) ||
              (b.kind == VAL_EXTENT && b.extent.real);
  ValueId x = scalar_of(e, a, real, loc), y = scalar_of(e, b, real, loc);
  if (x == NO_ID || y == NO_ID) return error_value;
  return computed(build2(elab_at(e, loc), k, x, y), real, loc);
}

Val extent_convert(Elab *e, Val v, Dtype dt, Loc loc) {
  if (dt == DT_BOOL) return extent_tensor(e, v, type_scalar(e->c, DT_BOOL), loc);
  if (!dtype_is_float(dt) && v.extent.real) {
    ValueId x = scalar_of(e, v, true, loc);
    return x == NO_ID ? error_value : computed(build_convert(e->run->b, x, DT_I64), false, loc);
  }
  if (!dtype_is_float(dt) || v.extent.real) return v;
  ValueId x = scalar_of(e, v, true, loc);
  return x == NO_ID ? error_value : computed(x, true, loc);
}

const char *extent_str(Elab *e, Val v) {
  const Extent *x = extent_of(e, v);
  if (!x) return "a number that is known at run time";
  return intern_printf(e->c, "%s, which is known at run time", axis_str(e->c, v.extent.axis));
}

/* `n < 8`, which is no number either. */
static bool wants_less(Elab *e, const Expr *x) {
  if (x->kind != EX_BINARY || x->binary.op != BIN_LT || x->binary.left->kind != EX_NAME)
    return false;
  if (name_is_known(e, x->binary.left->name)) return false;
  int64_t bound;
  Val v = elab_eval_one(e, x->binary.right);
  if (!val_to_int(e, v, 1, "the bound of an extent", x->binary.right->loc, &bound)) return true;
  elab_error(e, x->loc, "the bound of an extent is one that it may have, after '<='");
  elab_hint(e, "%s <= %lld", x->binary.left->name, (long long)(bound > 1 ? bound - 1 : 1));
  elab_trace(e);
  return true;
}

/* The first name that no scope knows in what a dim computes; NULL: all are known. */
static const Expr *unknown_in(Elab *e, const Expr *x) {
  if (x->kind == EX_NAME) return name_is_known(e, x->name) ? NULL : x;
  if (x->kind == EX_UNARY) return unknown_in(e, x->unary.operand);
  if (x->kind != EX_BINARY) return NULL;
  const Expr *left = unknown_in(e, x->binary.left);
  return left ? left : unknown_in(e, x->binary.right);
}

/* What a declaration's left side says of the name that it binds: n of `n <= 8`, of `2 * n <= 8`, of
   `n + 1 <= 9` and of `2 * n + 1 <= 9`. */
typedef struct Declared {
  const char *name; /* NULL: there is none */
  int64_t times, more;
  bool wrong; /* after an error */
} Declared;

static void declared_number(Elab *e, const Expr *x, const char *what, Declared *d, int64_t *out) {
  d->wrong |= !val_to_int(e, elab_eval_one(e, x), 1, what, x->loc, out);
  if (*out > INT32_MAX) *out = INT32_MAX; /* which no bound has room for */
}

static Declared declared_extent(Elab *e, const Expr *left) {
  Declared d = {.times = 1};
  const Expr *more = NULL, *times = NULL;
  if (left->kind == EX_BINARY && left->binary.op == BIN_ADD)
    more = left->binary.right, left = left->binary.left;
  if (left->kind == EX_BINARY && left->binary.op == BIN_MUL)
    times = left->binary.left, left = left->binary.right;
  if (left->kind != EX_NAME || (times && unknown_in(e, times))) return d;
  d.name = left->name;
  if (more) declared_number(e, more, "what the axis has more", &d, &d.more);
  if (times) declared_number(e, times, "what the axis is a multiple by", &d, &d.times);
  return d;
}

/* The most that the extent may have where the axis has at most so many elements; 0 after an error.
 */
static int64_t bound_of_name(Elab *e, const Declared *d, const Expr *right) {
  int64_t all;
  if (d->wrong || !val_to_int(e, elab_eval_one(e, right), d->times + d->more,
                              "the bound of an extent", right->loc, &all))
    return 0;
  if (all > INT32_MAX) {
    elab_fail(e, right->loc, "the bound of an extent is at most 2147483647");
    return 0;
  }
  const int64_t rest = (all - d->more) % d->times;
  if (rest == 0) return (all - d->more) / d->times;
  elab_error(e, right->loc, "the bound is one that %lld * %s%s has for some %s, not %lld",
             (long long)d->times, d->name,
             d->more ? intern_printf(e->c, " + %lld", (long long)d->more) : "", d->name,
             (long long)all);
  elab_hint(e, "%lld or %lld", (long long)(all - rest), (long long)(all - rest + d->times));
  elab_trace(e);
  return 0;
}

/* `n // 2 <= 8`, and `2 * n` where nothing is said of n. */
static bool lacks_extent(Elab *e, const Expr *x) {
  const Expr *unknown = x->kind == EX_BINARY ? unknown_in(e, x) : NULL;
  if (!unknown) return false;
  if (x->binary.op != BIN_LE) {
    unknown_name(e, "dim", unknown->name, unknown->loc);
    return true;
  }
  elab_error(e, x->binary.left->loc,
             "a bound is that of %s, of a multiple or of some more, as 2 * %s + 1, not of %s",
             unknown->name, unknown->name, source_slice(e, x->binary.left->loc));
  elab_hint(e, "declare %s <= BOUND in a dim before it, and write %s here", unknown->name,
            source_slice(e, x->binary.left->loc));
  elab_trace(e);
  return true;
}

bool extent_declared(Elab *e, const Expr *x, int64_t *axis) {
  *axis = -1;
  if (wants_less(e, x)) return true;
  if (x->kind != EX_BINARY || x->binary.op != BIN_LE) return lacks_extent(e, x);
  const Declared d = declared_extent(e, x->binary.left);
  if (!d.name) return lacks_extent(e, x);
  const int64_t bound = bound_of_name(e, &d, x->binary.right);
  Binding *b = env_find(e, e->frame->env, d.name);
  if (!bound) { /* other axes of that extent have no error of their own */
    if (!b) env_bind(e, d.name, error_value, -1, x->binary.left->loc);
    return true;
  }
  if (b) {
    elab_error(e, x->binary.left->loc, "'%s' is bound already", d.name);
    elab_note(e, b->loc, "here");
    elab_hint(e, "a second axis of that extent is written %s",
              source_slice(e, x->binary.left->loc));
    elab_trace(e);
    return true;
  }
  /* nothing is left to be known of an extent of 1 */
  int64_t n = bound == 1 ? 1 : axis_of_extent(extent_get(e->c, d.name, bound), 1);
  const Multiples *m = e->options->multiples;
  for (int i = 0; m && i < m->n && bound > 1; i++)
    if (m->name[i] == d.name) {
      const int64_t multiple = axis_product(e->c, n, m->factor[i]);
      if (multiple) n = multiple;
      e->options->multiples->written[i].times = d.times;
      e->options->multiples->written[i].more = d.more;
      e->options->multiples->written[i].bound = bound * d.times + d.more;
    }
  env_bind(e, d.name, val_dim(n, x->loc), -1, x->binary.left->loc);
  *axis = axis_and_more(e->c, axis_product(e->c, n, d.times), d.more);
  return true;
}

const Expr *extent_of_inputs(Elab *e, const char *name) {
  const Decl *d = e->run ? e->run->inputs_of : NULL;
  for (int i = 0; d && i < d->function.n; i++) {
    const TypeExpr *t = d->function.params[i].type;
    for (int k = 0; t && t->kind == ARG_TYPED && k < t->n; k++) {
      const Expr *x = t->dims[k].ellipsis ? NULL : t->dims[k].expr;
      if (x && x->kind == EX_BINARY && x->binary.op == BIN_LE && x->binary.left->kind == EX_NAME &&
          x->binary.left->name == name)
        return x;
    }
  }
  return NULL;
}
