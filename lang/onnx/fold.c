/* Computes nodes whose inputs are known when gc compiles: arithmetic of shapes, of indices and of
   masks; fold_moves.c has what moves numbers. Contract: a bounded dimension stays one through
   moves, and through products and exact quotients by numbers; trained tensors are never folded;
   results have at most MOST_KNOWN elements. What is not here is translated, and computed by the
   program. */
#include "ir/support/checked.h"
#include "lang/onnx/graph.h"

#include <math.h>

static bool give_list(Node *n, int type, const Number *at, uint64_t count) {
  const Shape s = {.rank = 1, .at = {{.n = (int64_t)count}}};
  return give_known(n, 0, type, &s, at);
}

/* ---- what is known of any input ---- */

/* Of n - 2, as x[1:-1] has, a run of fewer has 0, which no sum says; false after refusing. */
static bool has_elements(Node *n, Axis d) {
  return dim_at_least(n->im, d, (Axis){.n = 0}) || dim_number(n, d, &d.n);
}

static bool fold_shape(Node *n) {
  Tensor *v = input(n, 0);
  Number *x = ARENA_ARRAY(n->im->a, Number, MOST_RANK + 1);
  int rank = v->shape.rank, from = (int)fmax(-rank, fmin(rank, (double)attr_int(n, "start", 0))),
      to = (int)fmax(-rank, fmin(rank, (double)attr_int(n, "end", rank)));
  if (from < 0) from += rank;
  if (to < 0) to += rank;
  uint64_t k = 0;
  const bool counted = axis_is_counted(&v->shape, from, to);
  for (int i = from; i < to; i++) {
    if (!has_elements(n, v->shape.at[i])) return false;
    x[k++] = number_of_axis(v->shape.at[i]);
  }
  if (counted) return give_sizes(n, &(Shape){.rank = 1, .at = {{.n = (int64_t)k}}}, x);
  return give_list(n, ELEM_I64, x, k);
}

static bool fold_size(Node *n) {
  Axis d;
  if (!dim_product(&input(n, 0)->shape, 0, input(n, 0)->shape.rank, &d) || !has_elements(n, d))
    return false;
  Number *x = ARENA_NEW(n->im->a, Number);
  *x = number_of_axis(d);
  return give_known(n, 0, ELEM_I64, &(Shape){0}, x);
}

/* ---- element by element ---- */

/* The index in an operand that is broadcast to s, of element k of s. */
static uint64_t broadcast_at(const Shape *s, const Shape *x, uint64_t k) {
  uint64_t at = 0, stride = 1;
  for (int i = s->rank - 1; i >= 0; i--) {
    uint64_t d = (uint64_t)s->at[i].n, place = k % d;
    int axis = i - (s->rank - x->rank);
    k /= d;
    if (axis < 0) continue;
    if (x->at[axis].n != 1) at += place * stride;
    stride *= (uint64_t)x->at[axis].n;
  }
  return at;
}

typedef enum Binary {
  ADD,
  SUB,
  MUL,
  DIV,
  MOD,
  FMOD,
  POW,
  MIN,
  MAX,
  EQUAL,
  LESS,
  LESS_EQUAL,
  GREATER,
  GREATER_EQUAL,
  AND,
  OR,
  XOR
} Binary;
static const struct {
  const char *name;
  Binary op;
  bool compares;
} binaries[] = {
    {"Add", ADD, false},
    {"Sub", SUB, false},
    {"Mul", MUL, false},
    {"Div", DIV, false},
    {"Mod", MOD, false},
    {"Pow", POW, false},
    {"Min", MIN, false},
    {"Max", MAX, false},
    {"Equal", EQUAL, true},
    {"Less", LESS, true},
    {"LessOrEqual", LESS_EQUAL, true},
    {"Greater", GREATER, true},
    {"GreaterOrEqual", GREATER_EQUAL, true},
    {"And", AND, true},
    {"Or", OR, true},
    {"Xor", XOR, true},
};

