/* The types of the IR's text form, with their layouts and bounded axes; see docs/ir.md for the
   grammar. Contract: as that of read_word.c. Numbers of multiples and products stand in front of
   extents in parentheses, so that the bound is seen to be the extent's: 4*(n<=64) is up to 256. */
#include "ir/text/read.h"

#include <ctype.h>

/* The word stands at the reader's place, with a blank behind it; else nothing is read. */
static bool take_word(Reader *r, const char *word) {
  Span w;
  read_blanks(r);
  const char *before = r->p;
  if (read_word(r, &w) && span_is(w, word) && (r->p == r->end || *r->p == ' ')) return true;
  r->p = before; /* a place, or the next op */
  return false;
}

/* What decides in a run whether filters are transformed: f32[h<=16,32] padded [1,1,1,1] */
static bool read_image(Reader *r, const Type **image, IntList *padding) {
  const Layout *layout;
  Loc loc = read_loc(r, r->p, 1);
  if (!read_type(r, image, &layout)) return false;
  if (!take_word(r, "padded") || !read_expect(r, '[', "after 'padded'") ||
      !read_integers(r, padding))
    return false;
  bool ok = (*image)->rank == 2 && padding->n == 4;
  for (uint32_t i = 0; ok && i < padding->n; i++)
    ok = padding->at[i] >= 0 && padding->at[i] <= INT32_MAX;
  return ok || FAIL(r, loc, "an image's rows and columns and four paddings are expected");
}

static bool read_layout(Reader *r, const Type *t, const Layout **out) {
  read_blanks(r);
  Loc loc = read_loc(r, r->p, 1);
  IntList order = {0}, padding = {0};
  const Type *image = NULL;
  int64_t nr = 0, together = 0;
  *out = NULL;
  bool ordered = take_word(r, "order");
  if (ordered && (!read_expect(r, '[', "after 'order'") || !read_integers(r, &order))) return false;
  const bool winograd = take_word(r, "winograd");
  if (winograd || take_word(r, "panels")) {
    if (!read_integer(r, &nr)) return false;
    if (nr < 1 || nr > INT32_MAX || t->rank < 2)
      return FAIL(r, loc, "panels need at least one column and a matrix");
  }
  if (nr && !winograd && take_word(r, "interleaved")) {
    if (!read_integer(r, &together)) return false;
    if (together < 2 || together > INT16_MAX || t->rank != 2)
      return FAIL(r, loc, "two rows of a matrix or more are interleaved");
  }
  if (!ordered && !nr) return true;
  if (ordered && order.n > INT16_MAX) return FAIL(r, loc, "%u axes are too many", order.n);
  if (winograd && (order.n != 4 || t->rank != 4 || t->dim[2] != 3 || t->dim[3] != 3))
    return FAIL(r, loc, "winograd is a layout of 3 x 3 filters, behind an order of their axes");
  if (winograd && take_word(r, "of") && !read_image(r, &image, &padding)) return false;
  *out = winograd ? layout_winograd(r->c, order.at, (int)nr, image, padding.at)
                  : layout_get(r->c, ordered ? order.at : NULL, (int)order.n, (int)nr);
  if (together) *out = layout_interleaved(r->c, *out, (int)together);
  if (!layout_fits(t, *out) || (ordered && (int)order.n != t->rank))
    return FAIL(r, loc, "an order of axes names each axis of the type once");
  uint64_t bytes;
  if (!layout_bytes(t, *out, &bytes) || bytes >> 62)
    return FAIL(r, loc, "panels of %lld columns make this type too large", (long long)nr);
  return true;
}

/* n<=64 */
static bool read_plain_extent(Reader *r, const Extent **out) {
  Span name;
  int64_t bound;
  Loc loc = read_loc(r, r->p, 1);
  if (!read_word(r, &name)) return FAIL(r, loc, "an extent is expected, not %s", read_found(r));
  if (!read_expect(r, '<', "after an extent") || !read_expect(r, '=', "after '<'") ||
      !read_integer(r, &bound))
    return false;
  if (bound < 2 || bound > INT32_MAX)
    return FAIL(r, name.loc, "an extent is bounded by a number from 2 to 2147483647");
  *out = extent_get(r->c, intern_n(r->c, name.at, name.len), bound);
  return true;
}

/* An axis in parentheses is a factor if it is one extent, (n<=64); a part of it is one of its own,
   (4*(n<=64))[16:32]. */
typedef bool ReadFactor(Reader *r, const Extent **out);

