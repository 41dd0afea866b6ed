/* Values of the elaboration: creation, text for messages, comparison, conversion.
   Contract: a conversion that fails was reported, and returns error_value, false or NULL. */
#include "ir/support/memfile.h"
#include "lang/elab/elab_impl.h"

#include <math.h>
#include <stdlib.h>

static ValList *list_new(Elab *e, int n, int capacity) {
  ValList *l = ARENA_NEW(e->a, ValList);
  *l = (ValList){.n = n, .capacity = capacity, .at = ARENA_ARRAY(e->a, Val, capacity + 1)};
  l->used = ARENA_NEW(e->a, int);
  *l->used = n;
  return l;
}

Val val_list(Elab *e, ValKind kind, const Val *items, int n, Loc loc) {
  ValList *l = list_new(e, n, n);
  if (n) memcpy(l->at, items, sizeof(Val) * (size_t)n);
  return (Val){.kind = kind, .loc = loc, .list = l};
}

Val val_with_items(Elab *e, Val v, const Val *items) {
  Val other = val_list(e, v.kind, items, v.list->n, v.loc);
  ((ValList *)other.list)->keys = v.list->keys; /* made here */
  return other;
}

/* A list is immutable, but a longer list may use the room after its end. So a list that a loop
   appends to takes memory linear in its length. */
Val val_joined(Elab *e, const ValList *a, const ValList *b, Loc loc) {
  int n = a->n + b->n;
  bool behind = *a->used == a->n && n <= a->capacity;
  ValList *l = behind ? ARENA_NEW(e->a, ValList) : list_new(e, n, 2 * n);
  if (behind)
    *l = *a;
  else if (a->n)
    memcpy(l->at, a->at, sizeof(Val) * (size_t)a->n);
  if (b->n) memmove(l->at + a->n, b->at, sizeof(Val) * (size_t)b->n);
  *l->used = l->n = n;
  return (Val){.kind = VAL_LIST, .loc = loc, .list = l};
}

Val val_ints(Elab *e, const int64_t *items, int n, Loc loc) {
  ValList *l = list_new(e, n, n);
  for (int i = 0; i < n; i++) l->at[i] = val_int(items[i], loc);
  return (Val){.kind = VAL_LIST, .loc = loc, .list = l};
}

Val val_tensor(Elab *e, ValueId id) {
  Val v = {.kind = VAL_TENSOR, .loc = e->run->b->loc};
  v.tensor.id = id;
  v.tensor.type = value_type(e->run->entry, id);
  v.tensor.run = e->run;
  return v;
}

static const char *number_text(Elab *e, double f) {
  for (int digits = 6;; digits++) {
    const char *s = intern_printf(e->c, "%.*g", digits, f);
    if (digits == 17 || strtod(s, NULL) == f || f != f) return s;
  }
}

const char *val_str(Elab *e, Val v) {
  switch (v.kind) {
  case VAL_ERROR: return "an unknown value";
  case VAL_NONE: return "none";
  case VAL_VOID: return "nothing";
  case VAL_INT: return intern_printf(e->c, "the number %lld", (long long)v.i);
  case VAL_NUM: return intern_printf(e->c, "the number %s", number_text(e, v.f));
  case VAL_BOOL: return v.b ? "true" : "false";
  case VAL_EXTENT: return extent_str(e, v);
  case VAL_STR: return "a string";
  case VAL_DTYPE: return intern_printf(e->c, "the dtype %s", dtype_name(v.dtype));
  case VAL_LIST: return intern_printf(e->c, "a list of %d", v.list->n);
  case VAL_TUPLE: return intern_printf(e->c, "%d values", v.list->n);
  case VAL_TREE:
    return intern_printf(e->c, "a tree of %d value%s", v.list->n, v.list->n == 1 ? "" : "s");
  case VAL_FUNC: return intern_printf(e->c, "the function %s", v.func->name);
  case VAL_TENSOR: return type_text(e->c, v.tensor.type);
  }
  return "";
}

