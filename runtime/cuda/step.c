/* One step of an entry on the device: a copy of its block, a graph of its kernels, and a copy of
   its results. Contract: each call waits for one step; where the caller says what comes next, that
   step is queued before the wait, so that the device never idles and a batch is gathered and copied
   while another runs. --poison, --profile, --check-finite and --watch launch kernel by kernel, in
   one stream; the last two copy what they look at to the host. A loop is unrolled as its launches
   are queued: each gets the addresses of its iteration as they are then, and a graph keeps them. A
   loop over an extent has as many launches as the run has iterations. */
#include "runtime/cuda/cuda.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CAPTURE_THREAD = 1 };
/* where env_extent of codegen/gpu/cuda/text/device.h reads */
_Static_assert(offsetof(GcEnv, extents) == 24 && sizeof(GcEnv) <= INPUTS_AT, "GcEnv on the device");
/* … and env_first_row and env_rank */
_Static_assert(offsetof(GcEnv, first_row) == 24 + 4 * GC_EXTENTS &&
                   offsetof(GcEnv, rank) == offsetof(GcEnv, first_row) + 4,
               "GcEnv on the device");

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
  const GcLaunch *l = cuda_launch_of(c, s);
  void **others = x->moved_params + s->nargs + 2;
  cuda_constants(l, others);
  bool ok = cuda_encode_maps(c, l, x->moved, x->moved_maps, others + l->nconstants);
  return ok ? x->moved_params : NULL;
}

/* Of blocks that go from tile to tile, of which a multiprocessor holds one, no more than it has
   multiprocessors: a few that begin when the others end would take as long as they. */
static uint32_t blocks_of(const Cuda *c, const GcLaunch *l) {
  if (!l->cluster || l->grid <= (uint32_t)c->multiprocessors) return l->grid;
  const uint32_t whole = (uint32_t)c->multiprocessors / l->cluster * l->cluster;
  return whole ? whole : l->cluster;
}

/* behind: the work in front of it in the stream is one of our kernels. */
static bool launch(Cuda *c, const CudaExec *x, int q, int i, const int64_t *at, CuStream stream,
                   bool behind) {
  const GcStep *s = &x->base.entry->steps[i];
  const GcLaunch *l = cuda_launch_of(c, s);
  if (!l->grid && !s->collective) return true;
  void **params = params_of(c, x, q, i, at);
  const CudaLaunch *m = &x->launches[q][i];
  char what[256];
  if (s->collective) /* addresses lie one behind the other, as the parameters point to them */
    return params && nccl_queue(c, s->collective, *(const CuAddress *const *)params, stream);
  snprintf(what, sizeof what, "%s (%s)", s->name ? s->name : "", s->loc ? s->loc : "");
  CuLaunchAttribute early = {.id = LAUNCH_PROGRAMMATIC, .value = {.allowed = 1}};
  const CuLaunchConfig config = {.grid = {blocks_of(c, l), 1, 1},
                                 .block = {l->block, 1, 1},
                                 .shared = l->shared,
                                 .stream = stream,
                                 .attributes = &early,
                                 .nattributes = behind && c->waits};
  return params && CUDA_CALL_FOR(c, what, LaunchKernelEx, &config, m->function, params, NULL);
}

static bool set_counter(Cuda *c, const CudaExec *x, int q) {
  if (!x->counted) return true;
  const GcTensor *t = cuda_counter(c->base.program);
  return CUDA_CALL(c, MemcpyDtoDAsync, c->block[q] + offsetof(GcEnv, step),
                   c->region[GC_GLOBALS] + t->offset, sizeof(uint64_t), c->compute);
}

