/* Fusion: wraps groups of ops into `kernel` ops of the forms in kernel_form.h.
   Contract: needs no grad ops; the values are the same to the last bit, since no sum is regrouped.
   Constants and views are copied into every group that reads them; anything that computes belongs
   to one group, so nothing is computed twice. Groups never depend on each other in a circle.
   Method: ops join the groups of their producers in program order where form and shapes allow;
   then groups over the same rows of the same value, and groups of scalars, join side by side. Each
   body of a loop is grouped for itself; what it reads from outside comes in as it is. */
#include "passes/fuse/fuse_impl.h"

/* ---- what an op is to fusion ---- */

/* f32 of a half precision: a load could as well do it. */
static bool is_widening(const Fuse *f, const Op *op) {
  if (op->kind != OP_CONVERT || value_type(f->e, op->results[0])->dtype != DT_F32) return false;
  Dtype from = value_type(f->e, op->operands[0])->dtype;
  return from == DT_F16 || from == DT_BF16;
}

/* Belongs to a group: it computes. */
static bool is_core(const Fuse *f, const Op *op) {
  if (op_start(op) >= 0) return false; /* it goes on in the bytes of what it begins with */
  OpClass c = op_info[op->kind].cls;
  if (c != CLASS_ELEMENT && c != CLASS_REDUCE && c != CLASS_ROWS && !op_reads_memory(op))
    return false;
  if (is_widening(f, op)) return false;
  const Target *t = f->r->opt->target;
  return !t || !t->can_fuse || t->can_fuse(t, f->e, op);
}

/* Copied into the groups that read it: a constant, a ramp, a view that is an index map, a widening,
   which would only be stored in more bytes. */
static bool is_inline(const Fuse *f, const Op *op) {
  if (op->kind == OP_CONST || op->kind == OP_IOTA || is_widening(f, op)) return true;
  if (op_info[op->kind].cls != CLASS_VIEW || op->kind == OP_COPY || op->noperands != 1)
    return false;
  return axes_through(f->a, f->e, op, axes_identity(f->a, value_type(f->e, op->results[0]))) !=
         NULL;
}

Source fuse_source(const Fuse *f, ValueId v) {
  Source s = {v, value_def(f->e, v), axes_identity(f->a, value_type(f->e, v)), false};
  while (s.def && s.def->kind != OP_CONST && s.def->kind != OP_IOTA && f->inlined[s.def->id]) {
    if (!is_widening(f, s.def)) {
      s.map = axes_through(f->a, f->e, s.def, s.map);
      s.viewed = true;
    }
    s.v = s.def->operands[0];
    s.def = value_def(f->e, s.v);
  }
  return s;
}

/* ---- shapes in a group over rows ---- */

/* [outer…], perhaps with axes of extent 1 behind. */
static bool row_shape(const Type *domain, int outer, const Type *t) {
  if (t->rank < outer) return false;
  for (int i = 0; i < t->rank; i++)
    if (t->dim[i] != (i < outer ? domain->dim[i] : 1)) return false;
  return true;
}

static bool fits_rows(const Unit *u, const Type *t) {
  return type_same_dims(t, u->domain) || row_shape(u->domain, u->outer, t);
}

/* The view reads every row at its own place. */
static bool aligned(const Fuse *f, const Source *s) {
  const Type *t = value_type(f->e, s->v);
  for (int i = 0; i < t->rank; i++)
    if (t->dim[i] != 1 && (s->map[i].coord != i || s->map[i].start != 0 || s->map[i].step != 1))
      return false;
  return true;
}

/* What the op gives has the kept shape of the unit's reduction. */
static const Type *kept_type(const Fuse *f, const Unit *u) {
  return value_type(f->e, u->root->results[0]);
}

/* ---- may two groups be one? ---- */

static const char *form_refuses(const Fuse *f, const Unit *a, const Unit *b, Unit *out) {
  const Unit *map = a->form == FORM_MAP ? a : b->form == FORM_MAP ? b : NULL;
  const Unit *other = map == a ? b : a;
  *out = *other;
  if (!map) {
    if (a->form == FORM_ROWS && b->form == FORM_ROWS)
      return type_same_dims(a->domain, b->domain) && a->outer == b->outer
                 ? NULL
                 : "they reduce other rows";
    return "a kernel has one product or one reduction over columns";
  }
  if (other->form == FORM_MAP || fuse_memory_form(other->form))
    return type_same_dims(map->domain, other->domain) ? NULL : "the shapes differ";
  if (other->form == FORM_ROWS) {
    if (map->dear && other->row_ops && map == a && type_same_dims(map->domain, other->domain))
      return "it would be computed again in every pass over a row";
    return fits_rows(other, map->domain) ? NULL : "the shapes differ";
  }
  if (type_same_dims(map->domain, kept_type(f, other)))
    return NULL; /* behind a reduction of columns */
  return map == a && type_same_dims(map->domain, other->domain) ? NULL : "the shapes differ";
}

