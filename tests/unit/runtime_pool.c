/* The thread pool: every thread runs every job, nobody passes a barrier early, and a counter is
   seen after what its thread did before; also where threads outnumber the cores and sleep. */
#include "runtime/base/machine.h"
#include "runtime/exec/pool.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const GcProgram gc_program = {.abi = GCRT_ABI, .target = "cpu"};

enum { MOST = 64, ROUNDS = 200 };

typedef struct Shared {
  Pool *pool;
  int64_t count[MOST]; /* each written by its thread alone, and read by others behind a barrier */
  Counter *done;
  _Atomic int wrong, runs;
} Shared;

static void barriers(void *arg, int t, int nt) {
  Shared *s = arg;
  atomic_fetch_add(&s->runs, 1);
  for (int round = 1; round <= ROUNDS; round++) {
    s->count[t]++;
    barrier_wait(&s->pool->barrier);
    for (int i = 0; i < nt; i++)
      if (s->count[i] % ROUNDS != round % ROUNDS) atomic_store(&s->wrong, 1);
    barrier_wait(&s->pool->barrier);
  }
}

/* Each thread waits for the one before it: a chain, which counters alone order. */
static void chain(void *arg, int t, int nt) {
  Shared *s = arg;
  Barrier *all = &s->pool->barrier;
  for (int round = 1; round <= ROUNDS; round++) {
    if (t > 0) counter_wait(&s->done[t - 1], all, round);
    if (t == 0 && round > 1) counter_wait(&s->done[nt - 1], all, round - 1);
    s->count[0]++;
    counter_signal(&s->done[t], all, round);
  }
}

static void *on_lines(size_t bytes) {
  void *p = aligned_alloc(POOL_LINE, (bytes + POOL_LINE - 1) / POOL_LINE * POOL_LINE);
  assert_non_null(p);
  memset(p, 0, bytes);
  return p;
}

static void run(int threads) {
  Err e = {0};
  Pool *pool = on_lines(sizeof *pool);
  Shared s = {.pool = pool, .done = on_lines(MOST * sizeof *s.done)};
  assert_true(pool_start(pool, threads, &e));
  int nt = pool_size(pool);
  assert_in_range(nt, 1, threads);
  for (int jobs = 0; jobs < 3; jobs++) pool_run(pool, barriers, &s);
  assert_int_equal(s.wrong, 0);
  assert_int_equal(s.runs, 3 * nt);
  memset(s.count, 0, sizeof s.count);
  pool_run(pool, chain, &s);
  assert_int_equal(s.count[0], nt * ROUNDS);
  pool_stop(pool, true);
  pool_stop(pool, true); /* does nothing */
  free(s.done);
  free(pool);
}

static int cores(void) { return cpus_at_once() < MOST / 2 ? cpus_at_once() : MOST / 2; }
static void one(void **state) { run(1); }
static void as_many_as_cores(void **state) { run(cores()); }
static void more_than_cores(void **state) { run(cores() + 3); }

/* Workers have the float mode of kernels, and signals stay with the caller's threads. */
static void look(void *arg, int t, int nt) {
  _Atomic int *bad = arg;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  volatile float tiny = 0x1p-126f, half = 0.5f, product = tiny * half;
  if (t > 0 && (!sigismember(&blocked, SIGINT) || product != 0)) atomic_store(bad, 1);
}

static void workers_are_prepared(void **state) {
  Err e = {0};
  _Atomic int bad = 0;
  Pool *pool = on_lines(sizeof *pool);
  assert_true(pool_start(pool, 3, &e));
  pool_run(pool, look, &bad);
  pool_stop(pool, true);
  free(pool);
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one), cmocka_unit_test(as_many_as_cores),
                                     cmocka_unit_test(more_than_cores),
                                     cmocka_unit_test(workers_are_prepared)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
