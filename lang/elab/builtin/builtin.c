/* Built-in functions: the table, and how a call's arguments become what a handler reads.
   Contract: a handler finds every argument checked against its kind; a number where a tensor is
   asked for has become a constant, unless a handler computes with numbers (elementwise). */
#include "lang/elab/builtin/builtin.h"
#include "lang/syntax/elsewhere.h"

#include <stdlib.h>

typedef enum ArgKind {
  ARG_ANY,        /* as it is */
  ARG_TENSOR,     /* a tensor or a number */
  ARG_FLOAT,      /* a float tensor */
  ARG_INT_TENSOR, /* an integer tensor */
  ARG_INT,        /* a compile-time integer */
  ARG_COUNT,      /* ... of at least 1 */
  ARG_INTS,       /* a list of integers, or one */
  ARG_SHAPE,      /* ... of at least 1 */
  ARG_DECLARED,   /* a shape that an initialiser need not give */
  ARG_NUM,        /* a compile-time number */
  ARG_AXES,       /* an integer, a list of them, or none */
  ARG_LIST,       /* a list of tensors */
  ARG_REST,       /* ... or all positional arguments from here on */
  ARG_BOOL,
  ARG_DTYPE,
  ARG_STR,
  ARG_KINDS
} ArgKind;

static const char *const arg_kind_name[ARG_KINDS] = {
    "any",      "tensor", "float", "int_tensor", "int",  "count", "ints",  "shape",
    "declared", "num",    "axes",  "list",       "rest", "bool",  "dtype", "str"};

#define BUILTIN(NAME, ARGS, HANDLER, DATA, HELP) {NAME, ARGS, HANDLER, DATA, HELP},
static const Builtin builtin[] = {
#include "lang/elab/builtin/builtins.def"
};
#undef BUILTIN
enum { BUILTINS = sizeof builtin / sizeof *builtin };

/* ---- the signatures ---- */

typedef struct ArgSpec {
  const char *name; /* interned */
  ArgKind kind;
  const char *init; /* NULL: must be given */
} ArgSpec;

/* Reads "x:tensor axis:axes=none"; how many there are. */
static int arg_specs(Ctx *c, const Builtin *f, ArgSpec out[MAX_ARGS]) {
  int n = 0;
  for (const char *p = f->args; *p && n < MAX_ARGS; n++) {
    size_t len = strcspn(p, " "), name = strcspn(p, ":"), kind = strcspn(p, "= ") - name - 1;
    const char *word = intern_n(c, p + name + 1, kind);
    out[n] = (ArgSpec){.name = intern_n(c, p, name), .kind = ARG_KINDS};
    for (int k = 0; k < ARG_KINDS; k++)
      if (strcmp(word, arg_kind_name[k]) == 0) out[n].kind = (ArgKind)k;
    if (out[n].kind == ARG_KINDS)
      gc_bug(c, "builtins.def: %s has no kind of argument '%s'", f->name, word);
    if (name + 1 + kind < len)
      out[n].init = intern_n(c, p + name + kind + 2, len - name - kind - 2);
    p += len;
    while (*p == ' ') p++;
  }
  return n;
}

int builtin_count(void) { return BUILTINS; }

BuiltinDoc builtin_doc(Ctx *c, int i) {
  ArgSpec spec[MAX_ARGS];
  int n = arg_specs(c, &builtin[i], spec);
  const char *args = "";
  for (int k = 0; k < n; k++) {
    const char *init = spec[k].kind == ARG_DECLARED ? NULL : spec[k].init;
    bool rest = spec[k].kind == ARG_REST;
    if (rest) init = NULL;
    args = intern_printf(c, "%s%s%s%s%s", args, k ? ", " : "", rest ? "…" : spec[k].name,
                         init ? " = " : "", init ? init : "");
  }
  return (BuiltinDoc){builtin[i].name, args, builtin[i].help};
}

