/* Fusion: wraps groups of ops into `kernel` ops of the forms in kernel_form.h.
   Contract: needs no grad ops; the values are the same to the last bit, since no sum is regrouped.
   Constants and views are copied into every group that reads them; anything that computes belongs
   to one group, so nothing is computed twice, but for what a map reads at mirrored places as well.
   Groups never depend on each other in a cycle. Method: ops join the groups of their producers in
   program order where form and shapes allow, and a reshape that keeps a product's last axis joins
   the product, for the sake of what reads it; views of attention's operands and transposes of its
   results join it where the target asks for it; then groups over the same rows of the same value,
   groups of scalars, and long sums over one shape, join side by side, and updates join the maps
   whose results they write, where the target asks for it. Each body of a loop is grouped for
   itself; what it reads from outside comes in as it is. */
#include "passes/fuse/fuse_impl.h"

/* ---- joining ---- */

static FusionGroup *group_new(Fuse *f, const Op *op) {
  FusionGroup *u = ARENA_NEW(f->a, FusionGroup);
  OpClass c = op_info[op->kind].cls;
  u->domain = value_type(f->e, op->results[0]);
  u->form = c == CLASS_CONTRACT    ? FORM_MATMUL
            : c == CLASS_WINDOW    ? FORM_WINDOW
            : c == CLASS_ATTENTION ? FORM_ATTENTION
                                   : FORM_MAP;
  if (fuse_memory_form(u->form) || u->form == FORM_ATTENTION) u->root = op;
  if (op_is_reduction(op)) {
    u->root = op;
    u->domain = value_type(f->e, op->operands[op_full_operand(op)]);
    u->outer = op_outer_axes(f->e, op);
    u->form = u->outer >= 0 ? FORM_ROWS : FORM_COLS;
  }
  u->expensive = c == CLASS_ELEMENT && (!op_info[op->kind].expr || op_calls_function(op->kind));
  u->row_ops = c == CLASS_ROWS;
  u->node = op->id;
  vec_push(f->a, &u->members, op);
  return u;
}

/* a takes over b. */
static void join(Fuse *f, FusionGroup *a, FusionGroup *b) {
  FusionGroup whole;
  (void)fuse_form_refuses(f, a, b, &whole);
  if (!f->live) fuse_reorder(f, a, b); /* else a stands where both run */
  a->form = whole.form;
  a->domain = whole.domain;
  a->outer = whole.outer;
  a->root = whole.root;
  a->expensive |= b->expensive;
  a->row_ops |= b->row_ops;
  for (uint32_t i = 0; i < b->members.n; i++) {
    vec_push(f->a, &a->members, b->members.at[i]);
    f->unit[b->members.at[i]->id] = a;
  }
  b->members.n = 0;
}

/* What computes the value: behind reshapes that its group has, and others that only stand between.
 */
static const Op *maker_of(const Fuse *f, const Op *def, bool *reshaped) {
  for (*reshaped = false; def && !fuse_computes(def); def = value_def(f->e, def->operands[0]))
    *reshaped |= f->unit[def->id] == NULL;
  return def;
}

/* The op reads what a group in this block makes, or a transpose apart, but as another shape. */
static void remark_reshaped(const Fuse *f, const Op *op, const Op *def) {
  bool reshaped;
  const Op *maker = maker_of(f, def, &reshaped);
  if (!reshaped || !maker || maker->parent != f->block) return;
  if (!f->unit[maker->id] && maker->kind != OP_TRANSPOSE) return;
  remark(f->r, REMARK_FUSE, "fuse-missed", op->loc,
         "%s does not join %s of %s: a reshape stands between", op_info[op->kind].name,
         op_info[maker->kind].name, loc_str(f->r->m->ctx, maker->loc));
}

/* A count of the ranks' rows is there when the entry begins: in the group of a mean over them its
   other readers, as the gradient of a loss is, would wait for the mean. */
static bool makes_count_wait(const Fuse *f, const Op *def, const Op *op) {
  return op_is_count_of_ranks(f->e, def) && !op_is_count_of_ranks(f->e, op);
}

static void join_producers(Fuse *f, const Op *op) {
  int first = fuse_first(f, op);
  for (int i = 0; i < op->noperands; i++) {
    int k = i == 0 ? first : i <= first ? i - 1 : i;
    Source s = fuse_source(f, op->operands[k]);
    bool here = s.def && s.def->parent == f->block;
    FusionGroup *a = here ? f->unit[s.def->id] : NULL, *b = f->unit[op->id];
    if (here && !a && !op_reads_memory(op)) remark_reshaped(f, op, s.def);
    if (!a || a == b || makes_count_wait(f, s.def, op)) continue;
    const char *why = fuse_apart(f, a, &s, op);
    if (!why) why = fuse_refuses(f, a, b);
    bool reshaped;
    const Op *maker = maker_of(f, s.def, &reshaped);
    if (why)
      remark(f->r, REMARK_FUSE, "fuse-missed", op->loc, "%s does not join %s of %s: %s",
             op_info[op->kind].name, op_info[maker->kind].name, loc_str(f->r->m->ctx, maker->loc),
             why);
    else
      join(f, a, b);
  }
}

