/* The spans of an entry's last runs, recorded by whichever device runs it. Contract: buffers are
   part of the one allocation; old runs are overwritten. */
#ifndef GCRT_TRACE_H
#define GCRT_TRACE_H
#include "runtime/exec/memory.h"

typedef struct Span { /* seconds; from 0: the step did not run here */
  double from, to;
} Span;
typedef struct TraceRow TraceRow; /* of one thread */
typedef struct Trace {
  const GcEntry *entry;
  int nrows;
  double start;
  TraceRow *rows;
} Trace;
uint64_t trace_bytes(const GcEntry *e, int rows);
Trace *trace_make(Memory *m, const GcEntry *e, int rows, Err *err);
void trace_begin(Trace *t, int row); /* of a run */
void trace_step(Trace *t, int row, int step, double from, double to);
/* The runs that are kept, of those that a row has begun: [first, end). */
void trace_runs(const Trace *t, int row, uint64_t *first, uint64_t *end);
const Span *trace_span(const Trace *t, int row, uint64_t run, int step);
#endif
