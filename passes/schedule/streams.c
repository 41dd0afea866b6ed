/* Streams: concurrent execution of operations, for --streams=N, and of communication between ranks.
   Contract: the plan has lives and in-place decisions; with one stream all stays as it is.
   Collectives of the entry's body have a stream of their own, the last one, so that all ranks have
   them in one order; they take as long as the link does.
   Otherwise leaves a stream for every step, an order of steps as they begin, and lives in it that
   know of streams; share then gives bytes and adds edges. The longest paths, by work, are streams
   of their own, and the remaining ops are the last one (longest-path coloring; MXNet's
   graph_algorithm.h has it by number of nodes). Takes at most a hundredth more bytes than one
   stream, with collectives a third of what a rank has in all, or none more under a limit. The
   order in which tasks begin keeps to that (streams_list.c). If packing does not, it may take more
   for collectives that would be waited for, as much as pays; else the given order stays, in which
   sharing costs edges instead of bytes. */
#include "passes/manager/pass_list.h"
#include "passes/schedule/streams_impl.h"

/* ---------------------------------------------------------------- tasks ---- */

/* What a storage, or a global, sees of the tasks that were given so far. */
typedef struct StorageUsers {
  int writer, last;
  IntList readers; /* since it was written */
  int held;        /* in Tasks.held, or -1 */
} StorageUsers;

typedef struct StreamBuild {
  PassRun *r;
  const Entry *e;
  const Plan *p;
  Arena *a;
  Tasks *w;
  Storages s;
  StorageUsers *seen; /* by object */
  int *stamp;         /* by task: 1 + the last one that was made to wait for it */
  int *task_of;       /* by op id of the entry's body, or -1 */
  int computing;      /* streams that compute */
} StreamBuild;

static void wait_for(StreamBuild *m, int i, int earlier) {
  if (earlier < 0 || earlier == i || m->stamp[earlier] == i + 1) return;
  m->stamp[earlier] = i + 1;
  vec_push(m->a, &m->w->at[earlier].after, i);
  m->w->at[i].nbefore++;
}

static void access_object(StreamBuild *m, int i, const StepAccess *x) {
  StorageUsers *s = &m->seen[x->object];
  wait_for(m, i, s->writer);
  for (uint32_t k = 0; x->write && k < s->readers.n; k++) wait_for(m, i, s->readers.at[k]);
  if (x->write) {
    s->writer = i;
    s->readers.n = 0;
  } else if (!s->readers.n || s->readers.at[s->readers.n - 1] != i) {
    vec_push(m->a, &s->readers, i);
  }
  if (s->held < 0 || s->last == i) return;
  s->last = i;
  vec_push(m->a, &m->w->held[s->held].users, i);
  vec_push(m->a, &m->w->at[i].uses, s->held);
}

/* By step: the task that it belongs to. */
static int *number_tasks(StreamBuild *m) {
  const Plan *p = m->p;
  int *of = ARENA_ARRAY(m->a, int, p->nsteps + 1);
  for (uint32_t i = 0; i < m->e->ops.n; i++) m->task_of[i] = -1;
  for (int t = 0; t < p->nsteps; t++) {
    Task *x = &m->w->at[m->w->n];
    plan_task(p, t, &x->first, &x->last);
    m->task_of[p->steps[t]->id] = m->w->n;
    x->communicates = op_info[p->steps[t]->kind].cls == CLASS_COLLECTIVE;
    for (; t <= x->last; t++) {
      of[t] = m->w->n;
      x->work += x->communicates ? link_work(m->r->opt, m->e, p->steps[t])
                                 : plan_work(m->r->opt->target, m->e, p, p->steps[t]);
    }
    t = x->last;
    m->w->n++;
  }
  return of;
}

/* Storages that one task alone needs count where they overlap within it; the others are held. */
static void find_held(StreamBuild *m, const int *task_at) {
  const Buffers *b = &m->s.b;
  Tasks *w = m->w;
  uint64_t *inner = ARENA_ARRAY(m->a, uint64_t, m->p->nsteps + 2);
  w->held = ARENA_ARRAY(m->a, LiveBuffer, b->n);
  for (int k = 0; k < b->n; k++) {
    const Buffer *x = &b->at[k];
    bool kept = x->last >= m->p->nsteps;
    if (kept || task_at[x->first] != task_at[x->last]) {
      m->seen[k].held = w->nheld;
      w->held[w->nheld++] = (LiveBuffer){.bytes = x->bytes, .kept = kept};
    } else {
      live_add(inner, x->first, x->last, x->bytes);
    }
  }
  live_sum(inner, m->p->nsteps);
  for (int t = 0; t < m->p->nsteps; t++)
    if (inner[t] > w->at[task_at[t]].private_bytes) w->at[task_at[t]].private_bytes = inner[t];
}

