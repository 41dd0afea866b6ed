/* wgmma: products of a warpgroup, asynchronous, from shared memory or registers.
 * Each warp computes its 16 rows of the 64 by itself, as late as can be: when the group of the
 * instruction is waited for. Until then its registers may not be touched, nor the shared memory
 * that it reads be written; both are findings. Products are exact and summed in double, then
 * rounded once. Layouts, by PTX ISA 9.7.15: accumulators and A in registers are those of mma.sync;
 * a matrix in shared memory is made of units of 16 bytes, whose places a descriptor gives: by
 * address, stride and leading offset, and swizzle. */
#include "exec.h"
#include "exec_ops.h"
#include "half.h"
#include "tensor.h"
#include <stdlib.h>

enum { ROWS = 16, DEPTH = 16, COLUMNS_MAX = 256, UNIT = 16 };

typedef struct Wgmma {
  const Ins *at;
  uint64_t a, b;  /* descriptors; a: of shared memory only */
  bool add;       /* to the accumulators */
  bool unwritten; /* it reads what a copy has brought and nobody wrote */
  bool cut;       /* an operand of tf32 has more bits */
  uint32_t group, clock;
} Wgmma;

/* ---- descriptors ---- */
typedef struct Matrix {
  uint64_t start;
  uint32_t lead, stride; /* bytes */
  unsigned swizzle;      /* as of tensor_swizzle */
  bool turned;           /* units lie along rows of the result (or its columns), not along k */
} Matrix;

static Matrix matrix_of(Warp *w, uint64_t d, bool turned) {
  static const uint8_t swizzles[] = {0, 3, 2, 1};
  uint64_t start = (d & 0x3fff) << 4;
  Matrix m = {.start = start,
              .lead = (uint32_t)(d >> 16 & 0x3fff) << 4,
              .stride = (uint32_t)(d >> 32 & 0x3fff) << 4,
              .swizzle = swizzles[d >> 62],
              .turned = turned};
  /* the lower bits of addresses tell dynamic memory from static variables: module.h */
  if (w->x->k->shared > (SHARED_DYNAMIC & 0x3ffff))
    give_up(w->x, "line %d: wgmma, and more than 28 KiB of static shared memory", w->at->line);
  if (start >= (SHARED_DYNAMIC & 0x3ffff)) m.start += SHARED_DYNAMIC & ~0x3ffff;
  if (d >> 49 & 7) report(w, 0, PTX_WGMMA, start, "descriptors with a base offset are not known");
  if (start >> 7 & ((1u << m.swizzle) - 1))
    report(w, 0, PTX_WGMMA, start, "a matrix does not begin where its swizzle does");
  return m;
}

/* The unit that has element (row, k) with those behind it; per: elements of a unit. */
static uint64_t unit_at(const Matrix *m, unsigned row, unsigned k, unsigned per) {
  unsigned wide = UNIT << m->swizzle, eight = row / 8;
  uint64_t at = m->start;
  if (m->turned) {
    unsigned unit = row / per, across = 1u << m->swizzle;
    at += m->swizzle ? unit % across * UNIT + unit / across * m->lead + k / 8 * m->stride
                     : unit * m->stride + k / 8 * m->lead;
    at += k % 8 * wide;
  } else {
    at += eight * m->stride + row % 8 * wide;
    at += m->swizzle ? k / per * UNIT : k / per * m->lead;
  }
  return tensor_swizzle(at, m->swizzle);
}

static unsigned element_bytes(const Ins *i) { return i->type == TYPE_tf32 ? 4 : 2; }

typedef void Visit(Warp *w, uint64_t at, int cta, Wgmma *g);
static void begin_read(Warp *w, uint64_t at, int cta, Wgmma *g) {
  g->unwritten |= check_reads(w, 0, cta, at, UNIT, g->clock, true);
}
static void end_read(Warp *w, uint64_t at, int cta, Wgmma *g) {
  check_reads_done(w->x, cta, at, UNIT);
}

