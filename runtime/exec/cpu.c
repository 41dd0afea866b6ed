/* The host's processor as a device: all addresses are resolved once, then a step is a call on all
   threads of the pool and perhaps a barrier. Contract: a run begins and ends on thread 0; --poison
   and --profile take loops of their own, so that the plain loop pays nothing for them. */
#include "runtime/exec/cpu.h"
#include "runtime/exec/ahead.h"
#include "runtime/exec/claim.h"
#include "runtime/exec/features.h"
#include "runtime/exec/loops.h"
#include <stdlib.h>
#include <string.h>

/* Bytes of inputs below which other threads are not worth a part of the job. */
enum { GATHER_SERIAL = 1 << 15 };

typedef struct CpuDevice {
  Device base;
  Ahead *ahead;         /* NULL: no batch is prepared beside a step */
  const GcEntry *entry; /* that ran last, with its batch in this turn; NULL: none has */
  int turn;
} CpuDevice;

static CpuDevice *device_of(const Session *s) { return (CpuDevice *)(void *)s->device; }

/* Behind a run, which took so many seconds. */
static void adapt(Session *s, const Exec *x, double seconds) {
  int n = pool_size(s->pool), next = adapt_run(&s->adapt, x, seconds, n, s->pool->threads);
  if (next == n) return;
  pool_use(s->pool, next);
  cpu_settle(s);
}

/* ---- loops ---- */

typedef struct EntryJob {
  PoolJob *run;
  Session *s;
  const CpuExec *x;
  uint64_t batch;
  bool gather;   /* on all threads */
  unsigned skip; /* of init: kinds of globals */
  int turn;
  int first, end; /* of the steps: those of the preparation, or the others */
} EntryJob;

typedef struct Context { /* of one thread on its way through an entry */
  const EntryJob *job;
  GcEnv env;
  Claimant claims;
  int who;      /* it is, of all */
  Slot slot;    /* among those that run its steps */
  void **moved; /* addresses of the step at hand */
} Context;

/* What kernels see on this thread. */
static GcEnv env_of(const Session *s, int t) {
  GcEnv env = s->env;
  env.work = memory_work(&s->memory, s->program, t);
  return env;
}

/* Those of the steps at hand: a preparation has one. */
static Streams *streams_of(const EntryJob *j) {
  return j->first >= j->x->base.entry->ahead ? j->x->streams : NULL;
}

/* Without claims: of none. */
static Claimant claimant_of(const EntryJob *j, int t, int nt) {
  return (Claimant){j->s->claims ? j->s->pool->claims : NULL, t, nt, 0};
}

/* Of all threads, or of the group of them that has some of the streams. */
static Context context_of(const EntryJob *j, int t, int nt, bool groups) {
  bool group = groups && streams_of(j);
  Slot all = {j->s->pool->barrier, t, nt};
  return (Context){.job = j,
                   .env = env_of(j->s, t),
                   .claims = claimant_of(j, t, nt),
                   .who = t,
                   .slot = group ? streams_slot(j->x->streams, t) : all};
}

static void *const *addresses(const Context *c, int step, const int64_t *at) {
  const ExecStep *s = &c->job->x->steps[c->job->turn][step];
  if (!s->moves) return s->args;
  const GcEntry *e = c->job->x->base.entry;
  const GcStep *g = &e->steps[step];
  for (int a = 0; a < g->nargs; a++)
    c->moved[a] = (uint8_t *)s->args[a] + loops_shift(&g->args[a], at, e->depth);
  return c->moved;
}

/* Goes through the steps of an entry with this thread's place in its loops. */
static void walk(Context *c, LoopVisit *visit) {
  const CpuExec *x = c->job->x;
  const GcEntry *e = x->base.entry;
  uint8_t *own = x->contexts + (uint64_t)c->who * x->context_bytes;
  LoopWalk w = {.entry = e,
                .visit = visit,
                .arg = c,
                .at = (int64_t *)(void *)own,
                .extents = c->env.extents,
                .first = c->job->first,
                .end = c->job->end};
  c->moved = (void **)(void *)(own + (uint64_t)e->depth * sizeof(int64_t));
  (void)loops_walk(&w);
}

