/* The elaboration of a program: declarations, entries, and the entry `init`.
   Contract: see elab.h. Every let is computed and every entry elaborated, also after errors, so
   that one run reports as many as it can. A def is elaborated where it is called. */
#include "lang/elab/builtin/builtin.h"
#include "lang/elab/elab_impl.h"
#include "lang/elab/library.h"

/* The options of a generated program that a name of the language can spell; a unit test holds the
   list against the runtime's table. */
static const char *const program_options[] = {
    "epochs",   "steps",   "save",    "load",   "checkpoint", "resume", "seed",
    "shuffle",  "log",     "expect",  "rtol",   "atol",       "text",   "help",
    "device",   "threads", "profile", "poison", "bench",      "quiet",  "validate",
    "patience", "plot",    "watch",   "words",  "timeout"};

bool program_has_option(const char *name) {
  for (size_t i = 0; i < sizeof program_options / sizeof *program_options; i++)
    if (strcmp(name, program_options[i]) == 0) return true;
  return false;
}

/* An input or hyper becomes an option of the program, so it must not have an option's name. */
static void check_option(Elab *e, const char *what, Ident name) {
  if (!program_has_option(name.name)) return;
  elab_error(e, name.loc, "%s cannot be called '%s': every program has an option --%s", what,
             name.name, name.name);
  elab_hint(e, "choose another name");
}

static void add_top(Elab *e, const Decl *d, bool prelude) {
  uint32_t first;
  Map *by_name = prelude ? &e->prelude_by_name : &e->user_by_name;
  if (map_get(by_name, d->name.name, &first)) {
    if (prelude) gc_bug(e->c, "the prelude declares %s twice", d->name.name);
    elab_error(e, d->name.loc, "'%s' is declared twice", d->name.name);
    elab_note(e, e->user.at[first]->decl->name.loc, "the first is here");
    return;
  }
  map_put(e->a, by_name, d->name.name, prelude ? e->prelude.n : e->user.n);
  Top *t = ARENA_NEW(e->a, Top);
  t->decl = d;
  t->global = -1;
  t->func = (Func){.kind = FUNC_DEF, .name = d->name.name, .decl = d, .prelude = prelude};
  if (prelude)
    vec_push(e->a, &e->prelude, t);
  else
    vec_push(e->a, &e->user, t);
}

/* The type that a hyper is declared with; NULL: none. */
static const Type *hyper_type(Elab *e, const Decl *d) {
  const Type *t = d->type ? type_eval(e, d->type, DT_F32) : NULL;
  if (!t || hyper_is_type(t)) return t;
  elab_error(e, d->type->loc, "hyper %s is %s, but a hyper is a number of f32 or i32, or a bool",
             d->name.name, type_text(e->c, t));
  if (t->rank)
    elab_hint(e, "values of a shape are an input or a param");
  else
    elab_hint(e, "convert it where it is used: %s(%s)", dtype_name(t->dtype), d->name.name);
  return NULL;
}

/* Its default, and its type where *t is NULL. */
static bool hyper_default(Elab *e, const Decl *d, const Type **t, double *value) {
  Val v = elab_eval_one(e, d->value);
  if (!*t) *t = type_scalar(e->c, v.kind == VAL_BOOL ? DT_BOOL : DT_F32);
  Dtype dt = (*t)->dtype;
  bool right = dt == DT_BOOL  ? v.kind == VAL_BOOL
               : dt == DT_I32 ? v.kind == VAL_INT
                              : val_is_number(v);
  *value = v.kind == VAL_BOOL ? v.b : right ? val_number(v) : 0;
  if (v.kind == VAL_ERROR) return false;
  if (right && hyper_holds(*t, *value)) return true;
  const char *what = dt == DT_BOOL  ? "true or false"
                     : dt == DT_I32 ? "an integer of i32"
                                    : "a number";
  elab_fail(e, d->value->loc, "the default of hyper %s must be %s, found %s", d->name.name, what,
            val_str(e, v));
  return false;
}

