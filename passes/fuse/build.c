/* Builds the kernels: the entry again, each group as one op with a block.
   Contract: groups never depend on each other in a cycle. Constants and views are copied into
   every group that reads them. Kernels that compute the same have the same text: operands of sums
   and products stand in an order that follows from what they compute. */
#include "ir/fold/fold.h"
#include "ir/support/hash.h"
#include "passes/fuse/fuse_impl.h"

typedef struct KernelBuilder {
  Builder *b;
  const Entry *old;
  ValueId *map;   /* of the entry rebuilt */
  ValueId *inner; /* by old value: in the kernel at hand, or NO_ID */
} KernelBuilder;

static void emit_group(Fuse *f, KernelBuilder *m, const Op *op);

static void emit_value(Fuse *f, KernelBuilder *m, ValueId v) {
  const Op *def = value_def(m->old, v);
  if (def) emit_group(f, m, def);
}

/* What an op reads is there before it; what the body of a loop reads, before the loop. */
static void emit_plain(Fuse *f, KernelBuilder *m, const Op *op) {
  ValueList reads = {0};
  plan_reads(f->a, f->e, op, &reads);
  for (uint32_t k = 0; k < reads.n; k++) emit_value(f, m, reads.at[k]);
  if (f->emitted[op->id]) return;
  f->emitted[op->id] = true;
  build_copy(m->b, m->old, op, m->map);
}

typedef struct KernelParts {
  VEC(const Op *) ops; /* members and what is copied, in order */
  VEC(ValueId) args, results;
  VEC(ValueId) reshaped; /* wanted, too: results in another shape */
} KernelParts;

static bool has_value(const ValueId *at, uint32_t n, ValueId v) {
  for (uint32_t i = 0; i < n; i++)
    if (at[i] == v) return true;
  return false;
}

static bool has_op(const KernelParts *p, const Op *op) {
  for (uint32_t i = 0; i < p->ops.n; i++)
    if (p->ops.at[i] == op) return true;
  return false;
}

/* The group computes or copies what makes the value. */
static bool is_inside(const Fuse *f, const FusionGroup *u, const Op *def) {
  return def && (f->unit[def->id] == u || (!f->unit[def->id] && f->inlined[def->id]));
}

/* Equal for values that are computed alike from arguments of the same types. */
static uint64_t computes(Fuse *f, const FusionGroup *u, ValueId v) {
  if (f->computed_in[v] == u) return f->computes[v];
  const Op *def = value_def(f->e, v);
  uint64_t h = type_identity(HASH_START, value_type(f->e, v));
  if (is_inside(f, u, def)) {
    h = op_identity(h, def);
    h = hash_bytes(h, &value_at(f->e, v)->index, sizeof value_at(f->e, v)->index);
    for (int k = 0; k < def->noperands; k++) {
      uint64_t x = computes(f, u, def->operands[k]);
      if (op_commutes(f->e, def) && k == 0 && computes(f, u, def->operands[1]) < x)
        x = computes(f, u, def->operands[1]);
      else if (op_commutes(f->e, def) && k == 1 && computes(f, u, def->operands[0]) < x)
        x = computes(f, u, def->operands[0]);
      h = hash_bytes(h, &x, sizeof x);
    }
  }
  f->computed_in[v] = u;
  return f->computes[v] = h;
}

/* What members compute comes first, then arguments, perhaps behind views, constants last. */
static int precedence(const Fuse *f, const FusionGroup *u, ValueId v) {
  const Op *def = value_def(f->e, v);
  while (is_inside(f, u, def) && f->unit[def->id] != u && def->noperands)
    def = value_def(f->e, def->operands[0]);
  return !is_inside(f, u, def) ? 1 : f->unit[def->id] == u ? 0 : 2;
}

static bool is_swapped(Fuse *f, const FusionGroup *u, const Op *op) {
  if (!op_commutes(f->e, op)) return false;
  ValueId x = op->operands[0], y = op->operands[1];
  int px = precedence(f, u, x), py = precedence(f, u, y);
  return px != py ? px > py : computes(f, u, x) > computes(f, u, y);
}

static void add_argument(Fuse *f, const FusionGroup *u, KernelParts *p, ValueId v, bool memory) {
  const Op *def = value_def(f->e, v);
  if (def && f->unit[def->id] == u) return;
  if (has_value(p->args.at, p->args.n, v)) return;
  if (def && !memory && f->inlined[def->id]) {
    if (has_op(p, def)) return;
    for (int k = 0; k < def->noperands; k++) add_argument(f, u, p, def->operands[k], false);
    vec_push(f->a, &p->ops, def);
  } else {
    vec_push(f->a, &p->args, v);
  }
}

/* An op outside of the group reads the value, perhaps through views that its own group copies.
   What a loop's body reads from outside is there before it, even if no op reads its result.
 */
static bool wanted_outside(const Fuse *f, const FusionGroup *u, ValueId v) {
  const Block *home = value_block(f->e, v);
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i];
    if (f->unit[user->id] == u) continue;
    if (!f->inlined[user->id] || user->parent != home) return true;
    if (wanted_outside(f, u, user->results[0])) return true;
  }
  return false;
}