/* What the ranks have begun goes on between two steps. */
static void poll_comm(const GcEnv *env, int t) {
  if (env->comm && t == 0) env->comm->poll(env->comm);
}

static bool goes_on(const void *comm) {
  const GcComm *c = comm;
  return c->poll(c);
}

/* It goes on, too, while the first thread waits for others in front of a step. */
static void meet(const GcEnv *env, int who, Barrier *b, int t) {
  if (env->comm && who == 0)
    barrier_wait_idle(b, t, goes_on, env->comm);
  else
    barrier_wait(b, t);
}

/* False: others run the step, or it is the end of a loop. */
static bool enter(const Context *c, int step, int loop) {
  Streams *streams = streams_of(c->job);
  if (loop >= 0 && streams) streams_leave_loop(streams, c->who, loop);
  if (loop >= 0 || (streams && !streams_enter(streams, c->who, step))) return false;
  if (c->job->x->steps[c->job->turn][step].wait) meet(&c->env, c->who, c->slot.barrier, c->slot.t);
  return true;
}

static void leave(const Context *c, int step) {
  const Streams *streams = streams_of(c->job);
  if (streams) streams_leave(streams, c->who, step);
}

typedef struct StepCall {
  GcKernel *kernel;
  void *const *args;
  const GcEnv *env;
} StepCall;

static void run_part(const void *arg, int part, int parts) {
  const StepCall *c = arg;
  c->kernel(c->args, c->env, part, parts);
}

static void run_step(const ExecStep *x, const StepCall *call, Claimant *claims, int t, int nt) {
  if (x->parts && claims->all)
    claim_step(claims, run_part, call);
  else
    run_part(call, t, nt);
}

static void call(Context *c, int step, const int64_t *at) {
  const ExecStep *x = &c->job->x->steps[c->job->turn][step];
  const StepCall of = {x->kernel, addresses(c, step, at), &c->env};
  run_step(x, &of, &c->claims, c->slot.t, c->slot.nt);
  poll_comm(&c->env, c->who);
}

static bool step_plain(void *arg, int step, int loop, const int64_t *at) {
  Context *c = arg;
  if (!enter(c, step, loop)) return true;
  call(c, step, at);
  leave(c, step);
  return true;
}

/* Of init, where some kinds of globals get other values or none. */
static bool step_needed(void *arg, int step, int loop, const int64_t *at) {
  Context *c = arg;
  if (!enter(c, step, loop)) return true;
  unsigned makes = c->job->x->base.entry->steps[step].makes;
  if (!makes || makes & ~c->job->skip) call(c, step, at);
  leave(c, step);
  return true;
}

static bool step_traced(void *arg, int step, int loop, const int64_t *at) {
  Context *c = arg;
  if (!enter(c, step, loop)) return true;
  double from = clock_now();
  call(c, step, at);
  trace_step(c->job->s->trace, c->who, step, from, clock_now());
  leave(c, step);
  return true;
}

static const void *fetch(void *from, int arg) { return ((void *const *)from)[arg]; }

/* Where what is dead behind it lies. */
static uint8_t *dead_in(const EntryJob *j, int step) {
  const GcEntry *e = j->x->base.entry;
  return cpu_region(&j->s->memory, e, step >= 0 && step < e->ahead ? GC_PREPARED : GC_ARENA,
                    j->turn);
}

/* Threads wait for one another before and behind the step, with which a collective ends that it
   began. Its values are looked at and its dead bytes are poisoned: all ones are NaN in every float
   format, and -1 or 255 as integers. */
static bool step_stopped(void *arg, int step, int loop, const int64_t *at) {
  Context *c = arg;
  Session *s = c->job->s;
  const GcEntry *e = c->job->x->base.entry;
  const GcRange *dead = step < 0 ? e->loops[loop].dead : e->steps[step].dead;
  int n = step < 0 ? e->loops[loop].ndead : e->steps[step].ndead;
  barrier_wait(s->pool->barrier, c->who);
  if (step >= 0) {
    call(c, step, at);
    if (c->env.comm && c->who == 0) c->env.comm->end(c->env.comm);
    barrier_wait(s->pool->barrier, c->who);
  }
  if (s->inspect && c->who == 0 && step >= 0)
    s->inspect(s->inspect_arg, e, step, fetch, (void *)addresses(c, step, at));
  for (int d = 0; s->poison && c->who == 0 && d < n; d++)
    memset(dead_in(c->job, step) + dead[d].offset, 0xFF, dead[d].bytes);
  return true;
}

