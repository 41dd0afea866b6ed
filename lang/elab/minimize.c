/* `minimize L with opt(args)` and `update TREE with opt(args), by = g`: the optimizer's body
   inlined for each param. Contract: minimize takes the params that L depends on, in the order of
   their paths, or those of them that `only` names, and their gradients by one grad op; then it is
   an update. The optimizer is the first one whose condition holds for the param. It is called with
   (p, g) before the user's arguments; an assignment to `p` assigns the param; its states are
   NAME.state.PATH. An entry may have several, of different params: a read after an update gives the
   new value, and no gradient flows into the update. */
#include "lang/elab/builtin/builtin.h"

#include <stdlib.h>

/* ---- minimize ---- */

typedef struct Trained {
  int global;
  const char *path;
  ValueId value; /* what the loss read */
  Val g;
} Trained;

static int by_path(const void *a, const void *b) {
  return strcmp(((const Trained *)a)->path, ((const Trained *)b)->path);
}

static Updated *updated(const Elab *e, int global) {
  for (uint32_t i = 0; i < e->run->updated.n; i++)
    if (e->run->updated.at[i].global == global) return &e->run->updated.at[i];
  return NULL;
}

ValueId minimize_read(Elab *e, int global, ValueId now, Loc loc) {
  Updated *u = updated(e, global);
  if (!u || u->value != now) return now;
  u->value = build1(elab_at(e, loc), OP_STOP_GRADIENT, now);
  return *global_current(e, global) = u->value;
}

/* The params that the loss depends on, at their values before and after updates. */
static int all_params(Elab *e, ValueId loss, Trained **out) {
  bool *reach = grad_reach(e, loss);
  const Entry *en = e->run->entry;
  VEC(Trained) all = {0};
  for (uint32_t v = 0; v < en->values.n; v++) {
    const Op *op = reach[v] ? value_def(en, v) : NULL;
    if (!op || op->kind != OP_LOAD) continue;
    int global = (int)op->attr[AT_GLOBAL].i;
    const Global *g = &e->m->globals.at[global];
    if (g->kind == GLOBAL_PARAM) vec_push(e->a, &all, (Trained){global, g->path, v, error_value});
  }
  for (uint32_t i = 0; i < e->run->updated.n; i++) {
    const Updated *u = &e->run->updated.at[i];
    const char *path = e->m->globals.at[u->global].path;
    if (reach[u->value]) vec_push(e->a, &all, (Trained){u->global, path, u->value, error_value});
  }
  if (all.n) qsort(all.at, all.n, sizeof *all.at, by_path);
  *out = all.at;
  return (int)all.n;
}

/* ---- only = "path" ---- */

/* Selects the params at the path or below it. False after an error. */
static bool select_path(Elab *e, Val path, Loc loc, const Trained *p, int n, bool *selected) {
  bool any = false;
  if (path.kind != VAL_STR)
    return elab_fail(e, loc, "'only' of minimize needs the paths of params as strings, found %s",
                     val_str(e, path)),
           false;
  for (int i = 0; i < n; i++)
    if (path_is_below(p[i].path, path.str)) any = selected[i] = true;
  if (any) return true;
  elab_error(e, loc, "the loss depends on no param at \"%s\"", path.str);
  elab_hint(e, "it depends on %s%s", p[0].path,
            n > 1 ? intern_printf(e->c, " and %d more", n - 1) : "");
  elab_trace(e);
  return false;
}

static void trained_twice(Elab *e, const Updated *u, Loc loc) {
  elab_error(e, loc, "%s is trained twice", e->m->globals.at[u->global].path);
  elab_note(e, u->loc, "the other is here");
  elab_hint(e,
            "say which params each takes, as in minimize loss with adam(lr), only = \"net.fc1\"");
  elab_trace(e);
}

