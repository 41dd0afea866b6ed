/* Execution in planned bytes; see planned.h. Shares nothing with the planner and its checker but
   the plan and the places of globals. */
#include "tests/num/planned.h"

#include "tests/num/bytes.h"
#include "tests/num/random_program.h"

#include <limits.h>
#include <stdlib.h>

typedef struct Stream {
  int step;    /* that it is at; nsteps: it is over */
  bool begun;  /* the first part of the step is done */
  int64_t *at; /* by depth of loops: the iteration, counted from the first one to run */
} Stream;

typedef struct Machine {
  EvalCtx c;
  const Plan *p;
  Arena *a;
  GlobalsPlan globals;
  unsigned char *region[PLAN_REGIONS];
  uint64_t bytes[PLAN_REGIONS];
  Stream *stream;
  int nstreams;
  int *step_of; /* by op */
  bool *over;   /* by step: in its last iteration */
  int behind;   /* all steps before this one are over */
  bool *lives;  /* by value: written, and not dead by the plan */
  uint64_t seed, rng;
  unsigned char poison;
} Machine;

static bool failed(const Machine *m) { return m->c.it->why[0]; }

/* ---------------------------------------------------------------- memory ---- */

static int64_t iteration(const Stream *s, const Op *scan) {
  int64_t k = s->at[plan_level(scan)];
  return scan->attr[AT_REVERSE].i ? scan->attr[AT_TRIPS].i - 1 - k : k;
}

/* Where the place is in the iterations that the stream is at. NULL: outside of its region. */
static unsigned char *locate(Machine *m, const Stream *s, const Place *x, const Block *b) {
  uint64_t from = x->offset;
  for (const Op *scan = b->op; scan && x->stride; scan = scan->parent->op)
    from += (uint64_t)(x->stride[plan_level(scan)] * iteration(s, scan));
  if (from <= m->bytes[x->region] && x->bytes <= m->bytes[x->region] - from)
    return m->region[x->region] + from;
  eval_fault(&m->c, "bytes from 0x%llx of region %d are not there", (unsigned long long)from,
             (int)x->region);
  return NULL;
}

/* By element: its offset in the layout's storage. */
static uint64_t *element_offsets(Arena *a, const Type *t, const Layout *l) {
  uint64_t *at = ARENA_ARRAY(a, uint64_t, t->numel + 1);
  int64_t *stride = ARENA_ARRAY(a, int64_t, t->rank + 1);
  int64_t panel = layout_strides(t, l, stride);
  int last = panel ? layout_axis(l, t->rank - 1) : -1;
  for (int64_t i = 0; i < t->numel; i++) {
    int64_t sum = 0, rest = i;
    for (int d = t->rank - 1; d >= 0; d--) {
      int64_t x = rest % t->dim[d];
      rest /= t->dim[d];
      sum += d == last ? x / l->nr * panel + x % l->nr : x * stride[d];
    }
    at[i] = (uint64_t)sum * (uint64_t)dtype_size(t->dtype);
  }
  return at;
}

static void read_tensor(Machine *m, Tensor *to, const Type *t, const Layout *l,
                        const unsigned char *from) {
  uint64_t *at = element_offsets(m->a, t, l);
  *to = (Tensor){.type = t, .at = ARENA_ARRAY(m->a, Scalar, t->numel + 1)};
  for (int64_t i = 0; i < t->numel; i++) to->at[i] = scalar_read(from + at[i], t->dtype);
}

static void write_tensor(Machine *m, unsigned char *to, const Layout *l, Tensor x) {
  uint64_t *at = element_offsets(m->a, x.type, l);
  for (int64_t i = 0; i < x.type->numel; i++) scalar_write(to + at[i], x.type->dtype, x.at[i]);
}

static void read_value(Machine *m, const Stream *s, ValueId v, const Block *b) {
  const Value *x = value_at(m->c.e, v);
  const unsigned char *from = x->type->numel ? locate(m, s, &m->p->place[v], b) : m->region[0];
  if (from) read_tensor(m, &m->c.value[v], x->type, x->layout, from);
}

/* Brings a value's bytes to another place, if they are elsewhere. */
static void move(Machine *m, const Stream *s, ValueId v, const Place *to, const Block *b) {
  const unsigned char *from = locate(m, s, &m->p->place[v], b);
  unsigned char *at = locate(m, s, to, b);
  if (from && at && m->p->place[v].bytes > to->bytes)
    eval_fault(&m->c, "%llu bytes of value %u are moved into %llu",
               (unsigned long long)m->p->place[v].bytes, v, (unsigned long long)to->bytes);
  else if (from && at)
    memmove(at, from, m->p->place[v].bytes);
}

