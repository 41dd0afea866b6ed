/* Types as written, f32[n, 3] or [..., d]: checks values against them, and binds the free names of
   a signature (kinds are checked in kind.c). Contract: a lone name among a signature's dims that is
   not a compile-time integer yet is bound to the argument's extent. A dim that is a list stands for
   one axis an element. */
#include "lang/elab/elab_impl.h"

/* A dim whose expression was evaluated. */
typedef struct Want {
  bool any;         /* "...": any leading dims */
  int64_t n;        /* the extent, as type_get takes it, or -1: to be bound */
  const char *name; /* a lone name, for binding and messages; else NULL */
  Loc bound;        /* where the name got its extent */
  Loc loc;
} Want;

typedef VEC(Want) Wants;

static bool free_name(Elab *e, const Expr *x) {
  Binding *b = env_find(e, e->frame->env, x->name);
  if (b)
    return b->global >= 0 ||
           (b->val.kind != VAL_INT && b->val.kind != VAL_NUM && b->val.kind != VAL_LIST &&
            b->val.kind != VAL_EXTENT && b->val.kind != VAL_ERROR);
  Top *t = top_find(e, x->name);
  return !t || t->decl->kind != DECL_LET;
}

/* A name that was reported as a dim: its other uses report nothing. */
static void forget_value(Elab *e, const char *name) {
  Binding *b = env_find(e, e->frame->env, name);
  Top *t = b ? NULL : top_find(e, name);
  if (b && b->global < 0) b->val = error_value;
  if (t && t->decl->kind == DECL_LET) t->val = error_value;
}

static bool no_extent_of_input(Elab *e, Loc loc, int64_t axis) {
  const bool whole = axis_extent(e->c, axis)->whole != 0;
  elab_error(e, loc, "a dim of an input is a multiple of one extent%s, found %s",
             whole ? ", or has more" : "", axis_str(e->c, axis));
  elab_hint(e, whole ? "take fewer in the entry, by x[1:]"
                     : "give each extent an axis of its own, and reshape");
  return elab_trace(e), false;
}

/* The extent that the value of a dim's expression is; false: none, which was reported. */
static bool wants_value(Elab *e, const Dim *d, Val v, bool input, Want *w) {
  const bool bounded = v.kind == VAL_EXTENT && v.extent.axis;
  if (bounded) w->n = v.extent.axis;
  if (bounded && input && !axis_is_of_input(e->c, w->n)) return no_extent_of_input(e, d->loc, w->n);
  if (input && v.kind == VAL_INT && v.i < 0) {
    elab_error(e, d->loc, "a dim must be at least 1, found %lld", (long long)v.i);
    if (!hint_define(e, v)) elab_hint(e, "a dim that is known at run time has a bound: n <= 64");
    elab_trace(e);
  } else if (bounded || val_to_int(e, v, 1, "a dim", d->loc, &w->n)) {
    return true;
  }
  if (w->name) forget_value(e, w->name);
  return false;
}

/* bind: free names are bound to the argument's dims. input: `n <= 64` declares an extent. */
static bool wants_of(Elab *e, const TypeExpr *t, bool bind, bool input, Wants *out) {
  bool ok = true, dots = false;
  for (int i = 0; i < t->n; i++) {
    const Dim *d = &t->dims[i];
    Want w = {.n = -1, .loc = d->loc};
    if (d->ellipsis) {
      if (dots) return elab_fail(e, d->loc, "'...' may stand only once in a type"), false;
      dots = w.any = true;
      vec_push(e->a, out, w);
      continue;
    }
    if (d->expr->kind == EX_NAME) {
      w.name = d->expr->name;
      Binding *b = env_find(e, e->frame->env, w.name);
      if (b) w.bound = b->loc;
    }
    if (w.name && bind && free_name(e, d->expr)) {
      vec_push(e->a, out, w);
      continue;
    }
    if (w.name && !name_is_known(e, w.name)) {
      unknown_name(e, "dim", w.name, d->loc);
      ok = false;
      continue;
    }
    if (input && extent_declared(e, d->expr, &w.n)) {
      vec_push(e->a, out, w);
      ok &= w.n != -1;
      continue;
    }
    Val v = elab_eval_one(e, d->expr);
    int list = v.kind == VAL_LIST ? v.list->n : 1;
    for (int k = 0; k < list; k++) {
      const bool is_dim = wants_value(e, d, v.kind == VAL_LIST ? v.list->at[k] : v, input, &w);
      if (is_dim) vec_push(e->a, out, w);
      ok &= is_dim;
    }
  }
  return ok;
}

static Dtype dtype_of(const TypeExpr *t, Dtype dt) {
  if (t->dtype) (void)dtype_parse(t->dtype, &dt);
  return dt;
}

