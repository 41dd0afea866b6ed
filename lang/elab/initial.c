/* Initial values of params and states. Contract: each is evaluated once, in the entry `init`; two
   initialisers with equal texts have equal values. */
#include "ir/support/memfile.h"
#include "lang/elab/elab_impl.h"

/* An initialiser as text, with values in place of names: equal texts have equal values. */
static void canon(Elab *e, FILE *f, const Expr *x) {
  switch (x->kind) {
  case EX_INT: fprintf(f, "%lld", (long long)x->integer); return;
  case EX_FLOAT: fputs(val_canon(e, val_num(x->number, x->loc)), f); return;
  case EX_BOOL: fputs(x->boolean ? "true" : "false", f); return;
  case EX_STRING: fprintf(f, "\"%s\"", x->string.bytes); return;
  case EX_DTYPE: fputs(x->name, f); return;
  case EX_NAME: fputs(val_canon(e, elab_eval(e, x)), f); return;
  case EX_LIST:
    fputc('[', f);
    for (int i = 0; i < x->list.n; i++) {
      if (i) fputs(", ", f);
      canon(e, f, x->list.at[i]);
    }
    fputc(']', f);
    return;
  case EX_UNARY:
    fprintf(f, "(%s ", unary_spelling(x->unary.op));
    canon(e, f, x->unary.operand);
    fputc(')', f);
    return;
  case EX_BINARY:
    fputc('(', f);
    canon(e, f, x->binary.left);
    fprintf(f, " %s ", binary_spelling(x->binary.op));
    canon(e, f, x->binary.right);
    fputc(')', f);
    return;
  case EX_COND: {
    Val t = elab_eval(e, x->cond.test);
    canon(e, f, t.kind == VAL_BOOL && t.b ? x->cond.then : x->cond.other);
    return;
  }
  case EX_CALL: {
    const Func *callee = func_lookup(e, x->call.callee); /* a name may stand for another function */
    fprintf(f, "%s(", callee ? val_canon(e, (Val){.kind = VAL_FUNC, .func = callee}) : "?");
    for (int i = 0; i < x->call.args.n; i++) {
      const Arg *a = &x->call.args.at[i];
      if (i) fputs(", ", f);
      if (a->name.name) fprintf(f, "%s = ", a->name.name);
      canon(e, f, a->value);
    }
    fputc(')', f);
    return;
  }
  case EX_INDEX: fputs(val_canon(e, elab_eval(e, x)), f); return;
  case EX_TRANSPOSE:
    canon(e, f, x->operand);
    fputc('\'', f);
    return;
  }
}

Val initial_value(Elab *e, const Expr *x, const char *path, const Type *type, const char **text) {
  EntryBuilder *run = e->run;
  const Ints *shape = e->init_shape;
  Dtype dtype = e->init_dtype;
  e->run = &e->init;
  Frame *frame = ARENA_NEW(e->a, Frame), *outer = e->frame;
  *frame =
      (Frame){.up = outer, .env = outer->env, .path = path, .user = outer->user, .scope = true};
  e->frame = frame;
  e->init_shape = intern_ints(e->c, type->dim, type->rank);
  e->init_dtype = type->dtype;
  MemFile m;
  int errors = elab_errors(e);
  canon(e, memfile_open(&m), x);
  *text = memfile_intern(e->c, &m);
  Val v = elab_errors(e) > errors ? error_value : (Val){.kind = VAL_NONE};
  if (v.kind == VAL_NONE && module_find_global(e->m, path) < 0) {
    v = elab_eval_one(e, x);
    if (v.kind == VAL_FUNC) {
      elab_error(e, x->loc, "the initial value of %s is the function %s, not what it gives", path,
                 v.func->name);
      elab_hint(e, "an initialiser is called: %s()", v.func->name);
      v = elab_trace(e);
    }
    if (v.kind != VAL_TENSOR && v.kind != VAL_ERROR) v = val_to_const(e, v, type, x->loc);
  }
  if (v.kind == VAL_TENSOR && v.tensor.type != type) {
    const Type *t = v.tensor.type;
    bool floats = dtype_is_float(t->dtype) && dtype_is_float(type->dtype);
    const Type *as = type_with_dtype(e->c, t, type->dtype);
    elab_at(e, x->loc);
    if ((floats || t->dtype == type->dtype) && (as == type || t->rank == 0)) {
      v = val_convert(e, v, type->dtype);
      if (as != type) v = val_tensor(e, build_broadcast(e->run->b, v.tensor.id, type));
    } else {
      v = elab_fail(e, x->loc, "the initial value of %s is %s, but it is declared %s", path,
                    type_text(e->c, t), type_text(e->c, type));
    }
  }
  e->run = run;
  e->frame = outer;
  e->init_shape = shape;
  e->init_dtype = dtype;
  return v;
}