/* ---------------------------------------------------------------- a step ---- */

static bool moves_nothing(const Machine *m, const Op *op) {
  if (op->kind != OP_RESHAPE) return false;
  const Place *x = &m->p->place[op->operands[0]], *y = &m->p->place[op->results[0]];
  return x->region == y->region && x->offset == y->offset &&
         !value_at(m->c.e, op->operands[0])->layout && !value_at(m->c.e, op->results[0])->layout;
}

/* How many leading axes number what an op reads before it writes it: all of them for elements, all
   but the last for rows, and of a kernel the fewest of what it holds. */
static int leading(const Entry *e, const Op *op) {
  if (op->kind == OP_KERNEL) {
    int least = INT_MAX;
    for (uint32_t i = 0; i < op->blocks[0]->ops.n; i++) {
      int n = leading(e, op_at(e, op->blocks[0]->ops.at[i]));
      if (n < least) least = n;
    }
    return least;
  }
  const Type *t = op->noperands ? value_type(e, op->operands[0]) : NULL;
  switch ((int)op_info[op->kind].cls) {
  case CLASS_ROWS: return value_type(e, op->results[0])->rank - 1;
  case CLASS_ORDER: return (int)op->attr[AT_AXIS].i;
  case CLASS_REDUCE:
    if (op->kind == OP_ARGMAX || op->kind == OP_ARGMIN) return (int)op->attr[AT_AXIS].i;
    return op->attr[AT_AXES].ints ? (int)op->attr[AT_AXES].ints->at[0] : t->rank;
  default: return INT_MAX;
  }
}

/* Whether the part of the result that the element belongs to is written first. */
static bool is_early(uint64_t draw, const Type *t, int lead, int64_t element) {
  int64_t below = 1;
  for (int d = t->rank - 1; d >= lead && d >= 0; d--) below *= t->dim[d];
  uint64_t rng = draw + (uint64_t)(element / below) * 0x9e3779b97f4a7c15u;
  return random_next(&rng) & 1;
}

/* The operand's element at byte `from` lies over what the first part of the results was written to.
 */
static bool is_lost(Machine *m, const Op *op, ValueId v, uint64_t from) {
  const Place *x = &m->p->place[v];
  uint64_t to = from + (uint64_t)dtype_size(value_type(m->c.e, v)->dtype);
  for (int r = 0; r < op->nresults; r++) {
    const Value *y = value_at(m->c.e, op->results[r]);
    const Place *z = &m->p->place[op->results[r]];
    uint64_t size = (uint64_t)dtype_size(y->type->dtype);
    if (z->region != x->region || x->stride || z->stride) continue;
    if (z->offset >= x->offset + x->bytes || x->offset >= z->offset + z->bytes) continue;
    uint64_t *at = element_offsets(m->a, y->type, y->layout);
    for (int64_t i = 0; i < y->type->numel; i++)
      if (x->offset + from < z->offset + at[i] + size && z->offset + at[i] < x->offset + to &&
          is_early(m->seed + op->id, y->type, leading(m->c.e, op), i))
        return true;
  }
  return false;
}

/* An index that was written over is one no more, and the op would refuse it for an element that is
   done; 0 is as wrong. */
static void lose_indices(Machine *m, const Op *op) {
  for (int i = 0; i < op->noperands && !failed(m); i++) {
    const Value *x = value_at(m->c.e, op->operands[i]);
    if (dtype_is_float(x->type->dtype)) continue;
    uint64_t *at = element_offsets(m->a, x->type, x->layout);
    for (int64_t k = 0; k < x->type->numel; k++)
      if (is_lost(m, op, op->operands[i], at[k]))
        m->c.value[op->operands[i]].at[k] = (Scalar){.i = 0};
  }
}

/* Reads operands, and writes one part of the results. */
static void compute(Machine *m, const Stream *s, const Op *op, bool early) {
  EvalCtx *c = &m->c;
  int lead = leading(c->e, op);
  for (int i = 0; i < op->noperands && !failed(m); i++)
    read_value(m, s, op->operands[i], op->parent);
  if (!early) lose_indices(m, op);
  if (!failed(m)) op_info[op->kind].eval(c, op);
  for (int r = 0; r < op->nresults && !failed(m); r++) {
    const Value *v = value_at(c->e, op->results[r]);
    if (!v->type->numel) continue;
    unsigned char *to = locate(m, s, &m->p->place[op->results[r]], op->parent);
    uint64_t *at = element_offsets(m->a, v->type, v->layout);
    for (int64_t i = 0; to && i < v->type->numel; i++)
      if (is_early(m->seed + op->id, v->type, lead, i) == early)
        scalar_write(to + at[i], v->type->dtype, c->value[op->results[r]].at[i]);
  }
}

