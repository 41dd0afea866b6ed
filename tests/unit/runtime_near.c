/* Ranks of one machine, as processes: one of them speaks for all, however many have something to
   say at once, and another one if the first ends before it has spoken. */
#include "runtime/base/rt.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { RANKS = 6, WORDS = 64, SAYS = 40 };

typedef struct Table { /* that all processes see */
  pthread_barrier_t all;
  int said[RANKS][WORDS];
  _Atomic int spoke;
} Table;
static Table *table;

static void collect(const GcComm *c, int *all, int n) {
  memcpy(table->said[c->rank], all + c->rank * n, (size_t)n * sizeof *all);
  pthread_barrier_wait(&table->all);
  for (int r = 0; r < c->ranks; r++) memcpy(all + r * n, table->said[r], (size_t)n * sizeof *all);
  pthread_barrier_wait(&table->all);
}

static int max(const GcComm *c, int value) {
  int all[RANKS] = {0};
  all[c->rank] = value;
  collect(c, all, 1);
  for (int r = 0; r < c->ranks; r++)
    if (all[r] > value) value = all[r];
  return value;
}

/* Exit code 0: it spoke, or has the code of who did. */
static int be_rank(int rank, bool words, int dies) {
  GcComm c = {.rank = rank, .ranks = RANKS, .collect = collect, .max = max};
  int sums[2] = {1, rank};
  if (!gcrt_near_find(&c, words) || !c.near || c.local != RANKS) return 1;
  gcrt_near_sum(&c, sums, 2);
  if (sums[0] != RANKS || sums[1] != RANKS * (RANKS - 1) / 2) return 2;
  if (gcrt_near_turn(&c) != (words ? 0 : rank)) return 3;
  pthread_barrier_wait(&table->all);
  if (rank == dies) {
    if (!gcrt_near_speaks(&c)) return 4;
    pthread_barrier_wait(&table->all);
    raise(SIGKILL);
  }
  if (dies >= 0) pthread_barrier_wait(&table->all);
  bool speaks = gcrt_near_speaks(&c);
  if (speaks) atomic_fetch_add(&table->spoke, 1);
  int code = gcrt_near_said(&c, speaks ? SAYS : rank);
  gcrt_near_free(c.near);
  return words ? code != SAYS : code != (speaks ? SAYS : rank);
}

static void begin(bool words, int dies, int spoke) {
  pid_t rank[RANKS];
  table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(table != MAP_FAILED);
  pthread_barrierattr_t attr;
  pthread_barrierattr_init(&attr);
  pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&table->all, &attr, RANKS);
  for (int r = 0; r < RANKS; r++)
    if ((rank[r] = fork()) == 0) _exit(be_rank(r, words, dies));
  for (int r = 0; r < RANKS; r++) {
    int status = -1;
    assert_int_equal(waitpid(rank[r], &status, 0), rank[r]);
    assert_int_equal(status, r == dies ? SIGKILL : 0);
  }
  assert_int_equal(atomic_load(&table->spoke), spoke);
  munmap(table, sizeof *table);
}

static void one_speaks(void **state) {
  for (int i = 0; i < 20; i++) begin(true, -1, 1);
}
static void another_speaks(void **state) { begin(true, 3, 1); }
static void all_speak_without_a_word(void **state) { begin(false, -1, RANKS); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_speaks),
      cmocka_unit_test(another_speaks),
      cmocka_unit_test(all_speak_without_a_word),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
