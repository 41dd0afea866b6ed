/* Scalar text of element-wise ops: the same characters for every target.
   Contract: operands are names or literals of their compute type; the result is an expression of
   the op's compute type, rounded where the dtype is stored narrower than it is computed. The text
   comes from the op table: a, b and c are replaced, FN(exp) becomes f32_exp. */
#include "codegen/print/expr.h"
#include "ir/eval/interp.h"
#include "ir/fold/fold.h"

#include <ctype.h>

const char *random_key_text(Arena *a, Attr key, Attr draw, const char *place) {
  uint64_t hash = random_hash(key.str), n = (uint64_t)draw.i;
  if (!place) return arena_printf(a, "0x%016llxull", (unsigned long long)random_key(hash, n));
  return arena_printf(a, "random_key(0x%016llxull, %lluull + (uint32_t)%s)",
                      (unsigned long long)hash, (unsigned long long)n, place);
}

static const char *convert(Gen *g, Dtype from, Dtype to, const char *x) {
  if (to == DT_BOOL) return arena_printf(g->a, "%s != 0", x);
  if (dtype_is_float(from) && !dtype_is_float(to))
    return arena_printf(g->a, "%s_from_%s(%s)", dtype_prefix(to), dtype_prefix(from), x);
  bool wide = from == DT_F64 || from == DT_I32 || from == DT_I64;
  if (wide && dtype_is_half(to)) return arena_printf(g->a, "f32_sticky((double)%s)", x);
  if (strcmp(dtype_compute(from), dtype_compute(to)) == 0) return x;
  return arena_printf(g->a, "(%s)%s", dtype_compute(to), x);
}

/* Replaces the words a, b, c and FN(name) of a row of the op table. */
static const char *substitute(Gen *g, const char *text, const char *prefix,
                              const char *const *operand) {
  Text x = text_new(g->a, 0);
  for (const char *s = text; *s;) {
    if (!isalpha((unsigned char)*s) && *s != '_') {
      text_add(&x, "%c", *s++);
      continue;
    }
    size_t n = 1;
    while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
    if (n == 2 && strncmp(s, "FN", 2) == 0) {
      const char *close = strchr(s, ')');
      text_add(&x, "%s_%.*s", prefix, (int)(close - s - 3), s + 3);
      s = close + 1;
      continue;
    }
    if (n == 1 && *s >= 'a' && *s <= 'c')
      text_add(&x, "%s", operand[*s - 'a']);
    else
      text_add(&x, "%.*s", (int)n, s);
    s += n;
  }
  return text_str(&x);
}

/* The number of a variable "v12"; -1: it is something else. */
static int variable_number(const char *s) {
  if (*s++ != 'v' || !*s) return -1;
  int n = 0;
  for (; *s; s++) {
    if (!isdigit((unsigned char)*s) || n > 99999999) return -1;
    n = 10 * n + *s - '0';
  }
  return n;
}

const char *scalar_expr(Gen *g, const Entry *e, const Op *op, const char *const *operand) {
  Dtype out = value_type(e, op->results[0])->dtype;
  Dtype in = value_type(e, op->operands[op->kind == OP_WHERE ? 1 : 0])->dtype;
  const OpInfo *info = &op_info[op->kind];
  if (op->kind == OP_CONVERT) return scalar_round_text(g->a, out, convert(g, in, out, operand[0]));
  const char *text = dtype_is_float(in) ? info->expr : info->iexpr;
  if (!text) gc_bug(g->ctx, "op %s has no scalar text for %s", info->name, dtype_name(in));
  const char *swapped[2];
  if (op_commutes(e, op) && variable_number(operand[1]) >= 0 &&
      variable_number(operand[1]) < variable_number(operand[0])) {
    swapped[0] = operand[1]; /* in order, so that kernels that compute the same are equal texts */
    swapped[1] = operand[0];
    operand = swapped;
  }
  return scalar_round_text(g->a, out, substitute(g, text, dtype_prefix(in), operand));
}
