/* `minimize L with opt(args)` and `update TREE with opt(args), by = g`: the optimizer's body
   inlined for each param. Contract: minimize takes the params that L depends on, in the order of
   their paths, or those of them that `only` names, and their gradients by one grad op; then it is
   an update. An entry may have several, of different params: a read after an update gives the new
   value, and no gradient flows into the update. */
#include "lang/elab/train.h"

#include <stdlib.h>

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

/* The part of a param's path that ends with `path`, as net.head does with head, or else the one
   that is spelled most like it; NULL: there is none. */
static const char *nearest_path(Elab *e, const char *path, const Trained *p, int n) {
  VEC(const char *) parts = {0};
  const size_t length = strlen(path);
  for (int i = 0; i < n; i++)
    for (const char *end = p[i].path + 1; end[-1]; end++) {
      if (*end && *end != '.') continue;
      const size_t at = (size_t)(end - p[i].path);
      const char *part = intern_n(e->c, p[i].path, at);
      if (length && at > length && part[at - length - 1] == '.' &&
          strcmp(part + at - length, path) == 0)
        return part;
      vec_push(e->a, &parts, part);
    }
  return nearest_name(e->c, path, parts.at, (int)parts.n);
}

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
  const char *near = nearest_path(e, path.str, p, n);
  elab_hint(e, "%sit depends on %s%s",
            near ? intern_printf(e->c, "did you mean \"%s\"? ", near) : "", p[0].path,
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

static bool may_train(Elab *e, const Stmt *s) {
  const char *what = train_keyword(s);
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
  update_by_gradients(e, s, &t, p, count);
}

/* ---- update ---- */

static bool wrong_leaf(Elab *e, const Trained *p, Val v, Loc loc) {
  elab_error(e, loc, "'by' is %s for %s, which is %s", val_str(e, v), p->path,
             type_text(e->c, e->m->globals.at[p->global].type));
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
  if (pair_leaves(e, tree, by, p, loc)) update_by_gradients(e, s, &t, p, tree.list->n);
}

void exec_train(Elab *e, const Stmt *s) {
  if (!may_train(e, s)) return;
  if (s->kind == ST_TRAIN)
    exec_update(e, s);
  else
    exec_minimize(e, s);
}
