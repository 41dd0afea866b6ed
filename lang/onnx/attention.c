/* Attention that a model writes as products and a softmax: softmax(q @ k * scale + mask) @ v
   becomes one call of attention, whose scores are never in memory. Contract: nobody else reads the
   scores or their softmax, which are of the model's own graph; there are several queries; a mask is
   bool, or known when gc compiles with elements that are 0 or so low that the softmax of their
   places is 0. A bias, such as one by the distance, stays as it is written. */
#include "lang/onnx/import.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 8 };
static const double low = -1e4; /* exp of it is 0 in all float types */
typedef enum { NO_MASK, ADDED, SHOWS, HIDES } MaskKind;
struct Scores {
  Tensor *q, *k; /* [..., T, D] and [..., D, S] */
  double scale;  /* of their products */
  Tensor *mask;  /* numbers that are added to them, or bools */
  MaskKind masked;
  bool blind;                 /* a query that sees no key has equal scores, and so all keys */
  bool weights;               /* they are behind the softmax */
  bool nan;                   /* of weights: which of them are NaN */
  const char *at[MOST_STEPS]; /* variables that hold them on the way */
  int n;
};

void readers_count(Import *im, const Onnx__NodeProto *p) {
  for (size_t i = 0; i < p->n_input; i++) {
    uint32_t n = 0;
    const char *name = intern(im->c, p->input[i]);
    map_get(&im->readers, name, &n);
    map_put(im->a, &im->readers, name, n + 1);
  }
  subgraph_needs(im, p, &im->read_within);
}

/* What is known of an input, if it has so many readers. */
static const Scores *scores_of(const Node *n, int i, uint32_t readers) {
  const Import *im = n->im;
  const Onnx__GraphProto *g = im->model->graph;
  uint32_t have;
  if (i >= n->nin || !n->in[i] || !n->in[i]->scores || im->depth || im->block) return NULL;
  const char *name = n->p->input[i];
  for (size_t k = 0; k < g->n_output; k++)
    if (strcmp(or_empty(g->output[k]->name), name) == 0) return NULL;
  if (!map_get(&im->readers, intern(im->c, name), &have) || have != readers) return NULL;
  return name_is_in(im, &im->read_within, name) ? NULL : n->in[i]->scores;
}

static bool is(const Node *n, const char *op) { return strcmp(n->op, op) == 0; }

/* The axes in front of the last two are the same. */
static bool same_batch(const Tensor *a, const Tensor *b) {
  bool same = a->shape.rank == b->shape.rank && a->shape.rank >= 3;
  for (int i = 0; same && i < a->shape.rank - 2; i++)
    same = dim_same(a->shape.at[i], b->shape.at[i]);
  return same;
}

static bool is_number(Import *im, Tensor *v, double *out) {
  Number x;
  if (v->trained || v->name || !is_float(v) || !is_one_number(im, v, &x)) return false;
  *out = x.f;
  return true;
}

/* A tensor of the file that is added to scores is a param if it is no mask. */
static bool is_mask(Import *im, Tensor *v) {
  uint64_t n;
  if (v->trained || v->shape.rank < 2 || !is_float(v)) return false;
  if (v->tensor) return true;
  const Number *x = v->known ? known_of(im, v) : NULL;
  if (!x || !shape_count(&v->shape, &n)) return false;
  for (uint64_t i = 0; i < n; i++)
    if (!(x[i].f == 0 || x[i].f <= low)) return false;
  return true;
}

/* Each query sees a key, or has NaN for its softmax: attention gives 0 for that. */
static bool shows_keys(Import *im, Tensor *v) {
  enum { AT_ONCE = 1024 };
  const Onnx__TensorProto *t = v->tensor;
  const ElemInfo *e = elem_of(v->type);
  const Number *x = t ? NULL : known_of(im, v);
  const uint64_t row = (uint64_t)v->shape.at[v->shape.rank - 1].n;
  const char *why;
  uint8_t room[AT_ONCE * 8];
  uint64_t all, n;
  bool shows = false, finite = false;
  if (!shape_count(&v->shape, &all)) return false;
  for (uint64_t at = 0; at < all; at += n) {
    n = all - at < AT_ONCE ? all - at : AT_ONCE;
    if (t && !tensor_bytes(im, t, at, n, room, &why)) return false;
    for (uint64_t i = 0; i < n; i++) {
      const double y = t ? number_get(v->type, room + i * (uint64_t)e->size).f : x[at + i].f;
      shows |= y == 0, finite |= isfinite(y);
      if ((at + i + 1) % row) continue;
      if (!shows && finite) return false;
      shows = finite = false;
    }
  }
  return true;
}

static bool of_product(const Node *n, Scores *s) {
  if (!same_batch(n->in[0], n->in[1]) || !is_float(n->in[0]) || !is_float(n->in[1])) return false;
  const Axis queries = n->in[0]->shape.at[n->in[0]->shape.rank - 2];
  *s = (Scores){.q = n->in[0], .k = n->in[1], .scale = 1};
  return queries.symbol || queries.n > 1;
}

/* Times a number, or with a mask. */
static bool of_pair(const Node *n, Scores *s) {
  const int i = scores_of(n, 0, 1) ? 0 : 1;
  const Scores *from = scores_of(n, i, 1);
  Tensor *other = n->in[!i];
  double x;
  if (!from || from->weights || from->masked || !shape_same(&n->in[i]->shape, &n->out[0]->shape))
    return false;
  *s = *from;
  const bool number = is_number(n->im, other, &x);
  if (!is(n, "Add")) {
    if (!number || x == 0 || (is(n, "Div") && i)) return false;
    s->scale = is(n, "Div") ? s->scale / x : s->scale * x;
    return true;
  }
  if (number && x == 0) return true;
  s->mask = other, s->masked = ADDED;
  return is_mask(n->im, other) && shows_keys(n->im, other);
}

