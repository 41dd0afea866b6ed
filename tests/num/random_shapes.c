/* Makers of random ops that see shapes: views, windows over images, norms of images.
   Contract: see random_gen.h. Repeated ops and inverse pairs of views are frequent, since folding
   and merging live on them. */
#include "random_gen.h"

#include <math.h>

/* ---- views ---- */

bool maker_reshape(Gen *g) {
  ValueId x = gen_pick(g, ANY);
  int64_t dim[MAX_RANK + 1], left = type_of(g, x)->numel;
  int rank = 0;
  for (int64_t p = 2; p <= left && rank < MAX_RANK; p++)
    if (left % p == 0 && chance(g, 60)) {
      dim[rank++] = p;
      left /= p;
    }
  if (left > 1 || chance(g, 30)) dim[rank++] = left;
  keep(g, build(g->b, OP_RESHAPE, &x, 1, NULL, type_get(g->c, type_of(g, x)->dtype, rank, dim)));
  return true;
}

bool maker_transpose(Gen *g) {
  ValueId x = gen_pick(g, ANY);
  int rank = type_of(g, x)->rank;
  int64_t perm[MAX_RANK + 2];
  for (int i = 0; i < rank; i++) perm[i] = i;
  for (int i = rank - 1; i > 0; i--) {
    int64_t j = below(g, i + 1), t = perm[i];
    perm[i] = perm[j];
    perm[j] = t;
  }
  ValueId y = keep(g, build_transpose(g->b, x, perm));
  if (chance(g, 25)) keep(g, build_transpose(g->b, y, perm));
  return true;
}

bool maker_broadcast(Gen *g) {
  ValueId x = gen_pick(g, ANY);
  const Type *t = type_of(g, x);
  int lead = (int)below(g, 3);
  if (t->rank + lead > MAX_RANK) lead = 0;
  int64_t dim[2 * MAX_RANK];
  for (int i = 0; i < lead; i++) dim[i] = gen_dim(g);
  for (int i = 0; i < t->rank; i++)
    dim[lead + i] = t->dim[i] == 1 && chance(g, 60) ? gen_dim(g) : t->dim[i];
  const Type *to = type_get(g->c, t->dtype, t->rank + lead, dim);
  if (!fits(g, to)) return false;
  keep(g, build(g->b, OP_BROADCAST, &x, 1, NULL, to));
  return true;
}

bool maker_slice(Gen *g) {
  ValueId x = gen_pick(g, ANY);
  const Type *t = type_of(g, x);
  int64_t start[MAX_RANK + 1] = {0}, step[MAX_RANK + 1] = {0}, dim[MAX_RANK + 1];
  for (int i = 0; i < t->rank; i++) {
    start[i] = chance(g, 50) ? 0 : below(g, t->dim[i]);
    step[i] = chance(g, 70) ? 1 : 1 + below(g, 3);
    int64_t most = (t->dim[i] - start[i] + step[i] - 1) / step[i];
    dim[i] = chance(g, 50) ? most : 1 + below(g, most);
  }
  Attr attr[MAX_ATTRS] = {[AT_STARTS] = {.ints = ints(g, start, t->rank)},
                          [AT_STEPS] = {.ints = ints(g, step, t->rank)}};
  keep(g, build(g->b, OP_SLICE, &x, 1, attr, type_get(g->c, t->dtype, t->rank, dim)));
  return true;
}

bool maker_reverse(Gen *g) {
  ValueId x = gen_pick(g, ANY);
  int64_t axes[MAX_RANK + 1];
  int n = gen_axes(g, type_of(g, x)->rank, axes);
  if (n == 0) return false;
  Attr attr[MAX_ATTRS] = {[AT_AXES] = {.ints = ints(g, axes, n)}};
  ValueId y = keep(g, build(g->b, OP_REVERSE, &x, 1, attr, NULL));
  if (chance(g, 20)) keep(g, build(g->b, OP_REVERSE, &y, 1, attr, NULL));
  return true;
}

bool maker_pad(Gen *g) {
  ValueId x = gen_pick(g, ANY);
  const Type *t = type_of(g, x);
  int64_t lo[MAX_RANK + 1], hi[MAX_RANK + 1], inner[MAX_RANK + 1];
  for (int i = 0; i < t->rank; i++) {
    lo[i] = below(g, 3);
    hi[i] = below(g, 3);
    inner[i] = chance(g, 75) ? 0 : below(g, 3);
  }
  Attr attr[MAX_ATTRS] = {[AT_LO] = {.ints = ints(g, lo, t->rank)},
                          [AT_HI] = {.ints = ints(g, hi, t->rank)},
                          [AT_INTERIOR] = {.ints = ints(g, inner, t->rank)}};
  if (chance(g, 30)) {
    if (dtype_is_float(t->dtype))
      attr[AT_VALUE].f = chance(g, 50) || g->o.smooth ? 1 : -INFINITY;
    else
      attr[AT_VALUE].i = 1;
  }
  char why[256];
  if (!fits(g, op_shape(g->c, OP_PAD, &t, 1, attr, NULL, why))) return false;
  keep(g, build(g->b, OP_PAD, &x, 1, attr, NULL));
  return true;
}

bool maker_concat(Gen *g) {
  ValueId x[3] = {gen_pick(g, ANY)};
  const Type *t = type_of(g, x[0]);
  if (t->rank == 0) return false;
  int n = 1 + (int)below(g, 3);
  Attr attr[MAX_ATTRS] = {[AT_AXIS] = {.i = below(g, t->rank)}};
  const Type *types[3] = {t};
  for (int i = 1; i < n; i++) types[i] = type_of(g, x[i] = chance(g, 20) ? x[0] : gen_mate(g, t));
  char why[256];
  if (!fits(g, op_shape(g->c, OP_CONCAT, types, n, attr, NULL, why))) return false;
  keep(g, build(g->b, OP_CONCAT, x, n, attr, NULL));
  return true;
}

