/* Tensor arithmetic: operands are brought to one dtype and shape, then one op is built.
   Contract: broadcasts are ops of the IR. Integers of different widths become the wider one; floats
   of different dtypes, or an integer and a float, are an error. A literal, and a number computed
   from hypers, takes the dtype of the other operand.
 */
#include "lang/elab/elab_impl.h"

static const char *const side_name[2][4] = {{"left", "right", "", ""},
                                            {"the first", "the second", "the third", "the fourth"}};

static const char *side(int i, bool infix) { return i < 4 ? side_name[!infix][i] : "an operand"; }

/* The operation as messages name it: where(c, a, b), or an infix operator. */
typedef struct Subject {
  const char *name;
  bool infix;
} Subject;

static const char *subject_text(Elab *e, Subject s) {
  return s.infix ? intern_printf(e->c, "'%s'", s.name) : s.name;
}

/* Floats mix in an optimizer alone: its states may be wider than the param. */
bool common_dtype(const Elab *e, Dtype a, Dtype b, Dtype *out) {
  if (a == b) return *out = a, true;
  if (dtype_is_int(a) && dtype_is_int(b)) {
    bool bytes = dtype_is_byte(a) && dtype_is_byte(b); /* u8 and i8 */
    return *out = bytes ? DT_I32 : a > b ? a : b, true;
  }
  if (!dtype_is_float(a) || !dtype_is_float(b) || (!e->optimizer_path && !is_lenient(e)))
    return false;
  if (dtype_size(a) == dtype_size(b)) return false; /* f16 and bf16 */
  return *out = dtype_size(a) > dtype_size(b) ? a : b, true;
}

/* A number that is computed from hypers, constants and the step counter alone: like a literal it
   takes the other operand's dtype. `left` bounds the ops that are looked at. */
static bool is_free(const Elab *e, ValueId v, int *left) {
  const Op *op = value_def(e->run->entry, v);
  if (!op || value_type(e->run->entry, v)->rank != 0 || --*left < 0) return false;
  if (op->kind == OP_CONST) return true;
  if (op->kind == OP_LOAD) {
    const Global *g = &e->m->globals.at[op->attr[AT_GLOBAL].i];
    return g->kind == GLOBAL_HYPER || strcmp(g->path, "step") == 0;
  }
  bool all = op_info[op->kind].cls == CLASS_ELEMENT;
  for (int i = 0; all && i < op->noperands; i++) all = is_free(e, op->operands[i], left);
  return all;
}

static bool is_free_float(const Elab *e, Val v) {
  int left = 100; /* a schedule has about thirty */
  return dtype_is_float(v.tensor.type->dtype) && is_free(e, v.tensor.id, &left);
}

static Val mixed(Elab *e, Val l, Val r, Subject what, Loc loc) {
  elab_error(e, loc, "%s mixes %s and %s", subject_text(e, what), type_text(e->c, l.tensor.type),
             type_text(e->c, r.tensor.type));
  elab_note_tensor(e, "one", l);
  elab_note_tensor(e, "the other", r);
  hint_mixed(e, l, r);
  return elab_trace(e);
}

/* Of a value that is a hyper; NULL: it is none. */
static const char *hyper_name(const Elab *e, Val v) {
  const Op *op = value_def(e->run->entry, v.tensor.id);
  if (!op || op->kind != OP_LOAD) return NULL;
  const Global *g = &e->m->globals.at[op->attr[AT_GLOBAL].i];
  return g->kind == GLOBAL_HYPER ? g->path : NULL;
}

