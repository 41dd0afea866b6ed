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

/* ---- what is settled before the run ---- */

static const GcTensor *counter_of(const GcProgram *p) {
  for (int i = 0; i < p->nglobals; i++)
    if (is_step_counter(&p->globals[i])) return &p->globals[i].t;
  return NULL;
}

static CuAddress address(const Cuda *c, int q, GcRegion region, uint64_t offset) {
  return (region == GC_INPUTS ? c->block[q] + INPUTS_AT : c->region[region]) + offset;
}

static uint64_t count_addresses(const GcEntry *e) {
  uint64_t n = 0;
  for (int i = 0; i < e->nsteps; i++) n += (uint64_t)e->steps[i].nargs + 2;
  return n;
}

static bool make_moved(CudaExec *x) {
  const GcEntry *e = x->entry;
  int most = 0;
  for (int i = 0; i < e->nsteps; i++)
    if (e->steps[i].nargs > most) most = e->steps[i].nargs;
  x->moved = calloc((size_t)most + 2, sizeof *x->moved);
  x->moved_params = calloc((size_t)most + 2, sizeof *x->moved_params);
  x->at = calloc((size_t)e->depth + 1, sizeof *x->at);
  for (int a = 0; x->moved && x->moved_params && a < most + 2; a++)
    x->moved_params[a] = &x->moved[a];
  return x->moved && x->moved_params && x->at;
}

static CudaExec *resolve(Cuda *c, const GcEntry *e) {
  uint64_t n = BLOCKS * count_addresses(e);
  CudaExec *x = calloc(1, sizeof *x);
  if (!x) return NULL;
  x->entry = e;
  x->plain = e == c->program->init; /* it runs once */
  x->slots = x->plain ? NULL : cuda_slots(e);
  x->counted = e->training && counter_of(c->program);
  x->addresses = calloc(n + 1, sizeof *x->addresses);
  x->params = calloc(n + 1, sizeof *x->params);
  uint64_t at = 0;
  if (!make_moved(x)) return x;
  for (int q = 0; q < BLOCKS; q++) {
    x->launches[q] = calloc((size_t)e->nsteps + 1, sizeof *x->launches[q]);
    if (!x->launches[q] || !x->addresses || !x->params) return x;
    for (int i = 0; i < e->nsteps; i++) {
      const GcStep *s = &e->steps[i];
      x->launches[q][i] =
          (CudaLaunch){.function = c->functions[s->launch->kernel], .params = x->params + at};
      for (int a = 0; a < s->nargs; a++)
        x->addresses[at + (uint64_t)a] = address(c, q, s->args[a].region, s->args[a].offset);
      x->addresses[at + (uint64_t)s->nargs] = c->block[q];
      x->addresses[at + (uint64_t)s->nargs + 1] = c->fault;
      for (int a = 0; a < s->nargs + 2; a++, at++) x->params[at] = &x->addresses[at];
    }
  }
  return x;
}

static bool resolved(const CudaExec *x) {
  return x && x->addresses && x->params && x->at && x->launches[BLOCKS - 1] &&
         (x->plain || x->slots);
}

static void exec_free(CudaExec *x) {
  if (!x) return;
  for (int q = 0; q < BLOCKS; q++) free(x->launches[q]);
  free(x->addresses);
  free(x->params);
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
  return loops_walk(&(LoopWalk){.entry = x->entry, .visit = visit, .arg = arg, .at = x->at});
}

static bool make_marks(Cuda *c, CudaExec *x) {
  int n = 0;
  (void)go_through(x, count_launch, &n);
  c->marks = calloc((size_t)n + 1, sizeof *c->marks);
  if (!c->marks) return err_set(c->err, EXIT_ENV, "no memory for the profile");
  for (int i = 0; i <= n; i++)
    if (!CUDA_CALL(c, EventCreate, &c->marks[i], 0)) return false;
  return true;
}

