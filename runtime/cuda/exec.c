/* An entry on the device, before and after its steps: what its launches are given, what the host
   sees, opening and closing. Contract: the results that are read are always those of the step that
   was asked for; see step.c. */
#include "runtime/cuda/cuda.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_OWN = 1, EVENT_UNTIMED = 2 };

/* ---- what is settled before the run ---- */

const GcTensor *cuda_counter(const GcProgram *p) {
  for (int i = 0; i < p->nglobals; i++)
    if (is_step_counter(&p->globals[i])) return &p->globals[i].t;
  return NULL;
}

CuAddress cuda_address(const Cuda *c, int q, GcRegion region, uint64_t offset) {
  CuAddress base = region == GC_INPUTS     ? c->block[q] + INPUTS_AT
                   : region == GC_PREPARED ? c->block[q] + c->sizes.inputs
                                           : c->region[region];
  return base + offset;
}

/* Of the launches of an entry: parameters, and tensor maps among them; the most of one launch. */
typedef struct ParamCount {
  uint64_t params, maps;
  int args, most_maps, most_others; /* most_others: constants and maps */
} ParamCount;

static ParamCount count_params(const Cuda *c, const GcEntry *e) {
  ParamCount n = {0};
  for (int i = 0; i < e->nsteps; i++) {
    const GcLaunch *l = cuda_launch_of(c, &e->steps[i]);
    const int args = e->steps[i].nargs, maps = l->nmaps;
    n.params += (uint64_t)(args + 2 + l->nconstants + maps);
    n.maps += (uint64_t)maps;
    if (args > n.args) n.args = args;
    if (l->nconstants + maps > n.most_others) n.most_others = l->nconstants + maps;
    if (maps > n.most_maps) n.most_maps = maps;
  }
  return n;
}

/* The driver reads what parameters point to, and copies it. */
void cuda_constants(const GcLaunch *l, void **params) {
  for (int i = 0; i < l->nconstants; i++) params[i] = (void *)(uintptr_t)&l->constants[i];
}

bool cuda_encode_maps(Cuda *c, const GcLaunch *l, const CuAddress *address, uint8_t *maps,
                      void **params) {
  enum { F16 = 6, BF16 = 9, TF32 = 11, SWIZZLE_128 = 3, PROMOTE_128 = 2 };
  static const int types[] = {[GC_F16] = F16, [GC_BF16] = BF16, [GC_F32] = TF32};
  static const uint32_t steps[GC_MAP_AXES] = {1, 1, 1, 1};
  for (int i = 0; i < l->nmaps; i++) {
    const GcTensorMap *m = &l->maps[i];
    const uint32_t row = m->box[0] * (m->dtype == GC_F32 ? 4 : 2);
    params[i] = maps + (size_t)TENSOR_MAP * (size_t)i;
    if (!CUDA_CALL(c, TensorMapEncode, params[i], types[m->dtype], GC_MAP_AXES,
                   address[m->arg] + m->offset, m->size, m->stride, m->box, steps, 0,
                   row == GC_MAP_SWIZZLE ? SWIZZLE_128 : 0, PROMOTE_128, 0))
      return false;
  }
  return true;
}

static bool make_moved(CudaExec *x, ParamCount n) {
  const GcEntry *e = x->base.entry;
  const int most = n.args;
  x->maps = aligned_alloc(TENSOR_MAP_ALIGN,
                          TENSOR_MAP * (BLOCKS * (size_t)n.maps + (size_t)n.most_maps + 1));
  x->moved_maps = x->maps ? x->maps + TENSOR_MAP * BLOCKS * n.maps : NULL;
  x->moved = calloc((size_t)most + 2, sizeof *x->moved);
  x->moved_params = calloc((size_t)(most + 2 + n.most_others), sizeof *x->moved_params);
  x->at = calloc((size_t)e->depth + 1, sizeof *x->at);
  for (int a = 0; x->moved && x->moved_params && a < most + 2; a++)
    x->moved_params[a] = &x->moved[a];
  return x->maps && x->moved && x->moved_params && x->at;
}

