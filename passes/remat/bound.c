/* A lower bound for recomputation. At a step t of the given order every storage that is read from t
   on is held (k) or its maker is recomputed (r), and so are the operands of what is recomputed:
       k[v] + r[maker v] >= 1 for v read from t on,  >= r[o] for v read by o,
       sum size k <= limit - what t makes,           minimize sum flops r.
   Without the one sum over sizes the rows are those of a minimum cut: r[o] implies that its
   operands are available (a), and an available storage whose maker is not recomputed is held.
   So the linear program is the largest value over lambda of cut(lambda) - lambda x slack (Lagrange;
   the cut's matrix is totally unimodular, hence no gap), found by cutting planes (Kelley 1960). One
   step says too little where bytes could be missing at each step alone, but not at all of them: a
   sum that goes on through many steps could be begun anew behind any of them. Two steps are asked
   at once: each has its own k, r and a, and what is recomputed behind the later one counts as
   recomputed behind the earlier one, too, where its flops are counted. Contract: holds for every
   schedule in which first runs keep the given order. */
#include "passes/analysis/max_flow.h"
#include "passes/remat/remat_impl.h"

#include <math.h>
#include <stdlib.h>

/* ---------------------------------------------------------------- steps, and a cut ---- */

enum { MAX_POINTS = 2 };

typedef struct ProgramPoint { /* a step of the order */
  int t;
  bool *wanted;  /* by storage: made before t, read from t on */
  bool *operand; /* by storage: read by t itself, so held */
  double slack;  /* units for what else is held */
} ProgramPoint;

typedef struct ProgramPoints {
  const StepGraph *p;
  int n;
  ProgramPoint at[MAX_POINTS]; /* the earlier one first */
} ProgramPoints;

typedef struct Cut {
  double flops;            /* of what is recomputed */
  double size[MAX_POINTS]; /* of what is held then */
} Cut;

enum { SOURCE, SINK, FIRST };

static int of_point(const StepGraph *p, int i) { return FIRST + i * (p->nstorages + p->nsteps); }
static int available(const StepGraph *p, int i, int v) { return of_point(p, i) + v; }
static int again(const StepGraph *p, int i, int o) { return of_point(p, i) + p->nstorages + o; }

/* The op is recomputed behind the point, which is the earliest one that may say so: its flops are
   counted there. */
static bool is_counted(const ProgramPoints *m, int i, int o) { return !i || o >= m->at[i - 1].t; }

static void add_point(FlowNet *g, const ProgramPoints *m, int i, double lambda) {
  const StepGraph *p = m->p;
  const ProgramPoint *w = &m->at[i];
  for (int v = 0; v < p->nstorages; v++) {
    const StepStorage *x = &p->storage[v];
    if (x->maker >= w->t || w->operand[v]) continue;
    bool rerun = remat_may_rerun(p, x->maker, w->t);
    if (w->wanted[v]) flow_arc(g, SOURCE, available(p, i, v), INFINITY);
    flow_arc(g, available(p, i, v), rerun ? again(p, i, x->maker) : SINK, lambda * x->size);
  }
  for (int o = 0; o < w->t; o++) {
    const StepNode *s = &p->step[o];
    if (!remat_may_rerun(p, o, w->t)) continue;
    if (is_counted(m, i, o))
      flow_arc(g, again(p, i, o), SINK, s->flops);
    else
      flow_arc(g, again(p, i, o), again(p, i - 1, o), INFINITY);
    for (int k = 0; k < s->nin; k++)
      if (!w->operand[s->in[k]]) flow_arc(g, again(p, i, o), available(p, i, s->in[k]), INFINITY);
  }
}

static bool runs_again(const ProgramPoints *m, const FlowNet *g, int i, int o) {
  return remat_may_rerun(m->p, o, m->at[i].t) && !flow_is_cut_off(g, again(m->p, i, o));
}