static bool fill_counts(Run *r) {
  Cuda *c = r->cuda;
  uint64_t bytes = c->sizes.counts;
  if (!bytes) return true;
  int32_t *count = malloc(bytes);
  if (!count) return err_set(c->err, EXIT_ENV, "no memory for the counts of loops");
  for (uint64_t i = 0; i < bytes / sizeof *count; i++) count[i] = (int32_t)i;
  bool ok = CUDA_CALL(c, MemcpyHtoDAsync, c->region[GC_COUNTS], count, bytes, c->compute);
  free(count);
  return ok;
}

/* Globals begin as zeros, as they do on the CPU, whose pages do. Copies from ordinary memory have
   read it when they return. */
static bool fill(Run *r) {
  Cuda *c = r->cuda;
  return fill_counts(r) &&
         CUDA_CALL(c, MemsetD8, c->region[GC_GLOBALS], 0, c->sizes.globals, c->compute) &&
         cuda_unfault(r, c->err) && cuda_hypers(r, c->err);
}

bool cuda_unfault(Run *r, Err *e) {
  const GcDeviceFault none = {.site = -1};
  Cuda *c = r->cuda;
  Err *was = cuda_tell(c, e);
  return cuda_told(c, was, CUDA_CALL(c, MemcpyHtoDAsync, c->fault, &none, sizeof none, c->compute));
}

bool cuda_hypers(Run *r, Err *e) {
  Cuda *c = r->cuda;
  uint64_t bytes = 4 * (uint64_t)r->p->nhypers;
  Err *was = cuda_tell(c, e);
  bool ok = !bytes || CUDA_CALL(c, MemcpyHtoDAsync, c->region[GC_HYPERS], r->mem.region[GC_HYPERS],
                                bytes, c->compute);
  return cuda_told(c, was, ok);
}

static bool add_exec(Cuda *c, Exec *x, const GcEntry *e) {
  x->entry = e;
  x->cuda = c->execs[c->nexecs++] = resolve(c, e);
  return resolved(x->cuda);
}

static bool prepare(Run *r, Exec *x, const GcEntry *entry, int n, Err *e) {
  Cuda *c = r->cuda;
  if (!cuda_allocate(c, entry, n, e) || !make_streams(c)) return false;
  c->globals = r->mem.region[GC_GLOBALS];
  c->execs = calloc((size_t)n + 1, sizeof(CudaExec *));
  bool ok = c->execs;
  for (int i = 0; i < n && ok; i++) ok = add_exec(c, &x[i], &entry[i]);
  if (ok && r->p->init) ok = add_exec(c, &r->init, r->p->init);
  if (!ok) return err_set(e, EXIT_ENV, "no memory for the tables of the program's steps");
  return branches_make(c) && (!r->o.given[OPT_PROFILE] || make_marks(c, x->cuda));
}

bool cuda_prepare(Run *r, Exec *x, const GcEntry *entry, int n, Err *e) {
  Err *was = cuda_tell(r->cuda, e);
  return cuda_told(r->cuda, was, prepare(r, x, entry, n, e));
}

bool cuda_begin(Run *r, Err *e) {
  Err *was = cuda_tell(r->cuda, e);
  return cuda_told(r->cuda, was, fill(r));
}

/* ---- one step ---- */

/* The parameters of a step in this iteration; the driver copies them as it takes the launch. */
static void **params_of(const CudaExec *x, int q, int i, const int64_t *at) {
  const GcStep *s = &x->entry->steps[i];
  void **params = x->launches[q][i].params;
  if (!loops_moves(s)) return params;
  for (int a = 0; a < s->nargs + 2; a++) {
    x->moved[a] = *(const CuAddress *)params[a];
    if (a < s->nargs) x->moved[a] += (CuAddress)loops_shift(&s->args[a], at, x->entry->depth);
  }
  return x->moved_params;
}

