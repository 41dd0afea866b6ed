/* Kinds of arguments: the checks of the words that a signature may have in place of a type.
   Contract: a matching value is brought to the kind's form: a single integer becomes a list for
   ints, and a number a constant for floats. Texts for messages are built after an error only. */
#include "lang/elab/builtin/builtin.h"
#include "lang/elab/elab_impl.h"

static const char *const wanted[ARG_KINDS] = {
#define KIND(NAME, WORD, WANTED) [ARG_##NAME] = WANTED,
#include "lang/syntax/kinds.def"
#undef KIND
};

typedef struct Subject { /* of the messages */
  const TypeExpr *t;
  const char *name;
  const CallSite *s; /* or NULL */
  Loc loc;
} Subject;

/* The end of an error: the declared kind and the trace. */
static bool traced(Elab *e, Subject p) {
  const char *list = p.s ? one_list(e, p.s) : NULL;
  if (list) elab_hint(e, "%s", list);
  if (!p.s || p.s->f->kind == FUNC_DEF) elab_note(e, p.t->loc, "declared here");
  elab_trace(e);
  return false;
}

/* normal([8, 4]): a list in the place of a number is the shape, unless the call gives one. */
static const char *shape_argument(const CallSite *s) {
  const Decl *d = s->f->decl;
  const char *name = NULL;
  int at = 0;
  for (; at < d->function.n && !name; at++)
    if (d->function.params[at].type && d->function.params[at].type->kind == ARG_SHAPE)
      name = d->function.params[at].name.name;
  for (int i = 0; name && i < s->n; i++)
    if (s->arg[i].name.name == name || (!s->arg[i].name.name && i == at - 1)) return NULL;
  return name;
}

/* Integers for floats while the call's integers, or a tensor of any dtype with one axis more, are
   floats: its arguments change places. */
static bool changes_places(Subject p, Val v) {
  ArgKind other = p.t->kind == ARG_FLOATS ? ARG_INDICES : ARG_FLOATS;
  const Decl *d = p.s ? p.s->f->decl : NULL;
  if (!d || !dtype_is_int(v.tensor.type->dtype) == (p.t->kind == ARG_FLOATS)) return false;
  for (int i = 0; i < d->function.n && i < p.s->n; i++) {
    const TypeExpr *t = d->function.params[i].type;
    const Val *given = &p.s->arg[i].v;
    if (!t || p.s->arg[i].name.name || given->kind != VAL_TENSOR ||
        dtype_is_int(given->tensor.type->dtype) != (other == ARG_FLOATS))
      continue;
    bool any = t->kind == ARG_TENSOR && other == ARG_INDICES;
    if (t->kind == other || (any && given->tensor.type->rank == v.tensor.type->rank + 1))
      return true;
  }
  return false;
}

/* The targets of PyTorch and Keras that are probabilities, with a row for each row of logits. */
static bool is_distribution(Subject p, Val v) {
  return p.s && strcmp(p.s->f->name, "xent") == 0 && p.s->n == 2 && p.t->kind == ARG_INDICES &&
         p.s->arg[0].v.kind == VAL_TENSOR && p.s->arg[0].v.tensor.type->rank == v.tensor.type->rank;
}

static void hint_conversion(Elab *e, Subject p, Val v) {
  const char *given = value_at(e->run->entry, v.tensor.id)->name, *name = given ? given : "x";
  if (changes_places(p, v))
    elab_hint(e, "the order is %s(%s)", p.s->f->name, signature_text(e->c, p.s->f->decl));
  else if (is_distribution(p, v))
    elab_hint(e,
              "labels are class numbers, as argmax(%s) of one-hot rows; for probabilities write "
              "-sum(%s * log_softmax(logits), axis = -1)",
              name, name);
  else
    elab_hint(e, "convert: %s(%s)", p.t->kind == ARG_FLOATS ? "f32" : "i32", name);
}

