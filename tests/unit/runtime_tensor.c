/* Copies between logical order and storage: of random shapes, orders, panels, and dims of a run,
   each logical element is where tensor_place has it, whatever part of the tensor is copied. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "runtime/base/rt.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 6, TRIES = 3000 };

typedef struct Case {
  GcTensor t;
  int64_t dims[MOST], run[MOST];
  int order[MOST];
} Case;

static uint64_t below(uint64_t *rng, uint64_t n) {
  *rng ^= *rng << 13, *rng ^= *rng >> 7, *rng ^= *rng << 17;
  return (*rng >> 11) % n;
}

static void draw(Case *c, uint64_t *rng) {
  static const GcDtype types[] = {GC_F32, GC_F16, GC_U8, GC_I64};
  memset(c, 0, sizeof *c);
  c->t.dtype = types[below(rng, 4)];
  c->t.rank = (int)below(rng, MOST + 1);
  c->t.dims = c->dims;
  const bool shorter = below(rng, 3) == 0;
  for (int i = 0; i < c->t.rank; i++) {
    c->dims[i] = below(rng, 3) ? 1 + (int64_t)below(rng, 7) : 1;
    c->run[i] =
        shorter && below(rng, 2) ? 1 + (int64_t)below(rng, (uint64_t)c->dims[i]) : c->dims[i];
    c->order[i] = i;
  }
  for (int i = c->t.rank - 1; i > 0; i--) {
    const int k = (int)below(rng, (uint64_t)i + 1), was = c->order[i];
    c->order[i] = c->order[k], c->order[k] = was;
  }
  if (below(rng, 3)) c->t.order = c->order;
  if (below(rng, 2) && c->t.rank) c->t.panel = 1 + (int)below(rng, 5);
  if (c->t.panel && c->t.rank == 2 && below(rng, 2)) c->t.interleaved = 2 + (int)below(rng, 3);
  if (shorter) c->t.run_dims = c->run, c->t.compact = below(rng, 2);
}

static void one(uint64_t *rng) {
  Case c;
  draw(&c, rng);
  const GcTensor *t = &c.t;
  const uint64_t size = (uint64_t)elem_info[t->dtype].size, count = tensor_count(t);
  uint64_t places = 0, first = below(rng, count), n = below(rng, count - first + 1);
  for (uint64_t i = 0; i < count; i++)
    if (tensor_place(t, i) >= places) places = tensor_place(t, i) + 1;
  uint8_t *storage = malloc(places * size), *flat = malloc(count * size);
  assert_true(storage && flat);
  for (uint64_t i = 0; i < places * size; i++) storage[i] = (uint8_t)(i % 61); /* no NaN */
  memset(flat, 0xEE, count * size);
  tensor_get(t, storage, first, n, flat);
  for (uint64_t i = 0; i < n; i++)
    assert_memory_equal(flat + i * size, storage + tensor_place(t, first + i) * size, size);
  for (uint64_t i = n * size; i < count * size; i++) assert_int_equal(flat[i], 0xEE);
  memset(storage, 0xDD, places * size);
  tensor_put(t, storage, first, n, flat);
  for (uint64_t i = 0; i < n; i++)
    assert_memory_equal(flat + i * size, storage + tensor_place(t, first + i) * size, size);
  uint64_t untouched = 0;
  for (uint64_t i = 0; i < places * size; i++) untouched += storage[i] == 0xDD;
  assert_true(untouched == (places - n) * size); /* flat has bytes below 61 alone */
  free(storage), free(flat);
}

static void elements_are_in_place(void **state) {
  uint64_t rng = 0x9E3779B97F4A7C15ULL;
  for (int i = 0; i < TRIES; i++) one(&rng);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(elements_are_in_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