static bool launch(Cuda *c, const CudaExec *x, int q, int i, const int64_t *at, CuStream stream) {
  const GcStep *s = &x->entry->steps[i];
  const GcLaunch *l = s->launch;
  const CudaLaunch *m = &x->launches[q][i];
  char what[256];
  snprintf(what, sizeof what, "%s (%s)", s->name ? s->name : "", s->loc ? s->loc : "");
  return CUDA_CALL_FOR(c, what, LaunchKernel, m->function, l->grid, 1, 1, l->block, 1, 1, l->shared,
                       stream, params_of(x, q, i, at), NULL);
}

static bool set_counter(Cuda *c, const CudaExec *x, int q) {
  if (!x->counted) return true;
  const GcTensor *t = counter_of(c->program);
  return CUDA_CALL(c, MemcpyDtoDAsync, c->block[q] + offsetof(GcEnv, step),
                   c->region[GC_GLOBALS] + t->offset, sizeof(uint64_t), c->compute);
}

static bool read_back(Cuda *c, const CudaExec *x, int q) {
  const GcEntry *e = x->entry;
  bool ok =
      CUDA_CALL(c, MemcpyDtoHAsync, c->results[q], c->fault, sizeof(GcDeviceFault), c->compute);
  for (int i = 0; ok && x->slots && i < e->noutputs; i++) {
    const GcTensor *t = &e->outputs[i];
    ok = !t->bytes || CUDA_CALL_FOR(c, t->name, MemcpyDtoHAsync, c->results[q] + x->slots[i],
                                    address(c, q, t->region, t->offset), t->bytes, c->compute);
  }
  return ok;
}

typedef struct Way { /* through the launches of an entry */
  Cuda *c;
  const CudaExec *x;
  int q, mark;
} Way;

static bool go_plain(void *arg, int step, int loop, const int64_t *at) {
  const Way *w = arg;
  if (loop >= 0) return branch_leave_loop(w->c, w->x, loop);
  return branch_enter(w->c, w->x, step) &&
         launch(w->c, w->x, w->q, step, at, branch_of(w->c, w->x->entry->steps[step].stream)) &&
         branch_leave(w->c, w->x, step);
}

static bool run_plain(Cuda *c, CudaExec *x, int q) {
  Way w = {c, x, q, 0};
  return set_counter(c, x, q) && branches_fork(c, x) && go_through(x, go_plain, &w) &&
         branches_join(c, x) && read_back(c, x, q);
}

static bool go_profiled(void *arg, int step, int loop, const int64_t *at) {
  Way *w = arg;
  if (loop >= 0) return true;
  return launch(w->c, w->x, w->q, step, at, w->c->compute) &&
         CUDA_CALL(w->c, EventRecord, w->c->marks[++w->mark], w->c->compute);
}

static bool run_profiled(Cuda *c, CudaExec *x, int q) {
  Way w = {c, x, q, 0};
  return set_counter(c, x, q) && CUDA_CALL(c, EventRecord, c->marks[0], c->compute) &&
         go_through(x, go_profiled, &w) && read_back(c, x, q);
}

static bool poison(Cuda *c, const GcRange *dead, int n) {
  bool ok = true;
  for (int d = 0; ok && d < n; d++)
    ok = !dead[d].bytes || CUDA_CALL(c, MemsetD8, c->region[GC_ARENA] + dead[d].offset, 0xFF,
                                     dead[d].bytes, c->compute);
  return ok;
}

static bool go_poisoned(void *arg, int step, int loop, const int64_t *at) {
  const Way *w = arg;
  const GcEntry *e = w->x->entry;
  if (loop >= 0) return poison(w->c, e->loops[loop].dead, e->loops[loop].ndead);
  return launch(w->c, w->x, w->q, step, at, w->c->compute) &&
         poison(w->c, e->steps[step].dead, e->steps[step].ndead);
}

static bool run_poisoned(Cuda *c, CudaExec *x, int q) {
  Way w = {c, x, q, 0};
  const GcRange all = {0, x->entry->arena_bytes};
  return set_counter(c, x, q) && poison(c, &all, 1) && go_through(x, go_poisoned, &w) &&
         read_back(c, x, q);
}

/* A step that cannot be captured is launched kernel by kernel from then on; if the device itself
   has failed, those launches will say it. */
