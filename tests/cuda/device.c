/* Runs the launches of a program's GPU part on the PTX interpreter; see device.h.
   The tables and the PTX are those that executables hold: gpu.c, compiled to a shared object. */
#define _GNU_SOURCE
#include "tests/cuda/device.h"

#include "codegen/build/process.h"
#include "codegen/gpu/emit.h"
#include "ptxi.h"
#include "tests/level.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Device {
  DeviceHead head;
  char *text;                  /* of the module */
  PtxModule *module, *instead; /* instead: whose kernels come first, or NULL */
  uint64_t most;               /* warp instructions of theirs; 0: any number */
} Device;

/* The least that an architecture from sm_80 on has for a block, which runs sm_80's PTX as well. */
enum { MAX_ARGS = 512, SHARED_EVERYWHERE = 99 * 1024 };

typedef struct Buffers {
  PtxBuf at[MAX_ARGS];
  size_t n;
} Buffers;

/* Of what lies in the arena it is known which bytes have been written. */
static void know_written(const Compiled *c, PtxBuf *b) {
  const char *arena = (const char *)c->region[GC_ARENA], *at = b->base;
  if (at < arena || at >= arena + c->bytes[GC_ARENA]) return;
  b->init = c->written;
  b->init_at = (size_t)(at - arena);
}

/* The argument that stands for the bytes; each is a buffer of its own, which no pointer of another
   argument's reaches, also where a result lies over an operand. */
static uint64_t add_buffer(Buffers *b, void *base, size_t size, unsigned rights, const char *name) {
  unsigned tag = b->n < PTX_TAGS ? (unsigned)b->n + 1 : 0;
  b->at[b->n++] = (PtxBuf){.base = base, .size = size, .rights = rights, .name = name, .tag = tag};
  return ptx_tagged(base, tag);
}

/* A later launch of the entry reads what this one writes: all of its blocks have to. */
static bool is_read_later(const Compiled *c, const GcStep *s) {
  const GcDeviceCode *code = c->program->code;
  for (int i = 0; i < c->program->nentries; i++) {
    const GcEntry *e = &c->program->entries[i];
    if (s < e->steps || s >= e->steps + e->nsteps) continue;
    for (const GcStep *t = s + 1; t < e->steps + e->nsteps; t++)
      for (int a = 0; a < s->nargs; a++)
        for (int b = 0; b < t->nargs; b++)
          if (code->rights[s->launch->kernel][a] & PTX_WRITE &&
              code->rights[t->launch->kernel][b] & PTX_READ &&
              s->args[a].region == t->args[b].region && s->args[a].offset == t->args[b].offset)
            return true;
  }
  return false;
}

/* Keeps the worst of what launches take and need, of those that take much. */
static void note_worst(uint64_t takes, uint64_t needs, uint64_t *worst, uint64_t *needed) {
  enum { MANY = 512 };
  if (takes < MANY || takes * *needed < *worst * needs) return;
  *worst = takes, *needed = needs;
}

/* Keeps the launches of which the model of time counts too much and too little. */
static void note_issue(DeviceHead *h, int kernel, const PtxResult *r, double blocks) {
  if (!h->issue || h->issue[kernel] <= 0) return;
  double ratio = (double)r->steps / (blocks * h->issue[kernel]);
  if (h->least <= 0 || ratio < h->least) h->least = ratio;
  if (ratio > h->most) h->most = ratio;
}

/* The tensor maps behind the other parameters, as the runtime makes them; returns the bytes of all.
 */
static size_t add_maps(uint64_t *params, size_t at, const GcLaunch *l, void *const *p) {
  at = (at + 63) & ~(size_t)63;
  for (int i = 0; i < l->nmaps; i++, at += PTX_TENSOR_BYTES) {
    const GcTensorMap *m = &l->maps[i];
    PtxTensor t = {.type = m->dtype == GC_F16   ? 6
                           : m->dtype == GC_F32 ? 11
                                                : 9,
                   .rank = GC_MAP_AXES,
                   .address = (uintptr_t)p[m->arg] + m->offset,
                   .step = {1, 1, 1, 1},
                   .swizzle = m->box[0] * (m->dtype == GC_F32 ? 4 : 2) == GC_MAP_SWIZZLE ? 3 : 0};
    for (int d = 0; d < GC_MAP_AXES; d++) t.size[d] = m->size[d], t.box[d] = m->box[d];
    for (int d = 0; d < GC_MAP_AXES - 1; d++) t.stride[d] = m->stride[d];
    const char *wrong = ptx_tensor_map(params + at / 8, &t);
    if (wrong) printf("a tensor map: %s\n", wrong);
  }
  return at;
}

