/* The clock, and how a thread rounds. */
#include "runtime/base/rt.h"
#include <time.h>

double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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