/* False: some unit is in no shared memory. */
static bool each_unit(Warp *w, const Ins *i, const Matrix *m, unsigned first, unsigned rows,
                      Visit *visit, Wgmma *g) {
  unsigned per = UNIT / element_bytes(i), deep = 2 * per;
  for (unsigned r = 0; r < rows; r += m->turned ? per : 1)
    for (unsigned k = 0; k < deep; k += m->turned ? 1 : per) {
      int cta;
      uint64_t at = unit_at(m, first + r, k, per);
      if (!memory_shared(w, 0, &at, UNIT, &cta)) return false;
      if (visit) visit(w, at, cta, g);
    }
  return true;
}

/* ---- values ---- */
static double element(const Ins *i, const char *at) {
  if (i->type == TYPE_tf32) {
    uint32_t u;
    float f;
    memcpy(&u, at, 4);
    u &= ~0x1fffu;
    memcpy(&f, &u, 4);
    return (double)f;
  }
  uint16_t h;
  memcpy(&h, at, 2);
  return i->type == TYPE_f16 ? half_get(h) : bfloat_get(h);
}

static bool is_cut(const Ins *i, const char *at) {
  uint32_t u;
  if (i->type != TYPE_tf32) return false;
  memcpy(&u, at, 4);
  return tf32_is_cut(u);
}

/* By row: whether all of it was written. */
static void look_at_rows(Warp *w, const Ins *i, const Matrix *m, unsigned first, unsigned rows,
                         bool *written) {
  unsigned bytes = element_bytes(i), per = UNIT / bytes, deep = 2 * per;
  memset(written, true, rows * sizeof *written);
  for (unsigned r = 0; r < rows; r += m->turned ? per : 1)
    for (unsigned k = 0; k < deep; k += m->turned ? 1 : per) {
      int cta;
      uint64_t at = unit_at(m, first + r, k, per);
      if (!memory_shared(w, 0, &at, UNIT, &cta)) continue;
      const uint32_t brought = check_brought(w->x, cta, at, UNIT), all = (1u << bytes) - 1;
      for (unsigned e = 0; e < per; e++)
        if (brought >> e * bytes & all) written[m->turned ? r + e : r] = false;
    }
}

/* to[k][row] of rows from `first` on */
static void fetch(Warp *w, Wgmma *g, const Matrix *m, unsigned first, unsigned rows, double *to,
                  double sign) {
  const Ins *i = g->at;
  unsigned bytes = element_bytes(i), per = UNIT / bytes, deep = 2 * per;
  for (unsigned r = 0; r < rows; r += m->turned ? per : 1)
    for (unsigned k = 0; k < deep; k += m->turned ? 1 : per) {
      int cta;
      uint64_t at = unit_at(m, first + r, k, per);
      const char *p = memory_shared(w, 0, &at, UNIT, &cta);
      for (unsigned e = 0; p && e < per; e++) {
        g->cut |= is_cut(i, p + e * bytes);
        to[(m->turned ? k : k + e) * rows + (m->turned ? r + e : r)] =
            sign * element(i, p + e * bytes);
      }
    }
}

static void fetch_registers(const Warp *w, Wgmma *g, const Opd *a, double *to, double sign) {
  const Ins *i = g->at;
  unsigned per = i->type == TYPE_tf32 ? 1 : 2;
  for (unsigned r = 0; r < 4; r++)
    for (unsigned l = 0; l < LANES; l++)
      for (unsigned h = 0; h < per; h++) {
        uint32_t u = slot32(w, &a[r])[l];
        if (per == 2) u = u >> (16 * h) & 0xffff;
        g->cut |= is_cut(i, (const char *)&u);
        to[(per * (l % 4) + h + 4 * per * (r >> 1)) * ROWS + l / 4 + 8 * (r & 1)] =
            sign * element(i, (const char *)&u);
      }
}

