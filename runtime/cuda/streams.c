/* The streams of an entry as streams of the driver: they leave the one that the step is queued in,
   wait for each other by events, and come back to it; captured, they are the branches of a graph.
   Contract: an event is recorded behind each step that another stream waits for; for one within a
   loop, behind the loop. */
#include "runtime/cuda/cuda.h"
#include "runtime/exec/loops.h"
#include <stdlib.h>

enum { STREAM_OWN = 1, EVENT_UNTIMED = 2 };

static bool make_events(Cuda *c, CudaExec *x) {
  const GcEntry *e = x->base.entry;
  if (e->streams <= 1) return true;
  x->over = calloc((size_t)e->nsteps + 1, sizeof(CuEvent));
  if (!x->over) return err_set(c->err, EXIT_ENV, "no memory for the events of streams");
  for (int i = 0; i < e->nsteps; i++)
    for (int k = 0; k < e->steps[i].nafter; k++) {
      CuEvent *event = &x->over[e->steps[i].after[k]];
      if (!*event && !CUDA_CALL(c, EventCreate, event, EVENT_UNTIMED)) return false;
    }
  return true;
}

bool branches_make(Cuda *c) {
  for (int i = 0; i < c->nexecs; i++)
    if (c->execs[i]->base.entry->streams - 1 > c->nbranches)
      c->nbranches = c->execs[i]->base.entry->streams - 1;
  if (!c->nbranches) return true;
  c->branch = calloc((size_t)c->nbranches, sizeof *c->branch);
  if (!c->branch) {
    c->nbranches = 0;
    return err_set(c->err, EXIT_ENV, "no memory for streams");
  }
  bool ok = CUDA_CALL(c, EventCreate, &c->fork, EVENT_UNTIMED);
  for (int k = 0; ok && k < c->nbranches; k++)
    ok = CUDA_CALL(c, StreamCreate, &c->branch[k].stream, STREAM_OWN) &&
         CUDA_CALL(c, EventCreate, &c->branch[k].joined, EVENT_UNTIMED);
  for (int i = 0; ok && i < c->nexecs; i++) ok = make_events(c, c->execs[i]);
  return ok;
}

void branches_release(Cuda *c) {
  const CudaApi *a = &c->api;
  for (int i = 0; i < c->nexecs; i++)
    for (int s = 0; c->execs[i] && c->execs[i]->over && s < c->execs[i]->base.entry->nsteps; s++)
      if (c->execs[i]->over[s]) a->EventDestroy(c->execs[i]->over[s]);
  for (int k = 0; k < c->nbranches; k++) {
    if (c->branch[k].joined) a->EventDestroy(c->branch[k].joined);
    if (c->branch[k].stream) a->StreamDestroy(c->branch[k].stream);
  }
  if (c->fork) a->EventDestroy(c->fork);
}

void branches_free(Cuda *c) {
  for (int i = 0; i < c->nexecs; i++)
    if (c->execs[i]) free(c->execs[i]->over);
  free(c->branch);
}

CuStream branch_of(const Cuda *c, int stream) {
  return stream ? c->branch[stream - 1].stream : c->compute;
}

bool branches_fork(Cuda *c, const CudaExec *x) {
  if (x->base.entry->streams <= 1) return true;
  bool ok = CUDA_CALL(c, EventRecord, c->fork, c->compute);
  for (int k = 0; ok && k < x->base.entry->streams - 1; k++)
    ok = CUDA_CALL(c, StreamWaitEvent, c->branch[k].stream, c->fork, 0);
  return ok;
}

bool branches_join(Cuda *c, const CudaExec *x) {
  bool ok = true;
  for (int k = 0; ok && k < x->base.entry->streams - 1; k++)
    ok = CUDA_CALL(c, EventRecord, c->branch[k].joined, c->branch[k].stream) &&
         CUDA_CALL(c, StreamWaitEvent, c->compute, c->branch[k].joined, 0);
  return ok;
}

bool branch_enter(Cuda *c, const CudaExec *x, int step) {
  const GcStep *s = &x->base.entry->steps[step];
  bool ok = true;
  for (int k = 0; ok && k < s->nafter; k++)
    ok = CUDA_CALL(c, StreamWaitEvent, branch_of(c, s->stream), x->over[s->after[k]], 0);
  return ok;
}

static bool record(Cuda *c, const CudaExec *x, int step) {
  return !x->over[step] ||
         CUDA_CALL(c, EventRecord, x->over[step], branch_of(c, x->base.entry->steps[step].stream));
}

bool branch_leave(Cuda *c, const CudaExec *x, int step) {
  return !x->over || loops_outermost(x->base.entry, step) || record(c, x, step);
}

bool branch_leave_loop(Cuda *c, const CudaExec *x, int loop) {
  const GcLoop *l = &x->base.entry->loops[loop];
  return !x->over || l->depth > 0 || record(c, x, l->end - 1);
}