void builtins_init(Elab *e) {
  for (int i = 0; i < BUILTINS; i++) {
    Func *f = ARENA_NEW(e->a, Func);
    *f =
        (Func){.kind = FUNC_BUILTIN, .name = intern(e->c, builtin[i].name), .builtin = &builtin[i]};
    vec_push(e->a, &e->builtins, f);
  }
}

/* ---- one call ---- */

static Val default_value(BuiltinCall *s, const ArgSpec *a) {
  Elab *e = s->e;
  Dtype dt;
  if (a->kind == ARG_DECLARED && !a->init)
    return val_ints(e, e->init_shape->at, e->init_shape->n, s->loc);
  if (strcmp(a->init, "none") == 0) return (Val){.kind = VAL_NONE, .loc = s->loc};
  if (strcmp(a->init, "false") == 0) return val_bool(false, s->loc);
  if (strcmp(a->init, "true") == 0) return val_bool(true, s->loc);
  if (dtype_parse(a->init, &dt)) return (Val){.kind = VAL_DTYPE, .loc = s->loc, .dtype = dt};
  if (a->kind == ARG_NUM) return val_num(strtod(a->init, NULL), s->loc);
  return val_int(strtol(a->init, NULL, 10), s->loc);
}

/* Integers one by one where a list of them is taken, as in zeros(8, 4): what to write instead, or
   NULL. */
static const char *one_list(Elab *e, const Func *f, const ArgSpec *spec, int np, const Actual *arg,
                            int n) {
  int from = 0;
  while (from < np && spec[from].kind != ARG_SHAPE && spec[from].kind != ARG_DECLARED &&
         spec[from].kind != ARG_INTS && spec[from].kind != ARG_AXES)
    from++;
  if (from == np || from + 1 >= n) return NULL;
  for (int i = from + 1; i < np && i < n; i++)
    if (spec[i].kind != ARG_DTYPE && spec[i].kind != ARG_BOOL) return NULL;
  const char *text = "";
  for (int i = 0; i < n; i++) {
    if (arg[i].name.name || (i >= from && arg[i].v.kind != VAL_INT)) return NULL;
    text = intern_printf(e->c, "%s%s%s%s", text, i ? ", " : "", i == from ? "[" : "",
                         source_slice(e, arg[i].loc));
  }
  return intern_printf(e->c, "'%s' is one list: %s(%s])", spec[from].name, f->name, text);
}

static bool wrong_kind(BuiltinCall *s, const ArgSpec *a, int i, const char *wanted) {
  elab_error(s->e, s->at[i], "%s needs %s for '%s', found %s", s->name, wanted, a->name,
             val_str(s->e, s->v[i]));
  if (s->v[i].kind == VAL_TENSOR) elab_note_tensor(s->e, a->name, s->v[i]);
  if (a->kind == ARG_FLOAT && s->v[i].kind == VAL_TENSOR) {
    const char *name = value_at(s->e->run->entry, s->v[i].tensor.id)->name;
    elab_hint(s->e, "convert: f32(%s)", name ? name : "x");
  }
  if (s->one_list) elab_hint(s->e, "%s", s->one_list);
  elab_trace(s->e);
  return false;
}

static bool all_ints(Elab *e, Val *v, int64_t least, const char *what, Loc loc) {
  const Ints *l = val_to_ints(e, *v, least, what, loc);
  if (l) *v = val_ints(e, l->at, l->n, v->loc);
  return l != NULL;
}

static const char *arg_text(const BuiltinCall *s, const ArgSpec *a) {
  return intern_printf(s->e->c, "'%s' of %s", a->name, s->name);
}

