/* Attention. */
#include "lang/onnx/import.h"

#include <math.h>

/* ---- attention ---- */

/* [b, t, heads * d] as [b, heads, t, d]; others as they are. */
static bool to_heads(Node *n, Tensor *v, int64_t heads, const char **t, Shape *s) {
  *t = tensor_text(n, v);
  *s = v->shape;
  if (s->rank == 4) return true;
  if (s->rank != 3 || heads < 1 || s->at[2].symbol || s->at[2].n % heads)
    return refuse(n, "heads that do not divide its input");
  *t = let(n, text(n, "to_heads(%s, %lld)", *t, (long long)heads));
  *s = (Shape){
      .rank = 4,
      .at = {v->shape.at[0], {.n = heads}, v->shape.at[1], {.n = v->shape.at[2].n / heads}}};
  return true;
}

typedef struct Heads {
  const char *q, *k, *v;
  Shape qs, ks, vs; /* [b, heads, t, d] */
  Axis past, queries, count;
  int64_t group;
  const char *scale; /* "" : 1 / sqrt(d) */
} Heads;

/* So many heads of queries to one of keys: as an axis of their own. */
static void grouped(Node *n, Heads *h) {
  h->group = h->ks.at[1].symbol || h->qs.at[1].symbol || !h->ks.at[1].n
                 ? 1
                 : h->qs.at[1].n / h->ks.at[1].n;
  if (h->group < 2) return;
  const Shape *q = &h->qs, *k = &h->ks;
  Shape five = {.rank = 5, .at = {q->at[0], k->at[1], {.n = h->group}, h->queries, q->at[3]}};
  h->q = reshaped(n, h->q, &five);
  five = (Shape){.rank = 5, .at = {k->at[0], k->at[1], {.n = 1}, h->count, k->at[3]}};
  h->k = reshaped(n, h->k, &five);
  five.at[4] = h->vs.at[3];
  h->v = reshaped(n, h->v, &five);
}

/* With numbers as a mask, a cap, or scores as an output: step by step. */
static bool attention_steps(Node *n, Heads *h, const char *before, const Shape *s, const char **y) {
  Tensor *mask = input(n, 3);
  double cap = attr_real(n, "softcap", 0);
  int64_t mode = attr_int(n, "qk_matmul_output_mode", 0);
  Shape scores = h->qs;
  scores.at[3] = h->ks.at[2];
  const char *scale =
      *h->scale ? h->scale : text(n, "%s", real(n, 1 / sqrt((double)h->qs.at[3].n)));
  const char *kt =
      text(n, "transpose(%s, %s)", h->k, h->group > 1 ? "[0, 1, 2, 4, 3]" : "[0, 1, 3, 2]");
  const char *t = text(n, "(%s @ %s) * %s", h->q, kt, scale);
  t = let(n, h->group > 1 ? reshaped(n, t, &scores) : t);
  const char *stage[4] = {t};
  if (cap != 0) t = let(n, text(n, "%s * tanh(%s / %s)", real(n, cap), t, real(n, cap)));
  stage[1] = t;
  if (mask && mask->type == ELEM_BOOL)
    t = let(n, text(n, "where(%s, %s, -inf)", tensor_text(n, mask), t));
  else if (mask)
    t = let(n, text(n, "%s + %s", t, tensor_text(n, mask)));
  if (*before) t = let(n, text(n, "where(%s, %s, -inf)", before, t));
  stage[2] = t;
  const char *p = text(n, "softmax(%s)", t);
  if (mask || *before) /* a query without keys gives 0 */
    p = text(n, "where(max(%s, axis = -1, keep = true) == -inf, 0, %s)", t, p);
  stage[3] = let(n, p);
  Shape five = {.rank = 5, .at = {h->ks.at[0], h->ks.at[1], {.n = h->group}, h->queries, h->count}};
  *y = text(n, "%s @ %s", h->group > 1 ? reshaped(n, stage[3], &five) : stage[3], h->v);
  if (h->group > 1) *y = reshaped(n, *y, s);
  if (mode < 0 || mode > 3) return refuse(n, "another kind of scores");
  return give(n, 3, input(n, 0)->type, &scores, stage[mode]);
}

/* Which keys a query sees by its place, "" : all; [queries, keys], or, where each place of the
   batch has so many keys, [batch, 1, queries, keys]. */
static const char *seen_by_place(Node *n, const Heads *h, bool causal) {
  Tensor *lengths = input(n, 6);
  const int64_t left = attr_int(n, "left_window_size", -1),
                right = attr_int(n, "right_window_size", -1);
  const int rank = lengths ? 4 : 2;
  const char *key = along_dim(n, h->count, rank - 1, rank), *seen = "",
             *query = along_dim(n, h->queries, rank - 2, rank), *past = dim_text(n->im, h->past);
  if (lengths) {
    const Shape column = {.rank = 4, .at = {h->qs.at[0], {.n = 1}, {.n = 1}, {.n = 1}}};
    past = let(n, reshaped(n, text(n, "i32(%s)", tensor_text(n, lengths)), &column));
    seen = text(n, "%s < %s", key, past);
    past = text(n, "%s - (%s)", past, dim_text(n->im, h->queries));
  }
  query = text(n, "%s + (%s)", query, past);
  const struct {
    bool holds;
    const char *sign;
    int64_t more;
  } ends[] = {{causal, "<=", 0}, {left >= 0, ">=", -left}, {right >= 0, "<=", right}};
  for (int i = 0; i < 3; i++)
    if (ends[i].holds)
      seen = text(n, "%s%s%s %s %s + (%lld)", seen, *seen ? " and " : "", key, ends[i].sign, query,
                  (long long)ends[i].more);
  return seen;
}