static bool in_either(const Fuse *f, const Op *op, const Unit *a, const Unit *b) {
  return op && f->unit[op->id] && (f->unit[op->id] == a || f->unit[op->id] == b);
}

/* Every value that a member reads from another member is read where it is computed. */
static const char *edges_refuse(const Fuse *f, const Unit *a, const Unit *b, const Unit *whole) {
  for (int side = 0; side < 2; side++) {
    const Unit *u = side ? b : a;
    for (uint32_t i = 0; i < u->members.n; i++) {
      const Op *op = u->members.at[i];
      for (int k = 0; k < op->noperands; k++) {
        Source s = fuse_source(f, op->operands[k]);
        if (!in_either(f, s.def, a, b)) continue;
        if (op_reads_memory(op)) return "a product or window reads its operands from memory";
        if (!s.viewed) continue;
        if (whole->form != FORM_ROWS || !aligned(f, &s)) return "it is read at other places";
      }
    }
  }
  return NULL;
}

/* A reduction of columns has results of the kept shape only: what is computed on the full shape
   must not be wanted outside; nor may the epilogue read it. */
static const char *columns_refuse(const Fuse *f, const Unit *a, const Unit *b, const Unit *whole) {
  if (whole->form != FORM_COLS && whole->form != FORM_REDUCE) return NULL;
  const Type *kept = kept_type(f, whole);
  for (int side = 0; side < 2; side++) {
    const Unit *u = side ? b : a;
    for (uint32_t i = 0; i < u->members.n; i++) {
      const Op *op = u->members.at[i];
      for (int k = 0; k < op->nresults; k++) {
        const Type *t = value_type(f->e, op->results[k]);
        if (op == whole->root || (type_same_dims(t, kept) && !type_same_dims(t, whole->domain)))
          continue;
        for (uint32_t j = 0; j < f->users[op->results[k]].n; j++)
          if (!in_either(f, f->users[op->results[k]].at[j], a, b))
            return "what is summed is read again elsewhere";
      }
    }
  }
  return NULL;
}

/* ---- joining ---- */

static Unit *unit_new(Fuse *f, const Op *op) {
  Unit *u = ARENA_NEW(f->a, Unit);
  OpClass c = op_info[op->kind].cls;
  u->domain = value_type(f->e, op->results[0]);
  u->form = c == CLASS_CONTRACT ? FORM_MATMUL : c == CLASS_WINDOW ? FORM_WINDOW : FORM_MAP;
  if (fuse_memory_form(u->form)) u->root = op;
  if (op_is_reduction(op)) {
    u->root = op;
    u->domain = value_type(f->e, op->operands[op_full_operand(op)]);
    u->outer = op_outer_axes(f->e, op);
    u->form = u->outer >= 0 ? FORM_ROWS : FORM_COLS;
  }
  const char *text = op_info[op->kind].expr;
  u->dear = c == CLASS_ELEMENT && (!text || strstr(text, "FN("));
  u->row_ops = c == CLASS_ROWS;
  u->node = op->id;
  vec_push(f->a, &u->members, op);
  return u;
}

static const char *refuses(Fuse *f, Unit *a, Unit *b) {
  Unit whole;
  const Target *t = f->r->opt->target;
  uint32_t most = t && t->max_fused_ops ? (uint32_t)t->max_fused_ops : 64;
  if (a->members.n + b->members.n > most) return "the kernel would be too long";
  const char *why = form_refuses(f, a, b, &whole);
  if (!why) why = edges_refuse(f, a, b, &whole);
  if (!why) why = columns_refuse(f, a, b, &whole);
  if (!why && !f->live && fuse_circle(f, a, b))
    why = "another op between them would have to run in the middle";
  if (!why && f->live && !fuse_stays_within(f, a, b)) why = "more bytes would be live at a time";
  return why;
}