/* The value that it is in another shape, through reshapes of the group. */
static ValueId same_elements(const Fuse *f, const FusionGroup *u, ValueId v) {
  for (const Op *op = value_def(f->e, v); op && f->unit[op->id] == u && !fuse_computes(op);
       op = value_def(f->e, v))
    v = op->operands[0];
  return v;
}

/* The value is a result, if it is not one already in another shape: then that of the domain is. */
static void add_result(Fuse *f, const FusionGroup *u, KernelParts *p, ValueId v) {
  for (uint32_t i = 0; i < p->results.n; i++) {
    ValueId *had = &p->results.at[i];
    if (same_elements(f, u, *had) != same_elements(f, u, v)) continue;
    bool better = !type_same_dims(value_type(f->e, *had), u->domain) &&
                  type_same_dims(value_type(f->e, v), u->domain);
    vec_push(f->a, &p->reshaped, better ? *had : v);
    if (better) *had = v;
    return;
  }
  vec_push(f->a, &p->results, v);
}

/* Attention stores all of its results, though nothing may read one. */
static bool is_dead_result(const Fuse *f, const FusionGroup *u, ValueId v) {
  return u->form == FORM_ATTENTION && value_def(f->e, v) == u->root && !f->users[v].n;
}

/* What attention reads, and the views between. */
static void add_views(Fuse *f, KernelParts *p, ValueId v, ValueId of) {
  const Op *def = value_def(f->e, v);
  if (v == of) {
    if (!has_value(p->args.at, p->args.n, v)) vec_push(f->a, &p->args, v);
  } else if (!has_op(p, def)) {
    add_views(f, p, def->operands[0], of);
    vec_push(f->a, &p->ops, def);
  }
}

static KernelParts parts_of(Fuse *f, const FusionGroup *u) {
  KernelParts p = {0};
  for (uint32_t i = 0; i < u->members.n;
       i++) { /* first, so that no op copies an operand as a whole */
    const Op *op = u->members.at[i];
    const bool update = op->kind == OP_DYNAMIC_UPDATE;
    for (int k = 0; (op_reads_memory(op) || update) && k < op->noperands; k++)
      add_argument(f, u, &p, op->operands[k], true);
    for (int k = 0; op == u->root && u->form == FORM_ATTENTION && k < op->noperands; k++)
      add_views(f, &p, op->operands[k], fuse_strided(f, op, op->operands[k]));
  }
  for (uint32_t i = 0; i < u->members.n; i++) {
    const Op *op = u->members.at[i];
    bool swapped = is_swapped(f, u, op);
    bool memory = op_reads_memory(op) || u->form == FORM_ATTENTION || op->kind == OP_DYNAMIC_UPDATE;
    for (int k = 0; !memory && k < op->noperands; k++)
      add_argument(f, u, &p, op->operands[swapped ? 1 - k : k], false);
    vec_push(f->a, &p.ops, op);
  }
  for (uint32_t i = 1; i < p.ops.n; i++) { /* in the order of the program; almost so already */
    const Op *op = p.ops.at[i];
    uint32_t k = i;
    for (; k && f->place[p.ops.at[k - 1]->id] > f->place[op->id]; k--)
      p.ops.at[k] = p.ops.at[k - 1];
    p.ops.at[k] = op;
  }
  for (uint32_t i = 0; i < p.ops.n; i++)
    for (int k = 0; f->unit[p.ops.at[i]->id] == u && k < p.ops.at[i]->nresults; k++)
      if (wanted_outside(f, u, p.ops.at[i]->results[k]) ||
          is_dead_result(f, u, p.ops.at[i]->results[k]))
        add_result(f, u, &p, p.ops.at[i]->results[k]);
  return p;
}

/* "matmul+add+relu"; long groups name their first three kinds and how many ops there are. */
static const char *name_of(Fuse *f, const FusionGroup *u, const KernelParts *p, uint32_t *ops) {
  enum { NAMED = 3 };
  const char *name = u->root ? op_info[u->root->kind].name : "";
  uint32_t named = u->root != NULL, total = 0;
  for (uint32_t i = 0; i < p->ops.n; i++) {
    const Op *op = p->ops.at[i];
    if (f->unit[op->id] != u || !fuse_computes(op)) continue;
    total++;
    if (op == u->root || named >= NAMED) continue;
    name = arena_printf(f->a, "%s%s%s", name, *name ? "+" : "", op_info[op->kind].name);
    named++;
  }
  if (total > named) name = arena_printf(f->a, "%s+%u", name, total - named);
  *ops = total;
  return intern(f->r->m->ctx, name);
}

static void build_member(Fuse *f, KernelBuilder *m, const FusionGroup *u, const Op *op) {
  build_copy(m->b, m->old, op, m->inner);
  if (!is_swapped(f, u, op)) return;
  Op *made = value_def(m->b->e, m->inner[op->results[0]]);
  ValueId *operands = ARENA_ARRAY(m->b->m->arena, ValueId, 2);
  operands[0] = made->operands[1];
  operands[1] = made->operands[0];
  made->operands = operands;
}

