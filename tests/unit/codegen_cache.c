/* The cache of compiled files: what was kept comes back, what is damaged does not, and it stays
   within its limit. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "codegen/build/cache.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[64], path[CACHE_PATH];

static int set_up(void **state) {
  strcpy(folder, "cache-XXXXXX");
  char whole[CACHE_PATH];
  if (!mkdtemp(folder) || !realpath(folder, whole)) return 1;
  setenv("XDG_CACHE_HOME", whole, 1);
  return 0;
}

static int clean_up(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s file got", folder);
  return system(command);
}

static void write_file(const char *name, const char *text) {
  FILE *f = fopen(name, "w");
  assert_non_null(f);
  fputs(text, f);
  assert_int_equal(fclose(f), 0);
}

static Hash key_of(int i) { return hash_of(&i, sizeof i); }

/* The content of an entry is this text. */
static bool holds(const Cache *c, int i, const char *text) {
  char got[64] = {0};
  unlink("got");
  if (!cache_get(c, key_of(i), "got")) return false;
  FILE *f = fopen("got", "r");
  assert_non_null(f);
  size_t n = fread(got, 1, sizeof got - 1, f);
  fclose(f);
  assert_int_equal(n, strlen(text));
  assert_string_equal(got, text);
  return true;
}

static void put(const Cache *c, int i, const char *text) {
  write_file("file", text);
  cache_put(c, key_of(i), "file");
}

/* Entries and temporary files. */
static int files(const Cache *c) {
  int n = 0;
  DIR *d = opendir(c->dir);
  assert_non_null(d);
  for (const struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

static void name_of(char *out, size_t room, const Cache *c, int i) {
  Hash key = key_of(i);
  snprintf(out, room, "%s/%016llx%016llx", c->dir, (unsigned long long)key.high,
           (unsigned long long)key.low);
}

static void keeps(void **state) {
  Cache c = cache_open(path);
  assert_non_null(c.dir);
  struct stat st;
  assert_int_equal(stat(c.dir, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0700);
  assert_false(holds(&c, 1, ""));
  put(&c, 1, "one");
  put(&c, 2, "");
  assert_true(holds(&c, 1, "one"));
  assert_true(holds(&c, 2, ""));
  assert_false(holds(&c, 3, ""));
  put(&c, 1, "another");
  assert_true(holds(&c, 1, "another"));
  assert_int_equal(files(&c), 2);
}

/* Every byte of an entry matters, and so does its length. A damaged one goes. */
static void damage(void **state) {
  Cache c = cache_open(path);
  char name[CACHE_PATH + 64], bytes[256];
  put(&c, 1, "one");
  name_of(name, sizeof name, &c, 1);
  FILE *f = fopen(name, "r");
  assert_non_null(f);
  size_t n = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  assert_true(n > 3 && n < sizeof bytes);
  for (size_t at = 0; at <= n; at++)
    for (int cut = 0; cut < 2; cut++) {
      f = fopen(name, "w");
      assert_non_null(f);
      bytes[at] ^= 1;
      fwrite(bytes, 1, cut ? at : n + (at == n), f); /* cut off, or one byte wrong, or one more */
      bytes[at] ^= 1;
      assert_int_equal(fclose(f), 0);
      if (cut && at == n) {
        assert_true(holds(&c, 1, "one"));
        continue;
      }
      assert_false(holds(&c, 1, "one"));
      assert_int_equal(access(name, F_OK), -1);
    }
}

/* Over the limit the entries go that were read or written the longest time ago. */
static void limit(void **state) {
  Cache c = cache_open(path);
  for (int i = 0; i < 8; i++) put(&c, i, "0123456789");
  for (int i = 0; i < 8; i++) {
    char name[CACHE_PATH + 64];
    name_of(name, sizeof name, &c, i);
    struct timespec at[2] = {{1000 + i, 0}, {1000 + i, 0}};
    assert_int_equal(utimensat(AT_FDCWD, name, at, 0), 0);
  }
  assert_true(holds(&c, 0, "0123456789")); /* used now */
  struct stat st;
  char name[CACHE_PATH + 64];
  name_of(name, sizeof name, &c, 0);
  assert_int_equal(stat(name, &st), 0);
  c.limit = 8 * (uint64_t)st.st_size;
  cache_trim(&c);
  assert_int_equal(files(&c), 8);
  put(&c, 8, "0123456789");
  cache_trim(&c); /* to three quarters of it */
  assert_int_equal(files(&c), 6);
  for (int i = 0; i < 9; i++) assert_int_equal(holds(&c, i, "0123456789"), i == 0 || i > 3);
}

static void left_by_kills(void **state) {
  Cache c = cache_open(path);
  char name[CACHE_PATH + 64];
  for (int old = 0; old < 2; old++) {
    snprintf(name, sizeof name, "%s/new-%d", c.dir, old);
    write_file(name, "half");
    struct timespec at[2] = {{1000, 0}, {1000, 0}};
    if (old) assert_int_equal(utimensat(AT_FDCWD, name, at, 0), 0);
  }
  cache_trim(&c);
  assert_int_equal(files(&c), 1);
}

/* Several processes write, read and trim the same entries: what is read is whole. */
static void at_once(void **state) {
  enum { PROCESSES = 4, TURNS = 200 };
  Cache c = cache_open(path);
  c.limit = 300;
  for (int p = 0; p < PROCESSES; p++) {
    if (fork() != 0) continue;
    char file[32], got[32], text[16] = {0};
    snprintf(file, sizeof file, "file%d", p);
    snprintf(got, sizeof got, "got%d", p);
    for (int i = 0; i < TURNS; i++) {
      write_file(file, "0123456789");
      cache_put(&c, key_of(i % 5), file);
      unlink(got);
      if (cache_get(&c, key_of((i + p) % 5), got)) {
        FILE *f = fopen(got, "r");
        if (!f || fread(text, 1, sizeof text, f) != 10 || strcmp(text, "0123456789")) _exit(1);
        fclose(f);
      }
      cache_trim(&c);
    }
    unlink(file);
    unlink(got);
    _exit(0);
  }
  for (int p = 0; p < PROCESSES; p++) {
    int status;
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
  }
}

/* Machine code is not taken from where others can write. */
static void not_others(void **state) {
  Cache c = cache_open(path);
  assert_int_equal(chmod(c.dir, 0777), 0);
  assert_null(cache_open(path).dir);
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/proc/nowhere", 1);
  assert_null(cache_open(path).dir);
  unsetenv("HOME");
  assert_null(cache_open(path).dir);
  assert_false(cache_get(&(Cache){0}, key_of(1), "got"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)
  const struct CMUnitTest tests[] = {TEST(keeps),         TEST(damage),  TEST(limit),
                                     TEST(left_by_kills), TEST(at_once), TEST(not_others)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
