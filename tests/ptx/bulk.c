/* Bulk copies between global and shared memory, of bytes and of tiles of a tensor (TMA).
 * What a copy touches is looked at where it is issued. It happens as late as can be: into shared
 * memory when no thread can go on without it, and then its bytes arrive at its mbarrier; out of it
 * when its group is waited for. Until then other accesses to the same shared memory are findings.
 * Elements outside of the tensor are zeros, and are not stored. What nobody wrote may be copied; to
 * use it is a finding. */
#include "exec.h"
#include "exec_ops.h"
#include "tensor.h"
#include <stdlib.h>

typedef struct Bulk {
  Warp *w;
  int lane;
  const Ins *at;
  BulkForm form;
  Tensor tensor; /* rank 0: bytes in a row */
  int64_t from[PTX_TENSOR_RANK];
  uint64_t global, shared; /* addresses; of a tile in the tensor */
  uint64_t bytes;
  int cta, to; /* whose shared memory; BULK_SHARED: to whose */
  uint64_t to_shared;
  int mbarrier;   /* its number; BULK_STORE: -1 */
  uint32_t group; /* BULK_STORE */
} Bulk;

void bulk_cluster(Exec *x) { x->nbulk = 0; }
void bulk_free(Exec *x) { free(x->bulk); }

/* ---- what a copy touches: 16 bytes of shared memory at a time, of which from lo on to below hi
 * lie in the tensor ---- */
typedef bool Visit(const Bulk *b, uint64_t shared, uint64_t global, unsigned lo, unsigned hi);

static bool visit_row(const Bulk *b, const uint32_t *at, uint64_t row, Visit *visit) {
  const Tensor *t = &b->tensor;
  uint64_t base = t->address, n = (uint64_t)t->box[0] * t->element;
  bool in = true;
  for (int i = 1; i < t->rank; i++) {
    int64_t c = b->from[i] + at[i];
    in &= c >= 0 && c < (int64_t)t->size[i];
    base += (uint64_t)c * t->stride[i];
  }
  int64_t first = b->from[0] * t->element, end = (int64_t)t->size[0] * t->element;
  for (uint64_t u = 0; u < n; u += 16) {
    int64_t c = first + (int64_t)u, lo = c < 0 ? -c : 0, hi = end - c > 16 ? 16 : end - c;
    if (!in || lo >= hi) lo = hi = 0;
    uint64_t to = tensor_swizzle(b->shared + row * n + u, t->swizzle);
    if (!visit(b, to, base + (uint64_t)c, (unsigned)lo, (unsigned)hi)) return false;
  }
  return true;
}

static bool each_unit(const Bulk *b, Visit *visit) {
  if (!b->tensor.rank) {
    for (uint64_t u = 0; u < b->bytes; u += 16)
      if (!visit(b, b->shared + u, b->global + u, 0, 16)) return false;
    return true;
  }
  uint32_t at[PTX_TENSOR_RANK] = {0};
  for (uint64_t row = 0;; row++) {
    if (!visit_row(b, at, row, visit)) return false;
    int i = 1;
    while (i < b->tensor.rank && ++at[i] == b->tensor.box[i]) at[i++] = 0;
    if (i >= b->tensor.rank) return true;
  }
}

static char *place(const Bulk *b, uint64_t shared) {
  int cta;
  uint64_t at = shared | (uint64_t)(b->cta + 1) << SHARED_RANK_SHIFT;
  return memory_shared(b->w, b->lane, &at, 16, &cta);
}

/* ---- as it is issued ---- */
static bool look_at_load(const Bulk *b, uint64_t shared, uint64_t global, unsigned lo,
                         unsigned hi) {
  if (!place(b, shared)) return false;
  Exec *x = b->w->x;
  x->agent = agent_of_mbarrier(x, b->mbarrier);
  bool ok = hi <= lo || memory_bulk(b->w, b->lane, global + lo, hi - lo, ACCESS_READ);
  x->agent = 0;
  if (!ok) return false;
  check_async(b->w, b->lane, b->cta, shared, 16, false);
  return true;
}