static bool wrong(Elab *e, Subject p, Val v) {
  if (p.s)
    elab_error(e, p.loc, "%s needs %s for '%s', found %s", p.s->f->name, wanted[p.t->kind], p.name,
               val_str(e, v));
  else
    elab_error(e, p.loc, "%s must be %s, found %s", p.name, wanted[p.t->kind], val_str(e, v));
  if (v.kind == VAL_TENSOR) elab_note_tensor(e, p.name, v);
  if ((p.t->kind == ARG_FLOATS || p.t->kind == ARG_INDICES) && v.kind == VAL_TENSOR)
    hint_conversion(e, p, v);
  if (p.t->kind == ARG_FLAG || p.t->kind == ARG_NUMBER || p.t->kind == ARG_FRACTION)
    val_hint_known(e, v, NULL);
  if (v.kind == VAL_FUNC && p.s && p.t->kind != ARG_FUNCTION)
    elab_hint(e, "a function of the result is a call around it: %s(%s(…))", v.func->name,
              p.s->f->name);
  if (p.t->kind == ARG_FUNCTION && strcmp(p.name, "init") == 0)
    elab_hint(e, "an initialiser is a name, as in init = he; with arguments: def small(shape) { "
                 "return normal(std = 0.02, shape = shape) } and init = small");
  const char *shape = p.s && v.kind == VAL_LIST ? shape_argument(p.s) : NULL;
  const bool tensor =
      p.t->kind == ARG_TENSOR || p.t->kind == ARG_FLOATS || p.t->kind == ARG_INDICES;
  if (shape)
    elab_hint(e, "name it: %s(%s = %s)", p.s->f->name, shape, source_slice(e, p.loc));
  else if (tensor)
    hint_list(e, v);
  hint_define(e, v);
  return traced(e, p);
}

static const char *what(Elab *e, Subject p) {
  return p.s ? intern_printf(e->c, "'%s' of %s", p.name, p.s->f->name) : p.name;
}

static bool is_int(Val v, int64_t min) { return v.kind == VAL_INT && v.i >= min; }

static bool match_int(Elab *e, Subject p, Val *v, int64_t min) {
  int64_t n;
  if (is_int(*v, min)) return true;
  if (!val_to_int(e, *v, min, what(e, p), p.loc, &n)) return false;
  *v = val_int(n, v->loc);
  return true;
}

/* The dims of a new tensor may be extents. failed: one is a number of the run that is no dim, and
   an error was reported. */
static bool match_dims(Elab *e, Subject p, const Val *v, bool *failed) {
  *failed = false;
  if (v->kind != VAL_LIST) return false;
  bool any = false;
  for (int i = 0; i < v->list->n; i++) {
    Val x = v->list->at[i];
    if (x.kind == VAL_EXTENT && !x.extent.axis)
      *failed = !val_is_known(e, x, what(e, p),
                              "a dim is an extent, or a product of extents and integers below 2^31",
                              p.loc);
    if (*failed) return false;
    any |= x.kind == VAL_EXTENT;
    if (x.kind != VAL_EXTENT && !is_int(x, -1)) return false;
  }
  return any;
}

static bool match_ints(Elab *e, Subject p, Val *v, int64_t min) {
  bool dims = p.t->kind == ARG_SHAPE || strcmp(p.name, "shape") == 0;
  bool failed = false;
  if (dims && match_dims(e, p, v, &failed)) return true;
  if (failed) return false;
  bool all = v->kind == VAL_LIST;
  for (int i = 0; all && i < v->list->n; i++) all = is_int(v->list->at[i], min);
  if (all) return true;
  if (is_int(*v, min)) return *v = val_ints(e, (int64_t[]){v->i}, 1, v->loc), true;
  const Ints *l = val_to_ints(e, *v, min, what(e, p), p.loc);
  if (l) *v = val_ints(e, l->at, l->n, v->loc);
  return l != NULL;
}

