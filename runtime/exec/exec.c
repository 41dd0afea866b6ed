/* Runs an entry on the CPU, or hands it to cuda_exec.c: all addresses are resolved once, then a
   step is a call and perhaps a barrier. Contract: exec_run is called by thread 0 and returns when
   all threads are through; --poison and
   --profile take loops of their own, so that the plain loop pays nothing for them. */
#include "runtime/exec/loops.h"
#include "runtime/exec/run.h"
#include "runtime/exec/streams.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

/* Bytes of inputs below which other threads are not worth a job; where a GPU does the rest, they
   would have to be woken for it. */
enum { GATHER_SERIAL = 1 << 15, GATHER_ASLEEP = 1 << 20 };

enum { LINE = 128 }; /* bytes that threads do not share */

/* What a thread needs to walk through loops: iterations by depth, and the addresses of a step that
   moves with them. */
static uint64_t lane_bytes(const GcEntry *e) {
  uint64_t most = 0;
  for (int i = 0; i < e->nsteps; i++)
    if (loops_moves(&e->steps[i]) && (uint64_t)e->steps[i].nargs > most)
      most = (uint64_t)e->steps[i].nargs;
  uint64_t bytes = (uint64_t)e->depth * sizeof(int64_t) + most * sizeof(void *);
  return (bytes + LINE - 1) / LINE * LINE;
}

static bool has_lanes(const GcEntry *e) { return e->nloops || e->streams > 1; }

uint64_t exec_table_bytes(const GcEntry *e, int threads) {
  uint64_t args = 0;
  for (int i = 0; i < e->nsteps; i++) args += (uint64_t)e->steps[i].nargs;
  uint64_t bytes = args * sizeof(void *) + (uint64_t)e->nsteps * sizeof(ExecStep) + 256;
  if (has_lanes(e)) bytes += (uint64_t)threads * lane_bytes(e) + e->counts_bytes + 2 * LINE;
  return bytes + streams_bytes(e, threads);
}

static bool resolve_loops(Exec *x, const GcEntry *e, Memory *m, int threads) {
  x->lane_bytes = lane_bytes(e);
  x->lanes = memory_take(m, (uint64_t)threads * x->lane_bytes);
  int32_t *count = memory_take(m, e->counts_bytes);
  if (m->overdrawn) return false;
  for (uint64_t i = 0; i < e->counts_bytes / sizeof *count; i++) count[i] = (int32_t)i;
  m->region[GC_COUNTS] = (uint8_t *)count;
  return true;
}

bool exec_resolve(Exec *x, const GcEntry *e, Memory *m, int threads, Err *err) {
  x->entry = e;
  x->steps = memory_take(m, (uint64_t)e->nsteps * sizeof *x->steps);
  uint64_t nargs = 0;
  for (int i = 0; i < e->nsteps; i++) nargs += (uint64_t)e->steps[i].nargs;
  void **p = memory_take(m, nargs * sizeof *p);
  if (has_lanes(e) && !resolve_loops(x, e, m, threads)) return memory_sound(m, err);
  x->streams = streams_make(e, m, threads);
  if (!memory_sound(m, err)) return false;
  for (int i = 0; i < e->nsteps; i++) {
    const GcStep *s = &e->steps[i];
    x->steps[i] = (ExecStep){.kernel = s->kernel, .args = p, .moves = loops_moves(s)};
    for (int a = 0; a < s->nargs; a++) *p++ = m->region[s->args[a].region] + s->args[a].offset;
  }
  return true;
}

void exec_threads(Exec *x, Pool *pool) {
  int nt = pool_size(pool);
  if (x->streams) streams_settle(x->streams, pool);
  for (int i = 0; i < x->entry->nsteps; i++) {
    int b = x->entry->steps[i].barrier, n = x->streams ? streams_width(x->streams, i) : nt;
    x->steps[i].wait = n > 1 && (b == 1 || (b > 1 && b % n != 0));
  }
}

void *run_at(const Run *r, const GcTensor *t) {
  return r->cuda ? cuda_at(r, t) : r->mem.region[t->region] + t->offset;
}

bool exec_ahead(const Run *r) { return r->cuda && cuda_ahead(r->cuda); }
bool exec_fetch(Run *r, Err *e) { return !r->cuda || cuda_fetch(r, e); }
bool exec_push(Run *r, Err *e) { return !r->cuda || cuda_push(r, e); }

