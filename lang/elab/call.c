/* Calls: the callee, its arguments, its instance name. A def is inlined.
   Contract: arguments are evaluated once, left to right, in the caller. The types of a signature
   check them and bind dims; a default may use the arguments and dims before it. Recursion is an
   error. */
#include "lang/elab/builtin/builtin.h"
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

/* An optimizer may hand its param on to another one, which then assigns it. */
static int param_by_name(Elab *e, const Expr *x) {
  const Binding *b = x->kind == EX_NAME ? env_find(e, e->frame->env, x->name) : NULL;
  return b && b->global == e->optimizer_param ? b->global : -1;
}

Actual *call_args(Elab *e, const Args *args, int before, bool *ok) {
  Actual *a = ARENA_ARRAY(e->a, Actual, args->n + before + 1);
  for (int i = 0; i < args->n; i++) {
    Actual *arg = &a[before + i];
    *arg =
        (Actual){args->at[i].name, elab_eval_one(e, args->at[i].value), args->at[i].value->loc, -1};
    *ok &= arg->v.kind != VAL_ERROR;
    if (e->optimizer_path) arg->global = param_by_name(e, args->at[i].value);
  }
  return a;
}

/* Rejects recursion, and calls nested deeper than any intended program. */
static bool may_enter(Elab *e, const Func *f, Loc loc) {
  enum { MAX_CALL_DEPTH = 500 };
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
    return elab_fail(e, loc, "the program would inline more than %d calls and iterations",
                     MAX_UNROLL),
           false;
  if (depth > MAX_CALL_DEPTH)
    return elab_fail(e, loc, "calls are nested more than %d deep", MAX_CALL_DEPTH), false;
  return true;
}

Val call_def(Elab *e, const CallSite *s) {
  int np = s->f->decl->function.n;
  const Param *params = s->f->decl->function.params;
  Frame *inner = e->frame;
  e->frame = inner->up; /* errors in the arguments are the caller's */
  Bound *bound = may_enter(e, s->f, s->loc) ? bind_given(e, s) : NULL;
  for (int p = 0; bound && s->f->prelude && p < np; p++)
    if (bound[p].given) check_logits(e, s->f->name, params[p].name.name, bound[p].v, bound[p].loc);
  e->frame = inner;
  if (!bound) return error_value;
  for (int p = 0; p < np; p++)
    if (bound[p].given) env_bind(e, params[p].name.name, bound[p].v, bound[p].global, bound[p].loc);
  for (int p = 0; p < np; p++) {
    const Param *param = &params[p];
    if (!bound[p].given || !param->type) continue;
    e->callers_fault = true;
    bool fits = bind_match(e, s, param, &bound[p]);
    e->callers_fault = false;
    if (!fits) return error_value;
    env_bind(e, param->name.name, bound[p].v, bound[p].global, bound[p].loc);
  }
  for (int p = 0; p < np; p++) {
    const Param *param = &params[p];
    if (bound[p].given) continue;
    Loc loc = param->init ? param->init->loc : param->loc;
    Bound b = {bind_default(e, s, param), loc, -1, false};
    if (b.v.kind == VAL_ERROR || (param->init && !bind_match(e, s, param, &b))) return error_value;
    env_bind(e, param->name.name, b.v, -1, param->loc);
  }
  for (int p = 0; p < np; p++) {
    const Binding *b = env_find(e, inner->env, params[p].name.name);
    if (b) saw_binding(e, params[p].name.loc, b->val, b->global);
  }
  inner->env->body = &s->f->decl->function.body;
  exec_body(e, inner->env->body);
  return inner->env->result;
}

static Val call_instance(Elab *e, const Func *f, const Expr *x, const Actual *arg, int n) {
  const Instance *as = &x->call.as;
  const char *name = as->name.name ? instance_name(e, as) : f->name;
  if (!name) return error_value;
  Loc loc = as->name.name ? as->loc : x->call.callee.loc;
  const Actual *same = args_resolve(e, arg, n);
  const InstanceRecord *before =
      instance_lookup(e, e->frame, (InstanceRecord){name, loc, f, same, n});
  Env *env = env_new(e, f, f->prelude);
  env->result = (Val){.kind = VAL_VOID, .loc = x->loc};
  Frame *frame = frame_push(e, name, x->call.callee.loc, env, f->prelude);
  frame->in_scan = frame->up->env->loop == frame->up;
  frame->duplicate = !as->name.name && ((frame->in_scan && e->run->training) ||
                                        (before && !calls_congruent(e, before, f, same, n)));
  if (!as->name.name && frame->in_scan) frame->in_loop = e->run->scan;
  frame->arg = arg;
  frame->n = n;
  frame->first_call = before ? before->loc : loc;
  frame->again = before != NULL;
  frame->iterated = before && before->loc.line == loc.line && before->loc.col == loc.col;
  frame->shared = as->shared || (before && args_congruent(e, before, f, same, n));
  Val v = call_def(e, &(CallSite){f, arg, n, 0, x->call.callee.loc});
  frame_pop(e);
  return v;
}

Val expr_call(Elab *e, const Expr *x) {
  const Func *f = func_lookup(e, x->call.callee);
  bool ok = f != NULL;
  Actual *arg = call_args(e, &x->call.args, 0, &ok);
  int n = x->call.args.n;
  if (!f || !ok) return error_value;
  if (f->kind == FUNC_DEF) return call_instance(e, f, x, arg, n);
  const Instance *as = &x->call.as;
  if (as->name.name) {
    const char *name = instance_name(e, as);
    if (!name) return error_value;
    frame_push(e, name, as->loc, e->frame->env, e->frame->env->prelude)->scope = true;
  }
  CallSite site = {f, arg, n, 0, x->call.callee.loc};
  Val v = f->kind == FUNC_BUILTIN ? call_builtin(e, &site) : convert_call(e, &site);
  if (as->name.name) frame_pop(e);
  return v;
}
