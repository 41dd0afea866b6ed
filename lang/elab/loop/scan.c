/* scan: a loop that is not unrolled, an op `scan` whose block is the body, read once.
   Contract: while the body is read, an argument of the block stands for every tensor from outside:
   a capture. A name or state that has another value after the body becomes a carry. All other
   captures are replaced by the outer values. A global is loaded before the outermost loop and
   stored after it, so a body holds neither loads nor stores. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

static ScanLevel *level_begin(Elab *e, const char *counter, int64_t from, int64_t trips,
                              const Extent *extent) {
  ScanLevel *l = ARENA_NEW(e->a, ScanLevel);
  l->up = e->run->scan;
  l->from = from;
  l->trips = trips;
  l->extent = extent;
  l->block = ARENA_NEW(e->m->arena, Block);
  l->outer = e->run->b->b;
  (void)block_add_arg(e->run->entry, l->block,
                      (Value){.type = type_scalar(e->c, DT_I32), .name = counter});
  e->run->scan = l;
  builder_at(e->run->b, l->block);
  return l;
}

static void level_end(Elab *e) {
  builder_at(e->run->b, e->run->scan->outer);
  e->run->scan = e->run->scan->up;
}

ValueId scan_capture_value(Elab *e, ScanLevel *l, ValueId outer, int global, bool fixed) {
  Value like = *value_at(e->run->entry, outer);
  ValueId arg = block_add_arg(e->run->entry, l->block, like);
  map_put(e->a, &l->capture_at, map_id(arg), l->captures.n);
  vec_push(e->a, &l->captures, (Capture){arg, outer, NO_ID, NO_ID, global, fixed, false});
  return arg;
}

Capture *capture_of(const ScanLevel *l, ValueId arg) {
  uint32_t i;
  return map_get(&l->capture_at, map_id(arg), &i) ? &l->captures.at[i] : NULL;
}

const Op *scan_end(const Entry *en, const Op *op) {
  if (op->kind != OP_SCAN) return NULL;
  const Block *b = op->blocks[0];
  return op_at(en, b->ops.at[b->ops.n - 1]);
}

void scan_grad_target(Elab *e, ValueId v) {
  Capture *s = e->run->scan ? capture_of(e->run->scan, v) : NULL;
  if (s) s->is_grad_target = true;
}

ValueId scan_read_global(Elab *e, int global, Loc loc) {
  ScanLevel *l = e->run->scan;
  Block *inner = e->run->b->b;
  e->run->scan = l->up;
  builder_at(e->run->b, l->outer);
  ValueId outer = global_read(e, global, loc);
  builder_at(e->run->b, inner);
  e->run->scan = l;
  return scan_capture_value(e, l, outer, global, false);
}

ValueId scan_capture(Elab *e, ScanLevel *l, const ScanLevel *from, ValueId v) {
  return l == from ? v : scan_capture_value(e, l, scan_capture(e, l->up, from, v), -1, true);
}

/* Captures that a grad of the body differentiates by: one copy for each outer value. */
static void copy_grad_targets(Elab *e, ScanLevel *l, ValueId *by) {
  Builder *b = e->run->b;
  for (uint32_t i = 0; i < l->captures.n; i++) {
    const Capture *s = &l->captures.at[i];
    if (!s->is_grad_target || s->next != NO_ID || by[s->arg] != s->arg) continue;
    Value like = *value_at(e->run->entry, s->arg);
    ValueId own = build_op(b, OP_COPY, &s->outer, 1, NULL, &like.type, 1)->results[0];
    value_at(e->run->entry, own)->name = like.name;
    for (uint32_t k = 0; k < l->captures.n; k++) {
      const Capture *same = &l->captures.at[k];
      if (same->outer == s->outer && same->next == NO_ID) by[same->arg] = own;
    }
  }
}