static void add_hyper(Elab *e, Top *top) {
  const Decl *d = top->decl;
  if (d->name.name == intern(e->c, "step")) {
    elab_error(e, d->name.loc, "step is the built-in counter of training steps");
    elab_hint(e, "choose another name");
    return;
  }
  check_option(e, "a hyper", d->name);
  Frame frame = {.env = env_new(e, NULL, false), .path = intern(e->c, "")};
  e->run = &e->let;
  e->frame = &frame;
  const Type *t = hyper_type(e, d);
  double value;
  bool ok = (t || !d->type) && hyper_default(e, d, &t, &value);
  e->run = NULL;
  e->frame = NULL;
  if (!ok) return;
  Global g = {
      .kind = GLOBAL_HYPER, .path = d->name.name, .type = t, .value = value, .loc = d->name.loc};
  top->global = module_add_global(e->m, g);
  while (e->info.n <= (uint32_t)top->global) vec_push(e->a, &e->info, (GlobalInfo){0});
  e->info.at[top->global] = (GlobalInfo){d->name.loc, "", NULL, NO_ID};
}

/* ---- entries ---- */

static void add_inputs(Elab *e, const Decl *d) {
  e->run->inputs_of = d;
  for (int i = 0; i < d->function.n; i++) {
    const Param *p = &d->function.params[i];
    const Type *t = type_of_input(e, p->type);
    check_option(e, "an input", p->name);
    if (!t) {
      env_bind(e, p->name.name, error_value, -1, p->name.loc);
      continue;
    }
    elab_at(e, p->name.loc);
    Val v = val_tensor(e, entry_add_input(e->run->entry, p->name.name, t));
    env_bind(e, p->name.name, v, -1, p->name.loc);
    saw_binding(e, p->name.loc, v, -1);
  }
  e->run->inputs_of = NULL;
}

/* Files and libraries have products of extents as dims, and all but some of one. */
static bool is_output(Elab *e, Val v, const char *name, Loc loc) {
  const Type *t = v.tensor.type;
  for (int i = 0; i < t->rank; i++) {
    const Extent *x = type_extent(t, i);
    int64_t of, more;
    bool part = false;
    for (int k = 0; x && k < x->nfactors; k++) part |= x->factor[k]->whole != 0;
    if (!part || axis_is_more(e->c, type_axis(t, i), &of, &more)) continue;
    elab_error(e, loc,
               "the output %s has %s elements along axis %d: a dim of an output is a "
               "multiple of extents, or of one and a number",
               name, axis_str(e->c, type_axis(t, i)), i);
    elab_hint(e, "pad it to a whole extent");
    return false;
  }
  return true;
}

static void finish_entry(Elab *e, const Decl *d) {
  Env *env = e->frame->env;
  Loc loc = d->name.loc;
  Val r = env->result;
  if (r.kind == VAL_ERROR && env->returned) return;
  if (e->run->training && !e->run->minimized) {
    elab_error(e, loc, "the minimize of entry %s is never reached", d->name.name);
    elab_hint(
        e, "'training' is decided by it: put it outside of 'if' and 'for', or write another entry");
    return;
  }
  int n = r.kind == VAL_TUPLE ? r.list->n : env->returned ? 1 : 0;
  if (n == 0 && e->run->stored.n == 0 && !e->run->minimized) {
    elab_error(e, loc, "entry %s neither returns nor assigns anything", d->name.name);
    elab_hint(e, "end it with return VALUE");
    return;
  }
  ValueId *v = ARENA_ARRAY(e->a, ValueId, n + 1);
  const char **names = ARENA_ARRAY(e->a, const char *, n + 1);
  for (int i = 0; i < n; i++) {
    v[i] = (r.kind == VAL_TUPLE ? r.list->at[i] : r).tensor.id;
    names[i] = env->outputs.at[i].name;
    if (!is_output(e, r.kind == VAL_TUPLE ? r.list->at[i] : r, names[i], env->outputs.at[i].loc))
      return;
  }
  elab_store_all(e, loc);
  build_return(elab_at(e, loc), v, names, n);
  entry_find_aggregates(e->run->b);
}

static void elaborate_entry(Elab *e, const Decl *d) {
  EntryBuilder run;
  elab_begin(e, &run, BUILD_ENTRY, d->name.name, d->name.loc);
  run.training = run.entry->training = body_has_minimize(&d->function.body);
  Frame root = {.env = env_new(e, NULL, false), .path = intern(e->c, "")};
  root.env->result = (Val){.kind = VAL_VOID};
  root.env->body = &d->function.body;
  e->run = &run;
  e->frame = &root;
  int errors = elab_errors(e);
  if (strcmp(d->name.name, "info") == 0)
    elab_fail(e, d->name.loc, "an entry cannot be called 'info': every program has this command");
  add_inputs(e, d);
  exec_body(e, &d->function.body);
  if (elab_errors(e) == errors) finish_entry(e, d);
  e->frame = NULL;
  e->run = NULL;
  vec_push(e->m->arena, &e->m->entries, run.entry);
}

