/* Sums of several words: add.cc, addc, sub.cc, subc, mad.{lo,hi}.cc, madc. The carry is a predicate
 * register of the kernel that these instructions name silently, so that what is known of it flows
 * as for any operand. Source: PTX ISA 9.0, chapter 9.7.2. */
#include "decode.h"
#include "exec.h"
#include "exec_ops.h"

enum { CARRY_ADD, CARRY_SUB, CARRY_LO, CARRY_HI }; /* what is added to: mode */
enum { DST, CARRY_OUT, A, B, C };                  /* operands; the last one is the carry in */

void exec_carry(Warp *w, const Ins *i, uint32_t mask) {
  bool wide = type_bytes((Type)i->type) == 8, is_signed = type_signed((Type)i->type);
  const Opd *o = i->opd, *in = &o[i->nopd - 1];
  uint32_t carry = in->cls == SLOT_PRED ? *slot_pred(w, in) : 0, out = 0;
  uint64_t limit = wide ? UINT64_MAX : UINT32_MAX;
  FOR_LANES(l, mask) {
    uint64_t a = lane_bits(w, &o[A], (int)l), b = lane_bits(w, &o[B], (int)l);
    unsigned __int128 sum = carry >> l & 1;
    bool overflow;
    if (i->mode == CARRY_SUB) {
      sum += b;
      overflow = a < sum;
      sum = a - sum;
    } else {
      if (i->mode != CARRY_ADD) {
        unsigned __int128 product = (unsigned __int128)a * b;
        if (is_signed && wide) product = (unsigned __int128)((__int128)(int64_t)a * (int64_t)b);
        if (is_signed && !wide)
          product = (unsigned __int128)(__int128)((int64_t)(int32_t)a * (int32_t)b);
        a = (uint64_t)(i->mode == CARRY_HI ? product >> (wide ? 64 : 32) : product) & limit;
        b = lane_bits(w, &o[C], (int)l);
      }
      sum += (unsigned __int128)a + b;
      overflow = sum > limit;
    }
    lane_set(w, &o[DST], (int)l, (uint64_t)sum & limit);
    out |= (uint32_t)overflow << l;
  }
  if (o[CARRY_OUT].cls != SLOT_PRED) return;
  uint32_t *flag = slot_pred(w, &o[CARRY_OUT]);
  *flag = (*flag & ~mask) | out;
}

static Opd carry_of(Decoder *d) {
  PtxKernel *k = d->p->k;
  if (k->carry.cls == SLOT_NONE) k->carry = kernel_slot(d->p, SLOT_PRED);
  return k->carry;
}

bool decode_carry(Decoder *d) {
  static const struct {
    const char *word;
    bool takes, multiplies, subtracts;
  } rows[] = {{"add", false, false, false}, {"addc", true, false, false},
              {"sub", false, false, true},  {"subc", true, false, true},
              {"mad", false, true, false},  {"madc", true, true, false}};
  bool gives = decode_has(d, "cc");
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    if (!decode_first(d, rows[r].word) || !(gives || rows[r].takes)) continue;
    Type t = decode_type(d, 0);
    SlotClass cls = decode_class(t);
    bool hi = decode_has(d, "hi");
    if (!t || type_float(t) || type_bytes(t) < 4 ||
        rows[r].multiplies != (hi || decode_has(d, "lo")))
      decode_unknown(d);
    d->ins.run = exec_carry;
    d->ins.type = (uint8_t)t;
    d->ins.mode = rows[r].subtracts     ? CARRY_SUB
                  : !rows[r].multiplies ? CARRY_ADD
                  : hi                  ? CARRY_HI
                                        : CARRY_LO;
    take_dst(d, cls);
    d->ins.ndst++;
    if (gives)
      add_operand(d, carry_of(d));
    else
      add_absent(d);
    for (int n = 0; n < 2 + rows[r].multiplies; n++) take_src(d, cls, t);
    if (rows[r].takes)
      add_operand(d, carry_of(d));
    else
      add_absent(d);
    return true;
  }
  return false;
}
