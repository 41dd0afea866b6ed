/* Schedules of attention of few queries, whose keys blocks of threads share; see attention.h.
   Algorithm: Flash-Decoding (Dao et al., 2023), with the blocks of keys of attention_tile. */
#include "codegen/schedule/attention.h"

enum {
  LAUNCHES = 2, /* whose time a split must save: its blocks wait for each other, the last for all.
                   By the model of time it is faster from 192 keys of 64 elements on */
  PIECE = 16    /* bytes of a load */
};

/* Bytes that blocks of threads hand on for each row and block of keys: its product with the values,
   an even number of them, and three numbers; and one for each row. */
static int64_t handed_on(const AttentionShape *s) {
  return (ceil_div(s->e, 2) * 2 + 4) * dtype_size(s->compute);
}

/* Bytes in front of the signals: all but one number of a row and a block of keys. */
static int64_t products_of(const AttentionShape *s, int64_t steps) {
  const int64_t rows = s->heads * s->t, number = dtype_size(s->compute);
  return rows * (steps * (handed_on(s) - 2 * number) + number);
}

/* Maxima, and a count for all blocks and for each head of keys. */
static int64_t signals_of(const AttentionShape *s, int64_t steps) {
  const int64_t number = dtype_size(s->compute);
  const int64_t counts = (1 + s->heads / s->group) * (int64_t)sizeof(uint32_t);
  return s->heads * s->t * steps * number + ceil_div(counts, number) * number;
}

/* Elements of a key that one load reads: keys of d elements begin at multiples of them. */
static int copy_of(const AttentionShape *s) {
  int n = PIECE / dtype_size(s->in);
  while (s->d % n) n /= 2;
  return n;
}

static bool splits(const SplitAttentionSchedule *s, int64_t queries, int64_t keys) {
  return attention_splits(s->group * queries, keys, s->keys, s->of_block, s->launches, s->handed_on,
                          s->of_key);
}

static bool may_split(const GridMachine *machine, const AttentionShape *s,
                      SplitAttentionSchedule *out) {
  const AttentionTile tile = attention_tile(s);
  const int64_t rows = s->group * s->t, steps = ceil_div(s->s, tile.block);
  if (s->grad || s->causal || tile.long_heads || rows > SPLIT_ROWS || tile.block < machine->warp ||
      !s->heads || !s->d || !s->e)
    return false;
  const int64_t heads = s->heads / s->group, products = products_of(s, steps);
  *out = (SplitAttentionSchedule){.heads = heads,
                                  .group = s->group,
                                  .t = s->t,
                                  .s = s->s,
                                  .d = s->d,
                                  .e = s->e,
                                  .keys = (int)tile.block,
                                  .copy = copy_of(s),
                                  .threads = (rows > 1 ? 4 : 2) * machine->warp,
                                  .blocks = heads * steps,
                                  .signals = products,
                                  .scratch = products + signals_of(s, steps),
                                  .of_block = tile.block * tile.block * (s->d + s->e),
                                  .launches = (int64_t)(LAUNCHES * machine->launch),
                                  .handed_on = handed_on(s) * machine->scratch,
                                  .of_key = (s->d + s->e) * dtype_size(s->in)};
  return true;
}

/* They are split if the steps that follow each other in a block of threads, of a tile of queries
   that are mostly not there, take longer than what a split adds. By count, not
   measured on a device. */
bool split_attention_schedule(const GridMachine *machine, const AttentionShape *s,
                              SplitAttentionSchedule *out) {
  return may_split(machine, s, out) && splits(out, s->t, s->s);
}

/* The most that whole blocks of keys allow, or all keys. */
bool split_attention_most(const GridMachine *machine, const AttentionShape *s, bool queries_vary,
                          bool alike, SplitAttentionSchedule *out) {
  AttentionShape few = *s;
  if (queries_vary && s->t * s->group > SPLIT_ROWS) few.t = SPLIT_ROWS / s->group;
  for (; few.t > 0 && may_split(machine, &few, out); few.t--) {
    const int64_t keys = alike ? ceil_div(s->s * few.t, s->t) : s->s;
    if (splits(out, few.t, keys) || splits(out, few.t, keys / out->keys * out->keys)) return true;
    if (!queries_vary) return false;
  }
  return false;
}

#define FIELD(f) SCHEDULE_FIELD(SplitAttentionSchedule, f)
const ScheduleKind split_attention_kind = {"split_attention", (const ScheduleField[]){FIELD(heads),
                                                                                      FIELD(group),
                                                                                      FIELD(t),
                                                                                      FIELD(s),
                                                                                      FIELD(d),
                                                                                      FIELD(e),
                                                                                      FIELD(keys),
                                                                                      FIELD(copy),
                                                                                      {0}}};
