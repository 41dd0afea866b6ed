/* NonMaxSuppression: of boxes that overlap, those of the highest scores. Contract: as many rounds
   as boxes may be chosen of a class; each takes the highest score that is left, of all images and
   classes at once, and drops what overlaps its box. Rows behind the number of boxes are of no
   meaning (counted.c). */
#include "lang/onnx/import.h"

typedef struct Sides { /* of boxes: [images, boxes] each */
  const char *low[2], *high[2], *area;
} Sides;

static Sides sides_of(Node *n, const char *boxes, bool centers) {
  Sides s;
  for (int i = 0; i < 2; i++) {
    const char *a = text(n, "%s[:, :, %d]", boxes, i), *b = text(n, "%s[:, :, %d]", boxes, i + 2);
    s.low[i] = let(n, text(n, centers ? "%s - %s / 2" : "min(%s, %s)", a, b));
    s.high[i] = let(n, text(n, centers ? "%s + %s / 2" : "max(%s, %s)", a, b));
  }
  s.area = let(n, text(n, "(%s - %s) * (%s - %s)", s.high[0], s.low[0], s.high[1], s.low[1]));
  return s;
}

/* One number, or an expression of what the run has; NULL after refusing. */
static const char *threshold(Node *n, int in, const char *otherwise) {
  Tensor *v = input(n, in);
  uint64_t count;
  Number x;
  if (!v) return otherwise;
  if (!shape_count(&v->shape, &count) || count != 1 || v->type != ELEM_F32)
    return refuse(n, "a threshold that is no number"), NULL;
  if (is_one_number(n->im, v, &x)) return number_text(n->im, v->type, x);
  return let(n, reshaped(n, tensor_text(n, v), &(Shape){0}));
}

static void assign(Node *n, const char *name, const char *expression) {
  statement_add(n->im, text(n, "%s = %s", name, expression));
}

/* What a round does: `left` are the scores that are left, [images, classes, boxes]. */
static void round_of(Node *n, const Sides *s, const char *left, const char *most,
                     const char *boxes) {
  const char *at = let(n, text(n, "argmax(%s, axis = 2)", left)),
             *best = let(n, text(n, "take_along(%s, %s[..., none], axis = 2)[..., 0]", left, at)),
             *part[2];
  for (int i = 0; i < 2; i++) {
    const char *low = text(n, "gather(%s, %s, batch = 1)[..., none]", s->low[i], at),
               *high = text(n, "gather(%s, %s, batch = 1)[..., none]", s->high[i], at);
    part[i] = let(n, text(n, "max(min(%s[:, none], %s) - max(%s[:, none], %s), 0)", s->high[i],
                          high, s->low[i], low));
  }
  const char *both = let(n, text(n, "%s * %s", part[0], part[1]));
  const char *all = text(n, "%s[:, none] + gather(%s, %s, batch = 1)[..., none] - %s", s->area,
                         s->area, at, both);
  const char *over = let(n, text(n, "%s / (%s) > %s", both, all, most));
  assign(n, left,
         text(n, "where(%s or reshape(iota(%s), [1, 1, -1]) == %s[..., none], -inf, %s)", over,
              boxes, at, left));
  statement_add(n->im, text(n, "yield %s > -inf, %s", best, at));
}

/* Of rounds, images and classes, rounds become the last. */
static const char *by_class(Node *n, const char *x) {
  return text(n, "transpose(%s, [1, 2, 0])", x);
}

bool onnx_suppression(Node *n) {
  Tensor *boxes = input(n, 0), *scores = input(n, 1);
  int64_t b[MOST_RANK], s[MOST_RANK], most = 0;
  int count;
  enum { MOST = 1 << 24 };
  if (boxes->shape.rank != 3 || scores->shape.rank != 3 || boxes->type != ELEM_F32 ||
      scores->type != ELEM_F32)
    return refuse(
        n, "boxes and scores of another form than [images, boxes, 4] and [images, classes, boxes]");
  if (!shape_numbers(n, boxes, b) || !shape_numbers(n, scores, s)) return false;
  if (b[0] != s[0] || b[1] != s[2] || b[2] != 4 || axis_is_counted(&boxes->shape, 0, 1) ||
      axis_is_counted(&scores->shape, 0, 2))
    return refuse(n, "shapes that do not fit");
  if (input(n, 2) && !known_int(n, 2, &most)) return false;
  if (most > b[1]) most = b[1];
  if (most < 1 || s[0] < 1 || s[1] < 1) return refuse(n, "a tensor without elements");
  if (s[1] > MOST / s[0] || s[0] * s[1] > MOST / most)
    return refuse(n, "more than %d boxes to be chosen", MOST);
  const int64_t all = s[0] * s[1] * most;
  const char *overlap = threshold(n, 3, "0"), *least = overlap ? threshold(n, 4, "") : NULL;
  if (!least) return false;
  const Sides sides = sides_of(n, tensor_text(n, boxes), attr_int(n, "center_point_box", 0) != 0);
  const char *all_scores = rows_filled(n, tensor_text(n, scores), scores->type, &scores->shape,
                                       (bool[]){false, false, true}, "-inf"),
             *left =
                 let(n, *least ? text(n, "where(%s > %s, %s, -inf)", all_scores, least, all_scores)
                               : all_scores);
  const char *found = name_new(n->im, "found"), *at = name_new(n->im, "at"),
             *k = name_new(n->im, "k");
  statement_add(n->im, text(n, "%s, %s = scan %s in 0..%lld {", found, at, k, (long long)most));
  n->im->block++;
  round_of(n, &sides, left, overlap, text(n, "%lld", (long long)b[1]));
  n->im->block--;
  statement_add(n->im, "}");
  const Shape line = {.rank = 1, .at = {{.n = all}}};
  found = let(n, reshaped(n, by_class(n, found), &line));
  at = let(n, reshaped(n, by_class(n, at), &line));
  const char *ids = chosen(n, found, all, &count);
  const Shape rows = {.rank = 2, .at = {{.n = all, .counted = count}, {.n = 3}}};
  return give(n, 0, ELEM_I64, &rows,
              text(n, "i64(stack([%s // %lld, %s // %lld %% %lld, gather(%s, %s)], axis = 1))", ids,
                   (long long)(s[1] * most), ids, (long long)most, (long long)s[1], at, ids));
}