/* Of a step with a preparation: what it reported, and what the next one is counted from. */
static bool read_ahead(Cuda *c, const CudaExec *x, int q) {
  if (!x->base.entry->ahead) return true;
  const CuAddress counter =
      c->region[GC_GLOBALS] + (x->counted ? cuda_counter(c->base.program)->offset : 0);
  return CUDA_CALL(c, MemcpyDtoHAsync, c->results[q] + offsetof(CudaReport, ahead),
                   c->fault + (CuAddress)(FAULT_BYTES * (1 + q)), sizeof(GcDeviceFault),
                   c->compute) &&
         (!x->counted ||
          CUDA_CALL(c, MemcpyDtoHAsync, c->results[q] + offsetof(CudaReport, counter), counter,
                    sizeof(int64_t), c->compute));
}

static bool read_back(Cuda *c, const CudaExec *x, int q) {
  const GcEntry *e = x->base.entry;
  bool ok =
      CUDA_CALL(c, MemcpyDtoHAsync, c->results[q], c->fault, sizeof(GcDeviceFault), c->compute) &&
      read_ahead(c, x, q);
  for (int i = 0; ok && x->slots && i < e->noutputs; i++) {
    const GcTensor *t = &e->outputs[i];
    ok = !t->bytes || CUDA_CALL_FOR(c, t->name, MemcpyDtoHAsync, c->results[q] + x->slots[i],
                                    cuda_address(c, q, t->region, t->offset), t->bytes, c->compute);
  }
  return ok;
}

typedef struct LaunchWalk { /* through the launches of an entry */
  Session *s;
  Cuda *c;
  const CudaExec *x;
  CuStream stream; /* of a preparation */
  int q, event;
  bool behind; /* a kernel was queued last, and there is one stream */
  bool timed;  /* its waits are */
} LaunchWalk;

static bool go_plain(void *arg, int step, int loop, const int64_t *at) {
  LaunchWalk *w = arg;
  if (loop >= 0) return branch_leave_loop(w->c, w->x, loop);
  const GcStep *s = &w->x->base.entry->steps[step];
  CudaWait *wait = w->timed ? waits_of(w->x, w->q, step) : NULL;
  CudaWait *before = s->collective ? NULL : wait, *behind = s->collective ? wait : NULL;
  bool ok = waits_mark(w->c, wait, false) && branch_enter(w->c, w->x, step) &&
            waits_mark(w->c, before, true) &&
            launch(w->c, w->x, w->q, step, at, branch_of(w->c, s->stream), w->behind) &&
            waits_mark(w->c, behind, true) && branch_leave(w->c, w->x, step);
  w->behind = !w->x->over && !s->collective && (w->behind || cuda_launch_of(w->c, s)->grid);
  return ok;
}

static bool go_ahead(void *arg, int step, int loop, const int64_t *at) {
  LaunchWalk *w = arg;
  (void)loop;
  bool ok = launch(w->c, w->x, w->q, step, at, w->stream, w->behind);
  w->behind |= cuda_launch_of(w->c, &w->x->base.entry->steps[step])->grid > 0;
  return ok;
}

/* The preparation of the block's batch. */
static bool prepare_in(Cuda *c, CudaExec *x, int q, CuStream stream) {
  LaunchWalk w = {.c = c, .x = x, .stream = stream, .q = q};
  return cuda_walk(x, 0, x->base.entry->ahead, cuda_extents(c, q), go_ahead, &w);
}

static bool run_ahead(Session *s, CudaExec *x, int q) {
  return prepare_in(cuda_of(s), x, q, cuda_of(s)->copy);
}

/* Of the rest: what is prepared is there. */
static bool run_plain(Session *s, CudaExec *x, int q) {
  Cuda *c = cuda_of(s);
  const GcEntry *e = x->base.entry;
  LaunchWalk w = {.s = s, .c = c, .x = x, .q = q, .timed = c->weight[q] > 0};
  if (w.timed) waits_begin(x, q);
  CudaWait *end = w.timed ? waits_of(x, q, e->nsteps) : NULL;
  return set_counter(c, x, q) && branches_fork(c, x) &&
         cuda_walk(x, e->ahead, e->nsteps, cuda_extents(c, q), go_plain, &w) &&
         waits_mark(c, end, false) && branches_join(c, x) && waits_mark(c, end, true) &&
         read_back(c, x, q);
}