/* ---- reshapes of products ---- */

static void join_reshape(Fuse *f, const Op *op) {
  FusionGroup *u = fuse_reshaped(f, op), *own;
  if (!u) return;
  own = f->unit[op->id] = group_new(f, op);
  f->inlined[op->id] = false;
  if (type_same_dims(u->domain, value_type(f->e, u->root->results[0]))) u->domain = own->domain;
  join(f, u, own);
}

/* Perhaps widened on the way, which the group copies. */
static bool is_read_inside(const Fuse *f, const FusionGroup *u, ValueId v) {
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i];
    if (f->unit[user->id] == u) return true;
    if (f->inlined[user->id] && is_read_inside(f, u, user->results[0])) return true;
  }
  return false;
}

/* Those that no member reads are views of the product's result again. */
static void release_reshapes(Fuse *f) {
  for (uint32_t i = f->block->ops.n; i-- > 0;) {
    const Op *op = op_at(f->e, f->block->ops.at[i]);
    FusionGroup *u = f->unit[op->id];
    if (!u || fuse_computes(op) || is_read_inside(f, u, op->results[0])) continue;
    f->unit[op->id] = NULL;
    f->inlined[op->id] = fuse_is_inline(f, op);
    uint32_t n = 0;
    for (uint32_t k = 0; k < u->members.n; k++)
      if (u->members.at[k] != op) u->members.at[n++] = u->members.at[k];
    u->members.n = n;
  }
}

static uint32_t collectives_before(const Fuse *f, const FusionGroup *u) {
  uint32_t max = 0;
  for (uint32_t k = 0; k < u->members.n; k++)
    if (f->collectives[u->members.at[k]->id] > max) max = f->collectives[u->members.at[k]->id];
  return max;
}

/* What does not wait for other ranks must not begin to. */
static bool joins_beside(Fuse *f, FusionGroup *with, FusionGroup *u) {
  return collectives_before(f, with) == collectives_before(f, u) && !fuse_refuses(f, with, u);
}

/* Groups of rows that read the same value, and groups of scalars: one launch for several. */
static void join_beside(Fuse *f) {
  const Block *body = f->block;
  FusionGroup *scalars = NULL;
  for (uint32_t i = 0; i < body->ops.n; i++) {
    FusionGroup *u = f->unit[body->ops.at[i]];
    if (!u || u->form != FORM_MAP || u->domain->numel != 1 || u == scalars) continue;
    if (scalars && joins_beside(f, scalars, u))
      join(f, scalars, u);
    else
      scalars = u;
  }
  for (ValueId v = 0; v < f->e->values.n; v++) {
    FusionGroup *rows = NULL;
    for (uint32_t i = 0; i < f->users[v].n; i++) {
      const Op *user = f->users[v].at[i];
      FusionGroup *u = user->parent == body ? f->unit[user->id] : NULL;
      if (!u || u->form != FORM_ROWS || u == rows) continue;
      if (rows && joins_beside(f, rows, u))
        join(f, rows, u);
      else
        rows = u;
    }
  }
}

/* Each with the last one of its shape that has room. */
static void join_sums(Fuse *f) {
  VEC(FusionGroup *) last = {0}; /* of each shape */
  for (uint32_t i = 0; i < f->block->ops.n; i++) {
    const Op *op = op_at(f->e, f->block->ops.at[i]);
    FusionGroup *u = f->unit[op->id];
    if (!u || u->root != op || !fuse_is_long_sum(f, u)) continue;
    uint32_t k = 0;
    while (k < last.n && !type_same_dims(last.at[k]->domain, u->domain)) k++;
    if (k == last.n)
      vec_push(f->a, &last, u);
    else if (fuse_sums_together(f, last.at[k], u) && joins_beside(f, last.at[k], u))
      join(f, last.at[k], u);
    else
      last.at[k] = u;
  }
}

/* With the reshapes between them. */
static void join_update(Fuse *f, const Op *op) {
  FusionGroup *u = fuse_updated(f, op), *own;
  if (!u) return;
  const Type *domain = u->domain;
  VEC(const Op *) between = {0};
  for (const Op *x = value_def(f->e, op->operands[1]); f->unit[x->id] != u;
       x = value_def(f->e, x->operands[0]))
    vec_push(f->a, &between, x);
  while (between.n) { /* released below, where the update does not join */
    const Op *x = between.at[--between.n];
    f->inlined[x->id] = false;
    join(f, u, f->unit[x->id] = group_new(f, x));
  }
  u->domain = domain;
  own = group_new(f, op);
  if (fuse_makes_cycle(f, u, own)) return;
  f->unit[op->id] = own;
  join(f, u, own);
  u->form = FORM_UPDATE;
  u->domain = domain;
  u->root = op;
}

