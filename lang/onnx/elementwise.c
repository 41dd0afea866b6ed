/* Operators that work element by element.
   Sources: https://onnx.ai/onnx/operators, opsets 7 and later. */
#include "lang/onnx/graph.h"

/* ---- one input ---- */

/* %1$s is the input. */
static const struct {
  const char *op, *as;
} unary[] = {
    {"Abs", "abs(%1$s)"},
    {"Neg", "-%1$s"},
    {"Ceil", "ceil(%1$s)"},
    {"Floor", "floor(%1$s)"},
    {"Round", "round(%1$s)"},
    {"Exp", "exp(%1$s)"},
    {"Log", "log(%1$s)"},
    {"Sqrt", "sqrt(%1$s)"},
    {"Sin", "sin(%1$s)"},
    {"Cos", "cos(%1$s)"},
    {"Tan", "sin(%1$s) / cos(%1$s)"},
    {"Tanh", "tanh(%1$s)"},
    {"Sigmoid", "sigmoid(%1$s)"},
    {"Erf", "erf(%1$s)"},
    {"Relu", "relu(%1$s)"},
    {"Sign", "sign(%1$s)"},
    {"Not", "not %1$s"},
    {"Reciprocal", "1 / %1$s"},
    {"Softplus", "softplus(%1$s)"},
    {"Softsign", "%1$s / (1 + abs(%1$s))"},
    {"Mish", "%1$s * tanh(softplus(%1$s))"},
    {"HardSwish", "%1$s * clamp(%1$s * 0.16666666666666666 + 0.5, 0, 1)"},
    {"Atanh", "0.5 * (log1p(%1$s) - log1p(-%1$s))"},
};

/* Of the absolute value, whose slope at 0 is 1 here, as that of the function is. No square is taken
   of a large one, nor is it doubled. */
static bool give_asinh(Node *n) {
  const char *x = tensor_text(n, input(n, 0)),
             *a = let(n, text(n, "where(%s < 0, -%s, %s)", x, x, x));
  const char *s = let(n, text(n, "where(%s > 1, 1, %s)", a, a)),
             *l = let(n, text(n, "where(%s > 1, %s, 1)", a, a));
  const char *y = let(n, text(n,
                              "where(%s > 1, log(%s) + log1p(sqrt(1 + 1 / %s / %s)), "
                              "log1p(%s + %s * %s / (1 + sqrt(%s * %s + 1))))",
                              a, l, l, l, s, s, s, s, s));
  return give(n, 0, input(n, 0)->type, &input(n, 0)->shape,
              text(n, "where(%s < 0, -%s, %s)", x, y, y));
}

/* By x - 1, which is exact near 1, where the function is 0. */
static bool give_acosh(Node *n) {
  const char *x = tensor_text(n, input(n, 0)), *s = let(n, text(n, "where(%s > 2, 2, %s)", x, x)),
             *l = let(n, text(n, "where(%s > 2, %s, 2)", x, x));
  return give(n, 0, input(n, 0)->type, &input(n, 0)->shape,
              text(n,
                   "where(%s > 2, log(%s) + log1p(sqrt(1 - 1 / %s / %s)), "
                   "log1p(%s - 1 + sqrt(%s - 1) * sqrt(%s + 1)))",
                   x, l, l, l, s, s, s));
}

/* exp(x) / 2, or of minus x, as a product, since exp of the whole overflows before its half does.
   The exponents are a half and the rest, not two halves: then the slope by each is no more than the
   product, where that by a half that is taken twice is the product's double. */
static const char *half_exp(Node *n, const char *sign, const char *x) {
  const char *half = let(n, text(n, "%s / 2", x)),
             *rest = let(n, text(n, "where(abs(%s) < inf, %s - %s, %s)", x, x, half, x));
  return text(n, "exp(%s%s) * (exp(%s%s) / 2)", sign, half, sign, rest);
}