static bool step(Compiled *c, const GcStep *s, void *const *p, const GcEnv *env) {
  Device *d = c->device;
  const GcDeviceCode *code = c->program->code;
  const GcLaunch *l = &s->launch[d->head.variant];
  const char *name = code->kernels[l->kernel];
  const PtxKernel *edited = d->instead ? ptx_module_find(d->instead, name) : NULL;
  const PtxKernel *k = edited ? edited : ptx_module_find(d->module, name);
  GcDeviceFault fault = {.site = -1};
  if (s == d->head.left_out || !l->grid) return true;
  GcEnv own = *env;
  _Alignas(64) uint64_t params[MAX_ARGS + MOST_CONSTANTS + (MOST_MAPS + 1) * PTX_TENSOR_BYTES / 8];
  char names[MAX_ARGS][8];
  Buffers b = {.n = 0};
  for (int i = 0; i < s->nargs; i++) {
    snprintf(names[i], sizeof names[i], "p%d", i);
    params[i] = add_buffer(&b, p[i], s->args[i].bytes, code->rights[l->kernel][i], names[i]);
  }
  params[s->nargs] = add_buffer(&b, &own, sizeof own, PTX_READ, "env");
  params[s->nargs + 1] = add_buffer(&b, &fault, sizeof fault, PTX_RW, "fault");
  for (int i = 0; i < l->nconstants; i++) params[s->nargs + 2 + i] = l->constants[i];
  for (size_t i = 0; i < b.n; i++) know_written(c, &b.at[i]);
  size_t params_size = 8 * (size_t)(s->nargs + 2 + l->nconstants);
  if (l->nmaps) params_size = add_maps(params, params_size, l, p);
  const bool whole = (d->head.whole && d->head.whole[l->kernel]) || is_read_later(c, s);
  PtxLaunch launch = {.grid = {l->grid, 1, 1},
                      .block = {l->block, 1, 1},
                      .dynamic_shared = l->shared,
                      .params = params,
                      .params_size = params_size,
                      .bufs = b.at,
                      .nbufs = b.n,
                      .checks = PTX_CHECK_ALL | (d->head.count ? PTX_COUNT : 0),
                      .order = d->head.order,
                      .some = d->head.some && whole ? 0 : d->head.some,
                      .ends = d->head.ends,
                      .max_steps = edited ? d->most : 0,
                      .max_reports = 4};
  PtxResult r = {0};
  PtxStatus status = PTX_REFUSED;
  if (!k)
    snprintf(r.error, sizeof r.error, "no such kernel");
  else if (!d->head.variant && l->shared + ptx_kernel_static_shared(k) > SHARED_EVERYWHERE)
    snprintf(r.error, sizeof r.error, "too much shared memory for sm_86");
  else
    status = ptx_launch(k, &launch, &r);
  const char *left = k ? ptx_kernel_leaves(k) : NULL;
  const bool some = launch.some && launch.some < (uint64_t)l->grid;
  if (status == PTX_OK && left && !some)
    snprintf(c->fault, sizeof c->fault, "%s leaves its memory changed: %.160s", name, left);
  if (status != PTX_OK)
    snprintf(c->fault, sizeof c->fault, "%s (%s): %.160s", name, s->name,
             r.count ? r.findings[0].text : r.error);
  if (status == PTX_OK && fault.site >= 0)
    snprintf(c->fault, sizeof c->fault, "index %lld at element %lld is not below %lld",
             (long long)fault.value, (long long)fault.at, (long long)fault.limit);
  note_worst(r.sectors, r.sectors_needed, &d->head.sectors, &d->head.sectors_needed);
  note_worst(r.turns, r.turns_needed, &d->head.turns, &d->head.turns_needed);
  note_issue(&d->head, l->kernel, &r, some ? (double)launch.some : (double)l->grid);
  ptx_result_free(&r);
  return !c->fault[0];
}