static double of_floats(Binary op, double a, double b) {
  switch (op) {
  case ADD: return a + b;
  case SUB: return a - b;
  case MUL: return a * b;
  case DIV: return a / b;
  case MOD:
  case FMOD: return fmod(a, b);
  case POW: return pow(a, b);
  case MIN: return a < b ? a : b;
  case MAX: return a > b ? a : b;
  case EQUAL: return a == b;
  case LESS: return a < b;
  case LESS_EQUAL: return a <= b;
  case GREATER: return a > b;
  case GREATER_EQUAL: return a >= b;
  case AND:
  case OR:
  case XOR: break;
  }
  return 0;
}

static bool of_ints(Binary op, int64_t a, int64_t b, int64_t *out) {
  switch (op) {
  case ADD: return !__builtin_add_overflow(a, b, out);
  case SUB: return !__builtin_sub_overflow(a, b, out);
  case MUL: return !__builtin_mul_overflow(a, b, out);
  case DIV:
    if (!b || (a == INT64_MIN && b == -1)) return false;
    *out = a / b;
    return true;
  case MOD: /* the sign of the divisor, as Python has it */
    if (!b || b == -1) return *out = 0, b != 0;
    *out = a % b;
    if (*out && (*out < 0) != (b < 0)) *out += b;
    return true;
  case FMOD: /* that of the dividend, as C has it */
    if (!b || b == -1) return *out = 0, b != 0;
    return *out = a % b, true;
  case POW: {
    double p = pow((double)a, (double)b);
    *out = (int64_t)(fabs(p) < 0x1p62 ? p : 0);
    return fabs(p) < 0x1p53;
  }
  case MIN: *out = a < b ? a : b; return true;
  case MAX: *out = a > b ? a : b; return true;
  case EQUAL: *out = a == b; return true;
  case LESS: *out = a < b; return true;
  case LESS_EQUAL: *out = a <= b; return true;
  case GREATER: *out = a > b; return true;
  case GREATER_EQUAL: *out = a >= b; return true;
  case AND: *out = a && b; return true;
  case OR: *out = a || b; return true;
  case XOR: *out = !a != !b; return true;
  }
  return false;
}

/* With bounded dimensions: a dimension is at least 1, which is what is asked of one that may be
   left open, -1 or 0; and of two that differ by a number it is known which is larger. */
static bool of_symbols(Import *im, Binary op, Number p, Number q, Number *out) {
  Axis a = axis_of_number(p), b = axis_of_number(q), y;
  if (op == ADD || op == SUB || op == MUL || op == DIV) {
    bool known = op == MUL   ? dim_join(im, a, b, &y)
                 : op == DIV ? dim_over(a, b, &y)
                             : dim_add(a, b, op == SUB ? -1 : 1, &y);
    return known ? *out = number_of_axis(y), true : false;
  }
  int64_t least, most; /* of a - b */
  if (!dim_apart(im, a, b, &least, &most)) return false;
  const bool below = most<0, above = least> 0, equal = !least && !most;
  const bool not_above = most <= 0, not_below = least >= 0;
  if (op == MIN || op == MAX)
    return *out = (op == MIN) == not_above ? p : q, not_above || not_below;
  *out = (Number){.i = op == EQUAL        ? equal
                       : op == LESS       ? below
                       : op == LESS_EQUAL ? not_above
                       : op == GREATER    ? above
                                          : not_below};
  if (op == EQUAL) return equal || below || above;
  if (op == LESS || op == GREATER_EQUAL) return below || not_below;
  return (op == LESS_EQUAL || op == GREATER) && (not_above || above);
}

