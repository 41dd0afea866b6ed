/* Attention on the GPU. A block of threads computes a block of queries. Gradients take two
   launches, with respect to queries and with respect to keys and values, so that nothing is added
   up across blocks. Halves go through tensor cores (TensorAttention of text/tensor_attention.h),
   unless --exact forbids it or heads are too long; all else through FlashAttention of
   text/attention.h.
   Contract: the CPU's bits, except on tensor cores, where the shape alone gives the order of sums.
 */
#include "codegen/print/attention.h"
#include "codegen/gpu/gpu.h"
#include "codegen/program/extent.h"
#include "passes/plan.h"

/* Declares the head h, the first of its block's `rows` rows, and the first column of the results.
 */
static void declare_block(Text *x, const GridAttentionSchedule *s, const char *row, long long rows,
                          long long blocks, long long parts) {
  if (parts > 1) {
    text_line(x,
              "const int at = (int)(blockIdx.x / %lldu), first_column = (int)(blockIdx.x %% %lldu) "
              "* %lld;",
              parts, parts, (long long)s->part);
    text_line(x, "const int h = at / %lld, %s = at %% %lld * %lld;", blocks, row, blocks, rows);
    return;
  }
  text_line(x, "const int h = (int)(blockIdx.x / %lldu), %s = (int)(blockIdx.x %% %lldu) * %lld;",
            blocks, row, blocks, rows);
  text_line(x, "const int first_column = 0;");
}

static void exact_instance(Gen *g, Text *x, const Attention *a, const GridAttentionSchedule *s) {
  text_line(x, "typedef FlashAttention<%s, %s, %lld, %lld, %lld, %lld, %d, %s, %lld> Block;", a->T,
            cuda_converter(g, a->dt), (long long)a->t, (long long)a->s, (long long)a->d,
            (long long)a->e, s->rows, a->causal ? "true" : "false", (long long)s->part);
  text_line(x, "__shared__ __align__(16) Block block;");
}

/* keys: of the launch by keys and values. */
static void tensor_instance(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s,
                            bool keys) {
  Text *x = &k->text;
  text_line(x,
            "typedef TensorAttention<%s, %lld, %lld, %lld, %lld, %d, %d, %d, %s, %lld, %d, %d> "
            "Block;",
            a->dt == DT_F16 ? "MmaF16" : "MmaBf16", (long long)a->t, (long long)a->s,
            (long long)a->d, (long long)a->e, keys ? s->key_rows : s->rows,
            keys ? s->key_step : s->step, keys ? s->key_tiles : s->tiles,
            a->causal ? "true" : "false", (long long)s->part, s->copy_d, s->copy_e);
  text_line(x, "extern __shared__ __align__(128) char smem[];");
  text_line(x, "Block block = {smem};");
  k->block = keys ? s->key_threads : s->threads;
  k->shared = keys ? s->key_shared : s->shared;
}

/* Declares the template's instance. */
static void start(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s,
                  bool keys) {
  if (s->tensor)
    tensor_instance(g, k, a, s, keys);
  else
    exact_instance(g, &k->text, a, s);
  k->min_blocks = 1;
  kernel_schedule(k, &grid_attention_kind, s, sizeof *s);
}

/* Where the mask of a head begins: masks of all heads may have more than 2^31 elements. */
static const char *mask_row(Gen *g, const Attention *a, const char *head) {
  return attention_mask_row(g, a, arena_printf(g->a, "(int64_t)(%s)", head), "0");
}

static void declare_params(Gen *g, Text *x, const Attention *a, const char *head) {
  text_line(x, "AttentionParams<%s> params;", a->T);
  text_line(x, "params.scale = %s;", attention_scale(g, a));
  if (a->masked)
    text_line(x, "params.mask = in%d + %s;", a->mask, mask_row(g, a, head));
  else
    text_line(x, "params.mask = 0;");
  text_line(x, "params.query_stride = %d, params.key_stride = %d;", attention_mask_pitch(a),
            attention_mask_step(a));
}

/* "in0 + h * 4096": the head's part of an argument, of n numbers a head */
static const char *of_head(Gen *g, int arg, const char *head, int64_t n) {
  return arena_printf(g->a, "in%d + (int64_t)(%s) * %lld", arg, head, (long long)n);
}

