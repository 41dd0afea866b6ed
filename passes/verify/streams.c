/* Streams, for the checker of a plan: steps of one stream run in order, an edge lets a step begin
   when another one is over, and nothing else is promised. Contract: accepts a plan only if any two
   steps that touch the same bytes, one of them writing, are ordered so, in the order of the steps.
   Then every run that the streams allow reads and writes the same values as the checked order. A
   loop counts as one step: its edges end at its first step, and begin at its last. Order is found
   by clocks, one number a stream (Fidge, 1988; Mattern, 1989). */
#include "ir/support/search.h"
#include "passes/verify/verify_impl.h"

typedef struct Trace { /* of bytes from `from` up to the next trace: who touched them last */
  uint64_t from;
  int writer;
  int *reader; /* by stream, since they were written */
} Trace;

typedef struct Traces {
  VEC(Trace) at;
} Traces;

struct StreamCheck {
  int *begin, *end; /* by step: of the op of the entry's body that it belongs to */
  int *clock;       /* by step, then stream: the last step that is over when the step begins */
  Traces region[PLAN_REGIONS];
};

static int *clock_of(const Check *c, int step) {
  return c->streams->clock + (size_t)step * (size_t)c->p->streams;
}

static int stream_of(const Check *c, int step) { return c->p->stream[step]; }

/* ---- what is ordered ---- */

static int level_of(const Op *op) { return verify_level(op->parent); }

static void find_ends(Check *c) {
  StreamCheck *s = c->streams;
  for (int t = 0, head = 0; t < c->p->nsteps; t++) {
    if (level_of(c->p->steps[t]) == 0) head = t;
    s->begin[t] = head;
    s->end[head] = t;
  }
  for (int t = 0; t < c->p->nsteps; t++) s->end[t] = s->end[s->begin[t]];
}

static bool check_edge(Check *c, const PlanEdge *x) {
  const StreamCheck *s = c->streams;
  if (x->from < 0 || x->to >= c->p->nsteps || x->from >= x->to) {
    verify_fail(c, NULL, "an edge leads from step %d to step %d", x->from, x->to);
    return false;
  }
  if (s->end[x->from] == x->from && s->begin[x->to] == x->to) return true;
  verify_fail(c, c->p->steps[x->to], "an edge from step %d to step %d begins or ends within a loop",
              x->from, x->to);
  return false;
}

static bool check_streams(Check *c) {
  const Plan *p = c->p;
  for (int t = 0; t < p->nsteps; t++) {
    const Op *op = p->steps[t];
    if (p->stream[t] < 0 || p->stream[t] >= p->streams)
      verify_fail(c, op, "runs in no stream");
    else if (p->stream[t] != p->stream[c->streams->begin[t]])
      verify_fail(c, op, "runs in another stream than the loop around it");
    for (int k = 0; k < op->nresults; k++)
      if (p->place[op->results[k]].stream != p->stream[t])
        verify_fail(c, op, "%s is said to be of another stream", value_str(c->e, op->results[k]));
  }
  return !c->failed;
}

static void join_clock(const Check *c, int *clock, int from) {
  const int *other = clock_of(c, from);
  for (int k = 0; k < c->p->streams; k++)
    if (other[k] > clock[k]) clock[k] = other[k];
  if (from > clock[stream_of(c, from)]) clock[stream_of(c, from)] = from;
}