static void capture(Run *r, CudaExec *x, int q) {
  Cuda *c = r->cuda;
  Err why = {0}, *was = cuda_tell(c, &why);
  CuGraph graph = NULL;
  if (CUDA_CALL(c, StreamBeginCapture, c->compute, CAPTURE_THREAD)) {
    bool ok = run_plain(c, x, q);
    CuResult end = c->api.StreamEndCapture(c->compute, &graph); /* also after a failure */
    if (ok) ok = cuda_done(c, end, "StreamEndCapture", NULL);
    if (ok) CUDA_CALL(c, GraphInstantiate, &x->graph[q], graph, 0);
    if (graph) CUDA_CALL(c, GraphDestroy, graph);
  }
  cuda_tell(c, was);
  c->broken = false;
  x->plain = why.code != 0;
  if (x->plain) note(r, "the step cannot be replayed as a graph, which is slower: %s", why.msg);
}

static bool run_graph(Run *r, CudaExec *x, int q) {
  if (r->cuda->hosted && !x->ran) { /* code may be loaded, which no capture takes */
    x->ran = true;
    return run_plain(r->cuda, x, q);
  }
  if (!x->plain && !x->graph[q]) capture(r, x, q);
  return x->plain ? run_plain(r->cuda, x, q)
                  : CUDA_CALL(r->cuda, GraphLaunch, x->graph[q], r->cuda->compute);
}

/* Queues a step: block q is free, since the last step that had it has been waited for. */
static bool queue(Run *r, CudaExec *x, int q, uint64_t batch, uint64_t step) {
  Cuda *c = r->cuda;
  uint64_t inputs = x->entry->inputs_bytes;
  *(GcEnv *)(void *)c->host_block[q] = (GcEnv){.seed = r->env.seed, .step = step};
  if (batch != NO_BATCH) exec_gather(r, c->host_block[q] + INPUTS_AT, batch);
  if (!CUDA_CALL(c, MemcpyHtoDAsync, c->block[q], c->host_block[q],
                 inputs ? INPUTS_AT + inputs : sizeof(GcEnv), c->copy) ||
      !CUDA_CALL(c, EventRecord, c->copied[q], c->copy) ||
      !CUDA_CALL(c, StreamWaitEvent, c->compute, c->copied[q], 0))
    return false;
  bool profiled = r->profile && x->slots;
  bool ok = r->o.given[OPT_POISON] ? run_poisoned(c, x, q)
            : profiled             ? run_profiled(c, x, q)
                                   : run_graph(r, x, q);
  return ok && CUDA_CALL(c, EventRecord, c->done[q], c->compute);
}

typedef struct Reading {
  Run *r;
  int mark;
  double from;
} Reading;

static bool read_mark(void *arg, int step, int loop, const int64_t *at) {
  Reading *m = arg;
  Cuda *c = m->r->cuda;
  float ms = 0;
  (void)at;
  if (loop >= 0) return true;
  if (!CUDA_CALL(c, EventElapsedTime, &ms, c->marks[m->mark], c->marks[m->mark + 1])) return false;
  profile_step(m->r->profile, 0, step, m->from, m->from + 1e-3 * (double)ms);
  m->from += 1e-3 * (double)ms;
  m->mark++;
  return true;
}

static void read_marks(Run *r, CudaExec *x, double begin) {
  Reading m = {r, 0, begin};
  profile_begin(r->profile, 0);
  (void)go_through(x, read_mark, &m);
}

/* A kernel's own words, put where a kernel of the CPU would. */
static void take_fault(Run *r, int q) {
  const GcDeviceFault *f = (const void *)r->cuda->results[q];
  if (f->site < 0) return;
  r->fault.site = f->site, r->fault.at = f->at;
  r->fault.value = f->value, r->fault.limit = f->limit;
  atomic_store(&r->fault.ready, 1);
}

