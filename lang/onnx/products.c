/* Products of matrices, norms and softmax. */
#include "lang/onnx/graph.h"

bool onnx_matmul(Node *n) {
  Tensor *a = input(n, 0), *b = input(n, 1);
  Shape x = a->shape, y = b->shape, s;
  if (!x.rank || !y.rank) return refuse(n, "a product of scalars");
  bool row = x.rank == 1, column = y.rank == 1;
  if (row) x = (Shape){.rank = 2, .at = {{.n = 1}, x.at[0]}};
  if (column) y = (Shape){.rank = 2, .at = {y.at[0], {.n = 1}}};
  Axis m = x.at[x.rank - 2], k = x.at[x.rank - 1], l = y.at[y.rank - 2], p = y.at[y.rank - 1];
  x.rank -= 2, y.rank -= 2;
  if (!dim_same(k, l) || !shapes_broadcast(&x, &y, &s) || s.rank + 2 > MOST_RANK)
    return refuse(n, "shapes that do not fit");
  if (!row) s.at[s.rank++] = m;
  if (!column) s.at[s.rank++] = p;
  const char *integers = row || column ? NULL : onnx_product_of_quantized(n, a, b, false, &y);
  if (integers) return give(n, 0, a->type, &s, integers);
  return give(n, 0, a->type, &s, text(n, "%s @ %s", tensor_text(n, a), tensor_text(n, b)));
}

bool onnx_gemm(Node *n) {
  Tensor *a = input(n, 0), *b = input(n, 1), *c = input(n, 2);
  bool ta = attr_int(n, "transA", 0) != 0, tb = attr_int(n, "transB", 0) != 0;
  double alpha = attr_real(n, "alpha", 1), beta = attr_real(n, "beta", 1);
  if (a->shape.rank != 2 || b->shape.rank != 2 || !dim_same(a->shape.at[!ta], b->shape.at[tb]))
    return refuse(n, "shapes that do not fit");
  Shape s = {.rank = 2, .at = {a->shape.at[ta], b->shape.at[!tb]}};
  const char *t = ta ? NULL : onnx_product_of_quantized(n, a, b, tb, &s);
  if (!t)
    t = text(n, "%s%s @ %s%s", tensor_text(n, a), ta ? "'" : "", tensor_text(n, b), tb ? "'" : "");
  if (alpha != 1) t = text(n, "%s * (%s)", real(n, alpha), t);
  if (c && beta == 1)
    t = text(n, "%s + %s", t, tensor_text(n, c));
  else if (c)
    t = text(n, "%s + %s * %s", t, real(n, beta), tensor_text(n, c));
  return give(n, 0, a->type, &s, t);
}

bool onnx_batch_norm(Node *n) {
  Tensor *x = input(n, 0);
  const char *eps = real(n, attr_real(n, "epsilon", 1e-5)), *t = tensor_text(n, x);
  const char *scale = tensor_text(n, input(n, 1)), *shift = tensor_text(n, input(n, 2));
  const char *mean = tensor_text(n, input(n, 3)), *var = tensor_text(n, input(n, 4));
  if (x->shape.rank < 2) return refuse(n, "an input without channels");
  if (attr_int(n, "training_mode", 0)) {
    int64_t axes[MOST_RANK] = {0};
    double keep = attr_real(n, "momentum", 0.9);
    for (int i = 2; i < x->shape.rank; i++) axes[i - 1] = i;
    const char *list = ints_text(n, axes, x->shape.rank - 1);
    const char *m = let(n, text(n, "mean(%s, axis = %s)", t, list)),
               *v = let(n, text(n, "var(%s, axis = %s)", t, list));
    for (int i = 0; i < 2; i++)
      if (!give(n, i + 1, x->type, &input(n, i + 3)->shape,
                text(n, "%s * %s + %s * %s", i ? var : mean, real(n, keep), i ? v : m,
                     real(n, 1 - keep))))
        return false;
    mean = m, var = v;
  } else if (output(n, 1)) {
    return refuse(n, "statistics of a batch as outputs of an inference");
  }
  return give(n, 0, x->type, &x->shape,
              text(n, "batch_norm(%s, %s, %s, %s, %s, %s)", t, mean, var, scale, shift, eps));
}

