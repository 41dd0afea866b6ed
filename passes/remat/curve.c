/* The memory curve: the cost of less memory, as `--memory-curve` prints it. Contract: the program
   stays as it was. A dry run of another pass (trial_curve) adds the points of its variant to the
   module's curve. The pipeline itself adds those of the program as it is, and prints the Pareto
   frontier of bytes and work. */
#include "passes/remat/tries.h"

#include <math.h>
#include <stdlib.h>

typedef struct Point {
  uint64_t arena;
  double flops, cost; /* added */
  double bound;       /* flops that any plan in its order adds; NAN: unknown */
} Point;

typedef VEC(Point) Points;

struct MemoryCurve {
  Points *of; /* by entry; the last ones are those of the initial values */
};

static Points *points_of(PassRun *r, uint32_t k) {
  ModuleNotes *notes = module_notes(r->m);
  if (!notes->curve) {
    notes->curve = ARENA_NEW(r->m->arena, struct MemoryCurve);
    notes->curve->of = ARENA_ARRAY(r->m->arena, Points, r->m->entries.n + 1);
  }
  return &notes->curve->of[k];
}

/* The bound is one of programs whose loops run as they are. */
static void add_point(PassRun *r, Points *to, const Remat *w, uint64_t arena,
                      const RematPlan *plan) {
  double bound = w->loops[0].point ? NAN : remat_bound_joint(w->a, &w->p, remat_units(w, arena));
  vec_push(r->m->arena, to, ((Point){arena, plan->flops, plan->cost, bound}));
}

/* From the bytes with which nothing is recomputed down to the least that is found, in steps of a
   tenth; a plan that is far below its step is the next ones', too. */
static void add_all(PassRun *r, Points *to, Tries *x, uint64_t all) {
  RematPlan found = {0};
  uint64_t arena = all, last = all;
  add_point(r, to, &x->at[0], all, &found);
  for (int tenth = 9; tenth > 0; tenth--) {
    uint64_t limit = all / 10 * (uint64_t)tenth;
    if (last <= limit) continue;
    int64_t effort = remat_effort(&x->at[0], 100) / MIN_SHARE * x->norders;
    const Remat *w = tries_fit(x, limit, 0, effort, &found, &arena);
    if (!w) break;
    add_point(r, to, w, arena, &found);
    last = arena;
  }
  const Remat *w = tries_min(x, false, &found, &arena);
  if (arena >= last) return;
  add_point(r, to, w, arena, &found);
  w = tries_fit(x, arena, 0, remat_effort(&x->at[0], 100), &found,
                &arena); /* the same for less work */
  if (w) add_point(r, to, w, arena, &found);
}

static int by_arena(const void *pa, const void *pb) {
  const Point *a = pa, *b = pb;
  if (a->arena != b->arena) return a->arena < b->arena ? -1 : 1;
  return (a->cost > b->cost) - (a->cost < b->cost);
}

/* Keeps what costs less than all that takes less memory, and the program as it is. */
static void keep_best(Points *p) {
  uint32_t n = 0;
  if (!p->n) return;
  qsort(p->at, p->n, sizeof *p->at, by_arena);
  Point whole = p->at[p->n - 1];
  for (uint32_t k = 0; k < p->n; k++)
    if (!n || p->at[k].cost < p->at[n - 1].cost) p->at[n++] = p->at[k];
  if (p->at[n - 1].arena < whole.arena && n < p->n) p->at[n++] = whole;
  p->n = n;
}

static void print(FILE *f, const PassRun *r, const Entry *e, const Points *p,
                  const StepGraph *whole) {
  double flops = whole->flops > 0 ? 100 / whole->flops : 0;
  double cost = whole->cost > 0 ? 100 / whole->cost : 0;
  char buf[32];
  if (e == r->m->init)
    fputs("memory curve of the initial values\n", f);
  else
    fprintf(f, "memory curve of entry '%s'\n", e->name);
  fprintf(f, "%18s  %5s  %11s  %10s  %10s\n", "arena, bytes", "%", "flops, + %", "work, + %",
          "at least");
  for (uint32_t k = p->n; k-- > 0;) {
    const Point *x = &p->at[k];
    fprintf(f, "%18s  %5.1f  %11.2f  %10.2f", plan_commas(buf, x->arena),
            100 * (double)x->arena / (double)p->at[p->n - 1].arena, flops * x->flops,
            cost * x->cost);
    if (isfinite(x->bound))
      fprintf(f, "  %10.2f\n", flops * x->bound);
    else
      fprintf(f, "  %10s\n", isnan(x->bound) ? "-" : "none fits");
  }
}

bool remat_curve(PassRun *r, uint32_t k, const GlobalsPlan *g, uint64_t prepared) {
  Entry *e = pass_entry(r->m, k);
  Remat given = remat_new(r, e, g);
  Points *to = points_of(r, k);
  Arena *a = arena_new();
  Tries x;
  uint64_t all = remat_arena(&given, 0);
  bool ok = tries_new(a, r, e, g, &x);
  const uint32_t before = to->n;
  if (ok && all) add_all(r, to, &x, all);
  for (uint32_t i = before; i < to->n; i++) to->at[i].arena += prepared;
  if (x.n) remat_as_given(&x.at[0]);
  if (ok && !r->opt->trial) {
    keep_best(to);
    if (to->n) print(r->opt->curve, r, e, to, &x.at[0].p);
  }
  tries_free(&x);
  arena_free(a);
  return ok;
}
