/* What control groups and the affinity mask leave a process, by made-up files of the kernel; and
 * its memory. */
#include "runtime/base/machine.h"
#include "runtime/exec/memory.h"
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

const GcProgram gc_program = {.abi = GCRT_ABI, .target = "cpu"};

#define ROOT "machine_files"
static const GroupFiles files = {.root = ROOT, .membership = ROOT "/self"};

/* Writes a file below the root, and its folders. */
static void put(const char *name, const char *text) {
  char path[512];
  snprintf(path, sizeof path, ROOT "/%s", name);
  for (char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
    *at = 0;
    mkdir(path, 0777);
    *at = '/';
  }
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  assert_int_equal(fclose(f), 0);
}

static int clear(void **state) { return system("rm -rf " ROOT) != 0; }

static void has_no_limits(void **state) {
  assert_true(group_memory(&files) == UINT64_MAX); /* no files at all */
  assert_true(group_cpus(&files) > 1e6);
  put("self", "0::/a/b\n");
  put("a/b/memory.max", "max\n");
  put("a/b/cpu.max", "max 100000\n");
  assert_true(group_memory(&files) == UINT64_MAX);
  assert_true(group_cpus(&files) > 1e6);
}

/* Version 2: the least of the group and of those around it. */
static void reads_groups_around(void **state) {
  put("self", "0::/a/b\n");
  put("a/b/memory.max", "8000000\n");
  put("a/memory.max", "3000000\n");
  put("a/b/cpu.max", "100000 100000\n");
  put("a/cpu.max", "250000 100000\n");
  assert_true(group_memory(&files) == 3000000);
  assert_true(group_cpus(&files) == 1);
}

/* In a container the root is the group, whatever the host calls it. */
static void reads_the_root_of_a_container(void **state) {
  put("self", "0::/../../docker/0123\n");
  put("memory.max", "5000000\n");
  put("cpu.max", "150000 100000\n");
  assert_true(group_memory(&files) == 5000000);
  assert_true(group_cpus(&files) == 1.5);
}