/* n<=64, or a product behind its number if there is one: 4*(n<=64), (n<=64)*(t<=9). */
static bool bounded_axis(Reader *r, ReadFactor *read, bool has_number, int64_t number,
                         int64_t *out) {
  const Extent *x;
  Loc loc = read_loc(r, r->p, 1);
  read_blanks(r);
  if (!has_number && r->p < r->end && *r->p != '(') {
    if (!read_plain_extent(r, &x)) return false;
    *out = axis_of_extent(x, 1);
    return true;
  }
  if (number < 1 || number > INT32_MAX)
    return FAIL(r, loc, "a bounded axis is 1 to 2147483647 times its extent");
  *out = number;
  do {
    if (!read(r, &x)) return false;
    *out = axis_product(r->c, *out, axis_of_extent(x, 1));
    if (!*out)
      return FAIL(r, loc, "a product of extents is 1 to 2147483647, of at most %d", EXTENT_FACTORS);
  } while (read_take(r, '*'));
  return true;
}

/* (n<=64) */
static bool read_factor(Reader *r, const Extent **out) {
  if (!read_expect(r, '(', "before the extent of a multiple or a product, as in 4*(n<=64)"))
    return false;
  return read_plain_extent(r, out) && read_expect(r, ')', "after an extent");
}

/* [16:32] of an axis */
static bool read_part(Reader *r, Loc loc, int64_t whole, const Extent **out) {
  int64_t first, end;
  if (!read_expect(r, '[', "before a part") || !read_integer(r, &first) ||
      !read_expect(r, ':', "in a part") || !read_integer(r, &end) ||
      !read_expect(r, ']', "after a part"))
    return false;
  int64_t n = axis_multiple(whole) * axis_extent(r->c, whole)->bound;
  bool inside = first < end && end <= n && (first > 0 || end < n || first < 0);
  inside &= first >= -(int64_t)INT32_MAX && (first >= 0 || end == n);
  int64_t part = inside ? axis_part(r->c, whole, first, end - first) : 0;
  if (!part || axis_multiple(part) != 1)
    return FAIL(r, loc, "a part has two or more elements of an axis, or ends with it");
  *out = axis_extent(r->c, part);
  return true;
}

static bool read_factor_or_part(Reader *r, const Extent **out) {
  Loc loc = read_loc(r, r->p, 1);
  int64_t axis, number = 1;
  if (!read_expect(r, '(', "before the extent of a multiple or a product, as in 4*(n<=64)"))
    return false;
  read_blanks(r);
  bool has_number = r->p < r->end && isdigit((unsigned char)*r->p);
  if (has_number && (!read_integer(r, &number) || !read_expect(r, '*', "after a multiple")))
    return false;
  if (!bounded_axis(r, read_factor, has_number, number, &axis) ||
      !read_expect(r, ')', "after an axis"))
    return false;
  read_blanks(r);
  *out = axis_extent(r->c, axis);
  if ((r->p < r->end && *r->p == '[') || axis_multiple(axis) > 1 || (*out)->nfactors > 1)
    return read_part(r, loc, axis, out);
  return true;
}

static bool read_axes(Reader *r, IntList *list) {
  if (read_take(r, ']')) return true;
  do {
    int64_t v = 1;
    read_blanks(r);
    bool word = r->p < r->end && (isalpha((unsigned char)*r->p) || *r->p == '_' || *r->p == '(');
    if (!word && !read_integer(r, &v)) return false;
    if (!word && v < 0) v = -1;
    if ((word || read_take(r, '*')) && !bounded_axis(r, read_factor_or_part, !word, v, &v))
      return false;
    vec_push(r->scratch, list, v);
  } while (read_take(r, ','));
  return read_expect(r, ']', "after a list");
}

bool read_type(Reader *r, const Type **out, const Layout **layout) {
  Span w;
  Dtype dt;
  if (!read_word(r, &w))
    return FAIL(r, read_loc(r, r->p, 1), "a type is expected, not %s", read_found(r));
  if (!dtype_parse(intern_n(r->c, w.at, w.len), &dt))
    return FAIL(r, w.loc, "'%.*s' is not a dtype: f32, f64, f16, bf16, i32, i64, i8, u8 or bool",
                (int)w.len, w.at);
  IntList dim = {0};
  if (!read_expect(r, '[', "after a dtype") || !read_axes(r, &dim)) return false;
  if (dim.n > INT16_MAX) return FAIL(r, w.loc, "a tensor of %u axes is too much", dim.n);
  *out = type_get(r->c, dt, (int)dim.n, dim.at);
  if (!*out) return FAIL(r, w.loc, "these dims make no type: negative, or more than 2^62 bytes");
  return read_layout(r, *out, layout);
}
