/* Export of products, windows, norms, attention and loops. Contract: see export.h. */
#include "ir/op/window.h"
#include "lang/onnx/export.h"

#include <math.h>

/* ---- products ---- */

static const char *last_two_swapped(Export *x, const char *v, int rank) {
  int64_t *perm = ARENA_ARRAY(x->a, int64_t, rank);
  for (int i = 0; i < rank; i++) perm[i] = i;
  perm[rank - 2] = rank - 1, perm[rank - 1] = rank - 2;
  return transposed(x, v, perm, rank);
}

const char *export_matmul(Export *x, const Op *op, const char *onnx) {
  const Type *t = result_type(x, op, 0);
  bool ta = op->attr[AT_TA].i, tb = op->attr[AT_TB].i, small = is_small(t->dtype);
  Dtype dt = small ? DT_I32 : t->dtype;
  const char *a = converted(x, op, 0, dt), *b = converted(x, op, 1, dt), *y;
  if (t->rank == 2 && (ta || tb) && dtype_is_float(dt)) {
    y = EMIT(x, "Gemm", a, b);
    if (ta) put_int(x, "transA", 1);
    if (tb) put_int(x, "transB", 1);
    return y;
  }
  if (ta) a = last_two_swapped(x, a, t->rank);
  if (tb) b = last_two_swapped(x, b, t->rank);
  y = EMIT(x, "MatMul", a, b);
  return small ? cast(x, y, t->dtype) : y;
}

/* ---- windows ---- */

/* Top, bottom, left, right: ONNX has all beginnings first. */
static void put_pads(Export *x, const int64_t *pad) {
  put_ints(x, "pads", (int64_t[]){pad[0], pad[2], pad[1], pad[3]}, 4);
}

static void put_windows(Export *x, const ConvGeom *g) {
  put_ints(x, "kernel_shape", (int64_t[]){g->h.taps, g->w.taps}, 2);
  put_ints(x, "strides", (int64_t[]){g->h.stride, g->w.stride}, 2);
  put_ints(x, "dilations", (int64_t[]){g->h.dilation, g->w.dilation}, 2);
  put_pads(x, (int64_t[]){g->h.lo, g->h.hi, g->w.lo, g->w.hi});
  put_int(x, "group", g->groups);
}

const char *export_conv(Export *x, const Op *op, const char *onnx) {
  ConvGeom g = conv_geom(x->e, op);
  Dtype dt = result_type(x, op, 0)->dtype;
  const char *y = EMIT(x, "Conv", converted(x, op, 0, dt), converted(x, op, 1, dt));
  put_windows(x, &g);
  return y;
}

const char *export_conv_transpose(Export *x, const Op *op, const char *onnx) {
  ConvGeom g = conv_geom(x->e, op);
  Dtype dt = result_type(x, op, 0)->dtype;
  const char *y = EMIT(x, "ConvTranspose", converted(x, op, 0, dt), converted(x, op, 1, dt));
  put_windows(x, &g);
  int64_t more[2];
  for (int i = 0; i < 2; i++) {
    const WindowAxis *a = i ? &g.w : &g.h;
    more[i] = a->in - ((a->out - 1) * a->stride + (a->taps - 1) * a->dilation + 1 - a->lo - a->hi);
  }
  if (more[0] || more[1]) put_ints(x, "output_padding", more, 2);
  return y;
}

const char *export_max_pool(Export *x, const Op *op, const char *onnx) {
  PoolGeom g = pool_geom(x->e, op);
  Dtype dt = g.x->dtype;
  if (!dtype_is_float(dt) && !is_small(dt))
    return without_counterpart(x, op, "the largest of windows of integers");
  const char *y = EMIT(x, "MaxPool", operand_of(x, op, 0));
  put_ints(x, "kernel_shape", (int64_t[]){g.h.taps, g.w.taps}, 2);
  put_ints(x, "strides", (int64_t[]){g.h.stride, g.w.stride}, 2);
  put_ints(x, "dilations", (int64_t[]){g.h.dilation, g.w.dilation}, 2);
  put_pads(x, (int64_t[]){g.h.lo, g.h.hi, g.w.lo, g.w.hi});
  return y;
}