static const char *operands(Gen *g, const Attention *a, const char *q_head, const char *kv_head) {
  const char *qkv =
      arena_printf(g->a, "%s, %s, %s", of_head(g, a->q, q_head, a->t * a->d),
                   of_head(g, a->k, kv_head, a->s * a->d), of_head(g, a->v, kv_head, a->s * a->e));
  if (!a->grad) return qkv;
  return arena_printf(g->a, "%s, %s, %s, %s", qkv, of_head(g, a->dy, q_head, a->t * a->e),
                      of_head(g, a->lse, q_head, a->t), of_head(g, a->delta, q_head, a->t));
}

/* Blocks of heads behind those of this run. */
static void leave_behind(Gen *g, Text *x, const Attention *a, int arg) {
  const Type *t = value_type(a->gr->e, a->gr->in[arg]);
  if (!dims_bounded(t, 0, t->rank - 2)) return;
  text_line(x, "if (h >= %s) return;", dims_text(g, a->gr->e, t, 0, t->rank - 2));
}

static void queries(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s) {
  Text *x = &k->text;
  start(g, k, a, s, false);
  k->grid = s->blocks;
  declare_block(x, s, "i0", s->rows, s->query_blocks, s->query_parts);
  leave_behind(g, x, a, a->q);
  declare_params(g, x, a, "h");
  const char *in = operands(g, a, "h", arena_printf(g->a, "h / %lld", (long long)a->group));
  if (a->grad)
    text_line(x, "block.backward_q(%s, out0 + (int64_t)h * %lld, params, i0, first_column);", in,
              (long long)(a->t * a->d));
  else
    text_line(x,
              "block.forward(%s, out0 + (int64_t)h * %lld, out1 + (int64_t)h * %lld, params, i0, "
              "first_column);",
              in, (long long)(a->t * a->e), (long long)a->t);
}

static void keys(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s) {
  Text *x = &k->text;
  long long group = a->group;
  start(g, k, a, s, true);
  k->grid = s->blocks_of_keys;
  declare_block(x, s, "j0", s->key_rows, s->key_blocks, s->key_parts);
  leave_behind(g, x, a, a->k);
  declare_params(g, x, a, "0");
  const char *first = arena_printf(g->a, "h * %lld", group);
  const char *in = operands(g, a, first, "h");
  const char *mask = "(const uint8_t *)0";
  if (a->masked)
    mask = arena_printf(g->a, "in%d + %s", a->mask,
                        mask_row(g, a, arena_printf(g->a, "%s + g", first)));
  text_line(
      x,
      "block.backward_kv(%s, out1 + (int64_t)h * %lld, out2 + (int64_t)h * %lld, params, %lld, "
      "j0, first_column, [=](int g) { return %s; });",
      in, (long long)(a->s * a->d), (long long)(a->s * a->e), group, mask);
}

void cuda_attention(Gen *g, const Group *gr) {
  Attention a = attention_of(gr);
  cuda_counts(g, gr->root, a.t, "queries");
  cuda_counts(g, gr->root, a.s, "keys");
  const Type *q = value_type(gr->e, gr->in[a.q]);
  for (int i = 0; i < gr->nin; i++) { /* of one row a query there is a number a row, too */
    const Type *in = value_type(gr->e, gr->in[i]);
    cuda_outermost(g, gr->root, in, in->rank < q->rank ? 1 : 2);
  }
  Kernel *k = cuda_kernel(g, gr);
  k->flops = op_flops(gr->e, gr->op);
  const CudaTarget *t = cuda_target(g->target);
  GridAttentionSchedule s = grid_attention_schedule(&t->machine, &a.shape, !g->opt->exact);
  if (s.tensor && t->pre_sm80) {
    s = grid_attention_schedule(&t->machine, &a.shape, false);
    ((CudaNotes *)g->own)->tensor_cores_off = true;
  }
  queries(g, k, &a, &s);
  if (a.grad) keys(g, cuda_kernel_next(g, gr, "keys"), &a, &s);
}
