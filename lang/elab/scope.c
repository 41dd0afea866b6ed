/* Name lookup, and the frames that make up parameter paths.
   Contract: a function sees its own names, then the program's declarations, then the prelude, then
   the built-in functions. The prelude sees only itself and the built-in functions, so a program may
   define a function of any name. A name that is first bound in a loop lives for one iteration. */
#include "lang/elab/elab_impl.h"
#include "lang/syntax/hints.h"

Env *env_new(Elab *e, const Func *f, bool prelude) {
  Env *env = ARENA_NEW(e->a, Env);
  env->func = f;
  env->prelude = prelude;
  return env;
}

uint32_t name_find(Elab *e, NameIndex *index, const void *list, uint32_t n, size_t size,
                   const char *name) {
  enum { SHORT = 16 }; /* a list that a search reads at once */
  const char *at = list;
  uint32_t i = 0;
  if (n <= SHORT) {
    while (i < n && *(const char *const *)(at + i * size) != name) i++;
    return i;
  }
  if (index->n > n) index->n = n;
  for (; index->n < n; index->n++)
    map_put(e->a, &index->map, *(const char *const *)(at + index->n * size), index->n);
  /* what was dropped may still be in the map */
  bool known = map_get(&index->map, name, &i) && i < n;
  return known && *(const char *const *)(at + i * size) == name ? i : n;
}

Binding *env_find(Elab *e, Env *env, const char *name) {
  uint32_t i = NAME_FIND(e, &env->index, &env->names, name);
  return i < env->names.n ? &env->names.at[i] : NULL;
}

void env_bind(Elab *e, const char *name, Val v, int global, Loc loc) {
  Binding *b = env_find(e, e->frame->env, name);
  Binding fresh = {name, v, global, loc};
  if (b)
    *b = fresh;
  else
    vec_push(e->a, &e->frame->env->names, fresh);
}

void env_drop(Elab *e, Env *env, uint32_t n) {
  for (uint32_t i = n; i < env->names.n; i++)
    if (NAME_FIND(e, &env->ended_index, &env->ended, env->names.at[i].name) == env->ended.n)
      vec_push(e->a, &env->ended, env->names.at[i]);
  if (env->names.n > n) env->names.n = n;
  if (env->index.n > n) env->index.n = n;
}

/* ---- declarations ---- */

Top *top_find(Elab *e, const char *name) {
  bool prelude = e->frame && e->frame->env->prelude;
  uint32_t i;
  if (!prelude && map_get(&e->user_by_name, name, &i)) return e->user.at[i];
  return map_get(&e->prelude_by_name, name, &i) ? e->prelude.at[i] : NULL;
}

static const Func *builtin_find(Elab *e, const char *name) {
  uint32_t i;
  return map_get(&e->builtin_by_name, name, &i) ? e->builtins.at[i] : NULL;
}

/* The value that -D gives a let; NULL: it has its own. */
static const Expr *defined_value(Elab *e, const Top *t) {
  for (int i = e->options->n; i-- > 0;)
    if (e->options->defines[i].name == t->decl->name.name) return e->options->defines[i].value;
  return NULL;
}

bool hint_define(Elab *e, Val v) {
  for (uint32_t i = 0; i < e->user.n; i++) {
    const Decl *d = e->user.at[i]->decl;
    const Loc at = d->name.loc;
    if (d->kind != DECL_LET || at.file != v.loc.file || at.line != v.loc.line ||
        at.col != v.loc.col || !defined_value(e, e->user.at[i]))
      continue;
    if (d->value->kind == EX_BOOL)
      elab_hint(e, "-D gives it: a bool is -D %s=true or -D %s=false", d->name.name, d->name.name);
    else
      elab_hint(e, "-D %s gives it, in the place of %s", d->name.name,
                source_slice(e, d->value->loc));
    return true;
  }
  return false;
}

