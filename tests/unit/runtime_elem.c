/* Element conversion, the file types' names, and the random function that shuffles rows. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "runtime/data/dataset.h"
#include "runtime/exec/features.h"
#include <math.h>
#include <string.h>

static double through(Elem type, double d) {
  char cell[8];
  elem_convert(cell, type, &d, ELEM_F64, 1);
  return elem_real(cell, type, 0);
}

static void half(void **state) {
  assert_true(through(ELEM_F16, 1.0) == 1.0);
  assert_true(through(ELEM_F16, 65504.0) == 65504.0);
  assert_true(through(ELEM_F16, 65519.0) == 65504.0);
  assert_true(isinf(through(ELEM_F16, 65520.0)));
  assert_true(through(ELEM_F16, 0x1p-24) == 0x1p-24);
  assert_true(through(ELEM_F16, 0x1p-25) == 0); /* a tie goes to even */
  assert_true(through(ELEM_F16, 0x1.8p-24) == 0x1p-23);
  assert_true(through(ELEM_F16, 2049.0) == 2048.0);
  assert_true(through(ELEM_F16, 2051.0) == 2052.0);
  assert_true(through(ELEM_F16, 1 - 0x1p-30) == 1.0); /* the carry moves into the exponent */
  assert_true(isnan(through(ELEM_F16, NAN)));
  for (unsigned h = 0; h < 65536; h++) { /* each value is kept, and reads the same through f32 */
    uint16_t in = (uint16_t)h, out;
    float f;
    elem_convert(&f, ELEM_F32, &in, ELEM_F16, 1);
    elem_convert(&out, ELEM_F16, &f, ELEM_F32, 1);
    if (!isnan(f)) assert_int_equal(in, out);
  }
}

static void bfloat(void **state) {
  assert_true(through(ELEM_BF16, 1.0) == 1.0);
  assert_true(through(ELEM_BF16, 1 + 0x1p-8) == 1.0); /* tie to even */
  assert_true(through(ELEM_BF16, 1 + 0x1.8p-7) == 1 + 0x1p-6);
  assert_true(through(ELEM_BF16, 1 + 0x1p-8 + 0x1p-40) == 1 + 0x1p-7); /* rounds once, not twice */
  assert_true(isnan(through(ELEM_BF16, NAN)));
  assert_true(isinf(through(ELEM_BF16, 3.4e38 * 1.01)));
}

static void exact_integers(void **state) {
  const int64_t v[] = {0, 255, 256, -1, INT64_C(1) << 40, (1 << 24) + 1};
  uint64_t bad = 99;
  assert_true(elem_check(ELEM_U8, v, ELEM_I64, 2, &bad));
  assert_false(elem_check(ELEM_U8, v, ELEM_I64, 3, &bad));
  assert_int_equal(bad, 2);
  assert_false(elem_check(ELEM_BOOL, v, ELEM_I64, 2, &bad));
  assert_int_equal(bad, 1);
  assert_true(elem_check(ELEM_I32, v, ELEM_I64, 4, &bad));
  assert_false(elem_check(ELEM_I32, v, ELEM_I64, 5, &bad));
  assert_true(elem_check(ELEM_F32, v, ELEM_I64, 5, &bad));
  assert_false(elem_check(ELEM_F32, v, ELEM_I64, 6, &bad));
  assert_int_equal(bad, 5);
  const uint64_t huge = UINT64_MAX;
  assert_false(elem_check(ELEM_I64, &huge, ELEM_U64, 1, &bad));
  assert_false(elem_converts(ELEM_F32, ELEM_I32));
  assert_true(elem_converts(ELEM_F64, ELEM_F32));
  assert_true(elem_converts(ELEM_U16, ELEM_I32));
}

