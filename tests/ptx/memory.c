/* Addresses to host memory: the launch's buffers, module variables, parameters, shared and local
 * memory. Every access is checked for bounds, rights and alignment here, then shown to check.c. A
 * failed access returns NULL and has been reported; the caller skips the lane. */
#include "exec.h"
#include <stdlib.h>

void memory_start(Exec *x) {
  const PtxModule *m = x->k->module;
  size_t n = x->l->nbufs;
  x->bufs = calloc(n + m->nvars + 1, sizeof *x->bufs);
  if (!x->bufs) give_up(x, "out of memory");
  if (n) memcpy(x->bufs, x->l->bufs, n * sizeof *x->bufs);
  for (size_t i = 0; i < m->nvars; i++) {
    const Var *v = &m->vars[i];
    if (v->space == SPACE_GLOBAL || v->space == SPACE_CONST)
      x->bufs[n++] = (PtxBuf){.base = (void *)(uintptr_t)v->address,
                              .size = v->size,
                              .rights = v->space == SPACE_CONST ? PTX_READ : PTX_RW,
                              .name = v->name};
  }
  x->nbufs = n;
  x->raced = calloc(n + 1, sizeof *x->raced);
  if (!x->raced) give_up(x, "out of memory");
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      uint64_t a = (uintptr_t)x->bufs[i].base, b = (uintptr_t)x->bufs[j].base;
      bool meet = a < b + x->bufs[j].size && b < a + x->bufs[i].size;
      x->raced[i] |= meet && x->bufs[j].rights & PTX_WRITE;
    }
}

void memory_free(Exec *x) {
  free(x->bufs);
  free(x->raced);
}

/* An address is a place and the number of an argument, if it came from one; see ptx_tagged. */
static uint64_t place_of(uint64_t address) {
  return address & (((uint64_t)1 << PTX_TAG_SHIFT) - 1);
}
static unsigned tag_of(uint64_t address) { return (unsigned)(address >> PTX_TAG_SHIFT); }

static bool inside(uint64_t address, size_t size, uint64_t base, size_t n) {
  return address >= base && size <= n && address - base <= n - size;
}

static const char *buf_name(const PtxBuf *b) { return b->name ? b->name : "unnamed"; }

static bool aligned(Warp *w, int lane, uint64_t address, size_t size) {
  if (!(address & (size - 1))) return true;
  report(w, lane, PTX_ALIGN, address, "accesses %zu bytes at an address that is not a multiple",
         size);
  return false;
}

/* ---- global ---- */
static void global_fault(Warp *w, int lane, uint64_t tagged, size_t size, Access how) {
  const Exec *x = w->x;
  const uint64_t address = place_of(tagged);
  const char *verb = how == ACCESS_READ ? "reads" : "writes";
  const PtxBuf *near = NULL;
  uint64_t best = UINT64_MAX;
  for (size_t i = 0; i < x->nbufs; i++) {
    const PtxBuf *b = &x->bufs[i];
    uint64_t lo = (uintptr_t)b->base;
    if (b->tag != tag_of(tagged) && !x->any_tag) continue;
    if (inside(address, size, lo, b->size)) {
      report(w, lane, PTX_RIGHTS, address, "%s buffer '%s', which it may not", verb, buf_name(b));
      return;
    }
    uint64_t gap = address < lo ? lo - address : address - (lo + b->size) + 1;
    if (address >= lo && address < lo + b->size) gap = 0; /* begins in it and runs over the end */
    if (gap < best) {
      best = gap;
      near = b;
    }
  }
  if (!near && tag_of(tagged)) {
    report(w, lane, PTX_BOUNDS, address, "%s by a pointer that is no argument's", verb);
  } else if (!near || best > 1 << 30) {
    report(w, lane, PTX_BOUNDS, address, "%s %zu bytes far from every buffer", verb, size);
  } else {
    int64_t off = (int64_t)(address - (uintptr_t)near->base);
    report(w, lane, PTX_BOUNDS, address, "%s %zu bytes at offset %lld of buffer '%s' of %zu bytes",
           verb, size, (long long)off, buf_name(near), near->size);
  }
}