Val let_value(Elab *e, Top *t) {
  Loc place = t->decl->name.loc;
  if (t->state == TOP_DONE) return t->val;
  if (t->state == TOP_BUSY)
    return elab_fail(e, place, "let %s is defined by itself", t->decl->name.name);
  t->state = TOP_BUSY;
  t->val = error_value;
  const Expr *defined = defined_value(e, t), *x = defined ? defined : t->decl->value;
  /* A let is evaluated outside of every function, wherever it is used. */
  EntryBuilder *run = e->run;
  Frame *frame = e->frame, top = {.env = env_new(e, NULL, false), .path = intern(e->c, "")};
  const Ints *shape = e->init_shape;
  e->init_shape = NULL;
  e->run = &e->let;
  e->frame = &top;
  const bool of_define = e->of_define;
  e->of_define = defined != NULL;
  Val v = elab_eval_one(e, x);
  e->of_define = of_define;
  if (v.kind == VAL_TENSOR) {
    elab_error(e, x->loc, "let %s is computed at compile time, but this is a run-time value %s",
               t->decl->name.name, val_str(e, v));
    elab_hint(e, "compute it in a def or entry; a number to change at run time is a hyper");
    v = error_value;
  }
  e->run = run;
  e->frame = frame;
  e->init_shape = shape;
  t->state = TOP_DONE;
  if (v.kind == VAL_ERROR && defined && e->options->wrong) *e->options->wrong = t->decl->name.name;
  if (v.kind != VAL_ERROR) v.loc = place;
  return t->val = v;
}

/* ---- look-up ---- */

static void add_name(Elab *e, const char **list, int *n, int capacity, const char *name) {
  if (*n < capacity) list[(*n)++] = name;
}

/* The name stands right of "//", as the first word of a comment of another language does. */
static bool follows_slashes(Elab *e, Loc loc) {
  size_t len;
  const char *line = ctx_source_line(e->c, loc, &len);
  size_t i = line ? loc.col - 1 : 0;
  while (i > 0 && line[i - 1] == ' ') i--;
  return i > 1 && line[i - 1] == '/' && line[i - 2] == '/';
}

/* The extent of that name in a function that calls this one, as the entry; NULL: there is none. */
static const Binding *extent_of_caller(Elab *e, const char *name) {
  for (const Frame *f = e->frame->up; f; f = f->up) {
    const Binding *b = env_find(e, f->env, name);
    if (b && b->val.kind == VAL_EXTENT) return b;
  }
  return NULL;
}

/* Where the statements from `loc` on first bind the name; NULL: nowhere. */
static const Loc *bound_behind(const Body *b, const char *name, Loc loc) {
  for (int i = 0; i < b->n; i++) {
    const Stmt *s = b->at[i];
    const Loc *at = NULL;
    if (s->kind == ST_ASSIGN) {
      for (int k = 0; k < s->assign.names.n && !at; k++)
        if (s->assign.names.at[k].name == name) at = &s->assign.names.at[k].loc;
    } else if (s->kind == ST_PARAM || s->kind == ST_STATE) {
      if (s->variable.name.name == name) at = &s->variable.name.loc;
    } else if (s->kind == ST_SCOPE) {
      at = bound_behind(&s->scope.body, name, loc);
    } else if (s->kind == ST_WITH) {
      at = bound_behind(&s->with.body, name, loc);
    }
    if (at && at->file == loc.file && at->line > loc.line) return at;
  }
  return NULL;
}

/* The nearest of the names that are known here; a dim has no function's. NULL: none is near. */
static const char *nearest_known(Elab *e, const char *name, bool dim) {
  Env *env = e->frame->env;
  int n = 0, capacity = (int)(env->names.n + e->user.n + e->prelude.n + e->builtins.n) + 2;
  const char **list = ARENA_ARRAY(e->a, const char *, capacity);
  for (uint32_t i = env->names.n; i-- > 0;) add_name(e, list, &n, capacity, env->names.at[i].name);
  for (uint32_t i = 0; i < e->user.n; i++)
    if (!e->of_define || e->user.at[i]->decl->kind == DECL_LET)
      add_name(e, list, &n, capacity, e->user.at[i]->decl->name.name);
  const bool any = !dim && !e->of_define;
  for (uint32_t i = 0; i < e->prelude.n && any; i++)
    add_name(e, list, &n, capacity, e->prelude.at[i]->decl->name.name);
  for (uint32_t i = 0; i < e->builtins.n && any; i++)
    add_name(e, list, &n, capacity, e->builtins.at[i]->name);
  for (int i = 0; i < 2 && !e->of_define; i++)
    add_name(e, list, &n, capacity, intern(e->c, i ? "step" : "training"));
  return nearest_name(e->c, name, list, n);
}

