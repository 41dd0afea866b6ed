/* Attention on the GPU. A block of threads computes a block of queries. Gradients take two
   launches, with respect to queries and with respect to keys and values, so that nothing is added
   up across blocks. Halves go through tensor cores (TensorAttention of text/tensor_attention.h; on
   sm_90a attention_sm90a.c), unless --exact forbids it or heads are too long; all else through
   FlashAttention of text/attention.h. Few queries of many keys have launches of their own
   (attention_split.c); if a run decides how many there are, it decides which launches do nothing.
   The blocks of causal attention that have most to do come first, so that multiprocessors end
   together (Graham, 1969); in bands of heads, so that what they read stays in L2. Contract: the
   CPU's bits, except on tensor cores, where the shape alone gives the order of sums.
 */
#include "codegen/gpu/attention.h"
#include "codegen/program/extent.h"
#include "passes/plan.h"

void cuda_attention_block(Text *x, const Attention *a, bool keys, const char *at, int64_t rows,
                          int64_t blocks) {
  const char *row = keys ? "j0" : "i0";
  const long long heads = keys ? a->heads / a->group : a->heads,
                  band = attention_band(&a->shape, keys);
  if (!a->causal) {
    text_line(x, "const int h = %s / %lld, %s = %s %% %lld * %lld;", at, (long long)blocks, row, at,
              (long long)blocks, (long long)rows);
    return;
  }
  if (band < heads)
    text_line(x,
              "const int band = %s / %lld, in = %s %% %lld, width = %lld - band * %lld < %lld ? "
              "%lld - band * %lld : %lld;",
              at, band * blocks, at, band * blocks, heads, band, band, heads, band, band);
  else
    text_line(x, "const int band = 0, in = %s, width = %lld;", at, heads);
  text_line(x, "const int h = band * %lld + in %% width, %s = %s * %lld;", band, row,
            keys ? "(in / width)"
                 : arena_printf(x->a, "(%lld - in / width)", (long long)blocks - 1),
            (long long)rows);
}

/* Declares the head h, the first of its block's `rows` rows, and the first column of the results.
 */
static void declare_block(Text *x, const Attention *a, const GridAttentionSchedule *s, bool keys) {
  const int64_t parts = keys ? s->key_parts : s->query_parts;
  const char *at = "(int)blockIdx.x";
  if (parts > 1) {
    text_line(x,
              "const int at = (int)(blockIdx.x / %lldu), first_column = (int)(blockIdx.x %% %lldu) "
              "* %lld;",
              (long long)parts, (long long)parts, (long long)s->part);
    at = "at";
  }
  cuda_attention_block(x, a, keys, at, keys ? s->key_rows : s->rows,
                       keys ? s->key_blocks : s->query_blocks);
  if (parts <= 1) text_line(x, "const int first_column = 0;");
}

/* From head to head of those that share keys. */
static int64_t head_stride(const Type *t, const StridedView *at) {
  return t->rank < 3 ? 0 : at->stride[t->rank - 3];
}

void cuda_attention_rows(Text *x, const Attention *a) {
  const Entry *e = a->gr->e;
  const Op *op = a->op;
  const Type *q = value_type(e, op->operands[a->grad]),
             *k = value_type(e, op->operands[a->grad + 1]);
  const Type *v = value_type(e, op->operands[a->grad + 2]);
  const Type *y = value_type(e, a->grad ? op->operands[0] : op->results[0]);
  const StridedView *y_at = a->grad ? &a->dy_at : &a->result_at[0];
  int64_t made[3] = {0};
  for (int i = 0; a->grad && i < 3; i++)
    made[i] = attention_row_stride(value_type(e, op->results[i]), &a->result_at[i]);
  text_line(x, "typedef AttentionRows<%lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld> Rows;",
            (long long)attention_row_stride(q, &a->q_at),
            (long long)attention_row_stride(k, &a->k_at),
            (long long)attention_row_stride(v, &a->v_at), (long long)attention_row_stride(y, y_at),
            (long long)made[0], (long long)made[1], (long long)made[2],
            (long long)head_stride(q, &a->q_at), (long long)head_stride(y, y_at));
}

static void exact_instance(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s,
                           bool keys) {
  Text *x = &k->text;
  k->block = keys ? s->key_threads : s->threads;
  k->min_blocks = s->resident;
  text_line(x,
            "typedef FlashAttention<%s, %s, %lld, %lld, %lld, %lld, %d, %d, %s, %lld, %d, %d, "
            "Rows> Block;",
            a->T, cuda_converter(g, a->dt), (long long)a->t, (long long)a->s, (long long)a->d,
            (long long)a->e, s->step, keys ? s->key_rows : s->rows, a->causal ? "true" : "false",
            (long long)s->part, k->block, a->grad && keys ? 2 : 1);
  text_line(x, "__shared__ __align__(16) Block block;");
}