static void panels(void **state) {
  const int64_t dims[] = {3, 5};
  GcTensor t = {.name = "w", .dtype = GC_I32, .rank = 2, .dims = dims, .panel = 4};
  int32_t flat[15], back[15], storage[2 * 3 * 4] = {0};
  for (int i = 0; i < 15; i++) flat[i] = i + 1;
  for (uint64_t at = 0; at < 15; at += 2)
    tensor_put(&t, storage, at, at + 2 > 15 ? 15 - at : 2, flat + at);
  assert_int_equal(storage[0], 1);                  /* [0][0] */
  assert_int_equal(storage[1 * 4 + 3], 9);          /* [1][3] */
  assert_int_equal(storage[3 * 4 + 2 * 4 + 0], 15); /* [2][4], in the second panel */
  assert_int_equal(storage[3 * 4 + 1], 0);          /* the tail stays zero */
  tensor_get(&t, storage, 0, 15, back);
  assert_memory_equal(flat, back, sizeof flat);
  tensor_get(&t, storage, 7, 6, back);
  assert_memory_equal(flat + 7, back, 6 * 4);
}

/* [O, C, R] stored as [ceil(O / 4)][R][C][4], and without panels as [O][R][C] */
static void orders(void **state) {
  enum { O = 5, C = 3, R = 2, ALL = O * C * R };
  const int64_t dims[] = {O, C, R};
  const int panels[] = {2, 1, 0}, last[] = {0, 2, 1};
  GcTensor t = {.name = "f", .dtype = GC_I32, .rank = 3, .dims = dims, .panel = 4, .order = panels};
  int32_t flat[ALL], back[ALL], storage[2 * R * C * 4] = {0};
  for (int i = 0; i < ALL; i++) flat[i] = i + 1;
  for (int layout = 0; layout < 2; layout++) {
    for (uint64_t at = 0; at < ALL; at += 7)
      tensor_put(&t, storage, at, at + 7 > ALL ? ALL - at : 7, flat + at);
    for (int o = 0; o < O; o++)
      for (int c = 0; c < C; c++)
        for (int r = 0; r < R; r++)
          assert_int_equal(flat[(o * C + c) * R + r],
                           layout ? storage[(o * R + r) * C + c]
                                  : storage[((o / 4 * R + r) * C + c) * 4 + o % 4]);
    for (uint64_t first = 0; first < ALL; first += 11) {
      tensor_get(&t, storage, first, ALL - first, back);
      assert_memory_equal(flat + first, back, (ALL - first) * 4);
    }
    t.panel = 0;
    t.order = last;
  }
}

/* Of any sign and payload: one pattern. What is no number of the dtype's, and infinities, stay. */
static void nans(void **state) {
  uint16_t half[] = {0x7C00, 0x7C01, 0xFE00, 0xFC00, 0xFFFF, 0x3C00};
  const uint16_t half_one[] = {0x7C00, 0x7E00, 0x7E00, 0xFC00, 0x7E00, 0x3C00};
  elem_one_nan(half, ELEM_F16, 6);
  assert_memory_equal(half, half_one, sizeof half);
  uint16_t bf[] = {0x7F80, 0x7F81, 0xFFC0, 0xFF80, 0xFFFF, 0x8000};
  const uint16_t bf_one[] = {0x7F80, 0x7FC0, 0x7FC0, 0xFF80, 0x7FC0, 0x8000};
  elem_one_nan(bf, ELEM_BF16, 6);
  assert_memory_equal(bf, bf_one, sizeof bf);
  const int64_t dims[] = {6};
  const GcTensor t = {.name = "x", .dtype = GC_F32, .rank = 1, .dims = dims};
  const uint32_t f[] = {0x7F800000, 0x7F800001, 0xFFC00000, 0xFF800000, 0x7FFFFFFF, 0x80000000};
  const uint32_t one[] = {0x7F800000, 0x7FC00000, 0x7FC00000, 0xFF800000, 0x7FC00000, 0x80000000};
  uint32_t got[6];
  tensor_get(&t, f, 0, 6, got);
  assert_memory_equal(got, one, sizeof got);
  uint64_t d[] = {UINT64_C(0xFFF8) << 48, UINT64_C(0x7FF0) << 48, UINT64_MAX};
  const uint64_t d_one[] = {UINT64_C(0x7FF8) << 48, UINT64_C(0x7FF0) << 48, UINT64_C(0x7FF8) << 48};
  elem_one_nan(d, ELEM_F64, 3);
  assert_memory_equal(d, d_one, sizeof d);
  const int64_t i[] = {-1}, same[] = {-1};
  elem_one_nan((void *)i, ELEM_I64, 1);
  assert_memory_equal(i, same, sizeof i);
  char text[40];
  elem_format(text, f, ELEM_F32, 2);
  assert_string_equal(text, "nan");
}