/* The scratch of a running step is filled with its own byte, which must be there at its end. */
static void scratch(Machine *m, const Stream *s, const Op *op, bool begins) {
  const Place *x = &m->p->scratch[op->id];
  unsigned char *at = x->bytes ? locate(m, s, x, m->c.e->body) : NULL;
  unsigned char mark = (unsigned char)(1 + s->step % 100);
  for (uint64_t i = 0; at && i < x->bytes; i++) {
    if (!begins && at[i] != mark)
      eval_fault(&m->c, "the scratch of step %d is written to while it runs", s->step);
    at[i] = begins ? mark : m->poison;
  }
}

static void store(Machine *m, const Stream *s, const Op *op) {
  int g = (int)op->attr[AT_GLOBAL].i;
  const Place *x = &m->p->place[op->operands[0]];
  Place to = {.region = PLAN_GLOBALS, .offset = m->globals.offset[g], .bytes = x->bytes};
  move(m, s, op->operands[0], &to, op->parent);
}

/* The iteration's slice of a stack. */
static Place slice_of(Machine *m, const Stream *s, const Op *scan, const Place *whole) {
  Place x = *whole;
  x.bytes /= (uint64_t)scan->attr[AT_TRIPS].i;
  x.offset += x.bytes * (uint64_t)iteration(s, scan);
  return x;
}

/* What is stacked goes first: it may be a carry. */
static void yield(Machine *m, const Stream *s, const Op *op) {
  const Op *scan = op->parent->op;
  int carries = (int)scan->attr[AT_CARRIES].i;
  for (int k = carries; k < op->noperands; k++) {
    Place to = slice_of(m, s, scan, &m->p->place[scan->results[k]]);
    move(m, s, op->operands[k], &to, op->parent);
  }
  for (int k = 0; k < carries; k++)
    move(m, s, op->operands[k], &m->p->place[scan->results[k]], op->parent);
}

static void begin(Machine *m, Stream *s) {
  const Op *op = m->p->steps[s->step];
  s->begun = true;
  if (op->kind == OP_STORE || op->kind == OP_SCAN || op->kind == OP_YIELD) return;
  if (moves_nothing(m, op)) return;
  scratch(m, s, op, true);
  compute(m, s, op, true);
}

static void end(Machine *m, Stream *s) {
  const Op *op = m->p->steps[s->step];
  switch ((int)op->kind) {
  case OP_STORE: store(m, s, op); return;
  case OP_YIELD: yield(m, s, op); return;
  case OP_SCAN:
    for (int k = 0; k < op->attr[AT_CARRIES].i; k++)
      move(m, s, op->operands[k], &m->p->place[op->results[k]], op->parent);
    return;
  default: break;
  }
  if (moves_nothing(m, op)) return;
  compute(m, s, op, false);
  scratch(m, s, op, false);
}

/* ---------------------------------------------------------------- lives ---- */

/* Every loop between the value and the step at hand is in its last iteration. */
static bool is_last_round(const Machine *m, const Stream *s, ValueId v, const Block *b) {
  const Block *of = value_block(m->c.e, v);
  for (; b != of && b->op; b = b->op->parent)
    if (s->at[plan_level(b->op)] + 1 < b->op->attr[AT_TRIPS].i) return false;
  return b == of;
}

/* What a step writes lives from its beginning on. */
static void give_birth(Machine *m, int t) {
  for (ValueId v = 0; v < m->c.e->values.n; v++)
    if (m->p->place[v].first == t) m->lives[v] = true;
}

static void keep_bytes(const Place *of, const Place *x, bool *kept) {
  if (x->region != PLAN_ARENA || x->stride) return;
  uint64_t from = x->offset > of->offset ? x->offset - of->offset : 0;
  for (uint64_t i = from; i < of->bytes && of->offset + i < x->offset + x->bytes; i++)
    kept[i] = true;
}

/* Fills the bytes of a dead value, but for those of what lives or is the scratch of a running step.
 */
