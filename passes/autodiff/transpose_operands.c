/* Transposed operands: tensor cores that read tf32 along the depth alone (wgmma) serve a product if
   one operand at least is stored so. Of the gradient of a weight, x' dy, neither is: a transposed
   copy of one pays where there is enough to multiply.
   Contract: bits of operands stay, products keep their depth. Runs behind the last fold, which
   would make the product of a transposed operand the one before, and before fuse, which puts the
   rounding into the kernel that transposes. None is copied under a byte limit. With all=1 all such
   products have a copy, of the smaller operand. */
#include "passes/manager/pass_list.h"

typedef struct Copied { /* an old value */
  ValueId copy;         /* in the new entry */
  const Block *block;   /* that it is in; NULL: there is none yet */
} Copied;

typedef struct Transposed {
  PassRun *r;
  bool all;
  bool *padded; /* by old value: rounded for products alone, which layout pads */
  int *uses;    /* by old value: operands that are it, and no copy of it */
  Copied *made; /* by old value */
} Transposed;

static int smaller(const Entry *e, const Op *op) {
  return value_type(e, op->operands[1])->numel < value_type(e, op->operands[0])->numel;
}

/* -1: none is copied. */
static int operand_of(const Transposed *t, const Entry *e, const Op *op) {
  const Target *target = t->r->opt->target;
  if (op->kind != OP_MATMUL || !op->attr[AT_TF32].i || !op->attr[AT_TA].i || op->attr[AT_TB].i)
    return -1;
  return t->all ? smaller(e, op) : target->transposed_operand(target, e, op, t->padded);
}

/* Rounded where it is transposed, so that nothing is stored that only such products read. */
static ValueId copy_of(Transposed *t, Builder *b, const Entry *old, ValueId v, const ValueId *map) {
  Copied *c = &t->made[v];
  if (c->block == b->b) return c->copy;
  const Op *def = value_def(old, v);
  const bool rounds = def && def->kind == OP_TF32 && t->uses[v] == 0;
  const ValueId x = map[rounds ? def->operands[0] : v];
  const int rank = value_type(b->e, x)->rank;
  int64_t *perm = ARENA_ARRAY(t->r->scratch, int64_t, rank + 1);
  for (int i = 0; i < rank; i++) perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  *c = (Copied){build1(b, OP_TF32, build_transpose(b, x, perm)), b->b};
  t->r->changes++;
  return c->copy;
}

static void transpose_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Transposed *t = data;
  const int k = operand_of(t, old, op);
  if (k < 0) {
    build_copy(b, old, op, map);
    return;
  }
  ValueId in[] = {map[op->operands[0]], map[op->operands[1]]};
  in[k] = copy_of(t, b, old, op->operands[k], map);
  b->name = value_at(old, op->results[0])->name;
  map[op->results[0]] = build_matmul_narrow(b, in[0], in[1], k != 0, k != 0);
}

/* Reshapes of a value that keep its rows lie as it does. */
static void find_padded(Transposed *t, const Entry *e) {
  const uint32_t n = e->values.n + 1;
  ValueId *of = ARENA_ARRAY(t->r->scratch, ValueId, n); /* the value that is reshaped */
  t->padded = ARENA_ARRAY(t->r->scratch, bool, n);
  for (ValueId v = 0; v < n; v++) of[v] = v;
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    if (op->kind == OP_TF32) t->padded[op->results[0]] = true;
    if (op->kind == OP_RESHAPE &&
        type_same_rows(value_type(e, op->operands[0]), value_type(e, op->results[0]))) {
      of[op->results[0]] = of[op->operands[0]];
      continue;
    }
    for (int k = 0; k < op->noperands; k++)
      if (op->kind != OP_MATMUL) t->padded[of[op->operands[k]]] = false;
  }
  for (ValueId v = 0; v < n; v++) t->padded[v] = t->padded[of[v]];
}

/* False: there are none to copy. */
static bool find_uses(Transposed *t, const Entry *e) {
  bool any = false;
  t->uses = ARENA_ARRAY(t->r->scratch, int, e->values.n + 1);
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    const int copied = operand_of(t, e, op);
    for (int k = 0; k < op->noperands; k++) t->uses[op->operands[k]] += k != copied;
    any |= copied >= 0;
  }
  return any;
}

bool pass_transpose_operands(PassRun *r) {
  const Target *target = r->opt->target;
  if (!target || !target->transposed_operand || r->opt->limit.bytes || r->opt->limit.share > 0)
    return true;
  Transposed t = {.r = r, .all = pass_arg_int(r, "all", 0) != 0};
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    find_padded(&t, e);
    if (!find_uses(&t, e)) continue;
    t.made = ARENA_ARRAY(r->scratch, Copied, e->values.n + 1);
    entry_rebuild(e, transpose_each, &t, false, true);
  }
  return true;
}
