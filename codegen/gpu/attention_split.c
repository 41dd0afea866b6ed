/* Attention of few queries on the GPU, whose keys thread blocks share: SplitAttention of
   text/split_attention.h. What its blocks tell each other lies in memory of the kernel itself,
   which every launch leaves as it was; where two launches of it may run at once, in scratch, which
   a launch in front clears. Contract: the CPU's bits, in every dtype and whatever the split. */
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

/* Signals in scratch are 0 when the launch behind begins. */
static void clear_signals(Gen *g, const Attention *a, const SplitAttentionSchedule *s) {
  Kernel *k = cuda_kernel(g, a->gr);
  const int64_t words = (s->scratch - s->signals) / (int64_t)sizeof(uint32_t);
  cuda_threads(g, k, words, "i");
  text_line(&k->text, "((unsigned *)(scratch + %lld))[i] = 0;", (long long)s->signals);
}

/* Declares the head and the block of keys of a thread block, in the order in which blocks begin. It
   leaves unless a condition holds. own: signals lie in memory of the kernel. */
static void declare_step(Gen *g, Kernel *k, const Attention *a, const SplitAttentionSchedule *s,
                         const char *unless, bool own) {
  Text *x = &k->text;
  const long long steps = s->blocks / s->heads;
  kernel_schedule(k, &split_attention_kind, s, sizeof *s);
  k->grid = s->blocks;
  k->block = s->threads;
  k->min_blocks = 1;
  k->signals = own;
  if (unless) text_line(x, "if (!(%s)) return;", unless);
  declare_block(g, x, a, s);
  if (own)
    text_line(x, "static __device__ Block::Signals signals;");
  else
    text_line(x, "Block::Signals &signals = *(Block::Signals *)(scratch + %lld);",
              (long long)s->signals);
  text_line(x, "const int number = (int)next_block(&signals.begun, %lldu);", (long long)s->blocks);
  text_line(x, "const int h = number / %lld, step = number %% %lld;", steps, steps);
  cuda_leave_behind(g, x, a, 1, arena_printf(g->a, "step * %d", s->keys));
  cuda_attention_params(g, x, a, "0");
  text_line(x, "const Block block = {scratch, &signals, h};");
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
  const bool own = !cuda_runs_beside(g, gr->e);
  if (!own) clear_signals(g, a, &s);
  Kernel *k = own ? cuda_kernel(g, gr) : cuda_kernel_next(g, gr, "shares");
  k->flops = op_flops(gr->e, gr->op);
  declare_step(g, k, a, &s, unless, own);
  text_line(&k->text, "__shared__ __align__(16) Block::Tiles tiles;");
  text_line(&k->text, "block.multiply(tiles, %s, %s, %s, params, step, %s);", q, key,
            cuda_attention_operand(g, a, 2, "h"), cuda_masks(g, a, first));
  text_line(&k->text, "block.combine(%s, %s, %lld, params);", cuda_attention_result(g, a, 0, first),
            cuda_of_queries(g, a, arena_printf(g->a, "out%d", a->result[1]), first),
            (long long)a->t);
  return true;
}