typedef struct Gather {
  const Dataset *data;
  uint8_t *inputs;
  uint64_t batch;
} Gather;

static void run_gather(void *arg, int t, int nt) {
  const Gather *g = arg;
  dataset_gather(g->data, g->inputs, g->batch, t, nt);
}

void exec_gather(Run *r, uint8_t *inputs, uint64_t batch) {
  Gather g = {.data = &r->data, .inputs = inputs, .batch = batch};
  if (r->o.entry->inputs_bytes >= GATHER_ASLEEP && pool_size(r->pool) > 1)
    pool_run(r->pool, run_gather, &g);
  else
    run_gather(&g, 0, 1);
}

void exec_stay(Run *r, uint64_t batch) {
  if (r->cuda)
    cuda_stay(r, batch);
  else
    dataset_gather(&r->data, r->mem.region[GC_INPUTS], batch, 0, 1);
}

typedef struct Job {
  PoolJob *run;
  Run *r;
  const Exec *x;
  uint64_t batch;
  bool gather; /* on all threads */
} Job;

/* ---- loops ---- */

typedef struct Lane { /* one thread on its way */
  const Job *job;
  GcEnv env;
  int who;      /* it is, of all */
  Slot slot;    /* among those that run its steps */
  void **moved; /* addresses of the step at hand */
} Lane;

/* What kernels see on this thread. */
static GcEnv env_of(const Run *r, int t) {
  GcEnv env = r->env;
  env.work = memory_work(&r->mem, r->p, t);
  return env;
}

/* Of all threads, or of the group of them that has some of the streams. */
static Lane lane_of(const Job *j, int t, int nt, bool groups) {
  bool group = groups && j->x->streams;
  Slot all = {&j->r->pool->barrier, t, nt};
  return (Lane){.job = j,
                .env = env_of(j->r, t),
                .who = t,
                .slot = group ? streams_slot(j->x->streams, t) : all};
}

static void *const *addresses(const Lane *l, int step, const int64_t *at) {
  const ExecStep *s = &l->job->x->steps[step];
  if (!s->moves) return s->args;
  const GcEntry *e = l->job->x->entry;
  const GcStep *g = &e->steps[step];
  for (int a = 0; a < g->nargs; a++)
    l->moved[a] = (uint8_t *)s->args[a] + loops_shift(&g->args[a], at, e->depth);
  return l->moved;
}

/* Goes through the steps of an entry with this thread's place in its loops. */
static void walk(Lane *l, LoopVisit *visit) {
  const Exec *x = l->job->x;
  uint8_t *own = x->lanes + (uint64_t)l->who * x->lane_bytes;
  LoopWalk w = {.entry = x->entry, .visit = visit, .arg = l, .at = (int64_t *)(void *)own};
  l->moved = (void **)(void *)(own + (uint64_t)x->entry->depth * sizeof(int64_t));
  (void)loops_walk(&w);
}

/* False: others run the step, or it is the end of a loop. */
static bool enter(const Lane *l, int step, int loop) {
  const Exec *x = l->job->x;
  if (loop >= 0 && x->streams) streams_leave_loop(x->streams, l->who, loop);
  if (loop >= 0 || (x->streams && !streams_enter(x->streams, l->who, step))) return false;
  if (x->steps[step].wait) barrier_wait(l->slot.barrier);
  return true;
}

static void leave(const Lane *l, int step) {
  const Exec *x = l->job->x;
  if (x->streams) streams_leave(x->streams, l->who, step);
}

static void call(const Lane *l, int step, const int64_t *at) {
  l->job->x->steps[step].kernel(addresses(l, step, at), &l->env, l->slot.t, l->slot.nt);
}

static bool step_plain(void *arg, int step, int loop, const int64_t *at) {
  const Lane *l = arg;
  if (!enter(l, step, loop)) return true;
  call(l, step, at);
  leave(l, step);
  return true;
}

static bool step_profiled(void *arg, int step, int loop, const int64_t *at) {
  const Lane *l = arg;
  if (!enter(l, step, loop)) return true;
  double from = clock_now();
  call(l, step, at);
  profile_step(l->job->r->profile, l->who, step, from, clock_now());
  leave(l, step);
  return true;
}