/* ---- from a module to devices ---- */

/* The program's tables as a shared object, as the C compiler makes them for executables. */
static bool make_object(CudaProgram *p, const char *dir, const CudaImage *image, int n,
                        const char *object) {
  Arena *a = p->g.a;
  const char **files = ARENA_ARRAY(a, const char *, n + 1);
  int nfiles = 0, code = 0;
  bool ok = cuda_unit(p, image, n, NULL, NULL, dir, files, &nfiles, &code);
  const char *include = arena_printf(a, "-I%s", p->g.opt->runtime_dir);
  const char *argv[] = {"cc", "-shared", "-fPIC", "-w", include, nfiles ? files[0] : "",
                        "-o", object,    NULL};
  char *text = "";
  ok = ok && process_run(argv, a, &text) == 0;
  if (!ok) printf("%s\n", text);
  for (int i = 0; i < nfiles; i++) unlink(files[i]);
  return ok;
}

/* The program's tables, loaded n times; false after printing why. */
static bool load_tables(CudaProgram *p, const CudaImage *image, int images, Compiled **out, int n) {
  char dir[] = "/tmp/gc-test-XXXXXX";
  if (!mkdtemp(dir)) return false;
  const char *object = arena_printf(p->g.a, "%s/p.so", dir);
  bool ok = make_object(p, dir, image, images, object);
  for (int i = 0; i < n && ok; i++) ok = (out[i] = compiled_load(object)) != NULL;
  unlink(object);
  rmdir(dir);
  return ok;
}

Compiled *device_tables(CudaProgram *p, const CudaImage *image, int n) {
  Compiled *c = NULL;
  load_tables(p, image, n, &c, 1);
  return c;
}

static void ptx_close(Compiled *c) {
  Device *d = c->device;
  ptx_module_free(d->module);
  if (d->instead) ptx_module_free(d->instead);
  free(d->text);
  free(d);
  compiled_close(c);
}

static const char *ptx_of(const CudaImage *image) {
  return (const char *)(image->ptx ? image->bytes : image->text);
}

/* Makes an interpreter with the PTX of the image out of the tables; false after printing why. */
static bool interpret(const CudaProgram *p, Compiled *c, const CudaImage *image, const char *name) {
  char err[512] = "";
  Device *d = calloc(1, sizeof *d);
  d->head = (DeviceHead){.arch = name, .close = ptx_close};
  d->head.variant = cuda_variant(image->arch);
  size_t size = image->ptx ? image->size : image->text_size;
  d->text = strdup(ptx_of(image));
  d->module = ptx_module_load(d->text, size - 1, err, sizeof err);
  c->device = d;
  c->step = step;
  c->written = calloc(c->bytes[GC_ARENA] / 8, 1); /* the size is a multiple of 64 */
  if (!d->module) printf("%s: the PTX is not run: %s\n", name, err);
  return d->module && !(p->g.opt->exact && uses_approximations(p, d->module, name));
}

Compiled *device_ptx(CudaProgram *p, const CudaImage *image) {
  Compiled *c = device_tables(p, image, 1);
  if (!c || interpret(p, c, image, image->arch)) return c;
  ptx_close(c);
  return NULL;
}

bool device_kernel(Compiled *c, const char *ptx, uint64_t most) {
  char err[512] = "";
  Device *d = c->device;
  if (d->instead) ptx_module_free(d->instead);
  d->instead = ptx ? ptx_module_load(ptx, strlen(ptx), err, sizeof err) : NULL;
  d->most = most;
  return !ptx || d->instead;
}

void device_free(Compiled *c) {
  if (c && c->device)
    ((DeviceHead *)c->device)->close(c);
  else
    compiled_close(c);
}

static int open_clang(CudaProgram *p, Compiled **out) {
  CudaImage image;
  if (!clang_compile(p->g.a, cuda_source(p, NULL), &image)) return 1;
  if (clang_errs(&image)) {
    printf("NOT TESTED: a module that clang is known to compile wrongly: it needs clang 21\n");
    return 0;
  }
  image.arch = "clang";
  return !(out[0] = device_ptx(p, &image));
}

