/* The update of params by their gradients. Contract: the optimizer is the first one whose condition
   holds for the param. It is called with (p, g) before the user's arguments; an assignment to `p`
   assigns the param; its states are NAME.state.PATH. The gradients are first averaged, then
   clipped. */
#include "lang/elab/train.h"

/* Whether the condition holds for the param, whose name in it is p. 1, 0, or -1 after an error. */
static int condition_holds(Elab *e, const Expr *x, int global) {
  Env *env = e->frame->env;
  const char *p = intern(e->c, "p");
  Binding *hidden = env_find(e, env, p), kept = hidden ? *hidden : (Binding){0};
  uint32_t names = env->names.n;
  env_bind(e, p, error_value, global, x->loc);
  Val v = elab_eval_one(e, x);
  if (hidden)
    *env_find(e, env, p) = kept;
  else
    env_drop(e, env, names);
  if (v.kind == VAL_ERROR) return -1;
  if (v.kind == VAL_BOOL) return v.b;
  elab_error(e, x->loc, "the condition of an optimizer must be a compile-time bool, found %s",
             val_str(e, v));
  if (v.kind == VAL_TENSOR)
    elab_hint(e, "a clause skips the whole update when the program runs: with adamw(lr), if = ok");
  else
    elab_hint(e, "p is the param, as in adamw(lr) if rank(p) > 1");
  return elab_trace(e), -1;
}

static bool update_param(Elab *e, const Choice *c, const Trained *p) {
  const Instance *as = &c->x->call.as;
  const Func *f = c->f;
  const char *name = as->name.name ? instance_name(e, as) : f->name;
  if (!name) return false;
  Loc loc = c->x->call.callee.loc;
  ValueId now = global_read(e, p->global, loc);
  elab_at(e, loc);
  Val value = val_tensor(e, now);
  value.tensor.path = p->path;
  c->arg[0] = (Actual){{0}, value, loc, p->global};
  c->arg[1] = (Actual){{0}, p->g, loc, -1};
  Env *env = env_new(e, f, f->prelude);
  env->result = (Val){.kind = VAL_VOID, .loc = c->x->loc};
  frame_push(e, name, loc, env, f->prelude);
  e->optimizer_path = p->path;
  e->optimizer_param = p->global;
  int errors = elab_errors(e);
  (void)call_def(e, &(CallSite){f, c->arg, c->n + 2, 2, loc});
  e->optimizer_path = NULL;
  frame_pop(e);
  if (elab_errors(e) > errors) return false; /* the next param would say the same */
  if (*global_current(e, p->global) != now) return true;
  elab_error(e, loc, "%s is not an optimizer: it does not assign its first argument", f->name);
  elab_note(e, f->decl->name.loc, "%s is defined here", f->name);
  elab_hint(e, "an optimizer is a def f(p, g, …) that assigns p := …");
  return elab_trace(e), false;
}

/* Warns of params that no optimizer takes; `first` is one of the n. */
static void warn_untaken(Elab *e, const Training *t, const Trained *first, int n, int count) {
  const Choice *last = &t->opt[t->n - 1];
  if (n == count) {
    elab_warning(e, t->opt[0].condition->loc, "no param meets a condition: nothing is trained");
    elab_hint(e, "conditions are about the param p, as in rank(p) > 1");
    return;
  }
  elab_warning(e, last->condition->loc, "no optimizer takes %s%s: %s not trained", first->path,
               n > 1 ? intern_printf(e->c, " and %d more param%s", n - 1, n > 2 ? "s" : "") : "",
               n > 1 ? "they are" : "it is");
  elab_hint(e, "an optimizer without a condition takes the others: with %s if %s, %s",
            source_slice(e, last->x->loc), source_slice(e, last->condition->loc),
            source_slice(e, last->x->loc));
}

/* Each param by the first optimizer whose condition holds; a param without one stays as it is. */
static void update_params(Elab *e, const Training *t, const Trained *p, int count) {
  const Trained *untaken = NULL;
  int left = 0;
  for (int i = 0; i < count; i++) {
    int holds = 0;
    for (int k = 0; k < t->n && !holds; k++) {
      const Choice *c = &t->opt[k];
      holds = c->condition ? condition_holds(e, c->condition, p[i].global) : 1;
      if (holds < 0 || (holds && !update_param(e, c, &p[i]))) return;
    }
    if (holds) continue;
    if (!left++) untaken = &p[i];
  }
  if (left && t->n) warn_untaken(e, t, untaken, left, count);
}

static void record_updates(Elab *e, const Trained *p, int n, Loc loc) {
  for (int i = 0; i < n; i++)
    vec_push(e->a, &e->run->updated, (Updated){p[i].global, *global_current(e, p[i].global), loc});
}

