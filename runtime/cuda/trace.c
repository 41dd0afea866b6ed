/* --profile on the device: an event in front of each launch and one behind the last, from which the
   times of the launches are read. Contract: of one step, launched kernel by kernel. */
#include "runtime/cuda/cuda.h"
#include <stdlib.h>

static bool count_launch(void *arg, int step, int loop, const int64_t *at) {
  (void)loop, (void)at;
  *(int *)arg += step >= 0;
  return true;
}

bool trace_make_events(Cuda *c, CudaExec *x) {
  int n = 0;
  (void)cuda_walk(x, 0, x->base.entry->nsteps, NULL, count_launch, &n);
  c->trace_events = calloc((size_t)n + 1, sizeof *c->trace_events);
  if (!c->trace_events) return err_set(c->err, EXIT_ENV, "no memory for the profile");
  for (int i = 0; i <= n; i++)
    if (!CUDA_CALL(c, EventCreate, &c->trace_events[i], 0)) return false;
  return true;
}

typedef struct TraceWalk {
  Session *s;
  const GcEntry *entry;
  int event;
  double from;
} TraceWalk;

static bool read_trace_event(void *arg, int step, int loop, const int64_t *at) {
  TraceWalk *m = arg;
  Cuda *c = cuda_of(m->s);
  float ms = 0;
  (void)at;
  if (loop >= 0) return true;
  const bool waits = m->entry->steps[step].collective != NULL; /* the one stream for it */
  if (!CUDA_CALL(c, EventElapsedTime, &ms, c->trace_events[m->event],
                 c->trace_events[m->event + 1]))
    return false;
  trace_step(m->s->trace, 0, step, m->from, m->from + 1e-3 * (double)ms);
  m->from += 1e-3 * (double)ms;
  c->base.waited += waits ? 1e-3 * (double)ms : 0;
  m->event++;
  return true;
}

void trace_read(Session *s, CudaExec *x, int q, double begin) {
  TraceWalk m = {s, x->base.entry, 0, begin};
  trace_begin(s->trace, 0);
  (void)cuda_walk(x, 0, x->base.entry->nsteps, cuda_extents(cuda_of(s), q), read_trace_event, &m);
}
