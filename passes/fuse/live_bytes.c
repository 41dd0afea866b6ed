/* Fusion within the live bytes of an order: groups form only where the peak of the order at hand
   does not grow. Contract: the ops of the block stand in an order of execution that is worth
   keeping; groups then stand at the place of one of their members, readers behind what they read,
   and are built in that order. Method: a value is live from the place of its maker to that of its
   last reader; a tree of sums over the places knows the most live bytes when some of these spans
   change. Two groups join at the later of their places, else at the earlier one. What an
   element-wise reader can overwrite ends before it; the space that kernels themselves need is not
   counted. */
#include "passes/fuse/fuse_impl.h"

typedef struct Span { /* of places, both included; empty: first > last */
  int first, last;
} Span;

struct LiveBytes {
  int places;            /* of the block's ops; the last one is its end */
  int leaves;            /* of the tree: a power of two */
  int64_t *max;          /* by node of the tree: below it, without what is added above it */
  int64_t *add;          /* by node: to all places below it */
  Span *span;            /* by value */
  int64_t limit;         /* the peak before any group formed */
  OpId *update;          /* by global: the op that makes what is stored there, or NO_ID */
  ValueId *load;         /* by global: what its load gives, or NO_ID */
  uint32_t *seen, stamp; /* by value: looked at in this change */
  ValueList changed;
};

/* ---- the tree ---- */

static void add_below(LiveBytes *w, int node, int from, int to, Span s, int64_t bytes) {
  if (s.last < from || to < s.first) return;
  if (s.first <= from && to <= s.last) {
    w->max[node] += bytes;
    w->add[node] += bytes;
    return;
  }
  int mid = from + (to - from) / 2;
  add_below(w, 2 * node, from, mid, s, bytes);
  add_below(w, 2 * node + 1, mid + 1, to, s, bytes);
  int64_t a = w->max[2 * node], b = w->max[2 * node + 1];
  w->max[node] = w->add[node] + (a > b ? a : b);
}

static void add_span(LiveBytes *w, Span s, int64_t bytes) {
  if (s.first <= s.last && bytes) add_below(w, 1, 0, w->leaves - 1, s, bytes);
}

/* ---- spans ---- */

static int place_of(const Fuse *f, const Op *op) {
  return (int)f->pos[f->unit[op->id] ? f->unit[op->id]->node : op->id];
}

/* The op of the block at hand that is or holds it; NULL: it is elsewhere. */
static const Op *in_block(const Fuse *f, const Op *op) {
  while (op && op->parent != f->block) op = op->parent->op;
  return op;
}

/* It has no place of its own: it is built where it is read. */
static bool floats(const Fuse *f, const Op *op) {
  return f->inlined[op->id] || (op->noperands == 1 && plan_is_view(f->e, op));
}

typedef struct Reader {
  const Op *op;
  bool viewed; /* it reads a view */
} Reader;
typedef VEC(Reader) ReaderList;

/* The ops of the block that read v, behind what floats. */
static void add_readers(const Fuse *f, ValueId v, bool viewed, ReaderList *out) {
  for (uint32_t i = 0; i < f->users[v].n; i++) {
    const Op *user = f->users[v].at[i], *op = in_block(f, user);
    if (!op) continue;
    if (op == user && floats(f, op))
      add_readers(f, op->results[0], true, out);
    else
      vec_push(f->a, out, ((Reader){op, viewed}));
  }
}

/* Where the bytes of v lie, behind what floats. */
static ValueId root_of(const Fuse *f, ValueId v) {
  for (const Op *op = value_def(f->e, v);
       op && op->parent == f->block && op->noperands == 1 && floats(f, op); op = value_def(f->e, v))
    v = op->operands[0];
  return v;
}

static bool is_end(const Op *op) { return op_info[op->kind].flags & OPF_TERMINATOR; }

/* The group or op gives a result of as many bytes, into memory. */
static bool gives_as_much(const Fuse *f, const Op *op, uint64_t bytes) {
  const FusionGroup *u = f->unit[op->id];
  for (uint32_t i = 0; i < (u ? u->members.n : 1); i++) {
    const Op *o = u ? u->members.at[i] : op;
    for (int k = 0; k < o->nresults; k++)
      if (value_type(f->e, o->results[k])->bytes == bytes) return true;
  }
  return false;
}