/* Inserts the draw offsets and copies, which are known once the body is read, before its ops. */
static void insert_prologue(Elab *e, ScanLevel *l, int64_t trips, ValueId *by) {
  Builder *b = e->run->b;
  Block *front = ARENA_NEW(e->m->arena, Block);
  builder_at(b, front);
  scan_define_draws(e, l, trips, by);
  copy_grad_targets(e, l, by);
  for (uint32_t i = 0; i < l->block->ops.n; i++)
    vec_push(e->m->arena, &front->ops, l->block->ops.at[i]);
  for (uint32_t i = 0; i < front->ops.n; i++)
    op_at(e->run->entry, front->ops.at[i])->parent = l->block;
  l->block->ops.at = front->ops.at;
  l->block->ops.n = front->ops.n;
  l->block->ops.cap = front->ops.cap;
  builder_at(b, l->block);
}

/* ---- the op ---- */

static void replace_operands(Entry *en, const Block *b, const ValueId *by) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    Op *op = op_at(en, b->ops.at[i]);
    ValueId *x = (ValueId *)op->operands; /* of an op that was built here */
    for (int k = 0; k < op->noperands; k++) x[k] = by[x[k]];
    for (int k = 0; k < op->nblocks; k++) replace_operands(en, op->blocks[k], by);
  }
}

/* Replaces captures that are not carries by their outer values, and numbers the arguments again. */
static void resolve_captures(Elab *e, ScanLevel *l, int64_t trips) {
  Entry *en = e->run->entry;
  uint32_t max = en->values.n + 3 * l->draws.n + l->captures.n; /* with the prologue */
  ValueId *by = ARENA_ARRAY(e->a, ValueId, max + 1);
  for (ValueId v = 0; v < max; v++) by[v] = v;
  insert_prologue(e, l, trips, by);
  uint32_t n = 1; /* the counter stays */
  for (uint32_t i = 0; i < l->captures.n; i++) {
    Capture *s = &l->captures.at[i];
    if (s->next == NO_ID) {
      if (by[s->arg] == s->arg) by[s->arg] = s->outer;
      continue;
    }
    value_at(en, s->arg)->index = n;
    l->block->args.at[n++] = s->arg;
  }
  l->block->args.n = n;
  replace_operands(en, l->block, by);
  for (uint32_t i = 0; i < l->captures.n; i++)
    if (l->captures.at[i].next != NO_ID) l->captures.at[i].next = by[l->captures.at[i].next];
  for (uint32_t i = 0; i < l->stacked.n; i++) l->stacked.at[i] = by[l->stacked.at[i]];
}

/* Ends the block and appends the op to the block around the loop. NULL after an error. */
static Op *build_scan(Elab *e, ScanLevel *l, int64_t trips, Loc loc) {
  Entry *en = e->run->entry;
  elab_at(e, loc);
  resolve_captures(e, l, trips);
  uint32_t capacity = l->captures.n + l->stacked.n + 1, n = 0;
  ValueId *init = ARENA_ARRAY(e->a, ValueId, capacity),
          *yield = ARENA_ARRAY(e->a, ValueId, capacity);
  const Type **type = ARENA_ARRAY(e->a, const Type *, capacity);
  for (uint32_t i = 0; i < l->captures.n; i++) {
    const Capture *s = &l->captures.at[i];
    if (s->next == NO_ID) continue;
    init[n] = s->outer;
    type[n] = value_type(en, s->arg);
    yield[n++] = s->next;
  }
  Attr attr[MAX_ATTRS] = {[AT_TRIPS] = {.i = trips},
                          [AT_CARRIES] = {.i = n},
                          [AT_EXTENT] = {.str = l->extent ? l->extent->name : NULL}};
  int64_t axis = l->extent ? axis_of_extent(l->extent, trips / l->extent->bound) : trips;
  uint32_t carries = n;
  for (uint32_t i = 0; i < l->stacked.n; i++) {
    yield[n] = l->stacked.at[i];
    type[n] = type_stacked(e->c, value_type(en, yield[n]), axis);
    if (!type[n++])
      return elab_fail(e, loc, "what the scan stacks has more bytes than can be addressed"), NULL;
  }
  build_op(elab_at(e, loc), OP_YIELD, yield, (int)n, NULL, NULL, 0);
  level_end(e);
  Op *op = build_op(elab_at(e, loc), OP_SCAN, init, (int)carries, attr, type, (int)n);
  op->blocks[0] = l->block;
  l->block->op = op;
  n = 0;
  for (uint32_t i = 0; i < l->captures.n; i++) {
    Capture *s = &l->captures.at[i];
    if (s->next == NO_ID) continue;
    s->result = op->results[n++];
    value_at(en, s->result)->name = value_at(en, s->arg)->name;
    if (s->global >= 0) *global_current(e, s->global) = s->result;
  }
  return op;
}

