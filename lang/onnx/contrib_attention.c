/* Contrib operators of attention, as ONNX's Attention and Concat; and RotaryEmbedding of both.
   Contract: a key that a mask hides has a probability of 0, where ONNX Runtime adds
   mask_filter_value, -10,000, to its score: the same but for queries that see no key at all. */
#include "lang/onnx/compose.h"

#include <math.h>

/* What of the keys is seen, as [batch, 1, queries or 1, keys]: of a mask of 0 and 1 or of the
   number of keys. NULL: the mask is left out, or was refused. */
static Tensor *seen(Compose *c, Tensor *mask, Axis batch, Axis queries, Axis keys) {
  Node *n = c->n;
  if (!mask) return NULL;
  const Shape *m = &mask->shape;
  Shape s = {.rank = 4, .at = {batch, {.n = 1}, {.n = 1}, keys}};
  const char *t = tensor_text(n, mask);
  if (m->rank == 1 && dim_same(m->at[0], batch)) {
    const Shape column = {.rank = 4, .at = {batch, {.n = 1}, {.n = 1}, {.n = 1}}};
    t = text(n, "%s < %s", along_dim(n, keys, 3, 4), reshaped(n, t, &column));
    return compose_value(c, ELEM_BOOL, &s, t);
  }
  const bool each = m->rank == 3 && dim_same(m->at[1], queries);
  if ((m->rank != 2 && !each) || !dim_same(m->at[0], batch) ||
      !dim_same(m->at[m->rank - 1], keys)) {
    c->failed = true;
    return refuse(n, "a mask of another shape"), NULL;
  }
  if (each) s.at[2] = queries;
  return compose_value(c, ELEM_BOOL, &s, text(n, "%s > 0", reshaped(n, t, &s)));
}

typedef struct Heads {
  Tensor *q, *k, *v;       /* [batch, tokens, heads * size], or [batch, heads, tokens, size] */
  Tensor *past_k, *past_v; /* [batch, heads, past, size] */
  Tensor *mask, *bias;     /* as the operator has them */
} Heads;

/* The output, and the keys and values with those of the past, as [batch, heads, tokens, size]. */
static void attend(Compose *c, const Heads *h, Tensor *out[3]) {
  Node *n = c->n;
  const int64_t heads = attr_int(n, "num_heads", 0);
  if (c->failed || !h->q || !h->k || !h->v || h->q->shape.rank < 3 || h->k->shape.rank < 3) {
    if (!c->failed) refuse(n, "shapes that do not fit");
    c->failed = true;
    return;
  }
  Axis batch = h->q->shape.at[0], queries = h->q->shape.at[1],
       keys = h->k->shape.at[h->k->shape.rank - 2];
  if (h->past_k &&
      (h->past_k->shape.rank != 4 || !dim_add(keys, h->past_k->shape.at[2], 1, &keys))) {
    c->failed = !refuse(n, "a past that does not fit");
    return;
  }
  Tensor *mask = seen(c, h->mask, batch, queries, keys);
  if (h->bias && mask) {
    Tensor *never = compose_real(c, h->bias->type, -INFINITY);
    mask = compose(c, "Where", IN(mask, h->bias, never), WITHOUT);
  } else if (h->bias) {
    mask = h->bias;
  }
  const double scale = attr_real(n, "scale", 0);
  With causal = with_int(c, "is_causal", attr_int(n, "unidirectional", 0)),
       of_q = with_int(c, "q_num_heads", heads), of_k = with_int(c, "kv_num_heads", heads);
  compose_all(c, "Attention", IN(h->q, h->k, h->v, mask, h->past_k, h->past_v),
              scale != 0 ? WITH(causal, of_q, of_k, with_real(c, "scale", scale))
                         : WITH(causal, of_q, of_k),
              out, 3);
}

static Tensor *split(Compose *c, Tensor *v, int axis, const int64_t size[3], Tensor *out[3]) {
  for (int i = 0; i < 3; i++) out[i] = v; /* wanted */
  if (v)
    compose_all(c, "Split", IN(v, compose_ints(c, size, 3)), WITH(with_int(c, "axis", axis)), out,
                3);
  return out[0];
}