/* keys: of the launch by keys and values. */
static void tensor_instance(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s,
                            bool keys) {
  Text *x = &k->text;
  text_line(
      x, "typedef TensorAttention<%s, %lld, %lld, %lld, %d, %d, %d, %s, %lld, %d, %d, Rows> Block;",
      a->dt == DT_F16 ? "MmaF16" : "MmaBf16", (long long)a->t, (long long)a->d, (long long)a->e,
      keys ? s->key_rows : s->rows, keys ? s->key_step : s->step, keys ? s->key_tiles : s->tiles,
      a->causal ? "true" : "false", (long long)s->part, s->copy_d, s->copy_e);
  text_line(x, "extern __shared__ __align__(128) char smem[];");
  text_line(x, "Block block = {{}, smem};");
  k->block = keys ? s->key_threads : s->threads;
  k->shared = keys ? s->key_shared : s->shared;
}

/* Declares the template's instance. */
static void start(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s,
                  bool keys) {
  cuda_attention_rows(&k->text, a);
  k->min_blocks = 1;
  if (s->tensor)
    tensor_instance(g, k, a, s, keys);
  else
    exact_instance(g, k, a, s, keys);
  kernel_schedule(k, &grid_attention_kind, s, sizeof *s);
}

/* Where the mask of a head begins: masks of all heads may have more than 2^31 elements. */
static const char *mask_row(Gen *g, const Attention *a, const char *head) {
  return attention_mask_row(g, a, arena_printf(g->a, "(int64_t)(%s)", head), "0");
}

bool cuda_lengths_vary(const Attention *a) {
  const Type *q = value_type(a->gr->e, a->op->operands[a->grad]),
             *k = value_type(a->gr->e, a->op->operands[a->grad + 1]);
  return type_extent(q, q->rank - 2) || type_extent(k, k->rank - 2);
}

/* Rows of a head in this run, of operand number `operand`. */
static const char *rows_text(Gen *g, const Attention *a, int operand) {
  const Type *t = value_type(a->gr->e, a->op->operands[operand]);
  return dims_text(g, a->gr->e, t, t->rank - 2, t->rank - 1);
}

const char *cuda_attention_length(Gen *g, const Attention *a, int i) {
  return rows_text(g, a, a->grad + i);
}

void cuda_attention_params(Gen *g, Text *x, const Attention *a, const char *head) {
  text_line(x, "AttentionParams<%s> params;", a->T);
  text_line(x, "params.queries = %s, params.keys = %s;", cuda_attention_length(g, a, 0),
            cuda_attention_length(g, a, 1));
  text_line(x, "params.scale = %s;", attention_scale(g, a));
  if (a->masked)
    text_line(x, "params.mask = in%d + %s;", a->mask, mask_row(g, a, head));
  else
    text_line(x, "params.mask = 0;");
  text_line(x, "params.query_stride = %d, params.key_stride = %d;", attention_mask_pitch(a),
            attention_mask_step(a));
}

const char *cuda_masks(Gen *g, const Attention *a, const char *first) {
  const char *mask = "(const uint8_t *)0";
  if (a->masked)
    mask = arena_printf(g->a, "in%d + %s", a->mask,
                        mask_row(g, a, arena_printf(g->a, "%s + g", first)));
  return arena_printf(g->a, "[=](int g) { return %s; }", mask);
}

/* "in0 + (int64_t)(h) * 4096": the head's part of an operand */
static const char *of_head(Gen *g, const Attention *a, int operand, int arg, const StridedView *at,
                           const char *head) {
  const Type *t = value_type(a->gr->e, a->op->operands[operand]);
  return arena_printf(g->a, "in%d%s", arg, attention_head_offset(g, t, at, head));
}

/* ... of what has a number a query */
const char *cuda_of_queries(Gen *g, const Attention *a, const char *name, const char *head) {
  return arena_printf(g->a, "%s + (int64_t)(%s) * %lld", name, head, (long long)a->t);
}

/* ... of a result */
const char *cuda_attention_result(Gen *g, const Attention *a, int k, const char *head) {
  const Type *t = value_type(a->gr->e, a->op->results[k]);
  return arena_printf(g->a, "out%d%s", a->result[k],
                      attention_head_offset(g, t, &a->result_at[k], head));
}

const char *cuda_attention_operand(Gen *g, const Attention *a, int i, const char *head) {
  const StridedView *at[] = {&a->q_at, &a->k_at, &a->v_at};
  const int arg[] = {a->q, a->k, a->v};
  return of_head(g, a, a->grad + i, arg[i], at[i], head);
}

static const char *operands(Gen *g, const Attention *a, const char *q_head, const char *kv_head) {
  const char *qkv = arena_printf(g->a, "%s, %s, %s", cuda_attention_operand(g, a, 0, q_head),
                                 cuda_attention_operand(g, a, 1, kv_head),
                                 cuda_attention_operand(g, a, 2, kv_head));
  if (!a->grad) return qkv;
  return arena_printf(g->a, "%s, %s, %s, %s", qkv, of_head(g, a, 0, a->dy, &a->dy_at, q_head),
                      cuda_of_queries(g, a, arena_printf(g->a, "in%d", a->lse), q_head),
                      cuda_of_queries(g, a, arena_printf(g->a, "in%d", a->delta), q_head));
}

