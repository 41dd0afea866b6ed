/* Where weights of files, or of the program itself, lie. A page gets memory of the node whose
   processor writes to it first, and one thread reads files. So each thread first touches the part
   of each weight that it will read: products number the panels of their weight in the order in
   which they lie, and cut that number among the threads as this does (gcrt.h). Contract: values
   stay as they are. */
#include "runtime/exec/memory.h"
#include "runtime/exec/session.h"
#include <unistd.h>

typedef struct TouchJob {
  const Session *s;
  unsigned kinds;
  bool tables; /* those of which data choose rows, too */
  uint64_t page;
} TouchJob;

/* The pages that begin in a thread's part, so that no two threads write to one. */
static void touch_part(uint8_t *at, uint64_t bytes, const TouchJob *j, uint64_t t, uint64_t nt) {
  uint64_t skipped = align_up((uintptr_t)at, j->page) - (uintptr_t)at;
  if (skipped >= bytes) return;
  uint64_t pages = (bytes - skipped + j->page - 1) / j->page;
  for (uint64_t i = pages * t / nt; i < pages * (t + 1) / nt; i++) {
    volatile uint8_t *first = at + skipped + i * j->page;
    *first = *first;
  }
}

static void touch(void *arg, int t, int nt) {
  const TouchJob *j = arg;
  const GcProgram *p = j->s->program;
  for (int i = 0; i < p->nglobals; i++) {
    const GcGlobal *g = &p->globals[i];
    if (j->kinds >> g->kind & 1 && !g->transient && (j->tables || !g->by_rows))
      touch_part(session_at(j->s, &g->t), g->t.bytes, j, (uint64_t)t, (uint64_t)nt);
  }
}

void session_touch(const Session *s, unsigned kinds, bool tables) {
  if (!s->plan.ops->on_host || pool_size(s->pool) == 1) return;
  TouchJob j = {.s = s, .kinds = kinds, .tables = tables, .page = (uint64_t)sysconf(_SC_PAGESIZE)};
  pool_run(s->pool, touch, &j);
}
