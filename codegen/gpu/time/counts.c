/* Counts of a launch, from the schedule that its kernel was printed by and from its group; see
   counting.h. What a launch touches is counted by the arguments' strides. */
#include "codegen/gpu/time/counting.h"
#include "ir/update.h"

#include "codegen/schedule/attention.h"
#include "codegen/schedule/cumsum.h"
#include "codegen/schedule/grid_conv.h"
#include "codegen/schedule/map.h"
#include "codegen/schedule/product.h"
#include "codegen/schedule/reduce.h"
#include "codegen/schedule/scatter.h"
#include "codegen/schedule/sort.h"
#include "passes/plan.h"

#include <math.h>
#include <stdlib.h>

/* ---- groups ---- */

bool counting_is_part(const Counting *n, const char *suffix) {
  return n->f->kernel->part && strcmp(n->f->kernel->part, suffix) == 0;
}

bool counting_is_f64(const Counting *n) {
  for (int i = 0; i < n->gr->nops; i++)
    for (int k = 0; k < n->gr->ops[i]->nresults; k++)
      if (value_type(n->gr->e, n->gr->ops[i]->results[k])->dtype == DT_F64) return true;
  return false;
}

bool counting_moves_part(const Counting *n) {
  return n->gr->root && n->gr->root->kind == OP_DYNAMIC_UPDATE &&
         plan_moves(n->gr->e, n->gr->op) == MOVES_PART;
}

static double op_price(const Op *op) {
  if (op_is_norm(op) || op_is_norm_grad(op)) return NORM;
  if (op_info[op->kind].cls != CLASS_ELEMENT) return 0;
  if (op->kind == OP_DIV || op->kind == OP_SQRT) return QUOTIENT;
  if (op->kind == OP_RSQRT) return 2 * QUOTIENT;
  if (op->kind == OP_DROPOUT) return 2 * FUNCTION;
  return op_calls_function(op->kind) && op->kind != OP_ABS ? FUNCTION : 1;
}

/* Instructions of the element-wise members, for one element of the domain: members of a lower shape
   are evaluated once a row. */
double counting_price(const Counting *n, const Type *shape) {
  double sum = 0;
  for (int i = 0; i < n->gr->nops; i++) {
    const Op *op = n->gr->ops[i];
    bool full = op_info[op->kind].cls == CLASS_ROWS ||
                value_type(n->gr->e, op->results[0])->numel == shape->numel;
    if (full) sum += op_price(op);
  }
  return sum;
}

Streams counting_arguments(const Counting *n, int64_t full) {
  Streams s = {0};
  for (int i = 0; i < n->gr->nin; i++) {
    const Type *t = value_type(n->gr->e, n->gr->in[i]);
    vec_push(n->g->a, &s, (Stream){dtype_size(t->dtype), (double)t->numel, t->numel >= full});
  }
  return s;
}

double stream_lines(const Stream *s, int width) {
  double apart = (double)llabs(s->stride) * s->size * width;
  if (s->stride == 0) return 1;
  if (llabs(s->stride) == 1) return ceil(WARP * apart / LINE);
  return apart >= LINE ? WARP : ceil(WARP * apart / LINE);
}

double stream_l2_bytes(const Stream *s, double elements) {
  int64_t stride = llabs(s->stride);
  if (stride == 0)
    return s->numel * s->size < elements * s->size ? s->numel * s->size : elements * s->size;
  double each = (double)stride * s->size;
  return elements * (each < SECTOR ? each : SECTOR);
}

/* ---- what no launch could avoid ---- */

/* Of an update in place: the part, and what it is computed from. */
static void count_part(const Counting *n, double *read, double *written) {
  const int kept = op_updated(n->gr->e, n->gr->op);
  *read = 0;
  *written = (double)value_type(n->gr->e, n->gr->root->operands[1])->bytes;
  for (int i = 0; i < n->gr->nin; i++)
    if (i != kept) *read += (double)value_type(n->gr->e, n->gr->in[i])->bytes;
}

static void count_least(Counting *n) {
  const CudaFunction *f = n->f;
  double read = 0, written = 0;
  for (int i = 0; i < f->nargs; i++) {
    if (f->kernel->args[i].kind == ARG_SCRATCH || f->kernel->args[i].kind == ARG_PART) continue;
    if (f->rights[i] & 1) read += (double)f->bytes[i];
    if (f->rights[i] & 2) written += (double)f->bytes[i];
  }
  if (n->gr->root && n->gr->root->kind == OP_GATHER && read > 2 * written) read = written;
  if (counting_moves_part(n)) count_part(n, &read, &written);
  n->c.least_bytes = read + written;
  n->c.least_flops = (double)f->kernel->flops;
  n->c.peak = counting_is_f64(n) ? PEAK_FMA64 : PEAK_FMA;
  const Op *root = n->gr->root;
  if (!root) return;
  OpClass cls = op_info[root->kind].cls;
  if (cls != CLASS_CONTRACT && cls != CLASS_ATTENTION && cls != CLASS_WINDOW) return;
  Dtype dt = value_type(n->gr->e, root->operands[0])->dtype;
  if (dtype_is_half(dt))
    n->c.peak = PEAK_TENSOR;
  else if (root->attr[cls == CLASS_WINDOW ? AT_TF32_OPERANDS : AT_TF32].i)
    n->c.peak = PEAK_TF32;
}

/* ---- the whole ---- */

static const struct {
  const ScheduleKind *kind;
  CountFn *count;
} counts[] = {
    {&grid_map_kind, count_map},
    {&grid_rows_kind, count_rows},
    {&grid_columns_kind, count_columns},
    {&grid_product_kind, count_product},
    {&grid_conv_kind, count_conv},
    {&grid_filter_kind, count_filter},
    {&grid_attention_kind, count_attention},
    {&split_attention_kind, count_split_attention},
    {&grid_sort_kind, count_sort},
    {&grid_scatter_kind, count_scatter},
    {&grid_cumsum_kind, count_cumsum},
};

static void count(Counting *n) {
  const Kernel *k = n->f->kernel;
  const Op *root = n->gr->root;
  if (!k->schedule_kind) {
    if (root && op_info[root->kind].cls == CLASS_WINDOW)
      count_window(n);
    else
      count_move(n);
    return;
  }
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    if (counts[i].kind == k->schedule_kind) {
      counts[i].count(n, k->schedule);
      return;
    }
  gc_bug(n->g->ctx, "the model of time has no counts for the schedule %s", k->schedule_kind->name);
}

GpuCounts gpu_counts(Gen *g, const CudaFunction *f, const GpuDevice *d) {
  if (f->one) {
    GpuCounts c = gpu_counts(g, f->one, d);
    double n = f->kernel->parts;
    c.blocks *= n, c.bytes *= n, c.l2_bytes *= n, c.least_bytes *= n, c.least_flops *= n;
    c.issue += (double)c.threads / WARP * (2 * log2(n) + f->one->nargs); /* of a switch */
    return c;
  }
  Counting n = {.g = g, .f = f, .d = d, .gr = group_of(g->a, f->entry, f->op)};
  n.c = (GpuCounts){.blocks = (double)f->grid,
                    .threads = f->block,
                    .registers = PLAIN_REGISTERS,
                    .shared = f->shared};
  count_least(&n);
  count(&n);
  return n.c;
}
