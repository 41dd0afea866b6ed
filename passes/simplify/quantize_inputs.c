/* Static quantization of activations: their scales are found by calibration, not in each row as it
   is multiplied. Contract: the builder stands in an entry's body, so that a global is stored once;
   x is a matrix of f32. A scale is the largest magnitude in a group of columns over 127, rounded to
   bf16, of all rows that calibration has seen. It is kept for each column, so that quantization is
   element-wise with a row of scales, and fuses with what makes x: x is then written as integers. */
#include "passes/simplify/quantize_inputs.h"
#include "passes/manager/pass_list.h"
#include <math.h>
#include <string.h>

enum { MOST = 127 };
#define LEAST 0x1p-100 /* scale */

#define SUFFIX ".input_scale"

const char *passes_input_scale(Ctx *c, const char *param) {
  return intern_printf(c, "%s" SUFFIX, param);
}

bool passes_is_input_scale(const Module *m, const Global *g) {
  const size_t n = strlen(g->path), suffix = sizeof SUFFIX - 1;
  if (n <= suffix || strcmp(g->path + n - suffix, SUFFIX) != 0) return false;
  const char *param = intern_n(m->ctx, g->path, n - suffix);
  return module_find_global(m, param) >= 0 ||
         module_find_global(m, intern_printf(m->ctx, "%s.q8", param)) >= 0 ||
         module_find_global(m, intern_printf(m->ctx, "%s.q4", param)) >= 0;
}

const Type *input_scale_type(Ctx *c, int64_t depth) { return type_get(c, DT_BF16, 1, &depth); }

void input_scales_initial(Builder *b, int global) {
  const Type *t = b->m->globals.at[global].type;
  build_store(b, global, build_const(b, t, (double)NAN));
}

static ValueId shaped(Builder *b, ValueId x, Dtype dt, int rank, int64_t d0, int64_t d1) {
  const int64_t dim[] = {d0, d1};
  return build_reshape(b, x, type_get(b->m->ctx, dt, rank, dim));
}

/* Of the columns of x, the largest magnitude of the group that each of them is in. */
static ValueId magnitudes(Builder *b, ValueId x, int64_t group) {
  Ctx *c = b->m->ctx;
  const int64_t depth = value_type(b->e, x)->dim[1], groups = (depth + group - 1) / group;
  const int64_t rows = 0, columns = 1, grouped[] = {groups, group};
  ValueId v = build_reduce(b, OP_REDUCE_MAX, build1(b, OP_ABS, x), &rows, 1);
  if (depth % group) v = build_pad(b, v, 0, 0, groups * group - depth);
  v = build_reduce_keep(b, OP_REDUCE_MAX, shaped(b, v, DT_F32, 2, groups, group), &columns, 1);
  v = build_broadcast(b, v, type_get(c, DT_F32, 2, grouped));
  v = shaped(b, v, DT_F32, 1, groups * group, 0);
  return depth % group ? build_slice(b, v, 0, 0, depth) : v;
}

void input_scales_add(InputScales *s, Builder *b, int global, ValueId x, int64_t group) {
  ValueId v = magnitudes(b, x, group);
  v = build2(b, OP_DIV, v, build_const(b, value_type(b->e, v), MOST));
  v = build2(b, OP_MAX, v, build_const(b, value_type(b->e, v), LEAST)); /* columns of zeros */
  v = build_convert(b, v, DT_BF16);
  for (uint32_t i = 0; i < s->global.n; i++) {
    if (s->global.at[i] != global) continue;
    s->value.at[i] = build2(b, OP_MAX, s->value.at[i], v);
    return;
  }
  vec_push(s->arena, &s->global, global);
  vec_push(s->arena, &s->value, v);
}

void input_scales_store(InputScales *s, Builder *b) {
  for (uint32_t i = 0; i < s->global.n; i++) {
    const ValueId v = s->value.at[i], old = build_load(b, s->global.at[i]);
    ValueId known = build2(b, OP_EQ, old, old); /* no NaN */
    build_store(b, s->global.at[i], build3(b, OP_WHERE, known, build2(b, OP_MAX, old, v), v));
  }
  s->global.n = s->value.n = 0;
}

void input_scales_apply(Builder *b, ValueId x, ValueId scales, int64_t group, ValueId *integers,
                        ValueId *of_rows) {
  Ctx *c = b->m->ctx;
  const Type *t = value_type(b->e, x);
  const int64_t depth = t->dim[1], groups = (depth + group - 1) / group;
  ValueId s = build_broadcast(b, build_convert(b, scales, DT_F32), t);
  ValueId q = build1(b, OP_ROUND, build2(b, OP_DIV, x, s));
  q = build2(b, OP_MIN, build2(b, OP_MAX, q, build_const(b, t, -MOST - 1)),
             build_const(b, t, MOST));
  *integers = build_convert(b, build_convert(b, q, DT_I32), DT_I8);
  s = depth % group ? build_pad(b, scales, 0, 0, groups * group - depth) : scales;
  s = build_slice(b, shaped(b, s, DT_BF16, 2, groups, group), 1, 0, 1);
  const int64_t dim[] = {type_axis(t, 0), groups};
  *of_rows = build_broadcast(b, shaped(b, s, DT_BF16, 1, groups, 0), type_get(c, DT_BF16, 2, dim));
}
