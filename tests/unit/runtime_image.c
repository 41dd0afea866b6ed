/* Pieces of an image of weights: each is visited once, of a large weight by the thread that has the
   part in products. The sum is the same for any number of threads, another one after a change. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "runtime/weights/image_pieces.h"
#include "runtime/weights/image_sum.h"
#include <stdlib.h>
#include <string.h>

enum { MB = 1 << 20, PIECE = IMAGE_PIECE, REGION = 83 * MB + 4321 };

static const GcGlobal globals[] = {{.t = {.name = "small", .offset = 64, .bytes = 3 * MB}},
                                   {.t = {.name = "large", .offset = 5 * MB, .bytes = 71 * MB}},
                                   {.t = {.name = "less", .offset = 77 * MB, .bytes = 5 * MB}}};
static const GcProgram program = {.globals = globals, .nglobals = 3, .globals_bytes = REGION};

/* The last thread comes first. */
static void run_all(void *threads, ImageJob *job, void *arg) {
  const int *nt = threads;
  for (int t = *nt; t-- > 0;) job(arg, t, *nt);
}

static uint64_t sum_of(int nt, const uint8_t *data, uint64_t begin) {
  const ImageOf of = {.program = &program, .run = nt ? run_all : NULL, .threads = &nt};
  return image_sum(&of, begin, data + begin, REGION - begin, false);
}

static const int threads[] = {1, 2, 3, 7, 16, 64};
enum { CASES = sizeof threads / sizeof *threads };

static uint8_t *made_up(void) {
  uint8_t *data = malloc(REGION);
  uint32_t x = 1;
  assert_non_null(data);
  for (uint64_t i = 0; i < REGION; i++) data[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
  return data;
}

static void equal_for_all_threads(void **state) {
  uint8_t *data = made_up();
  for (uint64_t begin = 0; begin < REGION; begin += 41 * (uint64_t)MB) {
    const uint64_t sum = sum_of(0, data, begin);
    for (int i = 0; i < CASES; i++) assert_true(sum_of(threads[i], data, begin) == sum);
  }
  free(data);
}

static void other_after_a_change(void **state) {
  uint8_t *data = made_up();
  const uint64_t sum = sum_of(0, data, 0);
  for (uint64_t at = 4099; at < REGION; at += PIECE / 2 + 977) {
    const int nt = threads[at % CASES];
    data[at] ^= 1;
    assert_true(sum_of(nt, data, 0) != sum);
    data[at] ^= 1;
  }
  for (int i = 0; i < PIECE; i++) { /* two pieces change places */
    const uint8_t x = data[i];
    data[i] = data[PIECE + i], data[PIECE + i] = x;
  }
  assert_true(sum_of(3, data, 0) != sum);
  free(data);
}

typedef struct Visits {
  uint8_t seen[REGION / MB + 1]; /* by MB */
  uint64_t bytes;
} Visits;

static void visit(void *arg, uint64_t at, uint64_t n) {
  Visits *v = arg;
  for (uint64_t i = at; i < at + n; i += MB) v->seen[i / MB]++;
  v->bytes += n;
}

static void visits_each_once(void **state) {
  for (int i = 0; i < CASES; i++) {
    Visits v = {0};
    int nt = threads[i];
    const ImageOf of = {.program = &program, .run = run_all, .threads = &nt};
    image_pieces(&of, 3 * MB, REGION - 3 * MB, visit, &v);
    assert_int_equal(v.bytes, REGION - 3 * MB);
    for (int k = 0; k <= REGION / MB; k++) assert_int_equal(v.seen[k], k >= 3);
  }
}

/* Of nt threads, the one in whose part of the large weight the byte lies. */
static int owner(uint64_t at, int nt) {
  const uint64_t bytes = globals[1].t.bytes, in = at - globals[1].t.offset;
  int t = 0;
  while (bytes * (uint64_t)(t + 1) / (uint64_t)nt <= in) t++;
  return t;
}

static void reads_its_part(void **state) {
  const uint64_t begin = globals[1].t.offset, end = begin + globals[1].t.bytes;
  for (int i = 0; i < 5; i++) /* of 64 threads none has a piece */
    for (uint64_t at = begin; at + PIECE <= end; at += MB)
      assert_int_equal(image_reader(&program, at, PIECE, at / PIECE, threads[i]),
                       owner(at + PIECE / 2, threads[i]));
}

static void shares_what_is_small(void **state) {
  int pieces[64] = {0};
  for (uint64_t i = 0; i * PIECE < REGION; i++)
    pieces[image_reader(&program, i * PIECE, PIECE, i, 64)]++;
  for (int t = 0; t < 64; t++) assert_int_equal(pieces[t], t < REGION / PIECE + 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(visits_each_once), cmocka_unit_test(equal_for_all_threads),
      cmocka_unit_test(other_after_a_change), cmocka_unit_test(reads_its_part),
      cmocka_unit_test(shares_what_is_small)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