static bool look_at_store(const Bulk *b, uint64_t shared, uint64_t global, unsigned lo,
                          unsigned hi) {
  if (!place(b, shared)) return false;
  if (hi > lo && !memory_bulk(b->w, b->lane, global + lo, hi - lo, ACCESS_WRITE)) return false;
  check_reads(b->w, b->lane, b->cta, shared, 16, b->w->seen[b->w->index], false);
  return true;
}

static bool look_at_shared(const Bulk *b, uint64_t shared, uint64_t global, unsigned lo,
                           unsigned hi) {
  Bulk to = *b;
  to.cta = b->to;
  uint64_t at = b->to_shared + (shared - b->shared);
  if (!place(b, shared) || !place(&to, at)) return false;
  check_reads(b->w, b->lane, b->cta, shared, 16, b->w->seen[b->w->index], false);
  check_async(b->w, b->lane, b->to, at, 16, false);
  return true;
}

/* ---- as it happens ---- */
/* To nearest, ties to even; infinities and NaN stay. */
static void round_units(char *at, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i += 4) {
    uint32_t u;
    memcpy(&u, at + i, 4);
    if ((u & 0x7f800000) != 0x7f800000) u = (u + 0xfff + (u >> 13 & 1)) & ~0x1fffu;
    memcpy(at + i, &u, 4);
  }
}

static bool load(const Bulk *b, uint64_t shared, uint64_t global, unsigned lo, unsigned hi) {
  char *to = place(b, shared);
  if (!to) return true; /* reported: its CTA has ended */
  memset(to, 0, 16);
  if (hi > lo) memcpy(to + lo, memory_place(global + lo), hi - lo);
  if (hi > lo && b->tensor.rounds) round_units(to + lo, hi - lo);
  uint32_t written = 0xffff;
  for (unsigned at = lo; at < hi; at++)
    if (!memory_byte_written(b->w->x, global + at)) written &= ~(1u << at);
  check_landed(b->w->x, b->cta, shared, 16, agent_of_mbarrier(b->w->x, b->mbarrier), written);
  return true;
}

static bool store(const Bulk *b, uint64_t shared, uint64_t global, unsigned lo, unsigned hi) {
  const char *from = place(b, shared);
  if (from && hi > lo) memcpy(memory_place(global + lo), from + lo, hi - lo);
  check_reads_done(b->w->x, b->cta, shared, 16);
  return true;
}

static bool copy(const Bulk *b, uint64_t shared, uint64_t global, unsigned lo, unsigned hi) {
  Exec *x = b->w->x;
  Bulk to = *b;
  to.cta = b->to;
  uint64_t at = b->to_shared + (shared - b->shared);
  char *p = place(&to, at), *from = place(b, shared);
  if (p && from) memcpy(p, from, 16);
  check_reads_done(x, b->cta, shared, 16);
  check_landed(x, b->to, at, 16, agent_of_mbarrier(x, b->mbarrier), 0xffff);
  return true;
}

static void happen(const Bulk *b) {
  Exec *x = b->w->x;
  b->w->at = b->at;
  if (b->form != BULK_STORE) check_tick(x);
  each_unit(b, b->form == BULK_LOAD ? load : b->form == BULK_STORE ? store : copy);
  if (b->form != BULK_STORE) mbarrier_complete(x, b->mbarrier, (uint32_t)b->bytes);
}

static void drop(Exec *x, size_t at) {
  x->nbulk--;
  memmove(x->bulk + at, x->bulk + at + 1, (x->nbulk - at) * sizeof *x->bulk);
}

bool bulk_land(Exec *x, size_t n) {
  for (size_t i = 0; i < x->nbulk; i++) {
    if (x->bulk[i].form == BULK_STORE || n--) continue;
    const Bulk b = x->bulk[i];
    drop(x, i);
    happen(&b);
    return true;
  }
  return false;
}

