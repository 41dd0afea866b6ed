/* Pools the other way: the places of the largest, tensors that are filled by such places, and
   windows that are added up where they lie over each other.
   Source: https://onnx.ai/onnx/operators/onnx__MaxUnpool.html and onnx__Col2Im.html. */
#include "lang/onnx/windows.h"

enum { MOST_TAPS = 1 << 10 };

/* x with what windows reach beside it, which is no place of the largest: bytes are wider here, so
   that it is less than all of them. */
static const char *padded(Node *n, const Window *w, const int64_t *size) {
  Tensor *v = input(n, 0);
  int64_t lo[MOST_RANK] = {0}, hi[MOST_RANK] = {0};
  for (int i = 0; i < w->rank; i++)
    lo[i + 2] = w->before[i], hi[i + 2] = (w->out[i].n - 1) * w->stride[i] +
                                          (w->kernel[i] - 1) * w->dilation[i] + 1 - size[i] -
                                          w->before[i];
  for (int i = 2; i < w->rank + 2; i++)
    if (hi[i] < 0) hi[i] = 0;
  const bool real = is_float(v);
  return let(n, text(n, "pad(%s(%s), %s, %s, %s)", real ? elem_of(v->type)->gc : "i32",
                     tensor_text(n, v), ints_text(n, lo, w->rank + 2),
                     ints_text(n, hi, w->rank + 2), real ? "-inf" : "-129"));
}

bool give_places_of_largest(Node *n, const Window *w, const Shape *s) {
  Tensor *v = input(n, 0);
  int64_t size[MOST_RANK], taps = 1, channels;
  const bool by_column = attr_int(n, "storage_order", 0) != 0;
  for (int i = 0; i < w->rank; i++)
    if (!dim_number(n, w->in[i], &size[i]) || (taps *= w->kernel[i]) > MOST_TAPS)
      return w->in[i].symbol ? false : refuse(n, "places in a window of more than %d", MOST_TAPS);
  if (!dim_number(n, v->shape.at[1], &channels)) return false;
  if (!is_float(v) && v->type != ELEM_U8 && v->type != ELEM_I8)
    return refuse(n, "places of integers of more than 8 bits");
  const char *x = padded(n, w, size), *all = "";
  for (int64_t k = 0; k < taps; k++) {
    const char *part = "";
    for (int i = 0, at = w->rank; i < w->rank; i++, at--) {
      const int64_t tap =
          (at == 2 ? k / w->kernel[1] : k % w->kernel[w->rank - 1]) * w->dilation[i];
      part = text(n, "%s, %lld:%lld:%lld", part, (long long)tap,
                  (long long)(tap + (w->out[i].n - 1) * w->stride[i] + 1), (long long)w->stride[i]);
    }
    all = text(n, "%s%s%s[:, :%s]", all, k ? ", " : "", x, part);
  }
  const char *tap = let(n, text(n, "i64(argmax(stack([%s]), axis = 0))", all)), *flat = "";
  const int rank = w->rank + 2;
  for (int i = 0; i < w->rank; i++) {
    const int axis = by_column ? w->rank - 1 - i : i;
    const char *k = w->rank == 1 ? tap
                    : axis == 0  ? text(n, "%s // %lld", tap, (long long)w->kernel[1])
                                 : text(n, "%s %% %lld", tap, (long long)w->kernel[1]);
    k = text(n, "%s * %lld + i64(%s) * %lld - %lld", k, (long long)w->dilation[axis],
             along(n, w->out[axis].n, axis + 2, rank), (long long)w->stride[axis],
             (long long)w->before[axis]);
    flat = i ? text(n, "(%s) * %lld + %s", flat, (long long)size[axis], k) : k;
  }
  int64_t plane = 1;
  for (int i = 0; i < w->rank; i++) plane *= size[i];
  const char *front = text(n, "(i64(%s) * %lld + i64(%s)) * %lld", along_dim(n, s->at[0], 0, rank),
                           (long long)channels, along(n, channels, 1, rank), (long long)plane);
  return give(n, 1, ELEM_I64, s, text(n, "%s + %s", front, flat));
}

