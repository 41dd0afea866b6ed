/* Statements: bindings, unrolled loops, branches, scopes, returns.
   Contract: statements after a return are not read. The names that a loop's body binds first end
   with each iteration; names from outside keep the values that the loop assigned. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

/* Names a value, unless it has a name. A name from the user's code replaces one from the prelude.
 */
static void give_name(Elab *e, Val v, const char *name) {
  if (v.kind != VAL_TENSOR || v.tensor.run != e->run) return;
  EntryBuilder *run = e->run;
  ValueId id = v.tensor.id;
  Value *value = value_at(run->entry, id);
  const Op *op = value_def(run->entry, id);
  if (!op || op->kind == OP_CONST || op->kind == OP_LOAD) return;
  if (e->frame->env->prelude) {
    if (value->name) return;
    while (run->weak_name.n <= id) vec_push(e->a, &run->weak_name, false);
    run->weak_name.at[id] = true;
  } else if (value->name) {
    if (id >= run->weak_name.n || !run->weak_name.at[id]) return;
    run->weak_name.at[id] = false;
  }
  value->name = name;
}

/* Warns of "m = …" where m is a state: the name then means something else, and the state keeps its
   value, which "m := …" changes. Of a param nothing is said: w = w / norm(w) is how weights are
   normalized. */
static void check_rebound(Elab *e, Ident name) {
  const Binding *b = env_find(e, e->frame->env, name.name);
  const Top *t = b || e->frame->env->func ? NULL : top_find(e, name.name);
  bool state = b ? b->global >= 0 && e->m->globals.at[b->global].kind == GLOBAL_STATE
                 : t && t->decl->kind == DECL_STATE;
  if (!state || e->frame->env->prelude) return;
  elab_warning(e, name.loc,
               "'%s' is a state, and '=' binds the name to another value: the state stays as it is",
               name.name);
  elab_hint(e, "the state gets the value by %s := …", name.name);
}

void bind_name(Elab *e, Ident name, Val v) {
  if (is_discard(name.name)) return;
  check_rebound(e, name);
  give_name(e, v, name.name);
  env_bind(e, name.name, v, -1, name.loc);
  saw_binding(e, name.loc, v, -1);
}

static void bind_all(Elab *e, const Idents *names, const Val *v, int n, Loc loc, const char *what) {
  if (names->n != n) {
    elab_error(e, loc, "%d name%s for %d value%s%s", names->n, names->n == 1 ? "" : "s", n,
               n == 1 ? "" : "s", what);
    elab_trace(e);
  }
  for (int i = 0; i < names->n; i++) bind_name(e, names->at[i], names->n == n ? v[i] : error_value);
  for (int i = 0; i < names->n; i++)
    for (int k = 0; k < i; k++)
      if (names->at[i].name == names->at[k].name && !is_discard(names->at[i].name))
        elab_fail(e, names->at[i].loc, "'%s' stands twice on the left", names->at[i].name);
}

static void exec_assign(Elab *e, const Stmt *s) {
  const Idents *names = &s->assign.names;
  const Exprs *values = &s->assign.values;
  if (values->n == 1 && names->n > 1) {
    Val v = elab_eval(e, values->at[0]);
    if (v.kind == VAL_TUPLE || v.kind == VAL_LIST) {
      bind_all(e, names, v.list->at, v.list->n, values->at[0]->loc, "");
    } else {
      if (v.kind != VAL_ERROR)
        elab_fail(e, values->at[0]->loc, "%d names for one value, %s", names->n, val_str(e, v));
      for (int i = 0; i < names->n; i++) bind_name(e, names->at[i], error_value);
    }
    return;
  }
  Val *v = ARENA_ARRAY(e->a, Val, values->n + 1);
  for (int i = 0; i < values->n; i++) {
    v[i] = elab_eval_one(e, values->at[i]);
    if (s->assign.type &&
        !type_match(e, s->assign.type, &v[i], false, names->at[i < names->n ? i : 0].name, NULL,
                    values->at[i]->loc))
      v[i] = error_value;
  }
  bind_all(e, names, v, values->n, s->loc, "");
}

