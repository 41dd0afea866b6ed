/* Device and pinned memory. A device address is a host address; fresh device memory is all ones
 * and, with the init check, counts as never written until a copy, a set or a kernel writes it. */
#include "fake.h"
#include <stdlib.h>
#include <string.h>

static Block *find(Block *list, CUdeviceptr p, size_t size) {
  for (Block *b = list; b; b = b->next) {
    CUdeviceptr lo = (uintptr_t)b->base;
    if (p >= lo && size <= b->size && p - lo <= b->size - size) return b;
  }
  return NULL;
}

bool memory_inside(CUdeviceptr p, size_t size) { return find(driver()->device_blocks, p, size); }

void memory_written(CUdeviceptr p, size_t size) {
  Block *b = find(driver()->device_blocks, p, size);
  if (!b || !b->init) return;
  size_t at = (size_t)(p - (uintptr_t)b->base), end = at + size;
  while (at < end && at & 7) {
    b->init[at / 8] |= (uint8_t)(1u << (at & 7));
    at++;
  }
  if (at < end) memset(b->init + at / 8, 0xff, (end - at) / 8);
  for (at = at < end ? end & ~(size_t)7 : end; at < end; at++)
    b->init[at / 8] |= (uint8_t)(1u << (at & 7));
}

size_t memory_buffers(PtxBuf **bufs) {
  size_t n = 0;
  Block *const lists[] = {driver()->device_blocks, driver()->pinned_blocks};
  for (int i = 0; i < 2; i++)
    for (Block *b = lists[i]; b; b = b->next) n++;
  PtxBuf *out = *bufs = calloc(n + 1, sizeof *out);
  if (!out) return 0;
  for (int i = 0; i < 2; i++)
    for (Block *b = lists[i]; b; b = b->next)
      *out++ =
          (PtxBuf){b->base, b->size, PTX_RW, i ? "pinned memory" : "device memory", b->init, 0, 0};
  return n;
}

bool memory_part(CUdeviceptr p, size_t size, PtxBuf *out) {
  Block *b = find(driver()->device_blocks, p, size);
  if (!b) return false;
  out->base = (void *)(uintptr_t)p;
  out->size = size;
  out->init = b->init;
  out->init_at = (size_t)(p - (uintptr_t)b->base);
  return true;
}

static CUresult allocate(Block **list, size_t size, bool device, void **out) {
  Driver *d = driver();
  if (!size || !out) return CUDA_INVALID_VALUE;
  if (device && (size > d->memory || d->used > d->memory - size)) return CUDA_OUT_OF_MEMORY;
  Block *b = calloc(1, sizeof *b);
  size_t rounded = (size + 511) & ~(size_t)511;
  if (!b || rounded < size || !(b->base = aligned_alloc(512, rounded)) ||
      (device && !(b->init = calloc(1, size / 8 + 1)))) {
    if (b) free(b->base);
    free(b);
    return CUDA_OUT_OF_MEMORY;
  }
  memset(b->base, 0xff, size);
  b->size = size;
  b->next = *list;
  *list = b;
  if (device) d->used += size;
  *out = b->base;
  return CUDA_SUCCESS;
}

static CUresult release(Block **list, CUdeviceptr p, bool device) {
  for (Block **at = list; *at; at = &(*at)->next) {
    Block *b = *at;
    if ((uintptr_t)b->base != p) continue;
    *at = b->next;
    if (device) driver()->used -= b->size;
    free(b->base);
    free(b->init);
    free(b);
    return CUDA_SUCCESS;
  }
  return p ? CUDA_INVALID_VALUE : CUDA_SUCCESS;
}