static bool fold_binary(Node *n, int row) {
  Tensor *a = input(n, 0), *b = input(n, 1);
  Import *im = n->im;
  Shape s;
  uint64_t count;
  if (!a || !b || n->nin != 2 || !shapes_broadcast(&a->shape, &b->shape, &s) ||
      !shape_count(&s, &count) || count > MOST_KNOWN)
    return false;
  Number *x = ARENA_ARRAY(im->a, Number, count + 1);
  int type = binaries[row].compares ? ELEM_BOOL : a->type;
  Binary op = binaries[row].op;
  if (op == MOD && attr_int(n, "fmod", 0)) op = FMOD;
  for (uint64_t i = 0; i < count; i++) {
    Number p = a->known[broadcast_at(&s, &a->shape, i)],
           q = b->known[broadcast_at(&s, &b->shape, i)];
    if (is_float(a)) {
      double f = of_floats(op, p.f, is_float(b) ? q.f : (double)q.i);
      if (type == ELEM_BOOL)
        x[i].i = f != 0;
      else
        x[i] = number_fit(type, (Number){.f = f});
    } else if (is_float(b)) {
      return false;
    } else if (p.symbol || q.symbol) {
      if (!of_symbols(im, op, p, q, &x[i])) return false;
    } else if (!of_ints(op, p.i, q.i, &x[i].i)) {
      return false;
    } else {
      x[i] = number_fit(type, x[i]);
    }
  }
  return give_known(n, 0, type, &s, x);
}

static bool fold_unary(Node *n) {
  static const char *const names[] = {"Neg",  "Abs",        "Not", "Floor", "Ceil", "Round",
                                      "Sqrt", "Reciprocal", "Exp", "Log",   "Relu"};
  const Tensor *v = input(n, 0);
  uint64_t count;
  size_t op = 0;
  while (op < sizeof names / sizeof *names && strcmp(n->op, names[op]) != 0) op++;
  if (op == sizeof names / sizeof *names || !shape_count(&v->shape, &count)) return false;
  if (!is_float(v) && op > 2 && op < 10) return false;
  Number *x = ARENA_ARRAY(n->im->a, Number, count + 1);
  for (uint64_t i = 0; i < count; i++) {
    const Number p = v->known[i];
    if (p.symbol || p.i == INT64_MIN) return false;
    x[i].i = op == 0    ? -p.i
             : op == 1  ? (p.i < 0 ? -p.i : p.i)
             : op == 10 ? (p.i > 0 ? p.i : 0)
                        : !p.i;
    x[i].f = op == 0   ? -p.f
             : op == 1 ? fabs(p.f)
             : op == 3 ? floor(p.f)
             : op == 4 ? ceil(p.f)
             : op == 5 ? nearbyint(p.f)
             : op == 6 ? sqrt(p.f)
             : op == 7 ? 1 / p.f
             : op == 8 ? exp(p.f)
             : op == 9 ? log(p.f)
             : p.f < 0 ? 0
                       : p.f;
    x[i] = number_fit(v->type, is_float(v) ? (Number){.f = x[i].f} : (Number){.i = x[i].i});
  }
  return give_known(n, 0, v->type, &v->shape, x);
}

static bool fold_cast(Node *n) {
  const Tensor *v = input(n, 0);
  int to =
      strcmp(n->op, "CastLike") == 0 && input(n, 1) ? input(n, 1)->type : (int)attr_int(n, "to", 0);
  const ElemInfo *e = elem_of(to);
  uint64_t count;
  if (!e->gc || !shape_count(&v->shape, &count)) return false;
  Number *x = ARENA_ARRAY(n->im->a, Number, count + 1);
  for (uint64_t i = 0; i < count; i++) {
    const Number p = v->known[i];
    double f = is_float(v) ? p.f : (double)p.i;
    if (e->is_float) {
      if (p.symbol || to == ELEM_F16 || to == ELEM_BF16) return false;
      x[i] = number_fit(to, (Number){.f = f});
    } else if (to == ELEM_BOOL) {
      if (p.symbol && p.more < 0) return false;
      x[i].i = f != 0;
    } else {
      if (!(f >= e->low && f <= e->high) || fabs(f) >= 0x1p62) return false;
      x[i] = (Number){.i = is_float(v) ? (int64_t)f : p.i, .symbol = p.symbol, .more = p.more};
    }
  }
  return give_known(n, 0, to, &v->shape, x);
}

