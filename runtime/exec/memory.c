/* The one allocation: globals, inputs, arena, hypers, and the tables of the runtime itself.
   Contract: sizes follow from the compiled program and the number of threads alone, so that `info`
   can print them; each region begins at a multiple of 4096 and has slack, since vectors may read
   past a row. */
#include "runtime/exec/run.h"
#include <string.h>
#include <sys/mman.h>

enum { SLACK = 4096, PAGE = 4096 };

static bool region(uint64_t bytes, uint64_t *out) {
  uint64_t n;
  if (!checked_add(bytes, SLACK + PAGE - 1, &n)) return false;
  *out = n & ~(uint64_t)(PAGE - 1);
  return true;
}

/* Threads share neither a cache line nor a pair of lines that is fetched together. */
static uint64_t work_step(const GcProgram *p) { return align_up(p->work_bytes, 128); }

char *memory_work(const Memory *m, const GcProgram *p, int thread) {
  return (char *)m->work + (uint64_t)thread * work_step(p);
}

bool memory_sum(const GcProgram *p, uint64_t arena, uint64_t inputs, uint64_t tables, int threads,
                Sizes *s, Err *e) {
  *s = (Sizes){0};
  uint64_t work;
  bool ok = checked_mul(work_step(p), (uint64_t)threads, &work) && region(work, &s->work) &&
            region(p->globals_bytes, &s->globals) && region(inputs, &s->inputs) &&
            region(arena, &s->arena) && region(4 * (uint64_t)p->nhypers, &s->hypers) &&
            region(tables, &s->tables);
  s->total = s->globals;
  ok = ok && checked_add(s->total, s->inputs, &s->total) &&
       checked_add(s->total, s->arena, &s->total) && checked_add(s->total, s->hypers, &s->total) &&
       checked_add(s->total, s->work, &s->total) && checked_add(s->total, s->tables, &s->total);
  return ok ? true : err_set(e, EXIT_ENV, "the program needs more memory than any machine has");
}

bool memory_sizes(const GcProgram *p, const GcEntry *entry, int threads, bool profile, Sizes *s,
                  Err *e) {
  const GcEntry *init = p->init;
  bool here = !p->cuda; /* steps run in the host's memory */
  uint64_t arena = max_u64(entry ? entry->arena_bytes : 0, init ? init->arena_bytes : 0);
  uint64_t inputs = max_u64(entry ? entry->inputs_bytes : 0, init ? init->inputs_bytes : 0);
  uint64_t tables = STAGE_BYTES + pool_bytes() + PAGE;
  if (entry) tables += 8 * (uint64_t)entry->noutputs + 128 + infer_bytes(entry);
  if (entry && here) tables += exec_table_bytes(entry, threads);
  if (init && here) tables += exec_table_bytes(init, threads);
  if (entry && profile) tables += profile_bytes(entry, threads);
  return memory_sum(p, here ? arena : 0, here ? inputs : 0, tables, here ? threads : 0, s, e);
}

bool memory_map(Memory *m, const Sizes *s, Err *e) {
  *m = (Memory){.sizes = *s};
  void *p = pages_map(s->total, "the program", "compile it with a smaller batch", e);
  if (!p) return false;
  madvise(p, s->total, MADV_HUGEPAGE); /* advice: any answer will do */
  uint8_t *at = m->base = p;
  m->region[GC_GLOBALS] = at, at += s->globals;
  m->region[GC_ARENA] = at, at += s->arena;
  m->region[GC_INPUTS] = at, at += s->inputs;
  m->region[GC_HYPERS] = at, at += s->hypers;
  m->work = at, at += s->work;
  m->tables = at;
  m->end = at + s->tables;
  return true;
}

bool memory_make(Memory *m, const GcProgram *p, const GcEntry *entry, int threads, bool profile,
                 Err *e) {
  Sizes s;
  *m = (Memory){0};
  return memory_sizes(p, entry, threads, profile, &s, e) && memory_map(m, &s, e);
}

void *memory_take(Memory *m, uint64_t bytes) {
  uint64_t at = (uint64_t)(uintptr_t)m->tables;
  uint8_t *p = m->tables + (align_up(at, 128) - at);
  if (p > m->end || bytes > (uint64_t)(m->end - p)) m->overdrawn = true;
  if (m->overdrawn) return NULL;
  m->tables = p + bytes;
  return p;
}

bool memory_sound(const Memory *m, Err *e) {
  if (!m->overdrawn) return true;
  return err_set(e, EXIT_BUG, "internal error: the runtime's tables are larger than planned");
}