CALL(cuMemGetInfo_v2, (size_t * free_bytes, size_t *total), (free_bytes, total)) {
  *free_bytes = driver()->memory - driver()->used;
  *total = driver()->memory;
  return CUDA_SUCCESS;
}
CALL(cuMemAlloc_v2, (CUdeviceptr * p, size_t size), (p, size)) {
  void *at;
  CUresult r = p ? allocate(&driver()->device_blocks, size, true, &at) : CUDA_INVALID_VALUE;
  if (!r) *p = (uintptr_t)at;
  return r;
}
CALL(cuMemFree_v2, (CUdeviceptr p), (p)) { return release(&driver()->device_blocks, p, true); }
CALL(cuMemAllocHost_v2, (void **p, size_t size), (p, size)) {
  return allocate(&driver()->pinned_blocks, size, false, p);
}
CALL(cuMemHostAlloc, (void **p, size_t size, unsigned flags), (p, size, flags)) {
  return allocate(&driver()->pinned_blocks, size, false, p);
}
CALL(cuMemFreeHost, (void *p), (p)) {
  return release(&driver()->pinned_blocks, (uintptr_t)p, false);
}

/* ---- copies; exactly one of each pair is given ---- */
CUresult memory_copy(CUdeviceptr to, const void *from, CUdeviceptr device_from, void *host_to,
                     size_t size) {
  if (!size) return CUDA_SUCCESS;
  if (to && !memory_inside(to, size)) return CUDA_INVALID_VALUE;
  if (device_from && !memory_inside(device_from, size)) return CUDA_INVALID_VALUE;
  void *target = to ? (void *)(uintptr_t)to : host_to;
  const void *source = device_from ? (const void *)(uintptr_t)device_from : from;
  if (!target || !source) return CUDA_INVALID_VALUE;
  memmove(target, source, size);
  if (to) memory_written(to, size);
  return CUDA_SUCCESS;
}

CUresult memory_set(CUdeviceptr to, uint32_t value, size_t width, size_t count) {
  if (!count) return CUDA_SUCCESS;
  if (count > SIZE_MAX / width || to % width || !memory_inside(to, width * count))
    return CUDA_INVALID_VALUE;
  char *at = (char *)(uintptr_t)to;
  for (size_t i = 0; i < count; i++) memcpy(at + i * width, &value, width);
  memory_written(to, width * count);
  return CUDA_SUCCESS;
}

#define COPY(name, params, args, ...)                                                              \
  CALL(name, params, args) { return work_submit(NULL, (Work){.kind = WORK_COPY, __VA_ARGS__}); }
#define COPY_ASYNC(name, params, args, ...)                                                        \
  CALL(name, params, args) { return work_submit(stream, (Work){.kind = WORK_COPY, __VA_ARGS__}); }
COPY(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t n), (to, from, n), .to = to,
     .from = from, .size = n)
COPY(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t n), (to, from, n), .host_to = to,
     .device_from = from, .size = n)
COPY(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t n), (to, from, n), .to = to,
     .device_from = from, .size = n)
COPY_ASYNC(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t n, CUstream stream),
           (to, from, n, stream), .to = to, .from = from, .size = n)
COPY_ASYNC(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t n, CUstream stream),
           (to, from, n, stream), .host_to = to, .device_from = from, .size = n)
COPY_ASYNC(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream stream),
           (to, from, n, stream), .to = to, .device_from = from, .size = n)

#define SET(name, type, bytes)                                                                     \
  CALL(name##_v2, (CUdeviceptr to, type value, size_t n), (to, value, n)) {                        \
    return work_submit(                                                                            \
        NULL, (Work){.kind = WORK_SET, .to = to, .value = value, .width = bytes, .size = n});      \
  }                                                                                                \
  CALL(name##Async, (CUdeviceptr to, type value, size_t n, CUstream stream),                       \
       (to, value, n, stream)) {                                                                   \
    return work_submit(                                                                            \
        stream, (Work){.kind = WORK_SET, .to = to, .value = value, .width = bytes, .size = n});    \
  }
SET(cuMemsetD8, unsigned char, 1)
SET(cuMemsetD16, unsigned short, 2)
SET(cuMemsetD32, unsigned, 4)
