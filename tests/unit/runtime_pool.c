/* The thread pool: every thread runs every job, nobody passes a barrier early, and a counter is
   seen after what its thread did before; also where threads outnumber the cores and sleep. */
#include "runtime/base/machine.h"
#include "runtime/exec/adapt.h"
#include "runtime/exec/claim.h"
#include "runtime/exec/pool.h"
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const GcProgram gc_program = {.abi = GCRT_ABI, .target = "cpu"};

enum { MOST = 512, ROUNDS = 200 };

typedef struct Shared {
  Pool *pool;
  int64_t count[MOST]; /* each written by its thread alone, and read by others behind a barrier */
  Counter *done;
  int rounds;
  _Atomic int wrong, runs;
} Shared;

/* Each thread looks at the counts of a few others: all of them are one further. */
static void barriers(void *arg, int t, int nt) {
  Shared *s = arg;
  atomic_fetch_add(&s->runs, 1);
  int64_t before = s->count[t];
  for (int round = 1; round <= s->rounds; round++) {
    s->count[t]++;
    barrier_wait(s->pool->barrier, t);
    for (int i = t, k = 0; k < nt && k < 64; k++, i = (i + 7) % nt)
      if (s->count[i] != before + round) atomic_store(&s->wrong, 1);
    barrier_wait(s->pool->barrier, t);
  }
}

/* Each thread waits for the one before it: a chain, which counters alone order. */
static void chain(void *arg, int t, int nt) {
  Shared *s = arg;
  Barrier *all = s->pool->barrier;
  for (int round = 1; round <= ROUNDS; round++) {
    if (t > 0) counter_wait(&s->done[t - 1], all, round);
    if (t == 0 && round > 1) counter_wait(&s->done[nt - 1], all, round - 1);
    s->count[0]++;
    counter_signal(&s->done[t], all, round);
  }
}

/* The first thread alone is there until it has been idle so often, and then has nothing to do for a
 * while. */
typedef struct Idle {
  Pool *pool;
  _Atomic int calls;
} Idle;

enum { IDLE = 5 };

static bool idle(const void *arg) {
  Idle *s = (Idle *)(uintptr_t)arg;
  return atomic_fetch_add(&s->calls, 1) + 1 < IDLE;
}

static void idles(void *arg, int t, int nt) {
  Idle *s = arg;
  const double from = clock_now();
  while (t > 0 && atomic_load(&s->calls) < IDLE && clock_now() - from < 60) sched_yield();
  if (t > 0) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  if (t > 0)
    barrier_wait(s->pool->barrier, t);
  else
    barrier_wait_idle(s->pool->barrier, t, idle, s);
}

static void *on_lines(size_t bytes) {
  void *p = aligned_alloc(POOL_LINE, (bytes + POOL_LINE - 1) / POOL_LINE * POOL_LINE);
  assert_non_null(p);
  memset(p, 0, bytes);
  return p;
}

static Pool *start(int threads, bool pin) {
  Err e = {0};
  Pool *pool = on_lines(pool_bytes(threads));
  assert_true(pool_start(pool, threads, pin, &e));
  return pool;
}

static void end(Pool *pool) {
  pool_stop(pool, true);
  pool_stop(pool, true); /* does nothing */
  free(pool);
}

static void run(int threads, int rounds) {
  Pool *pool = start(threads, false);
  Shared s = {.pool = pool, .rounds = rounds, .done = on_lines(MOST * sizeof *s.done)};
  int nt = pool_size(pool);
  assert_in_range(nt, 1, threads);
  for (int jobs = 0; jobs < 3; jobs++) pool_run(pool, barriers, &s);
  assert_int_equal(s.wrong, 0);
  assert_int_equal(s.runs, 3 * nt);
  memset(s.count, 0, sizeof s.count);
  if (threads < 64) pool_run(pool, chain, &s);
  assert_int_equal(s.count[0], threads < 64 ? nt * ROUNDS : 0);
  end(pool);
  free(s.done);
}

static int cores(void) { return cpus_at_once() < 32 ? cpus_at_once() : 32; }
static void one(void **state) { run(1, ROUNDS); }
static void as_many_as_cores(void **state) { run(cores(), 20000); }
static void more_than_cores(void **state) { run(cores() + 3, ROUNDS); }

