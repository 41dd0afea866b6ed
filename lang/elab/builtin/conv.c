/* Built-in functions over windows of images: convolutions and pools.
   Contract: an argument is one number for both axes or [rows, columns]. Images are [N, C, H, W];
   [N, C, L], with one axis, is an image of one row. Padding is a number, [rows, columns], [top,
   bottom, left, right], "valid" for none, or "same": (taps - 1) dilation in all, the odd one after,
   so the result's extent is ceil(extent / stride). */
#include "lang/elab/builtin/windows.h"
#include "lang/syntax/hints.h"

enum { AXES = 2 };

typedef struct Pads {
  int64_t at[2 * AXES]; /* top, bottom, left, right */
} Pads;

/* Numbers for rows and columns; over one axis there is one number, and rows have `rows`. */
static bool per_axis(BuiltinCall *s, const char *name, int axes, int64_t rows, int64_t out[AXES]) {
  const ValList *l = arg(s, name).list; /* of the kind ints */
  if (l->n == axes || l->n == 1) {
    out[0] = axes == 1 ? rows : l->at[0].i;
    out[1] = l->at[l->n - 1].i;
    return true;
  }
  elab_fail(s->e, arg_loc(s, name),
            axes == 1 ? "%s needs one number for '%s', found %d"
                      : "%s needs one number or [rows, columns] for '%s', found %d numbers",
            s->name, name, l->n);
  return false;
}

static int64_t same_pad(int64_t taps, int64_t dilation) {
  int64_t total;
  return __builtin_mul_overflow(taps - 1, dilation, &total) ? INT64_MAX : total;
}

static bool pads(BuiltinCall *s, int axes, const int64_t taps[AXES], const int64_t dilation[AXES],
                 Pads *out) {
  Elab *e = s->e;
  *out = (Pads){0};
  Val v = arg(s, "pad");
  Loc loc = arg_loc(s, "pad");
  if (v.kind == VAL_STR) {
    bool same = strcmp(v.str, "same") == 0;
    if (!same && strcmp(v.str, "valid") != 0) {
      elab_fail(e, loc, "%s knows the paddings \"same\" and \"valid\", not \"%s\"", s->name, v.str);
      return false;
    }
    for (int i = 0; same && i < AXES; i++) {
      int64_t total = same_pad(taps[i], dilation[i]);
      out->at[2 * i] = total / 2;
      out->at[2 * i + 1] = total - total / 2;
    }
    return true;
  }
  const Ints *l = val_to_ints(e, v, INT64_MIN, intern_printf(e->c, "'pad' of %s", s->name), loc);
  if (!l) return false;
  if (axes == 1 && l->n <= 2) {
    out->at[2] = l->at[0];
    out->at[3] = l->at[l->n - 1];
    return true;
  }
  if (axes == 1 || (l->n != 1 && l->n != 2 && l->n != 4)) {
    elab_fail(e, loc, "%s needs %s for 'pad', found %d numbers", s->name,
              axes == 1 ? "one number or [before, after]"
                        : "one number, [rows, columns] or [top, bottom, left, right]",
              l->n);
    return false;
  }
  for (int i = 0; i < 4; i++) out->at[i] = l->at[l->n == 4 ? i : l->n == 2 ? i / 2 : 0];
  return true;
}

static const Ints *ints(BuiltinCall *s, const int64_t *at, int n) {
  return intern_ints(s->e->c, at, n);
}

/* ---- convolutions ---- */

/* Of a filter argument of rank 2 + axes; other ranks are the shape rule's to refuse. */
static void taps_of(const Type *w, int axes, int64_t taps[AXES]) {
  taps[0] = taps[1] = 1;
  for (int i = 0; w->rank == 2 + axes && i < axes; i++) taps[AXES - axes + i] = w->dim[2 + i];
}

/* x with an axis of extent 1 before the last, or without. */
static Val with_row(BuiltinCall *s, Val x, bool with) {
  const Type *t = x.tensor.type;
  int64_t *dim = ARENA_ARRAY(s->e->a, int64_t, t->rank + 2);
  int n = 0;
  for (int i = 0; i < t->rank; i++) {
    if (with && i == t->rank - 1) dim[n++] = 1;
    if (!with && i == t->rank - 2) continue;
    dim[n++] = type_axis(t, i);
  }
  Val y = val_tensor(
      s->e, build_reshape(elab_at(s->e, s->loc), x.tensor.id, type_get(s->e->c, t->dtype, n, dim)));
  y.loc = x.loc;
  return y;
}