/* A mask of fewer keys hides the others. */
static Tensor *mask_of_all(Node *n, Tensor *mask, Axis keys) {
  Shape s = mask->shape;
  const int last = s.rank - 1;
  Axis rest;
  if (s.at[last].counted || !dim_add(keys, s.at[last], -1, &rest) || rest.symbol || rest.n < 1 ||
      (!s.at[last].symbol && s.at[last].n == 1))
    return mask;
  s.at[last] = rest;
  const char *none = text(n, "full(%s, %s, dtype = %s)", shape_text(n->im, &s),
                          is_float(mask) ? "-inf" : "false", elem_of(mask->type)->gc);
  Tensor *all = value_new(n->im, mask->type, &mask->shape);
  all->shape.at[last] = keys;
  all->name = let(n, text(n, "concat([%s, %s], axis = %d)", tensor_text(n, mask), none, last));
  return all;
}

bool onnx_attention(Node *n) {
  Tensor *mask = input(n, 3), *keys = input(n, 4), *values = input(n, 5);
  bool flat = input(n, 0)->shape.rank == 3, causal = attr_int(n, "is_causal", 0) != 0;
  Tensor *lengths = input(n, 6);
  const bool placed = lengths || attr_int(n, "left_window_size", -1) >= 0 ||
                      attr_int(n, "right_window_size", -1) >= 0;
  if (lengths && (keys || values || lengths->shape.rank != 1 ||
                  !dim_same(lengths->shape.at[0], input(n, 0)->shape.at[0])))
    return refuse(n, "lengths that do not fit");
  Heads h = {.scale = ""};
  int64_t heads = attr_int(n, "q_num_heads", 0), of_keys = attr_int(n, "kv_num_heads", 0);
  if (!to_heads(n, input(n, 0), heads, &h.q, &h.qs) ||
      !to_heads(n, input(n, 1), of_keys, &h.k, &h.ks) ||
      !to_heads(n, input(n, 2), of_keys, &h.v, &h.vs))
    return false;
  h.queries = h.qs.at[2];
  if (keys && values) {
    if (keys->shape.rank != 4 || !dim_add(h.ks.at[2], keys->shape.at[2], 1, &h.ks.at[2]) ||
        !dim_add(h.vs.at[2], keys->shape.at[2], 1, &h.vs.at[2]))
      return refuse(n, "a past that does not fit");
    h.past = keys->shape.at[2];
    h.k = let(n, text(n, "concat([%s, %s], axis = 2)", tensor_text(n, keys), h.k));
    h.v = let(n, text(n, "concat([%s, %s], axis = 2)", tensor_text(n, values), h.v));
  }
  h.count = h.ks.at[2];
  if (attr_real(n, "scale", 0) != 0) h.scale = real(n, attr_real(n, "scale", 0));
  const char *pk = h.k, *pv = h.v, *before = "", *t;
  Shape s = h.qs, one,
        mask_of = {.rank = 4, .at = {h.qs.at[0], h.qs.at[1], h.qs.at[2], h.ks.at[2]}};
  s.at[3] = h.vs.at[3];
  if (mask && mask->shape.rank) n->in[3] = mask = mask_of_all(n, mask, h.ks.at[2]);
  if (mask && (!shapes_broadcast(&mask_of, &mask->shape, &one) || !shape_same(&one, &mask_of)))
    return refuse(n, "a mask of another shape");
  grouped(n, &h);
  bool steps = (mask && (mask->type != ELEM_BOOL || h.group > 1)) ||
               attr_real(n, "softcap", 0) != 0 || output(n, 3) || (lengths && h.group > 1);
  if (placed || (causal && (mask || steps || !dim_same(h.queries, h.count))))
    before = seen_by_place(n, &h, causal);
  if (steps) {
    if (!attention_steps(n, &h, before, &s, &t)) return false;
  } else {
    const char *seen = mask ? tensor_text(n, mask) : "";
    if (*before) seen = mask ? text(n, "(%s) and (%s)", seen, before) : before;
    t = text(n, "attention(%s, %s, %s, causal = %s", h.q, h.k, h.v,
             causal && !*before ? "true" : "false");
    if (*h.scale) t = text(n, "%s, scale = %s", t, h.scale);
    t = *seen ? text(n, "%s, mask = %s)", t, let(n, seen)) : text(n, "%s)", t);
    if (h.group > 1) t = reshaped(n, t, &s);
  }
  const Shape joined = {.rank = 3, .at = {s.at[0], s.at[2], {.n = s.at[1].n * s.at[3].n}}};
  if (!give(n, 0, input(n, 0)->type, flat ? &joined : &s, flat ? text(n, "from_heads(%s)", t) : t))
    return false;
  return give(n, 1, input(n, 0)->type, &h.ks, pk) && give(n, 2, input(n, 0)->type, &h.vs, pv);
}