/* Near 0 by expm1, as the difference of two exponentials, which is also the slope of their sum, is
   of few digits there. */
static bool give_hyperbolic(Node *n, bool sine) {
  const char *x = tensor_text(n, input(n, 0)),
             *s = let(n, text(n, "where(abs(%s) > 1, 1, %s)", x, x)),
             *l = let(n, text(n, "where(abs(%s) > 1, %s, 1)", x, x)),
             *a = let(n, text(n, "expm1(%s / 2)", s)), *b = let(n, text(n, "expm1(-%s / 2)", s));
  const char *near = sine ? text(n, "(%s - %s) * (1 + (%s + %s) / 2)", a, b, a, b)
                          : text(n, "1 + (%s - %s) * ((%s - %s) / 2)", a, b, a, b);
  return give(n, 0, input(n, 0)->type, &input(n, 0)->shape,
              text(n, "where(abs(%s) > 1, %s %s %s, %s)", x, half_exp(n, "", l), sine ? "-" : "+",
                   half_exp(n, "-", l), near));
}

static bool give_sinh(Node *n) { return give_hyperbolic(n, true); }

static bool give_cosh(Node *n) { return give_hyperbolic(n, false); }

bool onnx_unary(Node *n) {
  static const struct {
    const char *op;
    bool (*give)(Node *);
  } composed[] = {
      {"Asinh", give_asinh}, {"Acosh", give_acosh}, {"Sinh", give_sinh}, {"Cosh", give_cosh}};
  Tensor *x = input(n, 0);
  const char *t = tensor_text(n, x);
  for (size_t i = 0; i < sizeof composed / sizeof *composed; i++)
    if (strcmp(composed[i].op, n->op) == 0) return composed[i].give(n);
  for (size_t i = 0; i < sizeof unary / sizeof *unary; i++)
    if (strcmp(unary[i].op, n->op) == 0) {
      const char *s = "";
      for (const char *p = unary[i].as; *p;) {
        size_t k = strcspn(p, "%");
        s = text(n, "%s%.*s%s", s, (int)k, p, p[k] ? t : "");
        p += k + (p[k] ? 4 : 0);
      }
      return give(n, 0, x->type, &x->shape, s);
    }
  return refuse(n, "it has no counterpart");
}

bool onnx_identity(Node *n) { return give_same(n, 0, input(n, 0)); }

/* Rounding towards zero is what conversions to integers do. */
bool onnx_cast(Node *n) {
  Tensor *x = input(n, 0), *like = input(n, 1);
  int to = like ? like->type : (int)attr_int(n, "to", 0);
  const ElemInfo *e = elem_of(to);
  if (!e->gc) return refuse(n, "a conversion to element type %d, which gc does not have", to);
  if (e->size != e->bytes && !is_float(x) && elem_of(x->type)->low >= e->low &&
      elem_of(x->type)->high <= e->high)
    return give(n, 0, to, &x->shape, text(n, "%s(%s)", e->gc, tensor_text(n, x)));
  if (e->size != e->bytes) return refuse(n, "a conversion to %s, which gc does not have", e->onnx);
  if (to == x->type) return give_same(n, 0, x);
  if (to == ELEM_BOOL) return give(n, 0, to, &x->shape, text(n, "%s != 0", tensor_text(n, x)));
  if (output(n, 0) && !e->is_float && e->size >= elem_of(ELEM_I32)->size)
    n->out[0]->ranges = x->ranges, n->out[0]->counts = x->counts, n->out[0]->below = x->below;
  return give(n, 0, to, &x->shape, text(n, "%s(%s)", e->gc, tensor_text(n, x)));
}

bool onnx_is_nan(Node *n) {
  const char *x = tensor_text(n, input(n, 0));
  return give(n, 0, ELEM_BOOL, &input(n, 0)->shape, text(n, "%s != %s", x, x));
}

