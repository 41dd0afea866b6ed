/* Memory and names of a module, and the public questions about it.
 * Pool memory is zeroed and lives until ptx_module_free; passing the limit jumps to the parser's
 * error. Names are chained hash tables, one a scope, searched from the inside out. */
#include "module.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct PoolChunk {
  PoolChunk *next;
  char *at;
  _Alignas(64) char data[];
};
enum { CHUNK_BYTES = 1 << 16 };

void *pool_alloc(Pool *p, size_t size) {
  if (size > p->limit || p->total > p->limit - size) longjmp(*p->full, 1);
  size = (size + 63) & ~(size_t)63;
  if (size > p->left) {
    size_t bytes = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    PoolChunk *c = aligned_alloc(64, (sizeof *c + bytes + 63) & ~(size_t)63);
    if (!c) longjmp(*p->full, 1);
    memset(c, 0, sizeof *c + bytes);
    c->next = p->chunks;
    c->at = c->data;
    p->chunks = c;
    p->left = bytes;
    p->total += bytes;
  }
  void *r = p->chunks->at;
  p->chunks->at += size;
  p->left -= size;
  return r;
}

void *pool_grow(Pool *p, void *old, size_t old_count, size_t new_count, size_t item) {
  if (new_count > p->limit / item) longjmp(*p->full, 1);
  void *r = pool_alloc(p, new_count * item);
  if (old_count) memcpy(r, old, old_count * item);
  return r;
}

char *pool_text(Pool *p, const char *text, size_t size) {
  char *r = pool_alloc(p, size + 1);
  memcpy(r, text, size);
  return r;
}

void pool_free(Pool *p) {
  for (PoolChunk *c = p->chunks, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  p->chunks = NULL;
}

/* ---- names ---- */
Names *names_open(Pool *p, Names *outer) {
  Names *n = pool_alloc(p, sizeof *n);
  n->outer = outer;
  return n;
}

static size_t name_hash(const char *text, size_t size) { /* FNV-1a */
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < size; i++) h = (h ^ (unsigned char)text[i]) * 16777619u;
  return h % NAME_BUCKETS;
}

Name *names_find(const Names *n, const char *text, size_t size) {
  size_t h = name_hash(text, size);
  for (; n; n = n->outer) {
    if (!n->bucket) continue;
    for (Name *e = n->bucket[h]; e; e = e->next)
      if (e->size == size && !memcmp(e->text, text, size)) return e;
  }
  return NULL;
}

Name *names_add(Pool *p, Names *n, const char *text, size_t size) {
  if (!n->bucket) n->bucket = pool_alloc(p, NAME_BUCKETS * sizeof *n->bucket);
  Names only = {n->bucket, NULL};
  if (names_find(&only, text, size)) return NULL;
  Name *e = pool_alloc(p, sizeof *e);
  e->text = pool_text(p, text, size);
  e->size = size;
  size_t h = name_hash(text, size);
  e->next = n->bucket[h];
  n->bucket[h] = e;
  return e;
}

/* ---- types ---- */
const TypeRow type_rows[TYPE_COUNT] = {
#define TYPE(name, bytes, kind) [TYPE_##name] = {#name, bytes, kind},
#include "types.def"
#undef TYPE
};
const char *type_name(Type t) { return type_rows[t].name; }

Type type_find(const char *text, size_t size) {
  for (int t = TYPE_NONE + 1; t < TYPE_COUNT; t++)
    if (strlen(type_rows[t].name) == size && !memcmp(type_rows[t].name, text, size)) return (Type)t;
  return TYPE_NONE;
}

/* ---- the public side ---- */
static bool parse_all(Parser *p, const char *text, size_t size) {
  p->m->pool.full = &p->fail;
  if (setjmp(p->fail)) return false;
  lex_start(&p->lx, text, size);
  parse_module(p);
  return true;
}

static bool is_zeros(const Var *v) {
  const char *at = (const char *)(uintptr_t)v->address;
  for (size_t i = 0; i < v->size; i++)
    if (at[i]) return false;
  return true;
}

const char *ptx_kernel_leaves(const PtxKernel *k) {
  const char *left = NULL;
  for (size_t i = 0; i < k->module->nvars; i++) {
    const Var *v = &k->module->vars[i];
    if (!v->zeros || is_zeros(v)) continue;
    left = v->name;
    memset((void *)(uintptr_t)v->address, 0, v->size);
  }
  return left;
}

PtxModule *ptx_module_load(const char *text, size_t size, char *err, size_t err_size) {
  PtxModule *m = calloc(1, sizeof *m);
  if (!m) {
    if (err_size) snprintf(err, err_size, "out of memory");
    return NULL;
  }
  /* What a text of this size can need: about half a KiB an instruction, and its tables. */
  m->pool.limit = ((size_t)64 << 20) + size * 64;
  Parser p = {.m = m};
  if (parse_all(&p, text, size)) {
    for (size_t i = 0; i < m->nvars; i++)
      m->vars[i].zeros = m->vars[i].space == SPACE_GLOBAL && is_zeros(&m->vars[i]);
    return m;
  }
  if (err_size)
    snprintf(err, err_size, "%s", m->error[0] ? m->error : "the text asks for too much memory");
  ptx_module_free(m);
  return NULL;
}

void ptx_module_free(PtxModule *m) {
  if (!m) return;
  pool_free(&m->pool);
  free(m);
}

size_t ptx_module_kernels(const PtxModule *m) { return m->nkernels; }
const PtxKernel *ptx_module_kernel(const PtxModule *m, size_t i) { return m->kernels[i]; }

const PtxKernel *ptx_module_find(const PtxModule *m, const char *name) {
  for (size_t i = 0; i < m->nkernels; i++)
    if (!strcmp(m->kernels[i]->name, name)) return m->kernels[i];
  return NULL;
}

void *ptx_module_global(PtxModule *m, const char *name, size_t *size) {
  for (size_t i = 0; i < m->nvars; i++) {
    const Var *v = &m->vars[i];
    if ((v->space == SPACE_GLOBAL || v->space == SPACE_CONST) && !strcmp(v->name, name)) {
      if (size) *size = v->size;
      return (void *)(uintptr_t)v->address;
    }
  }
  return NULL;
}

const char *ptx_kernel_name(const PtxKernel *k) { return k->name; }
size_t ptx_kernel_params(const PtxKernel *k) { return k->nparams; }
PtxParam ptx_kernel_param(const PtxKernel *k, size_t i) { return k->params[i]; }
size_t ptx_kernel_params_size(const PtxKernel *k) { return k->params_size; }
size_t ptx_kernel_static_shared(const PtxKernel *k) { return k->shared_used; }
size_t ptx_kernel_local(const PtxKernel *k) { return k->local; }
int ptx_kernel_approximate(const PtxKernel *k) { return k->approximate; }
bool ptx_kernel_waits(const PtxKernel *k) { return k->grid_control; }
unsigned ptx_kernel_max_threads(const PtxKernel *k) { return k->max_threads; }

const char *ptx_kind_name(PtxKind kind) {
  static const char *const names[PTX_KIND_COUNT] = {
#define FINDING(id, text) [PTX_##id] = text,
#include "findings.def"
#undef FINDING
  };
  return kind < PTX_KIND_COUNT ? names[kind] : "?";
}