static bool of_softmax(Node *n, Scores *s) {
  const Scores *from = scores_of(n, 0, 1);
  const int last = n->in[0]->shape.rank - 1;
  int axis;
  if (!from || from->weights ||
      !axis_from(n, attr_int(n, "axis", n->version < 13 ? 1 : -1), last + 1, &axis) || axis != last)
    return false;
  *s = *from;
  s->weights = true;
  return true;
}

/* where(isnan(weights), 0, weights) and where(mask, weights, 0): the row of a query that sees no
   key is 0, as that of attention. */
static bool of_weights(const Node *n, Scores *s) {
  const Scores *nan = scores_of(n, 0, 1), *from = scores_of(n, 2, 2), *shown = scores_of(n, 1, 1);
  double x;
  if (nan && nan->nan && from && from->weights && !from->nan && nan->n == from->n + 1 &&
      memcmp(nan->at, from->at, (size_t)from->n * sizeof *nan->at) == 0) {
    *s = *nan;
    s->nan = false;
    return is_number(n->im, n->in[1], &x) && x == 0;
  }
  if (!shown || !shown->weights || shown->nan || shown->masked != SHOWS || shown->mask != n->in[0])
    return false;
  *s = *shown;
  s->blind = false;
  return is_number(n->im, n->in[2], &x) && x == 0;
}

/* where(mask, scores, low), or the other way about. */
static bool of_where(const Node *n, Scores *s) {
  const Scores *shown = scores_of(n, 1, 1), *hidden = scores_of(n, 2, 1);
  const Scores *from = shown ? shown : hidden;
  double x;
  if (of_weights(n, s)) return true;
  if (!from || from->weights || from->masked || !is_number(n->im, n->in[shown ? 2 : 1], &x) ||
      x > low || !shape_same(&n->in[shown ? 1 : 2]->shape, &n->out[0]->shape))
    return false;
  *s = *from;
  s->mask = n->in[0], s->masked = shown ? SHOWS : HIDES;
  s->blind = isfinite(x);
  return true;
}

void scores_follow(Node *n) {
  Scores s = {0};
  Tensor *v = n->nout ? n->out[0] : NULL;
  const Scores *from;
  bool found = false;
  if (!v) return;
  v->scores = NULL;
  if (!v->name || v->known || v->tensor) return;
  if (is(n, "MatMul"))
    found = of_product(n, &s);
  else if (is(n, "Mul") || is(n, "Div") || is(n, "Add"))
    found = of_pair(n, &s);
  else if (is(n, "Softmax"))
    found = of_softmax(n, &s);
  else if (is(n, "IsNaN") && (from = scores_of(n, 0, 2)) && from->weights && !from->nan)
    found = true, s = *from, s.nan = true;
  else if (is(n, "Where"))
    found = of_where(n, &s);
  if (!found || s.n == MOST_STEPS) return;
  s.at[s.n++] = v->name;
  Scores *kept = ARENA_NEW(n->im->a, Scores);
  *kept = s;
  v->scores = kept;
}

/* Scores that nobody reads any more. */
static void drop(Import *im, const Scores *s) {
  for (int i = s->n; i-- > 0;) {
    const size_t n = strlen(s->at[i]);
    for (uint32_t k = im->statements.n; k-- > 0;) {
      Statement *x = &im->statements.at[k];
      if (strncmp(x->text, s->at[i], n) != 0 || strncmp(x->text + n, " = ", 3) != 0) continue;
      x->text = "";
      break;
    }
  }
}

bool attention_of_scores(Node *n) {
  const Scores *s = is(n, "MatMul") ? scores_of(n, 0, 1) : NULL;
  if (!s || !s->weights || s->nan || !same_batch(n->in[0], n->in[1]) || !is_float(n->in[1]))
    return false;
  Tensor *w = n->in[0], *v = n->in[1];
  const int rank = v->shape.rank;
  int64_t perm[MOST_RANK];
  Shape y = w->shape;
  if (!dim_same(w->shape.at[rank - 1], v->shape.at[rank - 2])) return false;
  y.at[rank - 1] = v->shape.at[rank - 1];
  for (int i = 0; i < rank; i++) perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  drop(n->im, s);
  const char *t =
      text(n, "attention(%s, transpose(%s, %s), %s, scale = %s", tensor_text(n, s->q),
           tensor_text(n, s->k), ints_text(n, perm, rank), tensor_text(n, v), real(n, s->scale));
  const char *seen = s->masked ? tensor_text(n, s->mask) : "";
  if (s->masked == ADDED || s->masked == HIDES) {
    const char *mask = seen;
    seen = name_new(n->im, "seen");
    statement_add(n->im, text(n, s->masked == ADDED ? "%s = %s == 0" : "%s = not %s", seen, mask));
  }
  t = text(n, s->masked ? "%s, mask = %s)" : "%s)", t, seen);
  if (s->blind)
    t = text(
        n, "where(sum(i32(%s), axis = -1, keep = true) > 0, %s, mean(%s, axis = -2, keep = true))",
        seen, t, tensor_text(n, v));
  give(n, 0, v->type, &y, t);
  return true;
}
