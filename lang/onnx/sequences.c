/* Attention and recurrent layers. */
#include "lang/onnx/import.h"
#include "lang/onnx/loops.h"

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

/* ---- recurrent layers: unrolled, or a loop over a bounded number of steps ---- */

typedef struct Layer {
  Node *n;
  Axis steps, batch;
  int64_t size;
  const char *x, *w, *r, *b, *peep; /* "" : none */
  int kind;                         /* number of gates */
  int direction;
} Layer;

/* Gate g of a weight, [d, g * size:(g + 1) * size]. */
static const char *gate(const Layer *l, const char *weight, int g, const char *otherwise) {
  if (!*weight) return otherwise;
  return text(l->n, "%s[%d, %lld:%lld]", weight, l->direction, (long long)g * l->size,
              (long long)(g + 1) * l->size);
}

static const char *from_x(const Layer *l, int g, const char *t) {
  return text(l->n, "%s[%s] @ %s' + %s", l->x, t, gate(l, l->w, g, ""), gate(l, l->b, g, "0"));
}

static const char *from_h(const Layer *l, int g, const char *h) {
  return text(l->n, "(%s @ %s' + %s)", h, gate(l, l->r, g, ""), gate(l, l->b, g + l->kind, "0"));
}

static void step(const Layer *l, const char *t, const char **h, const char **c) {
  Node *n = l->n;
  if (l->kind == 4) { /* input, output, forget, cell */
    const char *i = let(n, text(n, "sigmoid(%s + %s + %s * %s)", from_x(l, 0, t), from_h(l, 0, *h),
                                gate(l, l->peep, 0, "0"), *c));
    const char *f = let(n, text(n, "sigmoid(%s + %s + %s * %s)", from_x(l, 2, t), from_h(l, 2, *h),
                                gate(l, l->peep, 2, "0"), *c));
    *c = let(n,
             text(n, "%s * %s + %s * tanh(%s + %s)", f, *c, i, from_x(l, 3, t), from_h(l, 3, *h)));
    *h = let(n, text(n, "sigmoid(%s + %s + %s * %s) * tanh(%s)", from_x(l, 1, t), from_h(l, 1, *h),
                     gate(l, l->peep, 1, "0"), *c, *c));
  } else if (l->kind == 3) { /* update, reset, hidden */
    const char *z = let(n, text(n, "sigmoid(%s + %s)", from_x(l, 0, t), from_h(l, 0, *h)));
    const char *r = let(n, text(n, "sigmoid(%s + %s)", from_x(l, 1, t), from_h(l, 1, *h)));
    const char *fresh = attr_int(n, "linear_before_reset", 0)
                            ? text(n, "tanh(%s + %s * %s)", from_x(l, 2, t), r, from_h(l, 2, *h))
                            : text(n, "tanh(%s + (%s * %s) @ %s' + %s)", from_x(l, 2, t), r, *h,
                                   gate(l, l->r, 2, ""), gate(l, l->b, 5, "0"));
    *h = let(n, text(n, "(1 - %s) * %s + %s * %s", z, let(n, fresh), z, *h));
  } else {
    *h = let(n, text(n, "tanh(%s + %s)", from_x(l, 0, t), from_h(l, 0, *h)));
  }
}

static const char *start(Node *n, Tensor *v, bool rows, const Layer *l) {
  if (!v) return "";
  const char *t = tensor_text(n, v);
  return rows ? let(n, text(n, "transpose(%s, [1, 0, 2])", t)) : v->name ? t : let(n, t);
}

static const char *named(Node *n, Tensor *v) {
  if (!v) return "";
  const char *t = tensor_text(n, v);
  return v->name ? t : let(n, t);
}

/* All steps from h and c on, which become the last ones: the list of the h of each step. */
static const char *unrolled(const Layer *l, bool down, const char **h, const char **c) {
  const int64_t steps = l->steps.n;
  const char **at = ARENA_ARRAY(l->n->im->a, const char *, steps), *list = "";
  for (int64_t i = 0; i < steps; i++) {
    const int64_t t = down ? steps - 1 - i : i;
    step(l, text(l->n, "%lld", (long long)t), h, c);
    at[t] = *h;
  }
  for (int64_t t = 0; t < steps; t++) list = text(l->n, "%s%s%s", list, t ? ", " : "", at[t]);
  return text(l->n, "stack([%s])", list);
}