/* The text with `new` in place of each `old`. */
static const char *replaced(Elab *e, const char *text, const char *old, const char *new) {
  const char *found;
  size_t n = strlen(old);
  for (size_t at = 0; *old && (found = strstr(text + at, old)) != NULL;) {
    size_t head = (size_t)(found - text);
    text = intern_printf(e->c, "%.*s%s%s", (int)head, text, new, found + n);
    at = head + strlen(new);
  }
  return text;
}

/* An op over images, of operands that the user wrote as `own`. Over one axis these are images of
   one row, and what is said of them is said of `own`. */
static Val over_images(BuiltinCall *s, OpKind k, const Val *own, int n, const Attr *attr,
                       int axes) {
  Elab *e = s->e;
  if (axes == 2) return build_checked(e, k, own, n, attr, NULL, s->name, s->loc);
  Val image[2];
  const Type *type[2];
  char why[WHY_BYTES];
  for (int i = 0; i < n; i++) image[i] = with_row(s, own[i], true), type[i] = image[i].tensor.type;
  if (op_shape(e->c, k, type, n, attr, NULL, why)) {
    Val y = build_checked(e, k, image, n, attr, NULL, s->name, s->loc);
    return y.kind == VAL_ERROR ? y : with_row(s, y, false);
  }
  const char *text = replaced(e, without_op(k, why), " columns", " places");
  text = replaced(e, text, " axis 3", " axis 2");
  for (int i = 0; i < n; i++)
    text = replaced(e, text, type_text(e->c, type[i]), type_text(e->c, own[i].tensor.type));
  elab_error(e, s->loc, "%s %s", s->name, text);
  for (int i = 0; i < n; i++)
    elab_note_tensor(e, n == 1 ? "it" : i ? "the second" : "the first", own[i]);
  hint_of_one_dtype(e, k, image, n, attr, NULL);
  return elab_trace(e);
}

/* conv(x, 16, 32, 3) of the layer whose frame this is: with the order of other libraries (channels,
   filters, taps), 32 is the number of taps, and 3 the stride. Only a stride of 3, 5 or more that is
   odd, below an even number of taps from 8 on, with as many filters as channels, and without its
   name makes that likely; with its name it is meant. */
static void check_order(Elab *e, const Type *x, const Frame *layer) {
  enum { TAPS_FROM = 8, STRIDE_FROM = 3 };
  const char *const names[] = {"x", "out", "k", "stride"};
  const Func *f = layer->env->func;
  int64_t n[4] = {0};
  if (!f || !f->prelude || f->decl->function.n < 4 || layer->n < 4) return;
  for (int i = 0; i < 4; i++) {
    const Actual *a = &layer->arg[i];
    if (strcmp(f->decl->function.params[i].name.name, names[i]) != 0 || a->name.name) return;
    if (i && a->v.kind != VAL_INT) return;
    if (i) n[i] = a->v.i;
  }
  if (x->rank < 2 || n[1] != x->dim[1] || n[2] < TAPS_FROM || n[2] % 2 || n[3] < STRIDE_FROM ||
      n[3] % 2 == 0 || n[3] >= n[2])
    return;
  elab_warning(e, layer->user, "%s has %lld filters of %lld x %lld taps here, with stride %lld",
               f->name, (long long)n[1], (long long)n[2], (long long)n[2], (long long)n[3]);
  elab_hint(e,
            "the channels of x are known: %s(x, %lld, %lld) has %lld filters of %lld x %lld taps; "
            "k = [%lld, %lld] is %lld x %lld taps, and stride = %lld says that this is meant",
            f->name, (long long)n[2], (long long)n[3], (long long)n[2], (long long)n[3],
            (long long)n[3], (long long)n[2], (long long)n[3], (long long)n[2], (long long)n[3],
            (long long)n[3]);
}

/* A layer's number of filters in the place of the filters. */
static bool has_filters(BuiltinCall *s) {
  Val w = arg(s, "w");
  if (w.tensor.type->rank > 0) return true;
  elab_error(s->e, arg_loc(s, "w"), "%s needs a tensor of filters for 'w', found a number",
             s->name);
  const char *layer = hint_for_layer(s->name);
  if (layer) elab_hint(s->e, "%s", layer);
  return elab_trace(s->e), false;
}

