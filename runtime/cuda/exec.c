/* Runs an entry on the device: a step is a copy of its block, a graph of its kernels, and a copy of
   its results. Contract: each call waits for one step; where the caller says what comes next, that
   step is queued before the wait, so that the device never idles and a batch is gathered and copied
   while another runs; the results that are read are always those of the step that was asked for.
   --poison and --profile launch kernel by kernel, in one stream. A loop is unrolled as its launches
   are queued: each gets the addresses of its iteration as they are then, and a graph keeps them. */
#include "runtime/cuda/cuda.h"
#include "runtime/exec/loops.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_OWN = 1, EVENT_UNTIMED = 2, CAPTURE_THREAD = 1 };

static Cuda *cuda_of(const Session *s) { return (Cuda *)(void *)s->device; }

/* ---- what is settled before the run ---- */

static const GcTensor *counter_of(const GcProgram *p) {
  for (int i = 0; i < p->nglobals; i++)
    if (is_step_counter(&p->globals[i])) return &p->globals[i].t;
  return NULL;
}

static CuAddress address(const Cuda *c, int q, GcRegion region, uint64_t offset) {
  return (region == GC_INPUTS ? c->block[q] + INPUTS_AT : c->region[region]) + offset;
}

static const GcLaunch *launch_of(const Cuda *c, const GcStep *s) { return &s->launch[c->variant]; }

/* Of the launches of an entry: parameters, and tensor maps among them; the most of one launch. */
typedef struct ParamCount {
  uint64_t params, maps;
  int args, most_maps;
} ParamCount;

static ParamCount count_params(const Cuda *c, const GcEntry *e) {
  ParamCount n = {0};
  for (int i = 0; i < e->nsteps; i++) {
    const int args = e->steps[i].nargs, maps = launch_of(c, &e->steps[i])->nmaps;
    n.params += (uint64_t)(args + 2 + maps);
    n.maps += (uint64_t)maps;
    if (args > n.args) n.args = args;
    if (maps > n.most_maps) n.most_maps = maps;
  }
  return n;
}

