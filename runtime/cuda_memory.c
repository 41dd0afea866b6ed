/* A run's memory on the device: sizes known from the program, two allocations, and pinned memory of
   the host. Contract: what does not fit is said before anything runs, with what there is; offsets
   inside a region are the plan's. */
#include "cuda.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT_ALIGN = 64 };

static uint64_t max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

static bool add_aligned(uint64_t *sum, uint64_t bytes, uint64_t align) {
  uint64_t padded;
  return checked_add(bytes, align - 1, &padded) && checked_add(*sum, padded & ~(align - 1), sum);
}

/* A region has at least one place, so that each has an address of its own. */
static bool region(uint64_t bytes, uint64_t *out) {
  *out = 0;
  return add_aligned(out, bytes ? bytes : 1, DEVICE_ALIGN);
}

bool cuda_sizes(const GcProgram *p, const GcEntry *entry, CudaSizes *s, Err *e) {
  const GcEntry *init = p->init;
  uint64_t arena = max_u64(entry->arena_bytes, init ? init->arena_bytes : 0);
  uint64_t inputs = max_u64(entry->inputs_bytes, init ? init->inputs_bytes : 0);
  *s = (CudaSizes){0};
  uint64_t counts = max_u64(entry->counts_bytes, init ? init->counts_bytes : 0);
  bool ok = region(p->globals_bytes, &s->globals) && region(4 * (uint64_t)p->nhypers, &s->hypers) &&
            region(arena, &s->arena) && region(inputs, &s->block) &&
            checked_add(s->block, ENV_BYTES, &s->block);
  ok = ok && add_aligned(&s->results, sizeof(GcDeviceFault), RESULT_ALIGN);
  for (int i = 0; ok && i < entry->noutputs; i++)
    ok = add_aligned(&s->results, entry->outputs[i].bytes, RESULT_ALIGN);
  ok = ok && (!counts || region(counts, &s->counts)) &&
       add_aligned(&s->shared_total, s->globals, 1) &&
       add_aligned(&s->shared_total, s->counts, 1) &&
       add_aligned(&s->shared_total, s->hypers + DEVICE_ALIGN, 1);
  for (int q = 0; q < BLOCKS; q++)
    ok = ok && checked_add(s->shared_total, s->block, &s->shared_total) &&
         add_aligned(&s->pinned, s->block, DEVICE_ALIGN) &&
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
  c->region[GC_INPUTS] = c->block[0] + ENV_BYTES;
  uint8_t *host = c->pinned;
  for (int q = 0; q < BLOCKS; q++) {
    c->host_block[q] = host, host += s->block;
    c->results[q] = host, host += align_up(s->results, DEVICE_ALIGN);
  }
}

static bool place_outputs(Cuda *c, const GcEntry *entry, Err *e) {
  c->slots = calloc((size_t)entry->noutputs + 1, sizeof *c->slots);
  if (!c->slots) return err_set(e, EXIT_ENV, "no memory for the outputs");
  uint64_t at = align_up(sizeof(GcDeviceFault), RESULT_ALIGN);
  for (int i = 0; i < entry->noutputs; i++) {
    c->slots[i] = at;
    at += align_up(entry->outputs[i].bytes, RESULT_ALIGN);
  }
  return true;
}

bool cuda_allocate(Cuda *c, const GcEntry *entry, Err *e) {
  c->err = e;
  if (!cuda_sizes(c->program, entry, &c->sizes, e) || !check_room(c, e)) return false;
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
  return place_outputs(c, entry, e);
}