/* The elements at their places, and zeros. */
bool onnx_max_unpool(Node *n) {
  Tensor *v = input(n, 0), *at = input(n, 1);
  int64_t kernel[MOST_RANK], stride[MOST_RANK], pads[2 * MOST_RANK], to[MOST_RANK], d[MOST_RANK],
      lo[MOST_RANK] = {0}, hi[MOST_RANK] = {0};
  const int axes = v->shape.rank - 2;
  int count = -1;
  Shape s = v->shape, given;
  Axis all;
  if (axes < 1 || !shape_same(&v->shape, &at->shape)) return refuse(n, "shapes that do not fit");
  if (!window_list(n, "kernel_shape", axes, 0, kernel) ||
      !window_list(n, "strides", axes, 1, stride) || !window_list(n, "pads", 2 * axes, 0, pads) ||
      !shape_numbers(n, v, d) || !known_ints(n, 2, NULL, to, MOST_RANK, &count))
    return false;
  for (int i = 0; i < axes; i++) {
    if (d[i + 2] > INT32_MAX) return refuse(n, "images that are too large");
    s.at[i + 2].n = (d[i + 2] - 1) * stride[i] + kernel[i] - pads[i] - pads[i + axes];
    if (s.at[i + 2].n < 1) return refuse(n, "a tensor without elements");
  }
  if (!dim_product(&s, 0, s.rank, &all)) return refuse(n, "images that are too large");
  const Shape list = {.rank = 1, .at = {all}};
  const char *t =
      text(n, "scatter(zeros(%s, %s), reshape(%s, [-1]), reshape(%s, [-1]))",
           shape_text(n->im, &list), elem_of(v->type)->gc, tensor_text(n, at), tensor_text(n, v));
  if (count < 0) return give(n, 0, v->type, &s, reshaped(n, t, &s));
  given = s;
  for (int i = 0; i < s.rank && count == s.rank; i++) {
    given.at[i].n = to[i], hi[i] = to[i] - s.at[i].n;
    if (hi[i] < 0) return refuse(n, "an output_shape that is too small");
  }
  if (count != s.rank) return refuse(n, "an output_shape of other axes");
  return give(n, 0, v->type, &given,
              text(n, "pad(%s, %s, %s)", reshaped(n, t, &s), ints_text(n, lo, s.rank),
                   ints_text(n, hi, s.rank)));
}

/* Each window's elements added to an image: what a transposed convolution does by filters that
   take one element each. */
bool onnx_col2im(Node *n) {
  Tensor *v = input(n, 0);
  int64_t size[MOST_RANK], kernel[MOST_RANK], stride[MOST_RANK], apart[MOST_RANK],
      pads[2 * MOST_RANK], d[MOST_RANK], more[2] = {0, 0}, out[2] = {1, 1}, taps = 1;
  int axes, count;
  if (!known_ints(n, 1, NULL, size, MOST_RANK, &axes) ||
      !known_ints(n, 2, NULL, kernel, MOST_RANK, &count))
    return false;
  if (axes < 1 || axes > 2 || count != axes || v->shape.rank != 3)
    return refuse(n, "windows over three axes and more");
  if (!window_list(n, "strides", axes, 1, stride) || !window_list(n, "dilations", axes, 1, apart) ||
      !window_list(n, "pads", 2 * axes, 0, pads) || !shape_numbers(n, v, d))
    return false;
  Window w = {.rank = 2, .stride = {1, 1}, .dilation = {1, 1}, .kernel = {1, 1}};
  for (int i = 0, to = 2 - axes; i < axes; i++, to++) {
    if (size[i] < 1 || size[i] > INT32_MAX || kernel[i] < 1 || kernel[i] > INT16_MAX ||
        stride[i] < 1 || apart[i] < 1)
      return refuse(n, "a window without elements, or a size that is too large");
    const int64_t room = size[i] + pads[i] + pads[i + axes] - (kernel[i] - 1) * apart[i] - 1;
    if (room < 0) return refuse(n, "a window that is larger than the image");
    out[to] = room / stride[i] + 1, more[to] = room % stride[i];
    w.kernel[to] = kernel[i], w.stride[to] = stride[i], w.dilation[to] = apart[i];
    w.before[to] = pads[i], w.after[to] = pads[i + axes];
    taps *= kernel[i];
  }
  Axis planes, windows = {.n = out[0]};
  if (d[1] % taps || !dim_times(windows, (Axis){.n = out[1]}, &windows) || windows.n != d[2] ||
      !dim_times((Axis){.n = d[0]}, (Axis){.n = d[1] / taps}, &planes) || taps > MOST_TAPS)
    return refuse(n, "shapes that do not fit");
  const Shape x = {.rank = 4, .at = {planes, {.n = taps}, {.n = out[0]}, {.n = out[1]}}},
              filters = {.rank = 4,
                         .at = {{.n = taps}, {.n = 1}, {.n = w.kernel[0]}, {.n = w.kernel[1]}}};
  Shape s = {.rank = axes + 2, .at = {v->shape.at[0], {.n = d[1] / taps}}};
  for (int i = 0; i < axes; i++) s.at[i + 2].n = size[i];
  const char *one =
      text(n, "%s(%s == %s)", elem_of(v->type)->gc, along(n, taps, 0, 2), along(n, taps, 1, 2));
  const char *t =
      text(n, "conv_transpose2d(%s, %s, %s, output_pad = %s)", reshaped(n, tensor_text(n, v), &x),
           reshaped(n, one, &filters), window_options(n, &w, true), ints_text(n, more, 2));
  return give(n, 0, v->type, &s, reshaped(n, t, &s));
}