/* Before version 13 the axes from `axis` on count as one. */
bool onnx_softmax(Node *n) {
  Tensor *x = input(n, 0);
  int axis;
  const char *name = strcmp(n->op, "Softmax") == 0 ? "softmax" : "log_softmax",
             *t = tensor_text(n, x);
  bool old = n->version < 13;
  if (!axis_from(n, attr_int(n, "axis", old ? 1 : -1), x->shape.rank, &axis)) return false;
  if (old && axis != x->shape.rank - 1) {
    Shape flat = {.rank = 2};
    if (!dim_product(&x->shape, 0, axis, &flat.at[0]) ||
        !dim_product(&x->shape, axis, x->shape.rank, &flat.at[1]))
      return refuse(n, "axes that cannot be taken together");
    t = text(n, "%s(%s)", name, reshaped(n, t, &flat));
    return give(n, 0, x->type, &x->shape, reshaped(n, t, &x->shape));
  }
  return give(n, 0, x->type, &x->shape, text(n, "%s(%s, axis = %d)", name, t, axis));
}

/* The axes of a result follow from those of the operands by their letters. */
bool onnx_einsum(Node *n) {
  const char *spec = attr_string(n, "equation", ""), *p = spec;
  Axis size[128] = {{.n = 0}};
  int times[128] = {0};
  Shape dots = {0}, s = {0};
  const char *list = "";
  for (int i = 0; i < n->nin; i++) {
    Tensor *v = input(n, i);
    if (!v) return refuse(n, "an operand that is left out");
    int letters = 0, axis = 0;
    for (const char *q = p; *q && *q != ',' && *q != '-'; q++) letters += *q != '.' && *q != ' ';
    for (; *p && *p != ',' && strncmp(p, "->", 2) != 0; p++) {
      unsigned char c = (unsigned char)*p;
      if (*p == ' ') continue;
      if (*p == '.') {
        if (strncmp(p, "...", 3) != 0 || v->shape.rank < letters)
          return refuse(n, "an equation that does not fit");
        Shape own = {.rank = v->shape.rank - letters};
        for (int k = 0; k < own.rank; k++) own.at[k] = v->shape.at[axis++];
        if (!shapes_broadcast(&dots, &own, &dots)) return refuse(n, "shapes that do not fit");
        p += 2;
        continue;
      }
      if (c >= 128 || axis >= v->shape.rank) return refuse(n, "an equation that does not fit");
      if (!times[c]++ || size[c].n == 1) size[c] = v->shape.at[axis];
      axis++;
    }
    if (axis != v->shape.rank) return refuse(n, "an equation that does not fit");
    if (*p == ',') p++;
    list = text(n, "%s, %s", list, tensor_text(n, v));
  }
  bool given = strncmp(p, "->", 2) == 0;
  if (!given) {
    s = dots;
    for (int c = 0; c < 128; c++)
      if (times[c] == 1 && s.rank < MOST_RANK) s.at[s.rank++] = size[c];
  }
  for (p += given ? 2 : 0; given && *p; p++) {
    if (*p == ' ') continue;
    if (strncmp(p, "...", 3) == 0) {
      for (int k = 0; k < dots.rank && s.rank < MOST_RANK; k++) s.at[s.rank++] = dots.at[k];
      p += 2;
      continue;
    }
    if ((unsigned char)*p >= 128 || !times[(unsigned char)*p] || s.rank == MOST_RANK)
      return refuse(n, "an equation that does not fit");
    s.at[s.rank++] = size[(unsigned char)*p];
  }
  if (strpbrk(spec, "\"\\\n")) return refuse(n, "an equation that does not fit");
  return give(n, 0, input(n, 0)->type, &s, text(n, "einsum(\"%s\"%s)", spec, list));
}
