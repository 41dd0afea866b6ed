/* The caches that schedules are made for: of a folder as Linux describes a processor in, and of
 * names. */
#include "codegen/cpu/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "caches-XXXXXX/";

static void put(const char *name, const char *text) {
  char path[256];
  snprintf(path, sizeof path, "%s%s", folder, name);
  for (char *s = path; (s = strchr(s, '/')); *s++ = '/') {
    *s = 0;
    mkdir(path, 0700);
  }
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, "%s\n", text);
  fclose(f);
}

static void put_cache(int i, const char *level, const char *type, const char *size,
                      const char *ways, const char *shared) {
  const char *const of[][2] = {{"level", level},
                               {"type", type},
                               {"size", size},
                               {"ways_of_associativity", ways},
                               {"shared_cpu_list", shared}};
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    char name[64];
    snprintf(name, sizeof name, "cache/index%d/%s", i, of[k][0]);
    put(name, of[k][1]);
  }
}

static void is(Caches c, int64_t l1, int ways, int64_t l2, int64_t l3) {
  assert_int_equal(c.l1, l1 << 10);
  assert_int_equal(c.ways, ways);
  assert_int_equal(c.l2, l2 << 10);
  assert_int_equal(c.l3, l3 << 10);
}

static void knows_names(void **state) {
  (void)state;
  is(caches_of("haswell"), 32, 8, 256, 2048);
  is(caches_of("sapphirerapids"), 48, 12, 2048, 1920);
  is(caches_of("a processor of the future"), 32, 8, 1024, 4096);
}

/* Of a core with two threads, which shares the third level with five others. */
static void asks_the_system(void **state) {
  (void)state;
  is(caches_here("nowhere/"), 32, 8, 1024, 4096);
  put("topology/thread_siblings_list", "0,6");
  put_cache(0, "1", "Data", "48K", "12", "0,6");
  put_cache(1, "1", "Instruction", "64K", "16", "0,6");
  put_cache(2, "2", "Unified", "1280K", "20", "0,6");
  put_cache(3, "3", "Unified", "18M", "12", "0-11");
  is(caches_here(folder), 48, 12, 1280, 3072);
  put_cache(3, "3", "Unified", "260M", "20", "0-1,6"); /* of a host */
  is(caches_here(folder), 48, 12, 1280, 4096);
  put_cache(2, "2", "Unified", "4M", "16", "0-3,6-9"); /* of a cluster */
  is(caches_here(folder), 48, 12, 1024, 4096);
  put_cache(0, "1", "Data", "", "", "");
  is(caches_here(folder), 32, 8, 1024, 4096);
  put_cache(2, "2", "Unified", "16K", "16", "0"); /* less than the first */
  is(caches_here(folder), 32, 8, 1024, 4096);
}

int main(void) {
  char *slash = strchr(folder, '/');
  *slash = 0;
  if (!mkdtemp(folder)) return 1;
  *slash = '/';
  const struct CMUnitTest tests[] = {cmocka_unit_test(knows_names),
                                     cmocka_unit_test(asks_the_system)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) || failed;
}