/* ---- jobs ---- */

static uint8_t *inputs_of(const EntryJob *j) {
  return cpu_region(&j->s->memory, j->x->base.entry, GC_INPUTS, j->turn);
}

static void gather_in_job(const EntryJob *j, int t, int nt) {
  if (!j->gather) return;
  dataset_gather(j->s->data, inputs_of(j), j->batch, t, nt);
  barrier_wait(j->s->pool->barrier, t);
}

static void run_plain(void *arg, int t, int nt) {
  const EntryJob *j = arg;
  const GcEntry *e = j->x->base.entry;
  gather_in_job(j, t, nt);
  if (cpu_has_contexts(e)) {
    Context c = context_of(j, t, nt, true);
    walk(&c, step_plain);
    return;
  }
  Barrier *all = j->s->pool->barrier;
  const GcEnv env = env_of(j->s, t);
  const ExecStep *steps = j->x->steps[j->turn];
  Claimant claims = claimant_of(j, t, nt);
  for (const ExecStep *x = steps + j->first; x < steps + j->end; x++) {
    if (x->wait) meet(&env, t, all, t);
    const StepCall of = {x->kernel, x->args, &env};
    run_step(x, &of, &claims, t, nt);
    poll_comm(&env, t);
  }
}

static void run_needed(void *arg, int t, int nt) {
  Context c = context_of(arg, t, nt, true);
  walk(&c, step_needed);
}

static void run_traced(void *arg, int t, int nt) {
  const EntryJob *j = arg;
  gather_in_job(j, t, nt);
  if (j->first == 0) trace_begin(j->s->trace, t);
  Context c = context_of(j, t, nt, true);
  walk(&c, step_traced);
}

static void run_stopped(void *arg, int t, int nt) {
  const EntryJob *j = arg;
  Session *s = j->s;
  const GcEntry *e = j->x->base.entry;
  if (t == 0 && s->poison && j->first == e->ahead)
    memset(s->memory.region[GC_ARENA], 0xFF, e->arena_bytes);
  if (t == 0 && s->poison && j->first < e->ahead)
    memset(dead_in(j, j->first), 0xFF, e->ahead_bytes);
  if (j->gather) dataset_gather(s->data, inputs_of(j), j->batch, t, nt);
  Context c = context_of(j, t, nt, false); /* one step after the other */
  walk(&c, step_stopped);
}

/* Kernels know no context, so that each thread knows where a fault is recorded. */
static _Thread_local Fault *fault_here;

static void run_job(void *arg, int t, int nt) {
  const EntryJob *j = arg;
  fault_here = &j->s->fault;
  j->run(arg, t, nt);
  fault_here = NULL;
}

/* On the thread of what is ahead: all steps of the preparation, as the only thread. */
static double prepare_ahead(Session *s, const AheadBatch *b) {
  const CpuExec *x = cpu_exec(b->x);
  const GcEntry *e = b->x->entry;
  GcEnv env = b->env;
  env.work = memory_work(&s->memory, s->program, s->plan.threads);
  fault_here = ahead_fault(device_of(s)->ahead);
  const double read =
      dataset_gather_beside(s->data, cpu_region(&s->memory, e, GC_INPUTS, b->turn), b->batch);
  for (int i = 0; i < e->ahead; i++)
    x->steps[b->turn][i].kernel(x->steps[b->turn][i].args, &env, 0, 1);
  fault_here = NULL;
  return read;
}

static void begin_ahead(Session *s, Exec *exec, uint64_t batch, int turn) {
  AheadBatch b = {.x = exec, .batch = batch, .env = s->env, .turn = turn};
  b.env.step++;
  b.env.first_row = session_first_row(s, batch);
  session_extents(s, exec->entry, batch, b.env.extents);
  ahead_begin(device_of(s)->ahead, &b);
}

static void run_steps(EntryJob *j, int first, int end) {
  j->first = first, j->end = end;
  if (j->s->claims) claims_clear(j->s->pool->claims, pool_size(j->s->pool));
  pool_run(j->s->pool, run_job, j);
  j->gather = false;
}

