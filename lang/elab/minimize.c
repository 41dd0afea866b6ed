/* `minimize L with opt(args)`: one grad op, then the optimizer's body inlined for each param.
   Contract: the params are those that L depends on, in the order of their paths, or those of them
   that `only` names. The optimizer is called with (p, g) before the user's arguments; an assignment
   to `p` assigns the param; its states are NAME.state.PATH. An entry may have several minimize, of
   different params: a read after an update gives the new value, and no gradient flows into the
   update. */
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

static bool is_at_or_below(const char *path, const char *at) {
  size_t n = strlen(at);
  return strncmp(path, at, n) == 0 && (!path[n] || path[n] == '.');
}

/* Selects the params at the path or below it. False after an error. */
static bool select_path(Elab *e, Val path, Loc loc, const Trained *p, int n, bool *selected) {
  bool any = false;
  if (path.kind != VAL_STR)
    return elab_fail(e, loc, "'only' of minimize needs the paths of params as strings, found %s",
                     val_str(e, path)),
           false;
  for (int i = 0; i < n; i++)
    if (is_at_or_below(p[i].path, path.str)) any = selected[i] = true;
  if (any) return true;
  elab_error(e, loc, "the loss depends on no param at \"%s\"", path.str);
  elab_hint(e, "it depends on %s%s", p[0].path,
            n > 1 ? intern_printf(e->c, " and %d more", n - 1) : "");
  elab_trace(e);
  return false;
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
      elab_error(e, loc, "%s is trained by two minimize", p[i].path);
      elab_note(e, u->loc, "the other is here");
      elab_hint(e, "say which params each takes, as in adam(lr, only = \"net.fc1\")");
      elab_trace(e);
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
  Val total = val_num(0, loc);
  for (int i = 0; i < n; i++) {
    Val g = val_convert(e, p[i].g, p[i].g.tensor.type->dtype == DT_F64 ? DT_F64 : DT_F32);
    Val square = tensor_binary(e, BIN_MUL, g, g, loc);
    int rank = g.tensor.type->rank;
    int64_t *axes = ARENA_ARRAY(e->a, int64_t, rank + 1);
    for (int k = 0; k < rank; k++) axes[k] = k;
    Val sum =
        rank ? val_tensor(e, build_reduce(elab_at(e, loc), OP_SUM, square.tensor.id, axes, rank))
             : square;
    total = i ? tensor_binary(e, BIN_ADD, total, sum, loc) : sum;
  }
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

static bool has_param(const Func *f, const char *name) {
  for (int i = 0; i < f->decl->function.n; i++)
    if (f->decl->function.params[i].name.name == name) return true;
  return false;
}

static void update_params(Elab *e, const Func *f, const Expr *x, Actual *arg, int n, Trained *p,
                          int count) {
  const Instance *as = &x->call.as;
  const char *name = as->name.name ? instance_name(e, as) : f->name;
  if (!name) return;
  Loc loc = x->call.callee.loc;
  for (int i = 0; i < count; i++) {
    ValueId now = global_read(e, p[i].global, loc);
    elab_at(e, loc);
    Val value = val_tensor(e, now);
    arg[0] = (Actual){{0}, value, loc, p[i].global};
    arg[1] = (Actual){{0}, p[i].g, loc, -1};
    Env *env = env_new(e, f, f->prelude);
    env->result = (Val){.kind = VAL_VOID, .loc = x->loc};
    frame_push(e, name, loc, env, f->prelude);
    e->optimizer_path = p[i].path;
    int errors = elab_errors(e);
    (void)call_def(e, &(CallSite){f, arg, n + 2, 2, loc});
    e->optimizer_path = NULL;
    frame_pop(e);
    if (elab_errors(e) > errors) return; /* the next param would say the same */
    if (e->run->current.at[p[i].global] == now) {
      elab_error(e, loc, "%s is not an optimizer: it does not assign its first argument", f->name);
      elab_note(e, f->decl->name.loc, "%s is defined here", f->name);
      elab_hint(e, "an optimizer is a def f(p, g, …) that assigns p := …");
      elab_trace(e);
      return;
    }
  }
}

static void record_updates(Elab *e, const Trained *p, int n, Loc loc) {
  for (int i = 0; i < n; i++)
    vec_push(e->a, &e->run->updated, (Updated){p[i].global, *global_current(e, p[i].global), loc});
}

static bool may_minimize(Elab *e, const Stmt *s) {
  if (e->frame->env->func) {
    elab_error(e, s->loc, "minimize belongs in an entry, not in a def");
    elab_hint(e, "return the loss and minimize it in the entry");
    return elab_trace(e), false;
  }
  if (e->run->scan) {
    elab_error(e, s->loc, "minimize belongs outside of a scan");
    elab_hint(e, "minimize what the loop computes, after it; the program runs a step many times");
    return elab_trace(e), false;
  }
  if (!e->run->minimized) e->run->minimize = s->loc;
  e->run->minimized = true;
  return true;
}

const char *const minimize_arg[MINIMIZE_ARGS] = {
    [MINIMIZE_CLIP] = "clip", [MINIMIZE_ONLY] = "only", [MINIMIZE_ACCUMULATE] = "accumulate"};

/* Removes an argument of minimize itself from those of the optimizer, unless the optimizer has a
   parameter of this name. */
static bool take_arg(Elab *e, const Func *f, Actual *arg, int *n, MinimizeArg which, Actual *out) {
  const char *name = intern(e->c, minimize_arg[which]);
  for (int i = 2; i < *n + 2 && !has_param(f, name); i++) {
    if (arg[i].name.name != name) continue;
    *out = arg[i];
    memmove(&arg[i], &arg[i + 1], sizeof *arg * (size_t)(*n + 1 - i));
    --*n;
    return true;
  }
  return false;
}

void exec_minimize(Elab *e, const Stmt *s) {
  if (!may_minimize(e, s)) return;
  const Expr *x = s->minimize.optimizer;
  Val loss = elab_eval_one(e, s->minimize.loss);
  const Func *f = func_lookup(e, x->call.callee);
  bool ok = f != NULL;
  Actual *arg = call_args(e, &x->call.args, 2, &ok);
  int n = x->call.args.n;
  ok &= grad_loss(e, loss, "minimize", s->minimize.loss->loc);
  if (!f || !ok) return;
  Loc loc = x->call.callee.loc;
  if (f->kind != FUNC_DEF || f->decl->function.n < 2) {
    elab_error(e, loc, "%s is not an optimizer", f->name);
    elab_hint(
        e,
        "use sgd, adam, adamw, rmsprop, adagrad or lion, or a def f(p, g, …) that assigns p := …");
    elab_trace(e);
    return;
  }
  Actual clipping = {.v = {.kind = VAL_NONE}, .loc = loc}, runs = {.loc = loc};
  Actual only = {.v = {.kind = VAL_NONE}, .loc = loc};
  (void)take_arg(e, f, arg, &n, MINIMIZE_CLIP, &clipping);
  (void)take_arg(e, f, arg, &n, MINIMIZE_ONLY, &only);
  int64_t k = 1;
  if (take_arg(e, f, arg, &n, MINIMIZE_ACCUMULATE, &runs) &&
      !val_to_int(e, runs.v, 1, "'accumulate' of minimize", runs.loc, &k))
    return;
  Trained *p;
  int count = all_params(e, loss.tensor.id, &p);
  if (count == 0) {
    elab_error(e, s->minimize.loss->loc, "there is nothing to train: the loss depends on no param");
    elab_note_tensor(e, "the loss", loss);
    elab_trace(e);
    return;
  }
  if (!select_params(e, &only, p, &count, s->loc)) return;
  ValueId *operand = ARENA_ARRAY(e->a, ValueId, count + 1);
  const Type **types = ARENA_ARRAY(e->a, const Type *, count);
  operand[0] = loss.tensor.id;
  for (int i = 0; i < count; i++) {
    operand[i + 1] = p[i].value;
    types[i] = value_type(e->run->entry, p[i].value);
  }
  const Op *op = build_op(elab_at(e, s->loc), OP_GRAD, operand, count + 1, NULL, types, count);
  for (int i = 0; i < count; i++) p[i].g = val_tensor(e, op->results[i]);
  e->accumulate = k;
  ValueId due = k > 1 ? accumulate_due(e, runs.loc) : NO_ID;
  for (int i = 0; k > 1 && i < count; i++)
    p[i].g = accumulate_add(e, due, p[i].path, p[i].g, runs.loc);
  int errors = elab_errors(e), before_n = (int)e->m->globals.n;
  if (clipping.v.kind != VAL_NONE) clip_norm(e, p, count, clipping.v, clipping.loc);
  ValueId *before = k > 1 ? accumulate_before(e) : NULL;
  if (elab_errors(e) == errors) update_params(e, f, x, arg, n, p, count);
  if (k > 1) accumulate_choose(e, due, before, before_n, runs.loc);
  e->accumulate = 0;
  record_updates(e, p, count, s->loc);
  if (e->run->next_step != NO_ID) return; /* a run is one step, however many minimize it has */
  int step = global_step(e);
  ValueId now = global_read(e, step, s->loc);
  ValueId one = build_const_int(elab_at(e, s->loc), type_scalar(e->c, DT_I64), 1);
  /* Later reads of `step` in this entry give the current step: it is stored at the end. */
  e->run->next_step = build2(elab_at(e, s->loc), OP_ADD, now, one);
}