bool onnx_is_inf(Node *n) {
  const char *x = tensor_text(n, input(n, 0)), *t = "";
  if (attr_int(n, "detect_positive", 1)) t = text(n, "%s == inf", x);
  if (attr_int(n, "detect_negative", 1)) t = text(n, "%s%s%s == -inf", t, *t ? " or " : "", x);
  return give(n, 0, ELEM_BOOL, &input(n, 0)->shape, *t ? t : text(n, "%s < -inf", x));
}

bool onnx_dropout(Node *n) {
  Tensor *ratio = input(n, 1), *training = input(n, 2), *x = input(n, 0);
  Number is;
  if (training && !(is_one_number(n->im, training, &is) && is.i == 0)) {
    if (!is_one_number(n->im, training, &is)) return known_input(n, 2) != NULL;
    Number r = {.f = 0.5};
    if (ratio && !is_one_number(n->im, ratio, &r)) return known_input(n, 1) != NULL;
    if (r.f != 0) { /* in a training: kept where the draw says so */
      const char *kept =
          let(n, text(n, "uniform(0, 1, %s) >= %s", shape_text(n->im, &x->shape), real(n, r.f)));
      const char *more =
          text(n, "where(%s, %s, 0) / %s", kept, tensor_text(n, x), real(n, r.f < 1 ? 1 - r.f : 1));
      return give(n, 0, x->type, &x->shape, more) && give(n, 1, ELEM_BOOL, &x->shape, kept);
    }
  }
  if (!give_same(n, 0, x)) return false;
  return give(n, 1, ELEM_BOOL, &x->shape, text(n, "full(%s, true)", shape_text(n->im, &x->shape)));
}

/* ---- activations with numbers ---- */

bool onnx_activation(Node *n) {
  Tensor *v = input(n, 0);
  const char *x = tensor_text(n, v), *t = NULL;
#define A(name, otherwise) real(n, attr_real(n, name, otherwise))
  if (strcmp(n->op, "LeakyRelu") == 0)
    t = text(n, "leaky_relu(%s, %s)", x, A("alpha", 0.01));
  else if (strcmp(n->op, "Elu") == 0)
    t = text(n, "elu(%s, %s)", x, A("alpha", 1));
  else if (strcmp(n->op, "Celu") == 0)
    t = text(n, "where(%s > 0, %s, %s * expm1(where(%s > 0, 0, %s) / %s))", x, x, A("alpha", 1), x,
             x, A("alpha", 1));
  else if (strcmp(n->op, "Selu") == 0)
    t = text(n, "%s * elu(%s, %s)", A("gamma", 1.05070102214813232421875), x,
             A("alpha", 1.67326319217681884765625));
  else if (strcmp(n->op, "ThresholdedRelu") == 0)
    t = text(n, "where(%s > %s, %s, 0)", x, A("alpha", 1), x);
  else if (strcmp(n->op, "HardSigmoid") == 0)
    t = text(n, "clamp(%s * %s + %s, 0, 1)", A("alpha", 0.2), x, A("beta", 0.5));
  else if (strcmp(n->op, "Swish") == 0)
    t = text(n, "%s * sigmoid(%s * %s)", x, A("alpha", 1), x);
  else if (strcmp(n->op, "Gelu") == 0)
    t = text(n, "gelu(%s, approx = %s)", x,
             strcmp(attr_string(n, "approximate", "none"), "tanh") == 0 ? "true" : "false");
  else if (strcmp(n->op, "Shrink") == 0 && is_float(v))
    t = text(n, "where(%s < %s, %s + %s, where(%s > %s, %s - %s, 0))", x,
             real(n, -attr_real(n, "lambd", 0.5)), x, A("bias", 0), x, A("lambd", 0.5), x,
             A("bias", 0));
#undef A
  if (!t) return refuse(n, "arithmetic of integers with fractions");
  return give(n, 0, v->type, &v->shape, t);
}

