/* The recipe of a minimize or update: optimizers, and clauses such as clip = 1. Contract: clauses
   stand after the optimizers; those of train_clause before TRAIN_AMONG_ARGS also among an
   optimizer's arguments. A clause is given once, and only to a statement that has it. */
#include "lang/elab/train.h"

const char *const train_clause[TRAIN_CLAUSES] = {[TRAIN_CLIP] = "clip",
                                                 [TRAIN_ONLY] = "only",
                                                 [TRAIN_ACCUMULATE] = "accumulate",
                                                 [TRAIN_IF] = "if",
                                                 [TRAIN_BY] = "by"};

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

bool read_recipe(Elab *e, const Stmt *s, Training *t) {
  const Recipe *r = &s->train.recipe;
  Val none = {.kind = VAL_NONE};
  *t = (Training){.opt = ARENA_ARRAY(e->a, Choice, r->n + 1), .update = s->kind == ST_TRAIN};
  for (int i = 0; i < TRAIN_CLAUSES; i++) t->clause[i] = (Actual){.v = none, .loc = s->loc};
  bool ok = true;
  for (int i = 0; i < r->n; i++) ok &= read_optimizer(e, &r->at[i], t);
  for (int i = 0; i < r->clauses.n; i++) ok &= read_clause(e, &r->clauses.at[i], t);
  return ok;
}