void bulk_end(Exec *x) {
  for (; x->nbulk; drop(x, 0)) {
    const Bulk *b = &x->bulk[0];
    b->w->at = b->at;
    report(b->w, b->lane, PTX_ASYNC, b->shared, "the CTA ends before this bulk copy is waited for");
    if (b->form == BULK_STORE) happen(b);
  }
}

static void submit(Exec *x, const Bulk *b) {
  if (x->nbulk == x->bulk_cap) {
    size_t cap = x->bulk_cap ? 2 * x->bulk_cap : 64;
    Bulk *p = cap > 1 << 20 ? NULL : realloc(x->bulk, cap * sizeof *p);
    if (!p) give_up(x, "too many bulk copies are never waited for");
    x->bulk = p;
    x->bulk_cap = cap;
  }
  x->bulk[x->nbulk++] = *b;
}

/* ---- instructions ---- */
static uint64_t operand(const Warp *w, const Opd *o, int lane) {
  uint64_t a = lane_bits(w, o, lane) + (uint64_t)o->offset;
  if (o->cls == SLOT_32) return (uint32_t)a;
  return a >> WINDOW_SHIFT == WINDOW_SHARED ? a & (((uint64_t)1 << WINDOW_SHIFT) - 1) : a;
}

static bool get_tensor(Bulk *b, const Opd *o, const Opd *coordinates, int rank) {
  uint64_t at = lane_bits(b->w, o, b->lane) + (uint64_t)o->offset;
  char map[PTX_TENSOR_BYTES];
  if (at & 63) {
    report(b->w, b->lane, PTX_ALIGN, at, "a tensor map is not at a multiple of 64 bytes");
    return false;
  }
  for (size_t i = 0; i < sizeof map; i += 8) {
    const char *p = memory_access(b->w, b->lane, SPACE_GENERIC, at + i, 8, ACCESS_READ, NULL, NULL);
    if (!p) return false;
    memcpy(map + i, p, 8);
  }
  if (!tensor_get(&b->tensor, map) || b->tensor.rank != rank) {
    report(b->w, b->lane, PTX_BOUNDS, at, "no map of a tensor with %d dimensions is here", rank);
    return false;
  }
  if (b->tensor.rounds && b->form != BULK_LOAD) {
    report(b->w, b->lane, PTX_BOUNDS, at, "only loads are known by a map that rounds to tf32");
    return false;
  }
  for (int i = 0; i < rank; i++) b->from[i] = (int32_t)lane_bits(b->w, &coordinates[i], b->lane);
  b->bytes = tensor_box_bytes(&b->tensor);
  return true;
}

static bool get_mbarrier(Bulk *b, uint64_t address) {
  int cta;
  b->mbarrier = mbarrier_number(b->w, b->lane, address, &cta);
  if (b->mbarrier < 0) return false;
  if (!mbarrier_fenced(b->w->x, b->mbarrier))
    report(b->w, b->lane, PTX_PROXY, address,
           "a bulk copy uses an mbarrier with no fence since its initialisation");
  return true;
}

static bool aligned(Bulk *b, uint64_t shared) {
  uint64_t unit = b->tensor.rank ? 128 : 16;
  if (!(shared & (unit - 1)) && (b->tensor.rank || (!(b->bytes & 15) && !(b->global & 15))))
    return true;
  report(b->w, b->lane, PTX_ALIGN, shared,
         "a bulk copy of %llu bytes whose addresses or size are not multiples of %llu",
         (unsigned long long)b->bytes, (unsigned long long)unit);
  return false;
}

static void issue(Bulk *b, uint64_t shared, uint64_t mbarrier) {
  Exec *x = b->w->x;
  b->shared = shared;
  if (!memory_shared(b->w, b->lane, &b->shared, 16, &b->cta)) return;
  if (!aligned(b, b->shared) || (b->form == BULK_LOAD && !get_mbarrier(b, mbarrier))) return;
  Visit *look = b->form == BULK_LOAD ? look_at_load : look_at_store;
  b->w->seen[b->w->index] = check_tick(x); /* later than what the mbarrier has told so far */
  if (each_unit(b, look)) submit(x, b);
}

