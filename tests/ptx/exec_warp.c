/* Instructions that look across the lanes of a warp. They run once every lane of the member mask
 * that has not exited is here (warp.c); a value taken from a lane that is not here is undefined. */
#include "exec.h"
#include "exec_ops.h"

void exec_warp_sync(Warp *w, const Ins *i, uint32_t mask) {
  uint32_t member = (uint32_t)lane_bits(w, &i->opd[i->member], __builtin_ctz(mask));
  know_sync(w, mask);
  if (!(w->started & ~member)) check_warp_sync(w); /* else no one else's accesses: see check.c */
}

void exec_shfl(Warp *w, const Ins *i, uint32_t mask) {
  const uint32_t *a = slot32(w, &i->opd[2]), *b = slot32(w, &i->opd[3]), *c = slot32(w, &i->opd[4]);
  uint32_t value[LANES], ok = 0, in = 0;
  need_defined(w, &i->opd[3], mask, "the lane of a shuffle");
  uint32_t defined = opd_defined(w, &i->opd[2]) & mask;
  FOR_LANES(l, mask) {
    int lane = (int)l, by = (int)(b[l] & 31), seg = (int)(c[l] >> 8 & 31);
    int last = (lane & seg) | ((int)(c[l] & 31) & ~seg), first = lane & seg, from = lane;
    bool p = false;
    switch (i->mode) {
    case SHFL_UP:
      from = lane - by;
      p = from >= last;
      break;
    case SHFL_DOWN:
      from = lane + by;
      p = from <= last;
      break;
    case SHFL_BFLY:
      from = lane ^ by;
      p = from <= last;
      break;
    default:
      from = first | (by & ~seg);
      p = from <= last;
      break;
    }
    if (!p) from = lane;
    value[l] = a[from];
    ok |= (defined >> from & 1) << l;
    in |= (uint32_t)p << l;
  }
  FOR_LANES(l, mask) lane_set(w, &i->opd[0], (int)l, value[l]);
  opd_define(w, &i->opd[0], mask, ok);
  if (i->opd[1].cls == SLOT_PRED) {
    uint32_t *p = slot_pred(w, &i->opd[1]);
    *p = (*p & ~mask) | in;
    opd_define(w, &i->opd[1], mask, ~0u);
  }
}

static void put_result(Warp *w, const Opd *o, uint32_t mask, uint32_t value) {
  if (o->cls == SLOT_PRED) {
    uint32_t *p = slot_pred(w, o);
    *p = value ? *p | mask : *p & ~mask;
  } else {
    FOR_LANES(l, mask) lane_set(w, o, (int)l, value);
  }
}

void exec_vote(Warp *w, const Ins *i, uint32_t mask) {
  need_defined(w, &i->opd[1], mask, "a vote");
  uint32_t yes = pred_lanes(w, &i->opd[1]) & mask;
  uint32_t r = i->mode == VOTE_ALL   ? yes == mask
               : i->mode == VOTE_ANY ? yes != 0
               : i->mode == VOTE_UNI ? yes == mask || !yes
                                     : yes;
  put_result(w, &i->opd[0], mask, r);
}

void exec_match(Warp *w, const Ins *i, uint32_t mask) {
  uint32_t found[LANES], all = 1;
  FOR_LANES(l, mask) {
    found[l] = 0;
    FOR_LANES(o, mask) {
      if (lane_bits(w, &i->opd[2], (int)l) == lane_bits(w, &i->opd[2], (int)o)) found[l] |= 1u << o;
    }
    all &= found[l] == mask;
  }
  FOR_LANES(l, mask) lane_set(w, &i->opd[0], (int)l, i->mode ? (all ? mask : 0) : found[l]);
  if (i->opd[1].cls == SLOT_PRED) put_result(w, &i->opd[1], mask, all);
}

void exec_redux(Warp *w, const Ins *i, uint32_t mask) {
  const uint32_t *a = slot32(w, &i->opd[1]);
  uint32_t r = a[__builtin_ctz(mask)];
  bool is_signed = type_signed((Type)i->type);
  FOR_LANES(l, mask & (mask - 1)) {
    bool less = is_signed ? (int32_t)a[l] < (int32_t)r : a[l] < r;
    switch (i->mode) {
    case 0: r += a[l]; break;
    case 1: r = less ? a[l] : r; break;
    case 2: r = less ? r : a[l]; break;
    case 3: r &= a[l]; break;
    case 4: r |= a[l]; break;
    default: r ^= a[l]; break;
    }
  }
  put_result(w, &i->opd[0], mask, r);
}

void exec_activemask(Warp *w, const Ins *i, uint32_t mask) {
  put_result(w, &i->opd[0], mask, mask);
}