/* ---- the statement ---- */

typedef struct OuterNames { /* values of the names before and at the begin of the body */
  Val *before, *inside;
  uint32_t n;
} OuterNames;

static OuterNames capture_names(Elab *e, ScanLevel *l, Env *env, const Body *body) {
  OuterNames o = {.n = env->names.n};
  o.before = ARENA_ARRAY(e->a, Val, o.n + 1);
  o.inside = ARENA_ARRAY(e->a, Val, o.n + 1);
  for (uint32_t i = 0; i < o.n; i++) {
    Binding *b = &env->names.at[i];
    o.before[i] = b->val;
    if (b->global < 0) b->val = scan_capture_names(e, l, b->val, !body_assigns(body, b->name));
    o.inside[i] = b->val;
    if (b->val.kind == VAL_TENSOR && b->global < 0)
      value_at(e->run->entry, b->val.tensor.id)->name = b->name;
  }
  return o;
}

/* False after an error. */
static bool read_body(Elab *e, ScanLevel *l, const Stmt *s, Yields *y) {
  Env *env = e->frame->env;
  int errors = elab_errors(e);
  Yields *up = env->yields;
  env->yields = y->targets ? y : NULL;
  Val i = val_tensor(e, l->block->args.at[0]);
  if (l->from) {
    ValueId shift = build_const_int(elab_at(e, s->loop.var.loc), i.tensor.type, l->from);
    i = val_tensor(e, build2(e->run->b, OP_ADD, i.tensor.id, shift));
  }
  uint32_t names = env->names.n;
  Binding *hidden = env_find(e, env, s->loop.var.name), kept = hidden ? *hidden : (Binding){0};
  env_bind(e, s->loop.var.name, i, -1, s->loop.var.loc);
  const Frame *loop = env->loop;
  env->loop = e->frame;
  env->scans++;
  exec_body(e, &s->loop.body);
  env->scans--;
  env->loop = loop;
  env_drop(e, env, names);
  if (hidden) *env_find(e, env, kept.name) = kept;
  env->yields = up;
  if (elab_errors(e) > errors) return false;
  if (y->targets && !y->seen) {
    elab_error(e, s->loc, "an iteration of the scan yields nothing");
    elab_hint(e, "what each iteration gives to '%s' is the last line of the body: yield …",
              s->loop.targets.at[0].name);
    return elab_trace(e), false;
  }
  for (int k = 0; k < y->targets; k++) {
    if (y->at.at[k].kind == VAL_ERROR) return false;
    vec_push(e->a, &l->stacked, y->at.at[k].tensor.id);
  }
  return true;
}

static void find_carries(Elab *e, ScanLevel *l, Env *env, const OuterNames *o) {
  for (uint32_t i = 0; i < o->n; i++) {
    const Binding *b = &env->names.at[i];
    if (b->global < 0) scan_carries_of(e, l, b->name, o->inside[i], b->val, b->loc);
  }
  for (uint32_t i = 0; i < l->captures.n; i++) {
    Capture *s = &l->captures.at[i];
    if (s->global < 0) continue;
    ValueId now = *global_current(e, s->global);
    if (now != s->arg) s->next = now;
  }
}

/* 0..n, or 0..2 * n: *to is the number at the bound. */
static bool extent_bound(Elab *e, Val v, const Stmt *s, int64_t from, int64_t *to,
                         const Extent **extent) {
  const Extent *x = axis_extent(e->c, v.extent.axis);
  if (from || !x || x->nfactors > 1 || x->whole) {
    elab_error(e, s->loop.to->loc,
               "the end of a scan is known at compile time, or a multiple of one extent with the "
               "start 0");
    elab_hint(e, "scan to the whole extent, and keep what was: where(condition, new, old)");
    return elab_trace(e), false;
  }
  *extent = x;
  *to = x->bound * axis_multiple(v.extent.axis);
  return true;
}

