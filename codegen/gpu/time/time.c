/* The model of time; see time.h. Algorithm: a roofline of several units (Williams et al. 2009) for
   the work of a block, and a queue for the resident blocks of a multiprocessor, which take turns on
   its units and wait for memory in between. Memory is a bound of its own. */
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
  SM_L2 = 64,             /* bytes a clock from L2 to a multiprocessor */
  SPECIAL = 16,           /* lanes of special function units of a multiprocessor */
  SCHEDULERS = 4,         /* of a multiprocessor: each issues an instruction a clock */
  REGISTERS = 64 << 10,   /* of a multiprocessor, */
  REGISTER_UNIT = 8,      /* given to threads in multiples of this */
  BLOCK_SHARED = 1 << 10, /* bytes of shared memory that the system takes of a block */
  MEMORY_PERCENT = 92,    /* of the bandwidth that a copy reaches */
  TF32 = 2                /* its multiply-adds take the time of so many of bf16 */
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

/* Clocks of a block on several units that are busy at the same time: they hinder each other a
   little, so two equal ones take longer than one. */
static double together(const double *unit) {
  enum { SHARPNESS = 6 };
  double sum = 0;
  for (int i = 0; i < GPU_BOUNDS; i++) sum += pow(unit[i], SHARPNESS);
  return pow(sum, 1.0 / SHARPNESS);
}

/* Clocks between two parts of blocks that are done, where n of them take turns: each needs `work`
   clocks of what they share, then waits by itself. Mean value analysis of one queue and one delay
   (Reiser and Lavenberg 1980). */
static double turn(double n, double work, double wait) {
  double queue = 0, between = 0;
  for (int i = 1; i <= n; i++) {
    double stay = work * (1 + queue);
    between = (wait + stay) / i;
    queue = between > 0 ? stay / between : 0;
  }
  return between;
}

GpuTime gpu_time(const GpuDevice *d, const GpuCounts *c) {
  GpuTime t = {.resident = gpu_resident(d, c), .roofline = roofline(d, c)};
  if (c->blocks <= 0) return t; /* there is no such launch on this device */
  double tensor = c->mma / (d->tensor * d->mma / 100.0) + c->wgmma / d->tensor;
  double hertz = (tensor > 0 ? d->tensor_mhz : d->mhz) * 1e6;
  double loads = c->accesses * WARP / d->ldst;
  double received = c->received > 0 ? c->received : c->l2_bytes;
  double blocks = ceil(c->blocks / d->sms); /* of the multiprocessor that has most */
  double unit[GPU_BOUNDS] = {
      [BOUND_TENSOR] = tensor,
      [BOUND_FMA] = (c->fma / d->fma + c->fma64 / d->fma64) * WARP,
      [BOUND_SPECIAL] = c->special * WARP / SPECIAL,
      [BOUND_ISSUE] = c->issue / SCHEDULERS,
      [BOUND_SHARED] = c->wavefronts > loads ? c->wavefronts : loads,
      [BOUND_LINES] = c->lines,
      [BOUND_L2] = fmax(c->l2_bytes / (blocks * d->l2_rate), received / c->blocks / SM_L2)};
  GpuBound most = BOUND_ISSUE;
  for (int i = 0; i < GPU_BOUNDS; i++)
    if (unit[i] > unit[most]) most = (GpuBound)i;
  double resident = t.resident > 1 ? t.resident : 1, parts = c->parts > 1 ? c->parts : 1;
  if (c->longest > 1) /* the last blocks leave multiprocessors idle */
    blocks = fmax(fmax(blocks, c->longest), c->blocks / d->sms + c->last / 2);
  if (resident > blocks) resident = blocks;
  double work = together(unit);
  double wait = c->l2_waits * d->l2_latency + c->waits * d->latency + c->chain;
  double busy = blocks * parts * turn(resident * parts, work / parts, wait) / hertz;
  double covered = ceil(blocks / resident) * c->covered * d->latency / hertz;
  bool covers = busy > covered;
  if (!covers) busy = covered;
  busy += c->tail / hertz;
  double memory = c->bytes / (d->bandwidth * 1e9 * MEMORY_PERCENT / 100) + c->tail / hertz;
  double launch = d->launch * 1e-9;
  t.seconds = busy > memory ? busy : memory;
  t.bound = t.seconds < launch                            ? BOUND_LAUNCH
            : memory >= busy                              ? BOUND_MEMORY
            : busy > 2 * blocks * work / hertz || !covers ? BOUND_LATENCY
                                                          : most;
  t.seconds += launch;
  t.launch = launch;
  t.units = c->blocks / d->sms * work / hertz;
  t.memory = memory;
  t.busy = busy;
  t.filled = t.resident > 0 ? c->blocks / d->sms / t.resident : INFINITY;
  return t;
}

GpuTime gpu_time_of_joined(const GpuTime *t, int n) {
  GpuTime all = {.launch = t->launch};
  double longest = 0, in_turn = 0, most_busy = 0;
  for (int i = 0; i < n; i++) {
    double alone = t[i].seconds - t[i].launch;
    if (i == 0 || alone > longest) {
      longest = alone;
      all.bound = t[i].bound, all.resident = t[i].resident;
    }
    in_turn += alone;
    all.roofline += t[i].roofline;
    all.units += t[i].units, all.memory += t[i].memory, all.filled += t[i].filled;
    most_busy = fmax(most_busy, t[i].busy), all.busy += t[i].busy;
  }
  if (all.filled <= 1) all.busy = fmax(most_busy, all.units);
  double at_once = fmax(longest, fmax(all.units, all.memory));
  all.seconds = all.launch + (all.filled <= 1 ? at_once : in_turn);
  return all;
}

GpuTime gpu_time_of_stacked(const GpuTime *t, int n, bool ahead) {
  GpuTime all = t[n - 1];
  double longest = all.seconds;
  for (int i = 0; i + 1 < n; i++) {
    all.seconds += t[i].seconds - t[i].launch;
    all.roofline += t[i].roofline;
    all.units += t[i].units, all.memory += t[i].memory, all.busy += t[i].busy;
    if (t[i].seconds > longest) longest = t[i].seconds, all.bound = t[i].bound;
  }
  if (ahead) {
    all.seconds = all.launch + fmax(all.busy, all.memory);
    if (all.memory >= all.busy) all.bound = BOUND_MEMORY;
  }
  if (all.bound == BOUND_LAUNCH && all.seconds > 2 * all.launch) all.bound = BOUND_LATENCY;
  return all;
}
