/* Norms, and softmax's relatives. */
#include "lang/onnx/graph.h"

static int64_t positive_int(int64_t x) { return x > 0 && x < INT32_MAX ? x : 1; }

/* x as [leading axes, the axes that are normalised]; of leading axes of several bounded dimensions
   the language finds the product */
static bool rows(Node *n, Shape *flat, int *axis) {
  const Shape *s = &input(n, 0)->shape;
  *flat = (Shape){.rank = 2};
  if (!axis_from(n, attr_int(n, "axis", -1), s->rank, axis)) return false;
  if (!dim_product(s, 0, *axis, &flat->at[0])) flat->at[0] = (Axis){.n = -1};
  return dim_product(s, *axis, s->rank, &flat->at[1]) ||
         refuse(n, "axes that cannot be taken together");
}

bool onnx_layer_norm(Node *n) {
  Tensor *v = input(n, 0), *bias = input(n, 2);
  Shape flat, rest = v->shape;
  int axis;
  if (!rows(n, &flat, &axis)) return false;
  const bool rms = strcmp(n->op, "LayerNormalization") != 0;
  if (rms && output(n, 1)) return refuse(n, "statistics as an output");
  const char *x = tensor_text(n, v), *eps = real(n, attr_real(n, "epsilon", 1e-5)),
             *name = rms ? "rms_norm" : "layer_norm";
  bool last = axis == v->shape.rank - 1;
  const char *t =
      last ? text(n, "%s(%s, %s)", name, x, eps)
           : reshaped(n, text(n, "%s(%s, %s)", name, reshaped(n, x, &flat), eps), &v->shape);
  t = text(n, "%s * %s", t, tensor_text(n, input(n, 1)));
  if (bias) t = text(n, "%s + %s", t, tensor_text(n, bias));
  if (!give(n, 0, v->type, &v->shape, t)) return false;
  for (int i = axis; i < rest.rank; i++) rest.at[i] = (Axis){.n = 1};
  x = reshaped(n, x, &flat);
  return give(n, 1, v->type, &rest, reshaped(n, text(n, "mean(%s, axis = 1)", x), &rest)) &&
         give(n, 2, v->type, &rest,
              reshaped(n, text(n, "rsqrt(var(%s, axis = 1) + %s)", x, eps), &rest));
}

/* Statistics of groups of adjacent channels, of each channel, or of none. */
bool onnx_group_norm(Node *n) {
  Tensor *v = input(n, 0);
  int64_t c;
  if (v->shape.rank < 3 || !dim_number(n, v->shape.at[1], &c))
    return refuse(n, "an input without channels, or two axes");
  bool each = strcmp(n->op, "InstanceNormalization") == 0;
  int64_t groups = each ? c : positive_int(attr_int(n, "num_groups", c));
  Shape flat = {.rank = 3, .at = {v->shape.at[0], {.n = groups}}};
  Axis rest;
  if (c % groups) return refuse(n, "groups that do not divide the channels");
  /* of two bounded dimensions the language finds the product */
  if (!dim_product(&v->shape, 2, v->shape.rank, &rest)) rest = (Axis){.n = -1};
  if (rest.n < 0)
    flat.at[2] = rest;
  else if (!dim_times(rest, (Axis){.n = c / groups}, &flat.at[2]))
    return refuse(n, "groups that are too large");
  const char *t = text(n, "layer_norm(%s, %s)", reshaped(n, tensor_text(n, v), &flat),
                       real(n, attr_real(n, "epsilon", 1e-5)));
  t = reshaped(n, t, &v->shape);
  Axis of = input(n, 1)->shape.at[0];
  if (input(n, 1)->shape.rank != 1 || input(n, 2)->shape.rank != 1)
    return refuse(n, "a scale that is no list");
  if (of.n != c) { /* before version 21 one scale for each group */
    const Shape four = {.rank = 4, .at = {v->shape.at[0], {.n = groups}, {.n = c / groups}, rest}};
    t = reshaped(n, t, &four);
    t = text(n, "%s * %s + %s", t, per_channel(n, input(n, 1), 2), per_channel(n, input(n, 2), 2));
    return of.n == groups ? give(n, 0, v->type, &v->shape, reshaped(n, t, &v->shape))
                          : refuse(n, "a scale of another size");
  }
  return give(n, 0, v->type, &v->shape,
              text(n, "%s * %s + %s", t, per_channel(n, input(n, 1), v->shape.rank - 2),
                   per_channel(n, input(n, 2), v->shape.rank - 2)));
}

bool onnx_lp_norm(Node *n) {
  Tensor *v = input(n, 0);
  int64_t p = attr_int(n, "p", 2);
  int axis;
  if (!axis_from(n, attr_int(n, "axis", -1), v->shape.rank, &axis)) return false;
  if (p != 1 && p != 2) return refuse(n, "a norm of order %lld", (long long)p);
  const char *x = tensor_text(n, v),
             *norm = text(n, "sum(abs(%s), axis = %d, keep = true)", x, axis);
  if (p == 2) norm = text(n, "sqrt(sum(%s * %s, axis = %d, keep = true))", x, x, axis);
  norm = let(n, norm);
  return give(n, 0, v->type, &v->shape, text(n, "where(%s == 0, 0, %s / %s)", norm, x, norm));
}

