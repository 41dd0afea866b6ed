/* Quantization: integers of 8 and 16 bits with a scale and a zero point. What integers.c does not
   multiply is computed in floats, which hold sums of products exactly up to 2 ** 24. */
#include "lang/onnx/graph.h"

/* Scales or zero points of blocks along an axis, one for each element of the shape s. */
static bool per_block(Node *n, Tensor *v, const Shape *s, int64_t given, const char **t) {
  const int64_t block = attr_int(n, "block_size", 0);
  int axis;
  if (block < 1 || v->shape.rank != s->rank || !axis_from(n, given, s->rank, &axis))
    return refuse(n, "scales of another shape");
  const int64_t blocks = v->shape.at[axis].n, size = s->at[axis].n;
  Shape apart = {.rank = s->rank + 1}, wide, whole = v->shape;
  for (int i = 0; i < s->rank; i++)
    if (i != axis && !dim_same(v->shape.at[i], s->at[i]))
      return refuse(n, "scales of another shape");
  if (s->at[axis].symbol || s->rank == MOST_RANK || block > size ||
      blocks != (size + block - 1) / block)
    return refuse(n, "scales of another number of blocks");
  for (int i = 0; i <= s->rank; i++)
    apart.at[i] = i == axis + 1 ? (Axis){.n = 1} : v->shape.at[i - (i > axis)];
  wide = apart;
  wide.at[axis + 1].n = block, whole.at[axis].n = blocks * block;
  *t = text(n, "broadcast(%s, %s)", reshaped(n, *t, &apart), shape_text(n->im, &wide));
  *t = let(n, reshaped(n, *t, &whole));
  if (blocks * block == size) return true;
  const char *before = "";
  for (int i = 0; i < axis; i++) before = text(n, "%s:, ", before);
  *t = let(n, text(n, "%s[%s:%lld]", *t, before, (long long)size));
  return true;
}

/* A scale or a zero point: one, or one for each place along an axis, or for each block of them. */
static bool per_axis(Node *n, Tensor *v, const Shape *s, int64_t given, const char **t) {
  uint64_t count;
  int axis;
  Number one;
  if (!shape_count(&v->shape, &count)) return refuse(n, "a scale of a bounded dimension");
  if (!v->name && !v->trained && is_one_number(n->im, v, &one)) {
    *t = number_text(n->im, v->type, one);
    return true;
  }
  *t = tensor_text(n, v);
  if (count == 1) {
    if (v->shape.rank) *t = reshaped(n, *t, &(Shape){0});
    return true;
  }
  if (attr_int(n, "block_size", 0)) return per_block(n, v, s, given, t);
  if (v->shape.rank != 1 || !axis_from(n, given, s->rank, &axis) ||
      v->shape.at[0].n != s->at[axis].n)
    return refuse(n, "scales of another shape");
  Shape wide = {.rank = s->rank - axis};
  for (int i = 0; i < wide.rank; i++) wide.at[i] = (Axis){.n = i ? 1 : v->shape.at[0].n};
  *t = reshaped(n, *t, &wide);
  return true;
}

/* Input i without its zero point, input i + 1 or the one given, as f32. */
static bool centred(Node *n, int i, int zero, int64_t axis, const char **t) {
  Tensor *v = input(n, i), *z = input(n, zero);
  const char *at = "";
  *t = text(n, "f32(%s)", tensor_text(n, v));
  if (!z) return true;
  if (!per_axis(n, z, &v->shape, axis, &at)) return false;
  *t = text(n, "(%s - f32(%s))", *t, at);
  return true;
}

/* A float expression over the scale, rounded to the integers of a type. */
static const char *saturated(Node *n, const char *x, const char *zero, int type) {
  const ElemInfo *e = elem_of(type);
  return text(n, "%s(clamp(round(%s)%s, %s, %s))", e->gc, x,
              *zero ? text(n, " + f32(%s)", zero) : "", real(n, e->low), real(n, e->high));
}

static bool is_small(int type) {
  return type == ELEM_U8 || type == ELEM_I8 || type == ELEM_U16 || type == ELEM_I16;
}

bool onnx_quantize(Node *n) {
  Tensor *v = input(n, 0), *z = input(n, 2);
  int type = z ? z->type : (int)attr_int(n, "output_dtype", ELEM_U8);
  int64_t axis = attr_int(n, "axis", 1);
  const char *scale, *zero = "";
  if (!is_small(type ? type : ELEM_U8) || !is_float(v))
    return refuse(n, "quantization to element type %d", type);
  if (!per_axis(n, input(n, 1), &v->shape, axis, &scale) ||
      (z && !per_axis(n, z, &v->shape, axis, &zero)))
    return false;
  const char *x = tensor_text(n, v);
  if (v->type != ELEM_F32) x = text(n, "f32(%s)", x);
  if (input(n, 1)->type != ELEM_F32) scale = text(n, "f32(%s)", scale);
  return give(n, 0, type ? type : ELEM_U8, &v->shape,
              saturated(n, text(n, "%s / %s", x, scale), zero, type ? type : ELEM_U8));
}

