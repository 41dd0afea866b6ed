/* The safetensors reader: what it must accept, and every kind of file that it must refuse. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "runtime/weights/safetensors.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64] = "safe.XXXXXX";

static void put_file(const void *p, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(p, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

/* A file of this header (of n bytes) and data of zeros; `claim` is added to the length that it
 * states. */
static bool reads(const char *header, size_t n, uint64_t data, int64_t claim, Err *e) {
  char *buf = calloc(1, 8 + n + data);
  uint64_t len = n + (uint64_t)claim;
  memcpy(buf, &len, 8);
  memcpy(buf + 8, header, n);
  put_file(buf, 8 + n + data);
  free(buf);
  File f;
  SafeTable t;
  *e = (Err){0};
  assert_true(file_open(&f, path, e));
  bool ok = safe_open(&t, &f, e);
  if (ok) safe_free(&t);
  file_close(&f);
  assert_true(ok == (e->code == 0));
  if (!ok) assert_true(e->msg[0] && e->code == EXIT_WRONG);
  return ok;
}

#define T(name, dtype, shape, a, b)                                                                \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" #a "," #b "]}"

static void good(void **state) {
  static const struct {
    const char *header;
    uint64_t data;
  } all[] = {
      {"{}", 0},
      {"{} ", 0},
      {"{" T("a", "F32", "2,3", 0, 24) "}", 24},
      {"{" T("b", "F32", "1", 4, 8) "," T("a", "F32", "", 0, 4) "}", 8},
      {"{" T("a", "U8", "0", 0, 0) "," T("b", "U8", "0,18446744073709551615", 0, 0) "}", 0},
      {"{\"__metadata__\":{}," T("a", "BF16", "1", 0, 2) "}", 2},
      {"{\"__metadata__\":{\"k\":\"v\",\"l\":\"\\u00e9 \\ud83d\\ude00\"}," T("a", "BOOL", "1", 0,
                                                                             1) "}",
       1},
      {"{ \"a\" : { \"shape\" : [ 1 , 2 ] , \"data_offsets\" : [ 0 , 2 ] , \"dtype\" : \"I8\" } }",
       2},
      {"{" T("\\u0061\\u001b[2J", "F8_E4M3", "3", 0, 3) "}", 3},
  };
  Err e;
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
    if (!reads(all[i].header, strlen(all[i].header), all[i].data, 0, &e))
      fail_msg("%s: %s", all[i].header, e.msg);
}

