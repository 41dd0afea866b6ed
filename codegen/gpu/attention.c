/* Attention on the GPU, from the template in text/attention.h: a block of threads does a block of
   queries; of the gradients, a first launch those by the queries and a second one those by keys and
   values, so that nothing is added up across blocks. Contract: the CPU's bits. */
#include "codegen/print/attention.h"
#include "codegen/gpu/gpu.h"
#include "passes/plan.h"

static const char *stored_as(Gen *g, const Attention *a) {
  if (a->dt == DT_F16) return "AsF16";
  if (a->dt == DT_BF16) return "AsBf16";
  return arena_printf(g->a, "AsItIs<%s>", a->T);
}

/* Declares the head h, the first row of its block, and the first column of the results. */
static void place(Text *x, const GridAttentionSchedule *s, const char *row, long long blocks,
                  long long parts) {
  if (parts > 1) {
    text_line(
        x, "const int at = (int)(blockIdx.x / %lldu), first = (int)(blockIdx.x %% %lldu) * %lld;",
        parts, parts, (long long)s->part);
    text_line(x, "const int h = at / %lld, %s = at %% %lld * %lld;", blocks, row, blocks,
              (long long)s->block);
    return;
  }
  text_line(x, "const int h = (int)(blockIdx.x / %lldu), %s = (int)(blockIdx.x %% %lldu) * %lld;",
            blocks, row, blocks, (long long)s->block);
  text_line(x, "const int first = 0;");
}

/* What every launch begins with: the template's instance, and where the mask of a head lies. */
static void start(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s) {
  Text *x = &k->text;
  text_line(x, "typedef Attend<%s, %s, %lld, %lld, %lld, %lld, %lld, %s, %lld> Block;", a->T,
            stored_as(g, a), (long long)a->t, (long long)a->s, (long long)a->d, (long long)a->e,
            (long long)a->block, a->causal ? "true" : "false", (long long)s->part);
  text_line(x, "__shared__ __align__(16) Block block;");
  k->few_blocks = true;
  kernel_schedule(k, &grid_attention_kind, s, sizeof *s);
}

/* Where the mask of a head begins: masks of all heads may have more than 2^31 elements. */
static const char *mask_row(Gen *g, const Attention *a, const char *head) {
  return attention_mask_row(g, a, arena_printf(g->a, "(int64_t)(%s)", head), "0");
}

static void sight(Gen *g, Text *x, const Attention *a, const char *head) {
  text_line(x, "Sight<%s> sight;", a->T);
  text_line(x, "sight.scale = %s;", attention_scale(g, a));
  if (a->masked)
    text_line(x, "sight.mask = in%d + %s;", a->mask, mask_row(g, a, head));
  else
    text_line(x, "sight.mask = 0;");
  text_line(x, "sight.pitch = %d, sight.step = %d;", attention_mask_pitch(a),
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

static void queries(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s) {
  Text *x = &k->text;
  start(g, k, a, s);
  k->grid = s->blocks;
  place(x, s, "i0", s->query_blocks, s->query_parts);
  sight(g, x, a, "h");
  const char *in = operands(g, a, "h", arena_printf(g->a, "h / %lld", (long long)a->group));
  if (a->grad)
    text_line(x, "block.by_queries(%s, out0 + (int64_t)h * %lld, sight, i0, first);", in,
              (long long)(a->t * a->d));
  else
    text_line(
        x,
        "block.forward(%s, out0 + (int64_t)h * %lld, out1 + (int64_t)h * %lld, sight, i0, first);",
        in, (long long)(a->t * a->e), (long long)a->t);
}

static void keys(Gen *g, Kernel *k, const Attention *a, const GridAttentionSchedule *s) {
  Text *x = &k->text;
  long long group = a->group;
  start(g, k, a, s);
  k->grid = s->blocks_of_keys;
  place(x, s, "j0", s->key_blocks, s->key_parts);
  sight(g, x, a, "0");
  const char *first = arena_printf(g->a, "h * %lld", group);
  const char *in = operands(g, a, first, "h");
  const char *mask = "(const uint8_t *)0";
  if (a->masked)
    mask = arena_printf(g->a, "in%d + %s", a->mask,
                        mask_row(g, a, arena_printf(g->a, "%s + g", first)));
  text_line(x,
            "block.by_keys(%s, out1 + (int64_t)h * %lld, out2 + (int64_t)h * %lld, sight, %lld, "
            "j0, first,",
            in, (long long)(a->s * a->d), (long long)(a->s * a->e), group);
  text_line(x, "              [=](int g) { return %s; });", mask);
}

void cuda_attention(Gen *g, const Group *gr) {
  Attention a = attention_of(gr);
  cuda_counts(g, gr->root, a.t, "queries");
  cuda_counts(g, gr->root, a.s, "keys");
  Kernel *k = cuda_kernel(g, gr);
  k->flops = op_flops(gr->e, gr->op);
  GridAttentionSchedule s = grid_attention_schedule(&a.shape);
  queries(g, k, &a, &s);
  if (a.grad) keys(g, cuda_kernel_next(g, gr, "keys"), &a, &s);
}
