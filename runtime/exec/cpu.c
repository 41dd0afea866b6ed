/* The host's processor as a device: all addresses are resolved once, then a step is a call on all
   threads of the pool and perhaps a barrier. Contract: a run begins and ends on thread 0; --poison
   and --profile take loops of their own, so that the plain loop pays nothing for them. */
#include "runtime/exec/features.h"
#include "runtime/exec/loops.h"
#include "runtime/exec/session.h"
#include "runtime/exec/streams.h"
#include <stdlib.h>
#include <string.h>

/* Bytes of inputs below which other threads are not worth a part of the job. */
enum { GATHER_SERIAL = 1 << 15 };

enum { LINE = 128 }; /* bytes that threads do not share */

typedef struct ExecStep {
  GcKernel *kernel;
  void *const *args;
  bool wait;  /* for all threads, before it runs */
  bool moves; /* with the iterations of the loops around it */
} ExecStep;

typedef struct CpuExec {
  Exec base;
  ExecStep *steps;
  uint8_t *contexts; /* of an entry with loops or streams: context_bytes for each thread */
  uint64_t context_bytes;
  Streams *streams; /* NULL: there is one */
} CpuExec;

/* ---- resolving ---- */

/* What a thread needs to walk through loops: iterations by depth, and the addresses of a step that
   moves with them. */
static uint64_t context_bytes(const GcEntry *e) {
  uint64_t most = 0;
  for (int i = 0; i < e->nsteps; i++)
    if (loops_moves(&e->steps[i]) && (uint64_t)e->steps[i].nargs > most)
      most = (uint64_t)e->steps[i].nargs;
  uint64_t bytes = (uint64_t)e->depth * sizeof(int64_t) + most * sizeof(void *);
  return (bytes + LINE - 1) / LINE * LINE;
}

static bool has_contexts(const GcEntry *e) { return e->nloops || e->streams > 1; }

static uint64_t cpu_table_bytes(const GcEntry *e, int threads) {
  uint64_t args = 0;
  for (int i = 0; i < e->nsteps; i++) args += (uint64_t)e->steps[i].nargs;
  uint64_t bytes =
      args * sizeof(void *) + (uint64_t)e->nsteps * sizeof(ExecStep) + sizeof(CpuExec) + 3 * LINE;
  if (has_contexts(e)) bytes += (uint64_t)threads * context_bytes(e) + LINE;
  if (e->counts_bytes) bytes += e->counts_bytes + LINE;
  return bytes + streams_bytes(e, threads);
}

static bool resolve_loops(CpuExec *x, const GcEntry *e, Memory *m, int threads) {
  x->context_bytes = context_bytes(e);
  x->contexts = memory_take(m, (uint64_t)threads * x->context_bytes);
  return !m->overdrawn;
}

static bool resolve_counts(const GcEntry *e, Memory *m) {
  int32_t *count = memory_take(m, e->counts_bytes);
  if (m->overdrawn) return false;
  for (uint64_t i = 0; i < e->counts_bytes / sizeof *count; i++) count[i] = (int32_t)i;
  m->region[GC_COUNTS] = (uint8_t *)count;
  return true;
}

static Exec *resolve(const GcEntry *e, Memory *m, int threads) {
  CpuExec *x = memory_take(m, sizeof *x);
  if (!x) return NULL;
  *x = (CpuExec){.base.entry = e};
  x->steps = memory_take(m, (uint64_t)e->nsteps * sizeof *x->steps);
  uint64_t nargs = 0;
  for (int i = 0; i < e->nsteps; i++) nargs += (uint64_t)e->steps[i].nargs;
  void **p = memory_take(m, nargs * sizeof *p);
  if (has_contexts(e) && !resolve_loops(x, e, m, threads)) return NULL;
  if (e->counts_bytes && !resolve_counts(e, m)) return NULL;
  x->streams = streams_make(e, m, threads);
  if (m->overdrawn) return NULL;
  for (int i = 0; i < e->nsteps; i++) {
    const GcStep *s = &e->steps[i];
    x->steps[i] = (ExecStep){.kernel = s->kernel, .args = p, .moves = loops_moves(s)};
    for (int a = 0; a < s->nargs; a++) *p++ = m->region[s->args[a].region] + s->args[a].offset;
  }
  return &x->base;
}