/* Into the same place of every CTA of the mask, where the same mbarrier is told. */
static void multicast(Bulk *b, uint64_t shared, uint64_t mbarrier, uint64_t ctas) {
  if (ctas >> b->w->x->nctas || !ctas)
    report(b->w, b->lane, PTX_CLUSTER, ctas, "copies to CTAs %llx of a cluster of %d",
           (unsigned long long)ctas, b->w->x->nctas);
  for (int c = 0; c < b->w->x->nctas; c++) {
    uint64_t rank = (uint64_t)(c + 1) << SHARED_RANK_SHIFT;
    if (ctas >> c & 1)
      issue(b, (shared & SHARED_RANK_MASK) | rank, (mbarrier & SHARED_RANK_MASK) | rank);
  }
}

static void issue_shared(Bulk *b, uint64_t to, uint64_t from, uint64_t mbarrier) {
  b->shared = from;
  b->to_shared = to;
  if (!memory_shared(b->w, b->lane, &b->shared, 16, &b->cta) ||
      !memory_shared(b->w, b->lane, &b->to_shared, 16, &b->to))
    return;
  if (!aligned(b, b->shared | b->to_shared) || !get_mbarrier(b, mbarrier)) return;
  if (each_unit(b, look_at_shared)) submit(b->w->x, b);
}

/* load: to, (map, coordinates… | from, size), mbarrier, [ctas]
 * store: (map, coordinates… | to), from, [size]; shared: to, from, size, mbarrier */
void exec_bulk(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *o = i->opd;
  for (int n = 0; n < i->nopd; n++) need_defined(w, &o[n], mask, "an operand of a bulk copy");
  int rank = i->vec, behind = rank ? rank + 1 : 1; /* operands of the global side */
  FOR_LANES(l, mask) {
    Bulk b = {.w = w, .lane = (int)l, .at = i, .form = (BulkForm)i->mode, .mbarrier = -1};
    b.group = w->bulk_group[l];
    const Opd *global = b.form == BULK_STORE ? o : o + 1;
    if (rank && !get_tensor(&b, global, global + 1, rank)) continue;
    if (!rank) b.global = b.form == BULK_SHARED ? 0 : operand(w, global, (int)l);
    if (b.form == BULK_STORE) {
      if (!rank) b.bytes = lane_bits(w, &o[2], (int)l);
      issue(&b, operand(w, &o[behind], (int)l), 0);
      continue;
    }
    const Opd *rest = global + behind;
    if (!rank) b.bytes = lane_bits(w, rest++, (int)l);
    uint64_t to = operand(w, &o[0], (int)l), mbarrier = operand(w, rest, (int)l);
    if (b.form == BULK_SHARED)
      issue_shared(&b, to, operand(w, &o[1], (int)l), mbarrier);
    else if (i->mode2)
      multicast(&b, to, mbarrier, lane_bits(w, rest + 1, (int)l));
    else
      issue(&b, to, mbarrier);
  }
}

void exec_bulk_commit(Warp *w, const Ins *i, uint32_t mask) {
  FOR_LANES(l, mask) w->bulk_group[l]++;
}

/* With .read too: what is stored is visible to the thread only without, which nothing here asks. */
void exec_bulk_wait(Warp *w, const Ins *i, uint32_t mask) {
  Exec *x = w->x;
  uint32_t pending = (uint32_t)lane_bits(w, &i->opd[0], __builtin_ctz(mask));
  for (size_t n = 0; n < x->nbulk;) {
    const Bulk b = x->bulk[n];
    if (b.form != BULK_STORE || b.w != w || !(mask >> b.lane & 1) ||
        (uint64_t)b.group + pending >= w->bulk_group[b.lane]) {
      n++;
      continue;
    }
    happen(&b);
    w->at = i;
    drop(x, n);
  }
  know_agent(w, mask, agent_of_warp(x, w->index), w->seen[w->index]);
  w->seen[w->index] = check_tick(x);
}
