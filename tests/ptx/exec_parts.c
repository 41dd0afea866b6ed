/* What is defined where an instruction takes or leaves parts of registers: moves keep them apart,
 * prmt puts bytes together from anywhere, bfi leaves bits around those that it writes, and dp2a
 * reads one half of its second source alone.
 * Called only where some source is not defined as a whole, so it may be slow. */
#include "exec.h"

/* Bytes 0 to 3 are those of the first source, 4 to 7 of the second; four bits of the third for each
 * byte of the result say which. */
static void permute(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *select = &i->opd[3];
  uint32_t ok[4] = {0}, known = opd_defined(w, select);
  FOR_LANES(l, mask & known) {
    uint32_t s = slot32(w, select)[l];
    for (int q = 0; q < 4; q++) {
      uint32_t byte = s >> (4 * q) & 7;
      ok[q] |= opd_quarter(w, &i->opd[1 + byte / 4], byte % 4) & 1u << l;
    }
  }
  opd_define_quarters(w, &i->opd[0], mask, ok);
}

/* Bits of the first source, from a position on, in place of those of the second. */
static void insert(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *from = &i->opd[1], *into = &i->opd[2], *pos = &i->opd[3], *len = &i->opd[4];
  const uint32_t quarter = 2 * type_bytes((Type)i->type); /* bits */
  const uint32_t known = opd_defined(w, pos) & opd_defined(w, len), written = opd_defined(w, from);
  uint32_t ok[4] = {0};
  FOR_LANES(l, mask & known) {
    const uint32_t first = slot32(w, pos)[l] & 255, end = first + (slot32(w, len)[l] & 255);
    for (uint32_t q = 0; q < 4; q++) {
      const uint32_t lo = q * quarter, hi = lo + quarter;
      const bool all = first <= lo && end >= hi, none = first >= hi || end <= lo || first == end;
      ok[q] |= (all ? ~0u : opd_quarter(w, into, (int)q)) & (none ? ~0u : written) & 1u << l;
    }
  }
  opd_define_quarters(w, &i->opd[0], mask, ok);
}

void parts_define(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *o = i->opd;
  switch ((Parts)i->parts) {
  case PARTS_ALL: break;
  case PARTS_MOVE: {
    const Quarters q = opd_quarters(w, &o[1]);
    if (o->cls != SLOT_NONE) define(&w->defined[o->slot], mask, q.low, q.high);
    break;
  }
  case PARTS_PERMUTE: permute(w, i, mask); break;
  case PARTS_INSERT: insert(w, i, mask); break;
  case PARTS_LOW:
  case PARTS_HIGH: {
    const int first = i->parts == PARTS_HIGH ? 2 : 0;
    opd_define(w, &o[0], mask,
               opd_defined(w, &o[1]) & opd_quarter(w, &o[2], first) &
                   opd_quarter(w, &o[2], first + 1) & opd_defined(w, &o[3]));
    break;
  }
  }
}
