/* Schedules of attention; see attention.h. */
#include "codegen/schedule/attention.h"

enum {
  BLOCK = 64,     /* queries and keys: lanes that a row's weights are added up in; half in f64 */
  LEAST = 16,     /* ... where queries, keys or values are long, but not beyond LONG: */
  ROOM = 1 << 17, /* bytes of a block of any of them */
  LONG = 1024,    /* numbers of queries, keys or values from which on they are long */
  PART = 1024,    /* columns of the results that a block of threads does */
  LONG_PART = 256
};

AttentionTile attention_tile(const AttentionShape *s) {
  int64_t longest = s->d > s->e ? s->d : s->e;
  AttentionTile a = {.block = s->compute == DT_F64 ? BLOCK / 2 : BLOCK,
                     .long_heads = longest > LONG};
  while (!a.long_heads && a.block > LEAST && a.block * longest * dtype_size(s->compute) > ROOM)
    a.block /= 2;
  return a;
}

int64_t attention_units(const AttentionShape *s) {
  return s->grad ? s->heads / s->group : s->heads * ceil_div(s->t, attention_tile(s).block);
}

AttentionSchedule attention_schedule(const VectorMachine *m, const AttentionShape *s,
                                     uint64_t flops) {
  AttentionTile tile = attention_tile(s);
  AttentionSchedule a = {.heads = s->heads,
                         .group = s->group,
                         .t = s->t,
                         .s = s->s,
                         .d = s->d,
                         .e = s->e,
                         .block = tile.block,
                         .long_heads = tile.long_heads,
                         .rows = ATTENTION_ROWS,
                         .blocks = ceil_div(s->t, tile.block)};
  a.nr = attention_panel(m, s->compute, a.block);
  a.all_units = attention_units(s);
  a.units = flops < SERIAL_WORK * 4 ? 1 : a.all_units;
  a.slices = a.units > 1 && (s->grad || s->t % a.block == 0 || s->t < a.block);
  return a;
}

int attention_panel(const VectorMachine *m, Dtype compute, int64_t n) {
  int64_t lanes = machine_lanes(m, dtype_size(compute)), nr = m->vectors * lanes;
  return (int)(n < nr ? ceil_div(n, lanes) * lanes : nr);
}

#define FIELD(f) SCHEDULE_FIELD(AttentionSchedule, f)
const ScheduleKind attention_kind = {"attention", (const ScheduleField[]){FIELD(heads),
                                                                          FIELD(group),
                                                                          FIELD(t),
                                                                          FIELD(s),
                                                                          FIELD(d),
                                                                          FIELD(e),
                                                                          FIELD(block),
                                                                          FIELD(long_heads),
                                                                          FIELD(rows),
                                                                          FIELD(nr),
                                                                          FIELD(blocks),
                                                                          {0}}};
#undef FIELD

/* Blocks of threads that share the columns of results, the longest of which has n. */
static int64_t parts_of(int64_t n, int64_t part) { return n ? ceil_div(n, part) : 1; }

GridAttentionSchedule grid_attention_schedule(const AttentionShape *s) {
  AttentionTile tile = attention_tile(s);
  GridAttentionSchedule a = {.heads = s->heads,
                             .group = s->group,
                             .t = s->t,
                             .s = s->s,
                             .d = s->d,
                             .e = s->e,
                             .block = tile.block,
                             .part = tile.long_heads ? LONG_PART : PART,
                             .query_blocks = ceil_div(s->t, tile.block),
                             .key_blocks = ceil_div(s->s, tile.block)};
  a.query_parts = parts_of(s->grad ? s->d : s->e, a.part);
  a.key_parts = parts_of(s->d > s->e ? s->d : s->e, a.part);
  a.blocks = s->heads * a.query_blocks * a.query_parts;
  a.blocks_of_keys = s->grad ? s->heads / s->group * a.key_blocks * a.key_parts : 0;
  return a;
}

#define FIELD(f) SCHEDULE_FIELD(GridAttentionSchedule, f)
const ScheduleKind grid_attention_kind = {"attention", (const ScheduleField[]){FIELD(heads),
                                                                               FIELD(group),
                                                                               FIELD(t),
                                                                               FIELD(s),
                                                                               FIELD(d),
                                                                               FIELD(e),
                                                                               FIELD(block),
                                                                               FIELD(part),
                                                                               FIELD(query_parts),
                                                                               FIELD(key_parts),
                                                                               {0}}};
