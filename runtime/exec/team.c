/* The team of threads, whoever makes them (region.c, crew.c): jobs, and a barrier that spins, then
   sleeps. Contract: thread 0 hands jobs to all; with one thread nothing is ever waited for.
   Denormals are zero in every thread. Where threads outnumber the cores they sleep at once; a spin
   would keep those from their work that are waited for. */
#include "runtime/exec/team.h"
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

uint64_t team_bytes(void) { return sizeof(Team) + TEAM_LINE; }
void team_settle(Team *s, int nt) {
  enum { SPINS = 2000 };
  s->nt = nt;
  s->spins = nt <= team_available() ? SPINS : 0; /* who is waited for may need this very core */
}

void team_part(Team *part, const Team *whole, int n) {
  part->nt = n;
  part->spins = whole->spins;
}

int team_size(const Team *team) { return team->nt; }

int team_available(void) {
  int n = 0;
  for (int cpus = 1024; cpus <= 1 << 20 && n == 0;
       cpus *= 4) { /* a kernel may know more than cpu_set_t */
    cpu_set_t *set = CPU_ALLOC((size_t)cpus);
    if (set && sched_getaffinity(0, CPU_ALLOC_SIZE((size_t)cpus), set) == 0)
      n = CPU_COUNT_S(CPU_ALLOC_SIZE((size_t)cpus), set);
    CPU_FREE(set);
  }
  return n > 0 ? n : 1;
}

static inline void pause_cpu(void) {
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("isb" ::: "memory");
#endif
}

/* Rounds to nearest, traps nothing, and takes denormals for zero, whatever the thread did before.
 */
uint64_t float_mode_set(void) {
#if defined __x86_64__ || (defined __i386__ && defined __SSE__)
  uint32_t old = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(0x1F80 | 0x8040); /* all masked; FTZ, DAZ */
  return old;
#elif defined __aarch64__
  uint64_t old;
  __asm__ volatile("mrs %0, fpcr" : "=r"(old));
  __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(1) << 24));
  return old;
#else
  return 0;
#endif
}

void float_mode_restore(uint64_t old) {
#if defined __x86_64__ || (defined __i386__ && defined __SSE__)
  __builtin_ia32_ldmxcsr((uint32_t)old);
#elif defined __aarch64__
  __asm__ volatile("msr fpcr, %0" : : "r"(old));
#endif
}

void team_barrier(Team *s, int nt) {
  if (nt == 1) return;
  int g = atomic_load_explicit(&s->generation, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&s->arrived, 1, memory_order_acq_rel) == nt - 1) {
    atomic_store_explicit(&s->arrived, 0, memory_order_relaxed);
    /* An exchange, since qemu's translation of aarch64 lets the load below pass a store. */
    atomic_exchange(&s->generation, (int)((unsigned)g + 1));
    if (atomic_load(&s->sleepers))
      syscall(SYS_futex, &s->generation, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    return;
  }
  for (int i = 0; i < s->spins; i++) {
    if (atomic_load_explicit(&s->generation, memory_order_acquire) != g) return;
    pause_cpu();
  }
  atomic_fetch_add(&s->sleepers, 1);
  while (atomic_load(&s->generation) == g)
    syscall(SYS_futex, &s->generation, FUTEX_WAIT_PRIVATE, g, NULL, NULL, 0);
  atomic_fetch_sub(&s->sleepers, 1);
}

void mark_post(Team *s, Mark *m, int at) {
  atomic_exchange(&m->at, at); /* in one order with the count of sleepers, as above */
  if (atomic_load(&s->sleepers))
    syscall(SYS_futex, &m->at, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void mark_await(Team *s, Mark *m, int at) {
  for (int i = 0; i <= s->spins; i++) {
    if (atomic_load_explicit(&m->at, memory_order_acquire) >= at) return;
    pause_cpu();
  }
  atomic_fetch_add(&s->sleepers, 1);
  for (int now; (now = atomic_load(&m->at)) < at;)
    syscall(SYS_futex, &m->at, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
  atomic_fetch_sub(&s->sleepers, 1);
}

void team_do(Team *s, TeamJob *job, void *arg) {
  s->job = job;
  s->arg = arg;
  team_barrier(s, s->nt);
  job(arg, 0, s->nt);
  team_barrier(s, s->nt);
}

void team_serve(Team *s, int t, int nt) {
  for (;;) {
    team_barrier(s, nt);
    if (!s->job) return;
    s->job(s->arg, t, nt);
    team_barrier(s, nt);
  }
}

void team_end(Team *s) {
  s->job = NULL;
  team_barrier(s, s->nt);
}