static bool fold_where(Node *n) {
  Tensor *c = input(n, 0), *a = input(n, 1), *b = input(n, 2);
  Shape s;
  uint64_t count;
  if (!c || !a || !b || !shapes_broadcast(&a->shape, &b->shape, &s) ||
      !shapes_broadcast(&s, &c->shape, &s) || !shape_count(&s, &count) || count > MOST_KNOWN)
    return false;
  Number *x = ARENA_ARRAY(n->im->a, Number, count + 1);
  for (uint64_t i = 0; i < count; i++) {
    Tensor *v = c->known[broadcast_at(&s, &c->shape, i)].i ? a : b;
    x[i] = v->known[broadcast_at(&s, &v->shape, i)];
  }
  return give_known(n, 0, a->type, &s, x);
}

/* ---- several to one, one to several ---- */

static bool fold_reduce(Node *n) {
  const Tensor *v = input(n, 0);
  uint64_t count;
  int op = strcmp(n->op, "ReduceProd") == 0  ? 0
           : strcmp(n->op, "ReduceSum") == 0 ? 1
           : strcmp(n->op, "ReduceMax") == 0 ? 2
                                             : 3;
  if (v->shape.rank != 1 || (is_float(v) && op < 2) || !shape_count(&v->shape, &count) || !count)
    return false;
  if (attr_int(n, "noop_with_empty_axes", 0)) return false;
  Number *x = ARENA_NEW(n->im->a, Number);
  *x = v->known[0];
  for (uint64_t i = 1; i < count; i++) {
    Number p = *x, q = v->known[i];
    if (is_float(v)) {
      if (isnan(p.f) || isnan(q.f)) return false;
      *x = (op == 2) == (q.f > p.f) ? q : p;
    } else if (p.symbol || q.symbol) {
      if (op > 1 || !of_symbols(n->im, op ? ADD : MUL, p, q, x)) return false;
    } else if (!of_ints(op == 0 ? MUL : op == 1 ? ADD : op == 2 ? MAX : MIN, p.i, q.i, &x->i)) {
      return false;
    } else {
      *x = number_fit(v->type, *x);
    }
  }
  const Shape s = {.rank = attr_int(n, "keepdims", 1) ? 1 : 0, .at = {{.n = 1}}};
  return give_known(n, 0, v->type, &s, x);
}

/* ---- by name ---- */

static const struct {
  const char *name;
  bool (*fold)(Node *n);
} folds[] = {
    {"Cast", fold_cast},           {"CastLike", fold_cast},
    {"Where", fold_where},         {"Concat", fold_concat},
    {"Transpose", fold_transpose}, {"Expand", fold_expand},
    {"Gather", fold_gather},       {"Range", fold_range},
    {"ReduceProd", fold_reduce},   {"ReduceSum", fold_reduce},
    {"ReduceMax", fold_reduce},    {"ReduceMin", fold_reduce},
    {"NonZero", fold_nonzero},     {"ConstantOfShape", fold_constant_of_shape},
};

static bool all_known(Node *n) {
  for (int i = 0; i < n->nin; i++) {
    Tensor *v = input(n, i);
    uint64_t count;
    if (!v) continue;
    if (v->trained || v->missing || !shape_count(&v->shape, &count) || count > MOST_KNOWN ||
        !known_of(n->im, v))
      return false;
  }
  return n->nin > 0 && input(n, 0);
}

bool fold_reads_shape(const Node *n) {
  return strcmp(n->op, "Shape") == 0 || strcmp(n->op, "Size") == 0;
}

bool fold_node(Node *n) {
  if (n->p->domain && *n->p->domain && strcmp(n->p->domain, "ai.onnx") != 0) return false;
  if (fold_reads_shape(n) && n->nin > 0 && input(n, 0) && !input(n, 0)->missing)
    return strcmp(n->op, "Shape") == 0 ? fold_shape(n) : fold_size(n);
  uint32_t refused = n->im->refused.n;
  bool done = false;
  if (n->nout == 1 && fold_sizes(n)) return true;
  n->im->refused.n = refused;
  if (n->nout != 1 || !all_known(n)) return false;
  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
    if (strcmp(n->op, binaries[i].name) == 0) done = fold_binary(n, (int)i);
  for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
    if (strcmp(n->op, folds[i].name) == 0) done = folds[i].fold(n);
  done = done || fold_unary(n);
  n->im->refused.n = refused; /* what it is translated to may be fine */
  return done;
}
