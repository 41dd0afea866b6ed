/* Strides of loops: a slice of a stacked tensor moves by its stride in each iteration.
   Contract: strides follow from all decisions about shared bytes. */
#include "passes/plan/plan_impl.h"

/* Adds what an iteration of the loop at this level moves by. */
static const int64_t *moved(Arena *a, const Plan *p, const int64_t *stride, int level,
                            uint64_t bytes) {
  int64_t *s = ARENA_ARRAY(a, int64_t, p->depth);
  if (stride) memcpy(s, stride, sizeof *s * (size_t)p->depth);
  s[level] += (int64_t)bytes;
  return s;
}

uint64_t plan_reach(const Place *x, const Block *b) {
  uint64_t end = x->offset + x->bytes;
  if (!x->stride) return end;
  for (const Op *scan = b->op; scan; scan = scan->parent->op)
    end += (uint64_t)((scan_trips(scan) - 1) * x->stride[plan_level(scan)]);
  return end;
}

/* What iteration k of the scan has of a stacked tensor. */
static Place slice_of(Arena *a, const Plan *p, const Op *scan, const Place *whole) {
  Place x = *whole;
  x.bytes = whole->bytes / (uint64_t)scan_trips(scan);
  x.stride = moved(a, p, whole->stride, plan_level(scan), x.bytes);
  return x;
}

Place plan_target(const Entry *e, Arena *a, const Op *scan, int result) {
  const Place *y = &plan_of(e)->place[scan->results[result]];
  return result < scan_carries(scan) ? *y : slice_of(a, plan_of(e), scan, y);
}

/* The value is an iteration's slice of what `of` is the whole of. */
static bool is_slice(const Entry *e, ValueId v, ValueId of) {
  const Op *def = value_def(e, of), *around = value_block(e, v)->op;
  if (!value_def(e, v)) /* an argument */
    return around && plan_same(e, v) == of && (int)value_at(e, v)->index > scan_carries(around);
  return def && def == around && (int)value_at(e, of)->index >= scan_carries(def);
}

void plan_strides(Arena *a, const Entry *e, Plan *p) {
  for (int t = 0; t < p->nsteps; t++)
    for (int k = 0; k < plan_nmade(p->steps[t]); k++) {
      ValueId v = plan_made(p->steps[t], k);
      Place *x = &p->place[v];
      x->stride = NULL;
      if (x->how != HOW_INPLACE) {
        if (x->region == PLAN_COUNTS)
          x->stride = moved(a, p, NULL, plan_level(p->steps[t]), x->bytes);
        continue;
      }
      const Place *y = &p->place[x->of]; /* of a view of a counter, too */
      x->stride =
          is_slice(e, v, x->of) ? slice_of(a, p, value_block(e, v)->op, y).stride : y->stride;
    }
}