/* All that read it at its last place write over it, element by element. */
static bool is_overwritten(const Fuse *f, const ReaderList *readers, int last, uint64_t bytes) {
  bool any = false;
  for (uint32_t i = 0; i < readers->n; i++) {
    const Reader *x = &readers->at[i];
    if (x->op->kind == OP_STORE || is_end(x->op) || place_of(f, x->op) != last) continue;
    bool ok = op_info[x->op->kind].cls == CLASS_ELEMENT || x->op->kind == OP_SCAN;
    if (!ok || x->viewed || !gives_as_much(f, x->op, bytes)) return false;
    any = true;
  }
  return any;
}

static Span span_of(const Fuse *f, ValueId v) {
  const Op *def = value_def(f->e, v);
  const Span none = {0, -1};
  if (!def || def->parent != f->block || floats(f, def) || op_info[def->kind].cls == CLASS_GLOBAL)
    return none;
  ReaderList readers = {0};
  add_readers(f, v, false, &readers);
  Span s = {place_of(f, def), place_of(f, def)};
  bool stored = false, inside = readers.n > 0;
  for (uint32_t i = 0; i < readers.n; i++) {
    const Op *op = readers.at[i].op;
    if (op->kind == OP_STORE) {
      stored = true;
      inside = false;
      continue;
    }
    inside &= f->unit[op->id] && f->unit[op->id] == f->unit[def->id];
    int at = is_end(op) ? f->live->places - 1 : place_of(f, op);
    if (at > s.last) s.last = at;
  }
  if (inside || (stored && s.last == s.first)) return none; /* nowhere, or in the global */
  if (s.last > s.first && is_overwritten(f, &readers, s.last, value_type(f->e, v)->bytes)) s.last--;
  return s;
}

/* ---- a change, and back ---- */

static void look_at(Fuse *f, ValueId v) {
  LiveBytes *w = f->live;
  v = root_of(f, v);
  if (w->seen[v] == w->stamp) return;
  w->seen[v] = w->stamp;
  vec_push(f->a, &w->changed, v);
}

static void look_at_members(Fuse *f, const FusionGroup *u) {
  for (uint32_t i = 0; i < u->members.n; i++) {
    const Op *op = u->members.at[i];
    for (int k = 0; k < op->noperands; k++) look_at(f, op->operands[k]);
    for (int k = 0; k < op->nresults; k++) look_at(f, op->results[k]);
  }
}

/* The spans of what changed are those of the groups as they are now. */
static void measure(Fuse *f) {
  LiveBytes *w = f->live;
  for (uint32_t i = 0; i < w->changed.n; i++) {
    ValueId v = w->changed.at[i];
    Span s = span_of(f, v);
    if (s.first == w->span[v].first && s.last == w->span[v].last) continue;
    int64_t bytes = (int64_t)value_type(f->e, v)->bytes;
    add_span(w, w->span[v], -bytes);
    add_span(w, s, bytes);
    w->span[v] = s;
  }
}

/* Its update must stay behind all other readers of a global's old value, as far as it is. */
static bool keeps_updates(const Fuse *f, const FusionGroup *whole, const Op *op, int at) {
  const LiveBytes *w = f->live;
  int was = (int)f->pos[f->unit[op->id]->node];
  for (int k = 0; k < op->noperands; k++) {
    const Op *load = value_def(f->e, root_of(f, op->operands[k]));
    if (!load || load->kind != OP_LOAD) continue;
    OpId id = w->update[load->attr[AT_GLOBAL].i];
    const Op *update = id == NO_ID ? NULL : op_at(f->e, id);
    if (!update || update->parent != f->block || f->unit[id] == whole) continue;
    if (place_of(f, update) > was && at > place_of(f, update)) return false;
  }
  for (uint32_t g = 0; g < f->e->module->globals.n; g++) {
    if (w->update[g] != op->id || w->load[g] == NO_ID) continue;
    ReaderList readers = {0};
    add_readers(f, w->load[g], false, &readers);
    for (uint32_t i = 0; i < readers.n; i++) {
      const Op *reader = readers.at[i].op;
      if (reader->kind == OP_STORE || is_end(reader)) continue;
      int place = place_of(f, reader);
      if (place < was && at < place && (!f->unit[reader->id] || f->unit[reader->id] != whole))
        return false;
    }
  }
  return true;
}