/* That the name is bound elsewhere; false: nothing is known of it. */
static bool hint_bound(Elab *e, const char *name, bool dim, Loc loc) {
  Env *env = e->frame->env;
  const Binding *ended = NULL;
  for (uint32_t i = 0; i < env->ended.n; i++)
    if (env->ended.at[i].name == name) ended = &env->ended.at[i];
  const Expr *later = dim ? extent_of_inputs(e, name) : NULL;
  const Binding *outside = later ? NULL : extent_of_caller(e, name);
  const Loc *behind = dim || !env->body ? NULL : bound_behind(env->body, name, loc);
  if (outside) {
    elab_note(e, outside->loc, "'%s' is an extent of the entry, which a def does not see", name);
    elab_hint(e, "hand it on as an argument, or take it from one: %s = dim(x, 0)", name);
  } else if (later) {
    elab_note(e, later->loc, "'%s' is declared behind it", name);
    elab_hint(e, "the first dim of %s declares it: write %s there, and %s in the others", name,
              source_slice(e, later->loc), name);
  } else if (behind) {
    elab_note(e, *behind, "'%s' is bound here, behind its use", name);
    elab_hint(e, "statements run in their order: bind it first");
  } else if (ended) {
    elab_note(e, ended->loc, "'%s' is bound in a loop and ends with each iteration", name);
    elab_hint(e, "bind it before the loop; the loop then changes it");
  }
  return outside || later || behind || ended;
}

/* Reports a name that no scope knows, with its equivalent here or the nearest known name. */
void unknown_name(Elab *e, const char *kind, const char *name, Loc loc) {
  const bool dim = strcmp(kind, "dim") == 0;
  elab_error(e, loc, "unknown %s '%s'", kind, name);
  const char *known = hint_for_name(name), *near = nearest_known(e, name, dim);
  if (is_discard(name))
    elab_hint(e, "'_' takes what nothing reads; give the value a name to read it");
  else if (hint_bound(e, name, dim, loc))
    return (void)elab_trace(e);
  else if (follows_slashes(e, loc))
    elab_hint(e, "a comment starts with '#'; '//' divides and rounds down");
  else if (known && !dim && !e->of_define)
    elab_hint(e, "%s", known);
  else if (near)
    elab_hint(e, "did you mean '%s'?", near);
  else if (dim)
    elab_hint(e,
              "a dim is a number or declared: let %s = 64; that of an input may be known at run "
              "time: n <= 64",
              known ? "N" : name); /* None is no name for one */
  elab_trace(e);
}

/* A tensor belongs to one entry: an initialiser runs in another one. */
static bool of_this_run(Elab *e, Val v) {
  if (v.kind == VAL_TENSOR) return v.tensor.run == e->run;
  if (val_has_items(v))
    for (int i = 0; i < v.list->n; i++)
      if (!of_this_run(e, v.list->at[i])) return false;
  return true;
}

static Val outside(Elab *e, const char *name, Loc loc) {
  elab_error(e, loc, "an initial value cannot depend on '%s', which is computed at run time", name);
  elab_hint(e, "use compile-time values and random initialisers, such as normal(std = 0.02)");
  return elab_trace(e);
}

Val run_value(Elab *e, int global, Loc loc) {
  ValueId id = global_read(e, global, loc);
  if (id == NO_ID) return error_value;
  elab_at(e, loc);
  Val v = val_tensor(e, id);
  v.loc = e->info.at[global].loc.line ? e->info.at[global].loc : loc;
  v.tensor.path = e->m->globals.at[global].path;
  return v;
}

/* In an initialiser a param or state is its own initial value. */
static Val initial_of(Elab *e, int global, Loc loc) {
  Val v = val_tensor(e, e->info.at[global].value);
  v.loc = loc;
  v.tensor.path = e->m->globals.at[global].path;
  return v;
}

static const Func *func_named(Elab *e, const char *name) {
  Top *t = top_find(e, name);
  if (t && t->decl->kind == DECL_DEF) return &t->func;
  if (t) return NULL;
  return builtin_find(e, name);
}

bool name_is_known(Elab *e, const char *name) {
  return env_find(e, e->frame->env, name) || top_find(e, name) || builtin_find(e, name) ||
         name == intern(e->c, "training") || name == intern(e->c, "step") ||
         name == intern(e->c, "none");
}