static void emit_kernel(Fuse *f, KernelBuilder *m, const FusionGroup *u, const KernelParts *p) {
  Builder *b = m->b;
  const Op *lead = u->root ? u->root : u->members.at[u->members.n - 1];
  ValueId *operands = ARENA_ARRAY(f->a, ValueId, p->args.n + 1);
  for (uint32_t i = 0; i < p->args.n; i++) operands[i] = m->map[p->args.at[i]];
  const Type **types = ARENA_ARRAY(f->a, const Type *, p->results.n + 1);
  for (uint32_t i = 0; i < p->results.n; i++) types[i] = value_type(m->old, p->results.at[i]);
  uint32_t computing;
  Attr attr[MAX_ATTRS] = {{.str = name_of(f, u, p, &computing)}};
  b->loc = lead->loc;
  b->scope = lead->scope;
  b->backward = false;
  for (uint32_t i = 0; i < u->members.n; i++) b->backward |= u->members.at[i]->backward;
  Op *kernel = build_op(b, OP_KERNEL, operands, (int)p->args.n, attr, types, (int)p->results.n);
  Block *body = kernel->blocks[0], *outer = b->b;
  for (uint32_t i = 0; i < p->args.n; i++)
    m->inner[p->args.at[i]] = block_add_arg(b->e, body, *value_at(m->old, p->args.at[i]));
  builder_at(b, body);
  for (uint32_t i = 0; i < p->ops.n; i++) build_member(f, m, u, p->ops.at[i]);
  ValueId *yield = ARENA_ARRAY(f->a, ValueId, p->results.n + 1);
  for (uint32_t i = 0; i < p->results.n; i++) {
    ValueId old = p->results.at[i];
    yield[i] = m->inner[old];
    m->map[old] = kernel->results[i];
    value_at(b->e, kernel->results[i])->name = value_at(m->old, old)->name;
  }
  build_op(b, OP_YIELD, yield, (int)p->results.n, NULL, NULL, 0);
  builder_at(b, outer);
  for (uint32_t i = 0; i < p->reshaped.n; i++) {
    ValueId old = p->reshaped.at[i];
    for (uint32_t k = 0; k < p->results.n; k++)
      if (same_elements(f, u, p->results.at[k]) == same_elements(f, u, old))
        m->map[old] = build_reshape(b, m->map[p->results.at[k]], value_type(m->old, old));
  }
  for (uint32_t i = 0; i < p->args.n; i++) m->inner[p->args.at[i]] = NO_ID;
  for (uint32_t i = 0; i < p->ops.n; i++)
    for (int k = 0; k < p->ops.at[i]->nresults; k++) m->inner[p->ops.at[i]->results[k]] = NO_ID;
  f->r->changes++;
  remark(f->r, REMARK_FUSE, "fuse", lead->loc, "one %s kernel of %u ops: %s", form_name(u->form),
         computing, attr[0].str);
}

static void emit_group(Fuse *f, KernelBuilder *m, const Op *op) {
  if (f->emitted[op->id]) return;
  FusionGroup *u = f->unit[op->id];
  if (!u) {
    emit_plain(f, m, op);
    return;
  }
  KernelParts p = parts_of(f, u);
  if (p.ops.n == 1) {
    emit_plain(f, m, op);
    return;
  }
  for (uint32_t i = 0; i < u->members.n; i++) f->emitted[u->members.at[i]->id] = true;
  if (!p.results.n) return; /* dead */
  for (uint32_t i = 0; i < p.args.n; i++) emit_value(f, m, p.args.at[i]);
  emit_kernel(f, m, u, &p);
}

typedef struct Each {
  Fuse *f;
  ValueId *inner;
} Each;

/* Groups in the order that they were made to fit: each where it stands, views where they are read,
   and stores at the end. */
static bool is_its_place(const Fuse *f, const Op *op) {
  const FusionGroup *u = f->unit[op->id];
  return op->kind != OP_STORE && !fuse_floats(f, op) && (!u || u->node == op->id);
}

static void each_op(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Each *x = data;
  Fuse *f = x->f;
  f->e = old;                     /* the entry itself is being rebuilt */
  if (f->inlined[op->id]) return; /* built where an op outside of every group reads it */
  KernelBuilder m = {b, old, map, x->inner};
  if (f->in_order && !is_its_place(f, op)) return;
  const Block *block = op->parent;
  bool last = f->in_order && (op_info[op->kind].flags & OPF_TERMINATOR);
  for (uint32_t i = 0; last && i < block->ops.n; i++)
    if (op_at(old, block->ops.at[i])->kind == OP_STORE)
      emit_group(f, &m, op_at(old, block->ops.at[i]));
  emit_group(f, &m, op);
}

void fuse_build(Fuse *f, Entry *e) {
  Each x = {f, ARENA_ARRAY(f->a, ValueId, e->values.n + 1)};
  memset(x.inner, 0xff, sizeof(ValueId) * (e->values.n + 1));
  entry_rebuild(e, each_op, &x, false, true);
}
