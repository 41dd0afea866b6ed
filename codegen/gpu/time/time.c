/* The model of time; see time.h. Algorithm: a multiprocessor's blocks take turns on its units, so
   the busiest unit's work is a lower bound, and so is one block's own work with its waits, for as
   many rounds of resident blocks as there are. Memory and L2 are shared by all. The launch takes
   the largest of these (Williams et al. 2009; Hong and Kim 2009 for the waits). */
#include "codegen/gpu/time/time.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const GpuDevice gpu_devices[GPU_DEVICES] = {
#define GPU(id, ...) {#id, __VA_ARGS__},
#include "codegen/gpu/time/devices.def"
#undef GPU
};

const char *const gpu_device_names[GPU_DEVICES + 1] = {
#define GPU(id, ...) #id,
#include "codegen/gpu/time/devices.def"
#undef GPU
};

const char *const gpu_bounds[GPU_BOUNDS] = {
#define BOUND(id, name) name,
#include "codegen/gpu/time/bounds.def"
#undef BOUND
};

const GpuDevice *gpu_device(const char *name) {
  for (int i = 0; i < GPU_DEVICES; i++)
    if (strcmp(gpu_devices[i].name, name) == 0) return &gpu_devices[i];
  return NULL;
}

enum {
  WARP = 32,
  SCHEDULERS = 4,            /* of a multiprocessor: each issues an instruction a clock */
  REGISTERS = 64 << 10,      /* of a multiprocessor, */
  REGISTER_UNIT = 8,         /* given to threads in multiples of this */
  BLOCK_SHARED = 1 << 10,    /* bytes of shared memory that the system takes of a block */
  MEMORY_PERCENT = 92,       /* of the bandwidth that a copy reaches */
  LAUNCH_NANOSECONDS = 2000, /* between dependent launches of a graph, with start and end */
  TF32 = 2                   /* its multiply-adds take the time of so many of bf16 */
};

int gpu_resident(const GpuDevice *d, const GpuCounts *c) {
  int warps = (c->threads + WARP - 1) / WARP;
  int registers = (c->registers + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
  int n = d->blocks, by_threads = d->threads / (warps * WARP);
  int by_registers = registers ? REGISTERS / (warps * WARP * registers) : n;
  int by_shared = d->shared / (c->shared + BLOCK_SHARED);
  if (by_threads < n) n = by_threads;
  if (by_registers < n) n = by_registers;
  return by_shared < n ? by_shared : n;
}

static double roofline(const GpuDevice *d, const GpuCounts *c) {
  double rate = c->peak == PEAK_TENSOR  ? d->tensor
                : c->peak == PEAK_TF32  ? (double)d->tensor / TF32
                : c->peak == PEAK_FMA64 ? d->fma64
                                        : d->fma;
  double flops = c->least_flops / (2 * rate * d->sms * d->mhz * 1e6);
  double bytes = c->least_bytes / (d->bandwidth * 1e9);
  return flops > bytes ? flops : bytes;
}

GpuTime gpu_time(const GpuDevice *d, const GpuCounts *c) {
  GpuTime t = {.resident = gpu_resident(d, c), .roofline = roofline(d, c)};
  double tensor = c->mma / (d->tensor * d->mma / 100.0) + c->wgmma / d->tensor;
  double hertz = (tensor > 0 ? d->tensor_mhz : d->mhz) * 1e6;
  double unit[GPU_BOUNDS] = {[BOUND_TENSOR] = tensor,
                             [BOUND_FMA] = (c->fma / d->fma + c->fma64 / d->fma64) * WARP,
                             [BOUND_ISSUE] = c->issue / SCHEDULERS,
                             [BOUND_SHARED] = c->wavefronts,
                             [BOUND_LINES] = c->lines};
  GpuBound most = BOUND_ISSUE;
  for (int i = 0; i < GPU_BOUNDS; i++)
    if (unit[i] > unit[most]) most = (GpuBound)i;
  double blocks = ceil(c->blocks / d->sms); /* of the multiprocessor that has most */
  double rounds = ceil(blocks / (t.resident ? t.resident : 1));
  double latency = c->l2_waits * d->l2_latency + c->waits * d->latency + c->chain;
  double time[GPU_BOUNDS] = {[BOUND_LAUNCH] = LAUNCH_NANOSECONDS * 1e-9,
                             [BOUND_LATENCY] = rounds * (unit[most] + latency) / hertz,
                             [BOUND_L2] = c->l2_bytes / (d->l2_rate * d->mhz * 1e6),
                             [BOUND_MEMORY] =
                                 c->bytes / (d->bandwidth * 1e9 * MEMORY_PERCENT / 100)};
  time[most] = blocks * unit[most] / hertz;
  for (int i = BOUND_LAUNCH + 1; i < GPU_BOUNDS; i++)
    if (time[i] > t.seconds) t.seconds = time[i], t.bound = (GpuBound)i;
  if (t.bound == BOUND_LATENCY && unit[most] > latency) t.bound = most;
  if (t.seconds < time[BOUND_LAUNCH]) t.bound = BOUND_LAUNCH;
  t.seconds += time[BOUND_LAUNCH];
  return t;
}