static bool go_traced(void *arg, int step, int loop, const int64_t *at) {
  LaunchWalk *w = arg;
  if (loop >= 0) return true;
  return launch(w->c, w->x, w->q, step, at, w->c->compute, false) &&
         CUDA_CALL(w->c, EventRecord, w->c->trace_events[++w->event], w->c->compute);
}

static bool run_traced(Session *s, CudaExec *x, int q) {
  Cuda *c = cuda_of(s);
  LaunchWalk w = {.s = s, .c = c, .x = x, .q = q};
  return set_counter(c, x, q) && CUDA_CALL(c, EventRecord, c->trace_events[0], c->compute) &&
         cuda_walk(x, 0, x->base.entry->nsteps, cuda_extents(c, q), go_traced, &w) &&
         read_back(c, x, q);
}

static bool poison(Cuda *c, CuAddress at, const GcRange *dead, int n) {
  bool ok = true;
  for (int d = 0; ok && d < n; d++)
    ok = !dead[d].bytes ||
         CUDA_CALL(c, MemsetD8, at + dead[d].offset, 0xFF, dead[d].bytes, c->compute);
  return ok;
}

typedef struct Stop { /* behind a launch */
  const LaunchWalk *w;
  int step;
} Stop;

/* What the device has of an argument of the launch, which is over. */
static const void *fetch(void *from, int arg) {
  const Stop *stop = from;
  const CudaExec *x = stop->w->x;
  Cuda *c = stop->w->c;
  const GcStep *s = &x->base.entry->steps[stop->step];
  uint64_t bytes = s->args[arg].bytes;
  CuAddress at = loops_moves(s)
                     ? x->moved[arg]
                     : *(const CuAddress *)x->launches[stop->w->q][stop->step].params[arg];
  if (bytes > c->looked_bytes) {
    void *more = realloc(c->looked, bytes);
    if (!more) {
      if (!c->err->code) err_set(c->err, EXIT_ENV, "no memory to look at a value of the device");
      return NULL;
    }
    c->looked = more, c->looked_bytes = bytes;
  }
  bool ok = CUDA_CALL_FOR(c, s->name, MemcpyDtoHAsync, c->looked, at, bytes, c->compute) &&
            CUDA_CALL_FOR(c, s->name, StreamSynchronize, c->compute);
  return ok ? c->looked : NULL;
}

static bool go_stopped(void *arg, int step, int loop, const int64_t *at) {
  const LaunchWalk *w = arg;
  const GcEntry *e = w->x->base.entry;
  Session *s = w->s;
  const GcRange *dead = loop >= 0 ? e->loops[loop].dead : e->steps[step].dead;
  int n = loop >= 0 ? e->loops[loop].ndead : e->steps[step].ndead;
  if (loop < 0 && !launch(w->c, w->x, w->q, step, at, w->c->compute, false)) return false;
  if (loop < 0 && s->inspect && !session_own(s, &w->x->base))
    s->inspect(s->inspect_arg, e, step, fetch, &(Stop){w, step});
  const GcRegion region = loop < 0 && step < e->ahead ? GC_PREPARED : GC_ARENA;
  return !s->poison || poison(w->c, cuda_address(w->c, w->q, region, 0), dead, n);
}

static bool run_stopped(Session *s, CudaExec *x, int q) {
  Cuda *c = cuda_of(s);
  const GcEntry *e = x->base.entry;
  LaunchWalk w = {.s = s, .c = c, .x = x, .q = q};
  const GcRange all = {0, e->arena_bytes}, ahead = {0, e->ahead_bytes};
  return set_counter(c, x, q) &&
         (!s->poison || (poison(c, c->region[GC_ARENA], &all, 1) &&
                         poison(c, cuda_address(c, q, GC_PREPARED, 0), &ahead, 1))) &&
         cuda_walk(x, 0, e->nsteps, cuda_extents(c, q), go_stopped, &w) && read_back(c, x, q);
}