bool onnx_prelu(Node *n) {
  Tensor *v = input(n, 0), *s = input(n, 1);
  Shape out;
  if (!shapes_broadcast(&v->shape, &s->shape, &out)) return refuse(n, "shapes that do not fit");
  const char *x = tensor_text(n, v);
  return give(n, 0, v->type, &out,
              text(n, "where(%s < 0, %s * %s, %s)", x, operand(n, s, v), x, x));
}

bool onnx_clip(Node *n) {
  Tensor *v = input(n, 0), *lo = input(n, 1), *hi = input(n, 2);
  const char *t = text(n, "clamp(%s", tensor_text(n, v));
  if (n->version < 11) {
    if (attr_of(n, "min")) t = text(n, "%s, lo = %s", t, real(n, attr_real(n, "min", 0)));
    if (attr_of(n, "max")) t = text(n, "%s, hi = %s", t, real(n, attr_real(n, "max", 0)));
  }
  if (lo) t = text(n, "%s, lo = %s", t, operand(n, lo, v));
  if (hi) t = text(n, "%s, hi = %s", t, operand(n, hi, v));
  return give(n, 0, v->type, &v->shape, text(n, "%s)", t));
}

/* ---- two inputs and more ---- */

static const struct {
  const char *op, *sign;
  bool compares;
} binary[] = {{"Add", "+", false},         {"Sub", "-", false},    {"Mul", "*", false},
              {"Div", "/", false},         {"And", "and", true},   {"Or", "or", true},
              {"Xor", "!=", true},         {"Equal", "==", true},  {"Less", "<", true},
              {"LessOrEqual", "<=", true}, {"Greater", ">", true}, {"GreaterOrEqual", ">=", true}};

/* Both as operands of a sign or a function of two; false after refusing. */
static bool pair(Node *n, Tensor *a, Tensor *b, const char **x, const char **y, Shape *s) {
  if (!shapes_broadcast(&a->shape, &b->shape, s)) return refuse(n, "shapes that do not fit");
  Number one;
  if (!a->name && (a->trained || !is_one_number(n->im, a, &one))) tensor_text(n, a);
  if (!b->name && (b->trained || !is_one_number(n->im, b, &one))) tensor_text(n, b);
  *x = operand(n, a, b);
  *y = operand(n, b, a);
  return true;
}

bool onnx_binary(Node *n) {
  Tensor *a = input(n, 0), *b = input(n, 1);
  const char *x, *y;
  Shape s;
  if (!pair(n, a, b, &x, &y, &s)) return false;
  for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
    if (strcmp(binary[i].op, n->op) != 0) continue;
    int type = binary[i].compares ? ELEM_BOOL : a->type;
    const char *t = text(n, "%s %s %s", x, binary[i].sign, y);
    if (strcmp(n->op, "Div") == 0 && !is_float(a)) { /* towards zero */
      if (elem_of(a->type)->low == 0)
        t = text(n, "%s // %s", x, y);
      else
        t = text(n, "sign(%s) * sign(%s) * (abs(%s) // abs(%s))", x, y, x, y);
    }
    return give(n, 0, type, &s, t);
  }
  return refuse(n, "it has no counterpart");
}

/* Powers of integers, which wrap around, by squares of squares; of a negative exponent only those
   of 1 and -1 are not 0. */
