/* The packer and the pool on their own: valid packings of random buffers, perfect packings found
   again, the pool's ranges. */
#include "tests/unit/plan_rig.h"

static Buffers random_buffers(Arena *a, uint64_t seed, int n, int64_t steps, int64_t life) {
  Buffers b = {.at = ARENA_ARRAY(a, Buffer, n), .n = n, .steps = steps};
  for (int i = 0; i < n; i++) {
    int64_t first = (int64_t)rig_next(&seed, (uint64_t)steps);
    int64_t last = first + (int64_t)rig_next(&seed, (uint64_t)life);
    b.at[i] = (Buffer){.bytes = 64 * (1 + rig_next(&seed, 40)),
                       .first = first,
                       .last = last < steps ? last : steps - 1};
  }
  return b;
}

static void packings_are_valid(void **state) {
  for (uint64_t seed = 1; seed <= 300; seed++) {
    Arena *a = arena_new();
    int64_t life = seed % 3 == 0 ? 200 : seed % 3 == 1 ? 20 : 4;
    Buffers b = random_buffers(a, seed, 1 + (int)(seed * 7 % 600), 300, life);
    uint64_t bound = buffers_bound(a, &b), stack = buffers_stack(&b), pool = pool_search(a, &b, -1);
    rig_valid_packing(&b);
    assert_true(bound <= pool && pool <= stack);
    uint64_t colors = color_plan(a, &b);
    rig_valid_packing(&b);
    assert_true(colors == buffers_end(&b) && bound <= colors && colors <= stack);
    PackResult r = pack_plan(a, &b, &(PackLimit){.work = 200000});
    rig_valid_packing(&b);
    assert_true(r.arena == buffers_end(&b));
    assert_true(bound <= r.proven && r.proven <= r.arena);
    arena_free(a);
  }
}

/* Many buffers go through blocks of time. */
static void many_buffers_are_valid(void **state) {
  Arena *a = arena_new();
  for (int64_t life = 4; life <= 4096; life *= 32) {
    Buffers b = random_buffers(a, (uint64_t)life, 4000, 4000, life);
    PackResult r = pack_plan(a, &b, &(PackLimit){0});
    rig_valid_packing(&b);
    assert_true(r.arena >= buffers_bound(a, &b));
  }
  arena_free(a);
}

/* A rectangle is cut again and again: its pieces pack without a gap, if one finds how. */
static int cut(Buffers *b, int n, uint64_t *seed) {
  b->n = 1;
  b->at[0] = (Buffer){.bytes = 1 << 16, .first = 0, .last = 999};
  for (int tries = 0; b->n < n && tries < 100 * n; tries++) {
    Buffer *x = &b->at[rig_next(seed, (uint64_t)b->n)], y = *x;
    if (rig_next(seed, 2)) {
      if (x->last - x->first < 4) continue;
      x->last = x->first + (int64_t)rig_next(seed, (uint64_t)(x->last - x->first));
      y.first = x->last + 1;
    } else {
      if (x->bytes < 64) continue;
      uint64_t part = 16 * (1 + rig_next(seed, x->bytes / 16 - 1));
      x->bytes -= part;
      y.bytes = part;
    }
    b->at[b->n++] = y;
  }
  return b->n;
}

static void perfect_packings_are_found(void **state) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    Arena *a = arena_new();
    uint64_t random = seed;
    Buffers b = {.at = ARENA_ARRAY(a, Buffer, 60), .steps = 1000};
    cut(&b, 60, &random);
    PackResult r = pack_plan(a, &b, &(PackLimit){.work = 200 * 1000 * 1000});
    rig_valid_packing(&b);
    assert_int_equal(r.arena, 1 << 16);
    arena_free(a);
  }
}

/* Intervals that fill every time to the same height, as far as they go: the hard ones. */
static Buffers full_load(Arena *a, uint64_t seed, int n, int64_t steps, uint64_t height) {
  Buffers b = {.at = ARENA_ARRAY(a, Buffer, n), .steps = steps};
  uint64_t *load = ARENA_ARRAY(a, uint64_t, steps);
  for (int tries = 0; tries < 400 && b.n < n; tries++) {
    int64_t first = (int64_t)rig_next(&seed, (uint64_t)steps);
    int64_t last = first + (int64_t)rig_next(&seed, (uint64_t)(steps - first));
    uint64_t size = 1 + rig_next(&seed, height / 2), most = 0;
    for (int64_t t = first; t <= last; t++) most = load[t] > most ? load[t] : most;
    if (most + size > height) continue;
    for (int64_t t = first; t <= last; t++) load[t] += size;
    b.at[b.n++] = (Buffer){.bytes = size, .first = first, .last = last};
  }
  return b;
}

static void small_searches_end(void **state) {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    Arena *a = arena_new();
    Buffers b = full_load(a, seed, 14, 10, 8);
    PackResult r = pack_plan(a, &b, &(PackLimit){.work = 1000 * 1000 * 100});
    rig_valid_packing(&b);
    assert_int_equal(r.arena, r.proven);
    arena_free(a);
  }
}

/* A few failures and what they teach settle most instances that are several times as large. */
static void failures_teach(void **state) {
  int ended = 0;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    Arena *a = arena_new();
    Buffers b = full_load(a, seed, 40, 30, 30);
    PackResult r = pack_plan(a, &b, &(PackLimit){.work = 2000000});
    rig_valid_packing(&b);
    ended += r.arena == r.proven;
    arena_free(a);
  }
  assert_true(ended >= 285);
}

