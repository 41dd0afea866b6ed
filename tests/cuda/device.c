/* Runs the launches of a program's GPU part on the PTX interpreter; see device.h.
   The tables and the PTX are those that executables hold: gpu.c, compiled to a shared object. */
#define _GNU_SOURCE
#include "tests/cuda/device.h"

#include "codegen/cuda/emit.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/process.h"
#include "ptxi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Device {
  PtxModule *module;
  unsigned order;
} Device;

enum { MAX_ARGS = 512 };

typedef struct Buffers {
  PtxBuf at[MAX_ARGS];
  size_t n;
} Buffers;

/* What overlaps, since a result lies over an operand, is one buffer with the rights of both. */
static void add_buffer(Buffers *b, char *base, size_t size, unsigned rights, const char *name) {
  for (size_t i = 0; i < b->n; i++) {
    PtxBuf *o = &b->at[i];
    char *start = o->base;
    if (base >= start + o->size || start >= base + size) continue;
    char *end = base + size > start + o->size ? base + size : start + o->size;
    base = base < start ? base : start;
    size = (size_t)(end - base);
    rights |= o->rights;
    *o = b->at[--b->n];
    i = (size_t)-1;
  }
  b->at[b->n++] = (PtxBuf){.base = base, .size = size, .rights = rights, .name = name};
}

static bool step(Compiled *c, const GcStep *s, void *const *p, const GcEnv *env) {
  Device *d = c->device;
  const GcCuda *code = c->program->cuda;
  const GcLaunch *l = s->launch;
  const PtxKernel *k = ptx_module_find(d->module, code->kernels[l->kernel]);
  GcDeviceFault fault = {.input = -1};
  GcEnv own = *env;
  uint64_t params[MAX_ARGS];
  Buffers b = {.n = 0};
  for (int i = 0; i < s->nargs; i++) {
    char *at = p[i];
    params[i] = (uint64_t)(uintptr_t)at;
    add_buffer(&b, at, s->args[i].bytes, code->rights[l->kernel][i], "an argument");
  }
  params[s->nargs] = (uint64_t)(uintptr_t)&own;
  params[s->nargs + 1] = (uint64_t)(uintptr_t)&fault;
  add_buffer(&b, (char *)&own, sizeof own, PTX_READ, "env");
  add_buffer(&b, (char *)&fault, sizeof fault, PTX_RW, "fault");
  PtxLaunch launch = {.grid = {l->grid, 1, 1},
                      .block = {l->block, 1, 1},
                      .dynamic_shared = l->shared,
                      .params = params,
                      .params_size = 8 * (size_t)(s->nargs + 2),
                      .bufs = b.at,
                      .nbufs = b.n,
                      .checks = PTX_CHECK_ALL,
                      .order = d->order,
                      .max_reports = 4};
  PtxResult r = {0};
  PtxStatus status = PTX_REFUSED;
  if (k)
    status = ptx_launch(k, &launch, &r);
  else
    snprintf(r.error, sizeof r.error, "no such kernel");
  if (status != PTX_OK)
    snprintf(c->fault, sizeof c->fault, "%s (%s): %.160s", code->kernels[l->kernel], s->name,
             r.count ? r.findings[0].text : r.error);
  if (status == PTX_OK && fault.input >= 0)
    snprintf(c->fault, sizeof c->fault, "index %lld at row %lld is not below %lld",
             (long long)fault.value, (long long)fault.row, (long long)fault.limit);
  ptx_result_free(&r);
  return !c->fault[0];
}

static const GcImage *ptx_of(const GcCuda *code) {
  for (int i = 0; i < code->nimages; i++)
    if (strncmp(code->images[i].arch, "compute_", 8) == 0) return &code->images[i];
  return NULL;
}

static Compiled *open_object(const char *object, bool *calls) {
  Compiled *c = compiled_load(object);
  if (!c) return NULL;
  const GcImage *ptx = ptx_of(c->program->cuda);
  char err[512] = "";
  Device *d = calloc(1, sizeof *d);
  d->module = ptx ? ptx_module_load((const char *)ptx->data, ptx->size - 1, err, sizeof err) : NULL;
  if (!d->module) {
    *calls = strstr(err, "a function is called") != NULL;
    printf("the PTX is not run: %s\n", err);
    free(d);
    compiled_close(c);
    return NULL;
  }
  c->device = d;
  c->step = step;
  return c;
}

Compiled *device_open(Module *m, const Target *t, const CodegenOptions *o, bool *calls) {
  static const char *const arch[] = {"sm_80"};
  CodegenGpu gpu = {.m = m, .target = t, .arch = arch, .narch = 1};
  CodegenOptions co = *o;
  co.gpu = &gpu;
  char dir[] = "/tmp/gc-test-XXXXXX";
  if (!mkdtemp(dir)) return NULL;
  Arena *a = arena_new();
  const char *files[4], *stub = arena_printf(a, "%s/cpu.c", dir),
                        *object = arena_printf(a, "%s/p.so", dir);
  int nfiles = 0, code = 0;
  *calls = false;
  bool ok = codegen_cuda_unit(&co, dir, files, &nfiles, &code);
  FILE *f = fopen(stub, "w");
  if (f) fputs("#include \"gcrt.h\"\nconst GcProgram " CPU_PROGRAM ";\n", f), fclose(f);
  const char *argv[] = {"cc",
                        "-shared",
                        "-fPIC",
                        "-w",
                        arena_printf(a, "-I%s", o->runtime_dir),
                        nfiles ? files[0] : "",
                        stub,
                        "-o",
                        object,
                        NULL};
  char *text = "";
  Compiled *c = NULL;
  if (ok && process_run(argv, a, &text) == 0)
    c = open_object(object, calls);
  else
    printf("%s\n", text);
  for (int i = 0; i < nfiles; i++) unlink(files[i]);
  unlink(stub);
  unlink(object);
  rmdir(dir);
  arena_free(a);
  return c;
}

void device_close(Compiled *c) {
  if (!c) return;
  Device *d = c->device;
  ptx_module_free(d->module);
  free(d);
  compiled_close(c);
}

void device_order(Compiled *c, unsigned order) { ((Device *)c->device)->order = order; }

int device_spills(Module *m, const Target *t, const CodegenOptions *o, const char *const *arch,
                  int n) {
  Arena *a = arena_new();
  CudaProgram *p = cuda_program(m, t, o, a);
  CudaImage *image = ARENA_ARRAY(a, CudaImage, n + 1);
  int code = 0, bad = 0;
  if (!nvrtc_compile(m->ctx, a, p->source, arch, n, image, &code)) bad = 1;
  for (int i = 0; i < n && !bad; i++) {
    CudaUses uses = {0};
    nvrtc_uses(&image[i], a, &uses);
    if (uses.at.n != p->functions.n) {
      printf("%s: %u kernels, not %u\n", arch[i], uses.at.n, p->functions.n);
      bad++;
    }
    for (uint32_t k = 0; k < uses.at.n; k++) {
      const CudaUse *u = &uses.at.at[k];
      if (!u->spill) continue; /* a stack alone is an array of CUDA's own f64 sin and cos */
      printf("%s %s: %d bytes of spills, %d of stack, %d registers\n", arch[i], u->kernel, u->spill,
             u->stack, u->registers);
      bad++;
    }
  }
  arena_free(a);
  return bad;
}
