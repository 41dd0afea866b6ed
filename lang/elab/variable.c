/* Params, states and hypers: declaration of globals by path, initial values, reads and writes.
   Contract: all declarations of a path have one type and one initialiser. The entry `init` stores
   every initial value, with random numbers keyed by the path. An entry loads a global at its first
   use and stores it once, at the end, with the last value assigned. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

/* ---- runs ---- */

void elab_begin(Elab *e, EntryBuilder *r, BuilderKind kind, const char *name, Loc loc) {
  *r = (EntryBuilder){.kind = kind, .next_step = NO_ID, .step_due = NO_ID};
  r->entry = entry_new(e->m, intern(e->c, name), loc);
  r->b = builder_new(r->entry, r->entry->body);
  r->b->fold = false; /* merging before gradients are taken would change what they are of */
  r->b->loc = loc;
  r->b->scope = intern(e->c, "");
}

ValueId *global_current(Elab *e, int global) {
  ScanLevel *l = e->run->scan;
  if (l) {
    while (l->current.n <= (uint32_t)global) vec_push(e->a, &l->current, NO_ID);
    return &l->current.at[global];
  }
  while (e->run->current.n <= (uint32_t)global) vec_push(e->a, &e->run->current, NO_ID);
  return &e->run->current.at[global];
}

static const char *last_part(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot ? dot + 1 : path;
}

ValueId global_read(Elab *e, int global, Loc loc) {
  ValueId *id = global_current(e, global);
  if (*id != NO_ID) return minimize_read(e, global, *id, loc);
  if (e->run->scan) return *id = scan_read_global(e, global, loc);
  const Global *g = &e->m->globals.at[global];
  Builder *b = elab_at(e, loc);
  /* A load says which tensor it reads by its scope: the path without the name. */
  const char *name = last_part(g->path);
  if (g->kind != GLOBAL_HYPER && !g->table && name > g->path)
    b->scope = intern_n(e->c, g->path, (size_t)(name - g->path - 1));
  b->name = g->path;
  *id = build_load(b, global);
  elab_at(e, loc);
  return *id;
}

void global_write(Elab *e, int global, ValueId v) {
  EntryBuilder *run = e->run;
  StoredGlobal s = {global, run->b->loc, run->b->scope};
  while (run->stored_at.n <= (uint32_t)global) vec_push(e->a, &run->stored_at, 0);
  uint32_t *index = &run->stored_at.at[global];
  if (*index) {
    run->stored.at[*index - 1] = s;
  } else {
    vec_push(e->a, &run->stored, s);
    *index = run->stored.n;
  }
  if (e->run->scan) (void)global_read(e, global, e->run->b->loc); /* the value to begin with */
  *global_current(e, global) = v;
  Value *value = value_at(e->run->entry, v);
  const Op *op = value_def(e->run->entry, v);
  if (!value->name && op && op->kind != OP_CONST) value->name = e->m->globals.at[global].path;
}

void elab_store_all(Elab *e, Loc loc) {
  for (uint32_t i = 0; i < e->run->stored.n; i++) {
    const StoredGlobal *s = &e->run->stored.at[i];
    Builder *b = elab_at(e, s->loc);
    b->scope = s->scope;
    build_store(b, s->global, e->run->current.at[s->global]);
  }
  if (e->run->next_step != NO_ID)
    build_store(elab_at(e, e->run->minimize), global_step(e), e->run->next_step);
  elab_at(e, loc);
}

/* The key of a random op is the variable's path in an initialiser, and the scope in an entry. So
   the same path has the same numbers in every program. The draw counts the ops of a key, each once
   for every iteration of a loop, so unrolling the loop changes no number. */
RandomKey draw_next(Elab *e) {
  const char *path = e->frame->path;
  uint32_t k = NAME_FIND(e, &e->run->key_index, &e->run->keys, path);
  if (k == e->run->keys.n) vec_push(e->a, &e->run->keys, (KeyCount){path, 0, NULL});
  const Extent *after = e->run->keys.at[k].after;
  if (after) {
    elab_error(e, e->run->b->loc,
               "the random numbers here would depend on %s, as many as the scan "
               "before has drawn",
               after->name);
    elab_hint(e, "name the call, as in dropout(x, 0.1) as late: another path has its own numbers");
    elab_trace(e);
  }
  bool init = e->run->kind == BUILD_INIT;
  ValueId offset = e->run->scan ? scan_draw_offset(e, k) : NO_ID;
  return (RandomKey){init ? path : intern_printf(e->c, "%s#", path),
                     (int64_t)e->run->keys.at[k].n++, offset};
}

