/* LinearAttention: a state for each head, which each token changes and reads, as a loop of the
   program; that of halves is held in f32. Source:
   https://onnx.ai/onnx/operators/onnx__LinearAttention.html. */
#include "lang/onnx/import.h"

#include <math.h>

static const char *converted(Node *n, int from, int to, const char *v) {
  return from == to ? v : text(n, "%s(%s)", elem_of(to)->gc, v);
}

static int computed_in(int type) { return type == ELEM_F64 ? ELEM_F64 : ELEM_F32; }

/* [batch, tokens, heads * size] as [batch, heads, tokens, size]; NULL after refusing. */
static const char *heads_of(Node *n, Tensor *v, int64_t heads, int64_t *size) {
  int64_t wide;
  if (v->shape.rank != 3 || !dim_number(n, v->shape.at[2], &wide)) return NULL;
  if (heads < 1 || wide % heads) return refuse(n, "heads that do not divide its input"), NULL;
  *size = wide / heads;
  return let(n, text(n, "to_heads(%s, %lld)",
                     converted(n, v->type, computed_in(v->type), tensor_text(n, v)),
                     (long long)heads));
}

static const char *assign(Node *n, const char *name, const char *expression) {
  statement_add(n->im, text(n, "%s = %s", name, expression));
  return name;
}

/* What a token adds to the state, [batch, heads, d_k, d_v]: of a delta rule its value less what the
   state gives for its key. */
static void token(Node *n, const char *s, const char *k, const char *v, const char *decay,
                  const char *beta, const char *t) {
  if (*decay) assign(n, s, text(n, "exp(%s[:, :, %s])[..., none] * %s", decay, t, s));
  const char *key = let(n, text(n, "%s[:, :, %s]", k, t)),
             *value = let(n, text(n, "%s[:, :, %s]", v, t));
  if (*beta)
    value = let(n, text(n, "%s[:, :, %s] * (%s - einsum(\"bhk,bhkv->bhv\", %s, %s))", beta, t,
                        value, key, s));
  assign(n, s, text(n, "%s + %s[..., none] * %s[:, :, none]", s, key, value));
}

bool onnx_linear_attention(Node *n) {
  Tensor *query = input(n, 0), *past = input(n, 3);
  const char *rule = attr_string(n, "update_rule", "gated_delta");
  const bool gated = strstr(rule, "gated") != NULL, delta = strstr(rule, "delta") != NULL;
  const int64_t heads = attr_int(n, "q_num_heads", 0), of_keys = attr_int(n, "kv_num_heads", 0);
  int64_t dk, same, dv, gates = 1, rates = 1;
  if (heads < 1 || of_keys < 1 || heads % of_keys) return refuse(n, "heads that are no groups");
  if ((gated && !input(n, 4)) || (delta && !input(n, 5)) ||
      (!gated && !delta && strcmp(rule, "linear") != 0))
    return refuse(n, "the rule %s", rule);
  const char *q = heads_of(n, query, heads, &dk),
             *k = q ? heads_of(n, input(n, 1), of_keys, &same) : q,
             *v = k ? heads_of(n, input(n, 2), of_keys, &dv) : k, *decay = "", *beta = "";
  if (!v) return false;
  if (gated && !(decay = heads_of(n, input(n, 4), of_keys, &gates))) return false;
  if (delta) { /* of each head, or of all */
    const Shape *s = &input(n, 5)->shape;
    const bool each = s->rank == 3 && dim_same(s->at[2], (Axis){.n = of_keys});
    if (!(beta = heads_of(n, input(n, 5), each ? of_keys : 1, &rates))) return false;
  }
  const Shape state = {.rank = 4, .at = {query->shape.at[0], {.n = of_keys}, {.n = dk}, {.n = dv}}};
  if (same != dk || rates != 1 || (gates != 1 && gates != dk) ||
      (past && !shape_same(&past->shape, &state)))
    return refuse(n, "shapes that do not fit");
  const Axis tokens = query->shape.at[1], batch = query->shape.at[0];
  const int in = computed_in(query->type), kept = past ? past->type : query->type;
  const double scale = attr_real(n, "scale", 0);
  const Shape groups = {.rank = 5,
                        .at = {batch, {.n = of_keys}, {.n = heads / of_keys}, tokens, {.n = dk}}};
  q = let(n, text(n, "%s * %s", reshaped(n, q, &groups),
                  real(n, scale != 0 ? scale : 1 / sqrt((double)dk))));
  const char *s = name_new(n->im, "state"), *t = name_new(n->im, "t"),
             *out = name_new(n->im, "rows");
  assign(n, s,
         past ? converted(n, past->type, in, tensor_text(n, past))
              : text(n, "zeros(%s, %s)", shape_text(n->im, &state), elem_of(in)->gc));
  statement_add(n->im, text(n, "%s = scan %s in 0..%s {", out, t, dim_text(n->im, tokens)));
  n->im->block++;
  token(n, s, k, v, decay, beta, t);
  statement_add(n->im, text(n, "yield einsum(\"bhgk,bhkv->bhgv\", %s[:, :, :, %s], %s)", q, t, s));
  n->im->block--;
  statement_add(n->im, "}");
  const Shape y = {.rank = 3, .at = {batch, tokens, {.n = heads * dv}}};
  return give(n, 0, query->type, &y,
              converted(n, in, query->type,
                        reshaped(n, text(n, "transpose(%s, [1, 0, 2, 3, 4])", out), &y))) &&
         give(n, 1, kept, &state, converted(n, in, kept, s));
}