static bool match_tensors(Elab *e, Subject p, const Val *v) {
  if ((v->kind != VAL_LIST && v->kind != VAL_TUPLE) || v->list->n == 0) return wrong(e, p, *v);
  for (int k = 0; k < v->list->n; k++) {
    Val one = v->list->at[k];
    if (one.kind == VAL_TENSOR) continue;
    elab_error(e, p.loc, "%s needs a list of tensors, its element %d is %s",
               p.s ? p.s->f->name : p.name, k, val_str(e, one));
    if (val_is_number(one))
      elab_hint(e,
                "a number becomes a tensor by full([], %g), a list of numbers by f32([0.5, 1.5])",
                val_number(one));
    return traced(e, p);
  }
  return true;
}

/* bn(x, 16): layers of other libraries are given their channels there. */
static bool is_second_by_place(const CallSite *s, const char *name) {
  const Decl *d = s->f->decl;
  return s->n > 1 && !s->arg[1].name.name && d->function.n > 1 && d->function.params[1].init &&
         strcmp(d->function.params[1].name.name, name) == 0;
}

static bool match_fraction(Elab *e, Subject p, Val v) {
  if (!val_is_number(v)) return wrong(e, p, v);
  double x = val_number(v);
  if (x >= 0 && x <= 1) return true;
  elab_error(e, p.loc, "%s must be from 0 to 1, found %s", what(e, p), val_str(e, v));
  if (v.kind == VAL_INT && p.s && is_second_by_place(p.s, p.name))
    elab_hint(e, "channels are inferred from the input: %s(x)", p.s->f->name);
  return traced(e, p);
}

bool kind_match(Elab *e, const TypeExpr *t, Val *v, const char *name, const CallSite *s, Loc loc) {
  Subject p = {t, name, s, loc};
  bool fits = false;
  if (v->kind == VAL_ERROR) return false;
  switch (t->kind) {
  case ARG_TENSOR:
    fits =
        v->kind == VAL_TENSOR || val_is_number(*v) || v->kind == VAL_BOOL || v->kind == VAL_EXTENT;
    break;
  case ARG_LEAVES:
    fits = v->kind == VAL_TENSOR || val_is_number(*v) || v->kind == VAL_BOOL ||
           v->kind == VAL_EXTENT || v->kind == VAL_TREE || v->kind == VAL_LIST;
    break;
  case ARG_FLOATS:
    if (val_is_number(*v) || v->kind == VAL_EXTENT)
      *v = val_to_const(e, *v, type_scalar(e->c, DT_F32), loc);
    fits = v->kind == VAL_TENSOR && dtype_is_float(v->tensor.type->dtype);
    break;
  case ARG_INDICES:
    if (v->kind == VAL_INT || v->kind == VAL_EXTENT)
      *v = val_to_tensor(e, *v, s ? s->f->name : name, loc);
    fits = v->kind == VAL_TENSOR && dtype_is_int(v->tensor.type->dtype);
    break;
  case ARG_TENSORS: return match_tensors(e, p, v);
  case ARG_INT: return match_int(e, p, v, INT64_MIN);
  case ARG_COUNT: return match_int(e, p, v, 1);
  case ARG_EXTENT: return (v->kind == VAL_EXTENT && v->extent.axis) || match_int(e, p, v, 1);
  case ARG_INTS: return match_ints(e, p, v, INT64_MIN);
  case ARG_SHAPE: return match_ints(e, p, v, 1);
  case ARG_NUMBER: fits = val_is_number(*v); break;
  case ARG_LIMIT: fits = val_is_number(*v) || (v->kind == VAL_EXTENT && v->extent.axis); break;
  case ARG_FRACTION: return match_fraction(e, p, *v);
  case ARG_FLAG: fits = v->kind == VAL_BOOL; break;
  case ARG_DTYPE: fits = v->kind == VAL_DTYPE; break;
  case ARG_STRING: fits = v->kind == VAL_STR; break;
  case ARG_FUNCTION: fits = v->kind == VAL_FUNC; break;
  case ARG_TYPED:
  case ARG_KINDS: gc_bug(e->c, "a kind of argument that is none");
  }
  if (v->kind == VAL_ERROR) return false;
  return fits || wrong(e, p, *v);
}
