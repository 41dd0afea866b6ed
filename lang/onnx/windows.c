/* Convolutions and pools. Contract: pads of both ends are computed here, whatever auto_pad says.
   Source: the formulas of https://onnx.ai/onnx/operators/onnx__Conv.html and onnx__MaxPool.html. */
#include "lang/onnx/graph.h"

typedef struct Window {
  int rank;
  int64_t kernel[MOST_RANK], stride[MOST_RANK], dilation[MOST_RANK];
  int64_t before[MOST_RANK], after[MOST_RANK]; /* padding */
  int64_t in[MOST_RANK], out[MOST_RANK];       /* extents of the image */
  bool ceil;
} Window;

static bool attr_list(Node *n, const char *name, int count, int64_t otherwise, int64_t *at) {
  int64_t list[2 * MOST_RANK];
  int found;
  for (int i = 0; i < count; i++) at[i] = otherwise;
  if (!attr_of(n, name)) return true;
  if (!attr_ints(n, name, list, &found) || found != count)
    return refuse(n, "%s of another number of axes", name);
  for (int i = 0; i < count; i++) {
    if (list[i] < 0 || list[i] > INT32_MAX)
      return refuse(n, "%s that are negative, or too large", name);
    at[i] = list[i];
  }
  return true;
}

/* Everything but the kernel, which is there. */
static bool window_of(Node *n, Window *w) {
  const Shape *x = &input(n, 0)->shape;
  const char *pad = attr_string(n, "auto_pad", "NOTSET");
  int64_t pads[2 * MOST_RANK];
  w->ceil = attr_int(n, "ceil_mode", 0) != 0;
  if (w->rank < 1 || w->rank > 2 || x->rank != w->rank + 2)
    return refuse(n, "windows over three axes and more");
  if (!attr_list(n, "strides", w->rank, 1, w->stride) ||
      !attr_list(n, "dilations", w->rank, 1, w->dilation) ||
      !attr_list(n, "pads", 2 * w->rank, 0, pads))
    return false;
  for (int i = 0; i < w->rank; i++) {
    if (!dim_number(n, x->at[i + 2], &w->in[i])) return false;
    if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1)
      return refuse(n, "a window without elements");
    int64_t span = (w->kernel[i] - 1) * w->dilation[i] + 1;
    w->before[i] = pads[i], w->after[i] = pads[i + w->rank];
    bool upper = strcmp(pad, "SAME_UPPER") == 0;
    if (strcmp(pad, "VALID") == 0) w->before[i] = w->after[i] = 0;
    if (upper || strcmp(pad, "SAME_LOWER") == 0) {
      w->out[i] = (w->in[i] + w->stride[i] - 1) / w->stride[i];
      int64_t need = (w->out[i] - 1) * w->stride[i] + span - w->in[i];
      if (need < 0) need = 0;
      w->before[i] = upper ? need / 2 : need - need / 2;
      w->after[i] = need - w->before[i];
      continue;
    }
    int64_t room = w->in[i] + w->before[i] + w->after[i] - span;
    if (room < 0) return refuse(n, "a window that is larger than the image");
    w->out[i] = room / w->stride[i] + 1;
    /* a last window that begins behind the image does not count */
    if (w->ceil && room % w->stride[i] && w->out[i] * w->stride[i] < w->in[i] + w->before[i])
      w->out[i]++;
  }
  return true;
}

static const char *options(Node *n, const Window *w, bool dilation) {
  const char *pads = "";
  for (int i = 0; i < w->rank; i++)
    pads = text(n, "%s%s%lld, %lld", pads, i ? ", " : "", (long long)w->before[i],
                (long long)w->after[i]);
  const char *t = text(n, "stride = %s, pad = [%s]", ints_text(n, w->stride, w->rank), pads);
  return dilation ? text(n, "%s, dilation = %s", t, ints_text(n, w->dilation, w->rank)) : t;
}

static Shape windows_shape(const Window *w, Axis batch, int64_t channels) {
  Shape s = {.rank = w->rank + 2, .at = {batch, {.n = channels}}};
  for (int i = 0; i < w->rank; i++) s.at[i + 2].n = w->out[i];
  return s;
}

