/* Functions of passes/analysis that decide in searches: near the true values, and the same bits
   wherever they run. */
#include "passes/analysis/search_math.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void near_the_truth(void **state) {
  (void)state;
  for (double x = -16; x <= 16; x += 0.01171875)
    assert_true(fabs(search_exp(x) / exp(x) - 1) < 1e-14);
  for (double x = 1e-9; x < 1e18; x *= 1.37)
    assert_true(fabs(search_log(x) - log(x)) < 1e-13 * (1 + fabs(log(x))));
  assert_true(search_exp(0) == 1);
}

static void same_bits(void **state) {
  (void)state;
  static const struct {
    double x;
    uint64_t exp, log;
  } row[] = {
      {0.10, 0x3ff1aec7b35a00d4u, 0xc0026bb1bbb55515u},
      {0.33, 0x3ff64167cbd87bf5u, 0xbff1bd150529e2b4u},
      {0.70, 0x40001c2a61268989u, 0xbfd6d3c324e13f51u},
      {1.50, 0x4011ed3fe64fc539u, 0x3fd9f323ecbf984au},
      {2.75, 0x402f49070bdbe900u, 0x3ff02f84700434a8u},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    double e = search_exp(row[i].x), l = search_log(row[i].x);
    assert_memory_equal(&e, &row[i].exp, sizeof e);
    assert_memory_equal(&l, &row[i].log, sizeof l);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(near_the_truth), cmocka_unit_test(same_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
