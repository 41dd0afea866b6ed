/* Windows along bounded axes. An image is padded up to the bound with what changes no result: zeros
   for sums, the lowest number for a maximum. The op is that of the bound, and of its result what a
   run has is taken. So bits are those of the program compiled for the extent, wherever the order of
   a sum follows from no extent.
   Contract: where an axis is k n + m, the result's is (k / stride) n + some more, for each n; other
   strides have no such dim and are refused, as are means that count some pixels of the padding
   behind the image only. A run whose image is shorter than the window has no result. */
#include "ir/op/window.h"
#include "lang/elab/builtin/windows.h"

#include <math.h>

/* Of how many elements an axis is, at each n: times n + more. */
typedef struct Line {
  const Extent *n; /* NULL: it is none */
  int64_t times, more;
} Line;

static Line line_of(Ctx *c, int64_t axis) {
  Line l = {.n = axis_extent(c, axis), .times = axis_multiple(axis)};
  int64_t of;
  if (axis_is_more(c, axis, &of, &l.more)) l.n = axis_extent(c, of), l.times = axis_multiple(of);
  if (l.n->whole) l.n = NULL;
  return l;
}

static int64_t quotient_down(int64_t n, int64_t by) { return n / by - (n % by < 0); }

/* The axis of the windows; 0: it is no dim. */
static int64_t axis_of_windows(Ctx *c, const Line *l, const WindowAxis *w) {
  const int64_t room = l->more + w->lo + w->hi - (w->taps - 1) * w->dilation - 1;
  return axis_and_more(c, axis_of_extent(l->n, l->times / w->stride),
                       quotient_down(room, w->stride) + 1);
}

/* The axis of the image that has these windows; 0: it is no dim. */
static int64_t axis_of_image(Ctx *c, const Line *l, const WindowAxis *w, int64_t more) {
  const int64_t reach = (w->taps - 1) * w->dilation;
  const int64_t all = axis_product(c, axis_of_extent(l->n, l->times), w->stride);
  return !all ? 0
              : axis_and_more(c, all, (l->more - 1) * w->stride - w->lo - w->hi + reach + more + 1);
}

static bool refused(BuiltinCall *s, Val x, int axis, const char *why, const char *hint) {
  Elab *e = s->e;
  elab_error(e, s->loc, "%s along axis %d of %s %s", s->name, axis, val_str(e, x), why);
  if (hint) elab_hint(e, "%s", hint);
  elab_note_tensor(e, "it", x);
  elab_trace(e);
  return false;
}

static const char *per(Ctx *c, const char *format, int64_t n) {
  return intern_printf(c, format, (long long)n);
}

/* Why the windows of an op have no axis; NULL: they have one. */
static const char *misfit(Ctx *c, OpKind k, const Attr *attr, int64_t axis, const Line *l,
                          const WindowAxis *w, int j, const char **hint) {
  const int64_t reach = (w->taps - 1) * w->dilation;
  if (!l->n) return "needs an extent of an input, its multiple, or some more";
  if (k == OP_CONV_INPUT_GRAD) return NULL;
  if (l->times % w->stride) {
    *hint =
        intern_printf(c, "declare a multiple: of an input that is %lld * %s this is one",
                      (long long)(w->stride * l->times), l->n->nfactors == 1 ? l->n->name : "n");
    return per(c, "has stride %lld, and is no multiple of that", w->stride);
  }
  if (k == OP_AVG_POOL && attr[AT_COUNT].ints->at[2 * j + 1] != w->hi) {
    *hint = "pad = 0, or count_include_pad = true without ceil";
    return "would divide by numbers of pixels that are known only at run time";
  }
  const bool padded = w->lo + w->hi > 0;
  if (k != OP_CONV && padded && w->dilation > 1 && axis_may_lack(c, axis, w->dilation))
    return per(c, "needs at least %lld elements, or windows of nothing but padding are among them",
               w->dilation);
  if (axis_may_lack(c, axis, 1) && w->lo + w->hi > reach)
    return "needs an element, or there are windows of nothing but padding";
  return NULL;
}

static int64_t least_integer(Dtype dt) {
  if (dt == DT_U8 || dt == DT_BOOL) return 0;
  return dt == DT_I8 ? INT8_MIN : dt == DT_I32 ? INT32_MIN : INT64_MIN;
}

/* What stands behind the image. */
static Attr behind(OpKind k, Dtype dt) {
  if (k != OP_MAX_POOL) return (Attr){0};
  return dtype_is_float(dt) ? (Attr){.f = -INFINITY} : (Attr){.i = least_integer(dt)};
}

static WindowAxis window_of(OpKind k, const Attr *attr, const Type *filters, int axes, int i) {
  const int j = 2 - axes + i;
  const Ints *dilation = k == OP_AVG_POOL ? NULL : attr[AT_DILATION].ints;
  return (WindowAxis){.taps = filters ? filters->dim[2 + i] : attr[AT_WINDOW].ints->at[j],
                      .stride = attr[AT_STRIDE].ints->at[j],
                      .dilation = dilation ? dilation->at[j] : 1,
                      .lo = attr[AT_PAD].ints->at[2 * j],
                      .hi = attr[AT_PAD].ints->at[2 * j + 1]};
}

/* Numbers that the op's shape rule takes; others it refuses. */
static bool is_sound(const WindowAxis *w) {
  const int64_t most = INT32_MAX;
  return w->stride >= 1 && w->stride <= most && w->dilation >= 1 && w->taps >= 1 &&
         w->taps <= most && (w->taps - 1) <= most / w->dilation && w->lo >= 0 && w->lo <= most &&
         w->hi >= 0 && w->hi <= most;
}

bool windows_to_bound(BuiltinCall *s, OpKind k, Val *x, const Type *filters, const Attr *attr,
                      BoundedWindows *b) {
  Elab *e = s->e;
  const Val image = *x;
  const Type *t = image.tensor.type;
  const bool fits = t->rank == 2 + b->axes && (!filters || filters->rank == t->rank);
  for (int i = 0; fits && i < b->axes; i++) {
    if (!type_extent(t, 2 + i)) continue;
    const char *hint = NULL;
    const int64_t of = type_axis(t, 2 + i);
    const Line l = line_of(e->c, of);
    const WindowAxis w = window_of(k, attr, filters, b->axes, i);
    if (!is_sound(&w)) continue;
    const char *why = misfit(e->c, k, attr, of, &l, &w, 2 - b->axes + i, &hint);
    if (!why) {
      b->axis[i] = k == OP_CONV_INPUT_GRAD ? axis_of_image(e->c, &l, &w, b->more[i])
                                           : axis_of_windows(e->c, &l, &w);
      if (!b->axis[i]) why = "has room for at most one window at its bound";
    }
    if (why) return refused(s, image, 2 + i, why, hint);
    x->tensor.id = build_filled(elab_at(e, s->loc), x->tensor.id, 2 + i, behind(k, t->dtype));
    x->tensor.type = value_type(e->run->entry, x->tensor.id);
  }
  return true;
}

Val windows_of_run(BuiltinCall *s, Val y, const BoundedWindows *b) {
  Elab *e = s->e;
  for (int i = 0; y.kind != VAL_ERROR && i < b->axes; i++)
    if (b->axis[i])
      y = val_tensor(e, build_slice(elab_at(e, s->loc), y.tensor.id, 2 + i, 0, b->axis[i]));
  return y;
}
