/* Calls: what is called, with which arguments, under which instance name; a def is inlined.
   Contract: arguments are evaluated once, left to right, in the caller; a signature's types check
   them and bind dims; defaults see the arguments and dims before them. A def that reaches itself is
   an error. */
#include "lang/elab/elab_impl.h"
#include "lang/syntax/elsewhere.h"

Actual *call_args(Elab *e, const Args *args, int room, bool *ok) {
  Actual *a = ARENA_ARRAY(e->a, Actual, args->n + room + 1);
  for (int i = 0; i < args->n; i++) {
    Actual *arg = &a[room + i];
    *arg = (Actual){args->at[i].name, eval_one(e, args->at[i].value), args->at[i].value->loc, -1};
    *ok &= arg->v.kind != VAL_ERROR;
  }
  return a;
}

static int param_index(const Decl *d, const char *name) {
  for (int i = 0; i < d->function.n; i++)
    if (d->function.params[i].name.name == name) return i;
  return -1;
}

static void note_signature(Elab *e, const Decl *d) {
  elab_note(e, d->name.loc, "%s is defined here", d->name.name);
  elab_trace(e);
}

/* Which argument each parameter gets; false after an error. */
static bool pair(Elab *e, const Func *f, const Actual *arg, int n, int hidden, const Actual **got,
                 Loc loc) {
  const Decl *d = f->decl;
  int np = d->function.n, next = 0;
  for (int i = 0; i < n; i++) {
    int p = next;
    if (arg[i].name.name) {
      p = param_index(d, arg[i].name.name);
      if (p < 0) {
        int known = np;
        const char **names = ARENA_ARRAY(e->a, const char *, np + MINIMIZE_ARGS);
        for (int k = 0; k < np; k++) names[k] = d->function.params[k].name.name;
        for (int k = 0; hidden && k < MINIMIZE_ARGS; k++) names[known++] = minimize_arg[k];
        const char *near = known_argument(arg[i].name.name, names, known);
        if (!near) near = nearest_name(e->c, arg[i].name.name, names, known);
        elab_error(e, arg[i].name.loc, "%s has no argument '%s'", f->name, arg[i].name.name);
        if (near) elab_hint(e, "did you mean '%s'?", near);
        note_signature(e, d);
        return false;
      }
    } else if (p >= np) {
      elab_error(e, arg[i].loc, "%s takes %d argument%s, %d given", f->name, np - hidden,
                 np - hidden == 1 ? "" : "s", n - hidden);
      note_signature(e, d);
      return false;
    }
    if (got[p]) {
      elab_error(e, arg[i].loc, "argument '%s' of %s is given twice",
                 d->function.params[p].name.name, f->name);
      elab_note(e, got[p]->loc, "first here");
      elab_trace(e);
      return false;
    }
    got[p] = &arg[i];
    if (!arg[i].name.name) next++;
  }
  for (int p = 0; p < np; p++) {
    const Param *param = &d->function.params[p];
    bool implicit = e->init_shape && param->name.name == intern(e->c, "shape");
    if (got[p] || param->init || implicit) continue;
    elab_error(e, loc, "%s needs its argument '%s'", f->name, param->name.name);
    note_signature(e, d);
    return false;
  }
  return true;
}

/* Recursion, and calls nested so deep that they must be a mistake. */
static bool may_enter(Elab *e, const Func *f, Loc loc) {
  enum { DEEPEST = 500 };
  int depth = 0;
  for (const Frame *fr = e->frame; fr; fr = fr->up, depth++)
    if (fr->env->func == f && !fr->scope) {
      elab_error(e, loc, "%s calls itself: a def is inlined at every call and cannot recurse",
                 f->name);
      elab_note(e, f->decl->name.loc, "%s is defined here", f->name);
      elab_hint(e, "repeat with for i in a..b { … }");
      elab_trace(e);
      return false;
    }
  if (++e->unrolled > MAX_UNROLL)
    return fail(e, loc, "the program would inline more than %d calls and iterations", MAX_UNROLL),
           false;
  if (depth > DEEPEST) return fail(e, loc, "calls are nested more than %d deep", DEEPEST), false;
  return true;
}

