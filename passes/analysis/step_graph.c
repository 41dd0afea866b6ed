/* The step graph of an entry. Contract: the entry is in order and has a plan with lives and
   in-place decisions. These decide which values lie in globals' bytes. An op that writes there runs
   once, and a reader of the old value cannot be recomputed afterwards. */
#include "passes/analysis/step_graph.h"

typedef struct Model {
  Arena *a;
  const Entry *e;
  const Target *t;
  const Plan *p;
  StepGraph *out;
  int *storage;     /* by value: -1 none */
  int *overwritten; /* by global: the step that overwrites it, or nsteps */
  ValueId *root;    /* by value: what it is a view of */
  uint64_t *nested; /* by step of the plan: bytes that a loop's body alone has in use */
} Model;

static uint64_t units(const StepGraph *p, uint64_t bytes) {
  return bytes / p->unit + (bytes % p->unit != 0);
}

/* Larger programs count in larger units. Each storage and scratch is rounded up to a whole one. */
static uint64_t unit_of(const Plan *p, uint64_t align) {
  double sum = 0, count = 0;
  for (int t = 0; t < p->nsteps; t++) {
    sum += (double)p->scratch[p->steps[t]->id].bytes;
    for (int k = 0; k < p->steps[t]->nresults; k++)
      sum += (double)p->place[p->steps[t]->results[k]].bytes;
    count += 1 + p->steps[t]->nresults;
  }
  uint64_t unit = align;
  while (sum / (double)unit + count > STEP_MAX_UNITS) unit *= 2;
  return unit;
}

static bool in_arena(const Model *m, ValueId v) {
  return m->p->place[v].region == PLAN_ARENA && m->p->place[v].bytes > 0;
}

static void add_storage(Model *m, ValueId v, int step) {
  StepGraph *p = m->out;
  m->storage[v] = p->nstorages;
  p->storage[p->nstorages++] =
      (StepStorage){.size = (int)units(p, m->p->place[v].bytes), .maker = step, .value = v};
}

static int list_add(int *list, int n, int x) {
  for (int i = 0; i < n; i++)
    if (list[i] == x) return n;
  list[n] = x;
  return n + 1;
}

/* Operand `i` of the op may be overwritten by a result, as far as the op reads it nowhere else. */
static int add_pairs(Model *m, const Op *op, StepNode *s, StepPair *pair) {
  int n = 0;
  for (int k = 0; k < s->nout; k++)
    for (int j = 0; j < s->nin; j++) {
      ValueId result = m->out->storage[s->out[k]].value;
      int index = 0, uses = 0;
      bool ok = true;
      while (op->results[index] != result) index++;
      for (int i = 0; i < op->noperands; i++) {
        if (m->storage[m->root[op->operands[i]]] != s->in[j]) continue;
        uses++;
        ok &= op_inplace_ok(m->t, m->e, op, index, i) &&
              m->p->place[op->operands[i]].bytes == m->p->place[result].bytes;
      }
      if (uses && ok) pair[n++] = (StepPair){j, k};
    }
  return n;
}

/* A random op gives the same numbers again, since they follow from its key; what stores, or writes
   into a global's bytes, does not. A collective would, but takes a link's time for it. */
static bool runs_once(const Model *m, const Op *op) {
  if (op_info[op->kind].flags & OPF_EFFECT) return true;
  if (op_info[op->kind].cls == CLASS_COLLECTIVE && op->noperands) return true;
  for (int k = 0; k < op->nresults; k++)
    if (m->p->place[op->results[k]].region != PLAN_ARENA) return true;
  return false;
}

static void add_step(Model *m, const Op *op, ValueList *reads) {
  StepGraph *p = m->out;
  StepNode *s = &p->step[p->nsteps];
  plan_reads(m->a, m->e, op, reads);
  int *in = ARENA_ARRAY(m->a, int, reads->n + 1), *out = ARENA_ARRAY(m->a, int, op->nresults + 1);
  *s = (StepNode){.op = op, .flops = (double)op_flops(m->e, op), .latest = INT32_MAX};
  s->extra = (int)units(p, m->p->scratch[op->id].bytes);
  s->cost = s->flops;
  for (uint32_t k = 0; k < reads->n; k++) {
    ValueId v = m->root[reads->at[k]];
    s->cost += STEP_FLOPS_A_BYTE * (double)m->p->place[v].bytes;
    if (m->storage[v] >= 0) s->nin = list_add(in, s->nin, m->storage[v]);
    const Place *x = &m->p->place[v];
    if (x->region == PLAN_GLOBALS && m->overwritten[x->global] < s->latest)
      s->latest = m->overwritten[x->global];
  }
  for (int k = 0; k < op->nresults; k++) {
    s->cost += STEP_FLOPS_A_BYTE * (double)m->p->place[op->results[k]].bytes;
    if (!in_arena(m, op->results[k])) continue;
    add_storage(m, op->results[k], p->nsteps);
    out[s->nout++] = m->storage[op->results[k]];
  }
  s->in = in;
  s->out = out;
  StepPair *pair = ARENA_ARRAY(m->a, StepPair, s->nin * s->nout + 1);
  s->npairs = add_pairs(m, op, s, pair);
  s->pair = pair;
  if (runs_once(m, op)) s->latest = -1;
  p->flops += s->flops;
  p->cost += s->cost;
  p->nsteps++;
}

