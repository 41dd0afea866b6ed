/* The same call: where nothing is trained, net(x) twice is one net, and net(x * 2) twice as well. A
   second layer of the same shape that was meant to be another one shows in the entry that trains
   it. Contract: arguments are the same if they are one value or computed alike from the same
   values. A draw of random numbers is like no other. Captured values of open loops count as what
   they stand for; whether a loop changes that is asked when it is over (loop/invariant_call.c). */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

typedef struct Pair {
  ValueId a, b;
} Pair;

/* What one comparison assumes: by value, another one that is to be the same. Kept with the run from
   one to the next, since there is one for each unnamed call; `round` tells whose an assumption is.
 */
typedef struct Congruence {
  ValueId *equal;
  uint32_t *round_of;
  uint32_t known, round; /* known: values that both have room for */
  VEC(Pair) todo;
} Congruence;

/* The ops that make both values differ in nothing but their operands. */
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

/* A list of pairs instead of recursion: values may be made of very many others. */
static bool values_congruent(Elab *e, ValueId a, ValueId b) {
  if (scan_outward(e, a) == scan_outward(e, b)) return true;
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
    p = (Pair){scan_outward(e, p.a), scan_outward(e, p.b)};
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
  if (x.kind != y.kind || (x.kind != VAL_LIST && x.kind != VAL_TUPLE)) return val_equal(e, x, y);
  if (x.list->n != y.list->n) return false;
  for (int i = 0; i < x.list->n; i++)
    if (!vals_same(e, x.list->at[i], y.list->at[i])) return false;
  return true;
}

bool calls_congruent(Elab *e, const Child *a, const Func *f, const Actual *arg, int n) {
  if (e->run->training || a->func != f || a->n != n) return false;
  for (int i = 0; i < n; i++)
    if (a->arg[i].name.name != arg[i].name.name || !vals_same(e, a->arg[i].v, arg[i].v))
      return false;
  return true;
}
