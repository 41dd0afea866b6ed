/* Contrib operators of decoders as ONNX Runtime's generation has them: attention of groups of
   queries to a cache, and rows of a quantized table.
   Contract: behind a past there is one token. A row of the batch has seqlens_k tokens before it, at
   most as many as past_key; its key and value lie behind these in the cache, and what lies behind
   them means nothing. */
#include "lang/onnx/compose.h"

#include <math.h>

typedef struct Decoder {
  Tensor *q, *k, *v;       /* [batch, tokens, heads * size] */
  Axis batch, tokens, all; /* all: with those of the past */
  int64_t heads, of_keys;
  const char *before; /* tokens of each row, [batch, 1, 1, 1]; NULL: there is no past */
} Decoder;

static bool unpacked(Compose *c, Decoder *d) {
  Node *n = c->n;
  int64_t wide, size;
  if (d->k && d->v) return d->q->shape.rank == 3 && d->k->shape.rank == 3 && d->v->shape.rank == 3;
  if (d->k || d->v || d->q->shape.rank != 3 || !dim_number(n, d->q->shape.at[2], &wide))
    return false;
  size = wide / (d->heads + 2 * d->of_keys);
  if (size < 1 || size * (d->heads + 2 * d->of_keys) != wide) return false;
  const int64_t sizes[] = {d->heads * size, d->of_keys * size, d->of_keys * size};
  Tensor *out[3] = {d->q, d->q, d->q};
  compose_all(c, "Split", IN(d->q, compose_ints(c, sizes, 3)), WITH(with_int(c, "axis", 2)), out,
              3);
  d->q = out[0], d->k = out[1], d->v = out[2];
  return !c->failed;
}

/* Queries and keys turned by the places of their tokens. */
static void rotated(Compose *c, Decoder *d, Tensor *places) {
  Node *n = c->n;
  const Shape one = {.rank = 2, .at = {{.n = 1}, d->tokens}},
              each = {.rank = 2, .at = {d->batch, {.n = 1}}};
  if (!places && d->before)
    places = compose_value(c, ELEM_I64, &each, text(n, "i64(%s)", reshaped(n, d->before, &each)));
  else if (!places)
    places = compose_value(c, ELEM_I64, &one, text(n, "i64(%s)", along_dim(n, d->tokens, 1, 2)));
  With pairs = with_int(c, "interleaved", attr_int(n, "rotary_interleaved", 0));
  d->q = compose(c, "RotaryEmbedding", IN(d->q, input(n, 7), input(n, 8), places),
                 WITH(pairs, with_int(c, "num_heads", d->heads)));
  d->k = compose(c, "RotaryEmbedding", IN(d->k, input(n, 7), input(n, 8), places),
                 WITH(pairs, with_int(c, "num_heads", d->of_keys)));
}

/* The cache with the new keys, or values, as [batch, heads, all, size]. */
static Tensor *cached(Compose *c, const Decoder *d, Tensor *v, Tensor *past) {
  Node *n = c->n;
  if (c->failed) return NULL;
  const Axis size = {.n = v->shape.at[2].n / d->of_keys};
  Shape s = {.rank = 4, .at = {d->batch, {.n = d->of_keys}, d->tokens, size}};
  Tensor *now = compose_value(
      c, v->type, &s, text(n, "to_heads(%s, %lld)", tensor_text(n, v), (long long)d->of_keys));
  if (!past) return now;
  s.at[2] = d->all;
  const char *t = let(n, text(n, "concat([%s, %s], axis = 2)", tensor_text(n, past), now->name));
  return compose_value(
      c, v->type, &s,
      text(n, "where(%s < %s, %s, %s)", along_dim(n, d->all, 2, 4), d->before, t, now->name));
}

/* What a token sees of the cache; NULL: all before it. */
static Tensor *seen(Compose *c, const Decoder *d) {
  Node *n = c->n;
  const int64_t window = attr_int(n, "local_window_size", -1);
  const char *keys = along_dim(n, d->all, 3, 4),
             *at = d->before ? d->before : along_dim(n, d->tokens, 2, 4);
  if (!d->before && window < 1) return NULL;
  const char *t = text(n, "%s <= %s", keys, at);
  if (window > 0) t = text(n, "%s and %s > %s - %lld", t, keys, at, (long long)window);
  Shape s = {.rank = 4, .at = {{.n = 1}, {.n = 1}, d->tokens, d->all}};
  if (d->before) s.at[0] = d->batch;
  return compose_value(c, ELEM_BOOL, &s, t);
}

static bool is_plain(Node *n) {
  static const char *const forms[] = {"k_quant_type", "v_quant_type"};
  bool plain = attr_int(n, "causal", 1) && !attr_int(n, "sliding_window_cache", 0) &&
               attr_int(n, "smooth_softmax", 0) <= 0 && !attr_int(n, "qk_output", 0) &&
               !output(n, 3);
  for (int i = 11; i < n->nin; i++) plain &= !input(n, i);
  for (int i = 0; i < 2; i++) plain &= strcmp(attr_string(n, forms[i], "NONE"), "NONE") == 0;
  return plain || refuse(n, "a quantized cache, a cache of a window, sinks or norms of heads");
}