static void bad(void **state) {
  static const struct {
    const char *header;
    uint64_t data;
    const char *says;
  } all[] = {
      {"[]", 0, "'{' was expected"},
      {" {}", 0, "'{' was expected"},
      {"{}x", 0, "follows the last brace"},
      {"{" T("a", "F32", "1", 0, 4) "," T("a", "F32", "1", 4, 8) "}", 8, "is there twice"},
      {"{" T("a", "F32", "1", 0, 4) "," T("\\u0061", "F32", "1", 4, 8) "}", 8, "is there twice"},
      {"{" T("a", "F4", "1", 0, 4) "}", 4, "unknown dtype"},
      {"{" T("a", "U8", "4294967296,4294967296", 0, 4) "}", 4, "beyond 64 bits"},
      {"{" T("a", "F64", "2305843009213693952", 0, 0) "}", 0, "beyond 64 bits"},
      {"{" T("a", "U8", "1", 1, 0) "}", 1, "disagree"},
      {"{" T("a", "U8", "2", 0, 2) "," T("b", "U8", "2", 1, 3) "}", 3, "overlap"},
      {"{" T("a", "U8", "2", 0, 2) "," T("b", "U8", "2", 3, 5) "}", 5, "hole"},
      {"{" T("a", "U8", "9", 0, 9) "}", 8, "means 9 bytes"},
      {"{" T("a", "U8", "7", 0, 7) "}", 8, "means 7 bytes"},
      {"{" T("a", "U8", "-1", 0, 1) "}", 1, "a size was expected"},
      {"{" T("a", "U8", "1.0", 0, 1) "}", 1, "whole number"},
      {"{" T("a", "U8", "1e3", 0, 1) "}", 1, "whole number"},
      {"{" T("a", "U8", "01", 0, 1) "}", 1, "begins with 0"},
      {"{" T("a", "U8", "99999999999999999999", 0, 1) "}", 1, "beyond 64 bits"},
      {"{" T("a", "U8", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", 0, 1) "}", 1, "too long"},
      {"{" T("a", "U8", "1,", 0, 1) "}", 1, "a size was expected"},
      {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
       "repeated"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1, "two numbers"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "missing"},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}", 1, "unknown"},
      {"{\"__metadata__\":{\"a\":1}}", 0, "'\"' was expected"},
      {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "repeated"},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "repeated"},
      {"{" T("", "U8", "1", 0, 1) "}", 1, "without a name"},
      {"{" T("\\u0000", "U8", "1", 0, 1) "}", 1, "zero character"},
      {"{" T("\\ud800", "U8", "1", 0, 1) "}", 1, "surrogate"},
      {"{" T("\\udc00", "U8", "1", 0, 1) "}", 1, "surrogate"},
      {"{" T("\\q", "U8", "1", 0, 1) "}", 1, "unknown escape"},
      {"{" T("\xc0\x80", "U8", "1", 0, 1) "}", 1, "UTF-8"},
      {"{" T("\xed\xa0\x80", "U8", "1", 0, 1) "}", 1, "UTF-8"},
      {"{" T("\xff", "U8", "1", 0, 1) "}", 1, "UTF-8"},
      {"{" T("a\nb", "U8", "1", 0, 1) "}", 1, "control byte"},
      {"{\"a", 0, "inside a string"},
      {"{\"a\":", 0, "'{' was expected"},
      {"{," T("a", "U8", "1", 0, 1) "}", 1, "'\"' was expected"},
      {"{" T("a", "U8", "1", 0, 1) ",}", 1, "'\"' was expected"},
  };
  Err e;
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    if (reads(all[i].header, strlen(all[i].header), all[i].data, 0, &e))
      fail_msg("accepted: %s", all[i].header);
    if (!strstr(e.msg, all[i].says))
      fail_msg("%s: '%s' is not in '%s'", all[i].header, all[i].says, e.msg);
  }
}

static void lengths(void **state) {
  Err e;
  const char *h = "{" T("a", "U8", "1", 0, 1) "}";
  assert_false(reads(h, strlen(h), 0, 1, &e));
  assert_false(reads(h, strlen(h), 1, 2, &e));
  assert_false(reads(h, strlen(h), 1, -(int64_t)strlen(h), &e));
  assert_false(reads(h, strlen(h), 1, -(int64_t)strlen(h) + 1, &e));
  assert_false(reads(h, strlen(h), 1, -(int64_t)strlen(h) - 1, &e)); /* 2^64 - 1 */
  assert_false(reads("{", 1, 0, 0, &e));
  size_t big = (size_t)SAFETENSORS_HEADER + 1;
  char *spaces = malloc(big);
  memset(spaces, ' ', big);
  spaces[0] = '{';
  assert_false(reads(spaces, big, 0, 0, &e));
  assert_non_null(strstr(e.msg, "16 MB"));
  memset(spaces, '[', 200000);
  assert_false(reads(spaces, 200000, 0, 0, &e));
  memset(spaces + 1, '{', 200000);
  spaces[0] = '{';
  assert_false(reads(spaces, 200000, 0, 0, &e));
  free(spaces);
}

static void tiny_files(void **state) {
  for (size_t n = 0; n < 10; n++) {
    File f;
    SafeTable t;
    Err e = {0};
    put_file("\2\0\0\0\0\0\0\0{}", n);
    assert_true(file_open(&f, path, &e));
    assert_false(safe_open(&t, &f, &e));
    file_close(&f);
  }
}

static int setup(void **state) {
  int fd = mkstemp(path);
  return fd < 0 ? -1 : close(fd);
}
static int teardown(void **state) { return unlink(path); }

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(bad),
                                     cmocka_unit_test(lengths), cmocka_unit_test(tiny_files)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