/* Checks one argument against its kind, and gives it the form that handlers expect. */
static bool check_arg(BuiltinCall *s, const ArgSpec *a, int i) {
  Elab *e = s->e;
  Val *v = &s->v[i];
  int64_t n;
  if (v->kind == VAL_ERROR) return false;
  switch (a->kind) {
  case ARG_ANY: return true;
  case ARG_TENSOR:
    return v->kind == VAL_TENSOR || val_is_number(*v) || v->kind == VAL_BOOL ||
           wrong_kind(s, a, i, "a tensor");
  case ARG_FLOAT:
    if (val_is_number(*v)) *v = val_to_const(e, *v, type_scalar(e->c, DT_F32), s->at[i]);
    return (v->kind == VAL_TENSOR && dtype_is_float(v->tensor.type->dtype)) ||
           wrong_kind(s, a, i, "floats");
  case ARG_INT_TENSOR:
    if (v->kind == VAL_INT) *v = val_to_tensor(e, *v, s->name, s->at[i]);
    return (v->kind == VAL_TENSOR && dtype_is_int(v->tensor.type->dtype)) ||
           wrong_kind(s, a, i, "integers");
  case ARG_INT:
  case ARG_COUNT:
    if (!val_to_int(e, *v, a->kind == ARG_COUNT ? 1 : INT64_MIN, arg_text(s, a), s->at[i], &n))
      return false;
    *v = val_int(n, v->loc);
    return true;
  case ARG_INTS:
  case ARG_AXES: return all_ints(e, v, INT64_MIN, arg_text(s, a), s->at[i]);
  case ARG_SHAPE:
  case ARG_DECLARED: return all_ints(e, v, 1, arg_text(s, a), s->at[i]);
  case ARG_REST:
  case ARG_LIST:
    if ((v->kind != VAL_LIST && v->kind != VAL_TUPLE) || v->list->n == 0)
      return wrong_kind(s, a, i, "a list of tensors");
    for (int k = 0; k < v->list->n; k++)
      if (v->list->at[k].kind != VAL_TENSOR)
        return fail(e, s->at[i], "%s needs a list of tensors, its element %d is %s", s->name, k,
                    val_str(e, v->list->at[k])),
               false;
    return true;
  case ARG_NUM: return val_is_number(*v) || wrong_kind(s, a, i, "a compile-time number");
  case ARG_BOOL: return v->kind == VAL_BOOL || wrong_kind(s, a, i, "true or false");
  case ARG_DTYPE: return v->kind == VAL_DTYPE || wrong_kind(s, a, i, "a dtype");
  case ARG_STR: return v->kind == VAL_STR || wrong_kind(s, a, i, "a string");
  case ARG_KINDS: break;
  }
  return false;
}

static int spec_index(BuiltinCall *s, const ArgSpec *spec, int n, Ident name) {
  const char *names[MAX_ARGS];
  for (int k = 0; k < n; k++) {
    if (spec[k].name == name.name) return k;
    names[k] = spec[k].name;
  }
  const char *near = known_argument(name.name, names, n);
  if (!near) near = nearest_name(s->e->c, name.name, names, n);
  elab_error(s->e, name.loc, "%s has no argument '%s'", s->name, name.name);
  if (near)
    elab_hint(s->e, "did you mean '%s'?", near);
  else
    elab_hint(s->e, "%s(%s)", s->name, builtin_doc(s->e->c, (int)(s->f - builtin)).args);
  elab_trace(s->e);
  return -1;
}

/* The positional arguments from `from` on as a list; in the table only the last argument is one. */
static Val rest_of(Elab *e, const Actual *arg, int from, int n) {
  Val *item = ARENA_ARRAY(e->a, Val, n);
  int k = 0;
  for (int i = from; i < n && !arg[i].name.name; i++) {
    item[k] = arg[i].v;
    item[k++].loc = arg[i].loc;
  }
  return val_list(e, VAL_LIST, item, k, arg[from].loc);
}