static const Type *eval_type(Elab *e, const TypeExpr *t, Dtype dt, bool input) {
  Wants w = {0};
  if (t->kind != ARG_TYPED) {
    elab_error(e, t->loc, "a dtype and a shape are needed here, not '%s'", arg_kind_word[t->kind]);
    elab_hint(e, "for example f32[64, 784]");
    return elab_trace(e), NULL;
  }
  if (!wants_of(e, t, false, input, &w)) return NULL;
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, w.n + 1);
  for (uint32_t i = 0; i < w.n; i++) {
    if (w.at[i].any)
      return elab_fail(e, w.at[i].loc, "every dim must be known here, '...' is not"), NULL;
    dim[i] = w.at[i].n;
  }
  const Type *type = type_get(e->c, dtype_of(t, dt), (int)w.n, dim);
  if (!type) elab_fail(e, t->loc, "a tensor of this shape has more elements than can be addressed");
  return type;
}

static void no_extent(Elab *e, Loc loc, const Extent *x) {
  elab_error(e, loc, "a dim of a param or state must be known at compile time, found %s",
             extent_str(e, val_dim(axis_of_extent(x, 1), loc)));
  elab_hint(e, "declare as many rows as there may be, %lld, and read the first: table[:%s]",
            (long long)x->bound, x->name);
  elab_trace(e);
}

const Type *type_eval(Elab *e, const TypeExpr *t, Dtype dt) {
  const Type *type = eval_type(e, t, dt, false);
  for (int i = 0; type && i < type->rank; i++)
    if (type_extent(type, i))
      return no_extent(e, t->dims[i < t->n ? i : 0].loc, type_extent(type, i)), NULL;
  return type;
}

const Type *type_of_input(Elab *e, const TypeExpr *t) { return eval_type(e, t, DT_F32, true); }

static void mismatch(Elab *e, const TypeExpr *t, Val v, const char *name, Loc loc, int axis,
                     const Want *w) {
  const Type *type = v.tensor.type;
  const char *written = source_slice(e, t->loc);
  if (axis < 0)
    elab_error(e, loc, "%s is %s, but must be %s", name, type_text(e->c, type), written);
  else
    elab_error(e, loc, "%s is %s, but must be %s: axis %d is %s, not %s", name,
               type_text(e->c, type), written, axis, axis_str(e->c, type_axis(type, axis)),
               axis_str(e->c, w->n));
  elab_note_tensor(e, name, v);
  elab_note(e, t->loc, "declared here");
  if (axis >= 0 && w->bound.line)
    elab_note(e, w->bound, "%s is %s since here", w->name, axis_str(e->c, w->n));
  elab_trace(e);
}

/* A number for a type without dims stays a number: it is still known at compile time. */
static bool scalar_match(const TypeExpr *t, Val *v) {
  Dtype dt = dtype_of(t, v->kind == VAL_INT ? DT_I32 : v->kind == VAL_BOOL ? DT_BOOL : DT_F32);
  if (v->kind == VAL_BOOL) return dt == DT_BOOL;
  if (!val_is_number(*v) || dt == DT_BOOL) return false;
  if (dtype_is_float(dt)) *v = val_num(val_number(*v), v->loc);
  return v->kind == VAL_INT || dtype_is_float(dt);
}

bool type_match(Elab *e, const TypeExpr *t, Val *v, bool bind, const char *name, const CallSite *s,
                Loc loc) {
  Wants w = {0};
  if (t->kind != ARG_TYPED) return kind_match(e, t, v, name, s, loc);
  if (v->kind == VAL_ERROR) return false;
  if (v->kind != VAL_TENSOR && t->n == 0 && scalar_match(t, v)) return true;
  if (v->kind != VAL_TENSOR) {
    elab_error(e, loc, "%s must be %s, found %s", name, source_slice(e, t->loc), val_str(e, *v));
    elab_note(e, t->loc, "declared here");
    return elab_trace(e), false;
  }
  if (!wants_of(e, t, bind, false, &w)) return false;
  const Type *type = v->tensor.type;
  int dots = -1, n = (int)w.n, fixed = n;
  for (int i = 0; i < n; i++)
    if (w.at[i].any) dots = i, fixed = n - 1;
  bool fits = dtype_of(t, type->dtype) == type->dtype;
  fits &= dots >= 0 ? type->rank >= fixed : type->rank == fixed;
  if (!fits) return mismatch(e, t, *v, name, loc, -1, NULL), false;
  for (int i = 0; i < n; i++) {
    Want *want = &w.at[i];
    if (want->any) continue;
    int axis = dots >= 0 && i > dots ? type->rank - (n - i) : i;
    Binding *b = want->n == -1 ? env_find(e, e->frame->env, want->name) : NULL;
    bool dim = b && (b->val.kind == VAL_INT || (b->val.kind == VAL_EXTENT && b->val.extent.axis));
    if (dim && b->global < 0) { /* bound by an earlier axis: f32[n, n] */
      want->n = b->val.kind == VAL_INT ? b->val.i : b->val.extent.axis;
      want->bound = b->loc;
    }
    if (want->n == -1) {
      env_bind(e, want->name, val_dim(type_axis(type, axis), want->loc), -1, loc);
    } else if (want->n != type_axis(type, axis)) {
      mismatch(e, t, *v, name, loc, axis, want);
      return false;
    }
  }
  return true;
}
