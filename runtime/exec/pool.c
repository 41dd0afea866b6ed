/* A pool of pthreads, and a barrier that spins, then sleeps on a futex. Contract: see pool.h. Where
   threads outnumber the CPUs they sleep at once; a spin would keep those from their work that are
   waited for. The workers of a library sleep between calls, so that the host's threads run.
   The barrier is a combining tree with one flag (Mellor-Crummey and Scott, 1991): threads arrive at
   leaves, the last one of each node at the node above, and the last one of all at the root, who
   changes the generation that all wait for. With few threads the root is the one leaf.
   Memory orders: an arrival is an acquire and a release on its node, so that the last one at a node
   has seen what all below it did, and the root's last one what everyone did. The new generation is
   a release, and who sees it acquires. A node's count is set to 0 before the arrival above, and so
   before anyone leaves. Who falls asleep adds to `sleepers`, then looks once more; who changes the
   word looks at `sleepers` behind that. Both pairs are sequentially consistent: one of the two sees
   the other, and no wake-up is lost. */
#include "runtime/exec/pool.h"
#include "runtime/exec/claim.h"
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  FLAT = 16,     /* threads that meet at one node */
  FAN = 8,       /* of a node, where there are more */
  SPIN = 100000, /* ns, about as long as falling asleep and waking up take on a busy machine */
  MOST_SPINS = 1 << 16
};

static inline void pause_cpu(void) {
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("isb" ::: "memory");
#endif
}

/* A pause takes 10 to 150 cycles from one processor to the next. */
static int spins_here(void) {
  enum { PAUSES = 64, TRIES = 3 };
  double least = 1;
  for (int i = 0; i < TRIES; i++) { /* others may interrupt one */
    double from = clock_now();
    for (int k = 0; k < PAUSES; k++) pause_cpu();
    double took = clock_now() - from;
    if (took < least) least = took;
  }
  double spins = SPIN * 1e-9 * PAUSES / (least > 1e-9 ? least : 1e-9);
  return spins < MOST_SPINS ? (int)spins : MOST_SPINS;
}

/* ---- the barrier ---- */

static int above(int n) { return n <= FLAT ? 1 : (n + FAN - 1) / FAN; }

uint64_t barrier_bytes(int n) {
  uint64_t nodes = 0;
  do nodes += (uint64_t)(n = above(n));
  while (n > 1);
  return sizeof(Barrier) + nodes * sizeof(BarrierNode);
}

/* Of n children of `nodes` nodes, the node of child i. */
static inline int parent(int i, int n, int nodes) {
  return nodes == 1 ? 0 : (int)((int64_t)i * nodes / n);
}

void barrier_init(Barrier *b, int n, int spins) {
  b->n = n;
  b->spins = spins;
  b->leaves = above(n);
  BarrierNode *below = NULL, *level = b->node;
  for (int children = n, nodes;; children = nodes) {
    nodes = above(children);
    for (int k = 0; k < nodes; k++) level[k] = (BarrierNode){0};
    for (int i = 0; i < children; i++) {
      BarrierNode *up = &level[parent(i, children, nodes)];
      up->n++;
      if (below) below[i].up = up;
    }
    if (nodes == 1) return;
    below = level, level += nodes;
  }
}

static void futex(_Atomic int *word, int what, int n) {
  syscall(SYS_futex, word, what, n, NULL, NULL, 0);
}

/* Sleeps while the word is n; nap: no longer. */
static void sleep_at(_Atomic int *word, int n, const struct timespec *nap) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, n, nap, NULL, 0);
}

static void wake(Barrier *b, _Atomic int *word) {
  if (atomic_load(&b->sleepers)) futex(word, FUTEX_WAKE_PRIVATE, INT_MAX);
}

/* True: all others have come before. g: the generation that the others wait behind. */
static inline bool arrives_last(Barrier *b, int t, int *g) {
  *g = atomic_load_explicit(&b->generation, memory_order_relaxed);
  BarrierNode *at = &b->node[parent(t, b->n, b->leaves)];
  while (atomic_fetch_add_explicit(&at->arrived, 1, memory_order_acq_rel) == at->n - 1) {
    atomic_store_explicit(&at->arrived, 0, memory_order_relaxed);
    if ((at = at->up)) continue;
    /* An exchange, since qemu's translation of aarch64 lets the load in wake pass a store. */
    atomic_exchange(&b->generation, (int)((unsigned)*g + 1));
    wake(b, &b->generation);
    return true;
  }
  return false;
}

static inline bool is_over(Barrier *b, int g) {
  return atomic_load_explicit(&b->generation, memory_order_acquire) != g;
}

void barrier_wait(Barrier *b, int t) {
  int g;
  if (b->n == 1 || arrives_last(b, t, &g)) return;
  for (int i = 0; i < b->spins; i++) {
    if (is_over(b, g)) return;
    pause_cpu();
  }
  atomic_fetch_add(&b->sleepers, 1);
  while (atomic_load(&b->generation) == g) sleep_at(&b->generation, g, NULL);
  atomic_fetch_sub(&b->sleepers, 1);
}

void barrier_wait_idle(Barrier *b, int t, BarrierIdle *idle, const void *arg) {
  enum { PAUSES = 256 /* from one call to the next */, NAP = 1000000 /* ns */ };
  static const struct timespec nap = {.tv_nsec = NAP};
  bool more = true;
  int g;
  if (b->n == 1 || arrives_last(b, t, &g)) return;
  for (int i = 0; i < b->spins; i++) {
    if (is_over(b, g)) return;
    if (more && i % PAUSES == PAUSES - 1)
      more = idle(arg);
    else
      pause_cpu();
  }
  atomic_fetch_add(&b->sleepers, 1);
  while (atomic_load(&b->generation) == g) {
    sleep_at(&b->generation, g, more ? &nap : NULL);
    if (more && !is_over(b, g)) more = idle(arg);
  }
  atomic_fetch_sub(&b->sleepers, 1);
}

