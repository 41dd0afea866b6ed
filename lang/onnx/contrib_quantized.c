/* Contrib operators on integers: each is the operator of floats between DequantizeLinear and
   QuantizeLinear; products are those of integers.c where it multiplies integers. MatMulNBits has
   gc's own form of quantized matrices. */
#include "lang/onnx/compose.h"

/* Input i with its scale and zero point, the two inputs behind it, as floats. */
static Tensor *floats(Compose *c, int i) {
  Node *n = c->n;
  return compose(c, "DequantizeLinear", IN(input(n, i), input(n, i + 1), input(n, i + 2)),
                 WITH(with_int(c, "axis", -1)));
}

/* Output 0: x in units of a scale; without a zero point in this type. */
static bool quantized(Compose *c, Tensor *x, Tensor *scale, Tensor *zero, int type) {
  return compose_give(
      c, 0,
      compose(c, "QuantizeLinear", IN(x, scale, zero), WITH(with_int(c, "output_dtype", type))));
}

/* The channels of images behind the others, or from there. */
static Tensor *channels_moved(Compose *c, Tensor *x, bool behind) {
  if (!x) return NULL;
  const int rank = x->shape.rank;
  int64_t perm[MOST_RANK] = {0};
  for (int i = 1; i < rank; i++)
    perm[i] = behind ? (i + 1 < rank ? i + 1 : 1) : i == 1 ? rank - 1 : i - 1;
  return compose_transposed(c, x, perm);
}

static Tensor *of_floats(Compose *c, Tensor *x) {
  Node *n = c->n;
  const char *op = n->op + strlen("QLinear");
  const bool moved = attr_int(n, "channels_last", 0) != 0 && x;
  if (strcmp(op, "Add") == 0 || strcmp(op, "Mul") == 0)
    return compose(c, op, IN(x, floats(c, 3)), WITHOUT);
  if (strcmp(op, "ReduceMean") == 0) {
    int64_t axes[2 * MOST_RANK];
    int count = 0;
    if (!attr_ints(n, "axes", axes, &count) || !count)
      return c->failed = !refuse(n, "axes that it does not name"), NULL;
    return compose(c, op, IN(x, compose_ints(c, axes, count)), with_its_own(c));
  }
  if (strcmp(op, "Softmax") == 0 && attr_int(n, "opset", 13) < 13)
    return c->failed = !refuse(n, "several axes as one"), NULL;
  if (moved) x = channels_moved(c, x, false);
  x = compose(c, op, IN(x), with_its_own(c));
  return moved ? channels_moved(c, x, true) : x;
}

/* Of one input or two, with the scale and zero point of the result behind them. */
bool contrib_qlinear(Node *n) {
  Compose c = {.n = n};
  const bool two = strcmp(n->op, "QLinearAdd") == 0 || strcmp(n->op, "QLinearMul") == 0;
  const int of = two ? 6 : 3;
  return quantized(&c, of_floats(&c, floats(&c, 0)), input(n, of), input(n, of + 1),
                   input(n, 0)->type);
}

bool contrib_qlinear_concat(Node *n) {
  Compose c = {.n = n};
  const int count = (n->nin - 2) / 3;
  Tensor **in = ARENA_ARRAY(n->im->a, Tensor *, count + 1);
  if (n->nin % 3 != 2) return refuse(n, "%d inputs", n->nin);
  for (int i = 0; i < count; i++) {
    if (!input(n, 2 + 3 * i) || !input(n, 3 + 3 * i)) return refuse(n, "inputs that are left out");
    in[i] = floats(&c, 2 + 3 * i);
  }
  Tensor *x = compose(&c, "Concat", in, count, with_its_own(&c));
  return quantized(&c, x, input(n, 0), input(n, 1), input(n, 2)->type);
}

bool contrib_qlinear_where(Node *n) {
  Compose c = {.n = n};
  Tensor *x = compose(&c, "Where", IN(input(n, 0), floats(&c, 1), floats(&c, 4)), WITHOUT);
  return quantized(&c, x, input(n, 7), input(n, 8), input(n, 1)->type);
}

