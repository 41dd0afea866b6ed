/* The edges of a plan with streams: the steps of other streams for which a step waits.
   Contract: the plan has offsets. Any two steps that touch the same bytes, one of them writing, are
   ordered afterwards, by a stream or by edges. Every edge orders two such steps that nothing else
   orders. Precedence is known by clocks, one number a stream, which stay in the plan. The average
   parallelism of the streams is computed here, too. */
#include "passes/plan/plan_impl.h"

typedef struct Object { /* a storage or a global: the last steps, by stream */
  int *user;            /* that touched it */
  int *reader;          /* that read it since it was written */
  int writer;           /* the step, or -1 */
  bool begun;
} Object;

typedef struct Edges {
  PassRun *r;
  const Entry *e;
  Plan *p;
  Arena *a;
  const Storages *s;
  Object *object;
  ArenaOccupancy *occupancy;
  IntList below;
  int *begin, *end; /* by step: of its task */
  int *need;        /* by stream: the last step that the task at hand must come after, or -1 */
  uint32_t *bytes;  /* by stream: the value whose bytes are the reason, or NO_ID */
  VEC(PlanEdge) found;
} Edges;

static int *new_steps(const Edges *w) { /* by stream: none */
  int *x = ARENA_ARRAY(w->a, int, w->p->streams);
  for (int k = 0; k < w->p->streams; k++) x[k] = -1;
  return x;
}

static int *clock_of(const Edges *w, int t) {
  return w->p->finished_before + (size_t)t * (size_t)w->p->streams;
}

/* ---------------------------------------------------------------- what a task needs ---- */

static void need_step(Edges *w, int step, uint32_t bytes) {
  if (step < 0) return;
  int k = w->p->stream[step];
  if (step <= w->need[k]) return;
  w->need[k] = step;
  w->bytes[k] = bytes;
}

/* The storage's bytes are taken from others. */
static void begin_object(Edges *w, int i) {
  w->object[i].begun = true;
  if (i >= w->s->b.n) return;
  w->below.n = 0;
  (void)occupancy_add(w->occupancy, i, &w->below);
  for (uint32_t j = 0; j < w->below.n; j++) {
    const Object *x = &w->object[w->below.at[j]];
    for (int k = 0; k < w->p->streams; k++)
      need_step(w, x->user[k], w->s->b.at[w->below.at[j]].owner);
  }
}

static void touch(Edges *w, int t, const StepAccess *x) {
  Object *o = &w->object[x->object];
  int stream = w->p->stream[t];
  if (!x->moves) return;
  if (!o->begun) begin_object(w, x->object);
  need_step(w, o->writer, NO_ID);
  for (int k = 0; x->write && k < w->p->streams; k++) {
    need_step(w, o->reader[k], NO_ID);
    o->reader[k] = -1;
  }
  if (x->write)
    o->writer = t;
  else
    o->reader[stream] = t;
  o->user[stream] = t;
}

/* ---------------------------------------------------------------- edges ---- */

static void join_clock(const Edges *w, int *clock, int from) {
  const int *other = clock_of(w, w->begin[from]);
  for (int k = 0; k < w->p->streams; k++)
    if (other[k] > clock[k]) clock[k] = other[k];
  if (from > clock[w->p->stream[from]]) clock[w->p->stream[from]] = from;
}

static void edge_remark(const Edges *w, int from, int to, uint32_t bytes) {
  if (bytes == NO_ID || !(w->r->opt->remarks & REMARK_STREAMS)) return;
  const Op *op = w->p->steps[to], *other = w->p->steps[from];
  remark(w->r, REMARK_STREAMS, "streams", op->loc,
         "%s waits for %s of stream %d: it takes bytes of %s", plan_op_name(op),
         plan_op_name(other), w->p->stream[from], value_str(w->e, bytes));
}

/* The task that begins at step t, after the last one of its stream. The latest step first: what it
   waited for itself needs no edge. */
