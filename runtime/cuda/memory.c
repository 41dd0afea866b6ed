/* A run's memory on the device: sizes known from the program, two allocations, and pinned memory of
   the host. Contract: what does not fit is said before anything runs, with what there is; offsets
   inside a region are the plan's. */
#include "runtime/cuda/cuda.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT_ALIGN = 64 };

static bool add_aligned(uint64_t *sum, uint64_t bytes, uint64_t align) {
  uint64_t padded;
  return checked_add(bytes, align - 1, &padded) && checked_add(*sum, padded & ~(align - 1), sum);
}

/* A region has at least one place, so that each has an address of its own. */
static bool region(uint64_t bytes, uint64_t *out) {
  *out = 0;
  return add_aligned(out, bytes ? bytes : 1, DEVICE_ALIGN);
}

/* One set of the entry's results. */
static bool results(const GcEntry *entry, uint64_t *out) {
  *out = 0;
  bool ok = add_aligned(out, sizeof(CudaReport), RESULT_ALIGN);
  for (int i = 0; ok && i < entry->noutputs; i++)
    ok = add_aligned(out, entry->outputs[i].bytes, RESULT_ALIGN);
  return ok;
}

bool cuda_sizes(const GcProgram *p, const GcEntry *entry, int n, CudaSizes *s, Err *e) {
  uint64_t arena = 0, inputs = 0, ahead = 0, counts = 0, most = 0;
  bool ok = true;
  *s = (CudaSizes){0};
  for (int i = -2; i < n; i++) {
    const GcEntry *x = i == -2 ? p->gather : i < 0 ? p->init : &entry[i];
    if (!x) continue;
    arena = max_u64(arena, x->arena_bytes);
    inputs = max_u64(inputs, x->inputs_bytes);
    ahead = max_u64(ahead, x->ahead_bytes);
    counts = max_u64(counts, x->counts_bytes);
    ok = ok && results(x, &most);
    s->results = max_u64(s->results, most);
  }
  ok = ok && region(p->globals_bytes, &s->globals) &&
       region(4 * (uint64_t)p->nhypers, &s->hypers) && region(arena, &s->arena) &&
       region(inputs, &s->inputs) && (!ahead || region(ahead, &s->ahead)) &&
       checked_add(s->inputs, INPUTS_AT, &s->inputs) && checked_add(s->inputs, s->ahead, &s->block);
  ok = ok && (!counts || region(counts, &s->counts)) &&
       add_aligned(&s->shared_total, s->globals, 1) &&
       add_aligned(&s->shared_total, s->counts, 1) &&
       add_aligned(&s->shared_total, s->hypers + DEVICE_ALIGN, 1); /* with the faults */
  for (int q = 0; q < BLOCKS; q++)
    ok = ok && checked_add(s->shared_total, s->block, &s->shared_total) &&
         add_aligned(&s->pinned, s->inputs, DEVICE_ALIGN) &&
         add_aligned(&s->pinned, s->results, DEVICE_ALIGN);
  ok = ok && checked_add(s->shared_total, s->arena, &s->total);
  return ok ? true : err_set(e, EXIT_ENV, "the program needs more memory than any device has");
}

static bool check_room(Cuda *c, Err *e) {
  size_t have = 0, all = 0;
  if (!CUDA_CALL(c, MemGetInfo, &have, &all)) return false;
  if (c->sizes.total <= have) return true;
  err_set(e, EXIT_ENV,
          "the program needs %" PRIu64 " bytes on the device, and %s has %zu free of its %zu",
          c->sizes.total, c->name, have, all);
  return err_hint(e, "end what else runs there (nvidia-smi lists it), compile the program with a "
                     "smaller batch, or run it with --device cpu");
}

static bool take(Cuda *c, CuAddress *at, uint64_t bytes, const char *for_what) {
  char what[160];
  snprintf(what, sizeof what, "%" PRIu64 " bytes for %s", bytes, for_what);
  return CUDA_CALL_FOR(c, what, MemAlloc, at, bytes);
}

/* Places in the one allocation of what lives through the run. */
static void lay_out(Cuda *c) {
  const CudaSizes *s = &c->sizes;
  CuAddress at = c->shared;
  c->region[GC_GLOBALS] = at, at += s->globals;
  c->region[GC_HYPERS] = at, at += s->hypers;
  c->region[GC_COUNTS] = at, at += s->counts;
  c->fault = at, at += DEVICE_ALIGN;
  for (int q = 0; q < BLOCKS; q++) c->block[q] = at, at += s->block;
  c->region[GC_INPUTS] = c->block[0] + INPUTS_AT;
  uint8_t *host = c->pinned;
  for (int q = 0; q < BLOCKS; q++) {
    c->host_block[q] = host, host += s->inputs;
    c->results[q] = host, host += align_up(s->results, DEVICE_ALIGN);
  }
}

uint64_t *cuda_slots(const GcEntry *entry) {
  uint64_t *slots = calloc((size_t)entry->noutputs + 1, sizeof *slots);
  uint64_t at = align_up(sizeof(CudaReport), RESULT_ALIGN);
  for (int i = 0; slots && i < entry->noutputs; i++) {
    slots[i] = at;
    at += align_up(entry->outputs[i].bytes, RESULT_ALIGN);
  }
  return slots;
}

bool cuda_allocate(Cuda *c, const GcEntry *entry, int n, Err *e) {
  if (!cuda_sizes(c->base.program, entry, n, &c->sizes, e) || !check_room(c, e)) return false;
  char what[160];
  void *pinned = NULL;
  snprintf(what, sizeof what, "%" PRIu64 " bytes of pinned memory", c->sizes.pinned);
  if (!take(c, &c->shared, c->sizes.shared_total, "weights and inputs") ||
      !take(c, &c->region[GC_ARENA], c->sizes.arena, "the arena") ||
      !CUDA_CALL_FOR(c, what, MemAllocHost, &pinned, c->sizes.pinned))
    return false;
  c->pinned = pinned;
  memset(pinned, 0, c->sizes.pinned);
  lay_out(c);
  return true;
}

/* What is on its way ends first; of what fails here nobody can do anything. */
void cuda_release(Cuda *c) {
  const CudaApi *a = &c->api;
  CuStream streams[] = {c->copy, c->compute};
  for (int i = 0; i < 2; i++)
    if (streams[i]) a->StreamSynchronize(streams[i]);
  for (int i = 0; i < c->nexecs; i++)
    for (int q = 0; c->execs[i] && q < BLOCKS; q++) {
      for (int timed = 0; timed < 2; timed++)
        if (c->execs[i]->graph[q][timed]) a->GraphExecDestroy(c->execs[i]->graph[q][timed]);
      if (c->execs[i]->ahead[q]) a->GraphExecDestroy(c->execs[i]->ahead[q]);
    }
  branches_release(c);
  for (int q = 0; q < BLOCKS; q++) {
    if (c->copied[q]) a->EventDestroy(c->copied[q]);
    if (c->done[q]) a->EventDestroy(c->done[q]);
  }
  for (int i = 0; i < 2; i++)
    if (streams[i]) a->StreamDestroy(streams[i]);
  if (c->shared) a->MemFree(c->shared);
  if (c->region[GC_ARENA]) a->MemFree(c->region[GC_ARENA]);
  if (c->pinned) a->MemFreeHost(c->pinned);
  if (c->module) a->ModuleUnload(c->module);
}