void hint_mixed(Elab *e, Val l, Val r) {
  Dtype a = l.tensor.type->dtype, b = r.tensor.type->dtype;
  bool floats = dtype_is_float(a) && dtype_is_float(b), narrow = dtype_size(a) < dtype_size(b);
  const Val *odd = (floats ? !narrow : dtype_is_float(a)) ? &r : &l;
  const char *name = value_at(e->run->entry, odd->tensor.id)->name;
  const char *param = l.tensor.path ? l.tensor.path : r.tensor.path;
  if (floats && dtype_size(a) == dtype_size(b))
    elab_hint(e, "convert one of them with f32(x)");
  else if (floats && param && e->frame->user.line)
    elab_hint(e, "convert: %s(%s), or with %s(params()) { … } for weights in %s",
              dtype_name(narrow ? b : a), name ? name : "x", dtype_name(narrow ? a : b),
              dtype_name(narrow ? a : b));
  else if (floats)
    elab_hint(e, "convert: %s(%s)", dtype_name(narrow ? b : a), name ? name : "x");
  else if (hyper_name(e, *odd))
    elab_hint(e, "convert the hyper, %s(%s), or declare it as a float: hyper %s = …",
              dtype_name(dtype_is_float(a) ? a : b), hyper_name(e, *odd), hyper_name(e, *odd));
  else if (dtype_is_float(a) || dtype_is_float(b))
    elab_hint(e, "convert the %s: %s(%s)",
              odd->tensor.type->dtype == DT_BOOL ? "bools" : "integers",
              dtype_name(dtype_is_float(a) ? a : b), name ? name : "x");
  else
    elab_hint(e, "convert the bools: %s(x)", dtype_name(a == DT_BOOL ? b : a));
}

/* How two axes, one of them bounded, become equal; "": no slice does it. */
static const char *remedy_of_axes(Elab *e, int64_t x, int64_t y) {
  for (int k = 0; k < 2; k++) {
    const Extent *n = axis_extent(e->c, x);
    int64_t of, more;
    if (n && axis_is_more(e->c, x, &of, &more) && of == y && more > 0)
      return intern_printf(e->c, "; [%lld:] leaves out what %s has more", (long long)more,
                           axis_str(e->c, x));
    if (n && !axis_is_bounded(y) && x == axis_of_extent(n, 1) && y >= n->bound)
      return intern_printf(e->c, "; [:%s] takes so many of the %lld", axis_str(e->c, x),
                           (long long)y);
    const int64_t other = x;
    x = y, y = other;
  }
  return "";
}

/* A mean of rows lacks the axis that it was taken along; what no op has made is indexed. */
static const char *remedy_of_ranks(Elab *e, Val l, Val r, const Type *a, const Type *b) {
  const bool left = a->rank > b->rank;
  const Type *more = left ? a : b, *less = left ? b : a;
  const Val lacks = left ? r : l;
  if (more->rank != less->rank + 1 || lacks.kind != VAL_TENSOR) return "";
  int k = 0;
  while (k < less->rank && type_axis(more, k) == type_axis(less, k)) k++;
  while (k < less->rank && type_axis(more, k + 1) == type_axis(less, k)) k++;
  if (k < less->rank) return "";
  const char *axes = "", *name = value_at(e->run->entry, lacks.tensor.id)->name;
  for (int i = 0; i < less->rank; i++) {
    if (type_axis(more, i) != type_axis(less, i)) break;
    axes = intern_printf(e->c, "%s:, ", axes);
  }
  const Op *made = value_def(e->run->entry, lacks.tensor.id);
  if ((made && made->kind != OP_LOAD) || e->run->scan)
    return intern_printf(
        e->c, "; a reduction with keep = true leaves its axis, of 1, and [%snone] adds one", axes);
  return intern_printf(e->c, "; %s[%snone] has an axis of 1 there", name ? name : "x", axes);
}

static bool shapes_differ(Elab *e, Val l, Val r, const Type *a, const Type *b, int i, int j,
                          Subject what, Loc loc) {
  int ra = a->rank, rb = b->rank;
  elab_error(e, loc, "%s cannot broadcast %s and %s", subject_text(e, what), type_text(e->c, a),
             type_text(e->c, b));
  for (int k = 1; k <= ra && k <= rb; k++) {
    int64_t x = type_axis(a, ra - k), y = type_axis(b, rb - k);
    if (x == y || x == 1 || y == 1) continue;
    elab_note_tensor(e, side(i, what.infix), l);
    elab_note_tensor(e, side(j, what.infix), r);
    const char *remedy = remedy_of_axes(e, x, y);
    elab_hint(e, "axes are aligned at the right: axis %d is %s against %s%s", -k, axis_str(e->c, x),
              axis_str(e->c, y), *remedy ? remedy : remedy_of_ranks(e, l, r, a, b));
    break;
  }
  elab_trace(e);
  return false;
}