const char *val_canon(Elab *e, Val v) {
  switch (v.kind) {
  case VAL_ERROR: return "?";
  case VAL_NONE: return "none";
  case VAL_VOID: return "nothing";
  case VAL_INT: return intern_printf(e->c, "%lld", (long long)v.i);
  case VAL_NUM: return number_text(e, v.f);
  case VAL_BOOL: return v.b ? "true" : "false";
  case VAL_EXTENT:
    return v.extent.axis ? axis_str(e->c, v.extent.axis) : intern_printf(e->c, "%%%u", v.extent.id);
  case VAL_STR: return intern_printf(e->c, "\"%s\"", v.str);
  case VAL_DTYPE: return dtype_name(v.dtype);
  case VAL_FUNC:
    return intern_printf(e->c, "%s%s", v.func->prelude ? "prelude " : "", v.func->name);
  case VAL_TENSOR: return v.tensor.path ? v.tensor.path : type_text(e->c, v.tensor.type);
  case VAL_LIST:
  case VAL_TUPLE:
  case VAL_TREE: break;
  }
  MemFile m;
  FILE *f = memfile_open(&m);
  fputc('[', f);
  for (int i = 0; i < v.list->n; i++)
    fprintf(f, "%s%s%s%s", i ? ", " : "", v.list->keys ? v.list->keys->path[i] : "",
            v.list->keys ? ": " : "", val_canon(e, v.list->at[i]));
  fputc(']', f);
  return memfile_intern(e->c, &m);
}

bool val_equal(Elab *e, Val a, Val b) {
  if (val_is_number(a) && val_is_number(b))
    return a.kind == VAL_INT && b.kind == VAL_INT ? a.i == b.i : val_number(a) == val_number(b);
  if (a.kind != b.kind) return false;
  if (a.kind != VAL_LIST) return val_canon(e, a) == val_canon(e, b);
  if (a.list->n != b.list->n) return false;
  for (int i = 0; i < a.list->n; i++)
    if (!val_equal(e, a.list->at[i], b.list->at[i])) return false;
  return true;
}

bool val_int_fits(int64_t i, Dtype dt) {
  return dt == DT_U8    ? i >= 0 && i <= UINT8_MAX
         : dt == DT_I8  ? i >= INT8_MIN && i <= INT8_MAX
         : dt == DT_I32 ? i >= INT32_MIN && i <= INT32_MAX
                        : true;
}

bool val_to_element(Elab *e, Val v, const Type *t, Loc loc, Attr *out) {
  if (v.kind == VAL_BOOL && t->dtype == DT_BOOL) return out->i = v.b, true;
  if (v.kind == VAL_BOOL) {
    elab_error(e, loc, "%s cannot stand for a number of %s", val_str(e, v), type_text(e->c, t));
    return elab_trace(e), false;
  }
  if (!val_is_number(v))
    return elab_fail(e, loc, "expected a number, found %s", val_str(e, v)), false;
  if (t->dtype == DT_BOOL) {
    elab_error(e, loc, "%s cannot stand for a bool of %s", val_str(e, v), type_text(e->c, t));
    elab_hint(e, "write true or false, or convert the bools with f32(x) or i32(x)");
    return elab_trace(e), false;
  }
  if (dtype_is_float(t->dtype)) return out->f = val_number(v), true;
  if (v.kind == VAL_NUM) {
    elab_error(e, loc, "%s is %s, but %s holds integers", val_str(e, v),
               v.f == floor(v.f) ? "a float" : "not an integer", type_text(e->c, t));
    elab_hint(e, "convert the integers with f32(x)");
    return elab_trace(e), false;
  }
  if (!val_int_fits(v.i, t->dtype))
    return elab_fail(e, loc, "%s does not fit %s", val_str(e, v), dtype_name(t->dtype)), false;
  return out->i = v.i, true;
}

Val val_to_const(Elab *e, Val v, const Type *t, Loc loc) {
  if (v.kind == VAL_EXTENT) return extent_tensor(e, v, t, loc);
  Builder *b = elab_at(e, loc);
  Attr element = {0};
  if (!val_to_element(e, v, t, loc, &element)) return error_value;
  return val_tensor(e, dtype_is_float(t->dtype) ? build_const(b, t, element.f)
                                                : build_const_int(b, t, element.i));
}

Val val_to_tensor(Elab *e, Val v, const char *what, Loc loc) {
  if (v.kind == VAL_TENSOR || v.kind == VAL_ERROR) return v;
  if (v.kind == VAL_INT && val_int_fits(v.i, DT_I32))
    return val_to_const(e, v, type_scalar(e->c, DT_I32), loc);
  if (v.kind == VAL_INT) return val_to_const(e, v, type_scalar(e->c, DT_I64), loc);
  if (v.kind == VAL_NUM) return val_to_const(e, v, type_scalar(e->c, DT_F32), loc);
  if (v.kind == VAL_EXTENT)
    return extent_tensor(e, v, type_scalar(e->c, v.extent.real ? DT_F32 : DT_I32), loc);
  if (v.kind == VAL_BOOL) return val_to_const(e, v, type_scalar(e->c, DT_BOOL), loc);
  return elab_fail(e, loc, "%s needs a tensor, found %s", what, val_str(e, v));
}

Val val_convert(Elab *e, Val v, Dtype dt) {
  if (v.kind != VAL_TENSOR || v.tensor.type->dtype == dt) return v;
  return val_tensor(e, build_convert(e->run->b, v.tensor.id, dt));
}