int global_add(Elab *e, GlobalKind kind, const char *path, Val init, const char *text, Loc loc) {
  Global g = {.kind = kind, .path = path, .type = init.tensor.type, .loc = loc};
  int index = module_add_global(e->m, g);
  while (e->info.n <= (uint32_t)index) vec_push(e->a, &e->info, (GlobalInfo){0});
  e->info.at[index] = (GlobalInfo){loc, text, e->run->entry->name, init.tensor.id};
  Builder *b = e->init.b;
  b->scope = path;
  b->loc = loc;
  build_store(b, index, init.tensor.id);
  return index;
}

int global_zeros(Elab *e, GlobalKind kind, const char *path, const Type *t) {
  int index = module_find_global(e->m, path);
  if (index >= 0) return index;
  EntryBuilder *run = e->run;
  e->run = &e->init;
  e->init.b->loc = (Loc){0};
  e->init.b->scope = path;
  Val zero = val_tensor(e, build_const(e->init.b, t, 0));
  e->run = run;
  return global_add(e, kind, path, zero, "zeros()", (Loc){0});
}

int global_step(Elab *e) {
  return global_zeros(e, GLOBAL_STATE, intern(e->c, "step"), type_scalar(e->c, DT_I64));
}

/* ---- declarations ---- */

static const char *const kind_name[] = {"a param", "a state", "an optimizer's state", "a hyper"};

/* A call as it is written, if it stands on one line; else NULL. */
static const char *call_text(Elab *e, Loc call) {
  size_t n;
  const char *line = ctx_source_line(e->c, call, &n);
  int depth = 0;
  for (size_t i = call.col - 1; line && i < n && depth >= 0; i++) {
    depth += (line[i] == '(') - (line[i] == ')');
    if (line[i] == ')' && depth == 0)
      return arena_printf(e->a, "%.*s", (int)(i + 2 - call.col), line + call.col - 1);
  }
  return NULL;
}

void global_declared_again(Elab *e, const Frame *f, const char *path) {
  const char *name = f->env->func->name;
  Frame *inner = e->frame;
  e->frame = f->up; /* the mistake is the caller's */
  elab_error(e, f->user.line ? f->user : f->call, "this call of %s would declare %s a second time",
             name, path);
  bool loop = f->first_call.line == f->call.line && f->first_call.col == f->call.col;
  if (loop && f->in_scan) {
    elab_hint(e, "in a scan, %s(…) as a makes one for all iterations", name);
  } else if (loop) {
    elab_hint(e, "in a loop, %s(…) as a[i] makes one for each iteration, %s(…) as a one for all",
              name, name);
  } else {
    const char *one = call_text(e, f->first_call), *other = call_text(e, f->call);
    elab_note(e, f->first_call, "the first call is here");
    if (one && other && strcmp(one, other) == 0)
      elab_hint(e, "if both are one value, bind it once: y = %s", one);
    elab_hint(
        e,
        "name both: %s(…) as a and %s(…) as b have tensors of their own, %s(…) as a and %s(…) "
        "as a shared the same",
        name, name, name, name);
  }
  elab_trace(e);
  e->frame = inner;
}

/* The error if this path belongs to a duplicate unnamed call: it would declare a second tensor. */
static bool is_duplicate_call(Elab *e, const char *path) {
  for (Frame *f = e->frame; f; f = f->up) {
    if (f->in_loop) vec_push(e->a, &f->in_loop->calls, (InvariantCall){f, path, f->arg, f->n});
    f->in_loop = NULL; /* one record a call */
    if (!f->duplicate) continue;
    global_declared_again(e, f, path);
    return true;
  }
  return false;
}

/* Warns of a param that an entry that trains reaches again, by a name that does not say so: with
   the same `as fc` in each iteration, six layers are one. */
static void check_sharing(Elab *e, const char *path) {
  uint32_t known;
  const Frame *again = NULL;
  if (!map_get(&e->run->declared, path, &known)) {
    map_put(e->a, &e->run->declared, path, 1);
    return;
  }
  for (const Frame *f = e->frame; f; f = f->up) {
    if (f->shared) return;
    if (f->again) again = f;
  }
  if (!again) return;
  Loc loc = again->user.line ? again->user : again->call;
  elab_warning(e, loc, "%s is reached again: %s", path,
               again->iterated ? "all iterations share it"
                               : "this call and an earlier one share it");
  if (!again->iterated) elab_note(e, again->first_call, "the earlier one is here");
  const char *as = again->scope ? "scope" : "as";
  elab_hint(e, "if that is meant, write %s NAME shared; each its own: %s NAME[i]", as, as);
}