static void cpu_run(Session *s, Exec *exec, const RunRequest *q) {
  const CpuExec *x = cpu_exec(exec);
  const GcEntry *e = exec->entry;
  Ahead *ahead = device_of(s)->ahead;
  const int taken = ahead_take(ahead, exec, q->batch, s->env.step);
  EntryJob j = {.s = s, .x = x, .batch = q->batch, .skip = q->skip, .turn = taken > 0};
  bool batch = q->batch != NO_BATCH && taken < 0;
  uint64_t mode = float_mode_set(); /* of the caller's thread, as workers have it */
  if (batch && s->poison) memset(inputs_of(&j), 0xFF, e->inputs_bytes);
  j.gather = batch && pool_size(s->pool) > 1 &&
             (e->inputs_bytes >= GATHER_SERIAL || s->data->reader); /* or to read them takes long */
  if (batch && !j.gather) dataset_gather(s->data, inputs_of(&j), q->batch, 0, 1);
  bool traced = s->trace && s->trace->entry == e;
  bool stops = s->poison || (s->inspect && !session_own(s, exec));
  j.run = stops ? run_stopped : traced ? run_traced : q->skip ? run_needed : run_plain;
  const double begin = s->adapts ? clock_now() : 0;
  if (e->ahead && taken < 0) run_steps(&j, 0, e->ahead);
  if (e->ahead && ahead && q->more && q->next != NO_BATCH && !stops && !traced)
    begin_ahead(s, exec, q->next, !j.turn);
  run_steps(&j, e->ahead, e->nsteps);
  device_of(s)->entry = e, device_of(s)->turn = j.turn;
  if (x->streams) streams_reset(x->streams);
  if (s->adapts) adapt(s, exec, clock_now() - begin);
  float_mode_restore(mode);
}

void gcrt_fault(int site, int64_t at, int64_t value, int64_t limit) {
  Fault *f = fault_here;
  if (!f || atomic_load_explicit(&f->claimed, memory_order_relaxed) ||
      atomic_exchange(&f->claimed, 1))
    return;
  f->site = site, f->at = at, f->value = value, f->limit = limit;
  atomic_store(&f->ready, 1);
}

/* ---- the device ---- */

static void cpu_fill(Session *s, const Exec *x, uint64_t batch) {
  dataset_gather(s->data, s->memory.region[GC_INPUTS], batch, 0, 1);
}

/* An output may be a view of an input, or of what is prepared. */
static void *cpu_at(const Session *s, const GcTensor *t) {
  const CpuDevice *d = device_of(s);
  return (d->entry ? cpu_region(&s->memory, d->entry, t->region, d->turn)
                   : s->memory.region[t->region]) +
         t->offset;
}

static void cpu_describe(const Session *s, char *out, size_t size) {
  int threads = pool_size(s->pool);
  snprintf(out, size, "%d thread%s", threads, threads == 1 ? "" : "s");
}

static Device *cpu_open(const GcProgram *p, int ordinal, DeviceUse use, Err *e) {
  if (!cpu_check(p->march, e)) return NULL;
  CpuDevice *d = calloc(1, sizeof *d);
  if (!d) {
    err_set(e, EXIT_ENV, "no memory to use a device");
    return NULL;
  }
  d->base = (Device){.ops = &cpu_device, .program = p};
  return &d->base;
}

/* A thread prepares batches where a CPU has nothing else to do. */
static bool cpu_start(Session *s, Err *e) {
  cpu_settle(s);
  if (!s->plan.entries[0].ahead || !s->data || !s->data->spare) return true;
  device_of(s)->ahead = ahead_start(s, prepare_ahead, e);
  return device_of(s)->ahead;
}

static bool cpu_close(Device *d, Err *e) {
  CpuDevice *c = (CpuDevice *)(void *)d;
  ahead_stop(c->ahead);
  free(c);
  return true;
}

const DeviceOps cpu_device = {.on_host = true,
                              .open = cpu_open,
                              .close = cpu_close,
                              .table_bytes = cpu_table_bytes,
                              .prepare = cpu_prepare,
                              .start = cpu_start,
                              .run = cpu_run,
                              .fill = cpu_fill,
                              .lend = cpu_lend,
                              .at = cpu_at,
                              .describe = cpu_describe};
