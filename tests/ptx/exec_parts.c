/* What is defined where an instruction takes or leaves halves of registers: moves keep them apart,
 * prmt puts bytes together from anywhere, and dp2a reads one half of its second source alone.
 * Called only where some source is not defined as a whole, so it may be slow. */
#include "exec.h"

/* Bytes 0 to 3 are those of the first source, 4 to 7 of the second; four bits of the third for each
 * byte of the result say which. */
static void permute(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *select = &i->opd[3];
  uint32_t ok[2] = {0, 0}, known = opd_defined(w, select);
  FOR_LANES(l, mask & known) {
    uint32_t s = slot32(w, select)[l];
    for (int h = 0; h < 2; h++) {
      bool both = true;
      for (int n = 2 * h; n < 2 * h + 2; n++) {
        uint32_t byte = s >> (4 * n) & 7;
        both &= opd_half(w, &i->opd[1 + byte / 4], byte % 4 / 2) >> l & 1;
      }
      ok[h] |= (uint32_t)both << l;
    }
  }
  opd_define_halves(w, &i->opd[0], mask, ok);
}

void parts_define(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *o = i->opd;
  switch ((Parts)i->parts) {
  case PARTS_ALL: break;
  case PARTS_MOVE: {
    uint32_t ok[2] = {opd_half(w, &o[1], 0), opd_half(w, &o[1], 1)};
    opd_define_halves(w, &o[0], mask, ok);
    break;
  }
  case PARTS_PERMUTE: permute(w, i, mask); break;
  case PARTS_LOW:
  case PARTS_HIGH:
    opd_define(w, &o[0], mask,
               opd_defined(w, &o[1]) & opd_half(w, &o[2], i->parts == PARTS_HIGH) &
                   opd_defined(w, &o[3]));
    break;
  }
}
