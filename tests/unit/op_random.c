/* Random ops: the generator's published answers, the definition in interp.h, independence of order,
   and the first moments of what comes out. */
#include "rig.h"

/* Random123's known answers for philox4x32-10. */
static void philox_known_answers(void **state) {
  static const struct {
    uint32_t counter[4], key[2], want[4];
  } kat[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof kat / sizeof kat[0]; i++) {
    uint32_t out[4];
    philox4x32(kat[i].key[0] | (uint64_t)kat[i].key[1] << 32, kat[i].counter, out);
    assert_memory_equal(out, kat[i].want, sizeof out);
  }
}

/* FNV-1a's published answers before the finaliser: "" cbf29ce484222325, "a" af63dc4c8601ec8c. */
static void keys_are_hashes(void **state) {
  static const struct {
    const char *text;
    uint64_t fnv;
  } kat[] = {
      {"", 0xcbf29ce484222325u}, {"a", 0xaf63dc4c8601ec8cu}, {"foobar", 0x85944171f73967e8u}};
  for (size_t i = 0; i < sizeof kat / sizeof kat[0]; i++) {
    uint64_t z = kat[i].fnv;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    assert_true(random_key(random_hash(kat[i].text), 0) == (z ^ (z >> 31)));
  }
}

static Tensor draw(Rig *r, OpKind k, const char *type, const char *key) {
  Attr attr[MAX_ATTRS] = {[AT_KEY].str = intern(r->c, key)};
  Tensor y;
  assert_true(rig_run(r, k, attr, rig_type(r, type), 0, NULL, &y));
  return y;
}

static void values_are_as_defined(void **state) {
  Rig r = rig_new(INTERP_F64, 42);
  r.it->step = (UINT64_C(3) << 32) + 5;
  Tensor u = draw(&r, OP_RANDOM_UNIFORM, "f64[11]", "net.w");
  Tensor n = draw(&r, OP_RANDOM_NORMAL, "f64[11]", "net.w");
  for (uint32_t i = 0; i < 11; i++) {
    uint32_t w[4];
    philox4x32(42 ^ random_key(random_hash("net.w"), 0), (uint32_t[]){i / 4, 0, 5, 3}, w);
    assert_true(u.at[i].f == (w[i % 4] >> 8) / 16777216.0);
    double radius = sqrt(-2 * log(((w[i % 4 & 2] >> 8) + 1) / 16777216.0));
    double angle = 2 * M_PI * ((w[(i % 4 & 2) + 1] >> 8) / 16777216.0);
    assert_true(rig_close(n.at[i].f, radius * (i % 2 ? sin(angle) : cos(angle)), 1e-14));
  }
  rig_free(&r);
}

static void a_shape_is_no_part_of_a_value(void **state) {
  Rig r = rig_new(INTERP_DTYPE, 1);
  Tensor a = draw(&r, OP_RANDOM_UNIFORM, "f32[2,3]", "k"),
         b = draw(&r, OP_RANDOM_UNIFORM, "f32[6]", "k");
  Tensor other = draw(&r, OP_RANDOM_UNIFORM, "f32[6]", "l");
  r.it->step = 1;
  Tensor later = draw(&r, OP_RANDOM_UNIFORM, "f32[6]", "k");
  int same_key = 0, same_step = 0;
  for (int i = 0; i < 6; i++) {
    assert_true(a.at[i].f == b.at[i].f);
    same_key += b.at[i].f == other.at[i].f;
    same_step += b.at[i].f == later.at[i].f;
  }
  assert_int_equal(same_key + same_step, 0);
  rig_free(&r);
}

/* Moments and neighbours' correlation, within five standard errors. */
static void statistics(void **state) {
  enum { N = 40000 };
  Rig r = rig_new(INTERP_DTYPE, 7);
  for (int normal = 0; normal < 2; normal++) {
    Tensor y = draw(&r, normal ? OP_RANDOM_NORMAL : OP_RANDOM_UNIFORM, "f32[40000]", "stats");
    double mean = 0, square = 0, cube = 0, beside = 0, low = INFINITY, high = -INFINITY;
    double centre = normal ? 0 : 0.5;
    for (int i = 0; i < N; i++) {
      double v = y.at[i].f - centre, before = i ? y.at[i - 1].f - centre : 0;
      mean += v / N;
      square += v * v / N;
      cube += v * v * v / N;
      beside += v * before / N;
      low = fmin(low, y.at[i].f);
      high = fmax(high, y.at[i].f);
    }
    double variance = normal ? 1 : 1.0 / 12, fourth = normal ? 3 : 1.0 / 80;
    double sixth = normal ? 15 : 1.0 / 448;
    assert_true(fabs(mean) < 5 * sqrt(variance / N));
    assert_true(fabs(square - variance) < 5 * sqrt((fourth - variance * variance) / N));
    assert_true(fabs(cube) < 5 * sqrt(sixth / N));
    assert_true(fabs(beside) < 5 * variance / sqrt(N));
    if (normal)
      assert_true(low < -3.5 && high > 3.5 && low > -6 && high < 6);
    else
      assert_true(low >= 0 && low < 1e-3 && high < 1 && high > 1 - 1e-3);
  }
  rig_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_known_answers),
      cmocka_unit_test(keys_are_hashes),
      cmocka_unit_test(values_are_as_defined),
      cmocka_unit_test(a_shape_is_no_part_of_a_value),
      cmocka_unit_test(statistics),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
