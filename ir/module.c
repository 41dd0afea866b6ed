/* Modules, entries and globals: making them and finding globals by path.
   Contract: all memory is the module's arena; a global's index never changes.
   Up to 64 globals are searched one by one, more through an open-addressing hash table. */
#include "ir.h"
#include "ir/support/ctx_impl.h"

enum { LINEAR_GLOBALS = 64 };

struct GlobalTable {
  uint32_t size;    /* a power of two, at least twice the globals in it */
  uint32_t *slot;   /* index of a global plus 1; 0: free */
  uint32_t entered; /* globals that are in the table: the first ones */
};

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

static uint32_t *table_slot(const Module *m, struct GlobalTable *t, const char *path) {
  uint32_t i = hash_bytes(path, strlen(path)) & (t->size - 1);
  while (t->slot[i] && strcmp(m->globals.at[t->slot[i] - 1].path, path) != 0)
    i = (i + 1) & (t->size - 1);
  return &t->slot[i];
}

static void table_extend(Module *m) {
  struct GlobalTable *t = m->lookup;
  if (!t) t = m->lookup = ARENA_NEW(m->arena, struct GlobalTable);
  if (m->globals.n * 2 > t->size) {
    t->size = t->size ? t->size * 2 : LINEAR_GLOBALS * 4;
    while (m->globals.n * 2 > t->size) t->size *= 2;
    t->slot = ARENA_ARRAY(m->arena, uint32_t, t->size);
    t->entered = 0;
  }
  for (; t->entered < m->globals.n; t->entered++) {
    uint32_t *slot = table_slot(m, t, m->globals.at[t->entered].path);
    if (!*slot) *slot = t->entered + 1;
  }
}

int module_find_global(const Module *m, const char *path) {
  if (m->lookup && m->lookup->entered == m->globals.n)
    return (int)*table_slot(m, m->lookup, path) - 1;
  for (uint32_t i = 0; i < m->globals.n; i++)
    if (strcmp(m->globals.at[i].path, path) == 0) return (int)i;
  return -1;
}

int module_add_global(Module *m, Global g) {
  vec_push(m->arena, &m->globals, g);
  if (m->globals.n > LINEAR_GLOBALS) table_extend(m);
  return (int)m->globals.n - 1;
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

ValueId entry_add_input(Entry *e, const char *name, const Type *t) {
  name = name ? intern(e->module->ctx, name) : NULL;
  return block_add_arg(e, e->body, (Value){.type = t, .name = name});
}