static bool bounds(Elab *e, const Stmt *s, int64_t *from, int64_t *to, const Extent **extent) {
  if (e->run->kind != BUILD_ENTRY)
    return elab_fail(e, s->loc, "a scan runs in an entry, not at compile time"), false;
  bool ok = loop_bound(e, s->loop.from, false, INT32_MIN, "the start of a scan", from);
  Val end = elab_eval_one(e, s->loop.to);
  if (end.kind == VAL_EXTENT)
    ok = ok && extent_bound(e, end, s, *from, to, extent);
  else
    ok &= val_is_known(e, end, "the end of a scan",
                       "loop to the most that it may be, and keep what was: where(i < n, new, old)",
                       s->loop.to->loc) &&
          val_to_int(e, end, INT32_MIN, "the end of a scan", s->loop.to->loc, to);
  if (ok && (*from > INT32_MAX || *to > INT32_MAX || *to - *from > INT32_MAX))
    return elab_fail(e, s->loc, "the counter of a scan is an i32: %lld..%lld is too far",
                     (long long)*from, (long long)*to),
           false;
  if (ok && s->loop.targets.n && *to <= *from)
    return elab_fail(e, s->loc, "a loop that yields needs at least one iteration: %lld..%lld",
                     (long long)*from, (long long)*to),
           false;
  return ok;
}

/* The body has not assigned the name. */
static bool is_unchanged(Elab *e, Val inside, Val now) {
  if (inside.kind != now.kind) return false;
  if (now.kind == VAL_TENSOR) return inside.tensor.id == now.tensor.id;
  if (val_has_items(now)) return inside.list == now.list;
  return now.kind == VAL_ERROR || val_equal(e, inside, now);
}

/* A name of a param or state that the body binds to another value stands for the current one before
   the loop, whose iterations go on from there. */
static void unbind_globals(Elab *e, Env *env, const Body *body) {
  for (uint32_t i = 0; i < env->names.n; i++) {
    const Binding *b = &env->names.at[i];
    const Ident *at = b->global >= 0 ? body_assigns(body, b->name) : NULL;
    if (at) bind_name(e, *at, val_tensor(e, global_read(e, b->global, at->loc)));
  }
}

/* False after an error: names are as before the loop, but unknown if the body assigns them. */
static bool scan(Elab *e, const Stmt *s, int64_t from, int64_t trips, const Extent *extent,
                 Val *stacked) {
  Env *env = e->frame->env;
  Yields yields = {.up = env->yields, .targets = s->loop.targets.n};
  unbind_globals(e, env, &s->loop.body);
  ScanLevel *l = level_begin(e, s->loop.var.name, from, trips, extent);
  OuterNames o = capture_names(e, l, env, &s->loop.body);
  int errors = elab_errors(e);
  bool ok = read_body(e, l, s, &yields);
  if (ok) find_carries(e, l, env, &o);
  ok = ok && scan_check_calls(e, l);
  const Op *op = ok && elab_errors(e) == errors ? build_scan(e, l, trips, s->loc) : NULL;
  if (!op) level_end(e);
  if (op && !e->run->scan) grad_check_scan(e, op);
  for (uint32_t i = 0; i < o.n; i++) {
    Binding *b = &env->names.at[i];
    if (b->global >= 0) continue;
    if (op)
      b->val = scan_restore(e, l, o.inside[i], o.before[i]);
    else
      b->val = is_unchanged(e, o.inside[i], b->val) ? o.before[i] : error_value;
  }
  int first = op ? scan_carries(op) : 0;
  for (int k = 0; op && k < yields.targets; k++) stacked[k] = val_tensor(e, op->results[first + k]);
  return op != NULL;
}

void exec_scan(Elab *e, const Stmt *s) {
  int64_t from = 0, to = 0;
  const Extent *extent = NULL;
  int n = s->loop.targets.n;
  Val *stacked = ARENA_ARRAY(e->a, Val, n + 1);
  for (int k = 0; k < n; k++) stacked[k] = error_value;
  if (bounds(e, s, &from, &to, &extent) && to > from)
    (void)scan(e, s, from, to - from, extent, stacked);
  for (int k = 0; k < n; k++) bind_name(e, s->loop.targets.at[k], stacked[k]);
}
