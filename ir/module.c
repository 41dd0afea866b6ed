/* Modules, entries and globals: making them and finding globals by path.
   Contract: all memory is the module's arena; a global's index never changes; of two globals of one
   path, which the verifier rejects, the first is found. */
#include "ir.h"

Module *module_new(Ctx *c, const char *source) {
  Arena *a = arena_new();
  Module *m = ARENA_NEW(a, Module);
  m->ctx = c;
  m->arena = a;
  m->source = intern(c, source);
  return m;
}

void module_free(Module *m) {
  if (m) arena_free(m->arena);
}

int module_find_global(const Module *m, const char *path) {
  uint32_t i;
  return map_get(&m->by_path, intern(m->ctx, path), &i) ? (int)i : -1;
}

int module_add_global(Module *m, Global g) {
  uint32_t first;
  g.path = intern(m->ctx, g.path);
  if (!map_get(&m->by_path, g.path, &first)) map_put(m->arena, &m->by_path, g.path, m->globals.n);
  vec_push(m->arena, &m->globals, g);
  return (int)m->globals.n - 1;
}

void module_keep_globals(Module *m, uint32_t n) {
  m->globals.n = n;
  m->by_path = (Map){0};
  for (uint32_t i = n; i-- > 0;) map_put(m->arena, &m->by_path, m->globals.at[i].path, i);
}

bool global_is_copy(const Global *g, const Global *master) {
  const Type *of = master->whole ? master->whole : master->type;
  const bool kind = master->kind == GLOBAL_PARAM || (master->kind == GLOBAL_STATE && master->whole);
  return g->kind == GLOBAL_PARAM && kind && !master->master && type_same_dims(g->type, of) &&
         dtype_is_float(of->dtype) && dtype_is_float(g->type->dtype) &&
         (master->whole || g->type->dtype != of->dtype);
}

int global_gathered(const Module *m, int global) {
  const char *path = m->globals.at[global].master;
  int master = path ? module_find_global(m, path) : -1;
  return master >= 0 && m->globals.at[master].whole ? master : -1;
}

bool entry_reads_gathered(const Entry *e) {
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    if (op->kind == OP_LOAD && global_gathered(e->module, (int)op->attr[AT_GLOBAL].i) >= 0)
      return true;
  }
  return false;
}

bool hyper_is_type(const Type *t) {
  return t->rank == 0 && (t->dtype == DT_F32 || t->dtype == DT_I32 || t->dtype == DT_BOOL);
}

bool hyper_holds(const Type *t, double value) {
  if (t->dtype == DT_F32) return true;
  if (t->dtype == DT_BOOL) return value == 0 || value == 1;
  return value >= INT32_MIN && value <= INT32_MAX && value == (int32_t)value;
}

Entry *entry_new(Module *m, const char *name, Loc loc) {
  Entry *e = ARENA_NEW(m->arena, Entry);
  e->module = m;
  e->name = intern(m->ctx, name);
  e->loc = loc;
  e->body = ARENA_NEW(m->arena, Block);
  return e;
}

ValueId block_add_arg(Entry *e, Block *b, Value like) {
  Value v = {.type = like.type,
             .name = like.name,
             .layout = like.layout,
             .def = NO_ID,
             .index = b->args.n,
             .block = b};
  vec_push(e->module->arena, &e->values, v);
  vec_push(e->module->arena, &b->args, e->values.n - 1);
  return e->values.n - 1;
}

const char *entry_ahead_name(const Entry *e) {
  return intern_printf(e->module->ctx, "%s.ahead", e->name);
}

ValueId entry_add_input(Entry *e, const char *name, const Type *t) {
  name = name ? intern(e->module->ctx, name) : NULL;
  return block_add_arg(e, e->body, (Value){.type = t, .name = name});
}

int entry_extents(const Entry *e, const Extent *out[ENTRY_EXTENTS]) {
  int n = 0;
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    for (int k = 0; k < t->rank; k++) {
      const Extent *x = type_extent(t, k);
      int at = 0;
      if (x && x->whole) x = axis_extent(e->module->ctx, x->whole);
      while (at < n && out[at] != x) at++;
      if (x && x->nfactors == 1 && !x->whole && at == n && n < ENTRY_EXTENTS) out[n++] = x;
    }
  }
  return n;
}

const Extent *scan_extent(const Entry *e, const Op *scan) {
  const Extent *all[ENTRY_EXTENTS];
  int n = scan->attr[AT_EXTENT].str ? entry_extents(e, all) : 0;
  for (int i = 0; i < n; i++)
    if (all[i]->name == scan->attr[AT_EXTENT].str) return all[i];
  return NULL;
}

int64_t scan_axis(const Entry *e, const Op *scan) {
  const Extent *x = scan_extent(e, scan);
  return x ? axis_of_extent(x, scan_trips(scan) / x->bound) : scan_trips(scan);
}

bool entry_has_extent(const Entry *e, const Extent *x) {
  for (int i = 0; i < x->nfactors; i++) {
    const Extent *f = x->factor[i];
    if (f->whole ? !entry_has_extent(e, axis_extent(e->module->ctx, f->whole))
                 : entry_extent(e, f) < 0)
      return false;
  }
  return true;
}

int entry_extent(const Entry *e, const Extent *x) {
  const Extent *all[ENTRY_EXTENTS];
  int n = entry_extents(e, all);
  for (int i = 0; i < n; i++)
    if (all[i] == x) return i;
  return -1;
}

/* Of inputs it is first axes alone, and no sum or multiple, of which a row of a file would be a
   part. */
static bool is_first_axis_alone(const Entry *e, const Extent *x) {
  for (uint32_t i = 0; i < entry_inputs(e); i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    for (int k = 0; k < t->rank; k++) {
      const Extent *y = type_extent(t, k);
      bool sum = y && y->whole;
      if (sum) y = axis_extent(e->module->ctx, y->whole);
      if (y == x && (k > 0 || sum || axis_multiple(type_axis(t, k)) > 1)) return false;
    }
  }
  return true;
}

const Extent *entry_batch(const Entry *e) {
  for (uint32_t i = 0; i < entry_inputs(e); i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    const Extent *x = t->rank ? type_extent(t, 0) : NULL;
    if (x && !x->whole && is_first_axis_alone(e, x)) return x;
  }
  return NULL;
}
