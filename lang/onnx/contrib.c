/* Contrib operators of ONNX Runtime that are several of ONNX's in one: products, activations and
   norms with what stands before or behind them. contrib_attention.c has attention,
   contrib_quantized.c integers. */
#include "lang/onnx/compose.h"

Tensor *compose_sum(Compose *c, Tensor *a, Tensor *b) {
  return b ? compose(c, "Add", IN(a, b), WITHOUT) : a;
}

bool contrib_bias_gelu(Node *n) {
  Compose c = {.n = n};
  const bool fast = strcmp(n->op, "FastGelu") == 0;
  Tensor *x = compose_sum(&c, input(n, 0), input(n, 1));
  return compose_give(
      &c, 0,
      compose(&c, "Gelu", IN(x), WITH(with_string(&c, "approximate", fast ? "tanh" : "none"))));
}

bool contrib_quick_gelu(Node *n) {
  Compose c = {.n = n};
  const double alpha = attr_real(n, "alpha", 1.702);
  return compose_give(&c, 0,
                      compose(&c, "Swish", IN(input(n, 0)), WITH(with_real(&c, "alpha", alpha))));
}

/* ---- products ---- */

/* The first axis behind those of the batch, if it stands before them, and the last two exchanged.
 */
static Tensor *turned(Compose *c, Tensor *v, bool batch, bool matrix) {
  const int rank = v->shape.rank;
  int64_t perm[MOST_RANK];
  if (rank < 2 || (!batch && !matrix)) return v;
  for (int i = 0; i < rank; i++) perm[i] = i;
  if (batch) {
    for (int i = 0; i < rank - 2; i++) perm[i] = i + 1;
    perm[rank - 2] = 0;
  }
  if (matrix) {
    const int64_t last = perm[rank - 1];
    perm[rank - 1] = perm[rank - 2], perm[rank - 2] = last;
  }
  return compose_transposed(c, v, perm);
}

bool contrib_fused_matmul(Node *n) {
  Compose c = {.n = n};
  Tensor *a = turned(&c, input(n, 0), attr_int(n, "transBatchA", 0), attr_int(n, "transA", 0));
  Tensor *b = turned(&c, input(n, 1), attr_int(n, "transBatchB", 0), attr_int(n, "transB", 0));
  Tensor *y = compose(&c, "MatMul", IN(a, b), WITHOUT);
  const double alpha = attr_real(n, "alpha", 1);
  if (y && alpha != 1) y = compose(&c, "Mul", IN(y, compose_real(&c, y->type, alpha)), WITHOUT);
  return compose_give(&c, 0, y);
}

/* The activation that the node names, with its numbers. */
static Tensor *activated(Compose *c, Tensor *x, const double *p, int count) {
  static const struct {
    const char *op, *with[2];
  } of[] = {{"Relu", {NULL}},
            {"Tanh", {NULL}},
            {"Sigmoid", {NULL}},
            {"HardSwish", {NULL}},
            {"LeakyRelu", {"alpha"}},
            {"Elu", {"alpha"}},
            {"ThresholdedRelu", {"alpha"}},
            {"HardSigmoid", {"alpha", "beta"}}};
  const char *op = attr_string(c->n, "activation", "");
  if (!*op || c->failed) return x;
  if (strcmp(op, "Clip") == 0 && count == 2)
    return compose(c, op, IN(x, compose_real(c, x->type, p[0]), compose_real(c, x->type, p[1])),
                   WITHOUT);
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    if (strcmp(of[i].op, op) != 0) continue;
    With with[3] = {NULL};
    for (int k = 0; k < 2 && k < count && of[i].with[k]; k++)
      with[k] = with_real(c, of[i].with[k], p[k]);
    return compose(c, op, IN(x), with);
  }
  c->failed = true;
  return refuse(c->n, "the activation %s", op), NULL;
}

bool contrib_fused_gemm(Node *n) {
  Compose c = {.n = n};
  const double p[] = {attr_real(n, "activation_alpha", 0), attr_real(n, "activation_beta", 0)};
  const int count = !attr_of(n, "activation_alpha") ? 0 : attr_of(n, "activation_beta") ? 2 : 1;
  Tensor *y = compose(&c, "Gemm", IN(input(n, 0), input(n, 1), input(n, 2)), with_its_own(&c));
  return compose_give(&c, 0, activated(&c, y, p, count));
}

bool contrib_fused_conv(Node *n) {
  Compose c = {.n = n};
  const Onnx__AttributeProto *params = attr_of(n, "activation_params");
  double p[2] = {0};
  int count = 0;
  for (; params && count < 2 && (size_t)count < params->n_floats; count++)
    p[count] = (double)params->floats[count];
  Tensor *y = compose(&c, "Conv", IN(input(n, 0), input(n, 1), input(n, 2)), with_its_own(&c));
  return compose_give(&c, 0, activated(&c, compose_sum(&c, y, input(n, 3)), p, count));
}

/* ---- norms ---- */

static With epsilon(Compose *c) {
  return with_real(c, "epsilon", attr_real(c->n, "epsilon", 1e-12));
}

/* The norm of the sum of an input, a skip connection and a bias. */
bool contrib_skip_norm(Node *n) {
  Compose c = {.n = n};
  const bool rms = strcmp(n->op, "SkipSimplifiedLayerNormalization") == 0;
  Tensor *beta = rms ? NULL : input(n, 3), *bias = input(n, rms ? 3 : 4);
  if (output(n, 1) || output(n, 2)) return refuse(n, "statistics of a training as outputs");
  Tensor *sum = compose_sum(&c, compose_sum(&c, input(n, 0), input(n, 1)), bias);
  Tensor *y = compose(&c, rms ? "RMSNormalization" : "LayerNormalization",
                      IN(sum, input(n, 2), beta), WITH(epsilon(&c)));
  return compose_give(&c, 0, y) && compose_give(&c, 3, sum);
}

/* The norm of the sum of rows of three tables, by words, places and segments. */
bool contrib_embed_norm(Node *n) {
  Compose c = {.n = n};
  Tensor *ids = input(n, 0), *segments = input(n, 1), *mask = input(n, 7), *places = input(n, 8);
  if (ids->shape.rank != 2 || !input(n, 2) || !input(n, 3) || !input(n, 5) ||
      (segments && !input(n, 4)) || (mask && mask->shape.rank != 2))
    return refuse(n, "shapes that do not fit");
  const Axis batch = ids->shape.at[0], length = ids->shape.at[1];
  if (!places)
    places = compose_value(&c, ELEM_I32, &(Shape){.rank = 1, .at = {length}},
                           text(n, "iota(%s)", dim_text(n->im, length)));
  Tensor *sum = compose_sum(&c, compose(&c, "Gather", IN(input(n, 2), ids), WITHOUT),
                            compose(&c, "Gather", IN(input(n, 3), places), WITHOUT));
  if (segments)
    sum = compose_sum(&c, sum, compose(&c, "Gather", IN(input(n, 4), segments), WITHOUT));
  Tensor *y =
      compose(&c, "LayerNormalization", IN(sum, input(n, 5), input(n, 6)), WITH(epsilon(&c)));
  const Shape rows = {.rank = 1, .at = {batch}};
  Tensor *lengths = NULL;
  if (output(n, 1))
    lengths = compose_value(&c, ELEM_I32, &rows,
                            mask ? text(n, "sum(%s, axis = 1)", tensor_text(n, mask))
                                 : text(n, "zeros(%s, i32)", shape_text(n->im, &rows)));
  return compose_give(&c, 0, y) && (!lengths || compose_give(&c, 1, lengths)) &&
         compose_give(&c, 2, sum);
}
