/* Windows along bounded axes: which of them an op of the program may have. Contract: where an axis
   is k n + m, the result's is (k / stride) n + some more, for each n (ir/op/window.c); other
   strides have no such dim and are refused, as are means that count some pixels of the padding
   behind the image only. */
#include "lang/elab/builtin/windows.h"
#include "lang/elab/elab_impl.h"

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

/* ---- the multiples that strides need ---- */

/* The extent as so many times as large as before. */
static bool multiply(Multiples *m, const char *name, int64_t by) {
  enum { MOST = 1 << 20 }; /* strides of more are none of a net */
  int i = 0;
  while (i < m->n && m->name[i] != name) i++;
  if (i == (int)(sizeof m->name / sizeof *m->name)) return false;
  if (i == m->n) {
    m->name[i] = name, m->factor[i] = m->written[i].times = 1;
    m->n++;
  }
  return !__builtin_mul_overflow(m->factor[i], by, &m->factor[i]) && m->factor[i] <= MOST;
}

static int64_t lacking(const WindowLine *l, const WindowAxis *w) {
  int64_t a = l->times, b = w->stride;
  while (b) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  return w->stride / a;
}

/* "4 * h + 1 <= 49": with the least bound that has room for what the written one has. */
static const char *declaration(Ctx *c, const Multiples *m, int i) {
  const int64_t times = m->factor[i] * m->written[i].times, more = m->written[i].more,
                parts = (m->written[i].bound - more + times - 1) / times;
  const char *text = intern_printf(c, "%lld * %s", (long long)times, m->name[i]);
  if (more) text = intern_printf(c, "%s + %lld", text, (long long)more);
  return intern_printf(c, "%s <= %lld", text, (long long)(parts * times + more));
}

/* Elaborates the program with larger and larger multiples, until all strides along them divide. */
static const char *multiples_hint(Elab *e, const WindowLine *l, const WindowAxis *w) {
  Multiples m = {.entry = e->run->entry->name, .lacks = l->n->name, .by = lacking(l, w)};
  ElabOptions options = *e->options;
  options.multiples = &m;
  options.seen = NULL;
  options.wrong = NULL;
  const Attempt before = ctx_attempt(e->c);
  bool ok = l->n->nfactors == 1;
  while (ok && m.lacks) {
    ok = multiply(&m, m.lacks, m.by);
    m.lacks = NULL;
    Module *made = ok ? elaborate(e->c, e->program, &options) : NULL;
    if (made) module_free(made);
  }
  ctx_attempt_end(e->c, &before);
  if (!ok) return NULL;
  const char *all = "";
  for (int i = 0; i < m.n; i++)
    all = intern_printf(e->c, "%s%s%s", all, i ? ", " : "", declaration(e->c, &m, i));
  return intern_printf(e->c, "declare %s that all strides divide: %s",
                       m.n > 1 ? "multiples" : "a multiple", all);
}

/* ---- */

/* Why the windows of an op have no axis; NULL: they have one. */
static const char *misfit(Elab *e, OpKind k, const Attr *attr, int64_t axis, const WindowLine *l,
                          const WindowAxis *w, int j, const char **hint) {
  Ctx *c = e->c;
  const int64_t reach = (w->taps - 1) * w->dilation;
  if (!l->n) return "needs an extent of an input, its multiple, or some more";
  if (k == OP_CONV_INPUT_GRAD) return NULL;
  if (l->times % w->stride) {
    Multiples *m = e->options->multiples;
    if (!m)
      *hint = multiples_hint(e, l, w);
    else if (!m->lacks && l->n->nfactors == 1 && e->run->entry->name == m->entry)
      m->lacks = l->n->name, m->by = lacking(l, w);
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

/* Where no extent gives the number of windows: there is room for none, or for one alone. */
static const char *too_narrow(Ctx *c, const WindowLine *l, const WindowAxis *w, const char **hint) {
  const int64_t reach = (w->taps - 1) * w->dilation, have = l->times * l->n->bound + l->more;
  *hint = "declare a larger bound, or the size itself";
  if (have + w->lo + w->hi > reach) return "has room for one window alone at its bound";
  return intern_printf(c, "has no room for a window of %lld: at its bound it has %lld%s",
                       (long long)(reach + 1), (long long)have,
                       w->lo + w->hi ? " and padding" : "");
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

bool windows_fit(BuiltinCall *s, OpKind k, Val x, const Type *filters, const Attr *attr, int axes,
                 const int64_t *more, int64_t *image) {
  Elab *e = s->e;
  const Type *t = x.tensor.type;
  const bool fits = t->rank == 2 + axes && (!filters || filters->rank == t->rank);
  for (int i = 0; fits && i < axes; i++) {
    if (!type_extent(t, 2 + i)) continue;
    const char *hint = NULL;
    const int64_t of = type_axis(t, 2 + i);
    const WindowLine l = window_line(e->c, of);
    const WindowAxis w = window_of(k, attr, filters, axes, i);
    if (!is_sound(&w)) continue;
    const char *why = misfit(e, k, attr, of, &l, &w, 2 - axes + i, &hint);
    if (!why) {
      const int64_t axis =
          more ? window_axis_in(e->c, &l, &w, more[i]) : window_axis_out(e->c, &l, &w);
      if (!axis && more) why = "has no size that an extent gives";
      if (!axis && !more) why = too_narrow(e->c, &l, &w, &hint);
      if (more && axis) image[2 + i] = axis;
    }
    if (why) return refused(s, x, 2 + i, why, hint);
  }
  return true;
}
