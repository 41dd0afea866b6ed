/* A pool of pthreads, and a barrier that spins, then sleeps on a futex. Contract: see pool.h. Where
   threads outnumber the cores they sleep at once; a spin would keep those from their work that are
   waited for. The workers of a library sleep between calls, so that the host's threads run. */
#include "runtime/exec/pool.h"
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void pause_cpu(void) {
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("isb" ::: "memory");
#endif
}

/* ---- barrier and counters ---- */

void barrier_init(Barrier *b, int n, int spins) {
  b->n = n;
  b->spins = spins;
}

static void wake(Barrier *b, _Atomic int *word) {
  if (atomic_load(&b->sleepers))
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void barrier_wait(Barrier *b) {
  if (b->n == 1) return;
  int g = atomic_load_explicit(&b->generation, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&b->arrived, 1, memory_order_acq_rel) == b->n - 1) {
    atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
    /* An exchange, since qemu's translation of aarch64 lets the load in wake pass a store. */
    atomic_exchange(&b->generation, (int)((unsigned)g + 1));
    wake(b, &b->generation);
    return;
  }
  for (int i = 0; i < b->spins; i++) {
    if (atomic_load_explicit(&b->generation, memory_order_acquire) != g) return;
    pause_cpu();
  }
  atomic_fetch_add(&b->sleepers, 1);
  while (atomic_load(&b->generation) == g)
    syscall(SYS_futex, &b->generation, FUTEX_WAIT_PRIVATE, g, NULL, NULL, 0);
  atomic_fetch_sub(&b->sleepers, 1);
}

void counter_signal(Counter *c, Barrier *all, int at) {
  atomic_exchange(&c->at, at); /* in one order with the count of sleepers, as above */
  wake(all, &c->at);
}

void counter_wait(Counter *c, Barrier *all, int at) {
  for (int i = 0; i <= all->spins; i++) {
    if (atomic_load_explicit(&c->at, memory_order_acquire) >= at) return;
    pause_cpu();
  }
  atomic_fetch_add(&all->sleepers, 1);
  for (int now; (now = atomic_load(&c->at)) < at;)
    syscall(SYS_futex, &c->at, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
  atomic_fetch_sub(&all->sleepers, 1);
}

/* ---- workers ---- */

struct Worker {
  Pool *pool;
  int t;
  pthread_t thread;
};

static void *worker_main(void *arg) {
  const Worker *w = arg;
  Pool *p = w->pool;
  pthread_mutex_lock(&p->start);
  int nt = p->barrier.n;
  pthread_mutex_unlock(&p->start);
  float_mode_set();
  for (;;) {
    barrier_wait(&p->barrier);
    if (!p->job) return NULL;
    p->job(p->arg, w->t, nt);
    barrier_wait(&p->barrier);
  }
}

uint64_t pool_bytes(void) { return sizeof(Pool) + POOL_LINE; }

bool pool_start(Pool *p, int threads, Err *e) {
  enum { SPINS = 2000 };
  *p = (Pool){.workers = calloc((size_t)threads, sizeof *p->workers)};
  if (!p->workers) return err_set(e, EXIT_ENV, "no memory for the threads");
  pthread_mutex_init(&p->start, NULL);
  pthread_mutex_lock(&p->start);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int n = 1; /* so far, with the caller's */
  for (; n < threads; n++) {
    Worker *w = &p->workers[n - 1];
    *w = (Worker){.pool = p, .t = n};
    if (pthread_create(&w->thread, NULL, worker_main, w) != 0) break;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  /* who is waited for may need this very core */
  barrier_init(&p->barrier, n, n <= cpus_at_once() ? SPINS : 0);
  pthread_mutex_unlock(&p->start);
  return true;
}

int pool_size(const Pool *p) { return p->barrier.n ? p->barrier.n : 1; }

void pool_run(Pool *p, PoolJob *job, void *arg) {
  p->job = job;
  p->arg = arg;
  barrier_wait(&p->barrier);
  job(arg, 0, p->barrier.n);
  barrier_wait(&p->barrier);
}

void pool_stop(Pool *p, bool ours) {
  if (!p || !p->workers) return;
  if (ours) {
    p->job = NULL;
    barrier_wait(&p->barrier);
    for (int i = 0; i < p->barrier.n - 1; i++) pthread_join(p->workers[i].thread, NULL);
    pthread_mutex_destroy(&p->start);
  }
  free(p->workers);
  p->workers = NULL;
}