static bool cpu_prepare(Session *s, Err *e) {
  const SessionPlan *p = &s->plan;
  for (int i = 0; i < p->n && !s->memory.overdrawn; i++)
    s->entries[i] = resolve(&p->entries[i], &s->memory, p->threads);
  if (p->program->init && !s->memory.overdrawn)
    s->init = resolve(p->program->init, &s->memory, p->threads);
  if (p->program->gather && !s->memory.overdrawn)
    s->gather = resolve(p->program->gather, &s->memory, p->threads);
  return memory_sound(&s->memory, e);
}

/* Settles who runs what, and which barriers are needed. */
static void settle(CpuExec *x, Pool *pool) {
  const GcEntry *e = x->base.entry;
  int nt = pool_size(pool);
  if (x->streams) streams_settle(x->streams, pool);
  for (int i = 0; i < e->nsteps; i++) {
    int b = e->steps[i].barrier, n = x->streams ? streams_width(x->streams, i) : nt;
    x->steps[i].wait = n > 1 && (b == 1 || (b > 1 && b % n != 0));
  }
}

static void settle_all(Session *s) {
  for (int i = 0; i < s->plan.n; i++) settle((CpuExec *)(void *)s->entries[i], s->pool);
  if (s->init) settle((CpuExec *)(void *)s->init, s->pool);
  if (s->gather) settle((CpuExec *)(void *)s->gather, s->pool);
}

static bool cpu_start(Session *s, Err *e) {
  settle_all(s);
  return true;
}

/* Behind a run, which took so many seconds. */
static void adapt(Session *s, const Exec *x, double seconds) {
  int n = pool_size(s->pool), next = adapt_run(&s->adapt, x, seconds, n, s->pool->threads);
  if (next == n) return;
  pool_use(s->pool, next);
  settle_all(s);
}

/* ---- loops ---- */

typedef struct EntryJob {
  PoolJob *run;
  Session *s;
  const CpuExec *x;
  uint64_t batch;
  bool gather;   /* on all threads */
  unsigned skip; /* of init: kinds of globals */
} EntryJob;

typedef struct Context { /* of one thread on its way through an entry */
  const EntryJob *job;
  GcEnv env;
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

/* Of all threads, or of the group of them that has some of the streams. */
static Context context_of(const EntryJob *j, int t, int nt, bool groups) {
  bool group = groups && j->x->streams;
  Slot all = {j->s->pool->barrier, t, nt};
  return (Context){.job = j,
                   .env = env_of(j->s, t),
                   .who = t,
                   .slot = group ? streams_slot(j->x->streams, t) : all};
}

static void *const *addresses(const Context *c, int step, const int64_t *at) {
  const ExecStep *s = &c->job->x->steps[step];
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
                .extents = c->env.extents};
  c->moved = (void **)(void *)(own + (uint64_t)e->depth * sizeof(int64_t));
  (void)loops_walk(&w);
}

/* False: others run the step, or it is the end of a loop. */
static bool enter(const Context *c, int step, int loop) {
  const CpuExec *x = c->job->x;
  if (loop >= 0 && x->streams) streams_leave_loop(x->streams, c->who, loop);
  if (loop >= 0 || (x->streams && !streams_enter(x->streams, c->who, step))) return false;
  if (x->steps[step].wait) barrier_wait(c->slot.barrier, c->slot.t);
  return true;
}

static void leave(const Context *c, int step) {
  const CpuExec *x = c->job->x;
  if (x->streams) streams_leave(x->streams, c->who, step);
}

/* What the ranks have begun goes on between two steps. */
static void poll_comm(const GcEnv *env, int t) {
  if (env->comm && t == 0) env->comm->poll(env->comm);
}

static void call(const Context *c, int step, const int64_t *at) {
  c->job->x->steps[step].kernel(addresses(c, step, at), &c->env, c->slot.t, c->slot.nt);
  poll_comm(&c->env, c->who);
}

static bool step_plain(void *arg, int step, int loop, const int64_t *at) {
  const Context *c = arg;
  if (!enter(c, step, loop)) return true;
  call(c, step, at);
  leave(c, step);
  return true;
}

/* Of init, where some kinds of globals get other values or none. */
static bool step_needed(void *arg, int step, int loop, const int64_t *at) {
  const Context *c = arg;
  if (!enter(c, step, loop)) return true;
  unsigned makes = c->job->x->base.entry->steps[step].makes;
  if (!makes || makes & ~c->job->skip) call(c, step, at);
  leave(c, step);
  return true;
}

