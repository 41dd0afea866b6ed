/* How long kernels stand still for collectives: events with times in front of a wait and behind it.
   Contract: marks are in the stream of kernels; a step within a loop waits in its first iteration
   alone. Marks take time themselves, as nodes of a graph do: a run is timed for EVERY runs, and
   more often while there are few. */
#include "runtime/cuda/cuda.h"
#include <stdlib.h>

enum { EVERY = 16, EVENT_TIMED = 0, RECORD_NODE = 1 /* CU_EVENT_RECORD_EXTERNAL */ };

/* In one stream a collective is waited for as long as it takes. */
static bool has_wait(const GcEntry *e, int step) {
  const bool alone = e->streams <= 1;
  bool any = false;
  if (step == e->nsteps) {
    for (int i = 0; i < e->nsteps && !alone; i++) any |= e->steps[i].collective != NULL;
    return any;
  }
  const GcStep *s = &e->steps[step];
  if (alone || s->collective || s->stream) return alone && s->collective;
  for (int k = 0; k < s->nafter; k++) any |= e->steps[s->after[k]].collective != NULL;
  return any;
}

bool waits_make(Cuda *c, CudaExec *x) {
  const GcEntry *e = x->base.entry;
  bool any = false, ok = true;
  for (int i = 0; i <= e->nsteps; i++) any |= has_wait(e, i);
  for (int q = 0; any && q < BLOCKS; q++) {
    x->waits[q] = calloc((size_t)e->nsteps + 1, sizeof *x->waits[q]);
    if (!x->waits[q]) return err_set(c->err, EXIT_ENV, "no memory for the events of collectives");
    for (int i = 0; ok && i <= e->nsteps; i++)
      if (has_wait(e, i))
        ok = CUDA_CALL(c, EventCreate, &x->waits[q][i].from, EVENT_TIMED) &&
             CUDA_CALL(c, EventCreate, &x->waits[q][i].to, EVENT_TIMED);
  }
  return ok;
}

double waits_weight(CudaExec *x) {
  const uint64_t n = x->runs++;
  if (!x->waits[0] || (n % EVERY && n & (n - 1))) return 0;
  const uint64_t since = n + 1 - x->timed;
  x->timed = n + 1;
  return (double)since;
}

void waits_begin(CudaExec *x, int q) {
  for (int i = 0; x->waits[q] && i <= x->base.entry->nsteps; i++) x->waits[q][i].timed = false;
}

CudaWait *waits_of(const CudaExec *x, int q, int step) {
  CudaWait *w = x->waits[q] ? &x->waits[q][step] : NULL;
  return w && w->to && !w->timed ? w : NULL;
}

bool waits_mark(Cuda *c, CudaWait *w, bool over) {
  if (!w) return true;
  w->timed = over;
  return CUDA_CALL(c, EventRecordWithFlags, over ? w->to : w->from, c->compute,
                   c->capturing ? RECORD_NODE : 0);
}

bool waits_read(Cuda *c, const CudaExec *x, int q) {
  double seconds = 0;
  for (int i = 0; c->weight[q] > 0 && i <= x->base.entry->nsteps; i++) {
    const CudaWait *w = &x->waits[q][i];
    float ms = 0;
    if (w->timed && !CUDA_CALL(c, EventElapsedTime, &ms, w->from, w->to)) return false;
    seconds += 1e-3 * (double)ms;
  }
  c->base.waited += c->weight[q] * seconds;
  return true;
}
