/* Loads, stores, atomics, cp.async and ldmatrix.
 * Lanes are served one by one, lowest first, as memory.c checks each. What a lane stores must be
 * defined; what it loads is, unless it is local memory that it never wrote. */
#include "exec.h"
#include "exec_ops.h"
#include "half.h"

static uint64_t address_of(const Warp *w, const Opd *o, uint32_t lane) {
  return lane_bits(w, o, (int)lane) + (uint64_t)o->offset;
}

static uint64_t widen(uint64_t v, Type t) {
  if (!type_signed(t)) return v;
  unsigned shift = 64 - 8 * type_bytes(t);
  return (uint64_t)((int64_t)(v << shift) >> shift);
}

/* What nearly all loads are: whole 32-bit registers. */
static void put_words(Warp *w, const Ins *i, uint32_t lane, const char *at) {
  for (int v = 0; v < i->vec; v++)
    if (i->opd[v].cls != SLOT_NONE) memcpy(&slot32(w, &i->opd[v])[lane], at + 4 * v, 4);
}

static uint64_t read_bits(const char *at, size_t n) {
  uint64_t bits = 0;
  switch (n) {
  case 1: return (uint8_t)*at;
  case 2: memcpy(&bits, at, 2); break;
  case 4: memcpy(&bits, at, 4); break;
  default: memcpy(&bits, at, 8); break;
  }
  return bits;
}

static bool whole_words(const Ins *i) {
  for (int v = 0; v < i->vec; v++)
    if (i->opd[v].cls == SLOT_64) return false;
  return type_bytes((Type)i->type) == 4;
}

/* Where lanes of one load of shared or global memory have read before, by address. */
enum { PLACES = 32 }; /* a power of two */
typedef struct Places {
  uint64_t address[PLACES];
  const char *at[PLACES];
  uint8_t readers[PLACES]; /* 0: nothing is kept here */
} Places;

/* As memory_access; a third lane at the same address is not looked at: two lanes of a warp stand
 * for all, since whoever may not write beside a third lane may not beside one of the two. */
static const char *read_place(Warp *w, const Ins *i, Places *p, uint32_t lane, uint64_t address,
                              size_t size, bool *defined) {
  Space space = (Space)i->space;
  size_t n = address >> __builtin_ctzll(size) & (PLACES - 1);
  bool known = p->readers[n] && p->address[n] == address;
  if (known && p->readers[n] > 1) return p->at[n];
  const char *at = memory_access(w, (int)lane, space, address, size, ACCESS_READ, NULL, defined);
  if (at && (space == SPACE_SHARED || space == SPACE_GLOBAL)) {
    p->address[n] = address;
    p->at[n] = at;
    p->readers[n] = known ? 2 : 1;
  }
  return at;
}

/* Addresses of lanes beside that of the first active one, which inactive lanes have, too. */
typedef struct Near {
  uint64_t from[LANES];
  int32_t at[LANES], least, most; /* from one of them, the first; the least and the most of all */
  uint64_t first;
  bool in_row; /* they follow each other, and all lanes are active */
} Near;

/* false: they are too far apart, or not multiples of the size. */
static bool near_lanes(const Warp *w, const Opd *o, uint32_t mask, size_t size, Near *n) {
  if (o->cls == SLOT_64)
    for (int l = 0; l < LANES; l++) n->from[l] = slot64(w, o)[l] + (uint64_t)o->offset;
  else if (o->cls == SLOT_32)
    for (int l = 0; l < LANES; l++) n->from[l] = slot32(w, o)[l] + (uint64_t)o->offset;
  else
    return false;
  const uint64_t first = n->first = n->from[__builtin_ctz(mask)];
  if (mask != ~0u)
    for (int l = 0; l < LANES; l++) n->from[l] = mask >> l & 1 ? n->from[l] : first;
  uint64_t far = 0;
  int32_t low = (int32_t)first, least = 0, most = 0, other = 0;
  for (int l = 0; l < LANES; l++) {
    far |= (n->from[l] - first + ((uint64_t)1 << 30)) >> 31;
    n->at[l] = (int32_t)(n->from[l] - first);
  }
  for (int l = 0; l < LANES; l++) {
    const int32_t v = n->at[l];
    low |= v;
    least = v < least ? v : least;
    most = v > most ? v : most;
    other |= v ^ l * (int32_t)size;
  }
  n->least = least, n->most = most;
  n->in_row = !other && mask == ~0u;
  return !far && !(low & (int32_t)(size - 1));
}

