/* mma.sync: D = A B + C for a warp, A row-major, B column-major.
 * Fragments as PTX ISA 9.7.14 draws them: g = lane / 4, q = lane % 4. Products are exact and summed
 * in double, then rounded once: the hardware's order is not documented, so results agree to its
 * rounding. */
#include "exec.h"
#include "exec_ops.h"
#include "half.h"

static float as_float(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

static double element(Type t, uint32_t reg, int half) {
  if (t == TYPE_tf32) return (double)as_float(reg & ~0x1fffu); /* the low 13 bits are left out */
  uint16_t h = (uint16_t)(reg >> (16 * half));
  return t == TYPE_f16 ? half_get(h) : bfloat_get(h);
}

static bool all_defined(const Warp *w, const Ins *i) {
  uint32_t ok = ~0u;
  for (int n = i->ndst; n < i->nopd; n++) ok &= opd_defined(w, &i->opd[n]);
  return !(w->live & ~ok);
}

/* A register of 16-bit elements covers two of k; of tf32 one. */
static void load_a(const Warp *w, const Ins *i, const Opd *a, int regs, double A[16][16]) {
  int per = i->type == TYPE_tf32 ? 1 : 2;
  for (int r = 0; r < regs; r++)
    for (int l = 0; l < LANES; l++)
      for (int h = 0; h < per; h++)
        A[l / 4 + 8 * (r & 1)][per * (l % 4) + h + 4 * per * (r >> 1)] =
            element((Type)i->type, slot32(w, &a[r])[l], h);
}

static void load_b(const Warp *w, const Ins *i, const Opd *b, int regs, double B[16][8]) {
  int per = i->type == TYPE_tf32 ? 1 : 2;
  for (int r = 0; r < regs; r++)
    for (int l = 0; l < LANES; l++)
      for (int h = 0; h < per; h++)
        B[per * (l % 4) + h + 4 * per * r][l / 4] = element((Type)i->type, slot32(w, &b[r])[l], h);
}

/* Of tf32: an operand, of so many registers, has bits that are left out. */
static bool any_cut(const Warp *w, const Opd *o, int regs) {
  for (int r = 0; r < regs; r++)
    for (int l = 0; l < LANES; l++)
      if (tf32_is_cut(slot32(w, &o[r])[l])) return true;
  return false;
}

void exec_mma(Warp *w, const Ins *i, uint32_t mask) {
  int k = i->mode, na = i->type == TYPE_tf32 ? k / 2 : k / 4, nc = i->from == TYPE_f32 ? 4 : 2;
  const Opd *d = i->opd, *a = d + nc, *b = a + na, *c = b + na / 2;
  if (mask != ~0u)
    report(w, __builtin_ctz(mask), PTX_WARP_SYNC, mask, "mma runs with lanes missing");
  bool ok = all_defined(w, i);
  if (i->type == TYPE_tf32 && ok && any_cut(w, a, na + na / 2))
    report(w, 0, PTX_ROUNDING, 0, "an operand of tf32 has more than 11 significant bits");
  double A[16][16], B[16][8], C[16][8];
  load_a(w, i, a, na, A);
  load_b(w, i, b, na / 2, B);
  for (int l = 0; l < LANES; l++)
    for (int n = 0; n < 4; n++) {
      int reg = nc == 4 ? n : n / 2;
      uint32_t u = slot32(w, &c[reg])[l];
      C[l / 4 + 8 * (n / 2)][2 * (l % 4) + n % 2] =
          nc == 4 ? (double)as_float(u) : half_get((uint16_t)(u >> (16 * (n & 1))));
    }
  for (int r = 0; r < 16; r++)
    for (int x = 0; x < k; x++) {
      double v = A[r][x];
      for (int n = 0; n < 8; n++) C[r][n] += v * B[x][n];
    }
  for (int l = 0; l < LANES; l++)
    for (int n = 0; n < 4; n++) {
      double v = C[l / 4 + 8 * (n / 2)][2 * (l % 4) + n % 2];
      if (nc == 4) {
        slot32(w, &d[n])[l] = canonical_f32((float)v);
      } else {
        uint32_t *u = &slot32(w, &d[n / 2])[l], h = half_put(v, ROUND_NEAREST);
        *u = n & 1 ? (*u & 0xffff) | h << 16 : h;
      }
    }
  for (int n = 0; n < nc; n++) opd_define(w, &d[n], mask, ok ? ~0u : 0);
}