static Val conv(BuiltinCall *s, int axes) {
  Elab *e = s->e;
  if (!has_filters(s)) return error_value;
  Val v[2] = {arg(s, "x"), arg(s, "w")};
  int64_t stride[AXES], dilation[AXES], taps[AXES];
  Pads pad;
  taps_of(v[1].tensor.type, axes, taps);
  if (!per_axis(s, "stride", axes, 1, stride) || !per_axis(s, "dilation", axes, 1, dilation) ||
      !pads(s, axes, taps, dilation, &pad))
    return error_value;
  if (axes == 1 && (v[0].tensor.type->rank != 3 || v[1].tensor.type->rank != 3)) {
    elab_error(e, s->loc, "%s needs x [N, C, L] and w [O, C / groups, K]: %s against %s", s->name,
               val_str(e, v[0]), val_str(e, v[1]));
    elab_note_tensor(e, "x", v[0]);
    elab_note_tensor(e, "w", v[1]);
    return elab_trace(e);
  }
  Attr attr[MAX_ATTRS] = {[AT_STRIDE] = {.ints = ints(s, stride, AXES)},
                          [AT_PAD] = {.ints = ints(s, pad.at, 2 * AXES)},
                          [AT_DILATION] = {.ints = ints(s, dilation, AXES)},
                          [AT_GROUPS] = {.i = arg(s, "groups").i}};
  check_order(e, v[0].tensor.type, e->frame);
  if (!windows_fit(s, OP_CONV, v[0], v[1].tensor.type, attr, axes, NULL, NULL)) return error_value;
  return over_images(s, OP_CONV, v, 2, attr, axes);
}

Val builtin_conv(BuiltinCall *s) { return conv(s, s->f->data); }

static Val transpose_misfit(BuiltinCall *s, const char *why) {
  Elab *e = s->e;
  elab_error(e, s->loc, "%s %s", s->name, why);
  elab_note_tensor(e, "x", arg(s, "x"));
  elab_note_tensor(e, "w", arg(s, "w"));
  return elab_trace(e);
}

static bool in_range(BuiltinCall *s, const char *what, int64_t n, int64_t min) {
  if (n >= min && n <= INT32_MAX) return true;
  (void)transpose_misfit(s, intern_printf(s->e->c, "needs a %s of %lld to 2147483647, not %lld",
                                          what, (long long)min, (long long)n));
  return false;
}

/* The convolution whose gradient by its images this is has x as its result, so the filters are
   [C, O / groups, KH, KW]. */
Val builtin_conv_transpose(BuiltinCall *s) {
  Elab *e = s->e;
  Ctx *c = e->c;
  if (!has_filters(s)) return error_value;
  const Type *x = arg(s, "x").tensor.type, *w = arg(s, "w").tensor.type;
  int64_t stride[AXES], dilation[AXES], more[AXES], taps[AXES], groups = arg(s, "groups").i, dim[4];
  Pads pad;
  taps_of(w, AXES, taps);
  if (!per_axis(s, "stride", AXES, 1, stride) || !per_axis(s, "output_pad", AXES, 0, more) ||
      !per_axis(s, "dilation", AXES, 1, dilation) || !pads(s, AXES, taps, dilation, &pad))
    return error_value;
  if (x->rank != 4 || w->rank != 4)
    return transpose_misfit(s, intern_printf(c,
                                             "needs images [N, C, H, W] and filters "
                                             "[C, O / groups, KH, KW]: %s against %s",
                                             type_text(c, x), type_text(c, w)));
  if (w->dim[0] != x->dim[1])
    return transpose_misfit(
        s, intern_printf(c, "needs filters for %lld channels, not %lld: %s against %s",
                         (long long)x->dim[1], (long long)w->dim[0], type_text(c, x),
                         type_text(c, w)));
  dim[0] = type_axis(x, 0);
  if (__builtin_mul_overflow(w->dim[1], groups, &dim[1])) dim[1] = -1;
  for (int i = 0; i < AXES; i++) {
    const char *rows = i ? "columns" : "rows";
    int64_t reach = same_pad(taps[i], dilation[i]);
    const int64_t *p = pad.at + 2 * i;
    if (!in_range(s, "stride", stride[i], 1) || !in_range(s, "dilation", dilation[i], 1) ||
        !in_range(s, "pad", p[0], 0) || !in_range(s, "pad", p[1], 0))
      return error_value;
    if (reach > INT32_MAX || x->dim[2 + i] > INT32_MAX)
      return transpose_misfit(s, intern_printf(c, "needs fewer than 2^31 %s", rows));
    if (more[i] < 0 || more[i] >= stride[i])
      return elab_fail(e, arg_loc(s, "output_pad"),
                       "'output_pad' of %s must be from 0 to less than the stride %lld, "
                       "found %lld",
                       s->name, (long long)stride[i], (long long)more[i]);
    dim[2 + i] = (x->dim[2 + i] - 1) * stride[i] - p[0] - p[1] + reach + more[i] + 1;
    if (dim[2 + i] < 1)
      return transpose_misfit(
          s, intern_printf(c, "would give images of %lld %s", (long long)dim[2 + i], rows));
  }
  check_order(e, x, e->frame);
  if (!type_get(c, x->dtype, 4, dim))
    return transpose_misfit(s, "would give a tensor of more bytes than can be addressed");
  Attr attr[MAX_ATTRS] = {[AT_STRIDE] = {.ints = ints(s, stride, AXES)},
                          [AT_PAD] = {.ints = ints(s, pad.at, 2 * AXES)},
                          [AT_DILATION] = {.ints = ints(s, dilation, AXES)},
                          [AT_GROUPS] = {.i = groups}};
  Val v[2] = {arg(s, "x"), arg(s, "w")};
  if (!windows_fit(s, OP_CONV_INPUT_GRAD, v[0], w, attr, AXES, more, dim)) return error_value;
  return build_checked(e, OP_CONV_INPUT_GRAD, v, 2, attr, type_get(c, x->dtype, 4, dim), s->name,
                       s->loc);
}