/* A load of which all lanes' bytes lie together, of global memory with nothing to check or of
 * shared memory; false: nothing was loaded. */
static bool load_together(Warp *w, const Ins *i, uint32_t mask, size_t n, bool words) {
  const size_t size = n * i->vec;
  Near near;
  if (!near_lanes(w, &i->opd[i->vec], mask, size, &near)) return false;
  const uint64_t lo = near.first + (uint64_t)near.least, hi = near.first + (uint64_t)near.most;
  const char *base = i->space != SPACE_GLOBAL
                         ? memory_shared_reads(w, mask, near.from, lo, hi, size)
                     : mask & ~w->grid_waited ? NULL
                                              : memory_quiet(w->x, lo, hi - lo + size);
  if (!base) return false;
  base -= near.least;
  for (int v = 0; v < i->vec; v++, base += n) {
    const Opd *d = &i->opd[v];
    if (d->cls == SLOT_NONE) continue;
    if (!words) {
      FOR_LANES(l, mask) {
        lane_set(w, d, (int)l, widen(read_bits(base + near.at[l], n), (Type)i->type));
      }
    } else if (near.in_row && i->vec == 1) {
      memcpy(slot32(w, d), base, 4 * LANES);
    } else {
      uint32_t *to = slot32(w, d), bits[LANES];
      memcpy(&bits[0], base, 4);
      if (near.least == near.most)
        for (int l = 1; l < LANES; l++) bits[l] = bits[0];
      else
        for (int l = 0; l < LANES; l++) memcpy(&bits[l], base + near.at[l], 4);
      if (mask == ~0u)
        memcpy(to, bits, sizeof bits);
      else
        for (int l = 0; l < LANES; l++) to[l] = mask >> l & 1 ? bits[l] : to[l];
    }
    opd_define(w, d, mask, ~0u);
  }
  return true;
}

void exec_ld(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *addr = &i->opd[i->vec];
  Type t = (Type)i->type;
  size_t n = type_bytes(t);
  uint32_t ok = 0;
  bool words = whole_words(i);
  Places places;
  need_defined(w, addr, mask, "an address");
  count_access(w, addr, mask, (Space)i->space, n * i->vec);
  const bool one = i->space == SPACE_GLOBAL || i->space == SPACE_SHARED;
  if (one && load_together(w, i, mask, n, words)) return;
  if (i->space == SPACE_LOCAL && words && local_load(w, i, mask)) return;
  memset(places.readers, 0, sizeof places.readers);
  w->x->read_only = i->mode == 1;
  FOR_LANES(l, mask) {
    bool defined = true;
    const char *at = read_place(w, i, &places, l, address_of(w, addr, l), n * i->vec, &defined);
    if (!at) continue;
    ok |= (uint32_t)defined << l;
    if (words) {
      put_words(w, i, l, at);
      continue;
    }
    for (int v = 0; v < i->vec; v++)
      lane_set(w, &i->opd[v], (int)l, widen(read_bits(at + n * (size_t)v, n), t));
  }
  w->x->read_only = false;
  for (int v = 0; v < i->vec; v++) opd_define(w, &i->opd[v], mask, ok);
}