/* The same by a loop. */
static const char *looped(const Layer *l, bool down, const char **h, const char **c) {
  Node *n = l->n;
  Import *im = n->im;
  const bool cell = l->kind == 4;
  const char *k = name_new(im, "k"), *all = name_new(im, "steps"), *own = name_new(im, "h"),
             *count = dim_text(im, l->steps), *last;
  statement_add(im, text(n, "%s = %s", own, *h));
  *h = last = own;
  if (cell) {
    own = name_new(im, "c");
    statement_add(im, text(n, "%s = %s", own, *c));
    *c = own;
  }
  const char *next = *h, *next_c = *c;
  statement_add(im, text(n, "%s = scan %s in 0..%s {", all, k, count));
  im->block++;
  step(l, down ? text(n, "%s - 1 - %s", count, k) : k, &next, &next_c);
  if (cell)
    statement_add(im, text(n, "%s, %s = %s, %s", last, *c, next, next_c));
  else
    statement_add(im, text(n, "%s = %s", last, next));
  statement_add(im, text(n, "yield %s", last));
  im->block--;
  statement_add(im, "}");
  return down ? text(n, "reverse(%s, axis = 0)", all) : all;
}

bool onnx_recurrent(Node *n) {
  Tensor *x = input(n, 0), *r = input(n, 2);
  Layer l = {.n = n, .kind = strcmp(n->op, "LSTM") == 0 ? 4 : strcmp(n->op, "GRU") == 0 ? 3 : 1};
  bool rows = attr_int(n, "layout", 0) == 1, lstm = l.kind == 4; /* rows: the batch comes first */
  const char *back = attr_string(n, "direction", "forward");
  int64_t directions;
  enum { MOST_STEPS = 1 << 12 };
  Number steps_of;
  if (input(n, 4) && is_one_number(n->im, input(n, 4), &steps_of) && !steps_of.symbol &&
      x->shape.rank == 3 && dim_same(x->shape.at[rows], (Axis){.n = steps_of.i}))
    n->in[4] = NULL; /* the lengths of all sequences are those of the tensor */
  if (input(n, 4) && !known_of(n->im, input(n, 4))) return known_input(n, 4) != NULL;
  if (input(n, 4) || (!lstm && n->nin > 6) || attr_of(n, "activations") || attr_of(n, "clip") ||
      attr_int(n, "input_forget", 0))
    return refuse(n, "recurrent layers with lengths or activations of their own");
  if (x->shape.rank != 3 || r->shape.rank != 3) return refuse(n, "shapes that do not fit");
  l.batch = x->shape.at[!rows];
  if (!trips_take(n, x->shape.at[rows], &l.steps) || !dim_number(n, r->shape.at[0], &directions) ||
      !dim_number(n, r->shape.at[2], &l.size))
    return false;
  if ((!l.steps.symbol && l.steps.n > MOST_STEPS) || directions > 2)
    return refuse(n, "more than %d steps", MOST_STEPS);
  l.x = rows ? let(n, text(n, "transpose(%s, [1, 0, 2])", tensor_text(n, x))) : named(n, x);
  l.w = named(n, input(n, 1)), l.r = named(n, r), l.b = named(n, input(n, 3)),
  l.peep = named(n, input(n, 7));
  const char *h0 = start(n, input(n, 5), rows, &l),
             *c0 = lstm ? start(n, input(n, 6), rows, &l) : "";
  const char *sequences = "", *last = "", *cells = "";
  for (int d = 0; d < directions; d++) {
    bool down = strcmp(back, "reverse") == 0 || d == 1;
    const char *zero = text(n, "zeros([%s, %lld], %s)", dim_text(n->im, l.batch), (long long)l.size,
                            elem_of(x->type)->gc);
    const char *h = *h0 ? text(n, "%s[%d]", h0, d) : zero,
               *c = *c0 ? text(n, "%s[%d]", c0, d) : zero;
    l.direction = d;
    const char *each = (l.steps.symbol ? looped : unrolled)(&l, down, &h, &c);
    sequences = text(n, "%s%s%s", sequences, d ? ", " : "", each);
    last = text(n, "%s%s%s", last, d ? ", " : "", h);
    cells = text(n, "%s%s%s", cells, d ? ", " : "", c);
  }
  Axis dims = {.n = directions}, batch = l.batch, size = {.n = l.size}, steps = l.steps;
  Shape y = {.rank = 4, .at = {steps, dims, batch, size}},
        end = {.rank = 3, .at = {dims, batch, size}};
  const char *t = text(n, "stack([%s], axis = 1)", sequences), *e = text(n, "stack([%s])", last),
             *f = text(n, "stack([%s])", cells);
  if (rows) {
    y = (Shape){.rank = 4, .at = {batch, steps, dims, size}},
    end = (Shape){.rank = 3, .at = {batch, dims, size}};
    t = text(n, "transpose(%s, [2, 0, 1, 3])", t), e = text(n, "transpose(%s, [1, 0, 2])", e),
    f = text(n, "transpose(%s, [1, 0, 2])", f);
  }
  return give(n, 0, x->type, &y, t) && give(n, 1, x->type, &end, e) &&
         (!lstm || give(n, 2, x->type, &end, f));
}