const char *per_channel(Node *n, Tensor *v, int spatial) {
  Shape s = {.rank = 1 + spatial, .at = {v->shape.at[0]}};
  for (int i = 0; i < spatial; i++) s.at[i + 1].n = 1;
  return reshaped(n, tensor_text(n, v), &s);
}

bool onnx_conv(Node *n) {
  Tensor *x = input(n, 0), *f = input(n, 1), *b = input(n, 2);
  Window w = {.rank = f->shape.rank - 2};
  int64_t filters[MOST_RANK], groups = attr_int(n, "group", 1);
  if (!shape_numbers(n, f, filters)) return false;
  for (int i = 0; i < w.rank; i++) w.kernel[i] = filters[i + 2];
  if (!window_of(n, &w)) return false;
  Shape s = windows_shape(&w, x->shape.at[0], filters[0]);
  const char *t = text(n, "%s(%s, %s, %s%s)", w.rank == 1 ? "conv1d" : "conv2d", tensor_text(n, x),
                       tensor_text(n, f), options(n, &w, true),
                       groups == 1 ? "" : text(n, ", groups = %lld", (long long)groups));
  if (b) t = text(n, "%s + %s", t, per_channel(n, b, w.rank));
  return give(n, 0, x->type, &s, t);
}

static bool pool_window(Node *n, Window *w) {
  w->rank = input(n, 0)->shape.rank - 2;
  if (w->rank < 1 || w->rank > 2) return refuse(n, "windows over three axes and more");
  return attr_list(n, "kernel_shape", w->rank, 0, w->kernel) && window_of(n, w);
}

bool onnx_max_pool(Node *n) {
  Tensor *x = input(n, 0);
  Window w;
  int64_t c;
  if (output(n, 1)) return refuse(n, "the places of the largest as an output");
  if (!pool_window(n, &w) || !dim_number(n, x->shape.at[1], &c)) return false;
  Shape s = windows_shape(&w, x->shape.at[0], c);
  return give(n, 0, x->type, &s,
              text(n, "max_pool(%s, %s, %s%s)", tensor_text(n, x), ints_text(n, w.kernel, w.rank),
                   options(n, &w, true), w.ceil ? ", ceil = true" : ""));
}

bool onnx_average_pool(Node *n) {
  Tensor *x = input(n, 0);
  Window w;
  int64_t c;
  if (!pool_window(n, &w) || !dim_number(n, x->shape.at[1], &c)) return false;
  for (int i = 0; i < w.rank; i++)
    if (w.dilation[i] > 1) return refuse(n, "an average over a window with holes");
  Shape s = windows_shape(&w, x->shape.at[0], c);
  return give(n, 0, x->type, &s,
              text(n, "avg_pool(%s, %s, %s%s, count_include_pad = %s)", tensor_text(n, x),
                   ints_text(n, w.kernel, w.rank), options(n, &w, false),
                   w.ceil ? ", ceil = true" : "",
                   attr_int(n, "count_include_pad", 0) ? "true" : "false"));
}

bool onnx_global_pool(Node *n) {
  Tensor *x = input(n, 0);
  Shape s = x->shape;
  int64_t axes[MOST_RANK];
  int count = s.rank - 2;
  if (count < 1) return refuse(n, "no axes to pool over");
  for (int i = 0; i < count; i++) axes[i] = i + 2, s.at[i + 2] = (Axis){.n = 1};
  return give(n, 0, x->type, &s,
              text(n, "%s(%s, axis = %s, keep = true)",
                   strcmp(n->op, "GlobalMaxPool") == 0 ? "max" : "mean", tensor_text(n, x),
                   ints_text(n, axes, count)));
}

bool onnx_lp_pool(Node *n) {
  Tensor *x = input(n, 0);
  Window w;
  int64_t c, p = attr_int(n, "p", 2), count = 1;
  if (!pool_window(n, &w) || !dim_number(n, x->shape.at[1], &c)) return false;
  for (int i = 0; i < w.rank; i++) {
    if (w.dilation[i] > 1) return refuse(n, "a sum over a window with holes");
    count *= w.kernel[i];
  }
  if (w.ceil) return refuse(n, "a sum over a window that is cut off");
  if (p < 1 || p > 1000) return refuse(n, "a norm of order %lld", (long long)p);
  Shape s = windows_shape(&w, x->shape.at[0], c);
  return give(n, 0, x->type, &s,
              text(n, "(%lld * avg_pool(abs(%s) ** %lld, %s, %s)) ** %s", (long long)count,
                   tensor_text(n, x), (long long)p, ints_text(n, w.kernel, w.rank),
                   options(n, &w, false), real(n, 1 / (double)p)));
}