void exec_st(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *addr = &i->opd[0];
  size_t n = type_bytes((Type)i->type);
  need_defined(w, addr, mask, "an address");
  uint32_t ok = ~0u;
  count_access(w, addr, mask, (Space)i->space, n * i->vec);
  for (int v = 0; v < i->vec; v++) {
    if (i->space != SPACE_LOCAL) need_defined(w, &i->opd[1 + v], mask, "a stored value");
    ok &= opd_defined(w, &i->opd[1 + v]);
  }
  bool words = n == 4;
  for (int v = 0; v < i->vec; v++) words &= i->opd[1 + v].cls == SLOT_32;
  if (words && i->space == SPACE_LOCAL && local_store(w, i, mask, ok)) return;
  FOR_LANES(l, mask) {
    char value[64];
    bool known = ok >> l & 1;
    for (int v = 0; v < i->vec; v++) {
      const Opd *o = &i->opd[1 + v];
      uint64_t bits = words ? slot32(w, o)[l] : lane_bits(w, o, (int)l);
      if (words)
        memcpy(value + 4 * (size_t)v, &bits, 4);
      else
        memcpy(value + n * (size_t)v, &bits, n);
    }
    char *at = memory_access(w, (int)l, (Space)i->space, address_of(w, addr, l), n * i->vec,
                             ACCESS_WRITE, value, &known);
    if (at) memcpy(at, value, n * i->vec);
  }
}

/* ---- atomics ---- */
static uint64_t atom_int(AtomOp op, Type t, uint64_t old, uint64_t b, uint64_t c) {
  bool less = type_signed(t) ? (int64_t)widen(old, t) < (int64_t)widen(b, t) : old < b;
  switch (op) {
  case ATOM_ADD: return old + b;
  case ATOM_MIN: return less ? old : b;
  case ATOM_MAX: return less ? b : old;
  case ATOM_AND: return old & b;
  case ATOM_OR: return old | b;
  case ATOM_XOR: return old ^ b;
  case ATOM_EXCH: return b;
  case ATOM_CAS: return old == b ? c : old;
  case ATOM_INC: return old >= b ? 0 : old + 1;
  case ATOM_DEC: return old == 0 || old > b ? b : old - 1;
  }
  return old;
}

static uint64_t atom_value(const Ins *i, uint64_t old, uint64_t b, uint64_t c) {
  uint64_t r = 0;
  if (i->mode == ATOM_ADD && i->type == TYPE_f32) {
    float x, y;
    memcpy(&x, &old, 4);
    memcpy(&y, &b, 4);
    r = canonical_f32(x + y);
    return r;
  }
  if (i->mode == ATOM_ADD && i->type == TYPE_f64) {
    double x, y;
    memcpy(&x, &old, 8);
    memcpy(&y, &b, 8);
    x += y;
    memcpy(&r, &x, 8);
    return r;
  }
  return atom_int((AtomOp)i->mode, (Type)i->type, old, b, c);
}

void exec_atom(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *addr = &i->opd[i->mode2], *b = addr + 1, *c = i->mode == ATOM_CAS ? b + 1 : b;
  size_t n = type_bytes((Type)i->type);
  need_defined(w, addr, mask, "an address");
  need_defined(w, b, mask, "an atomic's operand");
  need_defined(w, c, mask, "an atomic's operand");
  FOR_LANES(l, mask) {
    char *at = memory_access(w, (int)l, (Space)i->space, address_of(w, addr, l), n, ACCESS_ATOMIC,
                             NULL, NULL);
    if (!at) continue;
    uint64_t old = 0;
    memcpy(&old, at, n);
    uint64_t now = atom_value(i, old, lane_bits(w, b, (int)l), lane_bits(w, c, (int)l));
    memcpy(at, &now, n);
    if (i->mode2) lane_set(w, &i->opd[0], (int)l, old);
  }
  if (i->mode2) opd_define(w, &i->opd[0], mask, ~0u);
}

/* ---- cp.async ---- */
void exec_cp_async(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *to = &i->opd[0], *from = &i->opd[1], *size = &i->opd[2];
  need_defined(w, to, mask, "an address");
  need_defined(w, from, mask, "an address");
  need_defined(w, size, mask, "the size of a cp.async");
  count_access(w, from, mask, SPACE_GLOBAL, i->vec);
  count_access(w, to, mask, SPACE_SHARED, i->vec);
  FOR_LANES(l, mask) {
    uint64_t n = size->cls == SLOT_NONE ? i->vec : lane_bits(w, size, (int)l);
    if (n > i->vec) n = i->vec;
    memory_async(w, (int)l, address_of(w, to, l), address_of(w, from, l), (uint32_t)n, i->vec);
  }
}