static void find_tasks(StreamBuild *m) {
  const Plan *p = m->p;
  *m->w = (Tasks){.a = m->a, .at = ARENA_ARRAY(m->a, Task, p->nsteps + 1)};
  m->s = plan_storages(m->a, m->e, p, m->r->opt->target->align, true);
  int objects = m->s.b.n + (int)m->e->module->globals.n;
  m->seen = ARENA_ARRAY(m->a, StorageUsers, objects);
  m->stamp = ARENA_ARRAY(m->a, int, p->nsteps + 1);
  m->task_of = ARENA_ARRAY(m->a, int, m->e->ops.n);
  for (int k = 0; k < objects; k++)
    m->seen[k] = (StorageUsers){.writer = -1, .last = -1, .held = -1};
  int *task_at = number_tasks(m);
  find_held(m, task_at);
  StepAccessList touched = {0};
  ValueList reads = {0};
  for (int t = 0; t < p->nsteps; t++) {
    int i = task_at[t];
    plan_accesses(m->a, m->e, p, &m->s, p->steps[t], &touched);
    for (uint32_t k = 0; k < touched.n; k++) access_object(m, i, &touched.at[k]);
    if (t != m->w->at[i].first) continue;
    plan_reads(m->a, m->e, p->steps[t], &reads);
    for (uint32_t k = 0; k < reads.n; k++) {
      const Op *def = value_def(m->e, reads.at[k]);
      if (def) wait_for(m, i, m->task_of[def->id]);
    }
  }
}

/* ---------------------------------------------------------------- colors ---- */

/* The way from each task to the end with the most work that has no stream yet; 0 work counts
   nothing. */
static void longest(const Tasks *w, double *best, int *next) {
  for (int i = w->n; i-- > 0;) {
    const Task *t = &w->at[i];
    best[i] = 0;
    next[i] = -1;
    for (uint32_t k = 0; k < t->after.n; k++)
      if (best[t->after.at[k]] > best[i]) {
        best[i] = best[t->after.at[k]];
        next[i] = t->after.at[k];
      }
    if (t->stream < 0) best[i] += t->work;
  }
}

/* Gives every task a stream, at most n to those that compute; returns how many these have. */
static int assign_streams(const StreamBuild *m, Tasks *w, int64_t n) {
  double *best = ARENA_ARRAY(m->a, double, w->n + 1);
  int *next = ARENA_ARRAY(m->a, int, w->n + 1), used = 0;
  for (int i = 0; i < w->n; i++) w->at[i].stream = w->at[i].communicates ? (int)n : -1;
  for (; used < n; used++) {
    int head = -1;
    longest(w, best, next);
    for (int i = 0; i < w->n; i++)
      if (best[i] > 0 && (head < 0 || best[i] > best[head])) head = i;
    if (head < 0) break;
    bool rest = used == n - 1;
    for (int i = rest ? 0 : head; i >= 0 && i < w->n; i = rest ? i + 1 : next[i])
      if (w->at[i].stream < 0 && w->at[i].work > 0) w->at[i].stream = used;
  }
  for (int i = 0; i < w->n; i++) { /* what moves nothing is where its operand is */
    const Op *op = m->p->steps[w->at[i].first];
    if (w->at[i].stream >= 0) continue;
    const Op *def = op->noperands ? value_def(m->e, op->operands[0]) : NULL;
    int from = def ? m->task_of[def->id] : -1;
    w->at[i].stream = from >= 0 && !w->at[from].communicates ? w->at[from].stream : 0;
  }
  used = used ? used : 1;
  w->streams = used;
  for (int i = 0; i < w->n; i++) {
    if (!w->at[i].communicates) continue;
    w->at[i].stream = used;
    w->streams = used + 1;
    w->talks = true;
  }
  return used;
}

/* ---------------------------------------------------------------- the order ---- */

typedef struct Body { /* in the making */
  const Entry *e;
  OpId *out;
  uint32_t n;
  bool *done; /* by op id */
} Body;

static void append_op(Body *b, const Op *op) {
  if (b->done[op->id]) return;
  b->done[op->id] = true;
  b->out[b->n++] = op->id;
}

/* The ops of the body as their tasks begin, each load before its first reader and before the store
   of a new value. */