bool onnx_mean_variance(Node *n) {
  Tensor *v = input(n, 0);
  int64_t axes[2 * MOST_RANK] = {0, 2, 3};
  int count = 3, axis;
  if (attr_of(n, "axes") && !attr_ints(n, "axes", axes, &count)) return refuse(n, "too many axes");
  for (int i = 0; i < count; i++)
    if (!axis_from(n, axes[i], v->shape.rank, &axis)) return false;
  const char *x = tensor_text(n, v), *list = ints_text(n, axes, count);
  return give(n, 0, v->type, &v->shape,
              text(n,
                   "(%s - mean(%s, axis = %s, keep = true)) / (sqrt(var(%s, axis = %s, keep = "
                   "true)) + 1e-9)",
                   x, x, list, x, list));
}

bool onnx_lrn(Node *n) {
  Tensor *v = input(n, 0);
  int64_t size = positive_int(attr_int(n, "size", 1));
  Shape s = {.rank = 4, .at = {v->shape.at[0], {.n = 1}, v->shape.at[1]}};
  if (v->shape.rank != 4) return refuse(n, "an input that is no images");
  if (!dim_product(&v->shape, 2, 4, &s.at[3])) s.at[3] = (Axis){.n = -1};
  const char *x = tensor_text(n, v), *square = reshaped(n, text(n, "%s * %s", x, x), &s);
  const char *mean =
      text(n, "avg_pool(%s, [%lld, 1], stride = 1, pad = [%lld, %lld, 0, 0])", square,
           (long long)size, (long long)(size - 1) / 2, (long long)(size - 1 - (size - 1) / 2));
  return give(n, 0, v->type, &v->shape,
              text(n, "%s / (%s + %s * %s) ** %s", x, real(n, attr_real(n, "bias", 1)),
                   real(n, attr_real(n, "alpha", 1e-4)), reshaped(n, mean, &v->shape),
                   real(n, attr_real(n, "beta", 0.75))));
}

bool onnx_hardmax(Node *n) {
  Tensor *v = input(n, 0);
  int axis, last = v->shape.rank - 1;
  bool old = n->version < 13;
  if (!axis_from(n, attr_int(n, "axis", old ? 1 : -1), v->shape.rank, &axis)) return false;
  if (old && axis != last) return refuse(n, "several axes as one");
  int64_t size;
  Shape s = v->shape;
  if (!dim_number(n, s.at[axis], &size)) return false;
  s.at[axis].n = 1;
  const char *at = reshaped(n, text(n, "argmax(%s, axis = %d)", tensor_text(n, v), axis), &s);
  return give(n, 0, v->type, &v->shape,
              text(n, "%s(%s == %s)", elem_of(v->type)->gc, along(n, size, axis, s.rank), at));
}

bool onnx_cross_entropy(Node *n) {
  Tensor *v = input(n, 0), *label = input(n, 1), *weight = input(n, 2);
  bool ignore = attr_of(n, "ignore_index") != NULL,
       logits = strcmp(n->op, "SoftmaxCrossEntropyLoss") == 0;
  const char *how = attr_string(n, "reduction", "mean"),
             *id = text(n, "%lld", (long long)attr_int(n, "ignore_index", 0));
  const Shape *s = &label->shape;
  if (s->rank + 1 != v->shape.rank || s->rank + 1 > MOST_RANK || s->rank < 1)
    return refuse(n, "shapes that do not fit");
  Shape one = {.rank = s->rank + 1, .at = {s->at[0], {.n = 1}}};
  for (int i = 1; i < s->rank; i++) one.at[i + 1] = s->at[i];
  const char *logs = tensor_text(n, v), *ids = tensor_text(n, label);
  if (logits) logs = let(n, text(n, "log_softmax(%s, axis = 1)", logs));
  const char *safe = ignore ? let(n, text(n, "where(%s == %s, 0, %s)", ids, id, ids)) : ids;
  const char *picked =
      reshaped(n, text(n, "take_along(%s, %s, axis = 1)", logs, reshaped(n, safe, &one)), s);
  const char *w =
      weight ? text(n, "gather(%s, %s)", tensor_text(n, weight), safe)
             : text(n, "full(%s, 1, dtype = %s)", shape_text(n->im, s), elem_of(v->type)->gc);
  w = let(n, ignore ? text(n, "where(%s == %s, 0, %s)", ids, id, w) : w);
  const char *loss = text(n, "-%s * %s", picked, w);
  Shape out = *s;
  if (strcmp(how, "none") != 0) {
    out.rank = 0;
    loss =
        strcmp(how, "sum") == 0 ? text(n, "sum(%s)", loss) : text(n, "sum(%s) / sum(%s)", loss, w);
  }
  return give(n, 0, v->type, &out, loss) && give(n, 1, v->type, &v->shape, logs);
}
