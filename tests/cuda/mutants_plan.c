/* Plans in which a value lies over one that is written while it is still to be read: the checker of
   plans must reject each, and where it did not the results would tell. And steps that are left out:
   what they would have written is read, but where it lies over an operand, as bytes nobody wrote.
 */
#include "passes/plan.h"
#include "tests/cuda/mutants.h"

#include <stdio.h>

static bool has_place(const Place *p) {
  return p->region == PLAN_ARENA && p->bytes && !p->stride && p->how != HOW_EXTERNAL;
}

/* Bytes that go by several names move together or not at all. */
static bool goes_alone(const Entry *e, ValueId v) {
  for (int i = 0; i < plan_of(e)->nsteps; i++) {
    const Op *op = plan_of(e)->steps[i];
    if (!plan_is_alias(e, op)) continue;
    if (op->results[0] == v || op->operands[0] == v) return false;
  }
  return true;
}

/* b is written after a and before a's last reader, and is elsewhere. */
static bool in_the_way(const Plan *p, ValueId a, ValueId b) {
  const Place *x = &p->place[a], *y = &p->place[b];
  bool apart = x->offset + x->bytes <= y->offset || y->offset + y->bytes <= x->offset;
  return apart && x->first < y->first && y->first < x->last &&
         y->offset + x->bytes <= p->arena_bytes;
}

/* Runs the entry with the plan as it is now. */
static bool differs(Subject *s, int entry) {
  Arena *a = arena_new();
  CudaProgram *p = cuda_program(s->m, s->t, &s->o, a);
  bool yes = true;
  if (strcmp(cuda_source(p, NULL), cuda_source(s->p, NULL)) != 0) {
    printf("the kernels depend on where values lie\n");
  } else {
    Compiled *c = device_ptx(p, &s->image);
    yes = !c || subject_differs(s, c, entry);
    device_free(c);
  }
  arena_free(a);
  return yes;
}

static bool lay_over(Subject *s, int entry, ValueId a, ValueId b, Count *n) {
  Entry *e = s->m->entries.at[entry];
  Place *x = &plan_of(e)->place[a];
  const uint64_t was = x->offset;
  x->offset = plan_of(e)->place[b].offset;
  n->made++;
  bool taken = plan_verify(e, s->t, NULL);
  if (taken)
    printf("plan-verify takes %s over %s in %s\n", value_str(e, a), value_str(e, b), e->name);
  if (differs(s, entry)) {
    n->caught++;
  } else {
    n->missed++;
    printf("missed: %s over %s in %s\n", value_str(e, a), value_str(e, b), e->name);
  }
  x->offset = was;
  return !taken;
}

bool overlap_plans(Subject *s, Count *n) {
  bool ok = true;
  int seen = 0;
  for (int i = 0; i < (int)s->m->entries.n; i++) {
    const Entry *e = s->m->entries.at[i];
    for (ValueId a = 0; a < e->values.n; a++)
      for (ValueId b = 0; b < e->values.n; b++)
        if (has_place(&plan_of(e)->place[a]) && has_place(&plan_of(e)->place[b]) &&
            in_the_way(plan_of(e), a, b) && goes_alone(e, a) && seen++ % s->every_plan == 0)
          ok &= lay_over(s, i, a, b, n);
  }
  return ok;
}

int leave_out_steps(Subject *s, Count *n) {
  DeviceHead *d = s->whole->device;
  const GcProgram *p = s->whole->program;
  int seen = 0, unwritten = 0;
  for (int i = 0; i < p->nentries; i++)
    for (int j = 0; j < p->entries[i].nsteps; j++) {
      if (!p->entries[i].steps[j].launch[d->variant].grid || seen++ % s->every_plan) continue;
      d->left_out = &p->entries[i].steps[j];
      n->made++;
      if (subject_differs(s, s->whole, i))
        n->caught++;
      else
        n->missed++, printf("missed: no step %d in %s\n", j, p->entries[i].name);
      unwritten += strstr(s->whole->fault, "which nobody wrote") != NULL;
    }
  d->left_out = NULL;
  return unwritten;
}