/* NULL or not resolved(): no memory, or a call has failed and said so. */
static CudaExec *resolve(Cuda *c, const GcEntry *e) {
  const ParamCount count = count_params(c, e);
  uint64_t n = BLOCKS * count.params;
  CudaExec *x = calloc(1, sizeof *x);
  if (!x) return NULL;
  x->base.entry = e;
  const GcProgram *p = c->base.program;
  x->plain = e == p->init || e == p->gather; /* they run seldom */
  x->slots = x->plain ? NULL : cuda_slots(e);
  x->counted = e->training && cuda_counter(p);
  x->addresses = calloc(n + 1, sizeof *x->addresses);
  x->params = calloc(n + 1, sizeof *x->params);
  uint64_t at = 0, maps = 0;
  if (!make_moved(x, count)) return x;
  for (int q = 0; q < BLOCKS; q++) {
    x->launches[q] = calloc((size_t)e->nsteps + 1, sizeof *x->launches[q]);
    if (!x->launches[q] || !x->addresses || !x->params) return x;
    for (int i = 0; i < e->nsteps; i++) {
      const GcStep *s = &e->steps[i];
      const GcLaunch *l = cuda_launch_of(c, s);
      CuAddress *first = &x->addresses[at];
      x->launches[q][i] =
          (CudaLaunch){.function = c->functions[l->kernel], .params = x->params + at};
      for (int a = 0; a < s->nargs; a++)
        x->addresses[at + (uint64_t)a] = cuda_address(c, q, s->args[a].region, s->args[a].offset);
      x->addresses[at + (uint64_t)s->nargs] = c->block[q];
      x->addresses[at + (uint64_t)s->nargs + 1] =
          c->fault + (i < e->ahead ? (CuAddress)(FAULT_BYTES * (1 + q)) : 0);
      for (int a = 0; a < s->nargs + 2; a++, at++) x->params[at] = &x->addresses[at];
      cuda_constants(l, x->params + at);
      at += (uint64_t)l->nconstants;
      x->mapped = cuda_encode_maps(c, l, first, x->maps + TENSOR_MAP * maps, x->params + at);
      if (!x->mapped) return x;
      at += (uint64_t)l->nmaps, maps += (uint64_t)l->nmaps;
    }
  }
  return x;
}

static bool resolved(const CudaExec *x) {
  return x && x->addresses && x->params && x->at && x->launches[BLOCKS - 1] &&
         (x->mapped || !x->base.entry->nsteps) && (x->plain || x->slots);
}

static void exec_free(CudaExec *x) {
  if (!x) return;
  for (int q = 0; q < BLOCKS; q++) free(x->launches[q]), free(x->waits[q]);
  free(x->addresses);
  free(x->params);
  free(x->maps);
  free(x->moved);
  free(x->moved_params);
  free(x->at);
  free(x->slots);
  free(x);
}

static bool make_streams(Cuda *c) {
  bool ok = CUDA_CALL(c, StreamCreate, &c->compute, STREAM_OWN) &&
            CUDA_CALL(c, StreamCreate, &c->copy, STREAM_OWN);
  for (int q = 0; ok && q < BLOCKS; q++)
    ok = CUDA_CALL(c, EventCreate, &c->copied[q], EVENT_UNTIMED) &&
         CUDA_CALL(c, EventCreate, &c->done[q], EVENT_UNTIMED);
  return ok;
}

bool cuda_walk(CudaExec *x, int first, int end, const int32_t *extents, LoopVisit *visit,
               void *arg) {
  const GcEntry *e = x->base.entry;
  int32_t bounds[GC_EXTENTS] = {0};
  for (int i = 0; i < e->nextents; i++) bounds[i] = (int32_t)e->extents[i].bound;
  return loops_walk(&(LoopWalk){.entry = e,
                                .visit = visit,
                                .arg = arg,
                                .at = x->at,
                                .extents = extents ? extents : bounds,
                                .first = first,
                                .end = end});
}