static double held_at(const ProgramPoints *m, const FlowNet *g, int i) {
  const ProgramPoint *w = &m->at[i];
  double size = 0;
  for (int v = 0; v < m->p->nstorages; v++) {
    const StepStorage *x = &m->p->storage[v];
    if (x->maker >= w->t || w->operand[v] || flow_is_cut_off(g, available(m->p, i, v))) continue;
    if (!runs_again(m, g, i, x->maker)) size += x->size;
  }
  return size;
}

/* The cheapest cut when a unit held costs lambda. */
static Cut cheapest(const ProgramPoints *m, const double *lambda) {
  static const double epsilon = 1e-9; /* of the largest flow: what rounding leaves over */
  Arena *a = arena_new();
  FlowNet g = flow_net(a, of_point(m->p, m->n));
  double max = 0;
  Cut c = {0};
  for (int i = 0; i < m->n; i++) {
    add_point(&g, m, i, lambda[i]);
    max = fmax(max, lambda[i]);
  }
  flow_max(&g, SOURCE, SINK, epsilon * (max + 1));
  for (int i = 0; i < m->n; i++) {
    c.size[i] = held_at(m, &g, i);
    for (int o = 0; o < m->at[i].t; o++)
      if (is_counted(m, i, o) && runs_again(m, &g, i, o)) c.flops += m->p->step[o].flops;
  }
  arena_free(a);
  return c;
}

/* Units that the step adds to what it finds: results that take no operand's bytes, and its own. */
static int64_t made_by(const StepGraph *p, int t) {
  const StepNode *s = &p->step[t];
  int64_t sum = s->extra;
  for (int k = 0; k < s->nout; k++) {
    bool over = false;
    for (int q = 0; q < s->npairs; q++) over |= s->pair[q].out == k;
    if (!over) sum += p->storage[s->out[k]].size;
  }
  return sum;
}

/* What the step leaves to what it does not use. */
static double slack_at(const StepGraph *p, int t, int limit) {
  int64_t slack = limit - made_by(p, t);
  for (int k = 0; k < p->step[t].nin; k++) slack -= p->storage[p->step[t].in[k]].size;
  return (double)slack;
}

static ProgramPoint point_new(Arena *a, const StepGraph *p, int t, int limit) {
  ProgramPoint w = {.t = t, .slack = slack_at(p, t, limit)};
  w.wanted = ARENA_ARRAY(a, bool, p->nstorages + 1);
  w.operand = ARENA_ARRAY(a, bool, p->nstorages + 1);
  for (int s = t; s < p->nsteps; s++)
    for (int k = 0; k < p->step[s].nin; k++) {
      int v = p->step[s].in[k];
      if (p->storage[v].maker >= t) continue;
      w.wanted[v] = true;
      if (s == t) w.operand[v] = true;
    }
  for (int v = 0; v < p->nstorages; v++)
    if (p->storage[v].kept && p->storage[v].maker < t) w.wanted[v] = true;
  return w;
}

/* Everything is held. */
static Cut none_again(const ProgramPoints *m) {
  Cut c = {0};
  for (int i = 0; i < m->n; i++)
    for (int v = 0; v < m->p->nstorages; v++)
      if (m->at[i].wanted[v] && !m->at[i].operand[v]) c.size[i] += m->p->storage[v].size;
  return c;
}

/* ---------------------------------------------------------------- cutting planes ---- */

enum { MAX_CUTS = 24, AXES = 3 };

/* The cut as a plane over the lambdas: at them it has this value. */
static double plane_value(const ProgramPoints *m, const Cut *c, const double *lambda) {
  double z = c->flops;
  for (int i = 0; i < m->n; i++) z += lambda[i] * (c->size[i] - m->at[i].slack);
  return z;
}

/* The planes that a vertex lies on: cuts, then the sides of the box that the lambdas are in. */
typedef struct Vertices {
  const ProgramPoints *m;
  const Cut *cut;
  int ncuts, nsides;
  double lambda_max;
  double best, lambda[MAX_POINTS];
} Vertices;

/* A row of the equations for the lambdas and the value z: row . (lambda 0, lambda 1, z) =
 * right.
 */