/* A collective that an op waits for; those of leaves, as the ranks' rows are, begin with the entry.
 */
static bool is_awaited(const Fuse *f, const Op *op) {
  if (op_info[op->kind].cls != CLASS_COLLECTIVE) return false;
  for (int i = 0; i < op->noperands; i++) {
    const Op *def = value_def(f->e, op->operands[i]);
    if (!def || op_info[def->kind].cls != CLASS_LEAF) return true;
  }
  return false;
}

static void count_before(const Fuse *f, const Op *op) {
  uint32_t *anchors = &f->anchors[op->id], *collectives = &f->collectives[op->id];
  ValueList reads = {0};
  plan_reads(f->a, f->e, op, &reads);
  for (uint32_t k = 0; k < reads.n; k++) {
    const Op *def = value_def(f->e, reads.at[k]);
    if (!def) continue;
    uint32_t n = f->anchors[def->id] + op_is_anchor(def);
    uint32_t m = f->collectives[def->id] + is_awaited(f, def);
    if (n > *anchors) *anchors = n;
    if (m > *collectives) *collectives = m;
  }
}

static void group(Fuse *f, const Block *block) {
  for (uint32_t i = 0; i < block->ops.n; i++) {
    const Op *op = op_at(f->e, block->ops.at[i]);
    count_before(f, op);
    f->pos[op->id] = i;
    f->place[op->id] = f->places++;
    f->inlined[op->id] = fuse_is_inline(f, op);
    for (int k = 0; k < op->noperands; k++) vec_push(f->a, &f->users[op->operands[k]], op);
    if (op->kind == OP_SCAN) group(f, op->blocks[0]);
  }
  f->block = block;
  fuse_find_stores(f);
  fuse_order(f);
  if (f->in_order) fuse_live_bytes(f);
  for (uint32_t i = 0; i < block->ops.n; i++) {
    const Op *op = op_at(f->e, block->ops.at[i]);
    bool attention = op_info[op->kind].cls == CLASS_ATTENTION && fuse_is_strided(f);
    if (attention || f->stores[op->id]) f->unit[op->id] = group_new(f, op);
    if (f->stores[op->id]) join(f, f->unit[f->stores[op->id]->id], f->unit[op->id]);
    if (attention || f->stores[op->id]) continue;
    if (!fuse_computes(op)) join_reshape(f, op);
    if (!fuse_is_core(f, op)) continue;
    f->unit[op->id] = group_new(f, op);
    join_producers(f, op);
  }
  join_beside(f);
  join_sums(f);
  for (uint32_t i = 0; i < block->ops.n; i++) join_update(f, op_at(f->e, block->ops.at[i]));
  release_reshapes(f);
  fuse_release_views(f);
}

static void fuse_entry(PassRun *r, Entry *e) {
  remarks_of(r, e);
  fuse_share_transposes(r, e);
  Fuse f = {.r = r, .e = e, .a = r->scratch, .in_order = notes_of(e)->in_order};
  f.watch = pass_arg_str(r, "watch", "");
  f.unit = ARENA_ARRAY(f.a, FusionGroup *, e->ops.n + 1);
  f.pos = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.place = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.inlined = ARENA_ARRAY(f.a, bool, e->ops.n + 1);
  f.stores = ARENA_ARRAY(f.a, const Op *, e->ops.n + 1);
  f.anchors = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.collectives = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.rank = ARENA_ARRAY(f.a, uint64_t, e->ops.n + 1);
  f.next = ARENA_ARRAY(f.a, OpId, e->ops.n + 1);
  f.before = ARENA_ARRAY(f.a, OpId, e->ops.n + 1);
  f.seen = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.enter = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.leave = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.users = arena_alloc(f.a, sizeof *f.users * (e->values.n + 1));
  f.emitted = ARENA_ARRAY(f.a, bool, e->ops.n + 1);
  f.computes = ARENA_ARRAY(f.a, uint64_t, e->values.n + 1);
  f.computed_in = ARENA_ARRAY(f.a, const FusionGroup *, e->values.n + 1);
  group(&f, e->body);
  fuse_build(&f, e);
}

bool pass_fuse(PassRun *r) {
  for (uint32_t k = 0; pass_entry(r->m, k); k++) fuse_entry(r, pass_entry(r->m, k));
  return true;
}