void cuda_leave_behind(Gen *g, Text *x, const Attention *a, int operand, const char *row) {
  const Type *t = value_type(a->gr->e, a->op->operands[operand]);
  if (dims_bounded(t, 0, t->rank - 2))
    text_line(x, "if (h >= %s) return;", prefix_axes_text(g, a->gr->e, t, t->rank - 2));
  if (row && type_extent(t, t->rank - 2))
    text_line(x, "if (%s >= %s) return;", row, rows_text(g, a, operand));
}

/* unless: a condition of runs whose keys thread blocks share, or NULL. */
static void queries(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s,
                    const char *unless) {
  Text *x = &k->text;
  if (unless) text_line(x, "if (%s) return;", unless);
  start(g, k, a, s, false);
  k->grid = s->blocks;
  declare_block(x, a, s, false);
  cuda_leave_behind(g, x, a, a->grad, "i0");
  cuda_attention_params(g, x, a, "h");
  const char *in = operands(g, a, "h", arena_printf(g->a, "h / %lld", (long long)a->group));
  if (a->grad)
    text_line(x, "block.backward_q(%s, %s, params, i0, first_column);", in,
              cuda_attention_result(g, a, 0, "h"));
  else
    text_line(x, "block.forward(%s, %s, %s, params, i0, first_column);", in,
              cuda_attention_result(g, a, 0, "h"),
              cuda_of_queries(g, a, arena_printf(g->a, "out%d", a->result[1]), "h"));
}

static void keys(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s) {
  Text *x = &k->text;
  long long group = a->group;
  start(g, k, a, s, true);
  k->grid = s->blocks_of_keys;
  declare_block(x, a, s, true);
  cuda_leave_behind(g, x, a, a->grad + 1, "j0");
  cuda_attention_params(g, x, a, "0");
  const char *first = arena_printf(g->a, "h * %lld", group);
  const char *in = operands(g, a, first, "h");
  text_line(x, "block.backward_kv(%s, %s, %s, params, %lld, j0, first_column, %s);", in,
            cuda_attention_result(g, a, 1, "h"), cuda_attention_result(g, a, 2, "h"), group,
            cuda_masks(g, a, first));
}

/* The code for sm_90a: by warpgroups, or, where queries or keys are few or a run decides how many
   there are, that of other architectures, with the bits of warpgroups. */
static void add_variant(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s,
                        const char *unless, bool by_keys) {
  const CudaTarget *t = cuda_target(g->target);
  const AttentionShape *shape = &a->shape;
  GridAttentionSchedule alike = *s;
  const bool long_enough = shape->t >= WGMMA_STEP && shape->s >= WGMMA_STEP;
  if (!cuda_lengths_vary(a) && long_enough) {
    cuda_attention_sm90a(g, k, a, by_keys);
    return;
  }
  if (!wgmma_attention_suits(shape) || !cuda_attention_has_maps(g, a) ||
      !grid_attention_alike(&t->machine, shape, &alike))
    return;
  Kernel own = *k;
  own.text = text_new(g->a, 1);
  queries(g, &own, a, &alike, unless);
  KernelVariant *v = ARENA_NEW(g->a, KernelVariant);
  *v = (KernelVariant){.text = own.text,
                       .grid = own.grid,
                       .block = own.block,
                       .shared = own.shared,
                       .min_blocks = own.min_blocks};
  k->variant = v;
}

void cuda_attention(Gen *g, const Group *gr) {
  Attention a = attention_of(g->a, gr);
  cuda_counts(g, gr->root, a.t, "queries");
  cuda_counts(g, gr->root, a.s, "keys");
  const CudaTarget *t = cuda_target(g->target);
  GridAttentionSchedule s = grid_attention_schedule(&t->machine, &a.shape, !g->opt->exact);
  const char *split = NULL; /* has the CPU's bits, which those of tensor cores are not */
  const bool varies = cuda_lengths_vary(&a) && s.tensor && !t->pre_sm80;
  if (cuda_attention_split(g, &a, varies ? &split : NULL) && !split) return;
  Kernel *k = split ? cuda_kernel_next(g, gr, "together") : cuda_kernel(g, gr);
  k->flops = split ? 0 : op_flops(gr->e, gr->op);
  if (s.tensor && t->pre_sm80) {
    s = grid_attention_schedule(&t->machine, &a.shape, false);
    ((CudaNotes *)g->own)->tensor_cores_off = true;
  }
  queries(g, k, &a, &s, split);
  if (s.tensor) add_variant(g, k, &a, &s, split, false);
  if (!a.grad) return;
  k = cuda_kernel_next(g, gr, "keys");
  keys(g, k, &a, &s);
  if (s.tensor) add_variant(g, k, &a, &s, NULL, true);
}