/* ---- counters ---- */

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
  for (int now; (now = atomic_load(&c->at)) < at;) sleep_at(&c->at, now, NULL);
  atomic_fetch_sub(&all->sleepers, 1);
}

/* ---- workers ---- */

struct Worker {
  Pool *pool;
  int t;
  pthread_t thread;
};

/* Sleeps while others run the jobs. */
static void park(Pool *p, int t) {
  int n = atomic_load(&p->running);
  if (t < n) return;
  atomic_fetch_add(&p->parked, 1);
  futex(&p->parked, FUTEX_WAKE_PRIVATE, INT_MAX);
  for (; t >= n; n = atomic_load(&p->running)) sleep_at(&p->running, n, NULL);
  atomic_fetch_sub(&p->parked, 1);
}

static void *worker_main(void *arg) {
  const Worker *w = arg;
  Pool *p = w->pool;
  pthread_mutex_lock(&p->start);
  pthread_mutex_unlock(&p->start);
  float_mode_set();
  for (;;) {
    park(p, w->t);
    Barrier *b = p->barrier; /* a job may be one that changes it */
    barrier_wait(b, w->t);
    if (!p->job) return NULL;
    p->job(p->arg, w->t, b->n);
    barrier_wait(b, w->t);
  }
}

static uint64_t head_bytes(void) { return (sizeof(Pool) + POOL_LINE - 1) / POOL_LINE * POOL_LINE; }

static uint64_t barrier_room(int threads) {
  return (barrier_bytes(threads) + POOL_LINE - 1) / POOL_LINE * POOL_LINE;
}

uint64_t pool_bytes(int threads) {
  return head_bytes() + 2 * barrier_room(threads) + (uint64_t)threads * sizeof(Claims) + POOL_LINE;
}

/* Where the system allows it; elsewhere threads are only slower. */
static void pin_workers(Pool *p) {
  CpuList cpus;
  if (!cpus_list(&cpus)) return;
  for (int i = 0; i < p->threads - 1; i++) cpus_pin(&cpus, p->workers[i].thread, p->workers[i].t);
  cpus_free(&cpus);
}

bool pool_start(Pool *p, int threads, bool pin, Err *e) {
  *p = (Pool){.workers = calloc((size_t)threads, sizeof *p->workers)};
  if (!p->workers) return err_set(e, EXIT_ENV, "no memory for the threads");
  pthread_mutex_init(&p->start, NULL);
  pthread_mutex_lock(&p->start);
  p->barrier = (Barrier *)(void *)((uint8_t *)p + head_bytes());
  p->other = (Barrier *)(void *)((uint8_t *)p->barrier + barrier_room(threads));
  p->claims = (Claims *)(void *)((uint8_t *)p->other + barrier_room(threads));
  sigset_t all, before;
  sigfillset(&all);
  const int own[] = {SIGBUS, SIGSEGV, SIGILL, SIGFPE}; /* a worker's instructions raise them, and
                                                          blocked they kill without a word */
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&all, own[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int n = 1; /* so far, with the caller's */
  for (; n < threads; n++) {
    Worker *w = &p->workers[n - 1];
    *w = (Worker){.pool = p, .t = n};
    if (pthread_create(&w->thread, NULL, worker_main, w) != 0) break;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  /* who is waited for may need this very core */
  p->threads = n;
  atomic_store(&p->running, n);
  p->spins = n > 1 && n <= cpus_at_once() ? spins_here() : 0;
  barrier_init(p->barrier, n, p->spins);
  if (pin && n > 1) pin_workers(p);
  pthread_mutex_unlock(&p->start);
  return true;
}

int pool_size(const Pool *p) { return p->barrier ? p->barrier->n : 1; }

void pool_run(Pool *p, PoolJob *job, void *arg) {
  Barrier *b = p->barrier;
  p->job = job;
  p->arg = arg;
  barrier_wait(b, 0);
  job(arg, 0, b->n);
  barrier_wait(b, 0);
}

/* Within a job of those that ran, who then meet at its end: that barrier is left by all of them
   before it is needed again. Who sleeps has left the one that is made anew. */
static void change(void *arg, int t, int nt) {
  Pool *p = arg;
  if (t > 0) return;
  int n = p->wanted;
  for (int k; (k = atomic_load(&p->parked)) < p->threads - nt;) sleep_at(&p->parked, k, NULL);
  Barrier *old = p->barrier;
  barrier_init(p->other, n, p->spins);
  p->barrier = p->other, p->other = old;
  atomic_store(&p->running, n);
  if (n > nt) futex(&p->running, FUTEX_WAKE_PRIVATE, INT_MAX);
}

void pool_use(Pool *p, int n) {
  if (n < 1 || n > p->threads || n == p->barrier->n) return;
  p->wanted = n;
  pool_run(p, change, p);
}

void pool_stop(Pool *p, bool ours) {
  if (!p || !p->workers) return;
  if (ours) {
    pool_use(p, p->threads);
    p->job = NULL;
    barrier_wait(p->barrier, 0);
    for (int i = 0; i < p->threads - 1; i++) pthread_join(p->workers[i].thread, NULL);
    pthread_mutex_destroy(&p->start);
  }
  free(p->workers);
  p->workers = NULL;
}