/* a takes over b. */
static void join(Fuse *f, Unit *a, Unit *b) {
  Unit whole;
  (void)form_refuses(f, a, b, &whole);
  if (!f->live) fuse_reorder(f, a, b); /* else a stands where both run */
  a->form = whole.form;
  a->domain = whole.domain;
  a->outer = whole.outer;
  a->root = whole.root;
  a->dear |= b->dear;
  a->row_ops |= b->row_ops;
  for (uint32_t i = 0; i < b->members.n; i++) {
    vec_push(f->a, &a->members, b->members.at[i]);
    f->unit[b->members.at[i]->id] = a;
  }
  b->members.n = 0;
}

static void join_producers(Fuse *f, const Op *op) {
  int first = fuse_first(f, op);
  for (int i = 0; i < op->noperands; i++) {
    int k = i == 0 ? first : i <= first ? i - 1 : i;
    Source s = fuse_source(f, op->operands[k]);
    bool here = s.def && s.def->parent == f->block;
    Unit *a = here ? f->unit[s.def->id] : NULL, *b = f->unit[op->id];
    if (!a || a == b) continue;
    const char *why = fuse_apart(f, a, &s, op);
    if (!why) why = refuses(f, a, b);
    if (why)
      remark(f->r, REMARK_FUSE, "fuse-missed", op->loc, "%s does not join %s of %s: %s",
             op_info[op->kind].name, op_info[s.def->kind].name, loc_str(f->r->m->ctx, s.def->loc),
             why);
    else
      join(f, a, b);
  }
}

/* Groups of rows that read the same value, and groups of scalars: one launch for several. */
static void join_beside(Fuse *f) {
  const Block *body = f->block;
  Unit *scalars = NULL;
  for (uint32_t i = 0; i < body->ops.n; i++) {
    Unit *u = f->unit[body->ops.at[i]];
    if (!u || u->form != FORM_MAP || u->domain->numel != 1 || u == scalars) continue;
    if (scalars && !refuses(f, scalars, u))
      join(f, scalars, u);
    else
      scalars = u;
  }
  for (ValueId v = 0; v < f->e->values.n; v++) {
    Unit *rows = NULL;
    for (uint32_t i = 0; i < f->users[v].n; i++) {
      const Op *user = f->users[v].at[i];
      Unit *u = user->parent == body ? f->unit[user->id] : NULL;
      if (!u || u->form != FORM_ROWS || u == rows) continue;
      if (rows && !refuses(f, rows, u))
        join(f, rows, u);
      else
        rows = u;
    }
  }
}

static uint32_t heavy_before(const Fuse *f, const Op *op) {
  uint32_t most = 0;
  ValueList reads = {0};
  plan_reads(f->a, f->e, op, &reads);
  for (uint32_t k = 0; k < reads.n; k++) {
    const Op *def = value_def(f->e, reads.at[k]);
    uint32_t n = def ? f->heavy[def->id] + op_is_heavy(def) : 0;
    if (n > most) most = n;
  }
  return most;
}

static void group(Fuse *f, const Block *block) {
  for (uint32_t i = 0; i < block->ops.n; i++) {
    const Op *op = op_at(f->e, block->ops.at[i]);
    f->heavy[op->id] = heavy_before(f, op);
    f->pos[op->id] = i;
    f->place[op->id] = f->places++;
    f->inlined[op->id] = is_inline(f, op);
    for (int k = 0; k < op->noperands; k++) vec_push(f->a, &f->users[op->operands[k]], op);
    if (op->kind == OP_SCAN) group(f, op->blocks[0]);
  }
  f->block = block;
  fuse_order(f);
  if (f->in_order) fuse_live_bytes(f);
  for (uint32_t i = 0; i < block->ops.n; i++) {
    const Op *op = op_at(f->e, block->ops.at[i]);
    if (!is_core(f, op)) continue;
    f->unit[op->id] = unit_new(f, op);
    join_producers(f, op);
  }
  join_beside(f);
}

/* ---- building kernels ---- */

typedef struct Making {
  Builder *b;
  const Entry *old;
  ValueId *map;   /* of the entry rebuilt */
  ValueId *inner; /* by old value: in the kernel at hand, or NO_ID */
} Making;

static void emit(Fuse *f, Making *m, const Op *op);