static void write_order(const StreamBuild *m, Entry *e, const Tasks *w, const int *order) {
  Block *b = e->body;
  Body x = {.e = e, .out = ARENA_ARRAY(m->a, OpId, b->ops.n)};
  const Op **load_of = ARENA_ARRAY(m->a, const Op *, e->module->globals.n);
  ValueList reads = {0};
  x.done = ARENA_ARRAY(m->a, bool, e->ops.n);
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    if (op->kind == OP_LOAD) load_of[op->attr[AT_GLOBAL].i] = op;
  }
  for (int i = 0; i < w->n; i++) {
    const Op *op = m->p->steps[w->at[order[i]].first];
    plan_reads(m->a, e, op, &reads);
    for (uint32_t k = 0; k < reads.n; k++) {
      const Op *def = value_def(e, reads.at[k]);
      if (def && def->kind == OP_LOAD && def->parent == b) append_op(&x, def);
    }
    if (op->kind == OP_STORE && load_of[op->attr[AT_GLOBAL].i])
      append_op(&x, load_of[op->attr[AT_GLOBAL].i]);
    append_op(&x, op);
  }
  for (uint32_t i = 0; i < b->ops.n; i++) append_op(&x, op_at(e, b->ops.at[i]));
  memcpy(b->ops.at, x.out, x.n * sizeof *x.out);
}

