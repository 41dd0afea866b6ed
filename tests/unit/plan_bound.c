/* The lower bound of recomputation. Of a chain it is known in closed form: at each step every
   result that is read later is held or recomputed, which is the fractional knapsack. On small
   random problems all sets of what may be recomputed are tried. Contract: the bound is that of the
   linear program; no schedule adds less; it is above 0 wherever something must be recomputed, and
   not far below what must.
 */
#include "tests/unit/plan_rig.h"

#include "passes/remat/remat_impl.h"

#include <math.h>

/* ---- problems: each step makes one storage ---- */

static StepGraph problem_new(Arena *a, int most) {
  StepGraph p = {.unit = 64};
  p.step = ARENA_ARRAY(a, StepNode, most);
  p.storage = ARENA_ARRAY(a, StepStorage, most);
  return p;
}

/* Reads x and y, where they are not negative; returns what it makes. */
static int step(Arena *a, StepGraph *p, int size, double flops, int x, int y) {
  int *in = ARENA_ARRAY(a, int, 2), *out = ARENA_ARRAY(a, int, 1), n = 0;
  if (x >= 0) in[n++] = x;
  if (y >= 0 && y != x) in[n++] = y;
  int t = out[0] = p->nsteps++;
  p->step[t] = (StepNode){.flops = flops, .cost = flops, .nin = n, .nout = 1, .in = in, .out = out};
  p->step[t].latest = INT32_MAX;
  p->storage[p->nstorages++] = (StepStorage){.size = size, .maker = t};
  p->flops += flops;
  p->cost += flops;
  return t;
}

/* ---- chains ---- */

enum { LAYERS = 9 };

typedef struct Layer {
  int size;
  double flops;
} Layer;

/* Each layer is `depth` steps, of which the backward pass reads the last one's result; a gradient
   is one unit. */
static StepGraph chain(Arena *a, PlanRig *r, int depth, int sizes, Layer *layer) {
  StepGraph p = problem_new(a, LAYERS * (depth + 1) + 1);
  int of[LAYERS], last = -1;
  for (int i = 0; i < LAYERS; i++) {
    layer[i] = (Layer){.size = 1 + (int)rig_random(r, (uint64_t)sizes)};
    for (int k = 0; k < depth; k++) {
      double flops = 1 + (double)rig_random(r, 20);
      layer[i].flops += flops;
      last = step(a, &p, layer[i].size, flops, last, -1);
    }
    of[i] = last;
  }
  int grad = step(a, &p, 1, 1, last, -1);
  for (int i = LAYERS; i-- > 0;) grad = step(a, &p, 1, 1, of[i], grad);
  p.storage[grad].kept = true;
  return p;
}

static int dearest_first(const void *pa, const void *pb) {
  const Layer *a = pa, *b = pb;
  double x = a->flops / a->size, y = b->flops / b->size;
  return (x < y) - (x > y);
}

/* The first n layers are held in the room, or recomputed. */
static double knapsack(const Layer *layer, int n, double room) {
  Layer other[LAYERS];
  double added = 0;
  if (room < 0) return INFINITY;
  memcpy(other, layer, sizeof *other * (size_t)n);
  qsort(other, (size_t)n, sizeof *other, dearest_first);
  for (int i = 0; i < n; i++) {
    double held = fmin(room, other[i].size);
    room -= held;
    added += other[i].flops * (1 - held / other[i].size);
  }
  return added;
}

/* While the last layer's gradient is made, it, the one before and the last result are there. */
static double at_turn(const Layer *layer, int limit) {
  return knapsack(layer, LAYERS - 1, limit - 2 - layer[LAYERS - 1].size);
}

/* The same of every layer, in both passes: its result and what it is made of. */
static double at_most(const Layer *layer, int depth, int limit) {
  double most = 0;
  for (int i = 0; i < LAYERS; i++) {
    int from = i ? layer[i - 1].size : 0;
    most = fmax(most, knapsack(layer, i, limit - 2 - layer[i].size));
    most = fmax(most, knapsack(layer, i ? i - 1 : 0, limit - from - layer[i].size));
    if (depth > 1) most = fmax(most, knapsack(layer, i, limit - 2 * layer[i].size));
  }
  return most;
}

static void check_chains(int depth, int sizes) {
  PlanRig r = {.random = (uint64_t)(depth * 100 + sizes)};
  for (int k = 0; k < 50; k++) {
    Arena *a = arena_new();
    Layer layer[LAYERS];
    StepGraph p = chain(a, &r, depth, sizes, layer);
    int all = 2;
    for (int i = 0; i < LAYERS; i++) all += layer[i].size;
    for (int limit = 1; limit <= all + 1; limit++) {
      double bound = remat_bound(a, &p, limit), least = at_turn(layer, limit),
             most = at_most(layer, depth, limit);
      if (bound < least * (1 - 1e-5) || bound > most * (1 + 1e-5) + 1e-5)
        fail_msg("chain %d, limit %d of %d: bound %g, known %g to %g", k, limit, all, bound, least,
                 most);
    }
    arena_free(a);
  }
}

static void test_chain(void **state) {
  (void)state;
  check_chains(1, 1);
  check_chains(1, 7);
}