/* Padding that counts, if it is not all or nothing, are zeros around the image. */
const char *export_avg_pool(Export *x, const Op *op, const char *onnx) {
  PoolGeom g = pool_geom(x->e, op);
  int64_t pad[4] = {g.h.lo, g.h.hi, g.w.lo, g.w.hi};
  bool all = true, none = true;
  for (int i = 0; i < 4; i++) all &= g.count[i] == pad[i], none &= g.count[i] == 0;
  const char *y = operand_of(x, op, 0);
  if (!all && !none) {
    const int64_t zeros[8] = {0, 0, g.count[0], g.count[2], 0, 0, g.count[1], g.count[3]};
    y = EMIT(x, "Pad", y, int_list(x, zeros, 8), scalar_of(x, g.x->dtype, 0));
    for (int i = 0; i < 4; i++) pad[i] -= g.count[i];
  }
  y = EMIT(x, "AveragePool", y);
  put_ints(x, "kernel_shape", (int64_t[]){g.h.taps, g.w.taps}, 2);
  put_ints(x, "strides", (int64_t[]){g.h.stride, g.w.stride}, 2);
  put_pads(x, pad);
  if (all && !none) put_int(x, "count_include_pad", 1);
  return y;
}

/* ---- norms ---- */

static const Op *def_of(const Export *x, ValueId v, OpKind k) {
  const Op *def = value_def(x->e, v);
  return def && def->kind == k ? def : NULL;
}

/* scale = gamma / sqrt(variance + eps), as the language's batch_norm writes it */
static bool is_statistic(Export *x, ValueId scale, const char **gamma, const char **var,
                         double *eps) {
  const Op *mul = def_of(x, scale, OP_MUL), *root = NULL;
  for (int i = 0; mul && i < 2 && !root; i++)
    if ((root = def_of(x, mul->operands[i], OP_RSQRT))) {
      const Op *sum = def_of(x, root->operands[0], OP_ADD);
      Attr number;
      if (!sum || !value_const(x->e, sum->operands[1], &number) || number.f <= 0) return false;
      *gamma = operand_of(x, mul, 1 - i), *var = operand_of(x, sum, 0), *eps = number.f;
    }
  return root;
}

const char *export_batch_norm(Export *x, const Op *op, const char *onnx) {
  const char *gamma, *var;
  double eps;
  if (is_statistic(x, op->operands[2], &gamma, &var, &eps)) {
    const char *y = EMIT(x, "BatchNormalization", operand_of(x, op, 0), gamma, operand_of(x, op, 3),
                         operand_of(x, op, 1), var);
    put_real(x, "epsilon", eps);
    return y;
  }
  int rank = result_type(x, op, 0)->rank;
  const char *in[4];
  int64_t *axes = ARENA_ARRAY(x->a, int64_t, rank);
  for (int i = 1; i < rank - 1; i++) axes[i - 1] = i;
  for (int i = 0; i < 4; i++) {
    in[i] = operand_of(x, op, i);
    if (i && rank > 2) in[i] = EMIT(x, "Unsqueeze", in[i], int_list(x, axes, rank - 2));
  }
  return EMIT(x, "Add", EMIT(x, "Mul", EMIT(x, "Sub", in[0], in[1]), in[2]), in[3]);
}

static const Type *last_axis(const Export *x, const Type *t) {
  int64_t n = type_axis(t, t->rank - 1);
  return type_get(x->c, t->dtype, 1, &n);
}

const char *export_layer_norm(Export *x, const Op *op, const char *onnx) {
  const Type *t = result_type(x, op, 0);
  const char *ones = expand_to(x, scalar_of(x, t->dtype, 1), last_axis(x, t));
  const char *y = EMIT(x, "LayerNormalization", operand_of(x, op, 0), ones);
  put_int(x, "axis", -1);
  put_real(x, "epsilon", op->attr[AT_EPS].f);
  if (!result_used(x, op, 1)) return y;
  Onnx__NodeProto *last = x->last;
  emit_output(x);
  const char *s = squeezed(x, emit_output(x), -1);
  result_is(x, op, 1, dtype_is_half(t->dtype) ? cast(x, s, t->dtype) : s);
  x->last = last;
  return y;
}

