/* What `info` shows of a GPU: the first device, the code that it would run, and what entries take
   of its memory. Contract: runs nothing and allocates nothing there. */
#include "runtime/cuda/cuda.h"
#include <stdlib.h>

bool cuda_look(const GcProgram *p, DeviceState *state, Err *e) {
  *state = (DeviceState){0};
  Device *d = cuda_open(p, 0, DEVICE_LOOK, e);
  if (!d) return false;
  Cuda *c = (Cuda *)(void *)d;
  size_t have = 0, all = 0;
  Err *was = cuda_set_sink(c, e);
  bool ok = cuda_restore_sink(c, was, CUDA_CALL(c, MemGetInfo, &have, &all));
  snprintf(state->name, sizeof state->name, "%s", c->name);
  snprintf(state->arch, sizeof state->arch, "sm_%d%d", c->major, c->minor);
  state->bytes = all, state->free = have;
  const GcImage **images = calloc((size_t)p->code->nimages + 1, sizeof *images);
  if (ok && !images) ok = err_set(e, EXIT_ENV, "no memory for the program's code");
  if (images && cuda_images(p->code, c->major, c->minor, images)) state->code = images[0]->arch;
  free(images);
  cuda_close(d, e);
  return ok;
}

bool cuda_memory(const GcProgram *p, const GcEntry *entry, int n, DeviceMemory *m, Err *e) {
  CudaSizes s;
  if (!cuda_sizes(p, entry, n, &s, e)) return false;
  *m = (DeviceMemory){s.globals, s.inputs * BLOCKS, s.arena, s.ahead * BLOCKS, s.total, s.pinned};
  return true;
}
