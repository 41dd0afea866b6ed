/* Types, literals, loads and stores of scalars in generated source; see scalar.h. */
#include "codegen/text/scalar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *storage, *compute, *prefix;
} dtype_text[DTYPES] = {
    [DT_BOOL] = {"uint8_t", "uint8_t", "u8"}, [DT_U8] = {"uint8_t", "uint8_t", "u8"},
    [DT_I8] = {"int8_t", "int8_t", "i8"},     [DT_I32] = {"int32_t", "int32_t", "i32"},
    [DT_I64] = {"int64_t", "int64_t", "i64"}, [DT_F16] = {"uint16_t", "float", "f32"},
    [DT_BF16] = {"uint16_t", "float", "f32"}, [DT_F32] = {"float", "float", "f32"},
    [DT_F64] = {"double", "double", "f64"},
};

const char *dtype_enum(Dtype dt) {
  static const char *const names[DTYPES] = {
      [DT_BOOL] = "GC_BOOL", [DT_U8] = "GC_U8",   [DT_I8] = "GC_I8",
      [DT_I32] = "GC_I32",   [DT_I64] = "GC_I64", [DT_F16] = "GC_F16",
      [DT_BF16] = "GC_BF16", [DT_F32] = "GC_F32", [DT_F64] = "GC_F64"};
  return names[dt];
}
const char *dtype_storage(Dtype dt) { return dtype_text[dt].storage; }
const char *dtype_compute(Dtype dt) { return dtype_text[dt].compute; }
const char *dtype_prefix(Dtype dt) { return dtype_text[dt].prefix; }

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
  return dtype_is_half(dt) ? arena_printf(a, "%s_to_f32(%s[%s])", dtype_name(dt), base, index)
                           : arena_printf(a, "%s[%s]", base, index);
}

const char *scalar_store(Arena *a, Dtype dt, const char *value) {
  return dtype_is_half(dt) ? arena_printf(a, "f32_to_%s(%s)", dtype_name(dt), value) : value;
}

const char *scalar_store_rounded(Arena *a, Dtype dt, const char *value) {
  return dt == DT_BF16 ? arena_printf(a, "bf16_bits(%s)", value) : scalar_store(a, dt, value);
}

const char *scalar_round_text(Arena *a, Dtype dt, const char *value) {
  return dtype_is_half(dt) ? arena_printf(a, "%s_round(%s)", dtype_name(dt), value) : value;
}