/* Where threads spin, and where they sleep at once. */
static void does_more_while_it_waits(void **state) {
  for (int threads = 1; threads <= cores() + 3; threads++) {
    Pool *pool = start(threads, false);
    Idle s = {.pool = pool};
    pool_run(pool, idles, &s);
    assert_int_equal(s.calls, pool_size(pool) > 1 ? IDLE : 0);
    end(pool);
  }
}

/* One node, two levels, three levels, and sizes that divide unevenly. */
static void meet_in_a_tree(void **state) {
  static const int threads[] = {16, 17, 23, 64, 65, 129};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) run(threads[i], 20);
}

/* Every thread arrives at a leaf, nodes have FAN children or a few less, and there is one root. */
static void builds_a_tree(void **state) {
  for (int n = 1; n <= 1024; n++) {
    uint64_t bytes = barrier_bytes(n);
    Barrier *b = on_lines(bytes + sizeof(BarrierNode));
    BarrierNode *end = (BarrierNode *)(void *)((char *)b + bytes);
    end->n = -1;
    barrier_init(b, n, 0);
    assert_int_equal(end->n, -1);
    int arrivals = 0, roots = 0;
    for (BarrierNode *x = b->node; x < end; x++) {
      bool leaf = x - b->node < b->leaves;
      assert_in_range(x->n, 1, 16);
      if (leaf) arrivals += x->n;
      roots += !x->up;
      int children = 0;
      for (BarrierNode *y = b->node; y < x; y++) children += y->up == x;
      assert_true(leaf || children == x->n);
    }
    assert_int_equal(arrivals, n);
    assert_int_equal(roots, 1);
    assert_true(n > 16 || b->leaves == 1);
    free(b);
  }
}

/* ---- fewer threads than there are ---- */

/* Any number of them, in any order; who sleeps is there again, also for the end. */
static void run_by_some(void **state) {
  static const int sizes[] = {1, 7, 3, 20, 19, 2, 1, 20, 1, 6};
  Pool *pool = start(20, false);
  assert_int_equal(pool_size(pool), 20);
  for (int round = 0; round < 20; round++) {
    Shared s = {.pool = pool, .rounds = 3};
    int n = sizes[(size_t)round % (sizeof sizes / sizeof *sizes)];
    pool_use(pool, n);
    assert_int_equal(pool_size(pool), n);
    pool_run(pool, barriers, &s);
    assert_int_equal(s.wrong, 0);
    assert_int_equal(s.runs, n);
    for (int t = 0; t < MOST; t++) assert_int_equal(s.count[t], t < n ? 3 : 0);
  }
  end(pool);
}

static Use used;
static Use used_so_far(void) { return used; }

/* Runs of 10 ms on one thread, where another program has one of 8 CPUs: those that all 8 threads
   ran. */
static int runs_of_all(Adapt *a, int *n, int runs, bool busy) {
  enum { CPUS = 8 };
  int all = 0;
  for (int i = 0; i < runs; i++) {
    bool shared = busy && *n == CPUS;
    double took = 0.01 / *n * (shared ? 2 : 1);
    used.wall += took, used.cpu += 0.01, used.preempted += shared;
    all += *n == CPUS;
    *n = adapt_run(a, "entry", took, *n, CPUS);
    assert_in_range(*n, 1, CPUS);
  }
  return all;
}

static void gives_way(void **state) {
  Adapt a = {.look = used_so_far};
  int n = 8;
  assert_int_equal(runs_of_all(&a, &n, 1000, false), 1000);
  assert_in_range(runs_of_all(&a, &n, 5000, true), 0, 500);
  assert_int_equal(n, 7);
  assert_in_range(runs_of_all(&a, &n, 10000, false), 5000, 10000);
  assert_int_equal(n, 8);
}

/* ---- claims ---- */

enum { STEPS = 50 };
typedef struct Claiming {
  Pool *pool;
  int step; /* of the calls below */
  _Atomic int runs[STEPS][MOST * CLAIM_PARTS], all[STEPS], wrong;
} Claiming;
typedef struct ClaimedStep {
  Claiming *of;
  int t, nt, step;
} ClaimedStep;

/* The last thread is held up in its first part until the others have done all other parts. */
static void claimed(const void *arg, int part, int parts) {
  const ClaimedStep *s = arg;
  Claiming *c = s->of;
  if (parts != s->nt * CLAIM_PARTS || part < 0 || part >= parts) atomic_store(&c->wrong, 1);
  const bool held = s->t == s->nt - 1 && part / CLAIM_PARTS == s->t;
  for (int i = 0; held && i < 20000 && atomic_load(&c->all[s->step]) < parts - 1; i++) usleep(100);
  if (held && atomic_load(&c->all[s->step]) < parts - 1) atomic_store(&c->wrong, 1);
  atomic_fetch_add(&c->runs[s->step][part], 1);
  atomic_fetch_add(&c->all[s->step], 1);
}

