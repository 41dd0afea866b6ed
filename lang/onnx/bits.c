/* Bits of integers, by arithmetic: a quotient by a power of two rounds down, so that bit i of x is
   (x // 2 ** i) % 2, also of a negative one. */
#include "lang/onnx/graph.h"

typedef struct Width {
  int bits;
  bool is_signed;
} Width;

static Width width_of(int type) {
  switch (type) {
  case ELEM_U8: return (Width){8, false};
  case ELEM_I8: return (Width){8, true};
  case ELEM_U16: return (Width){16, false};
  case ELEM_I16: return (Width){16, true};
  case ELEM_I32: return (Width){32, true};
  case ELEM_U32: return (Width){32, false};
  case ELEM_I64: return (Width){64, true};
  default: return (Width){0, false};
  }
}

static const char *power(Node *n, int i) { return text(n, "%lld", 1LL << i); }

/* a and b of each bit but that of the sign, times the bit; of a sign its power is taken off. */
static const char *both(Node *n, Width w, const char *a, const char *b) {
  const char *sign = w.bits == 64 ? "9223372036854775807 - 1" : power(n, w.bits - 1), *sum = "0";
  if (w.is_signed) sum = text(n, "i64(%s < 0 and %s < 0) * (-%s)", a, b, sign);
  for (int i = 0; i < w.bits - w.is_signed; i++)
    sum = text(n, "%s + (%s // %s) %% 2 * ((%s // %s) %% 2) * %s", sum, a, power(n, i), b,
               power(n, i), power(n, i));
  return let(n, sum);
}

bool onnx_bitwise(Node *n) {
  Tensor *a = input(n, 0), *b = input(n, 1);
  const Width w = width_of(a->type);
  Shape s;
  if (!w.bits || a->type != b->type) return refuse(n, "bits of this type");
  if (!shapes_broadcast(&a->shape, &b->shape, &s)) return refuse(n, "shapes that do not fit");
  const char *x = let(n, text(n, "i64(%s)", tensor_text(n, a))),
             *y = let(n, text(n, "i64(%s)", tensor_text(n, b))), *t = both(n, w, x, y);
  /* no sum that has carries */
  if (strcmp(n->op, "BitwiseOr") == 0) t = text(n, "%s + (%s - %s)", x, y, t);
  if (strcmp(n->op, "BitwiseXor") == 0) t = text(n, "(%s - %s) + (%s - %s)", x, t, y, t);
  return give(n, 0, a->type, &s, text(n, "%s(%s)", elem_of(a->type)->gc, t));
}

bool onnx_bitwise_not(Node *n) {
  Tensor *v = input(n, 0);
  const Width w = width_of(v->type);
  if (!w.bits) return refuse(n, "bits of this type");
  const char *most = w.is_signed ? "-1" : text(n, "%lld", (1LL << w.bits) - 1);
  return give(n, 0, v->type, &v->shape,
              text(n, "%s(%s - i64(%s))", elem_of(v->type)->gc, most, tensor_text(n, v)));
}

/* By as many bits as the type has, and by more or fewer than none, nothing is left but the sign
   where bits move right. A power of two that the type of 64 bits does not have wraps around. */
bool onnx_bit_shift(Node *n) {
  Tensor *v = input(n, 0), *by = input(n, 1);
  const Width w = width_of(v->type);
  const bool left = strcmp(attr_string(n, "direction", "LEFT"), "LEFT") == 0;
  Shape s;
  if (!w.bits || by->type != v->type) return refuse(n, "bits of this type");
  if (!shapes_broadcast(&v->shape, &by->shape, &s)) return refuse(n, "shapes that do not fit");
  Number *x = ARENA_ARRAY(n->im->a, Number, w.bits + 1);
  for (int i = 0; i < w.bits; i++) x[i].i = (int64_t)(UINT64_C(1) << i);
  Tensor *powers = value_new(n->im, ELEM_I64, &(Shape){.rank = 1, .at = {{.n = w.bits}}});
  powers->known = x, powers->wish = "powers";
  const char *count = let(n, text(n, "i64(%s)", tensor_text(n, by))),
             *p = let(n, text(n, "gather(%s, min(max(%s, 0), %d))", tensor_text(n, powers), count,
                              w.bits - 1)),
             *number = let(n, text(n, "i64(%s)", tensor_text(n, v))), *none = "0", *t;
  if (left) {
    t = text(n, "%s * %s", number, p);
    if (w.bits < 64 && !w.is_signed) t = text(n, "%s %% %lld", t, 1LL << w.bits);
    if (w.bits < 64 && w.is_signed)
      t = text(n, "(%s + %lld) %% %lld - %lld", t, 1LL << (w.bits - 1), 1LL << w.bits,
               1LL << (w.bits - 1));
  } else { /* the power of the sign's bit is negative */
    none = w.is_signed ? text(n, "-i64(%s < 0)", number) : "0";
    t = text(n, "%s // %s", number, p);
    if (w.bits == 64) t = text(n, "where(%s == 63, %s, %s)", count, none, t);
  }
  return give(n, 0, v->type, &s,
              text(n, "%s(where(%s >= 0 and %s < %d, %s, %s))", elem_of(v->type)->gc, count, count,
                   w.bits, t, none));
}