static void emit_value(Fuse *f, Making *m, ValueId v) {
  const Op *def = value_def(m->old, v);
  if (def) emit(f, m, def);
}

/* What an op reads is there before it; what the body of a loop reads, before the loop. */
static void emit_plain(Fuse *f, Making *m, const Op *op) {
  ValueList reads = {0};
  plan_reads(f->a, f->e, op, &reads);
  for (uint32_t k = 0; k < reads.n; k++) emit_value(f, m, reads.at[k]);
  if (f->emitted[op->id]) return;
  f->emitted[op->id] = true;
  build_copy(m->b, m->old, op, m->map);
}

typedef struct Parts {
  VEC(const Op *) ops; /* members and what is copied, in order */
  VEC(ValueId) args, results;
} Parts;

static bool has_value(const ValueId *at, uint32_t n, ValueId v) {
  for (uint32_t i = 0; i < n; i++)
    if (at[i] == v) return true;
  return false;
}

static bool has_op(const Parts *p, const Op *op) {
  for (uint32_t i = 0; i < p->ops.n; i++)
    if (p->ops.at[i] == op) return true;
  return false;
}

static void need(Fuse *f, const Unit *u, Parts *p, ValueId v, bool memory) {
  const Op *def = value_def(f->e, v);
  if (def && f->unit[def->id] == u) return;
  if (has_value(p->args.at, p->args.n, v)) return;
  if (def && !memory && f->inlined[def->id]) {
    if (has_op(p, def)) return;
    for (int k = 0; k < def->noperands; k++) need(f, u, p, def->operands[k], false);
    vec_push(f->a, &p->ops, def);
  } else {
    vec_push(f->a, &p->args, v);
  }
}

/* Someone outside of the group reads the value, perhaps through views that his own group copies.
   What a loop's body reads from outside is there before it, even if nobody wants what comes of it.
 */
static bool wanted_outside(const Fuse *f, const Unit *u, ValueId v) {
  const Block *home = value_block(f->e, v);
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i];
    if (f->unit[user->id] == u) continue;
    if (!f->inlined[user->id] || user->parent != home) return true;
    if (wanted_outside(f, u, user->results[0])) return true;
  }
  return false;
}