static float as_float(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

static unsigned columns_of(const Ins *i) { return 8u * i->mode; }
static unsigned first_row(const Warp *w) {
  return ROWS * (unsigned)((w->index - w->cta * w->x->cta_warps) % 4);
}

/* Accumulator register n of a lane: rows l / 4 and 8 below, two columns in each eight. */
static unsigned row_of(const Ins *i, unsigned n, unsigned lane) {
  return lane / 4 + 8 * (i->from == TYPE_f32 ? n / 2 % 2 : n % 2);
}
static unsigned column_of(const Ins *i, unsigned n, unsigned lane) {
  bool wide = i->from == TYPE_f32;
  return 8 * (wide ? n / 4 : n / 2) + 2 * (lane % 4) + (wide ? n % 2 : 0);
}
/* The first sum of the register n of a lane; one of halves has two. */
static double *sum_at(const Ins *i, unsigned n, unsigned lane, double *sum) {
  return &sum[row_of(i, n, lane) * columns_of(i) + column_of(i, n, lane)];
}

static void put_sums(Warp *w, const Ins *i, double *sum) {
  for (unsigned n = 0; n < i->ndst; n++)
    for (unsigned l = 0; l < LANES; l++) {
      const double *v = sum_at(i, n, l, sum);
      uint32_t *to = &slot32(w, &i->opd[n])[l];
      *to = i->from == TYPE_f32
                ? canonical_f32((float)v[0])
                : half_put(v[0], ROUND_NEAREST) | (uint32_t)half_put(v[1], ROUND_NEAREST) << 16;
    }
}

static void get_sums(const Warp *w, const Ins *i, double *sum) {
  for (unsigned n = 0; n < i->ndst; n++)
    for (unsigned l = 0; l < LANES; l++) {
      double *v = sum_at(i, n, l, sum);
      uint32_t u = slot32(w, &i->opd[n])[l];
      v[0] = i->from == TYPE_f32 ? (double)as_float(u) : half_get((uint16_t)u);
      if (i->from != TYPE_f32) v[1] = half_get((uint16_t)(u >> 16));
    }
}

static const Opd *operand_a(const Ins *i) { return &i->opd[i->ndst]; }
static const Opd *operand_b(const Ins *i) {
  return operand_a(i) + (i->mode2 & WGMMA_REGISTERS ? 4 : 1);
}

/* The lanes whose register n follows from what was written: of operands that a copy has brought
 * from where nobody wrote, a row of A and a column of B. */
static void define_sums(Warp *w, const Wgmma *g, const bool *row, const bool *column) {
  const Ins *i = g->at;
  for (unsigned n = 0; n < i->ndst; n++) {
    uint32_t ok = 0;
    for (unsigned l = 0; l < LANES; l++) {
      const unsigned c = column_of(i, n, l);
      bool two = i->from == TYPE_f32 || column[c + 1];
      ok |= (uint32_t)(row[row_of(i, n, l)] && column[c] && two) << l;
    }
    opd_define(w, &i->opd[n], ~0u, ok & (g->add ? opd_defined(w, &i->opd[n]) : ~0u));
  }
}

static void happen(Warp *w, Wgmma *g) {
  const Ins *i = g->at;
  unsigned columns = columns_of(i), deep = 2 * UNIT / element_bytes(i);
  double a[DEPTH * ROWS] = {0}, b[DEPTH * COLUMNS_MAX] = {0}, sum[ROWS * COLUMNS_MAX] = {0};
  double sign_a = i->mode2 & WGMMA_NEGATE_A ? -1 : 1, sign_b = i->mode2 & WGMMA_NEGATE_B ? -1 : 1;
  bool row[ROWS], column[COLUMNS_MAX], ok = true;
  w->at = i;
  if (g->add) get_sums(w, i, sum);
  if (i->mode2 & WGMMA_REGISTERS) {
    fetch_registers(w, g, operand_a(i), a, sign_a);
    for (int n = 0; n < 4; n++) ok &= opd_defined(w, operand_a(i) + n) == ~0u;
  } else {
    const Matrix m = matrix_of(w, g->a, i->mode2 & WGMMA_TURN_A);
    fetch(w, g, &m, first_row(w), ROWS, a, sign_a);
    if (g->unwritten) look_at_rows(w, i, &m, first_row(w), ROWS, row);
    each_unit(w, i, &m, first_row(w), ROWS, end_read, g);
  }
  if (!g->unwritten || i->mode2 & WGMMA_REGISTERS) memset(row, ok, sizeof row);
  const Matrix m = matrix_of(w, g->b, i->mode2 & WGMMA_TURN_B);
  fetch(w, g, &m, 0, columns, b, sign_b);
  if (g->unwritten)
    look_at_rows(w, i, &m, 0, columns, column);
  else
    memset(column, true, sizeof column);
  each_unit(w, i, &m, 0, columns, end_read, g);
  if (g->cut && ok && !g->unwritten)
    report(w, 0, PTX_ROUNDING, 0, "an operand of tf32 has more than 11 significant bits");
  for (unsigned r = 0; r < ROWS; r++)
    for (unsigned k = 0; k < deep; k++) {
      double v = a[k * ROWS + r], *to = &sum[r * columns];
      const double *from = &b[k * columns];
      for (unsigned n = 0; n < columns; n++) to[n] += v * from[n];
    }
  put_sums(w, i, sum);
  define_sums(w, g, row, column);
}

/* ---- registers in flight ---- */
enum { BUSY_SUM = 1, BUSY_A = 2 };

bool wgmma_start(Warp *w) {
  size_t n = w->x->k->nslots + 1;
  if (!w->x->k->wgmma) return true;
  w->touched = calloc(n, sizeof *w->touched);
  w->busy = calloc(n, sizeof *w->busy);
  return w->touched && w->busy;
}

void wgmma_cta(Warp *w) {
  if (!w->touched) return;
  memset(w->touched, 0, (w->x->k->nslots + 1) * sizeof *w->touched);
  memset(w->busy, 0, w->x->k->nslots + 1);
  w->nwgmma = 0;
  w->wgmma_group = w->wgmma_fences = 0;
  w->wgmma_hash = 0;
}

void wgmma_free(Warp *w) {
  free(w->touched);
  free(w->busy);
  free(w->wgmma);
}

static void mark(Warp *w, const Ins *i, bool on) {
  for (unsigned n = 0; n < i->ndst; n++) w->busy[i->opd[n].slot] = on ? BUSY_SUM : 0;
  for (int n = 0; i->mode2 & WGMMA_REGISTERS && n < 4; n++)
    w->busy[operand_a(i)[n].slot] = on ? BUSY_A : 0;
}

void wgmma_watch(Warp *w, const Ins *i, uint32_t mask) {
  if (i->run == exec_wgmma) return;
  for (unsigned n = 0; n < i->nopd; n++) {
    const Opd *o = &i->opd[n];
    if (o->cls == SLOT_NONE) continue;
    if (w->busy[o->slot])
      report(w, __builtin_ctz(mask), PTX_WGMMA, 0,
             "touches a register of a wgmma that has not been waited for");
    w->touched[o->slot] = w->wgmma_fences + 1;
  }
}

static void look_at_registers(Warp *w, const Ins *i) {
  bool fenced = w->wgmma_fences, free = true;
  unsigned regs = i->ndst + (i->mode2 & WGMMA_REGISTERS ? 4u : 0);
  for (unsigned n = 0; n < regs; n++) {
    const Opd *o = &i->opd[n];
    fenced &= w->touched[o->slot] != w->wgmma_fences + 1;
    free &= !w->busy[o->slot] || w->busy[o->slot] == (n < i->ndst ? BUSY_SUM : BUSY_A);
  }
  if (!fenced)
    report(w, 0, PTX_WGMMA, 0, "uses registers that were touched with no wgmma.fence since");
  if (!free) report(w, 0, PTX_WGMMA, 0, "uses sums in flight as A, or A as sums");
  for (size_t n = 0; n < w->nwgmma; n++) {
    const Ins *o = w->wgmma[n].at;
    if (o->opd[0].slot == i->opd[0].slot && o->mode != i->mode)
      report(w, 0, PTX_WGMMA, 0, "adds to sums in flight of another shape");
  }
}

/* ---- instructions ---- */
static uint64_t descriptor(Warp *w, const Opd *o) {
  const uint64_t *d = slot64(w, o);
  need_defined(w, o, ~0u, "a descriptor");
  for (int l = 1; l < LANES; l++)
    if (d[l] != d[0]) {
      report(w, l, PTX_WGMMA, d[l], "a descriptor differs among the lanes of a warp");
      break;
    }
  return d[0];
}

static void whole_warp(Warp *w, const Ins *i, uint32_t mask) {
  if (mask != ~0u)
    report(w, __builtin_ctz(mask), PTX_WARP_SYNC, mask, "wgmma runs with lanes missing");
}

void exec_wgmma(Warp *w, const Ins *i, uint32_t mask) {
  Exec *x = w->x;
  const Opd *p = operand_b(i) + 1;
  whole_warp(w, i, mask);
  if ((w->index - w->cta * x->cta_warps) / 4 * 4 + 4 > x->cta_warps)
    report(w, 0, PTX_WGMMA, 0, "a warpgroup has four warps; this one has fewer");
  look_at_registers(w, i);
  need_defined(w, p, mask, "the predicate of a wgmma");
  Wgmma g = {.at = i, .b = descriptor(w, operand_b(i)), .add = pred_lanes(w, p) & 1};
  g.group = w->wgmma_group;
  g.clock = w->seen[w->index];
  bool in = true;
  if (!(i->mode2 & WGMMA_REGISTERS)) {
    g.a = descriptor(w, operand_a(i));
    const Matrix m = matrix_of(w, g.a, i->mode2 & WGMMA_TURN_A);
    in = each_unit(w, i, &m, first_row(w), ROWS, NULL, NULL);
    if (in) each_unit(w, i, &m, first_row(w), ROWS, begin_read, &g);
  }
  const Matrix m = matrix_of(w, g.b, i->mode2 & WGMMA_TURN_B);
  in = in && each_unit(w, i, &m, 0, columns_of(i), NULL, NULL);
  if (!in) give_up(x, "line %d: a matrix of wgmma is not in shared memory", i->line);
  each_unit(w, i, &m, 0, columns_of(i), begin_read, &g);
  w->wgmma_hash = (w->wgmma_hash * 31 + g.a) * 31 + g.b + (uint64_t)i->line;
  if (w->nwgmma == w->wgmma_cap) {
    w->wgmma_cap = w->wgmma_cap ? 2 * w->wgmma_cap : 64;
    Wgmma *grown = w->wgmma_cap > 1 << 16 ? NULL : realloc(w->wgmma, w->wgmma_cap * sizeof g);
    if (!grown) give_up(x, "too many wgmma are never waited for");
    w->wgmma = grown;
  }
  w->wgmma[w->nwgmma++] = g;
  mark(w, i, true);
}

void exec_wgmma_fence(Warp *w, const Ins *i, uint32_t mask) {
  whole_warp(w, i, mask);
  w->wgmma_fences++;
}

void exec_wgmma_commit(Warp *w, const Ins *i, uint32_t mask) {
  whole_warp(w, i, mask);
  w->wgmma_group++;
  w->seen[w->index] = check_tick(w->x);
}

void exec_wgmma_wait(Warp *w, const Ins *i, uint32_t mask) {
  uint64_t pending = lane_bits(w, &i->opd[0], 0);
  size_t done = 0;
  whole_warp(w, i, mask);
  while (done < w->nwgmma && w->wgmma[done].group + pending < w->wgmma_group)
    happen(w, &w->wgmma[done++]);
  w->at = i;
  if (!done) return;
  know_agent(w, ~0u, agent_of_warp(w->x, w->index), w->wgmma[done - 1].clock);
  for (size_t n = 0; n < done; n++) mark(w, w->wgmma[n].at, false);
  w->nwgmma -= done;
  memmove(w->wgmma, w->wgmma + done, w->nwgmma * sizeof *w->wgmma);
  for (size_t n = 0; n < w->nwgmma; n++) mark(w, w->wgmma[n].at, true);
}

/* The four warps of a warpgroup must have done the same; nothing may be in flight. */
void wgmma_end(Exec *x) {
  for (int n = 0; x->k->wgmma && n < x->nwarps; n++) {
    Warp *w = &x->warps[n];
    const Warp *first = &x->warps[w->cta * x->cta_warps + (n - w->cta * x->cta_warps) / 4 * 4];
    if (w->nwgmma) {
      w->at = w->wgmma[0].at;
      report(w, 0, PTX_WGMMA, 0, "the kernel ends before this wgmma is waited for");
    }
    if (w->wgmma_hash != first->wgmma_hash)
      report(w, 0, PTX_WGMMA, 0, "the warps of a warpgroup run different wgmma");
  }
}