bool onnx_dequantize(Node *n) {
  Tensor *v = input(n, 0), *s = input(n, 1);
  int64_t axis = attr_int(n, "axis", 1);
  const char *x, *scale;
  if (is_float(v)) return refuse(n, "quantized floats");
  if (!centred(n, 0, 2, axis, &x) || !per_axis(n, s, &v->shape, axis, &scale)) return false;
  Quantized *of = ARENA_NEW(n->im->a, Quantized);
  *of = (Quantized){v, s, input(n, 2), axis};
  if (output(n, 0) && !attr_int(n, "block_size", 0)) output(n, 0)->quantized = of;
  if (s->type == ELEM_F32) return give(n, 0, ELEM_F32, &v->shape, text(n, "%s * %s", x, scale));
  return give(n, 0, s->type, &v->shape, text(n, "%s(%s) * %s", elem_of(s->type)->gc, x, scale));
}

bool onnx_dynamic_quantize(Node *n) {
  Tensor *v = input(n, 0);
  const Shape scalar = {0};
  const char *x = tensor_text(n, v), *low = let(n, text(n, "min(min(%s), 0)", x));
  const char *scale = let(n, text(n, "(max(max(%s), 0) - %s) / 255", x, low));
  const char *zero = let(n, text(n, "u8(clamp(round(-%s / %s), 0, 255))", low, scale));
  return give(n, 0, ELEM_U8, &v->shape,
              saturated(n, text(n, "%s / %s", x, scale), zero, ELEM_U8)) &&
         give(n, 1, ELEM_F32, &scalar, scale) && give(n, 2, ELEM_U8, &scalar, zero);
}

/* A node like this one whose inputs are values of f32 with these names. */
static bool as_floats(Node *n, const char *op, const char *x, const char *w, OperatorFn *fn,
                      const char **t, Shape *s) {
  Tensor *v[2], *out = value_new(n->im, ELEM_NONE, NULL);
  const char *const names[] = {x, w};
  const int from[] = {0, strncmp(n->op, "QLinear", 7) == 0 ? 3 : 1};
  for (int i = 0; i < 2; i++) {
    v[i] = value_new(n->im, ELEM_F32, &input(n, from[i])->shape);
    v[i]->name = let(n, names[i]);
  }
  out->wish = "sums";
  Node floats = *n;
  floats.op = op, floats.in = v, floats.nin = 2, floats.out = &out, floats.nout = 1;
  if (!fn(&floats)) return false;
  *t = out->name;
  *s = out->shape;
  return true;
}

/* MatMulInteger, ConvInteger: sums as integers. */
bool onnx_integer_product(Node *n) {
  bool conv = strcmp(n->op, "ConvInteger") == 0;
  const char *x, *w, *t;
  Shape s;
  const Quantized of[] = {{.q = input(n, 0), .zero = input(n, 2)},
                          {.q = input(n, 1), .zero = input(n, 3)}};
  if (!conv && (t = onnx_product_of_integers(n, &of[0], &of[1], false, ELEM_I32, &s)))
    return give(n, 0, ELEM_I32, &s, t);
  if (!centred(n, 0, 2, input(n, 0)->shape.rank - 2, &x) ||
      !centred(n, 1, 3, conv ? 0 : input(n, 1)->shape.rank - 1, &w))
    return false;
  if (!as_floats(n, conv ? "Conv" : "MatMul", x, w, conv ? onnx_conv : onnx_matmul, &t, &s))
    return false;
  return give(n, 0, ELEM_I32, &s, text(n, "i32(%s)", t));
}

/* QLinearMatMul, QLinearConv: x, its scale and zero point, w, its scale and zero point, those of
   the result, and a bias in units of both scales. */
bool onnx_quantized_product(Node *n) {
  bool conv = strcmp(n->op, "QLinearConv") == 0;
  Tensor *bias = input(n, 8);
  const char *x, *w, *t, *sx, *sw, *sy, *zero;
  Shape s;
  int64_t axis = conv ? 0 : input(n, 3)->shape.rank - 1;
  if (!is_small(input(n, 7)->type)) return refuse(n, "quantized floats");
  const Quantized both[] = {{.q = input(n, 0), .zero = input(n, 2)},
                            {.q = input(n, 3), .zero = input(n, 5)}};
  if (!conv && (t = onnx_product_of_integers(n, &both[0], &both[1], false, ELEM_F32, &s)))
    t = let(n, t);
  else if (!centred(n, 0, 2, input(n, 0)->shape.rank - 2, &x) || !centred(n, 3, 5, axis, &w) ||
           !as_floats(n, conv ? "Conv" : "MatMul", x, w, conv ? onnx_conv : onnx_matmul, &t, &s))
    return false;
  if (bias) t = let(n, text(n, "%s + f32(%s)", t, per_channel(n, bias, s.rank - 2)));
  int64_t of = conv ? 1 : s.rank - 1;
  if (!per_axis(n, input(n, 1), &s, s.rank - 2, &sx) || !per_axis(n, input(n, 4), &s, of, &sw) ||
      !per_axis(n, input(n, 6), &s, s.rank - 2, &sy) ||
      !per_axis(n, input(n, 7), &s, s.rank - 2, &zero))
    return false;
  if (input(n, 1)->type != ELEM_F32)
    sx = text(n, "f32(%s)", sx), sw = text(n, "f32(%s)", sw), sy = text(n, "f32(%s)", sy);
  return give(n, 0, input(n, 7)->type, &s,
              saturated(n, text(n, "%s * (%s * %s / %s)", t, sx, sw, sy), zero, input(n, 7)->type));
}