/* Squares are added in the dtype of sums. */
const char *export_rms_norm(Export *x, const Op *op, const char *onnx) {
  const Type *t = result_type(x, op, 0);
  Dtype dt = dtype_sum(t->dtype);
  const char *v = converted(x, op, 0, dt);
  const char *mean = EMIT(x, "ReduceMean", EMIT(x, "Mul", v, v), one_int(x, -1));
  const char *s = EMIT(x, "Add", mean, scalar_of(x, dt, op->attr[AT_EPS].f));
  s = EMIT(x, "Reciprocal", EMIT(x, "Sqrt", s));
  const char *y = EMIT(x, "Mul", v, s);
  if (dt != t->dtype) y = cast(x, y, t->dtype);
  if (!result_used(x, op, 1)) return y;
  Onnx__NodeProto *last = x->last;
  s = squeezed(x, s, -1);
  result_is(x, op, 1, dt != t->dtype ? cast(x, s, t->dtype) : s);
  x->last = last;
  return y;
}

const char *export_rows(Export *x, const Op *op, const char *onnx) {
  const char *y = EMIT(x, onnx, operand_of(x, op, 0));
  put_int(x, "axis", -1);
  return y;
}

const char *export_xent(Export *x, const Op *op, const char *onnx) {
  const char *labels = unsqueezed(x, converted(x, op, 1, DT_I64), -1);
  const char *y = export_rows(x, op, "LogSoftmax");
  y = EMIT(x, "GatherElements", y, labels);
  put_int(x, "axis", -1);
  return EMIT(x, "Neg", squeezed(x, y, -1));
}

/* ---- attention ---- */

/* Keys or values [B…, H', S, D] once for each query head: [B…, H, S, D]. */
static const char *for_each_head(Export *x, const char *v, const Type *t, int64_t heads) {
  int64_t *dim = ARENA_ARRAY(x->a, int64_t, t->rank + 1), groups = heads / t->dim[t->rank - 3];
  (void)type_axes(t, dim);
  memmove(dim + t->rank - 1, dim + t->rank - 2, 2 * sizeof *dim);
  dim[t->rank - 2] = groups;
  v = expand_to(x, unsqueezed(x, v, t->rank - 2), type_get(x->c, t->dtype, t->rank + 1, dim));
  (void)type_axes(t, dim);
  dim[t->rank - 3] *= groups;
  return reshape_to(x, v, type_get(x->c, t->dtype, t->rank, dim));
}

/* bool [T, S]: keys that are not behind the query */
static const char *not_behind(Export *x, const Type *q, const Type *k) {
  const char *row = unsqueezed(x, range_of(x, q, q->rank - 2), 1);
  return EMIT(x, "LessOrEqual", range_of(x, k, k->rank - 2), row);
}

const char *export_attention(Export *x, const Op *op, const char *onnx) {
  const Type *q = operand_type(x, op, 0), *k = operand_type(x, op, 1);
  const char *keys = operand_of(x, op, 1), *values = operand_of(x, op, 2), *mask = NULL;
  if (q->rank > 2 && q->dim[q->rank - 3] != k->dim[k->rank - 3]) {
    keys = for_each_head(x, keys, k, type_axis(q, q->rank - 3));
    values = for_each_head(x, values, operand_type(x, op, 2), type_axis(q, q->rank - 3));
  }
  const char *s = EMIT(x, "Mul", operand_of(x, op, 0), scalar(x, q->dtype, op->attr[AT_SCALE]));
  s = EMIT(x, "MatMul", s, last_two_swapped(x, keys, k->rank));
  if (op->attr[AT_CAUSAL].i) mask = not_behind(x, q, k);
  if (op->noperands > 3)
    mask = mask ? EMIT(x, "And", operand_of(x, op, 3), mask) : operand_of(x, op, 3);
  if (mask) s = EMIT(x, "Where", mask, s, scalar_of(x, q->dtype, -INFINITY));
  const char *p = EMIT(x, "Softmax", s);
  put_int(x, "axis", -1);
  if (op->noperands > 3) /* a query without keys gives zeros */
    p = EMIT(x, "Where", mask, p, scalar_of(x, q->dtype, 0));
  const char *y = EMIT(x, "MatMul", p, values);
  if (!result_used(x, op, 1)) return y;
  Onnx__NodeProto *last = x->last;
  if (dtype_is_half(q->dtype)) s = cast(x, s, DT_F32);
  s = EMIT(x, "ReduceLogSumExp", s, one_int(x, -1));
  put_int(x, "keepdims", 0);
  result_is(x, op, 1, s);
  x->last = last;
  return y;
}

