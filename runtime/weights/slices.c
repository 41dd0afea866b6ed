/* Globals of which each rank of a data-parallel program has a run of the elements, as a part of
   files. Contract: rank 0 writes and sums up files. It calls for pieces of other ranks, one at a
   time, and these answer until it is done, so that no rank needs room for more than its own. Every
   rank reads files itself, and takes its run. */
#include "runtime/weights/weights.h"
#include <string.h>

/* A call for elements [first, first + n) of a global; -1: there are no more. */
typedef struct Call {
  int64_t global;
  uint64_t first, n;
} Call;

static bool any_sliced(const Globals *w) {
  bool any = false;
  for (int i = 0; i < w->program->nglobals; i++) any |= w->program->globals[i].ranks > 0;
  return any && w->comm;
}

static uint64_t run_of(const GcGlobal *g) {
  return (tensor_count(&g->t) + (uint64_t)g->ranks - 1) / (uint64_t)g->ranks;
}

uint64_t slices_own(const Globals *w, const GcGlobal *g) {
  uint64_t run = run_of(g), first = w->comm ? (uint64_t)w->comm->rank * run : 0;
  uint64_t all = tensor_count(&g->t), left = all > first ? all - first : 0;
  return left < run ? left : run;
}

static uint64_t size_of(const GcGlobal *g) { return (uint64_t)elem_info[g->t.dtype].size; }

/* The elements of one owner, to each rank. */
static void send(const Globals *w, const GcGlobal *g, uint64_t first, uint64_t n, uint8_t *to) {
  uint64_t run = run_of(g), owner = first / run, size = size_of(g);
  if ((uint64_t)w->comm->rank == owner)
    memcpy(to, w->base + g->t.offset + (first - owner * run) * size, n * size);
  w->comm->broadcast(w->comm, to, (int64_t)(n * size), (int)owner);
}

void slices_get(const Globals *w, const GcGlobal *g, uint64_t first, uint64_t n, uint8_t *to) {
  if (!g->ranks || !w->comm) {
    tensor_get(&g->t, w->base + g->t.offset, first, n, to);
    return;
  }
  uint64_t run = run_of(g);
  for (uint64_t at = 0; at < n;) {
    uint64_t left = run - (first + at) % run, k = n - at < left ? n - at : left;
    Call call = {g - w->program->globals, first + at, k};
    w->comm->broadcast(w->comm, &call, sizeof call, 0);
    send(w, g, first + at, k, to + at * size_of(g));
    at += k;
  }
}

void slices_serve(const Globals *w) {
  if (!any_sliced(w)) return;
  for (;;) {
    Call call = {.global = -1}; /* as it stays where the other ranks are lost */
    w->comm->broadcast(w->comm, &call, sizeof call, 0);
    if (call.global < 0) return;
    send(w, &w->program->globals[call.global], call.first, call.n, w->stage);
  }
}

void slices_done(const Globals *w) {
  Call call = {.global = -1};
  if (any_sliced(w)) w->comm->broadcast(w->comm, &call, sizeof call, 0);
}

void slices_put(const Globals *w, const GcGlobal *g, uint64_t first, uint64_t n, const void *from) {
  if (!g->ranks) {
    tensor_put(&g->t, w->base + g->t.offset, first, n, from);
    return;
  }
  uint64_t run = run_of(g), begin = w->comm ? (uint64_t)w->comm->rank * run : 0, end = begin + run;
  uint64_t low = first > begin ? first : begin, high = first + n < end ? first + n : end;
  if (low < high)
    memcpy(w->base + g->t.offset + (low - begin) * size_of(g),
           (const uint8_t *)from + (low - first) * size_of(g), (high - low) * size_of(g));
}