Val call_builtin(Elab *e, const Func *f, const Actual *arg, int n, Loc loc) {
  ArgSpec spec[MAX_ARGS];
  BuiltinCall s = {.e = e, .f = f->builtin, .name = f->name, .loc = loc};
  int np = arg_specs(e->c, f->builtin, spec);
  bool rest = np && spec[np - 1].kind == ARG_REST;
  s.one_list = one_list(e, f, spec, np, arg, n);
  for (int i = 0; i < n; i++) {
    if (rest && i >= np && !arg[i].name.name) continue; /* in the list already */
    int k = arg[i].name.name ? spec_index(&s, spec, np, arg[i].name) : i;
    if (k < 0) return error_value;
    if (k >= np) {
      elab_error(e, arg[i].loc, "%s takes %d argument%s, %d given", f->name, np, np == 1 ? "" : "s",
                 n);
      if (s.one_list)
        elab_hint(e, "%s", s.one_list);
      else
        elab_hint(e, "%s(%s)", f->name, builtin_doc(e->c, (int)(f->builtin - builtin)).args);
      return elab_trace(e);
    }
    if (s.given[k])
      return fail(e, arg[i].loc, "argument '%s' of %s is given twice", spec[k].name, f->name);
    if (arg[i].v.kind == VAL_NONE) { /* as if it were not given */
      if (spec[k].init && strcmp(spec[k].init, "none") == 0) continue;
      elab_error(e, arg[i].loc, "argument '%s' of %s cannot be none", spec[k].name, f->name);
      elab_hint(e, "%s(%s)", f->name, builtin_doc(e->c, (int)(f->builtin - builtin)).args);
      return elab_trace(e);
    }
    s.given[k] = true;
    s.v[k] = rest && k == np - 1 && !arg[i].name.name ? rest_of(e, arg, i, n) : arg[i].v;
    s.at[k] = arg[i].loc;
  }
  for (int k = 0; k < np; k++) {
    if (s.given[k]) {
      if (!check_arg(&s, &spec[k], k)) return error_value;
      continue;
    }
    bool declared = spec[k].kind == ARG_DECLARED && e->init_shape;
    if (!spec[k].init && !declared) {
      elab_error(e, loc, "%s needs its argument '%s'", f->name, spec[k].name);
      if (spec[k].kind == ARG_DECLARED)
        elab_hint(e, "only an initialiser knows its shape; elsewhere write shape = [n, …]");
      else
        elab_hint(e, "%s(%s)", f->name, builtin_doc(e->c, (int)(f->builtin - builtin)).args);
      return elab_trace(e);
    }
    s.at[k] = loc;
    s.v[k] = default_value(&s, &spec[k]);
    if (s.v[k].kind != VAL_NONE && !check_arg(&s, &spec[k], k)) return error_value;
  }
  at(e, loc);
  return f->builtin->run(&s);
}

Val convert_call(Elab *e, Dtype dt, const Actual *arg, int n, Loc loc) {
  if (n != 1 || arg[0].name.name)
    return fail(e, loc, "%s takes one value to convert, %d given", dtype_name(dt), n);
  Val v = arg[0].v;
  if (v.kind == VAL_TENSOR) {
    at(e, loc);
    return val_convert(e, v, dt);
  }
  if (v.kind == VAL_BOOL) v = val_int(v.b, v.loc);
  if (!val_is_number(v))
    return fail(e, arg[0].loc, "%s cannot convert %s", dtype_name(dt), val_str(e, v));
  if (dt == DT_BOOL) return val_bool(val_number(v) != 0, loc);
  if (dtype_is_float(dt)) return val_num(val_number(v), loc);
  if (v.kind == VAL_INT) return val_int(v.i, loc);
  if (!(v.f > -0x1p62 && v.f < 0x1p62))
    return fail(e, arg[0].loc, "%s does not fit %s", val_str(e, v), dtype_name(dt));
  return val_int((int64_t)v.f, loc);
}

bool axis_of(Elab *e, int64_t axis, int rank, Val x, const char *what, Loc loc, int64_t *out) {
  if (axis >= -rank && axis < rank) return *out = axis < 0 ? axis + rank : axis, true;
  elab_error(e, loc, "%s has no axis %lld in %s", what, (long long)axis, val_str(e, x));
  elab_note_tensor(e, "it", x);
  elab_trace(e);
  return false;
}