static bool fill_counts(Cuda *c) {
  uint64_t bytes = c->sizes.counts;
  if (!bytes) return true;
  int32_t *count = malloc(bytes);
  if (!count) return err_set(c->err, EXIT_ENV, "no memory for the counts of loops");
  for (uint64_t i = 0; i < bytes / sizeof *count; i++) count[i] = (int32_t)i;
  bool ok = CUDA_CALL(c, MemcpyHtoDAsync, c->region[GC_COUNTS], count, bytes, c->compute);
  free(count);
  return ok;
}

static bool cuda_clear_fault(Session *s, Err *e) {
  const GcDeviceFault none = {.site = -1};
  Cuda *c = cuda_of(s);
  bool ok = true;
  Err *was = cuda_set_sink(c, e);
  for (int i = 0; ok && i < FAULTS; i++)
    ok = CUDA_CALL(c, MemcpyHtoDAsync, c->fault + (CuAddress)(i * FAULT_BYTES), &none, sizeof none,
                   c->compute);
  return cuda_restore_sink(c, was, ok);
}

static bool cuda_upload_hypers(Session *s, Err *e) {
  Cuda *c = cuda_of(s);
  uint64_t bytes = 4 * (uint64_t)s->program->nhypers;
  Err *was = cuda_set_sink(c, e);
  bool ok = !bytes || CUDA_CALL(c, MemcpyHtoDAsync, c->region[GC_HYPERS],
                                s->memory.region[GC_HYPERS], bytes, c->compute);
  return cuda_restore_sink(c, was, ok);
}

/* Globals begin as zeros, as they do on the CPU, whose pages do. Copies from ordinary memory have
   read it when they return. */
static bool zero(Session *s) {
  Cuda *c = cuda_of(s);
  return fill_counts(c) &&
         CUDA_CALL(c, MemsetD8, c->region[GC_GLOBALS], 0, c->sizes.globals, c->compute) &&
         cuda_clear_fault(s, c->err) && cuda_upload_hypers(s, c->err);
}

static Exec *add_exec(Cuda *c, const GcEntry *e) {
  CudaExec *x = c->execs[c->nexecs++] = resolve(c, e);
  return resolved(x) ? &x->base : NULL;
}

static bool has_collectives(const GcEntry *e, int n) {
  bool any = false;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < e[i].nsteps; k++) any |= e[i].steps[k].collective != NULL;
  return any;
}

static bool prepare(Session *s, Err *e) {
  Cuda *c = cuda_of(s);
  const SessionPlan *p = &s->plan;
  const bool talks = p->program->gather || has_collectives(p->entries, p->n);
  if (talks && !nccl_find(c, e)) return false;
  if (!cuda_allocate(c, p->entries, p->n, e) || !make_streams(c)) return false;
  c->globals = s->memory.region[GC_GLOBALS];
  c->counter = -1;
  c->execs = calloc((size_t)p->n + 2, sizeof(CudaExec *));
  bool ok = c->execs;
  for (int i = 0; i < p->n && ok; i++) {
    s->entries[i] = add_exec(c, &p->entries[i]);
    ok = s->entries[i] != NULL;
  }
  if (ok && p->program->init) {
    s->init = add_exec(c, p->program->init);
    ok = s->init != NULL;
  }
  if (ok && p->program->gather) {
    s->gather = add_exec(c, p->program->gather);
    ok = s->gather != NULL;
  }
  if (!ok) return err_set(e, EXIT_ENV, "no memory for the tables of the program's steps");
  for (int i = 0; ok && i < c->nexecs && !c->hosted; i++) ok = waits_make(c, c->execs[i]);
  return ok && branches_make(c) && (!s->trace || trace_make_events(c, c->execs[0]));
}

static bool cuda_prepare(Session *s, Err *e) {
  Cuda *c = cuda_of(s);
  Err *was = cuda_set_sink(c, e);
  return cuda_restore_sink(c, was, prepare(s, e));
}

static bool cuda_start(Session *s, Err *e) {
  Cuda *c = cuda_of(s);
  Err *was = cuda_set_sink(c, e);
  return cuda_restore_sink(c, was, zero(s));
}

