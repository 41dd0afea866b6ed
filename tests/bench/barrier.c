/* Measures what a barrier of the program's threads costs where all arrive at about the same time.
     bench_barrier THREADS   prints nanoseconds, the least of ten jobs */
#include "runtime/base/machine.h"
#include "runtime/exec/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const GcProgram gc_program = {.abi = GCRT_ABI, .target = "cpu"};

enum { BARRIERS = 20000, JOBS = 10 };

static void meet(void *arg, int t, int nt) {
  const Pool *p = arg;
  for (int i = 0; i < BARRIERS && nt; i++) barrier_wait(p->barrier, t);
}

int main(int argc, char **argv) {
  const int threads = argc == 2 ? atoi(argv[1]) : 0;
  Err e = {0};
  if (threads < 1) {
    fprintf(stderr, "usage: bench_barrier THREADS\n");
    return 2;
  }
  const size_t bytes = (pool_bytes(threads) + POOL_LINE - 1) / POOL_LINE * POOL_LINE;
  Pool *p = aligned_alloc(POOL_LINE, bytes);
  if (!p || !pool_start(memset(p, 0, bytes), threads, true, &e)) return 1;
  double least = 0;
  for (int i = 0; i < JOBS; i++) {
    const double begin = clock_now();
    pool_run(p, meet, p);
    const double took = clock_now() - begin;
    if (i == 0 || took < least) least = took;
  }
  printf("%.1f\n", 1e9 * least / BARRIERS);
  pool_stop(p, true);
  free(p);
  return 0;
}