static void take_turn(Run *r, const Exec *exec, uint64_t batch) {
  Cuda *c = r->cuda;
  CudaExec *x = exec->cuda;
  int q = c->turn;
  double begin = clock_now();
  bool alone = r->profile && x->slots; /* its events are of one step */
  c->fresh = false;
  if (!c->ahead && !queue(r, x, q, batch, r->env.step)) return;
  c->ahead = r->more && !alone;
  if (c->ahead && !queue(r, x, !q, r->next, r->env.step + 1)) return;
  if (!CUDA_CALL_FOR(c, x->entry->name, EventSynchronize, c->done[q])) return;
  c->turn = !q;
  c->shown = q;
  take_fault(r, q);
  if (alone) read_marks(r, x, begin);
}

void cuda_run(Run *r, const Exec *exec, uint64_t batch) {
  Err *was = cuda_tell(r->cuda, &r->err);
  take_turn(r, exec, batch);
  cuda_tell(r->cuda, was);
}

void cuda_stay(Run *r, uint64_t batch) {
  Cuda *c = r->cuda;
  for (int q = 0; q < BLOCKS; q++) exec_gather(r, c->host_block[q] + INPUTS_AT, batch);
}

bool cuda_ahead(const Cuda *c) { return c->ahead; }
const char *cuda_name(const Cuda *c) { return c->name; }
bool cuda_broken(const Cuda *c) { return c->broken; }

/* ---- what the host sees ---- */

void *cuda_at(const Run *r, const GcTensor *t) {
  const Cuda *c = r->cuda;
  for (int x = 0; x < c->nexecs; x++)
    for (int i = 0; c->execs[x]->slots && i < c->execs[x]->entry->noutputs; i++)
      if (t == &c->execs[x]->entry->outputs[i]) return c->results[c->shown] + c->execs[x]->slots[i];
  if (t->region == GC_INPUTS) return c->host_block[c->turn] + INPUTS_AT + t->offset;
  return c->globals + t->offset;
}

bool cuda_fetch(Run *r, Err *e) {
  Cuda *c = r->cuda;
  if (c->fresh || !r->p->globals_bytes) return true;
  Err *was = cuda_tell(c, e);
  c->fresh = CUDA_CALL_FOR(c, "the weights", MemcpyDtoH, c->globals, c->region[GC_GLOBALS],
                           r->p->globals_bytes);
  return cuda_told(c, was, c->fresh);
}

bool cuda_push(Run *r, Err *e) {
  Cuda *c = r->cuda;
  Err *was = cuda_tell(c, e);
  bool ok = !r->p->globals_bytes ||
            CUDA_CALL_FOR(c, "the weights", MemcpyHtoDAsync, c->region[GC_GLOBALS], c->globals,
                          r->p->globals_bytes, c->compute);
  return cuda_told(c, was, ok);
}

/* ---- open and close ---- */

Cuda *cuda_open(const GcProgram *p, int ordinal, CudaUse use, Err *e) {
  Cuda *c = calloc(1, sizeof *c);
  if (!c) {
    err_set(e, EXIT_ENV, "no memory to use a device");
    return NULL;
  }
  c->program = p;
  c->hosted = use == CUDA_HOST;
  Err *was = cuda_tell(c, e);
  bool ok = cuda_attach(c, ordinal, e) && (use == CUDA_LOOK || cuda_load(c, e));
  if (cuda_told(c, was, ok)) return c;
  cuda_close(c, e);
  return NULL;
}

bool cuda_close(Cuda *c, Err *e) {
  if (!c) return true;
  cuda_tell(c, e); /* to the end */
  if (c->hosted && c->retained && (c->entered || cuda_enter(c, e))) {
    cuda_give_back(c);
    cuda_leave(c);
  }
  if (!c->broken || c->hosted)
    cuda_detach(c); /* if no one else has the context, all goes with it */
  bool ok = !c->broken;
  branches_free(c);
  for (int i = 0; i < c->nexecs; i++) exec_free(c->execs[i]);
  free(c->execs);
  free(c->marks);
  free(c->functions);
  free(c);
  return ok;
}