/* The kernels on tensor cores, which are those with a pipeline in shared memory, or the others. */
static const bool *kernels_by(const CudaProgram *p, bool tensor, int *n) {
  bool *only = ARENA_ARRAY(p->g.a, bool, p->functions.n + 1);
  *n = 0;
  for (uint32_t i = 0; i < p->functions.n; i++) {
    const CudaFunction *f = &p->functions.at[i];
    only[i] = (f->shared || f->sm90a) == tensor;
    *n += only[i];
  }
  return only;
}

/* PTX of kernels on tensor cores with all of NVRTC's optimiser, where the others have less: their
   registers stay where wgmma leaves them by it alone. NULL: there are none, or they do not compile.
 */
static const char *tensor_ptx(CudaProgram *p, const char *arch, const char *source, int *bad) {
  static const char options[] = "GC_NVRTC_OPTIONS";
  char *less = strdup(getenv(options));
  CudaImage image;
  int code = 0;
  unsetenv(options);
  bool made = nvrtc_compile(p->g.ctx, p->g.a, cuda_cache(), source, &arch, 1, &image, &code);
  setenv(options, less, 1);
  free(less);
  *bad += !made;
  return made ? ptx_of(&image) : NULL;
}

/* Cubins with their PTX, or PTX alone: for one of the architectures, which the source and the
   commit draw, but at the level full. */
static int open_nvrtc(CudaProgram *p, DeviceKind kind, Compiled **out) {
  static const char *const virtual_archs[ARCHS] = {"compute_80", "compute_100", "compute_90a"};
  CudaImage image[ARCHS + 1], *own[ARCHS];
  const char *source = cuda_source(p, NULL); /* which also draws the architecture */
  const bool cubins = kind == DEVICE_NVRTC, sm90a = kind == DEVICE_SM90A;
  const bool one = sm90a || !level_is_full();
  const int first = sm90a ? ARCHS - 1 : one ? cuda_arch_taken(source) : 0;
  const int archs = one ? 1 : ARCHS;
  int code = 0, n = 0, images = archs, tensor = 0, others = 0;
  const bool *by_tensor = kernels_by(p, true, &tensor), *by_others = kernels_by(p, false, &others);
  const bool apart = !cubins && one && tensor && getenv("GC_NVRTC_OPTIONS");
  if (apart) source = cuda_source(p, by_others);
  bool made = cubins ? cuda_images(p, cuda_archs + first, archs, image, &images, &code)
                     : nvrtc_compile(p->g.ctx, p->g.a, cuda_cache(), source, virtual_archs + first,
                                     archs, image, &code);
  int bad = !made;
  for (int i = 0; cubins && i < archs && !bad; i++)
    bad += uses_spills(p, &image[i], p->functions.n);
  for (int i = archs - 1, k; i >= 0 && !bad; i--) { /* later ones also wait for other grids */
    for (k = 0; k < n; k++)
      if (ptx_same(ptx_of(own[k]), ptx_of(&image[i]))) break;
    if (k == n) own[n++] = &image[i];
  }
  bad = bad || !load_tables(p, image, images, out, n);
  for (int i = 0; i < n && !bad; i++) bad += !interpret(p, out[i], own[i], own[i]->arch);
  if (apart && !bad) {
    const char *ptx = tensor_ptx(p, virtual_archs[first], cuda_source(p, by_tensor), &bad);
    bad += !ptx || !device_kernel(out[0], ptx, 0);
  }
  return bad;
}

int devices_open(Module *m, const Target *t, const CodegenOptions *o, DeviceKind kind,
                 Compiled **out) {
  for (int i = 0; i < DEVICES; i++) out[i] = NULL;
  if (kind == DEVICE_DRIVER) return !(out[0] = gpu_open(m, t, o));
  Arena *a = arena_new();
  CudaProgram *p = cuda_program(m, t, o, a);
  int bad = kind == DEVICE_CLANG ? open_clang(p, out) : open_nvrtc(p, kind, out);
  arena_free(a);
  return bad;
}

void devices_close(Compiled **c) {
  for (int i = 0; i < DEVICES; i++) device_free(c[i]);
}

void device_order(Compiled *c, unsigned order) { ((DeviceHead *)c->device)->order = order; }

const char *device_text(const Compiled *c) { return ((Device *)c->device)->text; }

const char *device_arch(const Compiled *c) { return ((DeviceHead *)c->device)->arch; }