bool contrib_group_query(Node *n) {
  Compose c = {.n = n};
  Tensor *past[] = {input(n, 3), input(n, 4)}, *last = input(n, 5), *bias = input(n, 10);
  Decoder d = {.q = input(n, 0), .k = input(n, 1), .v = input(n, 2)};
  d.heads = attr_int(n, "num_heads", 0), d.of_keys = attr_int(n, "kv_num_heads", 0);
  const int64_t most = INT32_MAX;
  if (!is_plain(n)) return false;
  if (!last) return refuse(n, "%d inputs", n->nin);
  if (d.heads < 1 || d.of_keys < 1 || d.heads > most || d.of_keys > most || !unpacked(&c, &d) ||
      d.k->shape.at[2].symbol || d.k->shape.at[2].n % d.of_keys || d.v->shape.at[2].n % d.of_keys)
    return refuse(n, "heads that do not divide its input");
  d.batch = d.q->shape.at[0], d.tokens = d.all = d.q->shape.at[1];
  if (!past[0] != !past[1]) return refuse(n, "a past that does not fit");
  if (past[0]) {
    if (d.tokens.symbol || d.tokens.n != 1) return refuse(n, "several tokens behind a past");
    if (past[0]->shape.rank != 4 || past[1]->shape.rank != 4 ||
        !dim_add(d.tokens, past[0]->shape.at[2], 1, &d.all))
      return refuse(n, "a past that does not fit");
    const Shape each = {.rank = 4, .at = {d.batch, {.n = 1}, {.n = 1}, {.n = 1}}};
    d.before = let(n, reshaped(n, text(n, "i32(%s)", tensor_text(n, last)), &each));
  }
  if (attr_int(n, "do_rotary", 0)) {
    if (!input(n, 7) || !input(n, 8)) return refuse(n, "rotation without tables");
    rotated(&c, &d, input(n, 9));
  }
  Tensor *k = cached(&c, &d, d.k, past[0]), *v = cached(&c, &d, d.v, past[1]), *mask = seen(&c, &d);
  if (bias && mask)
    mask = compose(&c, "Where", IN(mask, bias, compose_real(&c, bias->type, -INFINITY)), WITHOUT);
  else if (bias)
    mask = bias;
  With with[6] = {with_int(&c, "q_num_heads", d.heads), with_int(&c, "kv_num_heads", d.of_keys),
                  with_int(&c, "is_causal", !d.before),
                  with_real(&c, "softcap", attr_real(n, "softcap", 0))};
  if (attr_real(n, "scale", 0) != 0) with[4] = with_real(&c, "scale", attr_real(n, "scale", 0));
  Tensor *y = compose(&c, "Attention", IN(d.q, k, v, mask), with);
  return compose_give(&c, 0, y) && compose_give(&c, 1, k) && compose_give(&c, 2, v);
}

/* Rows of a table of 4 or 8 bits, [rows, bytes], with a scale for each block along them. */
bool contrib_gather_quantized(Node *n) {
  Tensor *q = input(n, 0), *ids = input(n, 1), *scale = input(n, 2), *zero = input(n, 3);
  const int64_t bits = attr_int(n, "bits", 4), block = attr_int(n, "block_size", 128);
  int64_t bytes, blocks;
  Axis count;
  if (q->type != ELEM_U8 || (bits != 4 && bits != 8) || q->shape.rank != 2 ||
      scale->shape.rank != 2 || block < 2 || block % 2 || block > INT32_MAX ||
      attr_int(n, "gather_axis", 0) != 0 ||
      (attr_int(n, "quantize_axis", 1) != 1 && attr_int(n, "quantize_axis", 1) != -1))
    return refuse(n, "a table of another form than rows of 4 or 8 bits");
  if (!dim_number(n, q->shape.at[1], &bytes) || !dim_number(n, scale->shape.at[1], &blocks))
    return false;
  const int64_t wide = bytes * 8 / bits;
  if (blocks != (wide + block - 1) / block ||
      (zero && (wide % block || zero->shape.rank != 2 || zero->type != ELEM_U8)) ||
      !dim_product(&ids->shape, 0, ids->shape.rank, &count) || ids->shape.rank + 1 > MOST_RANK)
    return refuse(n, "shapes that do not fit");
  const Shape list = {.rank = 1, .at = {count}};
  const char *at = let(n, reshaped(n, positive(n, ids, q->shape.at[0]), &list)),
             *rows = let(n, text(n, "gather(%s, %s)", tensor_text(n, q), at)),
             *of = let(n, text(n, "gather(%s, %s)", tensor_text(n, scale), at));
  if (bits == 8) rows = let(n, text(n, "i8(i32(%s) - 128)", rows));
  const char *y = text(n, "dequantize(%s, %s, axis = 1, group = %lld, extent = %lld, dtype = %s)",
                       rows, of, (long long)block, (long long)wide, elem_of(scale->type)->gc);
  if (zero) {
    const char *z = contrib_block_zeros(n, text(n, "gather(%s, %s)", tensor_text(n, zero), at),
                                        ELEM_U8, bits, count, blocks, of, elem_of(scale->type)->gc);
    const Shape parts = {.rank = 3, .at = {count, {.n = blocks}, {.n = block}}},
                each = {.rank = 3, .at = {count, {.n = blocks}, {.n = 1}}};
    y = text(n, "%s - %s", reshaped(n, y, &parts), reshaped(n, z, &each));
  }
  Shape s = ids->shape;
  s.at[s.rank++] = (Axis){.n = wide};
  return give(n, 0, scale->type, &s, reshaped(n, y, &s));
}