Val call_def(Elab *e, const Func *f, const Actual *arg, int n, int hidden, Loc loc) {
  const Decl *d = f->decl;
  int np = d->function.n;
  const Actual **got = ARENA_ARRAY(e->a, const Actual *, np + 1);
  Frame *inner = e->frame;
  e->frame = inner->up; /* what is wrong with the call is the caller's fault */
  bool ok = may_enter(e, f, loc) && pair(e, f, arg, n, hidden, got, loc);
  e->frame = inner;
  if (!ok) return error_value;
  Env *env = inner->env;
  for (int p = 0; p < np; p++)
    if (got[p])
      env_bind(e, d->function.params[p].name.name, got[p]->v, got[p]->global, got[p]->loc);
  for (int p = 0; p < np; p++) {
    const Param *param = &d->function.params[p];
    if (!got[p] || !param->type) continue;
    Val v = got[p]->v;
    e->callers_fault = true;
    bool fits = type_match(e, param->type, &v, true, param->name.name, got[p]->loc);
    e->callers_fault = false;
    if (!fits) return error_value;
    env_bind(e, param->name.name, v, got[p]->global, got[p]->loc);
  }
  for (int p = 0; p < np; p++) {
    const Param *param = &d->function.params[p];
    if (got[p]) continue;
    Val v = param->init ? eval_one(e, param->init)
                        : val_ints(e, e->init_shape->at, e->init_shape->n, loc);
    if (v.kind == VAL_ERROR) return error_value;
    if (param->type && param->init &&
        !type_match(e, param->type, &v, true, param->name.name, param->init->loc))
      return error_value;
    env_bind(e, param->name.name, v, -1, param->loc);
  }
  exec_body(e, &d->function.body);
  return env->result;
}

static Val enter(Elab *e, const Func *f, const Expr *x, const Actual *arg, int n) {
  const Instance *as = &x->call.as;
  const char *name = as->name.name ? instance_name(e, as) : f->name;
  if (!name) return error_value;
  Loc place = as->name.name ? as->loc : x->call.callee.loc;
  const Actual *same = scan_origin(e, arg, n);
  const Child *before = frame_reach(e, e->frame, (Child){name, place, f, same, n});
  Env *env = env_new(e, f, f->prelude);
  env->result = (Val){.kind = VAL_VOID, .loc = x->loc};
  Frame *frame = frame_push(e, name, x->call.callee.loc, env, f->prelude);
  frame->in_scan = frame->up->env->loop == frame->up;
  frame->again = !as->name.name && ((frame->in_scan && e->run->training) ||
                                    (before && !calls_congruent(e, before, f, same, n)));
  if (!as->name.name && frame->in_scan) frame->repeats = e->run->scan;
  frame->arg = arg;
  frame->n = n;
  frame->first = before ? before->loc : place;
  Val v = call_def(e, f, arg, n, 0, x->call.callee.loc);
  frame_pop(e);
  return v;
}

Val expr_call(Elab *e, const Expr *x) {
  const Func *f = func_lookup(e, x->call.callee);
  bool ok = f != NULL;
  Actual *arg = call_args(e, &x->call.args, 0, &ok);
  int n = x->call.args.n;
  if (!f || !ok) return error_value;
  if (f->kind == FUNC_DEF) return enter(e, f, x, arg, n);
  const Instance *as = &x->call.as;
  if (as->name.name) {
    const char *name = instance_name(e, as);
    if (!name) return error_value;
    frame_push(e, name, as->loc, e->frame->env, e->frame->env->prelude)->scope = true;
  }
  Val v = f->kind == FUNC_BUILTIN ? call_builtin(e, f, arg, n, x->call.callee.loc)
                                  : convert_call(e, f->dtype, arg, n, x->call.callee.loc);
  if (as->name.name) frame_pop(e);
  return v;
}
