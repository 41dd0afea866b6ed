/* Convolutions and pools. Contract: pads of both ends are computed here, whatever auto_pad says. A
   stride divides a bounded axis, so that pads and what is left over are the same in every run.
   Source: the formulas of https://onnx.ai/onnx/operators/onnx__Conv.html and onnx__MaxPool.html. */
#include "lang/onnx/windows.h"

bool window_list(Node *n, const char *name, int count, int64_t otherwise, int64_t *at) {
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

/* Of an axis of `times` a symbol and more, or of a number. */
static int64_t times_of(Axis d) { return d.symbol ? d.n : 0; }
static int64_t rest_of(Axis d) { return d.symbol ? d.more : d.n; }

static Axis axis_like(Axis d, int64_t times, int64_t rest) {
  return d.symbol ? (Axis){.n = times, .symbol = d.symbol, .more = rest} : (Axis){.n = rest};
}

static int64_t floor_over(int64_t x, int64_t by) { return x / by - (x % by < 0); }

static int64_t common_divisor(int64_t x, int64_t y) {
  while (y) {
    const int64_t rest = x % y;
    x = y, y = rest;
  }
  return x;
}

/* The stride takes the same steps whatever the run decides; false after refusing. */
static bool stride_divides(Node *n, Axis d, int64_t stride) {
  if (!d.symbol || d.n % stride == 0) return true;
  const Symbol *s = &n->im->symbols[d.symbol - 1];
  const int64_t times = s->times * (stride / common_divisor(d.n, stride));
  return refuse(n, "a stride of %lld along %s, which needs a multiple, -D '%lld*%s<=%lld'",
                (long long)stride, dim_text(n->im, d), (long long)times, s->wish,
                (long long)(times * ((s->bound * s->times + times - 1) / times)));
}

/* The windows along one axis, and its padding. */
static bool axis_windows(Node *n, Window *w, int i) {
  const char *pad = attr_string(n, "auto_pad", "NOTSET");
  const int64_t stride = w->stride[i], span = (w->kernel[i] - 1) * w->dilation[i] + 1;
  const int64_t times = times_of(w->in[i]), rest = rest_of(w->in[i]);
  int64_t out, at_bound = rest;
  if (!stride_divides(n, w->in[i], stride)) return false;
  if (w->in[i].symbol) at_bound += times * n->im->symbols[w->in[i].symbol - 1].bound;
  const bool upper = strcmp(pad, "SAME_UPPER") == 0;
  if (strcmp(pad, "VALID") == 0) w->before[i] = w->after[i] = 0;
  if (upper || strcmp(pad, "SAME_LOWER") == 0) {
    out = -floor_over(-rest, stride);
    int64_t need = (out - 1) * stride + span - rest;
    if (need < 0) need = 0;
    w->before[i] = upper ? need / 2 : need - need / 2;
    w->after[i] = need - w->before[i];
  } else {
    const int64_t more = w->before[i] + w->after[i] - span, room = rest + more;
    if (at_bound + more < 0) return refuse(n, "a window that is larger than the image");
    out = floor_over(room, stride) + 1;
    /* a last window that begins behind the image does not count */
    if (w->ceil && room - (out - 1) * stride && out * stride < rest + w->before[i]) out++;
  }
  w->out[i] = axis_like(w->in[i], times / stride, out);
  return true;
}

static bool taps_of(Node *n, Window *w, const int64_t *filters) {
  for (int i = 0; i < w->rank; i++) {
    w->kernel[i] = filters[i + 2];
    if (w->kernel[i] > INT32_MAX) return refuse(n, "filters that are too large");
  }
  return true;
}

/* Everything but the kernel, which is there. */
static bool window_of(Node *n, Window *w) {
  const Shape *x = &input(n, 0)->shape;
  int64_t pads[2 * MOST_RANK];
  w->ceil = attr_int(n, "ceil_mode", 0) != 0;
  if (w->rank < 1 || w->rank > 2 || x->rank != w->rank + 2)
    return refuse(n, "windows over three axes and more");
  if (!window_list(n, "strides", w->rank, 1, w->stride) ||
      !window_list(n, "dilations", w->rank, 1, w->dilation) ||
      !window_list(n, "pads", 2 * w->rank, 0, pads))
    return false;
  for (int i = 0; i < w->rank; i++) {
    if (w->kernel[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1)
      return refuse(n, "a window without elements");
    w->in[i] = x->at[i + 2];
    w->before[i] = pads[i], w->after[i] = pads[i + w->rank];
    if (!axis_windows(n, w, i)) return false;
  }
  return true;
}

const char *window_options(Node *n, const Window *w, bool dilation) {
  const char *pads = "";
  for (int i = 0; i < w->rank; i++)
    pads = text(n, "%s%s%lld, %lld", pads, i ? ", " : "", (long long)w->before[i],
                (long long)w->after[i]);
  const char *t = text(n, "stride = %s, pad = [%s]", ints_text(n, w->stride, w->rank), pads);
  return dilation ? text(n, "%s, dilation = %s", t, ints_text(n, w->dilation, w->rank)) : t;
}

static Shape windows_shape(const Window *w, Axis batch, int64_t channels) {
  Shape s = {.rank = w->rank + 2, .at = {batch, {.n = channels}}};
  for (int i = 0; i < w->rank; i++) s.at[i + 2] = w->out[i];
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
  if (!taps_of(n, &w, filters) || !window_of(n, &w)) return false;
  Shape s = windows_shape(&w, x->shape.at[0], filters[0]);
  const char *t = text(n, "%s(%s, %s, %s%s)", w.rank == 1 ? "conv1d" : "conv2d", tensor_text(n, x),
                       tensor_text(n, f), window_options(n, &w, true),
                       groups == 1 ? "" : text(n, ", groups = %lld", (long long)groups));
  if (b) t = text(n, "%s + %s", t, per_channel(n, b, w.rank));
  return give(n, 0, x->type, &s, t);
}

static bool pool_window(Node *n, Window *w) {
  w->rank = input(n, 0)->shape.rank - 2;
  if (w->rank < 1 || w->rank > 2) return refuse(n, "windows over three axes and more");
  return window_list(n, "kernel_shape", w->rank, 0, w->kernel) && window_of(n, w);
}

bool onnx_max_pool(Node *n) {
  Tensor *x = input(n, 0);
  Window w;
  int64_t c;
  if (!pool_window(n, &w) || !dim_number(n, x->shape.at[1], &c)) return false;
  Shape s = windows_shape(&w, x->shape.at[0], c);
  if (output(n, 1) && !give_places_of_largest(n, &w, &s)) return false;
  return give(n, 0, x->type, &s,
              text(n, "max_pool(%s, %s, %s%s)", tensor_text(n, x), ints_text(n, w.kernel, w.rank),
                   window_options(n, &w, true), w.ceil ? ", ceil = true" : ""));
}

static int64_t window_reaches(const Window *w, int i) {
  const int64_t last = (rest_of(w->out[i]) - 1) * w->stride[i] - w->before[i],
                end = last + (w->kernel[i] - 1) * w->dilation[i] + 1 - rest_of(w->in[i]);
  return end < w->after[i] ? w->after[i] : end;
}

/* The sum over each window, with holes or not; what is cut off is 0. */
static const char *window_sums(Node *n, const Window *w, const char *x, const Shape *s) {
  Window all = *w;
  Shape planes = {.rank = w->rank + 2}, taps = planes;
  if (!dim_times(s->at[0], s->at[1], &planes.at[0])) return NULL;
  planes.at[1] = taps.at[0] = taps.at[1] = (Axis){.n = 1};
  for (int i = 0; i < w->rank; i++) {
    planes.at[i + 2] = s->at[i + 2], taps.at[i + 2] = (Axis){.n = w->kernel[i]};
    all.after[i] = window_reaches(w, i);
  }
  return text(n, "%s(%s, ones(%s, dtype = %s), %s)", w->rank == 1 ? "conv1d" : "conv2d",
              reshaped(n, x, &planes), shape_text(n->im, &taps), elem_of(input(n, 0)->type)->gc,
              window_options(n, &all, true));
}

/* How many elements each window has, [1, 1, …], as a sum over ones. */
static const char *window_counts(Node *n, const Window *w, bool padding) {
  Window all = *w;
  Shape one = {.rank = w->rank + 2, .at = {{.n = 1}, {.n = 1}}};
  for (int i = 0; i < w->rank; i++) {
    one.at[i + 2] = w->in[i];
    all.after[i] = window_reaches(w, i);
    if (!padding) continue;
    if (!dim_add(w->in[i], (Axis){.n = w->before[i] + w->after[i]}, 1, &one.at[i + 2])) return NULL;
    all.after[i] -= w->after[i], all.before[i] = 0;
  }
  const char *dtype = elem_of(input(n, 0)->type)->gc;
  const char *ones = text(n, "ones(%s, dtype = %s)", shape_text(n->im, &one), dtype);
  for (int i = 0; i < w->rank; i++) one.at[i + 2] = (Axis){.n = w->kernel[i]};
  return text(n, "%s(%s, ones(%s, dtype = %s), %s)", w->rank == 1 ? "conv1d" : "conv2d", ones,
              shape_text(n->im, &one), dtype, window_options(n, &all, true));
}

bool onnx_average_pool(Node *n) {
  Tensor *x = input(n, 0);
  Window w;
  const bool padding = attr_int(n, "count_include_pad", 0) != 0;
  bool counts = false; /* the run has to count the elements of a window */
  int64_t c;
  if (!pool_window(n, &w) || !dim_number(n, x->shape.at[1], &c)) return false;
  for (int i = 0; i < w.rank; i++) {
    const int64_t end = window_reaches(&w, i);
    counts |= w.dilation[i] > 1 || (w.in[i].symbol && end > (padding ? w.after[i] : 0));
  }
  Shape s = windows_shape(&w, x->shape.at[0], c);
  const char *t = tensor_text(n, x);
  if (!counts)
    return give(n, 0, x->type, &s,
                text(n, "avg_pool(%s, %s, %s%s, count_include_pad = %s)", t,
                     ints_text(n, w.kernel, w.rank), window_options(n, &w, false),
                     w.ceil ? ", ceil = true" : "", padding ? "true" : "false"));
  const char *sums = window_sums(n, &w, t, &x->shape), *many = window_counts(n, &w, padding);
  if (!sums || !many) return refuse(n, "axes that cannot be taken together");
  return give(n, 0, x->type, &s, text(n, "%s / %s", reshaped(n, sums, &s), let(n, many)));
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
  int64_t c, p = attr_int(n, "p", 2);
  if (!pool_window(n, &w) || !dim_number(n, x->shape.at[1], &c)) return false;
  if (p < 1 || p > 1000) return refuse(n, "a norm of order %lld", (long long)p);
  Shape s = windows_shape(&w, x->shape.at[0], c);
  const char *t = text(n, "abs(%s) ** %lld", tensor_text(n, x), (long long)p);
  bool plain = !w.ceil;
  int64_t count = 1;
  for (int i = 0; i < w.rank; i++) plain &= w.dilation[i] == 1, count *= w.kernel[i];
  t = plain ? text(n, "(%lld * avg_pool(%s, %s, %s))", (long long)count, t,
                   ints_text(n, w.kernel, w.rank), window_options(n, &w, false))
            : window_sums(n, &w, t, &x->shape);
  if (!t) return refuse(n, "axes that cannot be taken together");
  return give(n, 0, x->type, &s,
              text(n, "%s ** %s", plain ? t : reshaped(n, t, &s), real(n, 1 / (double)p)));
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
    const int64_t times = times_of(w->in[i]), rest = rest_of(w->in[i]),
                  full = (rest - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1;
    int64_t out = full + extra[i] - w->before[i] - w->after[i];
    if (given || same) out = given ? shape[i + count - w->rank] : rest * w->stride[i];
    if (given && times) return refuse(n, "an output_shape of a bounded dimension");
    w->out[i] = axis_like(w->in[i], times * w->stride[i], out);
    if (!given && !same) continue;
    int64_t total = full + extra[i] - out;
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
  if (!shape_numbers(n, f, filters) || !window_list(n, "strides", w.rank, 1, w.stride) ||
      !window_list(n, "dilations", w.rank, 1, w.dilation) ||
      !window_list(n, "pads", 2 * w.rank, 0, pads) ||
      !window_list(n, "output_padding", w.rank, 0, extra) || !taps_of(n, &w, filters))
    return false;
  for (int i = 0; i < w.rank; i++) {
    w.before[i] = pads[i], w.after[i] = pads[i + w.rank];
    w.in[i] = x->shape.at[i + 2];
    if (w.stride[i] < 1 || w.dilation[i] < 1) return refuse(n, "a window without elements");
    if (w.in[i].n > INT32_MAX) return refuse(n, "images that are too large");
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
  const char *t =
      text(n, "conv_transpose2d(%s, %s, %s, output_pad = %s, groups = %lld)", images, taps,
           window_options(n, &w, true), ints_text(n, extra, 2), (long long)groups);
  t = reshaped(n, t, &s);
  if (b) t = text(n, "%s + %s", t, per_channel(n, b, s.rank - 2));
  return give(n, 0, x->type, &s, t);
}