static void equation(const Vertices *x, int k, double *row, double *right) {
  for (int i = 0; i < AXES; i++) row[i] = 0;
  if (k < x->ncuts) {
    for (int i = 0; i < x->m->n; i++) row[i] = x->m->at[i].slack - x->cut[k].size[i];
    row[AXES - 1] = 1;
    *right = x->cut[k].flops;
  } else {
    row[(k - x->ncuts) / 2] = 1;
    *right = (k - x->ncuts) % 2 ? x->lambda_max : 0;
  }
}

static double determinant(double r[AXES][AXES]) {
  return r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1]) -
         r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0]) +
         r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
}

/* The highest point below all cuts so far is a vertex: three planes meet there (Cramer's rule). */
static void try_vertex(Vertices *x, const int *plane) {
  static const double grazing = 1e-12; /* of what a determinant may be: no vertex */
  double row[AXES][AXES], right[AXES], at[MAX_POINTS], scale = 1;
  for (int k = 0; k < AXES; k++) {
    equation(x, plane[k], row[k], &right[k]);
    scale *= fmax(1, fmax(fabs(row[k][0]), fabs(row[k][1])));
  }
  double all = determinant(row);
  if (fabs(all) <= grazing * scale) return;
  for (int i = 0; i < MAX_POINTS; i++) {
    double other[AXES][AXES];
    memcpy(other, row, sizeof other);
    for (int k = 0; k < AXES; k++) other[k][i] = right[k];
    at[i] = determinant(other) / all;
    if (at[i] < 0 || at[i] > x->lambda_max) return;
  }
  double z = INFINITY;
  for (int k = 0; k < x->ncuts && z > x->best; k++) z = fmin(z, plane_value(x->m, &x->cut[k], at));
  if (z <= x->best) return;
  x->best = z;
  memcpy(x->lambda, at, sizeof at);
}

/* With one point the lambda of the other one is 0. */
static void highest_vertex(Vertices *x) {
  int n = x->ncuts + (x->m->n == 1 ? 3 : 4), plane[AXES];
  x->best = -INFINITY;
  for (plane[0] = 0; plane[0] < n; plane[0]++)
    for (plane[1] = plane[0] + 1; plane[1] < n; plane[1]++)
      for (plane[2] = plane[1] + 1; plane[2] < n; plane[2]++) try_vertex(x, plane);
}

static double bound_at(const ProgramPoints *m) {
  static const double close = 1e-6;
  Cut cut[MAX_CUTS];
  Vertices x = {.m = m, .cut = cut, .lambda_max = 2 * m->p->flops + 1};
  double best = 0, lambda_max[MAX_POINTS] = {x.lambda_max, x.lambda_max};
  cut[x.ncuts++] = none_again(m);
  cut[x.ncuts] = cheapest(m, lambda_max); /* holding a unit costs more than everything */
  for (int i = 0; i < m->n; i++)
    if (cut[x.ncuts].size[i] > m->at[i].slack) return INFINITY;
  x.ncuts++;
  while (x.ncuts < MAX_CUTS) {
    highest_vertex(&x);
    Cut c = cheapest(m, x.lambda);
    double value = plane_value(m, &c, x.lambda);
    if (value > best) best = value;
    if (value >= x.best * (1 - close)) break;
    cut[x.ncuts++] = c;
  }
  return best;
}

/* ---------------------------------------------------------------- the largest of several ---- */

typedef struct Peak {
  int step;
  double share; /* to be dropped, of what it does not use itself */
  double bound; /* that it gives alone */
  ProgramPoint point;
} Peak;

static int by_share(const void *pa, const void *pb) {
  const Peak *a = pa, *b = pb;
  if (a->share != b->share) return a->share > b->share ? -1 : 1;
  return (a->step > b->step) - (a->step < b->step);
}

/* Steps that are tried, each of which gives a bound of its own; next to each other they say about
   the same, so they stand apart by one part of all steps in so many. */
enum { STEPS_TRIED = 8, APART = 28, ON_EACH_SIDE = 3 };

static bool is_near(const Peak *tried, int n, int step, int nsteps) {
  for (int k = 0; k < n; k++)
    if (abs(tried[k].step - step) <= nsteps / APART) return true;
  return false;
}