/* Keeps what `only` names, all if it is not given. False after an error. */
static bool select_params(Elab *e, const Actual *only, Trained *p, int *n, Loc loc) {
  bool *selected = ARENA_ARRAY(e->a, bool, *n + 1), ok = true;
  const Val *v = &only->v;
  if (v->kind == VAL_LIST && v->list->n == 0)
    return elab_fail(e, only->loc, "'only' of minimize names no param"), false;
  if (v->kind == VAL_NONE)
    memset(selected, true, (size_t)*n);
  else if (v->kind == VAL_LIST)
    for (int i = 0; i < v->list->n && ok; i++)
      ok = select_path(e, v->list->at[i], only->loc, p, *n, selected);
  else
    ok = select_path(e, *v, only->loc, p, *n, selected);
  int kept = 0;
  for (int i = 0; i < *n && ok; i++) {
    const Updated *u = selected[i] ? updated(e, p[i].global) : NULL;
    if (u) {
      trained_twice(e, u, loc);
      return false;
    }
    if (selected[i]) p[kept++] = p[i];
  }
  *n = kept;
  return ok;
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

/* ---- the optimizers of a recipe, and its clauses ---- */

typedef struct Choice { /* an optimizer with its arguments */
  const Func *f;
  const Expr *x;
  const Expr *condition; /* NULL: for all params */
  Actual *arg;           /* p and g, then n from the user */
  int n;
} Choice;

const char *const train_clause[TRAIN_CLAUSES] = {[TRAIN_CLIP] = "clip",
                                                 [TRAIN_ONLY] = "only",
                                                 [TRAIN_ACCUMULATE] = "accumulate",
                                                 [TRAIN_IF] = "if",
                                                 [TRAIN_BY] = "by"};

typedef struct Training {
  Choice *opt;
  int n;
  bool update;                  /* else minimize */
  Actual clause[TRAIN_CLAUSES]; /* VAL_NONE: not given */
} Training;

static bool has_param(const Func *f, const char *name) {
  for (int i = 0; i < f->decl->function.n; i++)
    if (f->decl->function.params[i].name.name == name) return true;
  return false;
}

/* That the statement has the clause; TRAIN_CLAUSES: none of this name. */
static bool has_clause(Elab *e, const Training *t, int k, const Ident *name) {
  if (k != TRAIN_CLAUSES && k != (t->update ? TRAIN_ONLY : TRAIN_BY)) return true;
  elab_error(e, name->loc, "%s has no clause '%s'", t->update ? "update" : "minimize", name->name);
  elab_hint(e, t->update ? "its clauses are by, if, clip and accumulate"
                         : "its clauses are if, clip, accumulate and only");
  return elab_trace(e), false;
}

static bool set_clause(Elab *e, Training *t, TrainClause k, const Actual *a) {
  const Actual *before = &t->clause[k];
  if (before->v.kind == VAL_NONE) return t->clause[k] = *a, true;
  elab_error(e, a->loc, "'%s' is given twice", train_clause[k]);
  elab_note(e, before->loc, "first here");
  return elab_trace(e), false;
}

/* Takes the clauses that stand among an optimizer's arguments, adamw(lr, clip = 1), unless the
   optimizer has a parameter of this name. */
static bool take_clauses(Elab *e, Choice *c, Training *t) {
  for (int k = 0; k < TRAIN_AMONG_ARGS; k++) {
    const char *name = intern(e->c, train_clause[k]);
    for (int i = 2; i < c->n + 2 && !has_param(c->f, name); i++) {
      if (c->arg[i].name.name != name) continue;
      if (!has_clause(e, t, k, &c->arg[i].name) || !set_clause(e, t, (TrainClause)k, &c->arg[i]))
        return false;
      memmove(&c->arg[i], &c->arg[i + 1], sizeof *c->arg * (size_t)(c->n + 1 - i));
      c->n--;
      break;
    }
  }
  return true;
}

static bool read_optimizer(Elab *e, const Optimizer *o, Training *t) {
  const Expr *x = o->call;
  const Func *f = func_lookup(e, x->call.callee);
  bool ok = f != NULL;
  Actual *arg = call_args(e, &x->call.args, 2, &ok);
  if (!ok) return false;
  if (f->kind != FUNC_DEF || f->decl->function.n < 2) {
    elab_error(e, x->call.callee.loc, "%s is not an optimizer", f->name);
    elab_hint(
        e,
        "use sgd, adam, adamw, rmsprop, adagrad or lion, or a def f(p, g, …) that assigns p := …");
    return elab_trace(e), false;
  }
  t->opt[t->n] = (Choice){f, x, o->condition, arg, x->call.args.n};
  return take_clauses(e, &t->opt[t->n++], t);
}

static bool read_clause(Elab *e, const Arg *a, Training *t) {
  int k = 0;
  while (k < TRAIN_CLAUSES && strcmp(train_clause[k], a->name.name) != 0) k++;
  Val v = elab_eval_one(e, a->value);
  return has_clause(e, t, k, &a->name) && v.kind != VAL_ERROR &&
         set_clause(e, t, (TrainClause)k, &(Actual){a->name, v, a->value->loc, -1});
}

static bool read_recipe(Elab *e, const Stmt *s, Training *t) {
  const Recipe *r = &s->train.recipe;
  Val none = {.kind = VAL_NONE};
  *t = (Training){.opt = ARENA_ARRAY(e->a, Choice, r->n + 1), .update = s->kind == ST_TRAIN};
  for (int i = 0; i < TRAIN_CLAUSES; i++) t->clause[i] = (Actual){.v = none, .loc = s->loc};
  bool ok = true;
  for (int i = 0; i < r->n; i++) ok &= read_optimizer(e, &r->at[i], t);
  for (int i = 0; i < r->clauses.n; i++) ok &= read_clause(e, &r->clauses.at[i], t);
  return ok;
}

/* ---- updates ---- */

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

/* Each param by the first optimizer whose condition holds; a param without one stays as it is. */
static void update_params(Elab *e, const Training *t, const Trained *p, int count) {
  for (int i = 0; i < count; i++)
    for (int k = 0; k < t->n; k++) {
      const Choice *c = &t->opt[k];
      int holds = c->condition ? condition_holds(e, c->condition, p[i].global) : 1;
      if (holds < 0 || (holds && !update_param(e, c, &p[i]))) return;
      if (holds) break;
    }
}

static void record_updates(Elab *e, const Trained *p, int n, Loc loc) {
  for (int i = 0; i < n; i++)
    vec_push(e->a, &e->run->updated, (Updated){p[i].global, *global_current(e, p[i].global), loc});
}

static const char *keyword(const Stmt *s) { return s->kind == ST_TRAIN ? "update" : "minimize"; }

static bool may_train(Elab *e, const Stmt *s) {
  const char *what = keyword(s);
  if (e->frame->env->func) {
    elab_error(e, s->loc, "%s belongs in an entry, not in a def", what);
    elab_hint(e, "return the loss and %s it in the entry",
              s->kind == ST_TRAIN ? "update the params by" : "minimize");
    return elab_trace(e), false;
  }
  if (e->run->scan) {
    elab_error(e, s->loc, "%s belongs outside of a scan", what);
    elab_hint(e, "minimize what the loop computes, after it; the program runs a step many times");
    return elab_trace(e), false;
  }
  if (!e->run->minimized) e->run->minimize = s->loc;
  e->run->minimized = true;
  return true;
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

/* The update of the params by their gradients. */
static void update(Elab *e, const Stmt *s, const Training *t, Trained *p, int count) {
  const Actual *clipping = &t->clause[TRAIN_CLIP], *runs = &t->clause[TRAIN_ACCUMULATE];
  int64_t k = 1;
  ValueId due, *unchanged = NULL;
  if (runs->v.kind != VAL_NONE &&
      !val_to_int(e, runs->v, 1, intern_printf(e->c, "'accumulate' of %s", keyword(s)), runs->loc,
                  &k))
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

/* ---- minimize ---- */

static void exec_minimize(Elab *e, const Stmt *s) {
  Training t;
  Val loss = elab_eval_one(e, s->train.what);
  bool ok = read_recipe(e, s, &t);
  ok &= grad_loss(e, loss, "minimize", s->train.what->loc);
  if (!ok) return;
  Trained *p;
  int count = all_params(e, loss.tensor.id, &p);
  if (count == 0) {
    elab_error(e, s->train.what->loc, "there is nothing to train: the loss depends on no param");
    elab_note_tensor(e, "the loss", loss);
    elab_trace(e);
    return;
  }
  if (!select_params(e, &t.clause[TRAIN_ONLY], p, &count, s->loc)) return;
  ValueId *operand = ARENA_ARRAY(e->a, ValueId, count + 1);
  const Type **types = ARENA_ARRAY(e->a, const Type *, count);
  operand[0] = loss.tensor.id;
  for (int i = 0; i < count; i++) {
    operand[i + 1] = p[i].value;
    types[i] = value_type(e->run->entry, p[i].value);
  }
  const Op *op = build_op(elab_at(e, s->loc), OP_GRAD, operand, count + 1, NULL, types, count);
  for (int i = 0; i < count; i++) p[i].g = val_tensor(e, op->results[i]);
  update(e, s, &t, p, count);
}

/* ---- update ---- */

static bool wrong_leaf(Elab *e, const Trained *p, Val v, Loc loc) {
  elab_error(e, loc, "'by' is %s for %s, which is %s", val_str(e, v), p->path,
             type_str(e->c, e->m->globals.at[p->global].type));
  return elab_trace(e), false;
}

/* The params of the tree with what `by` has for each. False after an error. */
static bool pair_leaves(Elab *e, Val tree, const Actual *by, Trained *p, Loc loc) {
  if (!trees_agree(e, tree, by->v, "update", by->loc)) return false;
  for (int i = 0; i < tree.list->n; i++) {
    Val now = tree.list->at[i], g = by->v.list->at[i];
    const char *path = now.kind == VAL_TENSOR ? now.tensor.path : NULL;
    if (!path) {
      elab_error(e, loc, "update changes params and states, but this tree was computed");
      elab_hint(e, "as in update params(\"net\") with sgd(lr), by = g");
      return elab_trace(e), false;
    }
    int global = module_find_global(e->m, path);
    p[i] = (Trained){global, path, now.tensor.id, g};
    const Type *t = now.tensor.type;
    if (g.kind != VAL_TENSOR || !dtype_is_float(g.tensor.type->dtype) ||
        type_with_dtype(e->c, g.tensor.type, t->dtype) != t)
      return wrong_leaf(e, &p[i], g, by->loc);
    const Updated *u = updated(e, global);
    if (u) return trained_twice(e, u, loc), false;
  }
  return true;
}

static void exec_update(Elab *e, const Stmt *s) {
  Training t;
  Loc loc = s->train.what->loc;
  Val tree = elab_eval_one(e, s->train.what);
  bool ok = read_recipe(e, s, &t);
  const Actual *by = &t.clause[TRAIN_BY];
  if (!ok || tree.kind == VAL_ERROR) return;
  if (tree.kind != VAL_TREE || by->v.kind != VAL_TREE) {
    if (tree.kind != VAL_TREE)
      elab_error(e, loc, "update needs a tree of params, found %s", val_str(e, tree));
    else if (by->v.kind == VAL_NONE)
      elab_error(e, s->loc, "update needs its clause 'by': what the optimizers get for each param");
    else
      elab_error(e, by->loc, "'by' needs a tree, found %s", val_str(e, by->v));
    elab_hint(e, "as in update params(\"net\") with sgd(lr), by = grad(loss, params(\"net\"))");
    elab_trace(e);
    return;
  }
  Trained *p = ARENA_ARRAY(e->a, Trained, tree.list->n + 1);
  if (pair_leaves(e, tree, by, p, loc)) update(e, s, &t, p, tree.list->n);
}

void exec_train(Elab *e, const Stmt *s) {
  if (!may_train(e, s)) return;
  if (s->kind == ST_TRAIN)
    exec_update(e, s);
  else
    exec_minimize(e, s);
}