static const PtxBuf *find_buf(Exec *x, uint64_t tagged, size_t size, unsigned rights) {
  const uint64_t address = place_of(tagged);
  const unsigned tag = tag_of(tagged);
  for (size_t n = 0; n < x->nbufs; n++) {
    size_t i = x->last_buf + n < x->nbufs ? x->last_buf + n : x->last_buf + n - x->nbufs;
    const PtxBuf *b = &x->bufs[i];
    if ((b->tag == tag || x->any_tag) && (b->rights & rights) == rights &&
        inside(address, size, (uintptr_t)b->base, b->size)) {
      x->last_buf = i;
      return b;
    }
  }
  return NULL;
}

/* Whole bytes of the map where they can be. */
static bool init_bits(uint8_t *map, size_t from, size_t n, bool set) {
  bool all = true;
  for (size_t i = from; i < from + n;) {
    if (!(i & 7) && from + n - i >= 8) {
      if (set) map[i / 8] = 255;
      all &= map[i / 8] == 255;
      i += 8;
    } else {
      if (set) map[i / 8] |= (uint8_t)(1u << (i & 7));
      all &= map[i / 8] >> (i & 7) & 1;
      i++;
    }
  }
  return all;
}

static bool unchanged(const char *at, const void *value, size_t size) {
  return value && !memcmp(at, value, size);
}

static char *global_access(Warp *w, int lane, uint64_t tagged, size_t size, Access how,
                           const void *value) {
  Exec *x = w->x;
  const uint64_t address = place_of(tagged);
  unsigned rights = how == ACCESS_READ ? PTX_READ : how == ACCESS_WRITE ? PTX_WRITE : PTX_RW;
  if (!aligned(w, lane, address, size)) return NULL;
  if (!(w->grid_waited >> lane & 1))
    report(w, lane, PTX_GRID, address, "%s global memory in front of griddepcontrol.wait",
           how == ACCESS_READ ? "reads" : "writes");
  const PtxBuf *b = find_buf(x, tagged, size, rights);
  if (!b) {
    global_fault(w, lane, tagged, size, how);
    return NULL;
  }
  char *at = (char *)(uintptr_t)address;
  if (b->init) {
    size_t off = (size_t)(address - (uintptr_t)b->base);
    bool ok = init_bits(b->init, b->init_at + off, size, how != ACCESS_READ);
    if (!ok && x->check.init && !x->copied)
      report(w, lane, PTX_UNINIT, address, "reads offset %zu of buffer '%s', which nobody wrote",
             off, buf_name(b));
  }
  if (x->check.race && x->raced[b - x->bufs])
    check_global(w, lane, address, size, how, how == ACCESS_WRITE && unchanged(at, value, size));
  return at;
}

void memory_prefetch(Warp *w, int lane, uint64_t tagged) {
  if (!find_buf(w->x, tagged, 1, PTX_READ)) global_fault(w, lane, tagged, 1, ACCESS_READ);
}

const char *memory_quiet(Exec *x, uint64_t tagged, size_t size) {
  enum { MOST = 4096 }; /* of a map of written bytes */
  const PtxBuf *b = find_buf(x, tagged, size, PTX_READ);
  if (!b || (x->check.race && x->raced[b - x->bufs])) return NULL;
  const uint64_t address = place_of(tagged);
  const size_t off = (size_t)(address - (uintptr_t)b->base);
  if (b->init && (size > MOST || !init_bits(b->init, b->init_at + off, size, false))) return NULL;
  return (const char *)(uintptr_t)address;
}

