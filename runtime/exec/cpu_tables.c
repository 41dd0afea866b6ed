/* The tables by which the host runs an entry: all addresses are resolved once, and who waits where
   once the number of threads is known. Contract: they lie in the session's one allocation, of which
   cpu_table_bytes counts what they take. */
#include "runtime/exec/claim.h"
#include "runtime/exec/cpu.h"
#include "runtime/exec/loops.h"

enum { LINE = 128 }; /* bytes that threads do not share */

/* ---- resolving ---- */

static int turns_of(const GcEntry *e) { return e->ahead ? CPU_TURNS : 1; }

uint8_t *cpu_region(const Memory *m, const GcEntry *e, GcRegion region, int turn) {
  uint64_t bytes = region == GC_INPUTS     ? e->inputs_bytes
                   : region == GC_PREPARED ? e->ahead_bytes
                                           : 0;
  return m->region[region] + (turn && bytes ? (uint64_t)turn * memory_turn(bytes) : 0);
}

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

uint64_t cpu_table_bytes(const GcEntry *e, int threads) {
  uint64_t args = 0, turns = (uint64_t)turns_of(e);
  for (int i = 0; i < e->nsteps; i++) args += (uint64_t)e->steps[i].nargs;
  uint64_t bytes =
      turns * (args * sizeof(void *) + (uint64_t)e->nsteps * sizeof(ExecStep) + 2 * LINE) +
      sizeof(CpuExec) + LINE;
  if (cpu_has_contexts(e)) bytes += (uint64_t)threads * context_bytes(e) + LINE;
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

/* With the addresses of a turn. */
static void resolve_steps(CpuExec *x, const GcEntry *e, Memory *m, int turn) {
  uint64_t nargs = 0;
  for (int i = 0; i < e->nsteps; i++) nargs += (uint64_t)e->steps[i].nargs;
  ExecStep *steps = memory_take(m, (uint64_t)e->nsteps * sizeof *steps);
  void **p = memory_take(m, nargs * sizeof *p);
  x->steps[turn] = steps;
  for (int i = 0; i < e->nsteps && !m->overdrawn; i++) {
    const GcStep *s = &e->steps[i];
    steps[i] = (ExecStep){.kernel = s->kernel, .args = p, .moves = loops_moves(s)};
    for (int a = 0; a < s->nargs; a++)
      *p++ = cpu_region(m, e, s->args[a].region, turn) + s->args[a].offset;
  }
}

static Exec *resolve(const GcEntry *e, Memory *m, int threads) {
  CpuExec *x = memory_take(m, sizeof *x);
  if (!x) return NULL;
  *x = (CpuExec){.base.entry = e};
  if (cpu_has_contexts(e) && !resolve_loops(x, e, m, threads)) return NULL;
  if (e->counts_bytes && !resolve_counts(e, m)) return NULL;
  x->streams = streams_make(e, m, threads);
  for (int turn = 0; turn < turns_of(e); turn++) resolve_steps(x, e, m, turn);
  return m->overdrawn ? NULL : &x->base;
}

bool cpu_prepare(Session *s, Err *e) {
  const SessionPlan *p = &s->plan;
  for (int i = 0; i < p->n && !s->memory.overdrawn; i++)
    s->entries[i] = resolve(&p->entries[i], &s->memory, p->threads);
  if (p->program->init && !s->memory.overdrawn)
    s->init = resolve(p->program->init, &s->memory, p->threads);
  if (p->program->gather && !s->memory.overdrawn)
    s->gather = resolve(p->program->gather, &s->memory, p->threads);
  return memory_sound(&s->memory, e);
}

/* Bools are made 0 and 1 on their way. */
bool cpu_lend(Session *s, Exec *of, const GcTensor *input, const void *from) {
  const GcEntry *e = of->entry;
  const bool lies_well = (uintptr_t)from % (uintptr_t)elem_info[input->dtype].size == 0;
  if (!input->compact) return false;
  const bool lent = input->dtype != GC_BOOL && lies_well;
  uint8_t *own = s->memory.region[GC_INPUTS] + input->offset;
  for (int i = 0; i < e->nsteps; i++)
    for (int a = 0; a < e->steps[i].nargs; a++) {
      const GcArg *arg = &e->steps[i].args[a];
      if (arg->region != GC_INPUTS || arg->offset != input->offset) continue;
      cpu_exec(of)->steps[0][i].args[a] =
          lent ? (void *)(uintptr_t)from : own; /* kernels read it */
    }
  return lent;
}

/* A loop begins or ends in front of the step: what runs before it depends on the iteration. */
static bool turns(const GcEntry *e, int step) {
  for (int l = 0; l < e->nloops; l++)
    if (e->loops[l].first == step || e->loops[l].end == step) return true;
  return false;
}

static bool all_meet(const CpuExec *x, const ExecStep *steps, int i) {
  const GcEntry *e = x->base.entry;
  if (turns(e, i)) return false;
  return i == 0 || i == e->ahead || i == e->nsteps || steps[i].wait;
}

/* Its parts take long enough to be given away: some 10 us in each iteration. */
static bool is_long(const GcEntry *e, int step, int n) {
  enum { LEAST = 1 << 16 }; /* flops and bytes of a part */
  uint64_t parts = (uint64_t)n * CLAIM_PARTS;
  for (int l = 0; l < e->nloops; l++)
    if (e->loops[l].first <= step && step < e->loops[l].end) parts *= (uint64_t)e->loops[l].trips;
  return e->steps[step].flops + e->steps[step].bytes >= parts * LEAST;
}

/* Settles who runs what, and which barriers are needed. */
static void settle(Exec *of, Pool *pool) {
  CpuExec *x = cpu_exec(of);
  const GcEntry *e = x->base.entry;
  int nt = pool_size(pool);
  if (x->streams) streams_settle(x->streams, pool);
  for (int i = 0; i < e->nsteps; i++) {
    bool all = !x->streams || i < e->ahead; /* a preparation has one stream */
    int b = e->steps[i].barrier, n = all ? nt : streams_width(x->streams, i);
    for (int turn = 0; turn < turns_of(e); turn++)
      x->steps[turn][i].wait = n > 1 && (b == 1 || (b > 1 && b % n != 0));
  }
  for (int turn = 0; turn < turns_of(e); turn++)
    for (int i = 0; i < e->nsteps; i++) {
      ExecStep *s = &x->steps[turn][i];
      s->parts = nt > 1 && !x->streams && !e->steps[i].one_share && is_long(e, i, nt) &&
                 all_meet(x, x->steps[turn], i) && all_meet(x, x->steps[turn], i + 1);
    }
}

void cpu_settle(Session *s) {
  for (int i = 0; i < s->plan.n; i++) settle(s->entries[i], s->pool);
  if (s->init) settle(s->init, s->pool);
  if (s->gather) settle(s->gather, s->pool);
}
