/* Structural equality of calls: in an entry that trains nothing, net(x) twice is one net, and
   net(x * 2) twice as well. If a second layer was meant, the entry that trains reports it.
   Contract: two arguments are congruent if they are one value, or the same ops on congruent values.
   No two draws of random numbers are congruent. A captured value counts as its outer value; whether
   the loop changes it is checked at the loop's end (loop/invariant_call.c). */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

typedef struct Pair {
  ValueId a, b;
} Pair;

/* The assumptions of one comparison: by value, the value that it is assumed to be congruent to. The
   arrays serve all comparisons of an entry; `round` tells which one an assumption belongs to. */
typedef struct Congruence {
  ValueId *equal;
  uint32_t *round_of;
  uint32_t known, round; /* known: values that both have room for */
  VEC(Pair) todo;
} Congruence;

/* The ops that define both values differ in their operands only. */
static bool ops_congruent(const Entry *en, ValueId a, ValueId b, const Op **x, const Op **y) {
  *x = value_def(en, a);
  *y = value_def(en, b);
  if (!*x || !*y || (*x)->kind != (*y)->kind || (*x)->nblocks || (*y)->nblocks) return false;
  if ((*x)->noperands != (*y)->noperands || value_at(en, a)->index != value_at(en, b)->index)
    return false;
  if (value_type(en, a) != value_type(en, b) || op_info[(*x)->kind].flags & OPF_EFFECT)
    return false;
  for (int k = 0; k < MAX_ATTRS; k++)
    if ((*x)->attr[k].i != (*y)->attr[k].i) return false;
  return true;
}

/* A worklist of pairs instead of recursion, whose depth would be that of the program. */
static bool values_congruent(Elab *e, ValueId a, ValueId b) {
  if (capture_resolve(e, a) == capture_resolve(e, b)) return true;
  const Entry *en = e->run->entry;
  if (!e->run->congruence) e->run->congruence = ARENA_NEW(e->a, Congruence);
  Congruence *c = e->run->congruence;
  if (c->known < en->values.n) {
    c->known = 2 * en->values.n;
    c->equal = ARENA_ARRAY(e->a, ValueId, c->known);
    c->round_of = ARENA_ARRAY(e->a, uint32_t, c->known);
    c->round = 0;
  }
  c->round++;
  c->todo.n = 0;
  vec_push(e->a, &c->todo, (Pair){a, b});
  while (c->todo.n) {
    Pair p = c->todo.at[--c->todo.n];
    const Op *x, *y;
    p = (Pair){capture_resolve(e, p.a), capture_resolve(e, p.b)};
    if (p.a == p.b || (c->round_of[p.a] == c->round && c->equal[p.a] == p.b)) continue;
    if (!ops_congruent(en, p.a, p.b, &x, &y)) return false;
    c->equal[p.a] = p.b;
    c->round_of[p.a] = c->round;
    for (int k = 0; k < x->noperands; k++)
      vec_push(e->a, &c->todo, (Pair){x->operands[k], y->operands[k]});
  }
  return true;
}

static bool vals_same(Elab *e, Val x, Val y) {
  if (x.kind == VAL_TENSOR && y.kind == VAL_TENSOR)
    return x.tensor.run == e->run && y.tensor.run == e->run
               ? values_congruent(e, x.tensor.id, y.tensor.id)
               : x.tensor.run == y.tensor.run && x.tensor.id == y.tensor.id;
  if (x.kind != y.kind || !val_has_items(x)) return val_equal(e, x, y);
  if (x.list->n != y.list->n) return false;
  for (int i = 0; i < x.list->n; i++)
    if (!vals_same(e, x.list->at[i], y.list->at[i])) return false;
  return true;
}

bool calls_congruent(Elab *e, const InstanceRecord *a, const Func *f, const Actual *arg, int n) {
  return !e->run->training && args_congruent(e, a, f, arg, n);
}

bool args_congruent(Elab *e, const InstanceRecord *a, const Func *f, const Actual *arg, int n) {
  if (a->func != f || a->n != n) return false;
  for (int i = 0; i < n; i++)
    if (a->arg[i].name.name != arg[i].name.name || !vals_same(e, a->arg[i].v, arg[i].v))
      return false;
  return true;
}
