/* Scalar text of element-wise ops: the same characters for every target.
   Contract: operands are names or literals of their compute type; the result is an expression of
   the op's compute type, rounded where the dtype is stored narrower than it is computed. The text
   comes from the op table: a, b and c are replaced, FN(exp) becomes f32_exp. */
#include "codegen/program/kernel.h"
#include "ir/eval/interp.h"
#include "ir/fold/fold.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

static const struct {
  const char *storage, *compute, *prefix;
} dtype_text[DTYPES] = {
    [DT_BOOL] = {"uint8_t", "uint8_t", "u8"}, [DT_U8] = {"uint8_t", "uint8_t", "u8"},
    [DT_I32] = {"int32_t", "int32_t", "i32"}, [DT_I64] = {"int64_t", "int64_t", "i64"},
    [DT_F16] = {"uint16_t", "float", "f32"},  [DT_BF16] = {"uint16_t", "float", "f32"},
    [DT_F32] = {"float", "float", "f32"},     [DT_F64] = {"double", "double", "f64"},
};

const char *dtype_storage(Dtype dt) { return dtype_text[dt].storage; }
const char *dtype_compute(Dtype dt) { return dtype_text[dt].compute; }
const char *dtype_prefix(Dtype dt) { return dtype_text[dt].prefix; }

const char *random_key_text(Arena *a, Attr key, Attr draw, const char *place) {
  uint64_t hash = random_hash(key.str), n = (uint64_t)draw.i;
  if (!place) return arena_printf(a, "0x%016llxull", (unsigned long long)random_key(hash, n));
  return arena_printf(a, "random_key(0x%016llxull, %lluull + (uint32_t)%s)",
                      (unsigned long long)hash, (unsigned long long)n, place);
}

static bool is_half(Dtype dt) { return dt == DT_F16 || dt == DT_BF16; }

const char *scalar_literal(Arena *a, Dtype dt, Attr v) {
  if (!dtype_is_float(dt)) {
    if (v.i == INT64_MIN) return "INT64_MIN";
    const char *suffix = dt == DT_I64 ? "LL" : "";
    if (v.i == INT32_MIN && dt == DT_I32) return "INT32_MIN";
    return v.i < 0 ? arena_printf(a, "(%lld%s)", (long long)v.i, suffix)
                   : arena_printf(a, "%lld%s", (long long)v.i, suffix);
  }
  const char *f = dt == DT_F64 ? "" : "f";
  if (isnan(v.f)) return *f ? "__builtin_nanf(\"\")" : "__builtin_nan(\"\")";
  if (isinf(v.f)) {
    if (v.f > 0) return *f ? "__builtin_inff()" : "__builtin_inf()";
    return *f ? "(-__builtin_inff())" : "(-__builtin_inf())";
  }
  double d = *f ? (double)(float)v.f : v.f;
  char s[64];
  for (int digits = 1; digits <= 17; digits++) { /* the shortest that reads back */
    snprintf(s, sizeof s, "%.*g", digits, d);
    double back = strtod(s, NULL);
    if (*f ? (float)back == (float)d : back == d) break;
  }
  const char *point = strpbrk(s, ".e") ? "" : ".0";
  return signbit(d) ? arena_printf(a, "(%s%s%s)", s, point, f)
                    : arena_printf(a, "%s%s%s", s, point, f);
}

const char *scalar_load(Arena *a, Dtype dt, const char *base, const char *index) {
  return is_half(dt) ? arena_printf(a, "%s_to_f32(%s[%s])", dtype_name(dt), base, index)
                     : arena_printf(a, "%s[%s]", base, index);
}

const char *scalar_store(Arena *a, Dtype dt, const char *value) {
  return is_half(dt) ? arena_printf(a, "f32_to_%s(%s)", dtype_name(dt), value) : value;
}

const char *scalar_round_text(Arena *a, Dtype dt, const char *value) {
  const char *n = dtype_name(dt);
  return is_half(dt) ? arena_printf(a, "%s_to_f32(f32_to_%s(%s))", n, n, value) : value;
}

static const char *convert(Gen *g, Dtype from, Dtype to, const char *x) {
  if (to == DT_BOOL) return arena_printf(g->a, "%s != 0", x);
  if (dtype_is_float(from) && !dtype_is_float(to))
    return arena_printf(g->a, "%s_from_%s(%s)", dtype_prefix(to), dtype_prefix(from), x);
  bool wide = from == DT_F64 || from == DT_I32 || from == DT_I64;
  if (wide && is_half(to)) return arena_printf(g->a, "f32_sticky((double)%s)", x);
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
  if (info->flags & OPF_COMMUTATIVE && fold_commutes(op->kind, value_type(e, op->operands[0])) &&
      variable_number(operand[1]) >= 0 &&
      variable_number(operand[1]) < variable_number(operand[0])) {
    swapped[0] = operand[1]; /* in order, so that kernels that compute the same are equal texts */
    swapped[1] = operand[0];
    operand = swapped;
  }
  return scalar_round_text(g->a, out, substitute(g, text, dtype_prefix(in), operand));
}