void exec_cp_commit(Warp *w, const Ins *i, uint32_t mask) { FOR_LANES(l, mask) w->copy_group[l]++; }

void exec_cp_wait(Warp *w, const Ins *i, uint32_t mask) {
  memory_async_wait(w, mask, (uint32_t)lane_bits(w, &i->opd[0], __builtin_ctz(mask)));
}

void exec_cp_wait_all(Warp *w, const Ins *i, uint32_t mask) {
  exec_cp_commit(w, i, mask);
  memory_async_wait(w, mask, 0);
}

/* ---- ldmatrix: lanes 8m..8m+7 hold the row addresses of matrix m ---- */
void exec_ldmatrix(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *addr = &i->opd[i->vec];
  need_defined(w, addr, mask & (uint32_t)(((uint64_t)1 << (8 * i->vec)) - 1), "an address");
  count_access(w, addr, mask & (uint32_t)(((uint64_t)1 << (8 * i->vec)) - 1), (Space)i->space, 16);
  uint32_t out[4][LANES];
  bool ok[4] = {true, true, true, true};
  for (int m = 0; m < i->vec; m++) {
    uint16_t row[8][8] = {{0}};
    for (int r = 0; r < 8; r++) {
      int lane = 8 * m + r;
      const char *at = mask >> lane & 1 ? memory_access(w, lane, (Space)i->space,
                                                        address_of(w, addr, (uint32_t)lane), 16,
                                                        ACCESS_READ, NULL, NULL)
                                        : NULL;
      if (at) memcpy(row[r], at, 16);
      ok[m] &= at != NULL;
    }
    for (int l = 0; l < LANES; l++) {
      int r = l / 4, c = 2 * (l % 4);
      out[m][l] = i->mode ? row[c][r] | (uint32_t)row[c + 1][r] << 16
                          : row[r][c] | (uint32_t)row[r][c + 1] << 16;
    }
  }
  for (int m = 0; m < i->vec; m++) {
    FOR_LANES(l, mask) slot32(w, &i->opd[m])[l] = out[m][l];
    opd_define(w, &i->opd[m], mask, ok[m] ? ~0u : 0);
  }
}

/* stmatrix, the inverse of ldmatrix. */
void exec_stmatrix(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *addr = &i->opd[0], *value = addr + 1;
  need_defined(w, addr, mask & (uint32_t)(((uint64_t)1 << (8 * i->vec)) - 1), "an address");
  for (int m = 0; m < i->vec; m++) {
    uint16_t row[8][8] = {{0}};
    need_defined(w, &value[m], mask, "a stored value");
    for (int l = 0; l < LANES; l++) {
      int r = l / 4, c = 2 * (l % 4);
      uint32_t u = slot32(w, &value[m])[l];
      *(i->mode ? &row[c][r] : &row[r][c]) = (uint16_t)u;
      *(i->mode ? &row[c + 1][r] : &row[r][c + 1]) = (uint16_t)(u >> 16);
    }
    for (int r = 0; r < 8; r++) {
      int lane = 8 * m + r;
      char *at = mask >> lane & 1
                     ? memory_access(w, lane, (Space)i->space, address_of(w, addr, (uint32_t)lane),
                                     16, ACCESS_WRITE, row[r], NULL)
                     : NULL;
      if (at) memcpy(at, row[r], 16);
    }
  }
}

/* ---- order ---- */
void exec_fence(Warp *w, const Ins *i, uint32_t mask) {
  if (i->mode) check_fence(w, mask);
}
void exec_idle(Warp *w, const Ins *i, uint32_t mask) {}
void exec_prefetch(Warp *w, const Ins *i, uint32_t mask) {
  need_defined(w, &i->opd[0], mask, "an address");
  FOR_LANES(l, mask) memory_prefetch(w, (int)l, address_of(w, &i->opd[0], l));
}
void exec_grid_wait(Warp *w, const Ins *i, uint32_t mask) { w->grid_waited |= mask; }