static void claims_job(void *arg, int t, int nt) {
  Claiming *c = arg;
  Claimant all = {c->pool->claims, t, nt, 0};
  for (int step = 0; step < c->step; step++) {
    const ClaimedStep s = {c, t, nt, step};
    claim_step(&all, claimed, &s);
    barrier_wait(c->pool->barrier, t);
  }
}

/* Every part is done once, by others where its thread is held up; jobs of odd and even numbers of
   steps, on all threads and on fewer. */
static void claims_parts(void **state) {
  static const int steps[] = {1, 2, 3, STEPS, 1};
  Pool *pool = start(5, false);
  for (int job = 0; job < 10; job++) {
    static Claiming c;
    const int n = job % 2 ? 5 : 3;
    memset(&c, 0, sizeof c);
    c.pool = pool, c.step = steps[job / 2];
    pool_use(pool, n);
    claims_clear(pool->claims, n);
    pool_run(pool, claims_job, &c);
    assert_int_equal(c.wrong, 0);
    for (int step = 0; step < c.step; step++)
      for (int part = 0; part < n * CLAIM_PARTS; part++) assert_int_equal(c.runs[step][part], 1);
  }
  end(pool);
}

/* ---- pinning ---- */

typedef struct Places {
  cpu_set_t of[MOST];
} Places;

static void place(void *arg, int t, int nt) {
  Places *p = arg;
  assert_int_equal(sched_getaffinity(0, sizeof p->of[t], &p->of[t]), 0);
}

/* Workers have a CPU each, all others than the first one's as far as they reach; the caller keeps
   its mask, and without `pin` everyone does. */
static void pins_workers(void **state) {
  cpu_set_t mine;
  assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
  int threads = cores(), taken = 0;
  CpuList l;
  assert_true(cpus_list(&l));
  for (int pin = 0; pin < 2; pin++) {
    static Places p;
    Pool *pool = start(threads, pin);
    pool_run(pool, place, &p);
    for (int t = 0; t < threads; t++) {
      if (!pin || t == 0) assert_true(CPU_EQUAL(&p.of[t], &mine));
      if (!pin || t == 0) continue;
      assert_int_equal(CPU_COUNT(&p.of[t]), 1);
      assert_true(CPU_ISSET(l.cpu[t], &p.of[t]) && CPU_ISSET(l.cpu[t], &mine));
      taken++;
    }
    end(pool);
  }
  assert_int_equal(taken, threads - 1);
  cpus_free(&l);
}

/* All threads on one CPU, pinned or not, go on. */
static void shares_one_cpu(void **state) {
  cpu_set_t before, one;
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) first++;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  for (int pin = 0; pin < 2; pin++) {
    Pool *pool = start(4, pin);
    Shared s = {.pool = pool, .rounds = 50};
    pool_run(pool, barriers, &s);
    assert_int_equal(s.wrong, 0);
    end(pool);
  }
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

/* Workers have the float mode of kernels, and signals stay with the caller's threads. */
static void look(void *arg, int t, int nt) {
  _Atomic int *bad = arg;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  volatile float tiny = 0x1p-126f, half = 0.5f, product = tiny * half;
  if (t > 0 && (!sigismember(&blocked, SIGINT) || product != 0)) atomic_store(bad, 1);
}

static void workers_are_prepared(void **state) {
  _Atomic int bad = 0;
  Pool *pool = start(3, false);
  pool_run(pool, look, &bad);
  end(pool);
  assert_int_equal(bad, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one),
                                     cmocka_unit_test(as_many_as_cores),
                                     cmocka_unit_test(more_than_cores),
                                     cmocka_unit_test(does_more_while_it_waits),
                                     cmocka_unit_test(meet_in_a_tree),
                                     cmocka_unit_test(builds_a_tree),
                                     cmocka_unit_test(run_by_some),
                                     cmocka_unit_test(gives_way),
                                     cmocka_unit_test(claims_parts),
                                     cmocka_unit_test(pins_workers),
                                     cmocka_unit_test(shares_one_cpu),
                                     cmocka_unit_test(workers_are_prepared)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