/* The hyper that v is computed from, with constants and nothing else; or NULL. */
static const Global *hyper_of(const Elab *e, Val v) {
  if (v.kind != VAL_TENSOR || v.tensor.run != e->run) return NULL;
  const Op *op = value_def(e->run->entry, v.tensor.id);
  while (op && op->kind != OP_LOAD) {
    const Op *varies = NULL;
    int n = 0;
    for (int k = 0; k < op->noperands; k++) {
      const Op *of = value_def(e->run->entry, op->operands[k]);
      if (of && of->kind == OP_CONST) continue;
      varies = of;
      n++;
    }
    op = n == 1 ? varies : NULL;
  }
  const Global *g = op ? &e->m->globals.at[op->attr[AT_GLOBAL].i] : NULL;
  return g && g->kind == GLOBAL_HYPER ? g : NULL;
}

void val_hint_known(Elab *e, Val v, const char *hint) {
  const Global *g = hyper_of(e, v);
  if (g) {
    elab_note(e, g->loc, "hyper %s is given when the program runs", g->path);
    elab_hint(e, "%sa compile-time constant is a let: let %s = …, and gc -D %s=… overrides it",
              g->type->dtype == DT_BOOL ? "where(CONDITION, a, b) chooses between tensors; " : "",
              g->path, g->path);
  } else if (hint) {
    elab_hint(e, "%s", hint);
  }
}

bool val_is_known(Elab *e, Val v, const char *what, const char *hint, Loc loc) {
  if (v.kind == VAL_EXTENT) {
    elab_error(e, loc, "%s must be known at compile time, found %s", what, val_str(e, v));
    if (hint) elab_hint(e, "%s", hint);
    return elab_trace(e), false;
  }
  if (v.kind != VAL_TENSOR) return true;
  elab_error(e, loc, "%s must be known at compile time, found a run-time value %s", what,
             val_str(e, v));
  val_hint_known(e, v, hint);
  return elab_trace(e), false;
}

bool val_to_int(Elab *e, Val v, int64_t min, const char *what, Loc loc, int64_t *out) {
  if (v.kind == VAL_ERROR) return false;
  if (v.kind == VAL_NUM && v.f == floor(v.f) && fabs(v.f) < 0x1p53)
    v = val_int((int64_t)v.f, v.loc); /* 16 * 2.0 is an integer to its writer */
  if (!val_is_known(e, v, what, NULL, loc)) return false;
  if (v.kind != VAL_INT) {
    elab_error(e, loc, "%s must be an integer, found %s", what, val_str(e, v));
    if (v.kind == VAL_NUM && strchr(source_slice(e, loc), '/'))
      elab_hint(e, "'//' divides and rounds down");
    if (v.kind == VAL_NONE)
      elab_hint(e, "a dim that is known at run time has a name and a bound: n <= 64");
    if (v.kind == VAL_LIST && strcmp(what, "an index") == 0)
      elab_hint(e,
                "several rows: stack([x[0], x[2]]); by integer ids that are data: gather(x, ids)");
    hint_define(e, v);
    return elab_trace(e), false;
  }
  if (v.i < min)
    return elab_fail(e, loc, "%s must be at least %lld, found %lld", what, (long long)min,
                     (long long)v.i),
           false;
  *out = v.i;
  return true;
}

const Ints *val_to_dims(Elab *e, Val v, const char *what, Loc loc) {
  if (v.kind == VAL_ERROR) return NULL;
  if (v.kind != VAL_LIST && v.kind != VAL_TUPLE) v = val_list(e, VAL_LIST, &v, 1, v.loc);
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, v.list->n + 1);
  for (int i = 0; i < v.list->n; i++) {
    const Val *x = &v.list->at[i];
    if (x->kind == VAL_EXTENT && x->extent.axis)
      dim[i] = x->extent.axis;
    else if (!val_to_int(e, *x, 1, what, loc, &dim[i]))
      return NULL;
  }
  return intern_ints(e->c, dim, v.list->n);
}

const Ints *val_to_ints(Elab *e, Val v, int64_t min, const char *what, Loc loc) {
  if (v.kind == VAL_ERROR) return NULL;
  if (v.kind != VAL_LIST && v.kind != VAL_TUPLE) v = val_list(e, VAL_LIST, &v, 1, v.loc);
  int64_t *dim = ARENA_ARRAY(e->a, int64_t, v.list->n + 1);
  for (int i = 0; i < v.list->n; i++)
    if (!val_to_int(e, v.list->at[i], min, what, loc, &dim[i])) return NULL;
  return intern_ints(e->c, dim, v.list->n);
}
