/* Built-in functions: the table, whose signatures are written as those of defs, and their calls.
   Contract: all arguments of a handler match their kinds. A number stays a number, unless the kind
   converts it to a constant. */
#include "lang/elab/builtin/builtin.h"
#include "ir/support/memfile.h"
#include "lang/elab/library.h"

#define BUILTIN(NAME, ARGS, HANDLER, DATA, HELP) {NAME, ARGS, HANDLER, DATA, HELP},
static const Builtin builtin[] = {
#include "lang/elab/builtin/builtins.def"
};
#undef BUILTIN
enum { BUILTINS = sizeof builtin / sizeof *builtin };

/* ---- the signatures ---- */

const Program *builtin_signatures(Ctx *c) {
  MemFile m;
  FILE *f = memfile_open(&m);
  for (int i = 0; i < BUILTINS; i++)
    fprintf(f, "def %s(%s) {}\n", builtin[i].name, builtin[i].args);
  memfile_close(&m);
  const Program *p = parse_text(c, "builtins.def", m.text, m.n);
  memfile_free(&m);
  if (!p || p->decls.n != BUILTINS) gc_bug(c, "builtins.def: a row is no signature");
  return p;
}

static const char *default_text(Ctx *c, const Expr *x) {
  size_t len;
  const char *line = ctx_source_line(c, x->loc, &len);
  return intern_printf(c, " = %.*s", (int)x->loc.len, line + x->loc.col - 1);
}

const char *signature_text(Ctx *c, const Decl *d) {
  const char *text = "";
  for (int i = 0; i < d->function.n; i++) {
    const Param *p = &d->function.params[i];
    text = intern_printf(c, "%s%s%s%s%s", text, i ? ", " : "", p->rest ? "..." : "", p->name.name,
                         p->init ? default_text(c, p->init) : "");
  }
  return text;
}

int builtin_count(void) { return BUILTINS; }

const char *builtin_name(int i) { return builtin[i].name; }

const BuiltinDoc *builtin_docs(Ctx *c) {
  const Program *p = library_of(c)->builtins;
  BuiltinDoc *doc = ARENA_ARRAY(ctx_arena(c), BuiltinDoc, BUILTINS);
  for (int i = 0; i < BUILTINS; i++)
    doc[i] = (BuiltinDoc){builtin[i].name, signature_text(c, p->decls.at[i]), builtin[i].help};
  return doc;
}

void builtins_init(Elab *e, const Program *p) {
  for (int i = 0; i < BUILTINS; i++) {
    const Decl *d = p->decls.at[i];
    Func *f = ARENA_NEW(e->a, Func);
    *f = (Func){.kind = FUNC_BUILTIN, .name = d->name.name, .decl = d, .builtin = &builtin[i]};
    map_put(e->a, &e->builtin_by_name, f->name, e->builtins.n);
    vec_push(e->a, &e->builtins, f);
  }
}

/* ---- one call ---- */

static const Bound *bound_at(const BuiltinCall *s, const char *name) {
  const Decl *d = s->signature->decl;
  for (int i = 0; i < d->function.n; i++)
    if (strcmp(d->function.params[i].name.name, name) == 0) return &s->bound[i];
  gc_bug(s->e->c, "%s has no argument '%s'", s->name, name);
}

Val arg(const BuiltinCall *s, const char *name) { return bound_at(s, name)->v; }
Loc arg_loc(const BuiltinCall *s, const char *name) { return bound_at(s, name)->loc; }
bool arg_is_given(const BuiltinCall *s, const char *name) { return bound_at(s, name)->given; }

Val arg_tensor(const BuiltinCall *s, const char *name) {
  return val_to_tensor(s->e, arg(s, name), s->name, arg_loc(s, name));
}

bool arg_axis(const BuiltinCall *s, const char *name, Val x, int64_t *out) {
  return axis_of(s->e, arg(s, name).i, x.tensor.type->rank, x, s->name, arg_loc(s, name), out);
}

bool arg_axes(const BuiltinCall *s, const char *name, Val x, const Ints **out) {
  Elab *e = s->e;
  int rank = x.tensor.type->rank, n = 0;
  int64_t *axes = ARENA_ARRAY(e->a, int64_t, rank + 1), axis;
  bool *taken = ARENA_ARRAY(e->a, bool, rank + 1);
  Val v = arg(s, name);
  Loc loc = arg_loc(s, name);
  for (int i = 0; i < rank; i++) taken[i] = v.kind == VAL_NONE;
  for (int i = 0; v.kind == VAL_LIST && i < v.list->n; i++) {
    if (!axis_of(e, v.list->at[i].i, rank, x, s->name, loc, &axis)) return false;
    if (taken[axis])
      return elab_fail(e, loc, "%s names axis %lld twice", s->name, (long long)axis), false;
    taken[axis] = true;
  }
  for (int i = 0; i < rank; i++)
    if (taken[i]) axes[n++] = i;
  *out = intern_ints(e->c, axes, n);
  return true;
}

Val op_of_arguments(BuiltinCall *s, OpKind k) {
  const Bound *b = s->bound;
  Val v[2] = {val_to_tensor(s->e, b[0].v, s->name, b[0].loc), b[1].v};
  return build_checked(s->e, k, v, 2, NULL, NULL, s->name, s->loc);
}

/* Gives all floats among the arguments the widest dtype of them. */
static void widen(Elab *e, Bound *bound, int n) {
  Dtype wide = DT_BOOL;
  for (int i = 0; i < n; i++) {
    Dtype dt = bound[i].v.kind == VAL_TENSOR ? bound[i].v.tensor.type->dtype : DT_BOOL;
    if (dtype_is_float(dt) && (!dtype_is_float(wide) || dtype_size(dt) > dtype_size(wide)))
      wide = dt;
  }
  for (int i = 0; i < n; i++)
    if (bound[i].v.kind == VAL_TENSOR && dtype_is_float(bound[i].v.tensor.type->dtype))
      bound[i].v = val_convert(e, bound[i].v, wide);
}