static void bury(Machine *m, ValueId v) {
  const Place *x = &m->p->place[v];
  m->lives[v] = false;
  if (x->region != PLAN_ARENA || !x->bytes || x->stride) return;
  unsigned char *at = locate(m, m->stream, x, m->c.e->body);
  bool *kept = ARENA_ARRAY(m->a, bool, x->bytes);
  for (ValueId w = 0; w < m->c.e->values.n; w++)
    if (m->lives[w]) keep_bytes(x, &m->p->place[w], kept);
  for (int k = 0; k < m->nstreams; k++) {
    const Stream *s = &m->stream[k];
    if (s->begun) keep_bytes(x, &m->p->scratch[m->p->steps[s->step]->id], kept);
  }
  for (uint64_t i = 0; at && i < x->bytes; i++)
    if (!kept[i]) at[i] = m->poison;
}

/* Whether the value is one of a loop's body and dead before the iteration is over. */
static bool dies_in_loop(const Machine *m, ValueId v) {
  const Block *of = value_block(m->c.e, v), *b = of;
  int last = m->p->place[v].last;
  if (!of->op || last < 0 || last >= m->p->nsteps) return false;
  for (b = m->p->steps[last]->parent; b != of && b->op;) b = b->op->parent;
  return b == of;
}

/* What the plan says is dead behind the step, in this iteration. */
static void bury_in_loop(Machine *m, const Stream *s) {
  for (ValueId v = 0; v < m->c.e->values.n; v++)
    if (m->lives[v] && m->p->place[v].last == s->step && dies_in_loop(m, v) &&
        is_last_round(m, s, v, m->p->steps[s->step]->parent))
      bury(m, v);
}

/* What the plan says is dead when all steps up to one are over, in whatever order they came. */
static void bury_behind(Machine *m) {
  int from = m->behind;
  while (m->behind < m->p->nsteps && m->over[m->behind]) m->behind++;
  for (ValueId v = 0; v < m->c.e->values.n && m->behind > from; v++)
    if (m->lives[v] && m->p->place[v].last < m->behind && !dies_in_loop(m, v)) bury(m, v);
}

/* ---------------------------------------------------------------- the order ---- */

static int stream_of(const Machine *m, int t) { return m->p->stream ? m->p->stream[t] : 0; }

/* From the step that is over to the next one of the stream, or back to the head of a loop. */
static void advance(Machine *m, Stream *s) {
  const Op *op = m->p->steps[s->step];
  int me = (int)(s - m->stream);
  if (op->kind == OP_SCAN) s->at[plan_level(op)] = 0;
  if (op->kind == OP_YIELD) {
    const Op *scan = op->parent->op;
    if (++s->at[plan_level(scan)] < scan->attr[AT_TRIPS].i) {
      s->step = m->step_of[scan->id] + 1;
      return;
    }
  }
  m->over[s->step++] = true;
  while (s->step < m->p->nsteps && stream_of(m, s->step) != me) s->step++;
}

static bool may_go_on(const Machine *m, const Stream *s) {
  if (s->step == m->p->nsteps || s->begun) return s->begun;
  for (int i = 0; i < m->p->nedges; i++)
    if (m->p->edges[i].to == s->step && !m->over[m->p->edges[i].from]) return false;
  return true;
}

/* A stream that can go on, drawn among them; NULL: none can. */
static Stream *draw(Machine *m) {
  int n = 0;
  for (int k = 0; k < m->nstreams; k++) n += may_go_on(m, &m->stream[k]);
  if (!n) return NULL;
  int64_t skip = random_below(&m->rng, n);
  for (int k = 0;; k++)
    if (may_go_on(m, &m->stream[k]) && skip-- == 0) return &m->stream[k];
}

static void run_steps(Machine *m) {
  Stream *s;
  while (!failed(m) && (s = draw(m))) {
    if (!s->begun) {
      give_birth(m, s->step);
      begin(m, s);
      continue;
    }
    end(m, s);
    s->begun = false;
    bury_in_loop(m, s);
    advance(m, s);
    bury_behind(m);
  }
  for (int k = 0; k < m->nstreams && !failed(m); k++)
    if (m->stream[k].step < m->p->nsteps)
      eval_fault(&m->c, "step %d waits forever", m->stream[k].step);
}

/* ---------------------------------------------------------------- the whole ---- */

static void region_new(Machine *m, PlanRegion r, uint64_t bytes) {
  m->bytes[r] = bytes;
  m->region[r] = ARENA_ARRAY(m->a, unsigned char, bytes + 1);
  memset(m->region[r], m->poison, bytes);
}

