/* The tables of the host's processor: what of an entry is known before it runs. */
#ifndef GCRT_CPU_H
#define GCRT_CPU_H
#include "runtime/exec/session.h"
#include "runtime/exec/streams.h"

/* Of an entry with a preparation a batch and what is prepared of it are in one of two turns. */
enum { CPU_TURNS = 2 };

typedef struct ExecStep {
  GcKernel *kernel;
  void **args;
  bool wait;  /* for all threads, before it runs */
  bool moves; /* with the iterations of the loops around it */
  bool parts; /* all wait before and behind it, so that who does what of it is all one */
} ExecStep;

typedef struct CpuExec {
  Exec base;
  ExecStep *steps[CPU_TURNS]; /* the second: NULL of an entry without a preparation */
  uint8_t *contexts;          /* of an entry with loops or streams: context_bytes for each thread */
  uint64_t context_bytes;
  Streams *streams; /* NULL: there is one */
} CpuExec;

static inline CpuExec *cpu_exec(Exec *x) { return (CpuExec *)(void *)x; }
static inline bool cpu_has_contexts(const GcEntry *e) { return e->nloops || e->streams > 1; }
/* Where a region of the entry begins. */
uint8_t *cpu_region(const Memory *m, const GcEntry *e, GcRegion region, int turn);

/* DeviceOps of the host. */
uint64_t cpu_table_bytes(const GcEntry *e, int threads);
bool cpu_prepare(Session *s, Err *e);
bool cpu_lend(Session *s, Exec *x, const GcTensor *input, const void *from);
/* Who runs what, and which barriers are needed, once the number of threads is known. */
void cpu_settle(Session *s);
#endif