void verify_streams_begin(Check *c) {
  const Plan *p = c->p;
  size_t n = (size_t)p->nsteps + 1;
  StreamCheck *s = c->streams = ARENA_NEW(c->a, StreamCheck);
  s->begin = ARENA_ARRAY(c->a, int, n);
  s->end = ARENA_ARRAY(c->a, int, n);
  s->clock = ARENA_ARRAY(c->a, int, n *(size_t)p->streams);
  int *last = ARENA_ARRAY(c->a, int, p->streams), *first = ARENA_ARRAY(c->a, int, n);
  int *next = ARENA_ARRAY(c->a, int, p->nedges + 1); /* edges by the step that they lead to */
  find_ends(c);
  if (!check_streams(c)) return;
  for (int t = 0; t < p->nsteps; t++) first[t] = -1;
  for (int i = 0; i < p->nedges; i++) {
    if (!check_edge(c, &p->edges[i])) return;
    next[i] = first[p->edges[i].to];
    first[p->edges[i].to] = i;
  }
  for (int k = 0; k < p->streams; k++) last[k] = -1;
  for (int t = 0; t < p->nsteps; t++) {
    int *clock = clock_of(c, t);
    for (int k = 0; k < p->streams; k++) clock[k] = -1;
    if (last[stream_of(c, t)] >= 0) join_clock(c, clock, last[stream_of(c, t)]);
    for (int i = first[t]; i >= 0; i = next[i]) join_clock(c, clock, p->edges[i].from);
    last[stream_of(c, t)] = t;
  }
  for (int r = 0; r < PLAN_REGIONS; r++) {
    Trace none = {.writer = -1, .reader = ARENA_ARRAY(c->a, int, p->streams)};
    for (int k = 0; k < p->streams; k++) none.reader[k] = -1;
    vec_push(c->a, &s->region[r].at, none);
  }
}

/* The earlier step, with the whole of its loop, is over when the one at hand begins. */
static bool is_over(const Check *c, int earlier) {
  const StreamCheck *s = c->streams;
  if (s->begin[earlier] == s->begin[c->step]) return true;
  return s->end[earlier] <= clock_of(c, c->step)[stream_of(c, earlier)];
}

/* ---- who touched what ---- */

static uint32_t trace_at(const Traces *t, uint64_t from) { /* the one that holds this byte */
  uint32_t i;
  SEARCH_FIRST(i, t->at.n, t->at.at[i].from > from);
  return i - 1;
}

static uint32_t trace_cut(Check *c, Traces *t, uint64_t from) { /* one begins here afterwards */
  uint32_t i = trace_at(t, from);
  if (t->at.at[i].from == from) return i;
  size_t bytes = sizeof(int) * (size_t)c->p->streams;
  Trace fresh = {from, t->at.at[i].writer, ARENA_ARRAY(c->a, int, c->p->streams)};
  memcpy(fresh.reader, t->at.at[i].reader, bytes);
  vec_push(c->a, &t->at, fresh);
  memmove(t->at.at + i + 2, t->at.at + i + 1, (t->at.n - 2 - i) * sizeof fresh);
  t->at.at[i + 1] = fresh;
  return i + 1;
}

static void must_be_over(Check *c, const Op *op, int earlier, const char *does, const char *did) {
  if (earlier < 0 || is_over(c, earlier)) return;
  verify_fail(c, op, "step %d %s bytes that step %d, %s, %s in stream %d: nothing orders the two",
              c->step, does, earlier, op_info[c->p->steps[earlier]->kind].name, did,
              stream_of(c, earlier));
}

void verify_touch(Check *c, const Op *op, Range r, bool write) {
  if (!c->streams || !r.bytes || c->failed) return;
  Traces *t = &c->streams->region[r.region];
  uint32_t from = trace_cut(c, t, r.from), to = trace_cut(c, t, r.from + r.bytes);
  for (uint32_t i = from; i < to; i++) {
    Trace *x = &t->at.at[i];
    must_be_over(c, op, x->writer, write ? "writes" : "reads", "writes");
    for (int k = 0; write && k < c->p->streams; k++)
      must_be_over(c, op, x->reader[k], "writes", "reads");
    if (!write) x->reader[stream_of(c, c->step)] = c->step;
  }
  if (!write) return;
  Trace *x = &t->at.at[from];
  x->writer = c->step;
  for (int k = 0; k < c->p->streams; k++) x->reader[k] = -1;
  memmove(x + 1, t->at.at + to, (t->at.n - to) * sizeof *x);
  t->at.n -= to - from - 1;
}