Val name_lookup(Elab *e, const char *name, Loc loc) {
  Binding *b = env_find(e, e->frame->env, name);
  if (b && b->global >= 0)
    return e->run->kind == BUILD_INIT ? initial_of(e, b->global, loc)
                                      : run_value(e, b->global, loc);
  if (b) return of_this_run(e, b->val) ? b->val : outside(e, name, loc);
  Top *t = top_find(e, name);
  if (t && t->decl->kind == DECL_LET) return let_value(e, t);
  if (t && t->decl->kind == DECL_HYPER) {
    if (t->global < 0) return error_value; /* its declaration was wrong */
    t->read = true;
    if (e->run->kind != BUILD_LET) return run_value(e, t->global, loc);
    elab_error(e, loc, "hyper %s is known only at run time", name);
    elab_note(e, t->decl->name.loc, "declared here");
    elab_hint(e, "a compile-time constant is a let");
    return error_value;
  }
  if (t && t->decl->kind == DECL_STATE) return tree_of_state(e, t, loc);
  if (t && t->decl->kind == DECL_ENTRY) {
    elab_error(e, loc, "entry %s is not a value", name);
    elab_note(e, t->decl->name.loc, "declared here");
    return elab_trace(e);
  }
  const Func *f = func_named(e, name);
  if (f) return (Val){.kind = VAL_FUNC, .loc = loc, .func = f};
  if (name == intern(e->c, "training")) return val_bool(e->run->training, loc);
  if (name == intern(e->c, "step")) {
    if (e->optimizer_path && e->accumulate > 1) return accumulate_step(e, loc);
    if (e->run->kind == BUILD_ENTRY) return run_value(e, global_step(e), loc);
    elab_error(e, loc, "the step counter is known only at run time");
    elab_hint(e,
              "a schedule stands in minimize: minimize loss with adamw(cosine(lr, steps = 1000))");
    return elab_trace(e);
  }
  if (name == intern(e->c, "none")) return (Val){.kind = VAL_NONE, .loc = loc};
  unknown_name(e, "name", name, loc);
  return error_value;
}

const Func *func_lookup(Elab *e, Ident callee) {
  Dtype dt;
  Binding *b = env_find(e, e->frame->env, callee.name);
  if (b && b->global < 0 && b->val.kind == VAL_FUNC) return b->val.func;
  if (b && b->global < 0 && b->val.kind == VAL_ERROR) return NULL;
  if (dtype_parse(callee.name, &dt)) {
    Func *f = ARENA_NEW(e->a, Func);
    *f = (Func){.kind = FUNC_CONVERT, .name = callee.name, .dtype = dt};
    return f;
  }
  const Func *f = func_named(e, callee.name);
  if (b) {
    elab_error(e, callee.loc, "'%s' is %s here, not a function", callee.name,
               b->global < 0 ? val_str(e, b->val) : "a parameter");
    elab_note(e, b->loc, "'%s' is bound here", callee.name);
    if (f) elab_hint(e, "rename it: it hides the function %s", callee.name);
    elab_trace(e);
    return NULL;
  }
  if (f) return f;
  Top *t = top_find(e, callee.name);
  if (!t) {
    unknown_name(e, "function", callee.name, callee.loc);
    return NULL;
  }
  if (t->decl->kind == DECL_LET) { /* let act = relu */
    Val v = let_value(e, t);
    if (v.kind == VAL_FUNC) return v.func;
    if (v.kind == VAL_ERROR) return NULL;
  }
  static const char *const kind[] = {"a constant", "a hyper", "a state", "a function", "an entry"};
  elab_error(e, callee.loc, "'%s' is %s, not a function", callee.name, kind[t->decl->kind]);
  elab_note(e, t->decl->name.loc, "declared here");
  if (t->decl->kind == DECL_ENTRY) elab_hint(e, "put what both need into a def");
  elab_trace(e);
  return NULL;
}

/* ---- frames ---- */

Frame *frame_push(Elab *e, const char *name, Loc call, Env *env, bool prelude) {
  Frame *f = ARENA_NEW(e->a, Frame), *up = e->frame;
  f->up = up;
  f->env = env;
  f->call = call;
  /* All ops of an initialiser have the path of the variable as their scope. */
  f->path = e->run->kind != BUILD_ENTRY ? up->path
            : up->path[0]               ? intern_printf(e->c, "%s.%s", up->path, name)
                                        : name;
  if (prelude) f->user = up->user.line ? up->user : call;
  return e->frame = f;
}

void frame_pop(Elab *e) { e->frame = e->frame->up; }

const char *instance_name(Elab *e, const Instance *as) {
  const char *s = as->name.name;
  for (int i = 0; i < as->index.n; i++) {
    const Expr *x = as->index.at[i];
    Val v = elab_eval_one(e, x);
    int64_t n;
    if (!val_to_int(e, v, 0, "the index of an instance name", x->loc, &n)) return NULL;
    s = intern_printf(e->c, "%s.%lld", s, (long long)n);
  }
  return s;
}

const InstanceRecord *instance_lookup(Elab *e, Frame *f, InstanceRecord call) {
  uint32_t i = NAME_FIND(e, &f->call_index, &f->calls, call.name);
  if (i < f->calls.n) return &f->calls.at[i];
  vec_push(e->a, &f->calls, call);
  return NULL;
}
