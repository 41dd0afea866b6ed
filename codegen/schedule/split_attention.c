/* Schedules of attention of few queries, whose keys blocks of threads share; see attention.h.
   Algorithm: Flash-Decoding (Dao et al., 2023), with the blocks of keys of attention_tile. */
#include "codegen/schedule/attention.h"

enum {
  MOST_ROWS = 16, /* sums of a thread, beside what it loads */
  LAUNCHES = 7,   /* whose time a split takes: two more, and what the three wait for memory */
  PIECE = 16      /* bytes of a load */
};

/* Bytes that the launches hand on: of each row and block of keys its scores, then in their place
   its product with the values, and four numbers. */
static int64_t scratch_of(const AttentionShape *s, int64_t block, int64_t steps) {
  return s->heads * s->t * steps * ((block > s->e ? block : s->e) + 4) * dtype_size(s->compute);
}

/* Elements of a key that one load reads: keys of d elements begin at multiples of them. */
static int copy_of(const AttentionShape *s) {
  int n = PIECE / dtype_size(s->in);
  while (s->d % n) n /= 2;
  return n;
}

/* They are split if the steps that follow each other in a block of threads, of a tile of queries
   that are mostly not there, take longer than the launches that a split adds. By count, not
   measured on a device. */
bool split_attention_schedule(const GridMachine *machine, const AttentionShape *s,
                              SplitAttentionSchedule *out) {
  const AttentionTile tile = attention_tile(s);
  const int64_t rows = s->group * s->t, steps = ceil_div(s->s, tile.block);
  if (s->grad || s->causal || tile.long_heads || rows > MOST_ROWS || tile.block < machine->warp ||
      !s->heads || !rows || !s->s || !s->d || !s->e)
    return false;
  const double step = (double)(tile.block * tile.block) * (double)(s->d + s->e);
  if ((double)(steps - 1) * step < LAUNCHES * machine->launch) return false;
  const int64_t heads = s->heads / s->group,
                operands = heads * s->s * (s->d + s->e) * dtype_size(s->in);
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
                                  .scratch = scratch_of(s, tile.block, steps)};
  return out->scratch <= operands / machine->scratch;
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