/* Integers are converted: pools are of floats. */
bool contrib_nhwc_pool(Node *n) {
  Compose c = {.n = n};
  Tensor *x = input(n, 0);
  const bool integers = !is_float(x);
  const int type = x->type;
  if (integers) x = compose(&c, "Cast", IN(x), WITH(with_int(&c, "to", ELEM_F32)));
  x = compose(&c, "MaxPool", IN(channels_moved(&c, x, false)), with_its_own(&c));
  x = channels_moved(&c, x, true);
  if (integers && x) x = compose(&c, "Cast", IN(x), WITH(with_int(&c, "to", type)));
  return compose_give(&c, 0, x);
}

/* ---- products ---- */

/* The bias is in units of both scales and alpha; without a scale of the result this is a float. */
bool contrib_qgemm(Node *n) {
  Compose c = {.n = n};
  const bool transposed = attr_int(n, "transB", 0) != 0;
  const double alpha = attr_real(n, "alpha", 1);
  Tensor *bias = input(n, 6);
  With axis = with_int(&c, "axis", transposed ? 0 : 1);
  Tensor *a = floats(&c, 0), *b = compose(&c, "DequantizeLinear",
                                          IN(input(n, 3), input(n, 4), input(n, 5)), WITH(axis));
  Tensor *y = compose(&c, "Gemm", IN(a, b), with_its_own(&c));
  if (bias) {
    Tensor *scale = compose(&c, "Mul", IN(input(n, 1), input(n, 4)), WITHOUT);
    bias = compose(&c, "Cast", IN(bias), WITH(with_int(&c, "to", ELEM_F32)));
    bias = compose(&c, "Mul", IN(bias, scale), WITHOUT);
    if (alpha != 1) bias = compose(&c, "Mul", IN(bias, compose_real(&c, ELEM_F32, alpha)), WITHOUT);
    y = compose_sum(&c, y, bias);
  }
  if (!input(n, 7)) return compose_give(&c, 0, y);
  return quantized(&c, y, input(n, 7), input(n, 8), input(n, 0)->type);
}

static bool product(Compose *c, Tensor *q, Tensor *of_q, Tensor *zero_q, Tensor *w, Tensor *of_w,
                    Tensor *zero_w, Tensor *bias) {
  With axis = with_int(c, "axis", -1);
  Tensor *a = compose(c, "DequantizeLinear", IN(q, of_q, zero_q), WITH(axis)),
         *b = compose(c, "DequantizeLinear", IN(w, of_w, zero_w), WITH(axis));
  return compose_give(c, 0, compose_sum(c, compose(c, "MatMul", IN(a, b), WITHOUT), bias));
}

/* Of floats that are quantized as the product is computed. */
bool contrib_dynamic_product(Node *n) {
  Compose c = {.n = n};
  Tensor *x = input(n, 0), *all[3] = {x, x, x};
  compose_all(&c, "DynamicQuantizeLinear", IN(x), WITHOUT, all, 3);
  return product(&c, all[0], all[1], all[2], input(n, 1), input(n, 2), input(n, 3), input(n, 4));
}

bool contrib_integer_product(Node *n) {
  Compose c = {.n = n};
  return product(&c, input(n, 0), input(n, 2), input(n, 4), input(n, 1), input(n, 3), input(n, 5),
                 input(n, 6));
}

const char *contrib_block_zeros(Node *n, const char *zeros, int type, int64_t bits, Axis rows,
                                int64_t blocks, const char *scales, const char *dtype) {
  const char *t = zeros;
  const Shape s = {.rank = 2, .at = {rows, {.n = blocks}}};
  if (type == ELEM_U8 && bits == 4) { /* two in a byte, the first in the low half */
    const Shape all = {.rank = 2, .at = {rows, {.n = (blocks + 1) / 2 * 2}}};
    t = let(n, text(n, "i32(%s)", t));
    t = let(n, reshaped(n, text(n, "stack([%s %% 16, %s // 16], axis = 2)", t, t), &all));
    if (blocks % 2) t = text(n, "%s[:, 0:%lld]", t, (long long)blocks);
  } else {
    t = reshaped(n, t, &s);
  }
  return let(n, text(n, "%s * (%s(%s) - %lld)", scales, dtype, t, 1LL << (bits - 1)));
}