static void add_edges(Edges *w, int t, int before) {
  int *clock = clock_of(w, t);
  for (int k = 0; k < w->p->streams; k++) clock[k] = -1;
  if (before >= 0) join_clock(w, clock, before);
  for (;;) {
    int latest = -1;
    for (int k = 0; k < w->p->streams; k++)
      if (w->need[k] > latest) latest = w->need[k];
    if (latest < 0) return;
    int k = w->p->stream[latest], from = w->end[latest];
    w->need[k] = -1;
    if (from >= t || from <= clock[k]) continue; /* its own steps; what is over already */
    edge_remark(w, latest, t, w->bytes[k]);
    vec_push(w->a, &w->found, (PlanEdge){from, t});
    join_clock(w, clock, from);
  }
}

/* The work of all tasks, and of the longest way along streams and edges. */
static double average_parallelism(const Edges *w) {
  const Plan *p = w->p;
  double *end = ARENA_ARRAY(w->a, double, p->nsteps + 1), sum = 0, max = 0;
  int *last = new_steps(w), edge = 0;
  for (int t = 0; t < p->nsteps; t = w->end[t] + 1) {
    double begin = last[p->stream[t]] >= 0 ? end[last[p->stream[t]]] : 0, work = 0;
    for (; edge < p->nedges && p->edges[edge].to == t; edge++)
      if (end[p->edges[edge].from] > begin) begin = end[p->edges[edge].from];
    for (int q = t; q <= w->end[t]; q++) work += plan_work(w->r->opt->target, w->e, p, p->steps[q]);
    last[p->stream[t]] = w->end[t];
    end[w->end[t]] = begin + work;
    sum += work;
    if (begin + work > max) max = begin + work;
  }
  return max > 0 ? sum / max : 1;
}

void plan_edges(PassRun *r, const Entry *e, Plan *p, const Storages *s) {
  size_t n = (size_t)p->nsteps + 1;
  remarks_of(r, e);
  int objects = s->b.n + (int)e->module->globals.n;
  Edges w = {.r = r, .e = e, .p = p, .a = arena_new(), .s = s};
  w.object = ARENA_ARRAY(w.a, Object, objects);
  for (int i = 0; i < objects; i++)
    w.object[i] = (Object){.user = new_steps(&w), .reader = new_steps(&w), .writer = -1};
  w.occupancy = occupancy_new(w.a, &s->b);
  w.begin = ARENA_ARRAY(w.a, int, n);
  w.end = ARENA_ARRAY(w.a, int, n);
  p->finished_before = ARENA_ARRAY(r->m->arena, int, n *(size_t)p->streams);
  w.need = new_steps(&w);
  w.bytes = ARENA_ARRAY(w.a, uint32_t, p->streams);
  int *last = new_steps(&w);
  StepAccessList touched = {0};
  for (int t = 0, end; t < p->nsteps; t = end + 1) {
    int begin;
    plan_task(p, t, &begin, &end);
    for (int q = t; q <= end; q++) {
      w.begin[q] = t;
      w.end[q] = end;
      plan_accesses(w.a, e, p, s, p->steps[q], &touched);
      for (uint32_t k = 0; k < touched.n; k++) touch(&w, q, &touched.at[k]);
    }
    add_edges(&w, t, last[p->stream[t]]);
    for (int q = t + 1; q <= end; q++) /* within a loop nothing else is waited for */
      memcpy(clock_of(&w, q), clock_of(&w, t), sizeof(int) * (size_t)p->streams);
    last[p->stream[t]] = end;
  }
  p->nedges = (int)w.found.n;
  p->edges = ARENA_ARRAY(r->m->arena, PlanEdge, w.found.n);
  if (w.found.n) memcpy(p->edges, w.found.at, w.found.n * sizeof *p->edges);
  p->average_parallelism = average_parallelism(&w);
  arena_free(w.a);
}