static const char *power_of_integers(Node *n, const Tensor *a, const Tensor *b, const char *x,
                                     const char *y, const Shape *s) {
  const char *dtype = elem_of(a->type)->gc, *all = shape_text(n->im, s);
  if (is_float(b)) /* as NumPy: of f64, without the fraction */
    return text(n, "%s(f64(%s) ** f64(%s))", dtype, x, y);
  x = let(n, text(n, "broadcast(%s, %s)", x, all)), y = let(n, text(n, "i64(%s)", y));
  const char *left = let(n, text(n, "abs(%s)", y)), *square = x,
             *t = let(n, text(n, "full(%s, 1, dtype = %s)", all, dtype));
  const int bits = elem_of(b->type)->size == 8 ? 63 : 8 * elem_of(b->type)->size;
  for (int i = 0; i < bits; i++) {
    t = let(n, text(n, "where(%s %% 2 == 1, %s * %s, %s)", left, t, square, t));
    if (i + 1 == bits) break;
    left = let(n, text(n, "%s // 2", left)), square = let(n, text(n, "%s * %s", square, square));
  }
  return text(n, "where(%s < 0 and abs(%s) != 1, 0, %s)", y, x, t);
}

bool onnx_pow(Node *n) {
  Tensor *a = input(n, 0), *b = input(n, 1);
  const char *x, *y;
  Shape s;
  Number p;
  const bool known = is_one_number(n->im, b, &p) && !b->trained;
  if (is_float(a) && known && b->shape.rank <= a->shape.rank && a->name) {
    if (!shapes_broadcast(&a->shape, &b->shape, &s)) return refuse(n, "shapes that do not fit");
    const char *t = real(n, is_float(b) ? p.f : (double)p.i);
    return give(n, 0, a->type, &s, text(n, "%s ** %s", a->name, t));
  }
  if (!pair(n, a, b, &x, &y, &s)) return false;
  if (!is_float(a) && known && !is_float(b) && p.i == 2 && !p.symbol)
    return give(n, 0, a->type, &s, text(n, "broadcast(%s * %s, %s)", x, x, shape_text(n->im, &s)));
  if (!is_float(a)) return give(n, 0, a->type, &s, power_of_integers(n, a, b, x, y, &s));
  return give(n, 0, a->type, &s,
              a->type == b->type ? text(n, "%s ** %s", x, y)
                                 : text(n, "%s ** %s(%s)", x, elem_of(a->type)->gc, y));
}

bool onnx_mod(Node *n) {
  Tensor *a = input(n, 0), *b = input(n, 1);
  const char *x, *y;
  Shape s;
  if (!pair(n, a, b, &x, &y, &s)) return false;
  return give(n, 0, a->type, &s,
              attr_int(n, "fmod", 0) ? text(n, "sign(%s) * (abs(%s) %% abs(%s))", x, x, y)
                                     : text(n, "%s %% %s", x, y));
}

/* Max, Min, Sum, Mean: of any number. */
bool onnx_several(Node *n) {
  Tensor *v = input(n, 0);
  Shape s = v->shape;
  const char *t = tensor_text(n, v);
  bool extreme = strcmp(n->op, "Max") == 0 || strcmp(n->op, "Min") == 0;
  for (int i = 1; i < n->nin; i++) {
    Tensor *x = input(n, i);
    if (!x || !shapes_broadcast(&s, &x->shape, &s)) return refuse(n, "shapes that do not fit");
    const char *y = tensor_text(n, x);
    t = extreme ? text(n, "%s(%s, %s)", strcmp(n->op, "Max") == 0 ? "max" : "min", t, y)
                : text(n, "%s + %s", t, y);
  }
  if (strcmp(n->op, "Mean") == 0) t = text(n, "(%s) / %d", t, n->nin);
  if (n->nin == 1) return give_same(n, 0, v);
  return give(n, 0, v->type, &s, t);
}

bool onnx_where(Node *n) {
  Tensor *c = input(n, 0), *a = input(n, 1), *b = input(n, 2);
  Shape s;
  if (!shapes_broadcast(&a->shape, &b->shape, &s) || !shapes_broadcast(&s, &c->shape, &s))
    return refuse(n, "shapes that do not fit");
  Shape both;
  const char *x, *y;
  if (!pair(n, a, b, &x, &y, &both)) return false;
  return give(n, 0, a->type, &s, text(n, "where(%s, %s, %s)", tensor_text(n, c), x, y));
}