/* Random123's known answers */
static void philox(void **state) {
  uint32_t c[4] = {0}, k[2] = {0}, out[4];
  const uint32_t zero[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  philox4x32(c, k, out);
  assert_memory_equal(out, zero, 16);
  const uint32_t c2[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                 k2[2] = {0xa4093822, 0x299f31d0};
  const uint32_t pi[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  philox4x32(c2, k2, out);
  assert_memory_equal(out, pi, 16);
  int hits[5] = {0};
  uint64_t draws = 0;
  for (int i = 0; i < 5000; i++) hits[philox_below(1, 2, &draws, 5)]++;
  for (int i = 0; i < 5; i++) assert_in_range(hits[i], 900, 1100);
}

#if defined __x86_64__
static bool cpuinfo_has(const char *flag) {
  FILE *f = fopen("/proc/cpuinfo", "r");
  static char line[1 << 14];
  char word[40];
  bool found = false;
  snprintf(word, sizeof word, " %s ", flag);
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, "flags", 5) == 0) {
      line[strcspn(line, "\n")] = ' ';
      found = strstr(line, word) != NULL;
      break;
    }
  if (f) fclose(f);
  return found;
}
#endif

static void processor(void **state) {
  Err e = {0};
  assert_true(cpu_check("", &e));
  assert_true(cpu_check(NULL, &e));
#if defined __x86_64__
  assert_false(cpu_check("avx9", &e));
  assert_int_equal(e.code, EXIT_ENV);
  /* each name that a program may be given is known here, and is what this machine says of it */
  char all[1024] = "", *end = all;
  bool whole = true;
#define ARM_FEATURE(MACRO, NAME)
#define X86_FEATURE(MACRO, NAME)                                                                   \
  assert_int_equal(cpu_check(NAME, &e), __builtin_cpu_supports(NAME) != 0);                        \
  whole = whole && __builtin_cpu_supports(NAME);                                                   \
  end += snprintf(end, (size_t)(all + sizeof all - end), "%s" NAME, end == all ? "" : ",");
#define X86_CPUID(MACRO, NAME)
#define UNUSED(MACRO)
#include "codegen/cpu/features.def"
#undef X86_FEATURE
  assert_int_equal(cpu_check(all, &e), whole);
  /* ... or has what Linux lists, though that may be too old to list it */
  static const char *const flags[][2] = {
      {"avx512fp16", "avx512_fp16"}, {"avxifma", "avx_ifma"}, {"avxvnniint8", "avx_vnni_int8"}};
#define X86_FEATURE(MACRO, NAME)
#undef X86_CPUID
#define X86_CPUID(MACRO, NAME)                                                                     \
  for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)                                      \
    if (strcmp(flags[i][0], NAME) == 0 && cpuinfo_has(flags[i][1]))                                \
      assert_true(cpu_check(NAME, &e));
#include "codegen/cpu/features.def"
#undef X86_CPUID
#undef X86_FEATURE
#undef UNUSED
#undef ARM_FEATURE
  e = (Err){0};
  assert_false(cpu_check("sse3,avx9,sse4.1", &e));
  assert_non_null(strstr(e.msg, "lacks avx9, which the program's code may use"));
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(half),           cmocka_unit_test(bfloat),
                                     cmocka_unit_test(exact_integers), cmocka_unit_test(panels),
                                     cmocka_unit_test(nans),           cmocka_unit_test(orders),
                                     cmocka_unit_test(philox),         cmocka_unit_test(processor)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
