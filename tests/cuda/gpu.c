/* Runs the launches of a program's GPU part through libcuda.so.1: on a GPU, or on the driver over
   the PTX interpreter; see device.h. Contract: every region of memory has a twin on the device; a
   step copies all of them there and back, so what the host sees is always what the device has. */
#define _GNU_SOURCE
#include "tests/cuda/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t CuAddress; /* on the device */

typedef struct Api { /* CUDA driver API, 12.0 */
  int (*init)(unsigned);
  int (*device)(int *, int);
  int (*retain)(void **, int);
  int (*current)(void *);
  int (*load)(void **, const void *);
  int (*unload)(void *);
  int (*function)(void **, void *, const char *);
  int (*set)(void *, int, int);
  int (*alloc)(CuAddress *, size_t);
  int (*release)(CuAddress);
  int (*to_device)(CuAddress, const void *, size_t);
  int (*to_host)(void *, CuAddress, size_t);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void *, void **, void **);
  int (*error)(int, const char **);
} Api;

enum { ENV = GC_REGIONS, FAULT, PLACES, DYNAMIC_SHARED = 8 };

typedef struct Gpu {
  DeviceHead head;
  Api api;
  void *module;
  CuAddress at[PLACES];
} Gpu;

static bool done(Gpu *g, char *text, size_t n, int code, const char *what) {
  const char *name = "?";
  if (code == 0) return true;
  g->api.error(code, &name);
  if (!text[0]) snprintf(text, n, "%s: %s (%d)", what, name, code);
  return false;
}
#define DO(call, ...) done(g, text, n, g->api.call(__VA_ARGS__), #call)

static bool copy(Compiled *c, bool to_device) {
  Gpu *g = c->device;
  char *text = c->fault;
  size_t n = sizeof c->fault;
  for (int r = 0; r < GC_REGIONS; r++)
    if (to_device ? !DO(to_device, g->at[r], c->region[r], c->bytes[r])
                  : !DO(to_host, c->region[r], g->at[r], c->bytes[r]))
      return false;
  return true;
}

static bool launch(Compiled *c, const GcStep *s, void *const *p) {
  Gpu *g = c->device;
  char *text = c->fault;
  size_t n = sizeof c->fault;
  const GcLaunch *l = s->launch;
  if (!l->grid) return true;
  CuAddress *value = calloc((size_t)s->nargs + 2, sizeof *value);
  void **param = calloc((size_t)(s->nargs + 2 + l->nconstants), sizeof *param), *function;
  for (int i = 0; i < s->nargs + 2; i++) {
    param[i] = &value[i];
    int r = i < s->nargs ? (int)s->args[i].region : i == s->nargs ? ENV : FAULT;
    value[i] = g->at[r];
    if (i < s->nargs) value[i] += (uint64_t)((unsigned char *)p[i] - c->region[r]);
  }
  for (int i = 0; i < l->nconstants; i++)
    param[s->nargs + 2 + i] = (void *)(uintptr_t)&l->constants[i];
  bool ok = DO(function, &function, g->module, c->program->code->kernels[l->kernel]) &&
            (!l->shared || DO(set, function, DYNAMIC_SHARED, (int)l->shared)) &&
            DO(launch, function, l->grid, 1, 1, l->block, 1, 1, l->shared, NULL, param, NULL);
  free(value);
  free(param);
  return ok;
}

static bool step(Compiled *c, const GcStep *s, void *const *p, const GcEnv *env) {
  Gpu *g = c->device;
  GcDeviceFault fault = {.site = -1};
  char *text = c->fault;
  size_t n = sizeof c->fault;
  bool ok = copy(c, true) && DO(to_device, g->at[ENV], env, sizeof *env) &&
            DO(to_device, g->at[FAULT], &fault, sizeof fault) && launch(c, s, p) &&
            copy(c, false) && DO(to_host, &fault, g->at[FAULT], sizeof fault);
  if (ok && fault.site >= 0)
    snprintf(text, n, "index %lld at element %lld is not below %lld", (long long)fault.value,
             (long long)fault.at, (long long)fault.limit);
  return !c->fault[0];
}

static bool bind(Api *a) {
  struct {
    const char *name;
    void *to;
  } symbol[] = {{"cuInit", &a->init},
                {"cuDeviceGet", &a->device},
                {"cuDevicePrimaryCtxRetain", &a->retain},
                {"cuCtxSetCurrent", &a->current},
                {"cuModuleLoadData", &a->load},
                {"cuModuleUnload", &a->unload},
                {"cuModuleGetFunction", &a->function},
                {"cuFuncSetAttribute", &a->set},
                {"cuMemAlloc_v2", &a->alloc},
                {"cuMemFree_v2", &a->release},
                {"cuMemcpyHtoD_v2", &a->to_device},
                {"cuMemcpyDtoH_v2", &a->to_host},
                {"cuLaunchKernel", &a->launch},
                {"cuGetErrorName", &a->error}};
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; library && i < sizeof symbol / sizeof symbol[0]; i++) {
    void *f = dlsym(library, symbol[i].name);
    if (!f) return false;
    memcpy(symbol[i].to, &f, sizeof f);
  }
  return library;
}

/* The cubin where the device takes it, else the PTX, which is last. */
static bool start(Compiled *c, Gpu *g, const CudaImage *image, int images, char *text, size_t n) {
  int device = 0;
  void *context;
  if (!bind(&g->api)) {
    snprintf(text, n, "there is no libcuda.so.1");
    return false;
  }
  if (!DO(init, 0) || !DO(device, &device, 0) || !DO(retain, &context, device) ||
      !DO(current, context))
    return false;
  if (g->api.load(&g->module, image[0].bytes) != 0 &&
      !DO(load, &g->module, image[images - 1].bytes))
    return false;
  for (int r = 0; r < PLACES; r++)
    if (!DO(alloc, &g->at[r], r < GC_REGIONS ? c->bytes[r] : 256)) return false;
  return true;
}

static void gpu_close(Compiled *c) {
  Gpu *g = c->device;
  for (int r = 0; r < PLACES; r++)
    if (g->at[r]) g->api.release(g->at[r]);
  if (g->module) g->api.unload(g->module);
  free(g);
  compiled_close(c);
}

Compiled *gpu_open(Module *m, const Target *t, const CodegenOptions *o) {
  Arena *a = arena_new();
  CudaProgram *p = cuda_program(m, t, o, a);
  bool knows = false;
  const char *arch = cuda_native(m->ctx);
  if (arch) nvrtc_version(m->ctx, arch, &knows);
  CudaImage image[2];
  int images, code = 0;
  Compiled *c = NULL;
  char text[256] = "";
  if (!knows) arch = "compute_80";
  if (cuda_images(p, &arch, 1, image, &images, &code)) c = device_tables(p, image, images);
  if (c) {
    Gpu *g = calloc(1, sizeof *g);
    g->head = (DeviceHead){.arch = arch, .close = gpu_close};
    c->device = g;
    c->step = step;
    if (!start(c, g, image, images, text, sizeof text)) {
      printf("the GPU: %s\n", text);
      gpu_close(c);
      c = NULL;
    }
  }
  arena_free(a);
  return c;
}