/* The zero points of a matrix; NULL after refusing. */
static const char *zeros_of(Node *n, int64_t bits, int64_t columns, int64_t blocks,
                            const char *scales) {
  Tensor *z = input(n, 3);
  uint64_t count;
  const int64_t row = z->type == ELEM_U8 && bits == 4 ? (blocks + 1) / 2 : blocks;
  if (!shape_count(&z->shape, &count) || count != (uint64_t)columns * (uint64_t)row)
    return refuse(n, "zero points that do not fit"), NULL;
  const Shape packed = {.rank = 2, .at = {{.n = columns}, {.n = row}}};
  return contrib_block_zeros(n, reshaped(n, tensor_text(n, z), &packed), z->type, bits,
                             packed.at[0], blocks, scales, elem_of(input(n, 2)->type)->gc);
}

/* Y = A by integers of 4 or 8 bits, [N, blocks, bytes of a block], with a scale for each block
   along the depth. */
bool contrib_product_of_bits(Node *n) {
  Tensor *x = input(n, 0), *q = input(n, 1), *scale = input(n, 2), *bias = input(n, 5);
  const int64_t depth = attr_int(n, "K", 0), columns = attr_int(n, "N", 0),
                bits = attr_int(n, "bits", 4), block = attr_int(n, "block_size", 0);
  uint64_t bytes, scales;
  if (input(n, 4)) return refuse(n, "groups of rows in an order of their own");
  if ((bits != 4 && bits != 8) || block < 2 || block % 2 || depth < 1 || depth > INT32_MAX ||
      columns < 1 || columns > INT32_MAX || block > INT32_MAX)
    return refuse(n, "integers of %lld bits in blocks of %lld", (long long)bits, (long long)block);
  const int64_t blocks = (depth + block - 1) / block, row = blocks * block * bits / 8;
  if (q->type != ELEM_U8 || !is_float(scale) || !shape_count(&q->shape, &bytes) ||
      bytes != (uint64_t)columns * (uint64_t)row || !shape_count(&scale->shape, &scales) ||
      scales != (uint64_t)columns * (uint64_t)blocks || x->shape.rank < 2 ||
      !dim_same(x->shape.at[x->shape.rank - 1], (Axis){.n = depth}))
    return refuse(n, "shapes that do not fit");
  const Shape matrix = {.rank = 2, .at = {{.n = columns}, {.n = row}}},
              by_block = {.rank = 2, .at = {{.n = columns}, {.n = blocks}}};
  const char *dtype = elem_of(x->type)->gc,
             *integers = let(n, reshaped(n, tensor_text(n, q), &matrix)),
             *of = let(n, reshaped(n, tensor_text(n, scale), &by_block));
  if (bits == 8) integers = let(n, text(n, "i8(i32(%s) - 128)", integers));
  const int64_t stored = bits == 8 ? depth : (depth + 1) / 2;
  if (stored != row) /* what fills the last block */
    integers = let(n, text(n, "%s[:, 0:%lld]", integers, (long long)stored));
  const char *zeros = input(n, 3) ? zeros_of(n, bits, columns, blocks, of) : NULL;
  if (input(n, 3) && !zeros) return false;
  const char *w =
      let(n, text(n, "dequantize(%s, %s, axis = 1, group = %lld, extent = %lld, dtype = %s)",
                  integers, of, (long long)block, (long long)depth, dtype));
  const char *t = tensor_text(n, x), *y = text(n, "%s @ %s'", t, w);
  Shape s = x->shape;
  s.at[s.rank - 1] = (Axis){.n = columns};
  if (zeros) { /* less the sum of each block of x by its zero point */
    Shape parts = x->shape;
    if (parts.rank == MOST_RANK) return refuse(n, "more than %d axes", MOST_RANK);
    parts.at[parts.rank - 1] = (Axis){.n = blocks}, parts.at[parts.rank++] = (Axis){.n = block};
    int64_t before[MOST_RANK] = {0}, behind[MOST_RANK] = {0};
    behind[s.rank - 1] = blocks * block - depth;
    if (behind[s.rank - 1])
      t = text(n, "pad(%s, %s, %s)", t, ints_text(n, before, s.rank), ints_text(n, behind, s.rank));
    y = text(n, "%s - sum(%s, axis = %d) @ %s'", y, reshaped(n, t, &parts), s.rank, zeros);
  }
  if (bias) y = text(n, "%s + %s", y, tensor_text(n, bias));
  return give(n, 0, x->type, &s, y);
}