static void exec_yield(Elab *e, const Stmt *s) {
  Yields *y = e->frame->env->yields;
  if (!y) {
    elab_error(e, s->loc, "yield without a loop that takes the values");
    elab_hint(e, "write hs = for i in a..b { … yield h }");
    elab_trace(e);
    return;
  }
  if (y->seen) {
    elab_error(e, s->loc, "a second yield in one iteration");
    elab_note(e, y->loc, "the first is here");
    elab_hint(e, "several values in one: yield a, b");
    elab_trace(e);
    return;
  }
  y->seen = true;
  y->loc = s->loc;
  if (s->values.n != y->targets)
    elab_fail(e, s->loc, "yield gives %d value%s, but the loop takes %d", s->values.n,
              s->values.n == 1 ? "" : "s", y->targets);
  for (int i = 0; i < y->targets; i++) {
    Val v = i < s->values.n ? elab_eval_one(e, s->values.at[i]) : error_value;
    if (v.kind != VAL_ERROR) v = val_to_tensor(e, v, "yield", s->values.at[i]->loc);
    vec_push(e->a, &y->at, v);
  }
}

/* The yields of all iterations for one target, stacked along a new first axis. */
static Val stack_yields(Elab *e, const Yields *y, int target, Loc loc) {
  int n = (int)y->at.n / y->targets;
  Val *v = ARENA_ARRAY(e->a, Val, n + 1);
  for (int i = 0; i < n; i++) {
    v[i] = y->at.at[i * y->targets + target];
    if (v[i].kind == VAL_ERROR) return error_value;
    if (i > 0 && v[i].tensor.type != v[0].tensor.type) {
      elab_error(e, y->loc, "the loop yields %s first, but %s in iteration %d", val_str(e, v[0]),
                 val_str(e, v[i]), i);
      return elab_trace(e);
    }
  }
  const Type *t = v[0].tensor.type;
  const Type *row = type_stacked(e->c, t, 1);
  for (int i = 0; i < n; i++)
    v[i] = val_tensor(e, build_reshape(elab_at(e, loc), v[i].tensor.id, row));
  if (n == 1) return v[0];
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = 0}};
  return build_checked(e, OP_CONCAT, v, n, attr, NULL, "yield", loc);
}

bool loop_bound(Elab *e, const Expr *x, bool unrolled, int64_t min, const char *what,
                int64_t *out) {
  Val v = elab_eval_one(e, x);
  const char *hint =
      v.kind == VAL_EXTENT && unrolled
          ? "a scan loops to it at run time: scan i in 0..n { … }"
          : "loop to the most that it may be, and keep what was: where(i < n, new, old)";
  return val_is_known(e, v, what, hint, x->loc) && val_to_int(e, v, min, what, x->loc, out);
}

static void exec_for(Elab *e, const Stmt *s) {
  Env *env = e->frame->env;
  int64_t from, to;
  int64_t copies;
  bool ok = loop_bound(e, s->loop.from, true, INT64_MIN, "the start of a loop", &from);
  ok &= loop_bound(e, s->loop.to, true, INT64_MIN, "the end of a loop", &to);
  Yields yields = {.up = env->yields, .targets = s->loop.targets.n};
  if (ok && to > from &&
      (__builtin_sub_overflow(to, from, &copies) || copies > MAX_UNROLL - e->unrolled)) {
    elab_error(e, s->loc, "the loop would be unrolled to more than %d copies", MAX_UNROLL);
    elab_trace(e);
    ok = false;
  }
  if (ok && yields.targets && to <= from) {
    elab_fail(e, s->loc, "a loop that yields needs at least one iteration: %lld..%lld",
              (long long)from, (long long)to);
    ok = false;
  }
  if (yields.targets) env->yields = &yields;
  Binding *hidden = env_find(e, env, s->loop.var.name);
  Binding before = hidden ? *hidden : (Binding){0};
  for (int64_t i = from; ok && i < to && !env->returned; i++) {
    uint32_t names = env->names.n;
    e->unrolled++;
    yields.seen = false;
    env_bind(e, s->loop.var.name, val_int(i, s->loop.var.loc), -1, s->loop.var.loc);
    exec_body(e, &s->loop.body);
    env_drop(e, env, names);
    if (yields.targets && !yields.seen && !env->returned) {
      elab_fail(e, s->loc, "iteration %lld of the loop yields nothing", (long long)i);
      ok = false;
    }
  }
  if (hidden) *env_find(e, env, before.name) = before;
  if (!yields.targets) return;
  env->yields = yields.up;
  Val *v = ARENA_ARRAY(e->a, Val, yields.targets);
  for (int k = 0; k < yields.targets; k++)
    v[k] = ok && !env->returned ? stack_yields(e, &yields, k, s->loc) : error_value;
  bind_all(e, &s->loop.targets, v, yields.targets, s->loc, "");
}

