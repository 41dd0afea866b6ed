/* The binder: assigns arguments to the parameters of a def or built-in function.
   Contract: an argument has the type or kind of its parameter, or one error was reported, with the
   function's signature. none is accepted if it is the default, or if the parameter has no type. */
#include "lang/elab/builtin/builtin.h"
#include "lang/elab/elab_impl.h"
#include "lang/syntax/hints.h"

static const Param *param_at(const CallSite *s, int i) { return &s->f->decl->function.params[i]; }
static int param_count(const CallSite *s) { return s->f->decl->function.n; }

static int param_index(const CallSite *s, const char *name) {
  for (int i = 0; i < param_count(s); i++)
    if (param_at(s, i)->name.name == name && !param_at(s, i)->rest) return i;
  return -1;
}

/* The end of an error: the function's signature and the trace. */
static void note_signature(Elab *e, const CallSite *s) {
  const Decl *d = s->f->decl;
  if (s->f->kind == FUNC_DEF)
    elab_note(e, d->name.loc, "%s is defined here", d->name.name);
  else
    elab_hint(e, "%s(%s)", s->f->name, signature_text(e->c, d));
  elab_trace(e);
}

static void unknown_argument(Elab *e, const CallSite *s, Ident name) {
  int np = param_count(s), n = 0;
  const char **names = ARENA_ARRAY(e->a, const char *, np + TRAIN_AMONG_ARGS);
  for (int k = 0; k < np; k++)
    if (!param_at(s, k)->rest) names[n++] = param_at(s, k)->name.name;
  for (int k = 0; s->hidden && k < TRAIN_AMONG_ARGS; k++) names[n++] = train_clause[k];
  const char *near = hint_for_argument(name.name, names, n);
  if (!near && s->f->kind == FUNC_DEF && !s->f->prelude)
    near = nearest_name(e->c, name.name, names, n); /* one's own names come first */
  const char *known = near ? NULL : hint_for_lacking(name.name, names, n);
  if (!near && !known) near = nearest_name(e->c, name.name, names, n);
  elab_error(e, name.loc, "%s has no argument '%s'", s->f->name, name.name);
  if (!near && !known) known = hint_for_name(name.name);
  if (near) elab_hint(e, "did you mean '%s'?", near);
  if (known) elab_hint(e, "%s", known);
  if (near && s->f->kind == FUNC_BUILTIN)
    elab_trace(e);
  else
    note_signature(e, s);
}

static bool is_of(const Param *p, ArgKind kind) { return p->type && p->type->kind == kind; }

static bool takes_list(const Param *p) {
  return is_of(p, ARG_INTS) || is_of(p, ARG_SHAPE) || is_of(p, ARG_TENSORS);
}

const char *one_list(Elab *e, const CallSite *s) {
  int from = 0, np = param_count(s);
  while (from < np && !takes_list(param_at(s, from))) from++;
  if (from == np || from + 1 >= s->n) return NULL;
  bool tensors = is_of(param_at(s, from), ARG_TENSORS);
  for (int i = from + 1; !tensors && i < np && i < s->n; i++) {
    if (!is_of(param_at(s, i), ARG_DTYPE) && !is_of(param_at(s, i), ARG_FLAG)) return NULL;
  }
  const char *text = "";
  int end = from; /* behind the list */
  while (end < s->n && !s->arg[end].name.name &&
         s->arg[end].v.kind == (tensors ? VAL_TENSOR : VAL_INT))
    end++;
  if (end < from + 2 || (!tensors && end < s->n)) return NULL;
  for (int i = 0; i < s->n; i++) {
    if (s->arg[i].name.name && i < from) return NULL;
    const char *name = s->arg[i].name.name;
    text = intern_printf(e->c, "%s%s%s%s%s%s%s", text, i ? ", " : "", i == from ? "[" : "",
                         name ? name : "", name ? " = " : "", source_slice(e, s->arg[i].loc),
                         i == end - 1 ? "]" : "");
  }
  return intern_printf(e->c, "'%s' is one list: %s(%s)", param_at(s, from)->name.name, s->f->name,
                       text);
}

static void too_many(Elab *e, const CallSite *s, Loc loc) {
  int np = param_count(s) - s->hidden;
  const char *list = one_list(e, s);
  elab_error(e, loc, "%s takes %d argument%s, %d given", s->f->name, np, np == 1 ? "" : "s",
             s->n - s->hidden);
  if (list) {
    elab_hint(e, "%s", list);
    elab_trace(e);
  } else {
    note_signature(e, s);
  }
}

static bool is_none(const Expr *init) {
  return init && init->kind == EX_NAME && strcmp(init->name, "none") == 0;
}