/* ---- shared ---- */
char *memory_shared(Warp *w, int lane, uint64_t *tagged, size_t size, int *cta) {
  Exec *x = w->x;
  uint64_t rank = *tagged >> SHARED_RANK_SHIFT, address = *tagged & SHARED_RANK_MASK;
  *tagged = address;
  *cta = rank ? (int)rank - 1 : w->cta;
  if (rank > (uint64_t)x->nctas) {
    report(w, lane, PTX_BOUNDS, address,
           "accesses shared memory of a CTA that is not in the cluster");
    return NULL;
  }
  const Cta *c = &x->ctas[*cta];
  if (*cta != w->cta && !cta_runs(x, *cta)) {
    report(w, lane, PTX_CLUSTER, address, "accesses shared memory of a CTA that has ended");
    return NULL;
  }
  if (inside(address, size, x->k->dynamic_at, x->l->dynamic_shared))
    return c->shared_dynamic + (address - x->k->dynamic_at);
  for (size_t i = 0; i < x->k->nshared_ranges; i++) {
    const Range *r = &x->k->shared_ranges[i];
    if (inside(address, size, r->lo, (size_t)(r->hi - r->lo))) return c->shared_static + address;
  }
  report(w, lane, PTX_BOUNDS, address, "accesses %zu bytes outside of every shared variable", size);
  return NULL;
}

const char *memory_shared_reads(Warp *w, uint32_t mask, const uint64_t *address, uint64_t lo,
                                uint64_t hi, size_t size) {
  const Exec *x = w->x;
  const Cta *c = &x->ctas[w->cta];
  const char *base = NULL;
  if (hi > SHARED_RANK_MASK) return NULL;
  const size_t n = (size_t)(hi - lo) + size;
  if (inside(lo, n, x->k->dynamic_at, x->l->dynamic_shared))
    base = c->shared_dynamic + (lo - x->k->dynamic_at);
  for (size_t i = 0; i < x->k->nshared_ranges && !base; i++) {
    const Range *r = &x->k->shared_ranges[i];
    if (inside(lo, n, r->lo, (size_t)(r->hi - r->lo))) base = c->shared_static + lo;
  }
  if (base) check_shared_reads(w, mask, address, size);
  return base;
}

static char *shared_access(Warp *w, int lane, uint64_t address, size_t size, Access how,
                           const void *value) {
  if (!aligned(w, lane, address, size)) return NULL;
  int cta;
  char *at = memory_shared(w, lane, &address, size, &cta);
  if (at)
    check_shared(w, lane, cta, address, size, how,
                 how == ACCESS_WRITE && unchanged(at, value, size));
  return at;
}

/* ---- local and parameters ---- */
static char *local_access(Warp *w, int lane, uint64_t address, size_t size, Access how,
                          const void *value, bool *defined) {
  size_t n = w->x->k->local;
  if (!aligned(w, lane, address, size)) return NULL;
  if (!inside(address, size, 0, n)) {
    report(w, lane, PTX_BOUNDS, address, "accesses %zu bytes outside of its %zu of local memory",
           size, n);
    return NULL;
  }
  if (how == ACCESS_ATOMIC || size > sizeof w->passing) {
    report(w, lane, PTX_RIGHTS, address, "local memory has no atomics");
    return NULL;
  }
  if (how == ACCESS_READ) {
    const bool known = local_read(w, lane, address, size, w->passing);
    if (defined) *defined &= known;
  } else {
    local_write(w, lane, address, size, value, !defined || *defined);
  }
  return w->passing;
}

static char *param_access(Warp *w, int lane, uint64_t address, size_t size, Access how) {
  const Exec *x = w->x;
  if (!aligned(w, lane, address, size)) return NULL;
  if (how != ACCESS_READ) {
    report(w, lane, PTX_RIGHTS, address, "writes a parameter");
    return NULL;
  }
  if (!inside(address, size, 0, x->k->params_size)) {
    report(w, lane, PTX_BOUNDS, address, "reads outside of the parameters");
    return NULL;
  }
  return (char *)x->params + address;
}