/* What a branch would have given its names, after an error. */
static void bind_unknown(Elab *e, const Body *b) {
  for (int i = 0; i < b->n; i++)
    for (int k = 0; b->at[i]->kind == ST_ASSIGN && k < b->at[i]->assign.names.n; k++) {
      Ident name = b->at[i]->assign.names.at[k];
      if (!env_find(e, e->frame->env, name.name)) bind_name(e, name, error_value);
    }
}

static void exec_if(Elab *e, const Stmt *s) {
  Val t = elab_eval_one(e, s->branch.test);
  if (t.kind == VAL_ERROR) return;
  if (t.kind != VAL_BOOL) {
    (void)not_a_bool(e, s->branch.test, t, body_has_minimize(&s->branch.then), "c, a, b");
    bind_unknown(e, &s->branch.then);
    bind_unknown(e, &s->branch.other);
    return;
  }
  if (t.b)
    exec_body(e, &s->branch.then);
  else if (s->branch.has_else)
    exec_body(e, &s->branch.other);
}

static void exec_scope(Elab *e, const Stmt *s) {
  const char *name = instance_name(e, &s->scope.path);
  if (!name) return;
  Loc loc = s->scope.path.loc;
  const InstanceRecord *before = instance_lookup(
      e, e->frame, (InstanceRecord){.name = intern_printf(e->c, "scope %s", name), .loc = loc});
  Frame *outer = e->frame, *f = frame_push(e, name, loc, outer->env, false);
  f->scope = true;
  f->again = before != NULL;
  f->iterated = before && before->loc.line == loc.line && before->loc.col == loc.col;
  f->first_call = before ? before->loc : loc;
  f->shared = s->scope.path.shared;
  f->user = outer->user;
  exec_body(e, &s->scope.body);
  frame_pop(e);
}

static bool entry_body(const Elab *e) { return e->frame->env->func == NULL; }

/* The name of an output: as written, or the name that is returned, or "out". */
static const char *output_name(Elab *e, const Out *o) {
  if (o->name.name) return o->name.name;
  if (o->value->kind == EX_NAME) return o->value->name;
  return intern(e->c, "out");
}

static void check_outputs(Elab *e, const Stmt *s) {
  for (int i = 0; i < s->outs.n; i++) {
    const Out *o = &s->outs.at[i];
    const char *name = output_name(e, o);
    for (int k = 0; k < i; k++)
      if (output_name(e, &s->outs.at[k]) == name && (entry_body(e) || o->name.name)) {
        elab_error(e, o->loc, "two outputs are called '%s'", name);
        elab_note(e, s->outs.at[k].loc, "the first is here");
        elab_hint(e, "give each its own name: return a = …, b = …");
        elab_trace(e);
      }
    if (entry_body(e) && program_has_option(name)) {
      elab_error(e, o->loc, "an output cannot be called '%s': every program has an option --%s",
                 name, name);
      elab_hint(e, "give it another name: return NAME = …");
      elab_trace(e);
    }
    if (entry_body(e)) vec_push(e->a, &e->frame->env->outputs, (Ident){name, o->loc});
  }
}