/* The last task, by its place in the order, that begins before the one at place i is over. */
static int last_concurrent(const Tasks *w, const StreamSchedule *s, int i) {
  int lo = i, hi = w->n;
  while (hi - lo > 1) {
    int mid = (lo + hi) / 2;
    if (s->begin[s->order[mid]] < s->end[s->order[i]])
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

/* With a schedule the steps are in its order; without, in the given one. */
static void set_streams(const StreamBuild *m, Plan *p, const Tasks *w, const StreamSchedule *s) {
  Arena *a = m->r->m->arena;
  int *end = ARENA_ARRAY(m->a, int, w->n + 1); /* the last step of the task at each place */
  p->streams = w->streams;
  p->comm = m->computing < w->streams ? m->computing : -1;
  p->stream = ARENA_ARRAY(a, int, p->nsteps);
  p->latest_concurrent = s ? ARENA_ARRAY(a, int, p->nsteps) : NULL;
  for (int i = 0, t = -1; i < w->n; i++) {
    const Task *x = &w->at[s ? s->order[i] : i];
    t += x->last - x->first + 1;
    end[i] = t;
  }
  for (int i = 0, t = 0; i < w->n; i++) {
    int latest = s ? last_concurrent(w, s, i) : i, stream = w->at[s ? s->order[i] : i].stream;
    for (; t <= end[i]; t++) {
      const Op *op = p->steps[t];
      p->stream[t] = p->scratch[op->id].stream = stream;
      if (s) p->latest_concurrent[t] = latest > i ? end[latest] : t;
      for (int v = 0; v < plan_nmade(op); v++) p->place[plan_made(op, v)].stream = stream;
    }
  }
}

/* Until when the bytes of each value are in use, as the schedule has it. */
static void set_until(const StreamBuild *m, Plan *p) {
  ValueList reads = {0};
  for (uint32_t v = 0; v < m->e->values.n; v++) p->place[v].until = p->place[v].last;
  for (int t = 0; t < p->nsteps; t++) {
    const Op *op = p->steps[t];
    plan_reads(m->a, m->e, op, &reads);
    for (int k = 0; k < plan_nmade(op); k++) vec_push(m->a, &reads, plan_made(op, k));
    for (uint32_t k = 0; k < reads.n; k++) {
      int *until = &p->place[reads.at[k]].until;
      if (p->latest_concurrent[t] > *until) *until = p->latest_concurrent[t];
    }
  }
}

/* The entry in the order of the schedule, planned anew; NULL if that takes more than `max` after
   so many seconds of searching. */
static Plan *plan_anew(const StreamBuild *m, Entry *e, const Tasks *w, const StreamSchedule *s,
                       uint64_t max, double seconds, const GlobalsPlan *g) {
  Plan *p;
  PassRun *r = m->r;
  write_order(m, e, w, s->order);
  if (!plan_times(r->m->arena, e, r->opt->target, g, &p)) return NULL;
  cache_change(e)->plan = p;
  plan_inplace(m->a, e, p, g, r->opt->target, NULL);
  plan_strides(r->m->arena, e, p);
  set_streams(m, p, w, s);
  set_until(m, p);
  return plan_arena(r, e, p, seconds, 0) <= max ? p : NULL;
}

/* What a schedule may take more than the given order does, and whether its packing is searched for:
   only if none fits without. */
static const struct Try {
  double more;
  bool search;
} tries[] = {{0.01, false}, {0.004, false}, {0, false}, {0.004, true}, {0, true}};

/* How much more may be under way, as shares of what a rank has in all. The best one has the least
   product of time and bytes: a hundredth of the one is worth as much as of the other. */
static const double under_way[] = {0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32};
enum { SHARES = sizeof under_way / sizeof *under_way };

typedef struct Way {
  StreamRule rule;
  uint64_t more; /* bytes */
} Way;

static double end_of(const Tasks *w, const StreamSchedule *s) {
  double end = 0;
  for (int i = 0; i < w->n; i++)
    if (s->end[i] > end) end = s->end[i];
  return end;
}

/* What the arena may take for a schedule where the given order would have every collective waited
   for: a share more of all bytes for as large a share of time. */
static uint64_t worth(const Tasks *w, const StreamSchedule *s, uint64_t globals, uint64_t arena) {
  double serial = 0;
  for (int i = 0; i < w->n; i++) serial += w->at[i].work;
  double more = serial / end_of(w, s) - 1;
  if (!w->talks || !(more > 0)) return arena;
  if (more > under_way[SHARES - 1]) more = under_way[SHARES - 1];
  return arena + (uint64_t)(more * (double)(globals + arena));
}

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

static Way best_way(const StreamBuild *m, uint64_t peak, uint64_t all, bool limited) {
  Way best = {LONGEST_PATH, 0};
  double least = -1;
  for (int k = 0; k < (limited ? 1 : SHARES); k++)
    for (int rule = LONGEST_PATH; rule <= GIVEN_ORDER; rule++) {
      const Way way = {rule, (uint64_t)(under_way[k] * (double)all)};
      const StreamSchedule s = streams_schedule(m->w, rule, peak + way.more);
      const double end = end_of(m->w, &s) * (1 + under_way[k]);
      if (least >= 0 && end >= least) continue;
      least = end;
      best = way;
    }
  return best;
}

static void streams_entry(PassRun *r, Entry *e, int64_t n, const GlobalsPlan *g) {
  Arena *a = arena_new();
  Plan *given = plan_of(e);
  Tasks w;
  StreamBuild m = {.r = r, .e = e, .p = given, .a = a, .w = &w};
  find_tasks(&m);
  m.computing = assign_streams(&m, &w, n);
  uint64_t arena = plan_arena(r, e, given, r->opt->plan_seconds, 0), peak = streams_peak(&w);
  bool limited = r->opt->limit.bytes || r->opt->limit.share > 0 || notes_of(e)->overlap_free;
  uint64_t limit = notes_of(e)->memory_limit;
  if (limit && arena > limit) arena = limit;
  uint32_t ops = e->body->ops.n;
  OpId *order = ARENA_ARRAY(a, OpId, ops);
  memcpy(order, e->body->ops.at, ops * sizeof *order);
  Plan *found = w.streams > 1 ? NULL : given;
  Way way = {LONGEST_PATH, 0};
  if (w.talks) way = best_way(&m, peak, g->bytes + arena, limited);
  if (way.more) {
    StreamSchedule s = streams_schedule(&w, way.rule, peak + way.more);
    found = plan_anew(&m, e, &w, &s, most(arena + way.more, worth(&w, &s, g->bytes, arena)), 0, g);
  }
  for (size_t k = 0; !found && k < sizeof tries / sizeof *tries; k++) {
    if (limited && tries[k].more > 0) continue;
    StreamSchedule s =
        streams_schedule(&w, way.rule, peak + (uint64_t)(tries[k].more * (double)peak));
    memcpy(e->body->ops.at, order, ops * sizeof *order);
    const uint64_t more = most(arena + arena / 100, worth(&w, &s, g->bytes, arena));
    found = plan_anew(&m, e, &w, &s, limited ? arena : more,
                      tries[k].search ? r->opt->plan_seconds : 0, g);
  }
  if (!found) {
    memcpy(e->body->ops.at, order, ops * sizeof *order);
    cache_change(e)->plan = given;
    set_streams(&m, given, &w, NULL);
  }
  for (int t = 0; w.streams > 1 && t < plan_of(e)->nsteps; t++)
    r->changes += plan_of(e)->stream[t] > 0;
  arena_free(a);
}

static bool communicates(const Entry *e) {
  for (uint32_t i = 0; i < e->body->ops.n; i++)
    if (op_info[op_at(e, e->body->ops.at[i])->kind].cls == CLASS_COLLECTIVE) return true;
  return false;
}

bool pass_streams(PassRun *r) {
  int64_t n = pass_arg_int(r, "streams", r->opt->streams);
  bool overlap = pass_arg_int(r, "overlap", 1) != 0;
  GlobalsPlan g = plan_globals(r->m, r->opt->target->align);
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++)
    if (n > 1 || (overlap && communicates(e))) streams_entry(r, e, n < 1 ? 1 : n, &g);
  return true;
}