/* Scales all gradients so that their common norm is at most `most`. */
static void clip_norm(Elab *e, Trained *p, int n, Val max_norm, Loc loc) {
  if (val_is_number(max_norm) && !(val_number(max_norm) > 0)) {
    elab_error(e, loc, "clip needs a norm above 0, found %s", val_str(e, max_norm));
    elab_hint(e, "without clip the gradients are taken as they are");
    elab_trace(e);
    return;
  }
  Val *g = ARENA_ARRAY(e->a, Val, n + 1);
  for (int i = 0; i < n; i++) g[i] = p[i].g;
  Val total = sum_of_squares(e, g, n, loc);
  Val norm = build_checked(e, OP_SQRT, &total, 1, NULL, NULL, "clip", loc);
  norm = tensor_binary(e, BIN_ADD, norm, val_num(1e-6, loc), loc);
  Val ratio = tensor_binary(e, BIN_DIV, max_norm, norm, loc);
  Val pair[2] = {ratio, val_int(1, loc)};
  Val scale = tensor_elementwise(e, OP_MIN, pair, 2, "clip", loc);
  if (scale.kind == VAL_ERROR) return;
  if (scale.tensor.type->rank != 0) {
    elab_fail(e, loc, "clip needs one number, found %s", val_str(e, max_norm));
    return;
  }
  value_at(e->run->entry, scale.tensor.id)->name = intern(e->c, "clip_scale");
  for (int i = 0; i < n; i++) {
    Dtype dt = p[i].g.tensor.type->dtype;
    p[i].g = val_convert(e, tensor_binary(e, BIN_MUL, p[i].g, scale, loc), dt);
  }
}

/* The bool of `if = ok`; NO_ID: every run updates. False after an error. */
static bool read_condition(Elab *e, const Actual *a, ValueId *due) {
  *due = NO_ID;
  if (a->v.kind == VAL_NONE || (a->v.kind == VAL_BOOL && a->v.b)) return true;
  Val v = a->v.kind == VAL_BOOL ? val_to_const(e, a->v, type_scalar(e->c, DT_BOOL), a->loc) : a->v;
  if (v.kind == VAL_TENSOR && v.tensor.type == type_scalar(e->c, DT_BOOL))
    return *due = v.tensor.id, true;
  elab_error(e, a->loc, "'if' needs one bool, found %s", val_str(e, v));
  elab_hint(e, "as in if = finite(norm(g))");
  return elab_trace(e), false;
}

/* A run is one step, however many updates it has; it counts if one of them takes place. Later reads
   of `step` in this entry give the current step: it is stored at the end. */
static void count_step(Elab *e, ValueId due, Loc loc) {
  EntryBuilder *run = e->run;
  bool first = run->next_step == NO_ID;
  if (!first && run->step_due == NO_ID) return;
  int step = global_step(e);
  ValueId now = global_read(e, step, loc);
  ValueId one = build_const_int(elab_at(e, loc), type_scalar(e->c, DT_I64), 1);
  ValueId next = build2(elab_at(e, loc), OP_ADD, now, one);
  if (due != NO_ID && !first) due = build2(elab_at(e, loc), OP_OR, run->step_due, due);
  run->step_due = due;
  run->next_step = due == NO_ID ? next : build3(elab_at(e, loc), OP_WHERE, due, next, now);
}

void update_by_gradients(Elab *e, const Stmt *s, const Training *t, Trained *p, int count) {
  const Actual *clipping = &t->clause[TRAIN_CLIP], *runs = &t->clause[TRAIN_ACCUMULATE];
  int64_t k = 1;
  ValueId due, *unchanged = NULL;
  if (runs->v.kind != VAL_NONE &&
      !val_to_int(e, runs->v, 1, intern_printf(e->c, "'accumulate' of %s", train_keyword(s)),
                  runs->loc, &k))
    return;
  if (!read_condition(e, &t->clause[TRAIN_IF], &due)) return;
  int errors = elab_errors(e), known = (int)e->m->globals.n;
  if (due != NO_ID) unchanged = update_before(e);
  e->accumulate = k;
  ValueId full = k > 1 ? accumulate_due(e, runs->loc) : NO_ID;
  for (int i = 0; k > 1 && i < count; i++)
    p[i].g = accumulate_add(e, full, p[i].path, p[i].g, runs->loc);
  int before_n = (int)e->m->globals.n;
  if (clipping->v.kind != VAL_NONE) clip_norm(e, p, count, clipping->v, clipping->loc);
  ValueId *before = k > 1 ? update_before(e) : NULL;
  if (elab_errors(e) == errors) update_params(e, t, p, count);
  if (k > 1) update_choose(e, full, before, before_n, runs->loc);
  if (due != NO_ID) update_choose(e, due, unchanged, known, t->clause[TRAIN_IF].loc);
  e->accumulate = 0;
  if (elab_errors(e) > errors) return;
  record_updates(e, p, count, s->loc);
  count_step(e, due, s->loc);
}