/* The peak, then what leaves least slack to what others hold: a step that needs much itself may
   come before or behind it. Returns how many. */
static int choose_steps(Arena *a, const StepGraph *p, int limit, Peak *out) {
  RematState s = remat_state(a, p);
  remat_reset(&s);
  Peak *peak = ARENA_ARRAY(a, Peak, p->nsteps + 1);
  int n = 0, tried = 0, top;
  (void)remat_peak(&s, &top);
  for (int t = 0; t < p->nsteps; t++) {
    double over = (double)remat_live(&s, t) - limit, others = remat_live(&s, t) - s.within[t];
    if (over <= 0) continue;
    peak[n++] = (Peak){.step = t, .share = others > 0 && t != top ? over / others : INFINITY};
  }
  if (n) qsort(peak, (size_t)n, sizeof *peak, by_share);
  for (int k = 0; k < n && tried < STEPS_TRIED; k++)
    if (!is_near(out, tried, peak[k].step, p->nsteps)) out[tried++] = peak[k];
  return tried;
}

static double bound_alone(Arena *a, const StepGraph *p, int limit, Peak *x) {
  x->point = point_new(a, p, x->step, limit);
  return x->bound = bound_at(&(ProgramPoints){p, 1, {x->point}});
}

/* The best of the steps that are tried alone; one of step -1: none exceeds the limit. */
static Peak best_alone(Arena *a, const StepGraph *p, int limit) {
  Peak peak[STEPS_TRIED], best = {.step = -1};
  int n = choose_steps(a, p, limit, peak);
  for (int k = 0; k < n && isfinite(best.bound); k++)
    if (bound_alone(a, p, limit, &peak[k]) > best.bound || best.step < 0) best = peak[k];
  return best;
}

double remat_bound(Arena *a, const StepGraph *p, int limit) {
  return best_alone(a, p, limit).bound;
}

static int by_bound(const void *pa, const void *pb) {
  const Peak *a = pa, *b = pb;
  if (a->bound != b->bound) return a->bound > b->bound ? -1 : 1;
  return (a->step > b->step) - (a->step < b->step);
}

/* Around the best one, those that leave least slack: loops that are unrolled come to the same
   again. Returns how many; the best comes first, then the best of those before and behind it. */
static int steps_around(Arena *a, const StepGraph *p, int limit, Peak best, Peak *out) {
  enum { AROUND = 32 };
  int reach = p->nsteps / APART + AROUND / 2, n = 0, chosen = 0, before = 0, behind = 0;
  Peak *near = ARENA_ARRAY(a, Peak, 2 * reach + 1);
  for (int t = best.step - reach; t <= best.step + reach; t++)
    if (t >= 0 && t < p->nsteps && t != best.step)
      near[n++] = (Peak){.step = t, .bound = -slack_at(p, t, limit)};
  if (n) qsort(near, (size_t)n, sizeof *near, by_bound);
  n = n < AROUND ? n : AROUND;
  for (int k = 0; k < n; k++) bound_alone(a, p, limit, &near[k]);
  near[n++] = best;
  qsort(near, (size_t)n, sizeof *near, by_bound);
  for (int k = 0; k < n; k++) {
    int *side = near[k].step < near[0].step ? &before : &behind;
    if (k && (*side)++ >= ON_EACH_SIDE) continue;
    out[chosen++] = near[k];
  }
  return chosen;
}

double remat_bound_joint(Arena *a, const StepGraph *p, int limit) {
  Peak first = best_alone(a, p, limit), peak[1 + 2 * ON_EACH_SIDE];
  if (first.step < 0 || isinf(first.bound)) return first.bound;
  int n = steps_around(a, p, limit, first, peak), top = peak[0].step;
  double best = peak[0].bound;
  for (int i = 0; i < n && isfinite(best); i++)
    for (int k = 0; k < n; k++) {
      if (peak[i].step > top || peak[k].step < top || i == k) continue;
      double both = bound_at(&(ProgramPoints){p, 2, {peak[i].point, peak[k].point}});
      if (both > best) best = both;
    }
  return best;
}