/* The functions that every program has. */
static void add_library(Elab *e) {
  const Library *l = library_of(e->c);
  builtins_init(e, l->builtins);
  e->prelude_first = l->prelude.at[0]->file;
  e->prelude_last = l->prelude.at[l->prelude.n - 1]->file;
  for (uint32_t k = 0; k < l->prelude.n; k++) {
    const Program *p = l->prelude.at[k];
    for (uint32_t i = 0; i < p->decls.n; i++) add_top(e, p->decls.at[i], true);
  }
}

static void elaborate_entries(Elab *e) {
  e->m->entries.n = 0;
  e->tree_uses.n = 0;
  e->unrolled = 0;
  e->lenient = false;
  for (uint32_t i = 0; i < e->user.n; i++)
    if (e->user.at[i]->decl->kind == DECL_ENTRY) elaborate_entry(e, e->user.at[i]->decl);
}

static void elaborate_all(Elab *e) {
  for (uint32_t i = 0; i < e->user.n; i++)
    if (e->user.at[i]->decl->kind == DECL_HYPER) add_hyper(e, e->user.at[i]);
  for (uint32_t i = 0; i < e->user.n; i++)
    if (e->user.at[i]->decl->kind == DECL_STATE) declare_tree_state(e, e->user.at[i]);
  for (uint32_t i = 0; i < e->user.n; i++)
    if (e->user.at[i]->decl->kind == DECL_LET) {
      e->run = &e->let;
      (void)let_value(e, e->user.at[i]);
      e->run = NULL;
    }
  int errors = elab_errors(e);
  for (;;) {
    uint32_t known = e->m->globals.n;
    elaborate_entries(e);
    bool whole = trees_are_whole(e), grew = e->m->globals.n > known;
    if (elab_errors(e) > errors || (whole && !e->lenient) || (e->strict && !grew)) return;
    e->strict = whole || !grew; /* what a tree lacks is nowhere */
  }
}

/* Warns of hypers that no entry reads: such an option of the program changes nothing. */
static void check_hypers(Elab *e) {
  for (uint32_t i = 0; i < e->user.n; i++) {
    const Decl *d = e->user.at[i]->decl;
    if (d->kind == DECL_HYPER && !e->user.at[i]->read)
      elab_warning(e, d->name.loc, "no entry reads hyper %s: --%s of the program changes nothing",
                   d->name.name, d->name.name);
  }
}

Module *elaborate(Ctx *c, const Program *prog, const ElabOptions *opts) {
  Elab e = {.c = c, .a = ctx_arena(c), .program = prog, .options = opts};
  int errors = ctx_errors(c);
  Loc file = {.file = prog->file};
  e.m = module_new(c, ctx_source_name(c, prog->file));
  add_library(&e);
  bool any = false;
  for (uint32_t i = 0; i < prog->decls.n; i++) {
    add_top(&e, prog->decls.at[i], false);
    any |= prog->decls.at[i]->kind == DECL_ENTRY;
  }
  elab_begin(&e, &e.init, BUILD_INIT, "init", file);
  elab_begin(&e, &e.let, BUILD_LET, "let", file);
  e.let.b->fold = true;
  elaborate_all(&e);
  if (!any) {
    elab_error(&e, file, "%s has no entry", e.m->source);
    elab_hint(&e, "what a program does is an entry: entry main(x : f32[8]) { return y = x * 2 }");
  }
  if (ctx_errors(c) > errors) {
    module_free(e.m);
    return NULL;
  }
  check_hypers(&e);
  check_untrained(&e);
  e.init.b->loc = (Loc){0};
  e.init.b->scope = intern(c, "");
  build_return(e.init.b, NULL, NULL, 0);
  bool globals = false;
  for (uint32_t i = 0; i < e.m->globals.n; i++)
    globals |= e.m->globals.at[i].kind != GLOBAL_HYPER && !e.m->globals.at[i].table;
  e.m->init = globals ? e.init.entry : NULL;
  return e.m;
}