/* ---- what the host sees ---- */

static void *cuda_at(const Session *s, const GcTensor *t) {
  const Cuda *c = cuda_of(s);
  if (t->planned) t = t->planned;
  for (int x = 0; x < c->nexecs; x++)
    for (int i = 0; c->execs[x]->slots && i < c->execs[x]->base.entry->noutputs; i++)
      if (t == &c->execs[x]->base.entry->outputs[i])
        return c->results[c->shown_results] + c->execs[x]->slots[i];
  if (t->region == GC_INPUTS) return c->host_block[c->current] + INPUTS_AT + t->offset;
  return c->globals + t->offset;
}

static bool cuda_download(Session *s, Err *e) {
  Cuda *c = cuda_of(s);
  if (c->downloaded || !s->program->globals_bytes) return true;
  Err *was = cuda_set_sink(c, e);
  c->downloaded = CUDA_CALL_FOR(c, "the weights", MemcpyDtoH, c->globals, c->region[GC_GLOBALS],
                                s->program->globals_bytes);
  return cuda_restore_sink(c, was, c->downloaded);
}

static bool cuda_upload(Session *s, Err *e) {
  Cuda *c = cuda_of(s);
  c->counter = -1;
  Err *was = cuda_set_sink(c, e);
  bool ok = !s->program->globals_bytes ||
            CUDA_CALL_FOR(c, "the weights", MemcpyHtoDAsync, c->region[GC_GLOBALS], c->globals,
                          s->program->globals_bytes, c->compute);
  return cuda_restore_sink(c, was, ok);
}

static void cuda_describe(const Session *s, char *out, size_t size) {
  snprintf(out, size, "%s", cuda_of(s)->name);
}

/* ---- open and close ---- */

Device *cuda_open(const GcProgram *p, int ordinal, DeviceUse use, Err *e) {
  Cuda *c = calloc(1, sizeof *c);
  if (!c) {
    err_set(e, EXIT_ENV, "no memory to use a device");
    return NULL;
  }
  c->base = (Device){.ops = &cuda_device, .program = p};
  c->hosted = use == DEVICE_HOST;
  Err *was = cuda_set_sink(c, e);
  bool ok = cuda_attach(c, ordinal, e) && (use == DEVICE_LOOK || cuda_load(c, e));
  if (cuda_restore_sink(c, was, ok)) return &c->base;
  cuda_close(&c->base, e);
  return NULL;
}

bool cuda_close(Device *d, Err *e) {
  Cuda *c = (Cuda *)(void *)d;
  cuda_set_sink(c, e); /* to the end */
  const GcComm *with = c->nccl.with;
  nccl_leave(c, !d->broken && (c->hosted ? !with || !with->failure : !e->code));
  const bool hangs = c->nccl.hangs;
  if (!hangs && c->hosted && c->retained && (c->entered || cuda_enter(d, e))) {
    cuda_release(c);
    cuda_leave(d);
  }
  if (!hangs && (!d->broken || c->hosted))
    cuda_detach(c); /* if no one else has the context, all goes with it */
  bool ok = !d->broken;
  branches_free(c);
  for (int i = 0; i < c->nexecs; i++) exec_free(c->execs[i]);
  free(c->execs);
  free(c->trace_events);
  free(c->looked);
  free(c->functions);
  free(c);
  return ok;
}

const DeviceOps cuda_device = {.open = cuda_open,
                               .close = cuda_close,
                               .enter = cuda_enter,
                               .leave = cuda_leave,
                               .look = cuda_look,
                               .memory = cuda_memory,
                               .prepare = cuda_prepare,
                               .join = nccl_join,
                               .start = cuda_start,
                               .run = cuda_run,
                               .fill = cuda_fill,
                               .at = cuda_at,
                               .download = cuda_download,
                               .upload = cuda_upload,
                               .upload_hypers = cuda_upload_hypers,
                               .clear_fault = cuda_clear_fault,
                               .describe = cuda_describe};