/* The function of the prelude itself has given the value another shape. */
static bool is_reshaped_here(const Elab *e, Val v) {
  const Op *op = value_def(e->run->entry, v.tensor.id);
  Loc user = e->frame->user;
  return op && op->kind == OP_RESHAPE && op->loc.line == user.line && op->loc.col == user.col &&
         op->loc.file == user.file;
}

/* Warns of an outer product in the prelude that its code does not ask for: mse(f32[8,1], f32[8])
   would train on all pairs. */
static void check_outer(Elab *e, const Val *v, int n, const Type *shape, Loc loc) {
  if (!e->frame->env->prelude) return;
  const Val *of[2] = {NULL, NULL};
  for (int i = 0; i < n; i++) {
    if (v[i].kind != VAL_TENSOR) continue;
    if (v[i].tensor.type->numel == shape->numel || is_reshaped_here(e, v[i])) return;
    of[of[0] != NULL] = &v[i];
  }
  if (!of[1]) return;
  const Type *a = of[0]->tensor.type, *b = of[1]->tensor.type;
  if (!dtype_is_float(a->dtype) && !dtype_is_float(b->dtype)) return; /* indices are meant to */
  elab_warning(e, loc, "%s of %s and %s broadcasts them to %s, more elements than either has",
               e->frame->env->func->name, type_text(e->c, a), type_text(e->c, b),
               type_text(e->c, type_with_dtype(e->c, shape, a->dtype)));
  elab_note_tensor(e, "the first", *of[0]);
  elab_note_tensor(e, "the second", *of[1]);
  elab_hint(e, "give both one shape, as in reshape(y, shape(target))");
  elab_trace(e);
}

/* Gives v[first_value..n) one dtype and all of v one shape; false after an error that names `what`.
 */
static bool unify(Elab *e, Val *v, int n, int first_value, Subject what, Loc loc) {
  int model = -1; /* the first tensor among those of one dtype */
  Dtype dt = DT_F32;
  bool literal_float = false, literal_bool = false;
  for (int i = 0; i < n; i++) {
    if (v[i].kind == VAL_ERROR) return false;
    if (v[i].kind != VAL_TENSOR && !val_is_number(v[i]) && v[i].kind != VAL_BOOL &&
        v[i].kind != VAL_EXTENT) {
      elab_error(e, loc, "%s is not defined for %s", subject_text(e, what), val_str(e, v[i]));
      hint_list(e, v[i]);
      elab_trace(e);
      return false;
    }
    if (i < first_value) continue;
    literal_float |= v[i].kind == VAL_NUM || (v[i].kind == VAL_EXTENT && v[i].extent.real);
    literal_bool |= v[i].kind == VAL_BOOL;
    if (v[i].kind != VAL_TENSOR) continue;
    Dtype d = v[i].tensor.type->dtype;
    bool floats = model >= 0 && dtype_is_float(dt) && dtype_is_float(d);
    if (model < 0) {
      dt = d;
      model = i;
    } else if (!common_dtype(e, dt, d, &dt)) {
      if (floats && is_free_float(e, v[i])) continue;
      if (!floats || !is_free_float(e, v[model])) return mixed(e, v[model], v[i], what, loc), false;
      dt = d;
      model = i;
    }
  }
  if (model < 0) dt = literal_bool ? DT_BOOL : literal_float ? DT_F32 : DT_I32;
  elab_at(e, loc);
  const Type *shape = NULL;
  int first = -1;
  for (int i = 0; i < n; i++) {
    if (v[i].kind != VAL_TENSOR) continue;
    const Type *t = v[i].tensor.type, *both = shape ? type_broadcast(e->c, shape, t) : t;
    if (!both) return shapes_differ(e, v[first], v[i], shape, t, first, i, what, loc);
    shape = both;
    if (first < 0) first = i;
  }
  if (!shape) shape = type_scalar(e->c, dt);
  check_outer(e, v, n, shape, loc);
  for (int i = 0; i < n; i++) {
    const Type *want = i < first_value && v[i].kind == VAL_TENSOR
                           ? type_with_dtype(e->c, shape, v[i].tensor.type->dtype)
                       : i < first_value ? type_with_dtype(e->c, shape, DT_BOOL)
                                         : type_with_dtype(e->c, shape, dt);
    if (v[i].kind != VAL_TENSOR) v[i] = val_to_const(e, v[i], want, loc);
    if (v[i].kind == VAL_ERROR) return false;
    Loc made = v[i].loc;
    elab_at(e, loc);
    v[i] = val_convert(e, v[i], want->dtype);
    if (v[i].tensor.type != want)
      v[i] = val_tensor(e, build_broadcast(e->run->b, v[i].tensor.id, want));
    v[i].loc = made;
  }
  return true;
}

