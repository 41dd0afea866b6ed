/* Records when each thread was in each kernel, for the last runs of an entry. Contract: see
   trace.h; a row is written by one thread alone. */
#include "runtime/exec/trace.h"

enum { RUNS = 32 }; /* runs that are kept */

struct TraceRow { /* runs counts those begun */
  uint64_t runs;
  Span *spans; /* [RUNS][nsteps] */
  char apart[128 - 16];
};

uint64_t trace_bytes(const GcEntry *e, int rows) {
  return sizeof(Trace) + 256 +
         (uint64_t)rows * (sizeof(TraceRow) + 256 + RUNS * (uint64_t)e->nsteps * sizeof(Span));
}

Trace *trace_make(Memory *m, const GcEntry *e, int rows, Err *err) {
  Trace *t = memory_take(m, sizeof *t);
  if (!memory_sound(m, err)) return NULL;
  *t = (Trace){.entry = e, .nrows = rows, .start = clock_now()};
  t->rows = memory_take(m, (uint64_t)rows * sizeof *t->rows);
  for (int i = 0; i < rows && !m->overdrawn; i++)
    t->rows[i].spans = memory_take(m, RUNS * (uint64_t)e->nsteps * sizeof(Span));
  return memory_sound(m, err) ? t : NULL;
}

static Span *span(const Trace *t, int row, uint64_t run, int step) {
  return t->rows[row].spans + run % RUNS * (uint64_t)t->entry->nsteps + step;
}

void trace_begin(Trace *t, int row) {
  uint64_t run = t->rows[row].runs++;
  for (int i = 0; i < t->entry->nsteps; i++) *span(t, row, run, i) = (Span){0, 0};
}

/* A step of a loop is one span: from its first iteration on, as long as all of them took. */
void trace_step(Trace *t, int row, int step, double from, double to) {
  Span *s = span(t, row, t->rows[row].runs - 1, step);
  if (s->from == 0) *s = (Span){from, from};
  s->to += to - from;
}

void trace_runs(const Trace *t, int row, uint64_t *first, uint64_t *end) {
  *end = t->rows[row].runs;
  *first = *end > RUNS ? *end - RUNS : 0;
}

const Span *trace_span(const Trace *t, int row, uint64_t run, int step) {
  return span(t, row, run, step);
}
