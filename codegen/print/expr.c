/* Scalar text of element-wise ops: the same characters for every target.
   Contract: operands are names or literals of their compute type; the result is an expression of
   the op's compute type, rounded where the dtype is stored narrower than it is computed. The text
   comes from the op table: a, b and c are replaced, FN(exp) becomes f32_exp. */
#include "codegen/print/expr.h"
#include "ir/eval/interp.h"
#include "ir/fold/fold.h"

#include <ctype.h>
#include <math.h>

static const char *word_text(const Gen *g, uint64_t x) {
  return gen_number(g, "u64", x, arena_printf(g->a, "0x%016llxull", (unsigned long long)x));
}

const char *random_key_text(const Gen *g, Attr key, Attr draw, const char *place) {
  uint64_t hash = random_hash(key.str), n = (uint64_t)draw.i;
  if (!place) return word_text(g, random_key(hash, n));
  return arena_printf(g->a, "random_key(%s, %lluull + (uint32_t)%s)", word_text(g, hash),
                      (unsigned long long)n, place);
}

/* The number that an op takes the minimum or maximum by; NaN: none. */
static double extreme_by(const Entry *e, const Op *op, OpKind kind) {
  const Op *by = op && op->kind == kind ? value_def(e, op->operands[1]) : NULL;
  return by && by->kind == OP_CONST ? by->attr[AT_VALUE].f : NAN;
}

/* The value is clamped to what a byte holds, or NaN. */
static bool is_within(const Entry *e, ValueId v, Dtype to) {
  const Op *op = value_def(e, v),
           *inner = op && op->noperands ? value_def(e, op->operands[0]) : NULL;
  const double least = to == DT_I8 ? -128 : 0, most = to == DT_I8 ? 127 : 255;
  if (to != DT_I8 && to != DT_U8) return false;
  return (extreme_by(e, op, OP_MIN) <= most && extreme_by(e, op, OP_MIN) >= least &&
          extreme_by(e, inner, OP_MAX) >= least) ||
         (extreme_by(e, op, OP_MAX) >= least && extreme_by(e, op, OP_MAX) <= most &&
          extreme_by(e, inner, OP_MIN) <= most);
}

static const char *convert(Gen *g, Dtype from, Dtype to, const char *x, bool within) {
  if (to == DT_BOOL) return arena_printf(g->a, "%s != 0", x);
  if (within)
    return arena_printf(g->a, "%s_within_%s(%s)", dtype_prefix(to), dtype_prefix(from), x);
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

/* One comparison, which a NaN fails, where a minimum or maximum is by a number; else NULL. */
static const char *one_comparison(const Entry *e, const Op *op) {
  if (!isnan(extreme_by(e, op, OP_MIN))) return "!(a >= b) ? a : b";
  return isnan(extreme_by(e, op, OP_MAX)) ? NULL : "!(a <= b) ? a : b";
}

/* The result is an operand or 0: it needs no rounding, since values of the result's dtype are
   rounded as they are read or computed. Constants are not. */
static bool chooses_rounded(const Entry *e, const Op *op, Dtype dt) {
  const bool chooses = op->kind == OP_RELU || op->kind == OP_RELU_GRAD || op->kind == OP_WHERE ||
                       op->kind == OP_MIN || op->kind == OP_MAX;
  for (int i = op->kind == OP_WHERE; chooses && i < op->noperands; i++) {
    ValueId v = op->operands[i];
    const Op *from;
    while ((from = value_def(e, v)) && op_info[from->kind].cls == CLASS_VIEW) v = from->operands[0];
    if (value_type(e, v)->dtype != dt || (from && from->kind == OP_CONST)) return false;
  }
  return chooses;
}

const char *scalar_expr(Gen *g, const Entry *e, const Op *op, const char *const *operand) {
  Dtype out = value_type(e, op->results[0])->dtype;
  Dtype in = value_type(e, op->operands[op->kind == OP_WHERE ? 1 : 0])->dtype;
  const OpInfo *info = &op_info[op->kind];
  if (op->kind == OP_CONVERT)
    return scalar_round_text(
        g->a, out,
        convert(g, in, out, operand[0], dtype_is_float(in) && is_within(e, op->operands[0], out)));
  const char *text = dtype_is_float(in) ? info->expr : info->iexpr;
  if (dtype_is_float(in) && one_comparison(e, op)) text = one_comparison(e, op);
  if (!text) gc_bug(g->ctx, "op %s has no scalar text for %s", info->name, dtype_name(in));
  const char *swapped[2];
  if (op_commutes(e, op) && variable_number(operand[1]) >= 0 &&
      variable_number(operand[1]) < variable_number(operand[0])) {
    swapped[0] = operand[1]; /* in order, so that kernels that compute the same are equal texts */
    swapped[1] = operand[0];
    operand = swapped;
  }
  text = substitute(g, text, dtype_prefix(in), operand);
  return chooses_rounded(e, op, out) ? text : scalar_round_text(g->a, out, text);
}