/* In an initialiser the default of an argument `shape` is the declared shape. */
static bool is_declared(Elab *e, const Param *p) {
  return e->init_shape && (!p->init || is_none(p->init)) && p->name.name == intern(e->c, "shape");
}

/* The positional arguments from i on as a list. */
static Bound bind_rest(Elab *e, const CallSite *s, int i) {
  Val *item = ARENA_ARRAY(e->a, Val, s->n + 1);
  int k = 0;
  Loc loc = i < s->n ? s->arg[i].loc : s->loc;
  for (; i < s->n && !s->arg[i].name.name; i++, k++) {
    item[k] = s->arg[i].v;
    item[k].loc = s->arg[i].loc;
  }
  return (Bound){val_list(e, VAL_LIST, item, k, loc), loc, -1, true};
}

static bool is_named(const CallSite *s, Loc loc) {
  for (int i = 0; i < s->n; i++)
    if (s->arg[i].name.name && s->arg[i].loc.line == loc.line && s->arg[i].loc.col == loc.col)
      return true;
  return false;
}

Bound *bind_given(Elab *e, const CallSite *s) {
  int np = param_count(s), next = 0;
  Bound *bound = ARENA_ARRAY(e->a, Bound, np + 1);
  for (int i = 0; i < s->n; i++) {
    const Actual *a = &s->arg[i];
    if (!a->name.name && next < np && param_at(s, next)->rest) continue; /* bind_rest takes it */
    int p = a->name.name ? param_index(s, a->name.name) : next;
    if (p < 0) return unknown_argument(e, s, a->name), NULL;
    if (p >= np) return too_many(e, s, a->loc), NULL;
    if (bound[p].given) {
      elab_error(e, a->loc, "argument '%s' of %s is given twice", param_at(s, p)->name.name,
                 s->f->name);
      const char *list = one_list(e, s);
      if (list || bound[p].v.kind == VAL_ERROR || !a->name.name || is_named(s, bound[p].loc)) {
        elab_note(e, bound[p].loc, "first here");
        if (list) elab_hint(e, "%s", list);
        return elab_trace(e), NULL;
      }
      elab_note(e, bound[p].loc, "by its position, argument %d is '%s' as well", p + 1,
                param_at(s, p)->name.name);
      return note_signature(e, s), NULL;
    }
    bound[p] = (Bound){a->v, a->loc, a->global, true};
    if (!a->name.name) next++;
  }
  for (int p = 0; p < np; p++) {
    const Param *param = param_at(s, p);
    if (param->rest) bound[p] = bind_rest(e, s, next);
    if (bound[p].given || param->init || is_declared(e, param)) continue;
    elab_error(e, s->loc, "%s needs its argument '%s'", s->f->name, param->name.name);
    bool whole = param->name.name == intern(e->c, "shape") && is_of(param, ARG_SHAPE);
    const char *layer = s->f->kind == FUNC_BUILTIN ? hint_for_layer(s->f->name) : NULL;
    if (layer) elab_hint(e, "%s", layer);
    const char *step = s->f->prelude ? hint_for_step(s->f->name) : NULL;
    if (step) elab_hint(e, "%s", step);
    if (whole) elab_hint(e, "only an initialiser knows its shape; elsewhere write shape = [n, …]");
    if (whole && s->f->kind == FUNC_BUILTIN)
      elab_trace(e);
    else
      note_signature(e, s);
    return NULL;
  }
  return bound;
}

Val bind_default(Elab *e, const CallSite *s, const Param *p) {
  if (is_declared(e, p)) return val_ints(e, e->init_shape->at, e->init_shape->n, s->loc);
  /* the default of a built-in function is the literal, though the caller may bind the name none */
  if (is_none(p->init) && s->f->kind == FUNC_BUILTIN) return (Val){.kind = VAL_NONE, .loc = s->loc};
  return elab_eval_one(e, p->init);
}

bool bind_match(Elab *e, const CallSite *s, const Param *p, Bound *b) {
  if (b->v.kind == VAL_ERROR) return false;
  if (b->v.kind == VAL_NONE) {
    if (is_none(p->init) || (!p->type && s->f->kind == FUNC_DEF)) return true;
    elab_error(e, b->loc, "argument '%s' of %s cannot be none", p->name.name, s->f->name);
    return note_signature(e, s), false;
  }
  if (!p->type) return true;
  if (!p->rest) return type_match(e, p->type, &b->v, true, p->name.name, s, b->loc);
  for (int i = 0; i < b->v.list->n; i++)
    if (!type_match(e, p->type, &b->v.list->at[i], true, p->name.name, s, b->v.list->at[i].loc))
      return false;
  return true;
}