static bool declared_twice(Elab *e, const Stmt *s) {
  if (e->frame->env->loop == e->frame) {
    elab_error(e, s->variable.name.loc, "each iteration of the scan would declare '%s' again",
               s->variable.name.name);
    elab_hint(e, "one for all iterations stands before the loop");
    elab_trace(e);
    return true;
  }
  Frame *f = e->frame;
  uint32_t i = NAME_FIND(e, &f->variable_index, &f->variables, s->variable.name.name);
  if (i < f->variables.n) {
    const InstanceRecord *v = &f->variables.at[i];
    elab_error(e, s->variable.name.loc, "'%s' is declared twice in one scope", v->name);
    if (v->loc.line != s->loc.line || v->loc.col != s->loc.col)
      elab_note(e, v->loc, "the first is here");
    elab_hint(e, "in a loop, give each iteration its own path: scope h[i] { … }");
    elab_trace(e);
    return true;
  }
  vec_push(e->a, &f->variables, (InstanceRecord){.name = s->variable.name.name, .loc = s->loc});
  return false;
}

static const char *origin_text(Elab *e, GlobalOrigin o) {
  if (!o.name) return "no file";
  const char *other = o.other ? intern_printf(e->c, " or \"%s\"", o.other) : "";
  return intern_printf(e->c, "\"%s\"%s%s", o.name, other, o.transposed ? ", transposed" : "");
}

static bool agrees(Elab *e, int global, GlobalKind kind, const Type *type, const char *init,
                   const GlobalOrigin *origin, const Stmt *s) {
  const Global *g = &e->m->globals.at[global];
  const GlobalInfo *info = &e->info.at[global];
  Loc loc = s->variable.name.loc;
  if (g->kind != kind)
    elab_error(e, loc, "%s is %s already, it cannot be %s", g->path, kind_name[g->kind],
               kind_name[kind]);
  else if (type != g->type)
    elab_error(e, loc, "%s is %s here, but %s before", g->path, type_text(e->c, type),
               type_text(e->c, g->type));
  else if (origin->name != g->origin.name || origin->other != g->origin.other ||
           origin->transposed != g->origin.transposed)
    elab_error(e, loc, "%s is from %s here, but from %s before", g->path, origin_text(e, *origin),
               origin_text(e, g->origin));
  else if (s->variable.transient != g->transient)
    elab_error(e, loc, "%s is %s here, but %s before", g->path,
               g->transient ? "not transient" : "transient", g->transient ? "is" : "is not");
  else if (init != info->init)
    elab_error(e, loc, "%s starts with %s here, but with %s before", g->path, init, info->init);
  else
    return true;
  if (info->loc.line && info->entry != e->run->entry->name)
    elab_note(e, info->loc, "before, here, in entry %s", info->entry);
  else if (info->loc.line)
    elab_note(e, info->loc, "before, here");
  else
    elab_note(e, (Loc){0}, "%s is built in", g->path);
  elab_hint(e, "one path is one tensor; instance names (as NAME) make paths different");
  elab_trace(e);
  return false;
}

