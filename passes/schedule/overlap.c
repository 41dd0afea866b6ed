/* What of the communication between ranks is hidden: for `info` of the program and --remarks=comm.
   Contract: the plan has edges. Steps take their work at the target's speed, collectives the time
   of the link; a step that comes after a collective waits for its end, and collectives begin one
   after the other. */
#include "passes/plan/plan_impl.h"

typedef struct Timeline {
  const Plan *p;
  double *end;    /* by step, of collectives: seconds */
  double *waited; /* by step, of collectives: seconds that a step stands still for it */
  int *reader;    /* by step, of collectives: the first step that comes after it, or -1 */
  double now;     /* of what computes */
} Timeline;

/* The step at hand comes after all collectives up to the step `last`. */
static void await(Timeline *t, int step, int last) {
  for (int k = last; k >= 0 && (t->p->stream[k] != t->p->comm || t->reader[k] < 0); k--)
    if (t->p->stream[k] == t->p->comm) t->reader[k] = step;
  if (last < 0 || t->end[last] <= t->now) return;
  t->waited[last] += t->end[last] - t->now;
  t->now = t->end[last];
}

static double run(Timeline *t, PassRun *r, const Entry *e) {
  const Plan *p = t->p;
  double talks = 0; /* until when */
  for (int i = 0; i < p->nsteps; i++) {
    const int *over = p->finished_before + (size_t)i * (size_t)p->streams;
    if (p->stream[i] == p->comm) {
      talks = (talks > t->now ? talks : t->now) +
              link_work(r->opt, e, p->steps[i]) / r->opt->target->speed;
      t->end[i] = talks;
      t->reader[i] = -1;
    } else if (!plan_is_alias(e, p->steps[i])) {
      await(t, i, over[p->comm]);
      t->now += plan_work(r->opt->target, e, p, p->steps[i]) / r->opt->target->speed;
    }
  }
  return talks;
}

static double micro(double seconds) { return 1e6 * seconds; }

void overlap_find(PassRun *r, const Entry *e) {
  Plan *p = plan_of(e);
  if (p->comm < 0) return;
  size_t n = (size_t)p->nsteps + 1;
  Timeline t = {.p = p,
                .end = ARENA_ARRAY(r->scratch, double, n),
                .waited = ARENA_ARRAY(r->scratch, double, n),
                .reader = ARENA_ARRAY(r->scratch, int, n)};
  double last = run(&t, r, e), all = 0, waits = 0;
  remarks_of(r, e);
  for (int i = 0; i < p->nsteps; i++) {
    const Op *op = p->steps[i];
    if (p->stream[i] != p->comm) continue;
    double takes = link_work(r->opt, e, op) / r->opt->target->speed;
    const Op *reader = t.reader[i] >= 0 ? p->steps[t.reader[i]] : NULL;
    if (!reader && t.end[i] > t.now) t.waited[i] = t.end[i] - t.now;
    remark(r, REMARK_COMM, "comm", op->loc, "%s of %s takes %.0f us: %s waits %.0f us for it",
           plan_op_name(op), value_str(e, op->operands[0]), micro(takes),
           reader ? plan_op_name(reader) : "the end of the entry", micro(t.waited[i]));
    all += takes;
    if (reader) waits += t.waited[i];
  }
  if (last > t.now) waits += last - t.now;
  const double total = last > t.now ? last : t.now;
  p->seconds = total, p->waiting = waits;
  remark(r, REMARK_COMM, "comm", e->loc,
         "collectives of %.0f us overlap with computation of %.0f us: %.0f us are waited for",
         micro(all), micro(total - waits), micro(waits));
}