/* ---- pools ---- */

/* The padding with `ceil`: the last window is kept if it begins on the image or before it; the
   additional padding is not counted by a mean. */
static int64_t ceil_pad(int64_t in, int64_t taps, int64_t stride, int64_t dilation, int64_t lo,
                        int64_t hi) {
  int64_t reach = same_pad(taps, dilation);
  if (stride < 1 || reach > INT32_MAX || lo < 0 || hi < 0 || lo > INT32_MAX || hi > INT32_MAX ||
      in + lo + hi <= reach)
    return hi; /* refused by the shape rule */
  int64_t last = (in + lo + hi - reach - 1 + stride - 1) / stride;
  if (last * stride >= in + lo) last--;
  int64_t more = last * stride + reach + 1 - in - lo;
  return more > hi ? more : hi;
}

/* max_pool(x, window, stride, pad, ceil, dilation), avg_pool(x, window, stride, pad, ceil,
   count_include_pad) */
Val builtin_pool(BuiltinCall *s) {
  OpKind kind = (OpKind)s->f->data;
  Val x = arg_tensor(s, "x");
  if (x.kind == VAL_ERROR) return x;
  int axes = x.tensor.type->rank == 3 ? 1 : 2;
  const Type *t = x.tensor.type;
  int64_t window[AXES], stride[AXES], dilation[AXES] = {1, 1};
  Pads pad, counted = {0};
  if (!per_axis(s, "window", axes, 1, window)) return error_value;
  stride[0] = window[0], stride[1] = window[1];
  if (arg(s, "stride").kind != VAL_NONE && !per_axis(s, "stride", axes, 1, stride))
    return error_value;
  if (kind == OP_MAX_POOL && !per_axis(s, "dilation", axes, 1, dilation)) return error_value;
  if (!pads(s, axes, window, dilation, &pad)) return error_value;
  if (kind == OP_AVG_POOL && arg(s, "count_include_pad").b) counted = pad;
  for (int i = AXES - axes; arg(s, "ceil").b && t->rank == 2 + axes && i < AXES; i++)
    pad.at[2 * i + 1] = ceil_pad(t->dim[axes + i], window[i], stride[i], dilation[i], pad.at[2 * i],
                                 pad.at[2 * i + 1]);
  Attr attr[MAX_ATTRS] = {[AT_STRIDE] = {.ints = ints(s, stride, AXES)},
                          [AT_PAD] = {.ints = ints(s, pad.at, 2 * AXES)},
                          [AT_WINDOW] = {.ints = ints(s, window, AXES)}};
  if (kind == OP_MAX_POOL)
    attr[AT_DILATION].ints = ints(s, dilation, AXES);
  else
    attr[AT_COUNT].ints = ints(s, counted.at, 2 * AXES);
  if (!windows_fit(s, kind, x, NULL, attr, axes, NULL, NULL)) return error_value;
  return over_images(s, kind, &x, 1, attr, axes);
}