/* A layer that is recomputed does so as a whole: what it makes on the way is held nowhere. */
static void test_deep_layers(void **state) {
  (void)state;
  check_chains(2, 1);
}

/* ---- all schedules of small problems ---- */

enum { HALF = 3, STEPS = 2 * HALF, PLACES = STEPS * (STEPS - 1) / 2, MOST_UNITS = 4 * STEPS + 6 };

/* There and back; each step may read anything else that is there, instead, and some need units of
   their own. */
static StepGraph small(Arena *a, PlanRig *r) {
  StepGraph p = problem_new(a, STEPS);
  bool read[STEPS] = {0};
  for (int t = 0; t < STEPS; t++) {
    int x = t - 1, y = t < HALF ? -1 : STEPS - 1 - t;
    if (t && rig_random(r, 4) == 0) x = (int)rig_random(r, (uint64_t)t);
    if (t && rig_random(r, 4) == 0) y = (int)rig_random(r, (uint64_t)t);
    if (x >= 0) read[x] = true;
    if (y >= 0) read[y] = true;
    (void)step(a, &p, 1 + (int)rig_random(r, 4), 1 + (double)rig_random(r, 9), x, y);
  }
  for (int t = 0; t < STEPS; t++) {
    p.storage[t].kept = !read[t];
    if (rig_random(r, 5) == 0) p.step[t].latest = -1;
    if (rig_random(r, 4) == 0) p.step[t].extra = 1 + (int)rig_random(r, 6);
  }
  return p;
}

/* A sum over what was made before, one term after the other; to begin it anew behind one of its
   steps is cheaper than to hold it there, but not behind each. */
static StepGraph sums(Arena *a, PlanRig *r) {
  StepGraph p = problem_new(a, STEPS);
  int term[STEPS], sum = -1, terms = 2 + (int)rig_random(r, 2);
  for (int t = 0; t < terms; t++)
    term[t] = step(a, &p, 1 + (int)rig_random(r, 3), 2 + (double)rig_random(r, 9), -1, -1);
  for (int t = terms; t < STEPS; t++) {
    sum = step(a, &p, 3, 1 + (double)rig_random(r, 3), term[(t - terms) % terms], sum);
    p.step[t].extra = (int)rig_random(r, 7);
  }
  p.storage[sum].kept = true;
  return p;
}

/* By limit: the least that a schedule adds which fits. */
static void all_schedules(Arena *a, const StepGraph *p, double *least) {
  RematState s = remat_state(a, p);
  for (int limit = 0; limit <= MOST_UNITS; limit++) least[limit] = INFINITY;
  for (unsigned set = 0; set < 1u << PLACES; set++) {
    bool allowed = true;
    for (int at = 0, bit = 0; at < STEPS; at++) {
      s.again[at].n = 0;
      for (int o = 0; o < at; o++, bit++) {
        if (!(set >> bit & 1)) continue;
        allowed &= remat_may_rerun(p, o, at);
        vec_push(a, &s.again[at], o);
      }
    }
    if (!allowed) continue;
    remat_rebuild(&s);
    int where, peak = remat_peak(&s, &where);
    if (s.flops < least[peak]) least[peak] = s.flops;
  }
  for (int limit = 1; limit <= MOST_UNITS; limit++)
    least[limit] = fmin(least[limit], least[limit - 1]);
}

typedef struct Share { /* of what schedules need */
  double alone, joint;
} Share;

static Share check_problems(StepGraph (*make)(Arena *a, PlanRig *r)) {
  PlanRig r = {.random = 7};
  double bounds = 0, joints = 0, needed = 0;
  int forced = 0;
  for (int k = 0; k < 60; k++) {
    Arena *a = arena_new();
    StepGraph p = make(a, &r);
    double least[MOST_UNITS + 1];
    all_schedules(a, &p, least);
    for (int limit = 0; limit <= MOST_UNITS; limit++) {
      double bound = remat_bound(a, &p, limit), joint = remat_bound_joint(a, &p, limit);
      if (joint > least[limit] * (1 + 1e-6) || joint < bound)
        fail_msg("problem %d, limit %d: two steps say %g, one %g, but %g do", k, limit, joint,
                 bound, least[limit]);
      if (bound > least[limit] * (1 + 1e-6))
        fail_msg("problem %d, limit %d: bound %g, but %g do", k, limit, bound, least[limit]);
      if (least[limit] > 0 && bound <= 0)
        fail_msg("problem %d, limit %d: bound %g, of %g", k, limit, bound, least[limit]);
      if (isinf(least[limit]) || least[limit] == 0) continue;
      forced++;
      bounds += bound;
      joints += joint;
      needed += least[limit];
    }
    arena_free(a);
  }
  print_message("%d limits that force a rerun: of what they need one step says %.1f %%, two %.1f\n",
                forced, 100 * bounds / needed, 100 * joints / needed);
  assert_true(forced >= 20);
  return (Share){bounds / needed, joints / needed};
}

static void test_all_schedules(void **state) {
  (void)state;
  assert_true(check_problems(small).alone >= 0.65);
  Share s = check_problems(sums);
  assert_true(s.joint >= 1.04 * s.alone); /* two steps see what one does not */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chain),
      cmocka_unit_test(test_deep_layers),
      cmocka_unit_test(test_all_schedules),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