/* Version 1: a hierarchy for each controller. */
static void reads_version_1(void **state) {
  put("self", "5:cpuset:/\n4:memory:/x\n3:cpu,cpuacct:/x\n1:name=systemd:/x\n0::/\n");
  put("memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("memory/x/memory.limit_in_bytes", "7000000\n");
  put("cpu/cpu.cfs_quota_us", "-1\n");
  put("cpu/cpu.cfs_period_us", "100000\n");
  put("cpu/x/cpu.cfs_quota_us", "50000\n");
  put("cpu/x/cpu.cfs_period_us", "100000\n");
  assert_true(group_memory(&files) == 7000000);
  assert_true(group_cpus(&files) == 0.5);
}

static void ignores_nonsense(void **state) {
  put("self", "no colons\n0::/a\n");
  put("a/memory.max", "much\n");
  put("a/cpu.max", "100000 0\n");
  assert_true(group_memory(&files) == UINT64_MAX);
  assert_true(group_cpus(&files) > 1e6);
}

static void counts_cores(void **state) {
  bool all[] = {true, true, true, true, true, true},
       some[] = {false, true, true, false, true, true};
  int order[6];
  assert_int_equal(cores_of(ROOT, all, 6, order), 6); /* nobody knows of siblings */
  static const char *const siblings[] = {"0,3", "1,4", "2,5", "0,3", "1,4", "2,5"};
  for (int i = 0; i < 6; i++) {
    char name[64];
    snprintf(name, sizeof name, "cpu%d/topology/thread_siblings_list", i);
    put(name, siblings[i]);
  }
  assert_int_equal(cores_of(ROOT, all, 6, order), 3);
  for (int i = 0; i < 6; i++) assert_int_equal(order[i], i);
  assert_int_equal(cores_of(ROOT, some, 6, order), 2); /* 1 and 4, 2 and 5 */
  assert_true(order[0] == 1 && order[1] == 2 && order[2] == 4 && order[3] == 5);
  some[1] = some[2] = false;
  assert_int_equal(cores_of(ROOT, some, 6, order), 2); /* 4 without 1, 5 without 2 */
  put("cpu1/topology/thread_siblings_list", "0-1\n");
  put("cpu0/topology/thread_siblings_list", "0-1\n");
  assert_int_equal(cores_of(ROOT, all, 2, order), 1);
  put("cpu3/topology/thread_siblings_list", "2-3\n"); /* one of each core, then the others */
  put("cpu2/topology/thread_siblings_list", "2-3\n");
  assert_int_equal(cores_of(ROOT, all, 4, order), 2);
  assert_true(order[0] == 0 && order[1] == 2 && order[2] == 1 && order[3] == 3);
}

static void respects_the_mask(void **state) {
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  assert_int_equal(cores_available(), 1);
  assert_int_equal(cpus_at_once(), 1);
  assert_false(cpus_filled(2)); /* two would be in each other's way */
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_true(cores_available() >= 1 && cores_available() <= CPU_COUNT(&before));
}

/* Three other ranks on this machine, whose masks are `others`; the pieces come in order. */
static int others[3], piece;
static int max_of(const GcComm *c, int value) { return value; }
static void add_others(const GcComm *c, int *at, int n) {
  for (int r = 0; r < 3; r++)
    if (others[r] >= piece * n && others[r] < (piece + 1) * n)
      at[others[r] - piece * n]++;
    else if (others[r] < 0)
      for (int i = 0; i < n; i++) at[i]++; /* is bound to none */
  piece++;
}

static int share(int a, int b, int c, int available) {
  const GcComm comm = {.local = 4, .max = max_of, .sum_local = add_others};
  others[0] = a, others[1] = b, others[2] = c, piece = 0;
  return cores_share(&comm, available);
}

/* The cores of a rank that is bound are its own; others are shared. */
static void shares_cores(void **state) {
  CpuList l;
  assert_true(cpus_list(&l));
  int cores = l.cores, away = l.most - 1; /* a CPU that this process does not have */
  assert_int_equal(share(away, away, away, cores), cores);
  assert_int_equal(share(-1, -1, -1, cores), cores > 4 ? cores / 4 : 1);
  assert_int_equal(share(-1, away, away, cores), cores > 2 ? cores / 2 : 1);
  /* half of a CPU is another's, whose part of a core it is */
  double left = cores - 0.5 * cores / l.n;
  assert_int_equal(share(l.cpu[0], away, away, cores), left > 1 ? (int)left : 1);
  /* a quota of one core is all ranks' */
  assert_int_equal(share(away, away, away, 1), 1);
  cpus_free(&l);
}

/* Models of a library, which load at the same time, leave the name alone. */
static void names_the_mapped_file_in_executables(void **state) {
  signals_mapped("w.image");
  assert_string_equal(signal_mapped(), "");
  bus_error_catch("model");
  signals_mapped("w.image");
  assert_string_equal(signal_mapped(), "w.image");
}

static bool last_page_is_there(const uint8_t *end) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  unsigned char there = 0;
  assert_int_equal(mincore((void *)(((uintptr_t)end - 1) / page * page), page, &there), 0);
  return there & 1;
}

/* Kernels prefetch a page ahead, so the last page of a region, its slack, is there from the start.
 */
static void has_the_slack_of_regions(void **state) {
  Sizes s = {.globals = 3 * MEMORY_PAGE, .arena = 2 * MEMORY_PAGE, .inputs = MEMORY_PAGE};
  Memory m;
  Err e = {0};
  s.total = s.globals + s.arena + s.inputs;
  assert_true(memory_map(&m, &s, &e));
  assert_true(last_page_is_there(m.region[GC_GLOBALS] + s.globals));
  assert_true(last_page_is_there(m.region[GC_ARENA] + s.arena));
  assert_true(last_page_is_there(m.region[GC_INPUTS] + s.inputs));
  assert_true(memory_clear_globals(&m, &e));
  assert_true(last_page_is_there(m.region[GC_GLOBALS] + s.globals));
  memory_unmap(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(has_no_limits, clear),
      cmocka_unit_test_setup(reads_groups_around, clear),
      cmocka_unit_test_setup(reads_the_root_of_a_container, clear),
      cmocka_unit_test_setup(reads_version_1, clear),
      cmocka_unit_test_setup(ignores_nonsense, clear),
      cmocka_unit_test_setup_teardown(counts_cores, clear, clear),
      cmocka_unit_test(respects_the_mask),
      cmocka_unit_test(shares_cores),
      cmocka_unit_test(names_the_mapped_file_in_executables),
      cmocka_unit_test(has_the_slack_of_regions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