/* It waits for the host behind each launch. */
static bool looks(const Session *s, const CudaExec *x) {
  return s->inspect && !session_own(s, &x->base);
}

typedef bool RunPart(Session *s, CudaExec *x, int q);

/* A step that cannot be captured is launched kernel by kernel from then on; if the device itself
   has failed, those launches will say it. */
static void capture(Session *s, CudaExec *x, int q, RunPart *run, CuStream stream,
                    CuGraphExec *to) {
  Cuda *c = cuda_of(s);
  Err why = {0}, *was = cuda_set_sink(c, &why);
  CuGraph graph = NULL;
  if (CUDA_CALL(c, StreamBeginCapture, stream, CAPTURE_THREAD)) {
    c->capturing = true;
    bool ok = run(s, x, q);
    c->capturing = false;
    CuResult end = c->api.StreamEndCapture(stream, &graph); /* also after a failure */
    if (ok) ok = cuda_done(c, end, "StreamEndCapture", NULL);
    if (ok) CUDA_CALL(c, GraphInstantiate, to, graph, 0);
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

/* Loops have as many iterations as in the block's last run; if not, its graph is of no use. The
   first run of some lengths makes none: they may differ from run to run. */
static bool repeats(Cuda *c, CudaExec *x, int q) {
  const GcEntry *e = x->base.entry;
  bool same = true;
  for (int l = 0; l < e->nloops; l++) {
    uint32_t i = e->loops[l].extent;
    if (!i || x->looped[q][i - 1] == cuda_extents(c, q)[i - 1]) continue;
    x->looped[q][i - 1] = cuda_extents(c, q)[i - 1];
    same = false;
  }
  for (int timed = 0; timed < 2 && !same; timed++) {
    CuGraphExec old = x->graph[q][timed];
    x->graph[q][timed] = NULL;
    if (old) (void)CUDA_CALL(c, GraphExecDestroy, old);
  }
  return same;
}

static bool run_graph(Session *s, CudaExec *x, int q) {
  Cuda *c = cuda_of(s);
  if ((c->hosted || c->nccl.comm) && !x->ran) { /* code may be loaded, and ranks be connected */
    x->ran = true;
    return run_plain(s, x, q);
  }
  if (!repeats(c, x, q)) return run_plain(s, x, q);
  CuGraphExec *graph = &x->graph[q][c->weight[q] > 0];
  if (!x->plain && !*graph) capture(s, x, q, run_plain, c->compute, graph);
  return x->plain ? run_plain(s, x, q) : CUDA_CALL(c, GraphLaunch, *graph, c->compute);
}

/* A graph of the preparation goes where the batch was copied, beside the step before, or in front
   of the step itself. */
static bool queue_ahead(Session *s, CudaExec *x, int q, CuStream stream) {
  Cuda *c = cuda_of(s);
  const bool first = (c->hosted || c->nccl.comm) && !x->ran; /* as in run_graph */
  if (!x->plain && !first && !x->ahead[q]) capture(s, x, q, run_ahead, c->copy, &x->ahead[q]);
  return x->plain || first ? prepare_in(c, x, q, stream)
                           : CUDA_CALL(c, GraphLaunch, x->ahead[q], stream);
}

typedef struct QueuedStep {
  uint64_t batch, step;
  bool beside; /* the step before may be under way */
} QueuedStep;

/* Queues a step: block q is free, since the last step that had it has been waited for. What it
   prepares beside the step before has to be told which one it is; otherwise it is prepared behind
   that step, which sets the counter. */
static bool queue(Session *s, CudaExec *x, int q, const QueuedStep *step) {
  Cuda *c = cuda_of(s);
  const GcEntry *e = x->base.entry;
  GcEnv *env = (GcEnv *)(void *)c->host_block[q];
  const bool traced = s->trace && s->trace->entry == e, stops = s->poison || looks(s, x);
  const bool whole = traced || stops || !e->ahead;
  const bool ahead = !whole && step->beside && (!x->counted || c->counter >= 0);
  *env = (GcEnv){.seed = s->env.seed,
                 .step = ahead && x->counted ? (uint64_t)c->counter + 1 : step->step,
                 .first_row = session_first_row(s, step->batch)};
  if (s->env.comm) env->rank = s->env.comm->rank;
  session_extents(s, e, step->batch, env->extents);
  if (step->batch != NO_BATCH) session_gather(s, e, c->host_block[q] + INPUTS_AT, step->batch);
  if (!CUDA_CALL(c, MemcpyHtoDAsync, c->block[q], c->host_block[q],
                 e->inputs_bytes ? INPUTS_AT + e->inputs_bytes : sizeof(GcEnv), c->copy) ||
      (ahead && !queue_ahead(s, x, q, c->copy)) ||
      !CUDA_CALL(c, EventRecord, c->copied[q], c->copy) ||
      !CUDA_CALL(c, StreamWaitEvent, c->compute, c->copied[q], 0))
    return false;
  c->weight[q] = stops || traced ? 0 : waits_weight(x);
  if (stops) c->base.waited = NAN; /* each step is waited for */
  bool ok = whole || ahead || (set_counter(c, x, q) && queue_ahead(s, x, q, c->compute));
  ok = ok && (stops ? run_stopped(s, x, q) : traced ? run_traced(s, x, q) : run_graph(s, x, q));
  return ok && CUDA_CALL(c, EventRecord, c->done[q], c->compute);
}

/* A kernel's own words, put where a kernel of the CPU would. */
static void take_fault(Session *s, const CudaExec *x, int q) {
  const CudaReport *r = (const void *)cuda_of(s)->results[q];
  const bool ahead = x->base.entry->ahead && r->ahead.site >= 0; /* what came first */
  const GcDeviceFault *f = ahead ? &r->ahead : &r->fault;
  if (f->site < 0) return;
  s->fault.site = f->site, s->fault.at = f->at;
  s->fault.value = f->value, s->fault.limit = f->limit;
  atomic_store(&s->fault.ready, 1);
}

static void run_step(Session *s, CudaExec *x, const RunRequest *request) {
  Cuda *c = cuda_of(s);
  int q = c->current;
  double begin = clock_now();
  bool traced = s->trace && s->trace->entry == x->base.entry; /* its events are of one step */
  bool alone = traced || looks(s, x);
  c->downloaded = false;
  const QueuedStep now = {request->batch, s->env.step, false};
  const QueuedStep next = {request->next, s->env.step + 1, true};
  if (!c->base.in_flight && !queue(s, x, q, &now)) return;
  c->base.in_flight = request->more && !alone;
  if (c->base.in_flight && !queue(s, x, !q, &next)) return;
  if (!CUDA_CALL_FOR(c, x->base.entry->name, EventSynchronize, c->done[q])) return;
  c->current = !q;
  c->shown_results = q;
  if (x->counted)
    c->counter =
        x->base.entry->ahead ? ((const CudaReport *)(const void *)c->results[q])->counter : -1;
  take_fault(s, x, q);
  if (!waits_read(c, x, q)) return;
  if (traced) trace_read(s, x, q, begin);
}

void cuda_run(Session *s, Exec *x, const RunRequest *q) {
  Cuda *c = cuda_of(s);
  Err *was = cuda_set_sink(c, &s->err);
  nccl_watch(c, true);
  run_step(s, (CudaExec *)(void *)x, q);
  nccl_watch(c, false);
  cuda_set_sink(c, was);
}

void cuda_fill(Session *s, const Exec *x, uint64_t batch) {
  Cuda *c = cuda_of(s);
  for (int q = 0; q < BLOCKS; q++) session_gather(s, x->entry, c->host_block[q] + INPUTS_AT, batch);
}