static int declare(Elab *e, const Stmt *s) {
  GlobalKind kind = e->optimizer_path     ? GLOBAL_OPTIMIZER
                    : s->kind == ST_PARAM ? GLOBAL_PARAM
                                          : GLOBAL_STATE;
  const char *name = s->variable.name.name, *path = name;
  if (e->run->kind == BUILD_INIT)
    return elab_fail(e, s->loc, "an initialiser cannot declare %s", kind_name[kind]), -1;
  if (e->run->kind == BUILD_LET)
    return elab_fail(e, s->loc, "a let cannot declare %s", kind_name[kind]), -1;
  if (e->optimizer_path && s->kind == ST_PARAM) {
    elab_error(e, s->loc, "an optimizer cannot declare a param");
    elab_hint(e, "what it keeps is a state");
    return elab_trace(e), -1;
  }
  if (e->frame->path[0]) path = intern_printf(e->c, "%s.%s", e->frame->path, name);
  if (e->optimizer_path) path = intern_printf(e->c, "%s.%s", path, e->optimizer_path);
  if (path == intern(e->c, "step")) {
    elab_error(e, s->variable.name.loc, "step is the built-in counter of training steps");
    elab_hint(e, "choose another name; to read the counter, just write step");
    return elab_trace(e), -1;
  }
  if ((!tree_replaces(e, path) && is_duplicate_call(e, path)) || declared_twice(e, s)) return -1;
  const Type *type = type_eval(e, s->variable.type, DT_F32);
  if (!type) return -1;
  if (kind == GLOBAL_PARAM && e->run->training && !tree_replaces(e, path)) check_sharing(e, path);
  if (s->kind == ST_PARAM && !dtype_is_float(type->dtype)) {
    elab_error(e, s->loc, "a param is trained and needs a float dtype, not %s",
               dtype_name(type->dtype));
    elab_hint(e, "what is kept but not trained is a state");
    return elab_trace(e), -1;
  }
  GlobalOrigin origin = {0};
  if (s->variable.origin.name && !origin_eval(e, &s->variable.origin, type, &origin)) return -1;
  const char *canonical;
  Val init = initial_value(e, s->variable.init, path, type, &canonical);
  if (init.kind == VAL_ERROR) return -1;
  int global = module_find_global(e->m, path);
  if (global >= 0) return agrees(e, global, kind, type, canonical, &origin, s) ? global : -1;
  Loc loc = e->frame->user.line ? e->frame->user : s->variable.name.loc;
  global = global_add(e, kind, path, init, canonical, loc);
  e->m->globals.at[global].transient = s->variable.transient;
  if (origin.name) origin_take(e, global, &origin, s->variable.origin.loc);
  return global;
}

void declare_variable(Elab *e, const Stmt *s) {
  int global = declare(e, s);
  env_bind(e, s->variable.name.name, error_value, global, s->variable.name.loc);
  saw_binding(e, s->variable.name.loc, error_value, global);
  if (global >= 0) tree_bind(e, s->variable.name, global);
}

/* ---- assignment ---- */

static void not_assignable(Elab *e, const Stmt *s, const Binding *b) {
  const char *name = s->update.name.name;
  Top *t = b ? NULL : top_find(e, name);
  if (t && t->decl->kind == DECL_HYPER) {
    elab_error(e, s->loc, "hyper %s is given by who runs the program and cannot be assigned", name);
    elab_note(e, t->decl->name.loc, "declared here");
    elab_hint(e, "a number that the program changes is a state");
  } else if (b || t) {
    elab_error(e, s->loc, "'%s' is not a param or state: ':=' assigns only these", name);
    elab_note(e, b ? b->loc : t->decl->name.loc, "'%s' is bound here", name);
    if (b) elab_hint(e, "write %s = … to bind the name anew", name);
  } else {
    unknown_name(e, "param or state", name, s->update.name.loc);
    return;
  }
  elab_trace(e);
}

void assign_variable(Elab *e, const Stmt *s) {
  const char *name = s->update.name.name;
  Binding *b = env_find(e, e->frame->env, name);
  Top *t = b ? NULL : top_find(e, name);
  Val v = elab_eval_one(e, s->update.value);
  if (t && t->decl->kind == DECL_STATE) {
    tree_assign(e, t, v, s->loc);
  } else if (!b || b->global < 0) {
    if (!b || b->val.kind != VAL_ERROR) not_assignable(e, s, b);
  } else {
    global_assign(e, b->global, v, s->loc, s->update.value->loc);
  }
}

void global_assign(Elab *e, int global, Val v, Loc place, Loc loc) {
  if (v.kind == VAL_ERROR) return;
  const Global *g = &e->m->globals.at[global];
  if (v.kind != VAL_TENSOR) v = val_to_const(e, v, g->type, loc);
  if (v.kind == VAL_ERROR) return;
  const Type *t = v.tensor.type;
  bool floats = dtype_is_float(t->dtype) && dtype_is_float(g->type->dtype);
  if (type_with_dtype(e->c, t, g->type->dtype) != g->type ||
      (t->dtype != g->type->dtype && !floats)) {
    elab_error(e, place, "%s is %s and cannot become %s", g->path, type_text(e->c, g->type),
               type_text(e->c, t));
    if (e->info.at[global].loc.line)
      elab_note(e, e->info.at[global].loc, "%s is declared here", g->path);
    elab_note_tensor(e, "the value", v);
    if (t->dtype != g->type->dtype && !floats)
      elab_hint(e, "convert the value: %s(…)", dtype_name(g->type->dtype));
    elab_trace(e);
    return;
  }
  elab_at(e, place);
  v = val_convert(e, v, g->type->dtype); /* storing rounds to the declared dtype */
  global_write(e, global, v.tensor.id);
}