/* May the members of u, which becomes one with `other`, run at this place? */
static bool may_run_at(const Fuse *f, const FusionGroup *u, const FusionGroup *other, int at) {
  ValueList reads = {0};
  for (uint32_t i = 0; i < u->members.n; i++) {
    const Op *op = u->members.at[i];
    plan_reads(f->a, f->e, op, &reads);
    for (uint32_t k = 0; k < reads.n; k++) {
      const Op *def = value_def(f->e, root_of(f, reads.at[k]));
      if (!def || def->parent != f->block || floats(f, def)) continue;
      if (op_info[def->kind].cls == CLASS_GLOBAL) continue;
      const FusionGroup *d = f->unit[def->id];
      if ((!d || (d != u && d != other)) && place_of(f, def) >= at) return false;
    }
    for (int k = 0; k < op->nresults; k++) {
      ReaderList readers = {0};
      add_readers(f, op->results[k], false, &readers);
      for (uint32_t j = 0; j < readers.n; j++) {
        const Op *reader = readers.at[j].op;
        if (reader->kind == OP_STORE || is_end(reader)) continue;
        const FusionGroup *d = f->unit[reader->id];
        if ((!d || (d != u && d != other)) && place_of(f, reader) <= at) return false;
      }
    }
    if (!keeps_updates(f, other, op, at)) return false;
  }
  return true;
}

/* As one at this node; stays so if the peak does not grow. */
static bool try_at(Fuse *f, FusionGroup *a, FusionGroup *b, OpId node) {
  LiveBytes *w = f->live;
  OpId was = a->node;
  uint32_t own = a->members.n;
  for (uint32_t i = 0; i < b->members.n; i++) {
    vec_push(f->a, &a->members, b->members.at[i]);
    f->unit[b->members.at[i]->id] = a;
  }
  a->node = node;
  measure(f);
  bool ok = w->max[1] <= w->limit;
  if (!ok) {
    for (uint32_t i = 0; i < b->members.n; i++) f->unit[b->members.at[i]->id] = b;
    a->node = was;
  }
  a->members.n = own;
  if (!ok) measure(f);
  return ok;
}

bool fuse_stays_within(Fuse *f, FusionGroup *a, FusionGroup *b) {
  LiveBytes *w = f->live;
  OpId later = f->pos[a->node] > f->pos[b->node] ? a->node : b->node;
  OpId earlier = later == a->node ? b->node : a->node;
  w->stamp++;
  w->changed.n = 0;
  look_at_members(f, a);
  look_at_members(f, b);
  for (int k = 0; k < 2; k++) {
    OpId node = k ? earlier : later;
    int at = (int)f->pos[node];
    if (may_run_at(f, a, b, at) && may_run_at(f, b, a, at) && try_at(f, a, b, node)) return true;
  }
  return false;
}

/* ---- the order at hand ---- */

static LiveBytes *live_bytes_new(const Fuse *f) {
  const Entry *e = f->e;
  LiveBytes *w = ARENA_NEW(f->a, LiveBytes);
  w->span = ARENA_ARRAY(f->a, Span, e->values.n + 1);
  w->seen = ARENA_ARRAY(f->a, uint32_t, e->values.n + 1);
  w->update = ARENA_ARRAY(f->a, OpId, e->module->globals.n + 1);
  w->load = ARENA_ARRAY(f->a, ValueId, e->module->globals.n + 1);
  for (uint32_t g = 0; g < e->module->globals.n; g++) {
    w->update[g] = NO_ID;
    w->load[g] = NO_ID;
  }
  for (ValueId v = 0; v < e->values.n; v++) w->span[v] = (Span){0, -1};
  return w;
}

void fuse_live_bytes(Fuse *f) {
  const Block *b = f->block;
  LiveBytes *w = f->live ? f->live : live_bytes_new(f);
  f->live = w;
  w->places = (int)b->ops.n;
  for (w->leaves = 1; w->leaves < w->places;) w->leaves *= 2;
  w->max = ARENA_ARRAY(f->a, int64_t, 2 * w->leaves);
  w->add = ARENA_ARRAY(f->a, int64_t, 2 * w->leaves);
  w->stamp++;
  w->changed.n = 0;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(f->e, b->ops.at[i]);
    for (int k = 0; k < op->nresults; k++) look_at(f, op->results[k]);
    if (op->kind == OP_LOAD) w->load[op->attr[AT_GLOBAL].i] = op->results[0];
    const Op *def = op->kind == OP_STORE ? value_def(f->e, root_of(f, op->operands[0])) : NULL;
    if (def && def->parent == b) w->update[op->attr[AT_GLOBAL].i] = def->id;
  }
  measure(f);
  w->limit = w->max[1];
}

bool fuse_floats(const Fuse *f, const Op *op) { return floats(f, op); }
