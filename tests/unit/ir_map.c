/* Hash tables of ir/support/map.h: what was put is found, whatever the table's size and however
   hashes collide. */
#include "ir/support/map.h"

#include "tests/unit/rig.h"

static void a_map_keeps_every_key(void **state) {
  (void)state;
  enum { KEYS = 3000 };
  static const char at[KEYS];
  Arena *a = arena_new();
  Map m = {0}, ids = {0};
  uint32_t v = 7;
  assert_false(map_get(&m, at, &v));
  assert_int_equal(v, 7);
  for (uint32_t i = 0; i < KEYS; i++) {
    map_put(a, &m, at + i, i);
    map_put(a, &ids, map_id(i), i);
    if (i % 5 == 0) map_put(a, &m, at + i, 2 * i); /* the last value counts */
  }
  for (uint32_t i = 0; i < KEYS; i++) {
    assert_true(map_get(&m, at + i, &v));
    assert_int_equal(v, i % 5 ? i : 2 * i);
    assert_true(map_get(&ids, map_id(i), &v));
    assert_int_equal(v, i);
  }
  assert_false(map_get(&ids, map_id(KEYS), &v));
  assert_int_equal(m.n, KEYS);
  arena_free(a);
}

static bool same_number(const void *items, uint32_t item, const void *key) {
  return ((const int *)items)[item] == *(const int *)key;
}

static bool same_double(const void *items, uint32_t item, const void *key) {
  return memcmp((const double *)items + item, key, sizeof(double)) == 0;
}

/* All hashes are equal in one index, and each has its own in the other. */
static void an_index_tells_items_of_one_hash_apart(void **state) {
  (void)state;
  enum { ITEMS = 500 };
  int items[ITEMS];
  Arena *a = arena_new();
  HashIndex one = {0}, own = {0};
  for (int i = 0; i < ITEMS; i++) {
    items[i] = i * i;
    uint64_t hash = hash_bytes(HASH_START, &items[i], sizeof items[i]);
    assert_int_equal(index_enter(a, &one, 1, same_number, items, &items[i], (uint32_t)i), i);
    assert_int_equal(index_enter(a, &own, hash, same_number, items, &items[i], (uint32_t)i), i);
  }
  for (int i = 0; i < ITEMS; i++) {
    uint64_t hash = hash_bytes(HASH_START, &items[i], sizeof items[i]);
    assert_int_equal(index_enter(a, &one, 1, same_number, items, &items[i], ITEMS), i);
    assert_int_equal(index_enter(a, &own, hash, same_number, items, &items[i], ITEMS), i);
  }
  arena_free(a);
}

/* Doubles of few digits have zeros in their lower half: their hashes differ, and are spread over
   the table, so that each item lies near the slot where its search begins. */
static void an_index_spreads_words_of_few_digits(void **state) {
  (void)state;
  enum { ITEMS = 4000, FAR = 64 };
  double items[ITEMS];
  Arena *a = arena_new();
  HashIndex x = {0};
  for (int i = 0; i < ITEMS; i++) {
    uint64_t word;
    items[i] = 0.5 * i;
    memcpy(&word, &items[i], sizeof word);
    assert_int_equal(
        index_enter(a, &x, hash_word(0, word), same_double, items, &items[i], (uint32_t)i), i);
  }
  for (uint32_t i = 0; i < x.size; i++)
    if (x.slot[i].item) assert_true(((i - x.slot[i].hash) & (x.size - 1)) < FAR);
  arena_free(a);
}

static void hashes_continue(void **state) {
  (void)state;
  assert_true(hash_bytes(HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
  assert_true(hash_bytes(hash_bytes(HASH_START, "foo", 3), "bar", 3) ==
              hash_bytes(HASH_START, "foobar", 6));
  assert_true(hash_word(hash_word(0, 1), 2) != hash_word(hash_word(0, 2), 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_map_keeps_every_key),
      cmocka_unit_test(an_index_tells_items_of_one_hash_apart),
      cmocka_unit_test(an_index_spreads_words_of_few_digits),
      cmocka_unit_test(hashes_continue),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