/* The maps of a launch with these addresses, and pointers to them. */
static bool encode_maps(Cuda *c, const GcLaunch *l, const CuAddress *address, uint8_t *maps,
                        void **params) {
  enum { F16 = 6, BF16 = 9, SWIZZLE_128 = 3, PROMOTE_128 = 2, BYTES = 2 };
  static const uint32_t steps[3] = {1, 1, 1};
  for (int i = 0; i < l->nmaps; i++) {
    const GcTensorMap *m = &l->maps[i];
    const uint64_t row = m->row * BYTES, strides[2] = {row, row * m->size[1]};
    params[i] = maps + (size_t)TENSOR_MAP * (size_t)i;
    if (!CUDA_CALL(c, TensorMapEncode, params[i], m->dtype == GC_F16 ? F16 : BF16, 3,
                   address[m->arg], m->size, strides, m->box, steps, 0, SWIZZLE_128, PROMOTE_128,
                   0))
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
  x->moved_params = calloc((size_t)(most + 2 + n.most_maps), sizeof *x->moved_params);
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
  x->plain = e == c->base.program->init; /* it runs once */
  x->slots = x->plain ? NULL : cuda_slots(e);
  x->counted = e->training && counter_of(c->base.program);
  x->addresses = calloc(n + 1, sizeof *x->addresses);
  x->params = calloc(n + 1, sizeof *x->params);
  uint64_t at = 0, maps = 0;
  if (!make_moved(x, count)) return x;
  for (int q = 0; q < BLOCKS; q++) {
    x->launches[q] = calloc((size_t)e->nsteps + 1, sizeof *x->launches[q]);
    if (!x->launches[q] || !x->addresses || !x->params) return x;
    for (int i = 0; i < e->nsteps; i++) {
      const GcStep *s = &e->steps[i];
      const GcLaunch *l = launch_of(c, s);
      CuAddress *first = &x->addresses[at];
      x->launches[q][i] =
          (CudaLaunch){.function = c->functions[l->kernel], .params = x->params + at};
      for (int a = 0; a < s->nargs; a++)
        x->addresses[at + (uint64_t)a] = address(c, q, s->args[a].region, s->args[a].offset);
      x->addresses[at + (uint64_t)s->nargs] = c->block[q];
      x->addresses[at + (uint64_t)s->nargs + 1] = c->fault;
      for (int a = 0; a < s->nargs + 2; a++, at++) x->params[at] = &x->addresses[at];
      x->mapped = encode_maps(c, l, first, x->maps + TENSOR_MAP * maps, x->params + at);
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
  for (int q = 0; q < BLOCKS; q++) free(x->launches[q]);
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

static bool count_launch(void *arg, int step, int loop, const int64_t *at) {
  (void)loop, (void)at;
  *(int *)arg += step >= 0;
  return true;
}

static bool go_through(CudaExec *x, LoopVisit *visit, void *arg) {
  return loops_walk(&(LoopWalk){.entry = x->base.entry, .visit = visit, .arg = arg, .at = x->at});
}

static bool make_trace_events(Cuda *c, CudaExec *x) {
  int n = 0;
  (void)go_through(x, count_launch, &n);
  c->trace_events = calloc((size_t)n + 1, sizeof *c->trace_events);
  if (!c->trace_events) return err_set(c->err, EXIT_ENV, "no memory for the profile");
  for (int i = 0; i <= n; i++)
    if (!CUDA_CALL(c, EventCreate, &c->trace_events[i], 0)) return false;
  return true;
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
  Err *was = cuda_set_sink(c, e);
  return cuda_restore_sink(c, was,
                           CUDA_CALL(c, MemcpyHtoDAsync, c->fault, &none, sizeof none, c->compute));
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

static bool prepare(Session *s, Err *e) {
  Cuda *c = cuda_of(s);
  const SessionPlan *p = &s->plan;
  if (!cuda_allocate(c, p->entries, p->n, e) || !make_streams(c)) return false;
  c->globals = s->memory.region[GC_GLOBALS];
  c->execs = calloc((size_t)p->n + 1, sizeof(CudaExec *));
  bool ok = c->execs;
  for (int i = 0; i < p->n && ok; i++) {
    s->entries[i] = add_exec(c, &p->entries[i]);
    ok = s->entries[i] != NULL;
  }
  if (ok && p->program->init) {
    s->init = add_exec(c, p->program->init);
    ok = s->init != NULL;
  }
  if (!ok) return err_set(e, EXIT_ENV, "no memory for the tables of the program's steps");
  return branches_make(c) && (!s->trace || make_trace_events(c, c->execs[0]));
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

/* ---- one step ---- */

/* The parameters of a step in this iteration; the driver copies them as it takes the launch. NULL
   after a call that failed. */
static void **params_of(Cuda *c, const CudaExec *x, int q, int i, const int64_t *at) {
  const GcStep *s = &x->base.entry->steps[i];
  void **params = x->launches[q][i].params;
  if (!loops_moves(s)) return params;
  for (int a = 0; a < s->nargs + 2; a++) {
    x->moved[a] = *(const CuAddress *)params[a];
    if (a < s->nargs) x->moved[a] += (CuAddress)loops_shift(&s->args[a], at, x->base.entry->depth);
  }
  bool ok =
      encode_maps(c, launch_of(c, s), x->moved, x->moved_maps, x->moved_params + s->nargs + 2);
  return ok ? x->moved_params : NULL;
}

static bool launch(Cuda *c, const CudaExec *x, int q, int i, const int64_t *at, CuStream stream) {
  const GcStep *s = &x->base.entry->steps[i];
  const GcLaunch *l = launch_of(c, s);
  void **params = params_of(c, x, q, i, at);
  const CudaLaunch *m = &x->launches[q][i];
  char what[256];
  snprintf(what, sizeof what, "%s (%s)", s->name ? s->name : "", s->loc ? s->loc : "");
  return params && CUDA_CALL_FOR(c, what, LaunchKernel, m->function, l->grid, 1, 1, l->block, 1, 1,
                                 l->shared, stream, params, NULL);
}

static bool set_counter(Cuda *c, const CudaExec *x, int q) {
  if (!x->counted) return true;
  const GcTensor *t = counter_of(c->base.program);
  return CUDA_CALL(c, MemcpyDtoDAsync, c->block[q] + offsetof(GcEnv, step),
                   c->region[GC_GLOBALS] + t->offset, sizeof(uint64_t), c->compute);
}

static bool read_back(Cuda *c, const CudaExec *x, int q) {
  const GcEntry *e = x->base.entry;
  bool ok =
      CUDA_CALL(c, MemcpyDtoHAsync, c->results[q], c->fault, sizeof(GcDeviceFault), c->compute);
  for (int i = 0; ok && x->slots && i < e->noutputs; i++) {
    const GcTensor *t = &e->outputs[i];
    ok = !t->bytes || CUDA_CALL_FOR(c, t->name, MemcpyDtoHAsync, c->results[q] + x->slots[i],
                                    address(c, q, t->region, t->offset), t->bytes, c->compute);
  }
  return ok;
}

typedef struct LaunchWalk { /* through the launches of an entry */
  Cuda *c;
  const CudaExec *x;
  int q, event;
} LaunchWalk;

static bool go_plain(void *arg, int step, int loop, const int64_t *at) {
  const LaunchWalk *w = arg;
  if (loop >= 0) return branch_leave_loop(w->c, w->x, loop);
  return branch_enter(w->c, w->x, step) &&
         launch(w->c, w->x, w->q, step, at,
                branch_of(w->c, w->x->base.entry->steps[step].stream)) &&
         branch_leave(w->c, w->x, step);
}

static bool run_plain(Cuda *c, CudaExec *x, int q) {
  LaunchWalk w = {c, x, q, 0};
  return set_counter(c, x, q) && branches_fork(c, x) && go_through(x, go_plain, &w) &&
         branches_join(c, x) && read_back(c, x, q);
}

static bool go_traced(void *arg, int step, int loop, const int64_t *at) {
  LaunchWalk *w = arg;
  if (loop >= 0) return true;
  return launch(w->c, w->x, w->q, step, at, w->c->compute) &&
         CUDA_CALL(w->c, EventRecord, w->c->trace_events[++w->event], w->c->compute);
}

static bool run_traced(Cuda *c, CudaExec *x, int q) {
  LaunchWalk w = {c, x, q, 0};
  return set_counter(c, x, q) && CUDA_CALL(c, EventRecord, c->trace_events[0], c->compute) &&
         go_through(x, go_traced, &w) && read_back(c, x, q);
}

static bool poison(Cuda *c, const GcRange *dead, int n) {
  bool ok = true;
  for (int d = 0; ok && d < n; d++)
    ok = !dead[d].bytes || CUDA_CALL(c, MemsetD8, c->region[GC_ARENA] + dead[d].offset, 0xFF,
                                     dead[d].bytes, c->compute);
  return ok;
}

static bool go_poisoned(void *arg, int step, int loop, const int64_t *at) {
  const LaunchWalk *w = arg;
  const GcEntry *e = w->x->base.entry;
  if (loop >= 0) return poison(w->c, e->loops[loop].dead, e->loops[loop].ndead);
  return launch(w->c, w->x, w->q, step, at, w->c->compute) &&
         poison(w->c, e->steps[step].dead, e->steps[step].ndead);
}

static bool run_poisoned(Cuda *c, CudaExec *x, int q) {
  LaunchWalk w = {c, x, q, 0};
  const GcRange all = {0, x->base.entry->arena_bytes};
  return set_counter(c, x, q) && poison(c, &all, 1) && go_through(x, go_poisoned, &w) &&
         read_back(c, x, q);
}

/* A step that cannot be captured is launched kernel by kernel from then on; if the device itself
   has failed, those launches will say it. */
static void capture(Session *s, CudaExec *x, int q) {
  Cuda *c = cuda_of(s);
  Err why = {0}, *was = cuda_set_sink(c, &why);
  CuGraph graph = NULL;
  if (CUDA_CALL(c, StreamBeginCapture, c->compute, CAPTURE_THREAD)) {
    bool ok = run_plain(c, x, q);
    CuResult end = c->api.StreamEndCapture(c->compute, &graph); /* also after a failure */
    if (ok) ok = cuda_done(c, end, "StreamEndCapture", NULL);
    if (ok) CUDA_CALL(c, GraphInstantiate, &x->graph[q], graph, 0);
    if (graph) CUDA_CALL(c, GraphDestroy, graph);
  }
  cuda_set_sink(c, was);
  c->base.broken = false;
  x->plain = why.code != 0;
  if (!x->plain || !s->note) return;
  char text[sizeof why.msg + 64];
  snprintf(text, sizeof text, "the step cannot be replayed as a graph, which is slower: %s",
           why.msg);
  s->note(s->note_arg, text);
}

static bool run_graph(Session *s, CudaExec *x, int q) {
  if (cuda_of(s)->hosted && !x->ran) { /* code may be loaded, which no capture takes */
    x->ran = true;
    return run_plain(cuda_of(s), x, q);
  }
  if (!x->plain && !x->graph[q]) capture(s, x, q);
  return x->plain ? run_plain(cuda_of(s), x, q)
                  : CUDA_CALL(cuda_of(s), GraphLaunch, x->graph[q], cuda_of(s)->compute);
}

/* Queues a step: block q is free, since the last step that had it has been waited for. */
static bool queue(Session *s, CudaExec *x, int q, uint64_t batch, uint64_t step) {
  Cuda *c = cuda_of(s);
  uint64_t inputs = x->base.entry->inputs_bytes;
  *(GcEnv *)(void *)c->host_block[q] = (GcEnv){.seed = s->env.seed, .step = step};
  if (batch != NO_BATCH) session_gather(s, x->base.entry, c->host_block[q] + INPUTS_AT, batch);
  if (!CUDA_CALL(c, MemcpyHtoDAsync, c->block[q], c->host_block[q],
                 inputs ? INPUTS_AT + inputs : sizeof(GcEnv), c->copy) ||
      !CUDA_CALL(c, EventRecord, c->copied[q], c->copy) ||
      !CUDA_CALL(c, StreamWaitEvent, c->compute, c->copied[q], 0))
    return false;
  bool traced = s->trace && s->trace->entry == x->base.entry;
  bool ok = s->poison ? run_poisoned(c, x, q) : traced ? run_traced(c, x, q) : run_graph(s, x, q);
  return ok && CUDA_CALL(c, EventRecord, c->done[q], c->compute);
}

typedef struct TraceWalk {
  Session *s;
  int event;
  double from;
} TraceWalk;

static bool read_trace_event(void *arg, int step, int loop, const int64_t *at) {
  TraceWalk *m = arg;
  Cuda *c = cuda_of(m->s);
  float ms = 0;
  (void)at;
  if (loop >= 0) return true;
  if (!CUDA_CALL(c, EventElapsedTime, &ms, c->trace_events[m->event],
                 c->trace_events[m->event + 1]))
    return false;
  trace_step(m->s->trace, 0, step, m->from, m->from + 1e-3 * (double)ms);
  m->from += 1e-3 * (double)ms;
  m->event++;
  return true;
}

static void read_trace_events(Session *s, CudaExec *x, double begin) {
  TraceWalk m = {s, 0, begin};
  trace_begin(s->trace, 0);
  (void)go_through(x, read_trace_event, &m);
}

/* A kernel's own words, put where a kernel of the CPU would. */
static void take_fault(Session *s, int q) {
  const GcDeviceFault *f = (const void *)cuda_of(s)->results[q];
  if (f->site < 0) return;
  s->fault.site = f->site, s->fault.at = f->at;
  s->fault.value = f->value, s->fault.limit = f->limit;
  atomic_store(&s->fault.ready, 1);
}

static void run_step(Session *s, CudaExec *x, const RunRequest *request) {
  Cuda *c = cuda_of(s);
  int q = c->current;
  double begin = clock_now();
  bool alone = s->trace && s->trace->entry == x->base.entry; /* its events are of one step */
  c->downloaded = false;
  if (!c->base.in_flight && !queue(s, x, q, request->batch, s->env.step)) return;
  c->base.in_flight = request->more && !alone;
  if (c->base.in_flight && !queue(s, x, !q, request->next, s->env.step + 1)) return;
  if (!CUDA_CALL_FOR(c, x->base.entry->name, EventSynchronize, c->done[q])) return;
  c->current = !q;
  c->shown_results = q;
  take_fault(s, q);
  if (alone) read_trace_events(s, x, begin);
}

static void cuda_run(Session *s, Exec *x, const RunRequest *q) {
  Cuda *c = cuda_of(s);
  Err *was = cuda_set_sink(c, &s->err);
  run_step(s, (CudaExec *)(void *)x, q);
  cuda_set_sink(c, was);
}

static void cuda_fill(Session *s, const Exec *x, uint64_t batch) {
  Cuda *c = cuda_of(s);
  for (int q = 0; q < BLOCKS; q++) session_gather(s, x->entry, c->host_block[q] + INPUTS_AT, batch);
}

/* ---- what the host sees ---- */

static void *cuda_at(const Session *s, const GcTensor *t) {
  const Cuda *c = cuda_of(s);
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
  if (c->hosted && c->retained && (c->entered || cuda_enter(d, e))) {
    cuda_release(c);
    cuda_leave(d);
  }
  if (!d->broken || c->hosted)
    cuda_detach(c); /* if no one else has the context, all goes with it */
  bool ok = !d->broken;
  branches_free(c);
  for (int i = 0; i < c->nexecs; i++) exec_free(c->execs[i]);
  free(c->execs);
  free(c->trace_events);
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
                               .start = cuda_start,
                               .run = cuda_run,
                               .fill = cuda_fill,
                               .at = cuda_at,
                               .download = cuda_download,
                               .upload = cuda_upload,
                               .upload_hypers = cuda_upload_hypers,
                               .clear_fault = cuda_clear_fault,
                               .describe = cuda_describe};