static bool step_traced(void *arg, int step, int loop, const int64_t *at) {
  const Context *c = arg;
  if (!enter(c, step, loop)) return true;
  double from = clock_now();
  call(c, step, at);
  trace_step(c->job->s->trace, c->who, step, from, clock_now());
  leave(c, step);
  return true;
}

static const void *fetch(void *from, int arg) { return ((void *const *)from)[arg]; }

/* Threads wait for one another before and behind the step, with which a collective ends that it
   began. Its values are looked at and its dead bytes are poisoned: all ones are NaN in every float
   format, and -1 or 255 as integers. */
static bool step_stopped(void *arg, int step, int loop, const int64_t *at) {
  const Context *c = arg;
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
    memset(s->memory.region[GC_ARENA] + dead[d].offset, 0xFF, dead[d].bytes);
  return true;
}

/* ---- jobs ---- */

static void gather_in_job(const EntryJob *j, int t, int nt) {
  if (!j->gather) return;
  dataset_gather(j->s->data, j->s->memory.region[GC_INPUTS], j->batch, t, nt);
  barrier_wait(j->s->pool->barrier, t);
}

static void run_plain(void *arg, int t, int nt) {
  const EntryJob *j = arg;
  const GcEntry *e = j->x->base.entry;
  gather_in_job(j, t, nt);
  if (has_contexts(e)) {
    Context c = context_of(j, t, nt, true);
    walk(&c, step_plain);
    return;
  }
  Barrier *all = j->s->pool->barrier;
  const GcEnv env = env_of(j->s, t);
  const ExecStep *x = j->x->steps, *end = x + e->nsteps;
  for (; x < end; x++) {
    if (x->wait) barrier_wait(all, t);
    x->kernel(x->args, &env, t, nt);
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
  trace_begin(j->s->trace, t);
  Context c = context_of(j, t, nt, true);
  walk(&c, step_traced);
}

static void run_stopped(void *arg, int t, int nt) {
  const EntryJob *j = arg;
  Session *s = j->s;
  if (t == 0 && s->poison) memset(s->memory.region[GC_ARENA], 0xFF, j->x->base.entry->arena_bytes);
  if (j->gather) dataset_gather(s->data, s->memory.region[GC_INPUTS], j->batch, t, nt);
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

static void cpu_run(Session *s, Exec *exec, const RunRequest *q) {
  const CpuExec *x = (const CpuExec *)(const void *)exec;
  const GcEntry *e = exec->entry;
  EntryJob j = {.s = s, .x = x, .batch = q->batch, .skip = q->skip};
  bool batch = q->batch != NO_BATCH;
  uint64_t mode = float_mode_set(); /* of the caller's thread, as workers have it */
  if (batch && s->poison) memset(s->memory.region[GC_INPUTS], 0xFF, e->inputs_bytes);
  j.gather = batch && pool_size(s->pool) > 1 &&
             (e->inputs_bytes >= GATHER_SERIAL || s->data->reader); /* or to read them takes long */
  if (batch && !j.gather) dataset_gather(s->data, s->memory.region[GC_INPUTS], q->batch, 0, 1);
  bool traced = s->trace && s->trace->entry == e;
  bool stops = s->poison || (s->inspect && !session_own(s, exec));
  j.run = stops ? run_stopped : traced ? run_traced : q->skip ? run_needed : run_plain;
  const double begin = s->adapts ? clock_now() : 0;
  pool_run(s->pool, run_job, &j);
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

static void *cpu_at(const Session *s, const GcTensor *t) {
  return s->memory.region[t->region] + t->offset;
}

static void cpu_describe(const Session *s, char *out, size_t size) {
  int threads = pool_size(s->pool);
  snprintf(out, size, "%d thread%s", threads, threads == 1 ? "" : "s");
}

static Device *cpu_open(const GcProgram *p, int ordinal, DeviceUse use, Err *e) {
  if (!cpu_check(p->march, e)) return NULL;
  Device *d = calloc(1, sizeof *d);
  if (!d) {
    err_set(e, EXIT_ENV, "no memory to use a device");
    return NULL;
  }
  *d = (Device){.ops = &cpu_device, .program = p};
  return d;
}

static bool cpu_close(Device *d, Err *e) {
  free(d);
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
                              .at = cpu_at,
                              .describe = cpu_describe};