/* The input of a product with its scale and zero point, as floats. */
static Tensor *floats(Compose *c, Tensor *q, Tensor *scale, Tensor *zero) {
  return compose(c, "DequantizeLinear", IN(q, scale, zero), WITH(with_int(c, "axis", -1)));
}

/* Attention, and QAttention, whose input and weights are quantized: queries, keys and values are
   one product. */
bool contrib_attention(Node *n) {
  Compose c = {.n = n};
  const bool quantized = strcmp(n->op, "QAttention") == 0;
  Tensor *x = input(n, 0), *w = input(n, 1), *past = input(n, quantized ? 8 : 4);
  Heads h = {.mask = input(n, quantized ? 5 : 3), .bias = quantized ? NULL : input(n, 5)};
  int64_t size[2 * MOST_RANK], wide;
  int count;
  if (attr_int(n, "do_rotary", 0) || attr_int(n, "past_present_share_buffer", 0))
    return refuse(n, "a past of another length than its tensor, or rotated keys");
  if (x->shape.rank != 3 || w->shape.rank != 2 || !dim_number(n, w->shape.at[1], &wide))
    return refuse(n, "shapes that do not fit");
  for (int i = 0; i < 3; i++) size[i] = wide / 3;
  if (attr_of(n, "qkv_hidden_sizes") &&
      (!attr_ints(n, "qkv_hidden_sizes", size, &count) || count != 3))
    return refuse(n, "other sizes than three");
  if (quantized) {
    x = floats(&c, x, input(n, 3), input(n, 6));
    w = floats(&c, w, input(n, 4), input(n, 7));
  }
  Tensor *y = compose_sum(&c, compose(&c, "MatMul", IN(x, w), WITHOUT), input(n, 2)), *all[3];
  split(&c, y, 2, size, all);
  h.q = all[0], h.k = all[1], h.v = all[2];
  if (past && past->shape.rank == 5 && dim_same(past->shape.at[0], (Axis){.n = 2})) {
    Tensor *half[2];
    for (int64_t i = 0; i < 2; i++) {
      Tensor *at = compose_ints(&c, &i, 1);
      at->shape.rank = 0;
      half[i] = compose(&c, "Gather", IN(past, at), WITHOUT);
    }
    h.past_k = half[0], h.past_v = half[1];
  } else if (past) {
    return refuse(n, "a past that does not fit");
  }
  Tensor *out[3] = {x, x, x};
  attend(&c, &h, out);
  if (output(n, 1)) {
    const int64_t first = 0;
    Tensor *axes = compose_ints(&c, &first, 1),
           *k = compose(&c, "Unsqueeze", IN(out[1], axes), WITHOUT),
           *v = compose(&c, "Unsqueeze", IN(out[2], axes), WITHOUT);
    if (!compose_give(&c, 1, compose(&c, "Concat", IN(k, v), WITH(with_int(&c, "axis", 0)))))
      return false;
  }
  return compose_give(&c, 0, out[0]);
}

/* With queries, keys and values of their own, and one bias for all. */
bool contrib_multi_head(Node *n) {
  Compose c = {.n = n};
  Heads h = {input(n, 0), input(n, 1), input(n, 2), input(n, 6),
             input(n, 7), input(n, 4), input(n, 5)};
  Tensor *bias = input(n, 3);
  if (h.q->shape.rank != 3 || output(n, 3))
    return refuse(n, "packed queries, or scores as an output");
  if (bias) {
    Tensor **to[] = {&h.q, &h.k, &h.v}, *part[3];
    int64_t size[3];
    for (int i = 0; i < 3; i++)
      if ((*to[i])->shape.rank != 3 || !dim_number(n, (*to[i])->shape.at[2], &size[i]))
        return refuse(n, "a bias of keys that are heads");
    if (bias->shape.rank != 1) return refuse(n, "shapes that do not fit");
    split(&c, bias, 0, size, part);
    for (int i = 0; i < 3; i++) *to[i] = compose_sum(&c, *to[i], part[i]);
  }
  Tensor *out[3] = {h.q, h.q, h.q};
  attend(&c, &h, out);
  return compose_give(&c, 0, out[0]) && compose_give(&c, 1, out[1]) && compose_give(&c, 2, out[2]);
}

/* ---- rotary position embedding ---- */

