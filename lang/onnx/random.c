/* Random numbers: functions of the program's seed, the step and their place, as all of gc's are. A
   seed in the model is not read. */
#include "lang/onnx/graph.h"

static bool drawn(Node *n, int type, const Shape *s, const char *draw) {
  if (!elem_of(type)->gc) return refuse(n, "random numbers of this type");
  return give(n, 0, type, s, text(n, "%s(%s)", elem_of(type)->gc, draw));
}

bool onnx_random(Node *n) {
  const bool normal = strncmp(n->op, "RandomNormal", 12) == 0;
  Tensor *like = input(n, 0);
  int64_t dims[2 * MOST_RANK];
  int count;
  Shape s;
  if (like) {
    s = like->shape;
  } else {
    if (!attr_ints(n, "shape", dims, &count) || count > MOST_RANK) return refuse(n, "no shape");
    s = shape_of(count, dims);
  }
  const int type = (int)attr_int(n, "dtype", like ? like->type : ELEM_F32);
  const double a = normal ? attr_real(n, "mean", 0) : attr_real(n, "low", 0),
               b = normal ? attr_real(n, "scale", 1) : attr_real(n, "high", 1);
  if (!elem_of(type)->is_float) return refuse(n, "random numbers of this type");
  return drawn(n, type, &s,
               text(n, "%s(%s, %s, %s)", normal ? "normal" : "uniform", real(n, a), real(n, b),
                    shape_text(n->im, &s)));
}

/* true with the probability that each element is */
bool onnx_bernoulli(Node *n) {
  Tensor *v = input(n, 0);
  if (!is_float(v)) return refuse(n, "probabilities that are integers");
  return drawn(
      n, (int)attr_int(n, "dtype", v->type), &v->shape,
      text(n, "uniform(0, 1, %s) < f32(%s)", shape_text(n->im, &v->shape), tensor_text(n, v)));
}

/* Classes of rows of logarithms of probabilities. */
bool onnx_multinomial(Node *n) {
  Tensor *v = input(n, 0);
  const int64_t count = attr_int(n, "sample_size", 1);
  const int type = (int)attr_int(n, "dtype", ELEM_I32);
  if (v->shape.rank != 2 || !is_float(v)) return refuse(n, "shapes that do not fit");
  if (count < 1 || count > INT32_MAX) return refuse(n, "%lld samples", (long long)count);
  const Shape one = {.rank = 3, .at = {v->shape.at[0], {.n = 1}, v->shape.at[1]}},
              all = {.rank = 3, .at = {v->shape.at[0], {.n = count}, v->shape.at[1]}},
              s = {.rank = 2, .at = {v->shape.at[0], {.n = count}}};
  return drawn(n, type, &s,
               text(n, "categorical(broadcast(f32(%s), %s))", reshaped(n, tensor_text(n, v), &one),
                    shape_text(n->im, &all)));
}