char *memory_access(Warp *w, int lane, Space space, uint64_t address, size_t size, Access how,
                    const void *value, bool *defined) {
  if (space == SPACE_GENERIC) {
    static const Space window[] = {
        [WINDOW_SHARED] = SPACE_SHARED, [WINDOW_LOCAL] = SPACE_LOCAL, [WINDOW_PARAM] = SPACE_PARAM};
    uint64_t top = address >> WINDOW_SHIFT;
    space = SPACE_GLOBAL;
    if (top >= WINDOW_SHARED && top <= WINDOW_PARAM) {
      space = window[top];
      address &= ((uint64_t)1 << WINDOW_SHIFT) - 1;
    }
  }
  switch (space) {
  case SPACE_SHARED: return shared_access(w, lane, address, size, how, value);
  case SPACE_LOCAL: return local_access(w, lane, address, size, how, value, defined);
  case SPACE_PARAM:
    if (address >= CALL_PARAMS)
      return local_access(w, lane, address - CALL_PARAMS, size, how, value, defined);
    return param_access(w, lane, address, size, how);
  case SPACE_GENERIC:
  case SPACE_GLOBAL:
  case SPACE_CONST: break;
  }
  return global_access(w, lane, address, size, how, value);
}

/* ---- bulk copies ---- */
char *memory_place(uint64_t tagged) { return (char *)(uintptr_t)place_of(tagged); }

bool memory_bulk(Warp *w, int lane, uint64_t address, size_t size, Access how) {
  bool ok = true;
  w->x->any_tag = !tag_of(address);
  w->x->copied = true;
  for (size_t at = 0, n; ok && at < size; at += n) { /* in powers of two, as they are aligned */
    n = 16;
    while ((address + at) & (n - 1) || at + n > size) n /= 2;
    ok = global_access(w, lane, address + at, n, how, NULL);
  }
  w->x->any_tag = w->x->copied = false;
  return ok;
}

bool memory_byte_written(Exec *x, uint64_t address) {
  x->any_tag = !tag_of(address);
  const PtxBuf *b = find_buf(x, address, 1, PTX_READ);
  x->any_tag = false;
  if (!b || !b->init || !x->check.init) return true;
  return init_bits(b->init, b->init_at + (size_t)(place_of(address) - (uintptr_t)b->base), 1,
                   false);
}

/* ---- cp.async: lands at the wait, the last moment that the model allows ---- */
void memory_async(Warp *w, int lane, uint64_t shared, uint64_t global, uint32_t size,
                  uint32_t fill) {
  int cta;
  if (!aligned(w, lane, shared, fill) || !memory_shared(w, lane, &shared, fill, &cta)) return;
  const char *from = NULL;
  if (size) {
    if (global & (fill - 1)) {
      report(w, lane, PTX_ALIGN, global,
             "cp.async of %u bytes from an address that is not a multiple", fill);
      return;
    }
    /* A short copy reads only `size` bytes; they are looked at in powers of two. */
    for (uint32_t at = 0, n; at < size; at += n) {
      n = 1;
      while (!(at & n) && at + 2 * n <= size && n < 16) n *= 2;
      const char *p = global_access(w, lane, global + at, n, ACCESS_READ, NULL);
      if (!p) return;
      if (!at) from = p;
    }
  }
  check_async(w, lane, cta, shared, fill, false);
  if (w->ncopies == w->copies_cap) {
    size_t cap = w->copies_cap ? 2 * w->copies_cap : 256;
    AsyncCopy *c = cap > 1 << 22 ? NULL : realloc(w->copies, cap * sizeof *c);
    if (!c) give_up(w->x, "too many cp.async are never waited for");
    w->copies = c;
    w->copies_cap = cap;
  }
  w->copies[w->ncopies++] = (AsyncCopy){shared, from, size, fill, w->copy_group[lane], lane};
}

void memory_async_wait(Warp *w, uint32_t mask, uint32_t pending) {
  size_t kept = 0;
  for (size_t i = 0; i < w->ncopies; i++) {
    AsyncCopy c = w->copies[i];
    uint32_t committed = w->copy_group[c.lane];
    if (!(mask >> c.lane & 1) || (uint64_t)c.group + pending >= committed) {
      w->copies[kept++] = c;
      continue;
    }
    int cta;
    char *to = memory_shared(w, c.lane, &c.shared, c.fill, &cta);
    if (c.size) memcpy(to, c.from, c.size);
    memset(to + c.size, 0, c.fill - c.size);
    check_async(w, c.lane, cta, c.shared, c.fill, true);
  }
  w->ncopies = kept;
}