/* The pads follow from the size of the output where that is given, or the same as the input's. */
static bool transposed_pads(Node *n, Window *w, int64_t *extra) {
  const char *pad = attr_string(n, "auto_pad", "NOTSET");
  int64_t shape[2 * MOST_RANK];
  int count = 0;
  bool lower = strcmp(pad, "SAME_LOWER") == 0, same = lower || strcmp(pad, "SAME_UPPER") == 0;
  bool given = attr_ints(n, "output_shape", shape, &count);
  if (given && count != w->rank && count != w->rank + 2)
    return refuse(n, "an output_shape of other axes");
  for (int i = 0; i < w->rank; i++) {
    int64_t full = (w->in[i] - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
    if (!given && !same) {
      w->out[i] = full + extra[i] - w->before[i] - w->after[i];
      continue;
    }
    w->out[i] = given ? shape[i + count - w->rank] : w->in[i] * w->stride[i];
    int64_t total = full + extra[i] - w->out[i];
    if (total < 0) extra[i] -= total, total = 0;
    w->before[i] = lower ? total - total / 2 : total / 2;
    w->after[i] = total - w->before[i];
  }
  return true;
}

bool onnx_conv_transpose(Node *n) {
  Tensor *x = input(n, 0), *f = input(n, 1), *b = input(n, 2);
  Window w = {.rank = f->shape.rank - 2};
  int64_t filters[MOST_RANK], pads[2 * MOST_RANK], extra[MOST_RANK],
      groups = attr_int(n, "group", 1);
  if (w.rank < 1 || w.rank > 2 || x->shape.rank != w.rank + 2)
    return refuse(n, "windows over three axes and more");
  if (!shape_numbers(n, f, filters) || !attr_list(n, "strides", w.rank, 1, w.stride) ||
      !attr_list(n, "dilations", w.rank, 1, w.dilation) ||
      !attr_list(n, "pads", 2 * w.rank, 0, pads) ||
      !attr_list(n, "output_padding", w.rank, 0, extra))
    return false;
  for (int i = 0; i < w.rank; i++) {
    w.kernel[i] = filters[i + 2];
    w.before[i] = pads[i], w.after[i] = pads[i + w.rank];
    if (!dim_number(n, x->shape.at[i + 2], &w.in[i])) return false;
    if (w.stride[i] < 1 || w.dilation[i] < 1) return refuse(n, "a window without elements");
  }
  if (groups < 1 || groups > INT32_MAX) return refuse(n, "no groups");
  if (!transposed_pads(n, &w, extra)) return false;
  Shape s = windows_shape(&w, x->shape.at[0], filters[1] * groups);
  const char *images = tensor_text(n, x), *taps = tensor_text(n, f);
  if (w.rank == 1) { /* as images of one row */
    Shape row = {.rank = 4, .at = {x->shape.at[0], x->shape.at[1], {.n = 1}, x->shape.at[2]}},
          of = {.rank = 4, .at = {f->shape.at[0], f->shape.at[1], {.n = 1}, f->shape.at[2]}};
    images = reshaped(n, images, &row), taps = reshaped(n, taps, &of);
    w.stride[1] = w.stride[0], w.dilation[1] = w.dilation[0], w.before[1] = w.before[0],
    w.after[1] = w.after[0];
    w.stride[0] = w.dilation[0] = 1, w.before[0] = w.after[0] = 0, extra[1] = extra[0],
    extra[0] = 0;
    w.rank = 2;
  }
  const char *t = text(n, "conv_transpose2d(%s, %s, %s, output_pad = %s, groups = %lld)", images,
                       taps, options(n, &w, true), ints_text(n, extra, 2), (long long)groups);
  t = reshaped(n, t, &s);
  if (b) t = text(n, "%s + %s", t, per_channel(n, b, s.rank - 2));
  return give(n, 0, x->type, &s, t);
}