static void machine_init(Machine *m) {
  const Module *module = m->c.e->module;
  const Plan *p = m->p;
  uint64_t hypers = 0;
  for (uint32_t i = 0; i < module->globals.n; i++)
    hypers += module->globals.at[i].kind == GLOBAL_HYPER ? HYPER_BYTES : 0;
  region_new(m, PLAN_ARENA, p->arena_bytes);
  region_new(m, PLAN_GLOBALS, m->globals.bytes);
  region_new(m, PLAN_INPUTS, p->inputs_bytes);
  region_new(m, PLAN_HYPERS, hypers);
  region_new(m, PLAN_COUNTS, p->counts_bytes);
  for (uint64_t i = 0; i < p->counts_bytes / 4; i++)
    scalar_write(m->region[PLAN_COUNTS] + 4 * i, DT_I32, (Scalar){.i = (int64_t)i});
  m->step_of = ARENA_ARRAY(m->a, int, m->c.e->ops.n + 1);
  m->over = ARENA_ARRAY(m->a, bool, p->nsteps + 1);
  m->lives = ARENA_ARRAY(m->a, bool, m->c.e->values.n + 1);
  for (int t = 0; t < p->nsteps; t++) m->step_of[p->steps[t]->id] = t;
  m->nstreams = p->streams > 1 ? p->streams : 1;
  m->stream = ARENA_ARRAY(m->a, Stream, m->nstreams);
  for (int k = 0; k < m->nstreams; k++) {
    m->stream[k].at = ARENA_ARRAY(m->a, int64_t, p->depth + 1);
    while (m->stream[k].step < p->nsteps && stream_of(m, m->stream[k].step) != k)
      m->stream[k].step++;
  }
}

static unsigned char *global_bytes(Machine *m, uint32_t g) {
  bool hyper = m->c.e->module->globals.at[g].kind == GLOBAL_HYPER;
  return m->region[hyper ? PLAN_HYPERS : PLAN_GLOBALS] + m->globals.offset[g];
}

static void copy_out(Machine *m, Tensor *outputs) {
  Interp *it = m->c.it;
  const Op *ret = op_at(m->c.e, m->c.e->body->ops.at[m->c.e->body->ops.n - 1]);
  for (int i = 0; i < ret->noperands && !failed(m); i++) {
    const Value *v = value_at(m->c.e, ret->operands[i]);
    read_value(m, &m->stream[0], ret->operands[i], m->c.e->body);
    if (failed(m)) return;
    outputs[i] = (Tensor){v->type, ARENA_ARRAY(it->arena, Scalar, v->type->numel + 1)};
    memcpy(outputs[i].at, m->c.value[ret->operands[i]].at, sizeof(Scalar) * (size_t)v->type->numel);
  }
  for (uint32_t g = 0; g < it->m->globals.n; g++) {
    const Global *x = &it->m->globals.at[g];
    Tensor t;
    read_tensor(m, &t, x->type, x->layout, global_bytes(m, g));
    memcpy(it->globals[g].at, t.at, sizeof(Scalar) * (size_t)x->type->numel);
  }
}

bool planned_run(Interp *it, const Entry *e, const Target *target, uint64_t seed,
                 const Tensor *inputs, Tensor *outputs) {
  Arena *a = arena_new();
  Machine m = {
      .p = plan_of(e), .a = a, .seed = seed, .rng = seed, .poison = seed % 2 ? 0xff : 0xa5};
  m.c = (EvalCtx){.it = it, .e = e, .scratch = a, .value = ARENA_ARRAY(a, Tensor, e->values.n + 1)};
  m.globals = plan_globals(e->module, target->align);
  it->why[0] = 0;
  machine_init(&m);
  for (uint32_t g = 0; g < it->m->globals.n; g++)
    write_tensor(&m, global_bytes(&m, g), it->m->globals.at[g].layout, it->globals[g]);
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Place *x = &m.p->place[e->body->args.at[i]];
    write_tensor(&m, m.region[PLAN_INPUTS] + x->offset, NULL, inputs[i]);
  }
  unsigned char *before =
      memcpy(arena_alloc(a, m.bytes[PLAN_INPUTS] + 1), m.region[PLAN_INPUTS], m.bytes[PLAN_INPUTS]);
  run_steps(&m);
  if (memcmp(before, m.region[PLAN_INPUTS], m.bytes[PLAN_INPUTS]) != 0)
    eval_fault(&m.c, "an input is overwritten");
  if (!failed(&m)) copy_out(&m, outputs);
  arena_free(a);
  return !it->why[0];
}