const char *without_op(OpKind k, const char *why) {
  size_t n = strlen(op_info[k].name);
  return strncmp(why, op_info[k].name, n) == 0 && why[n] == ' ' ? why + n + 1 : why;
}

void hint_of_one_dtype(Elab *e, OpKind k, const Val *v, int n, const Attr *attr,
                       const Type *given) {
  char why[WHY_BYTES];
  const Type **types = ARENA_ARRAY(e->a, const Type *, n + 1);
  const Val *widest = &v[0], *other = NULL;
  for (int i = 1; i < n; i++) {
    const Dtype dt = v[i].tensor.type->dtype, most = widest->tensor.type->dtype;
    if (dtype_is_float(dt) && (!dtype_is_float(most) || dtype_size(dt) > dtype_size(most)))
      widest = &v[i];
  }
  const Dtype dt = widest->tensor.type->dtype;
  for (int i = 0; i < n; i++) {
    if (!other && v[i].tensor.type->dtype != dt) other = &v[i];
    types[i] = type_with_dtype(e->c, v[i].tensor.type, dt);
  }
  if (other && op_shape(e->c, k, types, n, attr, given, why)) hint_mixed(e, *widest, *other);
}

/* Within the function of the prelude that the user calls here: of that only the call is shown. */
static bool is_made_here(const Elab *e, Val v) {
  Loc user = e->frame->user;
  return user.line && v.loc.line == user.line && v.loc.col == user.col && v.loc.file == user.file;
}

static Val build_named(Elab *e, OpKind k, const Val *v, int n, const Attr *attr, const Type *given,
                       Subject what, Loc loc) {
  char why[WHY_BYTES];
  const Type **types = ARENA_ARRAY(e->a, const Type *, n + 1);
  ValueId *ids = ARENA_ARRAY(e->a, ValueId, n + 1);
  for (int i = 0; i < n; i++) {
    if (v[i].kind == VAL_ERROR) return error_value;
    types[i] = v[i].tensor.type;
    ids[i] = v[i].tensor.id;
  }
  if (!op_shape(e->c, k, types, n, attr, given, why)) {
    elab_error(e, loc, "%s %s", subject_text(e, what), without_op(k, why));
    for (int i = 0; i < n && i < 4; i++)
      if (!is_made_here(e, v[i])) elab_note_tensor(e, n == 1 ? "it" : side(i, false), v[i]);
    hint_of_one_dtype(e, k, v, n, attr, given);
    return elab_trace(e);
  }
  return val_tensor(e, build(elab_at(e, loc), k, ids, n, attr, given));
}

Val build_checked(Elab *e, OpKind k, const Val *v, int n, const Attr *attr, const Type *given,
                  const char *what, Loc loc) {
  return build_named(e, k, v, n, attr, given, (Subject){what, false}, loc);
}

Val tensor_elementwise(Elab *e, OpKind k, Val *v, int n, const char *what, Loc loc) {
  if (!unify(e, v, n, k == OP_WHERE ? 1 : 0, (Subject){what, false}, loc)) return error_value;
  return build_checked(e, k, v, n, NULL, NULL, what, loc);
}

static Val infix(Elab *e, OpKind k, Val l, Val r, const char *spelling, Loc loc) {
  Val v[2] = {l, r};
  Subject what = {spelling, true};
  if (!unify(e, v, 2, 0, what, loc)) return error_value;
  return build_named(e, k, v, 2, NULL, NULL, what, loc);
}

