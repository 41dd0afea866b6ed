/* Attention of few queries on the GPU, whose keys thread blocks share: SplitAttention of
   text/split_attention.h in two launches, for the scores, and for the weights and results.
   Contract: the CPU's bits, in every dtype and whatever the split. */
#include "codegen/gpu/attention.h"
#include "codegen/program/extent.h"

/* varies: each run decides. */
static bool split_of(const GridMachine *machine, const Attention *a, bool varies,
                     SplitAttentionSchedule *out) {
  const Type *q = value_type(a->gr->e, a->op->operands[a->grad]),
             *k = value_type(a->gr->e, a->op->operands[a->grad + 1]);
  const Extent *queries = type_extent(q, q->rank - 2), *keys = type_extent(k, k->rank - 2);
  if (!varies || !(queries || keys)) return split_attention_schedule(machine, &a->shape, out);
  return split_attention_most(machine, &a->shape, queries != NULL, queries == keys, out);
}

uint64_t cuda_attention_scratch(const CudaTarget *t, const Group *gr) {
  Arena *arena = arena_new();
  const Attention a = attention_of(arena, gr);
  SplitAttentionSchedule s;
  uint64_t bytes = 0;
  for (int varies = 0; varies <= dtype_is_half(a.dt); varies++)
    if (split_of(&t->machine, &a, varies, &s) && bytes < (uint64_t)s.scratch)
      bytes = (uint64_t)s.scratch;
  arena_free(arena);
  return bytes;
}

/* Declares the template's instance, of the head of keys h. */
static void declare_block(Gen *g, Text *x, const Attention *a, const SplitAttentionSchedule *s) {
  cuda_attention_rows(x, a);
  text_line(x,
            "typedef SplitAttention<%s, %s, %lld, %lld, %lld, %lld, %lld, %lld, %d, %d, %d, Rows> "
            "Block;",
            a->T, cuda_converter(g, a->dt), (long long)s->heads, (long long)s->group,
            (long long)s->t, (long long)s->s, (long long)s->d, (long long)s->e, s->keys, s->threads,
            s->copy);
}

/* Declares the head and the block of keys of a thread block, which leaves unless a condition holds.
 */
static void declare_step(Gen *g, Kernel *k, const Attention *a, const SplitAttentionSchedule *s,
                         const char *unless) {
  Text *x = &k->text;
  const long long steps = s->blocks / s->heads;
  kernel_schedule(k, &split_attention_kind, s, sizeof *s);
  k->grid = s->blocks;
  k->block = s->threads;
  k->min_blocks = 1;
  if (unless) text_line(x, "if (!(%s)) return;", unless);
  declare_block(g, x, a, s);
  text_line(x, "const int h = (int)(blockIdx.x / %lldu), step = (int)(blockIdx.x %% %lldu);", steps,
            steps);
  cuda_leave_behind(g, x, a, 1, arena_printf(g->a, "step * %d", s->keys));
  cuda_attention_params(g, x, a, "0");
  text_line(x, "const Block block = {scratch, h};");
}

bool cuda_attention_split(Gen *g, const Attention *a, const char **when) {
  const Group *gr = a->gr;
  SplitAttentionSchedule s;
  if (!split_of(&cuda_target(g->target)->machine, a, when != NULL, &s)) return false;
  const char *unless = NULL;
  if (when)
    *when = unless = arena_printf(
        g->a, "attention_splits(%lld * %s, %s, %d, %lld, %lld, %lld, %lld)", (long long)s.group,
        cuda_attention_length(g, a, 0), cuda_attention_length(g, a, 1), s.keys,
        (long long)s.of_block, (long long)s.launches, (long long)s.handed_on, (long long)s.of_key);
  const char *first = arena_printf(g->a, "h * %lld", (long long)s.group);
  const char *q = cuda_attention_operand(g, a, 0, first),
             *key = cuda_attention_operand(g, a, 1, "h");
  Kernel *k = cuda_kernel(g, gr);
  k->flops = op_flops(gr->e, gr->op);
  declare_step(g, k, a, &s, unless);
  text_line(&k->text, "__shared__ __align__(16) Block::ScoreTiles tiles;");
  text_line(&k->text, "block.score(tiles, %s, %s, params, step, %s);", q, key,
            cuda_masks(g, a, first));
  k = cuda_kernel_next(g, gr, "weights");
  declare_step(g, k, a, &s, unless);
  text_line(&k->text, "__shared__ __align__(16) Block::WeightTiles tiles;");
  text_line(&k->text, "block.weigh(tiles, %s, params, step);",
            cuda_attention_operand(g, a, 2, "h"));
  text_line(&k->text, "block.combine(%s, %s, %lld, params);", cuda_attention_result(g, a, 0, first),
            cuda_of_queries(g, a, arena_printf(g->a, "out%d", a->result[1]), first),
            (long long)a->t);
  return true;
}