static Parts parts_of(Fuse *f, const Unit *u) {
  Parts p = {0};
  for (uint32_t i = 0; i < u->members.n;
       i++) { /* first, so that nobody copies what comes in whole */
    const Op *op = u->members.at[i];
    for (int k = 0; op_reads_memory(op) && k < op->noperands; k++)
      need(f, u, &p, op->operands[k], true);
  }
  for (uint32_t i = 0; i < u->members.n; i++) {
    const Op *op = u->members.at[i];
    for (int k = 0; !op_reads_memory(op) && k < op->noperands; k++)
      need(f, u, &p, op->operands[k], false);
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
      if (wanted_outside(f, u, p.ops.at[i]->results[k]))
        vec_push(f->a, &p.results, p.ops.at[i]->results[k]);
  return p;
}

/* "matmul+add+relu"; long groups name their first three kinds and how many ops there are. */
static const char *name_of(Fuse *f, const Unit *u, const Parts *p) {
  enum { NAMED = 3 };
  const char *name = u->root ? op_info[u->root->kind].name : "";
  uint32_t named = u->root != NULL, total = 0;
  for (uint32_t i = 0; i < p->ops.n; i++) {
    const Op *op = p->ops.at[i];
    if (f->unit[op->id] != u) continue;
    total++;
    if (op == u->root || named >= NAMED) continue;
    name = arena_printf(f->a, "%s%s%s", name, *name ? "+" : "", op_info[op->kind].name);
    named++;
  }
  if (total > named) name = arena_printf(f->a, "%s+%u", name, total - named);
  return intern(f->r->m->ctx, name);
}

static void emit_kernel(Fuse *f, Making *m, const Unit *u, const Parts *p) {
  Builder *b = m->b;
  const Op *lead = u->root ? u->root : u->members.at[u->members.n - 1];
  ValueId *operands = ARENA_ARRAY(f->a, ValueId, p->args.n + 1);
  for (uint32_t i = 0; i < p->args.n; i++) operands[i] = m->map[p->args.at[i]];
  const Type **types = ARENA_ARRAY(f->a, const Type *, p->results.n + 1);
  for (uint32_t i = 0; i < p->results.n; i++) types[i] = value_type(m->old, p->results.at[i]);
  Attr attr[MAX_ATTRS] = {{.str = name_of(f, u, p)}};
  b->loc = lead->loc;
  b->scope = lead->scope;
  b->backward = false;
  for (uint32_t i = 0; i < u->members.n; i++) b->backward |= u->members.at[i]->backward;
  Op *kernel = build_op(b, OP_KERNEL, operands, (int)p->args.n, attr, types, (int)p->results.n);
  Block *body = kernel->blocks[0], *outer = b->b;
  for (uint32_t i = 0; i < p->args.n; i++)
    m->inner[p->args.at[i]] = block_add_arg(b->e, body, *value_at(m->old, p->args.at[i]));
  builder_at(b, body);
  for (uint32_t i = 0; i < p->ops.n; i++) build_copy(b, m->old, p->ops.at[i], m->inner);
  ValueId *yield = ARENA_ARRAY(f->a, ValueId, p->results.n + 1);
  for (uint32_t i = 0; i < p->results.n; i++) {
    ValueId old = p->results.at[i];
    yield[i] = m->inner[old];
    m->map[old] = kernel->results[i];
    value_at(b->e, kernel->results[i])->name = value_at(m->old, old)->name;
  }
  build_op(b, OP_YIELD, yield, (int)p->results.n, NULL, NULL, 0);
  builder_at(b, outer);
  for (uint32_t i = 0; i < p->args.n; i++) m->inner[p->args.at[i]] = NO_ID;
  for (uint32_t i = 0; i < p->ops.n; i++)
    for (int k = 0; k < p->ops.at[i]->nresults; k++) m->inner[p->ops.at[i]->results[k]] = NO_ID;
  f->r->changes++;
  remark(f->r, REMARK_FUSE, "fuse", lead->loc, "one %s kernel of %u ops: %s", form_name(u->form),
         u->members.n, attr[0].str);
}

static void emit(Fuse *f, Making *m, const Op *op) {
  if (f->emitted[op->id]) return;
  Unit *u = f->unit[op->id];
  if (!u) {
    emit_plain(f, m, op);
    return;
  }
  Parts p = parts_of(f, u);
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
  const Unit *u = f->unit[op->id];
  return op->kind != OP_STORE && !fuse_floats(f, op) && (!u || u->node == op->id);
}

static void each_op(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Each *x = data;
  Fuse *f = x->f;
  f->e = old;                     /* the entry itself is being rebuilt */
  if (f->inlined[op->id]) return; /* built where an op outside of every group reads it */
  Making m = {b, old, map, x->inner};
  if (f->in_order && !is_its_place(f, op)) return;
  const Block *block = op->parent;
  bool last = f->in_order && (op_info[op->kind].flags & OPF_TERMINATOR);
  for (uint32_t i = 0; last && i < block->ops.n; i++)
    if (op_at(old, block->ops.at[i])->kind == OP_STORE) emit(f, &m, op_at(old, block->ops.at[i]));
  emit(f, &m, op);
}

static void fuse_entry(PassRun *r, Entry *e) {
  Fuse f = {.r = r, .e = e, .a = r->scratch, .in_order = e->in_order};
  f.unit = ARENA_ARRAY(f.a, Unit *, e->ops.n + 1);
  f.pos = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.place = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.inlined = ARENA_ARRAY(f.a, bool, e->ops.n + 1);
  f.heavy = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.rank = ARENA_ARRAY(f.a, uint64_t, e->ops.n + 1);
  f.next = ARENA_ARRAY(f.a, OpId, e->ops.n + 1);
  f.before = ARENA_ARRAY(f.a, OpId, e->ops.n + 1);
  f.seen = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.enter = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.leave = ARENA_ARRAY(f.a, uint32_t, e->ops.n + 1);
  f.users = arena_alloc(f.a, sizeof *f.users * (e->values.n + 1));
  f.emitted = ARENA_ARRAY(f.a, bool, e->ops.n + 1);
  group(&f, e->body);
  Each x = {&f, ARENA_ARRAY(f.a, ValueId, e->values.n + 1)};
  memset(x.inner, 0xff, sizeof(ValueId) * (e->values.n + 1));
  entry_rebuild(e, each_op, &x, false, true);
}

bool pass_fuse(PassRun *r) {
  for (uint32_t k = 0; pass_entry(r->m, k); k++) fuse_entry(r, pass_entry(r->m, k));
  return true;
}