static void overwrites(Model *m, int global, int step) {
  if (step < m->overwritten[global]) m->overwritten[global] = step;
}

/* The first step that writes into each global's bytes; steps are counted as in the problem. */
static void find_overwritten(Model *m) {
  int step = 0;
  for (uint32_t i = 0; i < m->e->module->globals.n; i++) m->overwritten[i] = INT32_MAX;
  for (int t = 0; t < m->p->nsteps; t++) {
    const Op *op = m->p->steps[t];
    if (op->parent != m->e->body || plan_is_view(m->e, op)) continue;
    if (op->kind == OP_STORE) overwrites(m, (int)op->attr[AT_GLOBAL].i, step);
    for (int k = 0; k < op->nresults; k++) {
      const Place *x = &m->p->place[op->results[k]];
      if (x->region == PLAN_GLOBALS) overwrites(m, x->global, step);
    }
    step++;
  }
}

static bool is_nested(const Model *m, const Buffer *x) {
  if (x->owner == NO_ID) return m->p->steps[x->first]->parent != m->e->body;
  const Op *def = value_def(m->e, x->owner);
  return def ? def->parent != m->e->body : value_at(m->e, x->owner)->block != m->e->body;
}

/* A loop is one step here: what its body uses at most is what it needs while it runs. */
static void find_nested(Model *m, int align) {
  const Storages s = plan_storages(m->a, m->e, m->p, align, true);
  m->nested = ARENA_ARRAY(m->a, uint64_t, m->p->nsteps + 2);
  for (int i = 0; i < s.b.n; i++) {
    const Buffer *x = &s.b.at[i];
    if (is_nested(m, x)) live_add(m->nested, x->first, x->last, x->bytes);
  }
  live_sum(m->nested, m->p->nsteps + 1);
}

static int loop_extra(const Model *m, int step) {
  uint64_t max = 0;
  for (int t = step + 1; t < m->p->nsteps && m->p->steps[t]->parent != m->e->body; t++)
    if (m->nested[t] > max) max = m->nested[t];
  return (int)units(m->out, max);
}

StepGraph step_graph(Arena *a, const Entry *e, const Plan *plan, const Target *t) {
  StepGraph p = {.e = e, .unit = unit_of(plan, (uint64_t)t->align)};
  Model m = {.a = a, .e = e, .t = t, .p = plan, .out = &p};
  m.storage = ARENA_ARRAY(a, int, e->values.n);
  m.root = ARENA_ARRAY(a, ValueId, e->values.n);
  m.overwritten = ARENA_ARRAY(a, int, e->module->globals.n + 1);
  p.step = ARENA_ARRAY(a, StepNode, plan->nsteps + 1);
  p.storage = ARENA_ARRAY(a, StepStorage, e->values.n + 1);
  for (uint32_t v = 0; v < e->values.n; v++) {
    m.storage[v] = -1;
    m.root[v] = v;
  }
  find_overwritten(&m);
  find_nested(&m, t->align);
  ValueList reads = {0};
  for (int s = 0; s < plan->nsteps; s++) {
    const Op *op = plan->steps[s];
    if (op->parent != e->body) continue;
    if (plan_is_view(e, op)) {
      m.root[op->results[0]] = m.root[op->operands[0]];
    } else {
      add_step(&m, op, &reads);
      p.step[p.nsteps - 1].extra += loop_extra(&m, s);
    }
  }
  int64_t all = 0;
  for (int v = 0; v < p.nstorages; v++) all += p.storage[v].size;
  if (all > STEP_MAX_UNITS)
    gc_bug(e->module->ctx, "recomputation counts %lld units", (long long)all);
  const Op *ret = op_at(e, e->body->ops.at[e->body->ops.n - 1]);
  for (int i = 0; i < ret->noperands; i++) {
    int x = m.storage[m.root[ret->operands[i]]];
    if (x >= 0) p.storage[x].kept = true;
  }
  return p;
}