static void exec_return(Elab *e, const Stmt *s) {
  Env *env = e->frame->env;
  if (env->scans) {
    elab_error(e, s->loc, "return inside of a scan: its iterations all run");
    elab_hint(e, "yield what an iteration gives, and return after the loop");
    env->result = elab_trace(e);
    env->returned = true;
    return;
  }
  Val *v = ARENA_ARRAY(e->a, Val, s->outs.n + 1);
  bool bad = false;
  for (int i = 0; i < s->outs.n; i++) {
    const Out *o = &s->outs.at[i];
    v[i] = s->outs.n == 1 && !entry_body(e) ? elab_eval(e, o->value) : elab_eval_one(e, o->value);
    if (v[i].kind != VAL_ERROR && entry_body(e))
      v[i] = val_to_tensor(e, v[i], "an output", o->value->loc);
    const char *name = o->name.name ? o->name.name : "the result";
    if (o->type && !type_match(e, o->type, &v[i], false, name, NULL, o->value->loc))
      v[i] = error_value;
    if (o->name.name) give_name(e, v[i], o->name.name);
    bad |= v[i].kind == VAL_ERROR;
  }
  if (!bad || entry_body(e)) check_outputs(e, s);
  env->returned = true;
  env->result = bad              ? error_value
                : s->outs.n == 1 ? v[0]
                                 : val_list(e, VAL_TUPLE, v, s->outs.n, s->loc);
}

static void exec_kind(Elab *e, const Stmt *s) {
  switch (s->kind) {
  case ST_ASSIGN: exec_assign(e, s); return;
  case ST_UPDATE: assign_variable(e, s); return;
  case ST_PARAM:
  case ST_STATE: declare_variable(e, s); return;
  case ST_FOR: exec_for(e, s); return;
  case ST_SCAN: exec_scan(e, s); return;
  case ST_IF: exec_if(e, s); return;
  case ST_SCOPE: exec_scope(e, s); return;
  case ST_WITH: exec_with(e, s); return;
  case ST_MINIMIZE:
  case ST_TRAIN: exec_train(e, s); return;
  case ST_RETURN: exec_return(e, s); return;
  case ST_YIELD: exec_yield(e, s); return;
  case ST_CALL: (void)elab_eval(e, s->call); return;
  }
}

/* Nested statements count towards the depth like nested expressions: both recurse through calls. */
static void exec(Elab *e, const Stmt *s) {
  if (!elab_deeper(e, s->loc)) return;
  exec_kind(e, s);
  e->depth--;
}

void exec_body(Elab *e, const Body *b) {
  Env *env = e->frame->env;
  for (int i = 0; i < b->n; i++) {
    if (env->returned) {
      if (i == 0 || b->at[i - 1]->kind != ST_RETURN) return;
      elab_error(e, b->at[i]->loc, "nothing after a return is reached");
      if (b->at[i]->kind == ST_RETURN)
        elab_hint(e, "one return has all values: return y = a, z = b");
      elab_trace(e);
      return;
    }
    exec(e, b->at[i]);
  }
}

bool body_has_minimize(const Body *b) {
  for (int i = 0; i < b->n; i++) {
    const Stmt *s = b->at[i];
    if (s->kind == ST_MINIMIZE || s->kind == ST_TRAIN) return true;
    if ((s->kind == ST_FOR || s->kind == ST_SCAN) && body_has_minimize(&s->loop.body)) return true;
    if (s->kind == ST_SCOPE && body_has_minimize(&s->scope.body)) return true;
    if (s->kind == ST_WITH && body_has_minimize(&s->with.body)) return true;
    if (s->kind == ST_IF &&
        (body_has_minimize(&s->branch.then) || body_has_minimize(&s->branch.other)))
      return true;
  }
  return false;
}