/* Rows of a table of angles, [batch, tokens, size], or [places, size] and the places of tokens. */
static Tensor *angles(Compose *c, Tensor *table, Tensor *places, Axis tokens) {
  if (!places || c->failed) return table;
  if (places->shape.rank == 1) { /* of the first token */
    if (places->shape.at[0].symbol || places->shape.at[0].n != 1) {
      c->failed = true;
      return refuse(c->n, "places of another shape"), NULL;
    }
    const Shape row = {.rank = 2, .at = {{.n = 1}, tokens}};
    places = compose_value(
        c, ELEM_I64, &row,
        text(c->n, "%s + i64(%s)", tensor_text(c->n, places), along_dim(c->n, tokens, 1, 2)));
  }
  return compose(c, "Gather", IN(table, places), WITHOUT);
}

static bool rotate(Node *n, Tensor *cosines, Tensor *sines, Tensor *places, int64_t heads) {
  Compose c = {.n = n};
  Tensor *x = input(n, 0);
  const bool flat = x->shape.rank == 3;
  int64_t wide, half, size;
  if ((!flat && x->shape.rank != 4) || !dim_number(n, x->shape.at[x->shape.rank - 1], &wide) ||
      cosines->shape.rank < 2 ||
      !dim_number(n, cosines->shape.at[cosines->shape.rank - 1], &half) || half < 1 || half > wide)
    return refuse(n, "shapes that do not fit");
  if (flat && heads < 1) heads = wide / (2 * half);
  size = flat ? wide / (heads < 1 ? 1 : heads) : wide;
  if (2 * half > size || (flat && heads * size != wide))
    return refuse(n, "heads that do not divide its input");
  const Axis tokens = x->shape.at[flat ? 1 : 2];
  Tensor *table[] = {angles(&c, cosines, places, tokens), angles(&c, sines, places, tokens)};
  if (c.failed || table[0]->shape.rank != 3 || !shape_same(&table[0]->shape, &table[1]->shape))
    return c.failed ? false : refuse(n, "shapes that do not fit");
  const char *t = tensor_text(n, x), *of[2];
  Shape s = x->shape, part = table[0]->shape;
  if (flat) { /* [batch, tokens, heads, size] */
    s = (Shape){.rank = 4, .at = {x->shape.at[0], tokens, {.n = heads}, {.n = size}}};
    t = let(n, reshaped(n, t, &s));
  }
  part = (Shape){.rank = 4, .at = {part.at[0], part.at[1], part.at[1], part.at[2]}};
  part.at[flat ? 2 : 1] = (Axis){.n = 1};
  for (int i = 0; i < 2; i++) of[i] = let(n, reshaped(n, tensor_text(n, table[i]), &part));
  const bool pairs = attr_int(n, "interleaved", 0) != 0;
  const long long h = half;
  const char *a = let(n, pairs ? text(n, "%s[..., 0:%lld:2]", t, 2 * h)
                               : text(n, "%s[..., 0:%lld]", t, h)),
             *b = let(n, pairs ? text(n, "%s[..., 1:%lld:2]", t, 2 * h)
                               : text(n, "%s[..., %lld:%lld]", t, h, 2 * h));
  const char *first = let(n, text(n, "%s * %s - %s * %s", of[0], a, of[1], b)),
             *second = let(n, text(n, "%s * %s + %s * %s", of[1], a, of[0], b));
  Shape turned = s;
  turned.at[3].n = 2 * half;
  const char *y = pairs ? reshaped(n, text(n, "stack([%s, %s], axis = 4)", first, second), &turned)
                        : text(n, "concat([%s, %s], axis = 3)", first, second);
  if (2 * half < size)
    y = text(n, "concat([%s, %s[..., %lld:%lld]], axis = 3)", y, t, 2 * h, (long long)size);
  return give(n, 0, x->type, &x->shape, flat ? reshaped(n, y, &x->shape) : y);
}

bool contrib_rotary(Node *n) {
  if (attr_int(n, "is_packed_batching", 0) || attr_real(n, "scale", 1) != 1)
    return refuse(n, "packed sequences, or a scale");
  return rotate(n, input(n, 2), input(n, 3), input(n, 1), attr_int(n, "num_heads", 0));
}

bool onnx_rotary(Node *n) {
  return rotate(n, input(n, 1), input(n, 2), input(n, 3), attr_int(n, "num_heads", 0));
}