static const OpKind binary_kind[BIN_COUNT] = {
    [BIN_ADD] = OP_ADD, [BIN_SUB] = OP_SUB, [BIN_MUL] = OP_MUL, [BIN_DIV] = OP_DIV,
    [BIN_MOD] = OP_MOD, [BIN_EQ] = OP_EQ,   [BIN_NE] = OP_NE,   [BIN_LT] = OP_LT,
    [BIN_LE] = OP_LE,   [BIN_GT] = OP_GT,   [BIN_GE] = OP_GE,   [BIN_AND] = OP_AND,
    [BIN_OR] = OP_OR,
};

static bool is_float_tensor(Val v) {
  return v.kind == VAL_TENSOR && dtype_is_float(v.tensor.type->dtype);
}

static Val int_division(Elab *e, Val l, Val r, Loc loc) {
  Val odd = l.kind == VAL_TENSOR ? l : r;
  const char *name = value_at(e->run->entry, odd.tensor.id)->name;
  elab_error(e, loc, "'/' needs floats, but %s is %s",
             l.kind == VAL_TENSOR ? "its left" : "its right", val_str(e, odd));
  elab_note_tensor(e, l.kind == VAL_TENSOR ? "left" : "right", odd);
  elab_hint(e, "convert: f32(%s)", name ? name : "x");
  return elab_trace(e);
}

/* a // b: of floats the floor of the quotient. */
static Val quotient(Elab *e, Val l, Val r, Loc loc) {
  bool floats = is_float_tensor(l) || is_float_tensor(r);
  Val q = infix(e, floats ? OP_DIV : OP_QUOTIENT, l, r, "//", loc);
  return floats && q.kind != VAL_ERROR ? build_checked(e, OP_FLOOR, &q, 1, NULL, NULL, "//", loc)
                                       : q;
}

Val tensor_binary(Elab *e, BinaryOp op, Val l, Val r, Loc loc) {
  if (l.kind == VAL_ERROR || r.kind == VAL_ERROR) return error_value;
  bool same_kind = l.kind != VAL_TENSOR || r.kind != VAL_TENSOR ||
                   dtype_is_float(l.tensor.type->dtype) == dtype_is_float(r.tensor.type->dtype);
  if (op == BIN_QUOTIENT) return quotient(e, l, r, loc);
  if (op == BIN_DIV && !is_float_tensor(l) && !is_float_tensor(r) && same_kind)
    return int_division(e, l, r, loc);
  return infix(e, binary_kind[op], l, r, binary_spelling(op), loc);
}

/* A small integer power as products: they are defined for every dtype, with an exact gradient. */
static Val power_by_squaring(Elab *e, Val x, int64_t n, Loc loc) {
  Val r = error_value;
  bool any = false;
  for (Val p = x; n > 0; n >>= 1) {
    if (n & 1)
      r = any ? val_tensor(e, build2(elab_at(e, loc), OP_MUL, r.tensor.id, p.tensor.id)) : p;
    any |= n & 1;
    if (n > 1) p = val_tensor(e, build2(elab_at(e, loc), OP_MUL, p.tensor.id, p.tensor.id));
  }
  return r;
}

Val tensor_power(Elab *e, Val l, Val r, Loc loc) {
  enum { MAX_POWER = 64 };
  if (l.kind == VAL_ERROR || r.kind == VAL_ERROR) return error_value;
  if (l.kind == VAL_TENSOR && l.tensor.type->dtype != DT_BOOL) {
    if (r.kind == VAL_INT && r.i >= 1 && r.i <= MAX_POWER) return power_by_squaring(e, l, r.i, loc);
    if (r.kind == VAL_INT && r.i == 0) return val_to_const(e, val_int(1, loc), l.tensor.type, loc);
    if (is_float_tensor(l) && r.kind == VAL_INT && r.i < 0 && r.i >= -MAX_POWER)
      return tensor_binary(e, BIN_DIV, val_int(1, loc), power_by_squaring(e, l, -r.i, loc), loc);
    if (is_float_tensor(l) && r.kind == VAL_NUM && r.f == 0.5)
      return build_checked(e, OP_SQRT, &l, 1, NULL, NULL, "'**'", loc);
    if (is_float_tensor(l) && r.kind == VAL_NUM && r.f == -0.5)
      return build_checked(e, OP_RSQRT, &l, 1, NULL, NULL, "'**'", loc);
  }
  return infix(e, OP_POW, l, r, "**", loc);
}