static Val call_bound(Elab *e, const CallSite *s, Bound *bound) {
  const Decl *d = s->f->decl;
  if (is_lenient(e)) {
    elab_at(e, s->loc);
    widen(e, bound, d->function.n);
  }
  for (int i = 0; i < d->function.n; i++) {
    const Param *p = &d->function.params[i];
    if (!bind_match(e, s, p, &bound[i])) return error_value;
  }
  BuiltinCall call = {e, s->f->builtin, s->f->name, s->loc, s->f, bound};
  elab_at(e, s->loc);
  return s->f->builtin->run(&call);
}

/* The first tree among the arguments whose leaves the function is called for, one by one; NULL
   where there is none. */
static const Val *mapped(const CallSite *s, const Bound *bound) {
  for (int i = 0; i < s->f->decl->function.n; i++) {
    const TypeExpr *t = s->f->decl->function.params[i].type;
    if (bound[i].v.kind == VAL_TREE && !(t && t->kind == ARG_LEAVES)) return &bound[i].v;
  }
  return NULL;
}

static Val call_for_leaves(Elab *e, const CallSite *s, const Bound *bound, Val tree) {
  int np = s->f->decl->function.n;
  for (int i = 0; i < np; i++)
    if (bound[i].v.kind == VAL_TREE && !trees_agree(e, tree, bound[i].v, s->f->name, s->loc))
      return error_value;
  Val *leaf = ARENA_ARRAY(e->a, Val, tree.list->n + 1);
  for (int k = 0; k < tree.list->n; k++) {
    Bound *own = ARENA_ARRAY(e->a, Bound, np);
    for (int i = 0; i < np; i++) {
      own[i] = bound[i];
      if (own[i].v.kind == VAL_TREE) own[i].v = own[i].v.list->at[k];
    }
    leaf[k] = call_bound(e, s, own);
    if (leaf[k].kind != VAL_ERROR) continue;
    elab_note(e, tree.loc, "of the leaf %s of this tree", tree.list->keys->path[k]);
    return error_value;
  }
  return tree_of_leaves(e, tree, leaf, s->loc);
}

Val call_builtin(Elab *e, const CallSite *s) {
  const Decl *d = s->f->decl;
  Bound *bound = bind_given(e, s);
  if (!bound) return error_value;
  for (int i = 0; i < d->function.n; i++)
    if (!bound[i].given)
      bound[i] = (Bound){bind_default(e, s, &d->function.params[i]), s->loc, -1, false};
  const Val *tree = mapped(s, bound);
  return tree ? call_for_leaves(e, s, bound, *tree) : call_bound(e, s, bound);
}

static Val convert(Elab *e, const CallSite *s, Val v);

Val convert_call(Elab *e, const CallSite *s) {
  Dtype dt = s->f->dtype;
  const Actual *arg = s->arg;
  int n = s->n;
  Loc loc = s->loc;
  if (n != 1 || arg[0].name.name)
    return elab_fail(e, loc, "%s takes one value to convert, %d given", dtype_name(dt), n);
  return convert(e, s, arg[0].v);
}

static Val convert(Elab *e, const CallSite *s, Val v) {
  Dtype dt = s->f->dtype;
  Loc loc = s->loc;
  if (v.kind == VAL_TREE) {
    Val *leaf = ARENA_ARRAY(e->a, Val, v.list->n + 1);
    for (int i = 0; i < v.list->n; i++) leaf[i] = convert(e, s, v.list->at[i]);
    return tree_of_leaves(e, v, leaf, loc);
  }
  if (v.kind == VAL_TENSOR) {
    elab_at(e, loc);
    return val_convert(e, v, dt);
  }
  if (v.kind == VAL_EXTENT) return extent_convert(e, v, dt, loc);
  if (v.kind == VAL_LIST) return tensor_of_list(e, v, dt, s->arg[0].loc);
  if (v.kind == VAL_BOOL) v = val_int(v.b, v.loc);
  if (!val_is_number(v))
    return elab_fail(e, s->arg[0].loc, "%s cannot convert %s", dtype_name(dt), val_str(e, v));
  v = number_as(e, v, dt, s->arg[0].loc);
  v.loc = loc;
  return v;
}

Val number_as(Elab *e, Val v, Dtype dt, Loc loc) {
  if (dt == DT_BOOL) return val_bool(val_number(v) != 0, loc);
  if (dtype_is_float(dt)) return val_num(val_number(v), loc);
  if (v.kind == VAL_INT) return v;
  if (!(v.f > -0x1p62 && v.f < 0x1p62))
    return elab_fail(e, loc, "%s does not fit %s", val_str(e, v), dtype_name(dt));
  return val_int((int64_t)v.f, loc);
}

bool axis_of(Elab *e, int64_t axis, int rank, Val x, const char *what, Loc loc, int64_t *out) {
  if (axis >= -rank && axis < rank) return *out = axis < 0 ? axis + rank : axis, true;
  elab_error(e, loc, "%s has no axis %lld in %s", what, (long long)axis, val_str(e, x));
  elab_note_tensor(e, "it", x);
  if (rank > 1) elab_hint(e, "its axes are 0 to %d; from the end, -1 to -%d", rank - 1, rank);
  if (rank == 1) elab_hint(e, "it has the axis 0 alone");
  elab_trace(e);
  return false;
}