/* ---- loops ---- */

static Onnx__ValueInfoProto *argument(Export *x, ValueId v, const char *wish) {
  const char *own = value_at(x->e, v)->name;
  x->name[v] = unique_name(x, own ? own : wish);
  return value_info(x, x->name[v], value_type(x->e, v));
}

/* The body: the carries and slices are its inputs, the number of the iteration the last of them.
   What it adds is not seen outside of it. */
static Onnx__GraphProto *body_of(Export *x, const Op *op) {
  const Block *b = op->blocks[0];
  const Op *end = op_at(x->e, b->ops.at[b->ops.n - 1]);
  Onnx__GraphProto *g = ARENA_NEW(x->a, Onnx__GraphProto);
  onnx__graph_proto__init(g);
  g->name = (char *)unique_name(x, "body");
  g->n_input = b->args.n;
  g->input = ARENA_ARRAY(x->a, Onnx__ValueInfoProto *, b->args.n);
  for (uint32_t i = 0; i < b->args.n; i++)
    g->input[i ? i - 1 : b->args.n - 1] = argument(x, b->args.at[i], i ? "carry" : "iteration");
  Nodes inner = {0}, *outer = x->nodes;
  const char **before = ARENA_ARRAY(x->a, const char *, x->e->values.n + 1);
  memcpy(before, x->name, sizeof *before * x->e->values.n);
  x->nodes = &inner;
  ops_export(x, b);
  g->n_output = (size_t)end->noperands;
  g->output = ARENA_ARRAY(x->a, Onnx__ValueInfoProto *, end->noperands + 1);
  x->op = op;
  for (int i = 0; i < end->noperands; i++) /* each one a node's, and there once */
    g->output[i] = value_info(x, EMIT(x, "Identity", operand_of(x, end, i)),
                              value_type(x->e, end->operands[i]));
  g->n_node = inner.n, g->node = inner.at;
  memcpy(x->name, before, sizeof *before * x->e->values.n);
  x->nodes = outer;
  return g;
}

const char *export_scan(Export *x, const Op *op, const char *onnx) {
  int carries = scan_carries(op), slices = op->noperands - carries;
  bool reverse = op->attr[AT_REVERSE].i;
  int64_t trips = scan_axis(x->e, op);
  int64_t *back = ARENA_ARRAY(x->a, int64_t, op->noperands + op->nresults + 1);
  if (!trips || !op->nresults) return without_counterpart(x, op, "a loop without iterations");
  const char **in = ARENA_ARRAY(x->a, const char *, op->noperands + 1);
  const Type *count = type_get(x->c, DT_I32, 1, &trips);
  for (int i = 0; i < op->noperands; i++) in[i] = operand_of(x, op, i);
  in[op->noperands] = cast(x, range_of(x, count, 0), DT_I32);
  Onnx__GraphProto *body = body_of(x, op);
  x->op = op;
  const char *first = emit_node(x, "Scan", op->noperands + 1, in);
  put_graph(x, "body", body);
  put_int(x, "num_scan_inputs", slices + 1);
  for (int i = 0; i < op->noperands + op->nresults + 1; i++) back[i] = 1;
  if (reverse) put_ints(x, "scan_input_directions", back, slices + 1);
  if (reverse && op->nresults > carries)
    put_ints(x, "scan_output_directions", back, op->nresults - carries);
  for (int i = 1; i < op->nresults; i++) result_is(x, op, i, emit_output(x));
  return first;
}