/* All ones are NaN in every float format, and -1 or 255 as integers. */
static bool step_poisoned(void *arg, int step, int loop, const int64_t *at) {
  const Lane *l = arg;
  Run *r = l->job->r;
  const GcEntry *e = l->job->x->entry;
  const GcRange *dead = step < 0 ? e->loops[loop].dead : e->steps[step].dead;
  int n = step < 0 ? e->loops[loop].ndead : e->steps[step].ndead;
  barrier_wait(&r->pool->barrier);
  if (step >= 0) {
    call(l, step, at);
    barrier_wait(&r->pool->barrier);
  }
  for (int d = 0; l->who == 0 && d < n; d++)
    memset(r->mem.region[GC_ARENA] + dead[d].offset, 0xFF, dead[d].bytes);
  return true;
}

/* ---- jobs ---- */

static void gather_in_job(const Job *j, int t, int nt) {
  if (!j->gather) return;
  dataset_gather(&j->r->data, j->r->mem.region[GC_INPUTS], j->batch, t, nt);
  barrier_wait(&j->r->pool->barrier);
}

static void run_plain(void *arg, int t, int nt) {
  const Job *j = arg;
  Run *r = j->r;
  gather_in_job(j, t, nt);
  if (has_lanes(j->x->entry)) {
    Lane l = lane_of(j, t, nt, true);
    walk(&l, step_plain);
    return;
  }
  const GcEnv env = env_of(r, t);
  const ExecStep *s = j->x->steps, *end = s + j->x->entry->nsteps;
  for (; s < end; s++) {
    if (s->wait) barrier_wait(&r->pool->barrier);
    s->kernel(s->args, &env, t, nt);
  }
}

static void run_profiled(void *arg, int t, int nt) {
  const Job *j = arg;
  gather_in_job(j, t, nt);
  profile_begin(j->r->profile, t);
  Lane l = lane_of(j, t, nt, true);
  walk(&l, step_profiled);
}

static void run_poisoned(void *arg, int t, int nt) {
  const Job *j = arg;
  Run *r = j->r;
  if (t == 0) memset(r->mem.region[GC_ARENA], 0xFF, j->x->entry->arena_bytes);
  if (j->gather) dataset_gather(&r->data, r->mem.region[GC_INPUTS], j->batch, t, nt);
  Lane l = lane_of(j, t, nt, false); /* one step after the other */
  walk(&l, step_poisoned);
}

/* Kernels know no context, so that each thread knows whom to tell of a fault. */
static _Thread_local Fault *fault_here;

static void run_job(void *arg, int t, int nt) {
  const Job *j = arg;
  fault_here = &j->r->fault;
  j->run(arg, t, nt);
  fault_here = NULL;
}

void exec_run(Run *r, const Exec *x, uint64_t batch) {
  if (r->cuda) {
    cuda_run(r, x, batch);
    return;
  }
  Job j = {.r = r, .x = x, .batch = batch};
  j.gather = batch != NO_BATCH && x->entry->inputs_bytes >= GATHER_SERIAL && pool_size(r->pool) > 1;
  if (batch != NO_BATCH && !j.gather)
    dataset_gather(&r->data, r->mem.region[GC_INPUTS], batch, 0, 1);
  bool profiled = r->profile && x == &r->entry;
  j.run = r->o.given[OPT_POISON] ? run_poisoned : profiled ? run_profiled : run_plain;
  pool_run(r->pool, run_job, &j);
  if (x->streams) streams_reset(x->streams);
}

void gcrt_fault(int site, int64_t at, int64_t value, int64_t limit) {
  Fault *f = fault_here;
  if (!f || atomic_load_explicit(&f->taken, memory_order_relaxed) || atomic_exchange(&f->taken, 1))
    return;
  f->site = site, f->at = at, f->value = value, f->limit = limit;
  atomic_store(&f->ready, 1);
}

bool exec_fault(Run *r, const GcEntry *entry, uint64_t batch) {
  const Fault *f = &r->fault;
  if (r->cuda && r->err.code) return true; /* the device failed */
  if (!atomic_load_explicit(&f->ready, memory_order_acquire)) return false;
  fault_say(r, entry, batch, f);
  return true;
}