/* ---- windows ---- */

/* A value as images [N, C, H, W]: of rank 4 as it is, any other reshaped. */
static ValueId as_images(Gen *g, ValueId x) {
  const Type *t = type_of(g, x);
  if (t->rank == 4) return x;
  int64_t dim[4] = {1, 1, 1, 1};
  for (int i = 0; i < t->rank; i++) dim[t->rank - i > 4 ? 0 : 4 - t->rank + i] *= t->dim[i];
  return build_reshape(g->b, x, type_get(g->c, t->dtype, 4, dim));
}

/* Some geometry over these images; what does not fit is left to the shape rule. */
static void window_attrs(Gen *g, Attr attr[MAX_ATTRS]) {
  int64_t stride[2], pad[4], dilation[2];
  for (int i = 0; i < 2; i++) stride[i] = 1 + below(g, 3), dilation[i] = 1 + (below(g, 4) == 0);
  for (int i = 0; i < 4; i++) pad[i] = chance(g, 50) ? 0 : below(g, 3);
  attr[AT_STRIDE].ints = ints(g, stride, 2);
  attr[AT_PAD].ints = ints(g, pad, 4);
  attr[AT_DILATION].ints = ints(g, dilation, 2);
}

bool maker_conv(Gen *g) {
  ValueId x = as_images(g, gen_pick(g, FLOATS));
  const Type *t = type_of(g, x);
  Attr attr[MAX_ATTRS] = {{0}};
  window_attrs(g, attr);
  int64_t groups = chance(g, 60) || t->dim[1] > 8 ? 1 : t->dim[1];
  int64_t f[4] = {groups * (1 + below(g, 3)), t->dim[1] / groups, 1 + below(g, 3), 1 + below(g, 3)};
  attr[AT_GROUPS].i = groups;
  const Type *u = type_get(g->c, t->dtype, 4, f), *types[] = {t, u};
  char why[256];
  const Type *y = op_shape(g->c, OP_CONV, types, 2, attr, NULL, why);
  if (!fits(g, u) || !fits(g, y)) return false;
  ValueId w = build1(g->b, OP_TANH, gen_mate(g, u));
  if (chance(g, 60)) {
    keep(g, build(g->b, OP_CONV, (ValueId[]){x, w}, 2, attr, NULL));
    return true;
  }
  ValueId dy = gen_mate(g, y);
  if (chance(g, 50))
    keep(g, build(g->b, OP_CONV_INPUT_GRAD, (ValueId[]){dy, w}, 2, attr, t));
  else
    keep(g,
         build(g->b, OP_CONV_FILTER_GRAD, (ValueId[]){build1(g->b, OP_TANH, dy), x}, 2, attr, u));
  return true;
}

bool maker_pool(Gen *g) {
  ValueId x = as_images(g, gen_pick(g, FLOATS));
  const Type *t = type_of(g, x);
  bool mean = g->o.smooth || chance(g, 50); /* the largest has kinks */
  Attr attr[MAX_ATTRS] = {{0}};
  window_attrs(g, attr);
  if (mean) attr[AT_COUNT].ints = chance(g, 50) ? attr[AT_PAD].ints : ints(g, (int64_t[4]){0}, 4);
  attr[AT_WINDOW].ints = ints(g, (int64_t[]){1 + below(g, 3), 1 + below(g, 3)}, 2);
  char why[256];
  OpKind k = mean ? OP_AVG_POOL : OP_MAX_POOL;
  const Type *y = op_shape(g->c, k, &t, 1, attr, NULL, why);
  if (!fits(g, y)) return false;
  if (mean && chance(g, 30))
    keep(g, build(g->b, OP_AVG_POOL_GRAD, (ValueId[]){gen_mate(g, y)}, 1, attr, t));
  else
    keep(g, build(g->b, k, &x, 1, attr, NULL));
  if (mean || chance(g, 40)) return true;
  ValueId index = build(g->b, OP_MAX_POOL_INDEX, &x, 1, attr, NULL);
  if (chance(g, 50))
    keep(g, build(g->b, OP_MAX_POOL_GRAD, (ValueId[]){gen_mate(g, y), index}, 2, attr, t));
  else
    keep(g, build(g->b, OP_MAX_POOL_TAKE, (ValueId[]){gen_mate(g, t), index}, 2, attr, NULL));
  return true;
}

bool maker_norm(Gen *g) {
  ValueId x = gen_pick(g, FLOATS);
  const Type *t = type_of(g, x);
  int64_t axes[MAX_RANK + 1];
  int n = gen_axes(g, t->rank, axes);
  if (n == 0) return false;
  if (t->rank < 2 || chance(g, 40)) {
    Attr attr[MAX_ATTRS] = {[AT_AXES] = {.ints = ints(g, axes, n)}};
    keep(g, build(g->b, OP_VARIANCE, &x, 1, attr, NULL));
    return true;
  }
  const Type *channel = type_get(g->c, t->dtype, 1, t->dim + 1);
  ValueId v[4] = {x, gen_mate(g, channel), build1(g->b, OP_TANH, gen_mate(g, channel)),
                  gen_mate(g, channel)};
  keep(g, build(g->b, OP_BATCH_NORM, v, 4, NULL, NULL));
  return true;
}