static void a_capacity_is_met_or_refuted(void **state) {
  Arena *a = arena_new();
  Buffers b = random_buffers(a, 5, 100, 50, 20);
  uint64_t bound = buffers_bound(a, &b);
  PackResult r = pack_plan(a, &b, &(PackLimit){.capacity = 2 * bound, .work = 1000000});
  assert_true(r.arena <= 2 * bound);
  r = pack_plan(a, &b, &(PackLimit){.capacity = bound - 1, .work = 1000000});
  assert_true(r.proven > bound - 1);
  rig_valid_packing(&b);
  arena_free(a);
}

/* Lives 0..1, 1..2, 2..3 and 0..3 of sizes 10, 20, 30 and 1: the first and the third have one
   colour, the third its size. A pool meets them in their order and grows the first's box. */
static void colors_are_shared_by_the_largest_first(void **state) {
  Arena *a = arena_new();
  Buffer at[] = {{.bytes = 10, .first = 0, .last = 1},
                 {.bytes = 20, .first = 1, .last = 2},
                 {.bytes = 30, .first = 2, .last = 3},
                 {.bytes = 1, .first = 0, .last = 3}};
  Buffers b = {.at = at, .n = 4, .steps = 4};
  assert_int_equal(color_plan(a, &b), 51);
  assert_int_equal(at[2].offset, 0);
  assert_int_equal(at[0].offset, 0);
  assert_int_equal(at[1].offset, 30);
  assert_int_equal(at[3].offset, 50);
  arena_free(a);
}

/* Each strategy is one of its own: over many sets of buffers it takes other bytes than the rest. */
static void strategies_differ(void **state) {
  int apart[4] = {0};
  for (uint64_t seed = 1; seed <= 40; seed++) {
    Arena *a = arena_new();
    Buffers b = random_buffers(a, seed, 60, 60, 20);
    uint64_t stack = buffers_stack(&b), pool = pool_search(a, &b, -1), color = color_plan(a, &b);
    PackResult r = pack_plan(a, &b, &(PackLimit){.work = 100000});
    apart[0] += pool < stack;
    apart[1] += color != pool;
    apart[2] += r.arena < color;
    apart[3] += r.arena < pool;
    arena_free(a);
  }
  for (int k = 0; k < 4; k++) assert_true(apart[k] >= 30);
}

/* The same buffers, the same work and the same seed give the same offsets. */
static void packings_repeat(void **state) {
  for (uint64_t seed = 1; seed <= 5; seed++) {
    Arena *a = arena_new();
    Buffers b = random_buffers(a, seed, 300, 300, 60), c = random_buffers(a, seed, 300, 300, 60);
    pack_plan(a, &b, &(PackLimit){.work = 3000000});
    pack_plan(a, &c, &(PackLimit){.work = 3000000});
    for (int i = 0; i < b.n; i++) assert_int_equal(b.at[i].offset, c.at[i].offset);
    arena_free(a);
  }
}

/* A deadline ends an order in its middle: hardly a step is made after it. What there is then is no
   worse than a pool. */
static void a_deadline_ends_an_order(void **state) {
  enum { N = 6000 };
  Arena *a = arena_new();
  Buffers b = random_buffers(a, 1, N, N, N), c = random_buffers(a, 1, N, N, N);
  PackResult late = pack_plan(a, &b, &(PackLimit){.seconds = 1e-9, .work = INT64_MAX});
  PackResult whole = pack_plan(a, &c, &(PackLimit){0});
  rig_valid_packing(&b);
  assert_int_equal(late.arena, buffers_end(&b));
  assert_true(late.work < 1000 * 1000);
  assert_true(whole.work > 100 * late.work);
  assert_true(late.arena <= pool_search(a, &c, -1));
  arena_free(a);
}

/* Sizes 100, 50, 120, 50, each after the one before died: the range says which boxes they take. */
static void the_pool_keeps_its_range(void **state) {
  Arena *a = arena_new();
  Buffer at[] = {{.bytes = 100, .first = 0, .last = 0},
                 {.bytes = 50, .first = 1, .last = 1},
                 {.bytes = 120, .first = 2, .last = 2},
                 {.bytes = 50, .first = 3, .last = 3}};
  Buffers b = {.at = at, .n = 4, .steps = 4};
  assert_int_equal(pool_plan(a, &b, 0), 320);
  assert_int_equal(pool_plan(a, &b, 1), 270);
  assert_int_equal(pool_plan(a, &b, 2), 170); /* the box of 100 grows to 120: too large for 50 */
  assert_int_equal(pool_search(a, &b, -1), 120);
  assert_int_equal(at[3].offset, 0);
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packings_are_valid),
      cmocka_unit_test(many_buffers_are_valid),
      cmocka_unit_test(perfect_packings_are_found),
      cmocka_unit_test(small_searches_end),
      cmocka_unit_test(failures_teach),
      cmocka_unit_test(a_capacity_is_met_or_refuted),
      cmocka_unit_test(a_deadline_ends_an_order),
      cmocka_unit_test(the_pool_keeps_its_range),
      cmocka_unit_test(colors_are_shared_by_the_largest_first),
      cmocka_unit_test(strategies_differ),
      cmocka_unit_test(packings_repeat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
