/* Moves, conversions, comparisons and choices.
 * Conversions go through double or 64-bit integers, which hold every source exactly (64-bit
 * integers to floats are converted in the wanted direction at once), so each rounds once.
 * -frounding-math. */
#include "exec.h"
#include "exec_ops.h"
#include "half.h"
#include <fenv.h>
#include <math.h>

/* ---- moves ---- */
void exec_mov32(Warp *w, const Ins *i, uint32_t mask) {
  uint32_t *d = slot32(w, &i->opd[0]);
  const uint32_t *a = slot32(w, &i->opd[1]);
  if (mask == ~0u) {
    memmove(d, a, 4 * LANES);
  } else {
    FOR_LANES(l, mask) d[l] = a[l];
  }
}
void exec_mov64(Warp *w, const Ins *i, uint32_t mask) {
  uint64_t *d = slot64(w, &i->opd[0]);
  const uint64_t *a = slot64(w, &i->opd[1]);
  if (mask == ~0u) {
    memmove(d, a, 8 * LANES);
  } else {
    FOR_LANES(l, mask) d[l] = a[l];
  }
}
static void put_pred(Warp *w, const Opd *o, uint32_t mask, uint32_t value) {
  if (o->cls != SLOT_PRED) return;
  uint32_t *p = slot_pred(w, o);
  *p = (*p & ~mask) | (value & mask);
}
void exec_mov_pred(Warp *w, const Ins *i, uint32_t mask) {
  put_pred(w, &i->opd[0], mask, pred_lanes(w, &i->opd[1]));
}
void exec_pred(Warp *w, const Ins *i, uint32_t mask) {
  uint32_t a = pred_lanes(w, &i->opd[1]), b = i->mode < 3 ? pred_lanes(w, &i->opd[2]) : 0;
  put_pred(w, &i->opd[0], mask,
           i->mode == 0   ? a & b
           : i->mode == 1 ? a | b
           : i->mode == 2 ? a ^ b
                          : ~a);
}

/* Elements of a vector from low to high bits. */
void exec_pack(Warp *w, const Ins *i, uint32_t mask) {
  unsigned bits = 8 * type_bytes((Type)i->type) / i->vec;
  uint64_t keep = bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
  FOR_LANES(l, mask) {
    uint64_t v = 0;
    for (int n = 0; n < i->vec; n++)
      v |= (lane_bits(w, &i->opd[1 + n], (int)l) & keep) << (bits * (unsigned)n);
    lane_set(w, &i->opd[0], (int)l, v);
  }
  uint32_t ok[4];
  for (int q = 0; q < 4; q++) ok[q] = opd_defined(w, &i->opd[1 + q * i->vec / 4]);
  opd_define_quarters(w, &i->opd[0], mask, ok);
}
void exec_unpack(Warp *w, const Ins *i, uint32_t mask) {
  unsigned bits = 8 * type_bytes((Type)i->type) / i->vec;
  uint64_t keep = bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
  FOR_LANES(l, mask) {
    uint64_t v = lane_bits(w, &i->opd[i->vec], (int)l);
    for (int n = 0; n < i->vec; n++)
      lane_set(w, &i->opd[n], (int)l, v >> (bits * (unsigned)n) & keep);
  }
  const Opd *from = &i->opd[i->vec];
  uint32_t ok[4] = {~0u, ~0u, ~0u, ~0u};
  for (int q = 0; q < 4; q++) ok[q * i->vec / 4] &= opd_quarter(w, from, q);
  for (int n = 0; n < i->vec; n++) opd_define(w, &i->opd[n], mask, ok[n]);
}

/* ---- addresses ---- */
void exec_cvta(Warp *w, const Ins *i, uint32_t mask) {
  uint64_t window = (uint64_t)i->mode << WINDOW_SHIFT;
  if (mask == ~0u && !i->mode && i->opd[0].cls == SLOT_64 && i->opd[1].cls == SLOT_64) {
    for (int l = 0; l < LANES; l++)
      slot64(w, &i->opd[0])[l] = slot64(w, &i->opd[1])[l] + (uint64_t)i->opd[1].offset;
    return;
  }
  FOR_LANES(l, mask) {
    uint64_t a = lane_bits(w, &i->opd[1], (int)l) + (uint64_t)i->opd[1].offset;
    if (i->mode && i->mode2) {
      if (a >> WINDOW_SHIFT == i->mode) a -= window; /* else it stays where no variable is */
    } else {
      a |= window;
    }
    lane_set(w, &i->opd[0], (int)l, a);
  }
}
void exec_isspacep(Warp *w, const Ins *i, uint32_t mask) {
  uint32_t r = 0;
  FOR_LANES(l, mask)
  r |= (uint32_t)(lane_bits(w, &i->opd[1], (int)l) >> WINDOW_SHIFT == i->mode) << l;
  put_pred(w, &i->opd[0], mask, r);
}

/* ---- conversions ---- */
static uint64_t extend(uint64_t v, Type t) {
  unsigned bits = 8 * type_bytes(t), shift = 64 - bits;
  return type_signed(t) ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

/* Width changes only. A result wider than its type is extended as the type says. */
void exec_cvt_int(Warp *w, const Ins *i, uint32_t mask) {
  Type to = (Type)i->type, from = (Type)i->from;
  const Opd *d = &i->opd[0], *a = &i->opd[1];
  if (mask == ~0u && d->cls == SLOT_64 && a->cls == SLOT_32 && type_bytes(from) == 4 &&
      type_bytes(to) == 8) { /* an index becomes an address's part */
    uint64_t *x = slot64(w, d);
    const uint32_t *y = slot32(w, a);
    if (type_signed(from))
      for (int l = 0; l < LANES; l++) x[l] = (uint64_t)(int32_t)y[l];
    else
      for (int l = 0; l < LANES; l++) x[l] = y[l];
    return;
  }
  FOR_LANES(l, mask)
  lane_set(w, d, (int)l, extend(extend(lane_bits(w, a, (int)l), from), to));
}

static double float_of(Type t, uint64_t bits) {
  if (t == TYPE_f16) return half_get((uint16_t)bits);
  if (t == TYPE_bf16) return bfloat_get((uint16_t)bits);
  if (t == TYPE_f64) {
    double d;
    memcpy(&d, &bits, 8);
    return d;
  }
  float f;
  memcpy(&f, &bits, 4);
  return (double)f;
}

static double to_integer(double v, Round round) {
  switch (round) {
  case ROUND_ZERO: return trunc(v);
  case ROUND_DOWN: return floor(v);
  case ROUND_UP: return ceil(v);
  case ROUND_NEAREST: break;
  }
  return nearbyint(v); /* the direction is to nearest, even */
}

/* The direction is to nearest but between these two. */
static void direct(Round r) {
  static const int directions[] = {[ROUND_NEAREST] = FE_TONEAREST,
                                   [ROUND_ZERO] = FE_TOWARDZERO,
                                   [ROUND_DOWN] = FE_DOWNWARD,
                                   [ROUND_UP] = FE_UPWARD};
  if (r != ROUND_NEAREST) fesetround(directions[r]);
}
static void direct_back(Round r) {
  if (r != ROUND_NEAREST) fesetround(FE_TONEAREST);
}

static uint64_t float_put(const Ins *i, double v) {
  Type to = (Type)i->type;
  Round round = i->mode ? ROUND_NEAREST : (Round)i->round;
  uint64_t bits = 0;
  if (i->mods & MOD_SAT) v = v > 0 ? (v < 1 ? v : 1) : 0;
  if (i->mode2 & 1 && v < 0) v = 0;
  if (to == TYPE_f16) return half_put(v, round);
  if (to == TYPE_bf16) return bfloat_put(v, round);
  if (to == TYPE_tf32) return tf32_put((float)v, i->mode2 & 2);
  if (to == TYPE_f64) {
    memcpy(&bits, &v, 8);
    return bits;
  }
  direct(round);
  volatile float f = (float)v;
  direct_back(round);
  if (i->mods & MOD_FTZ && fpclassify(f) == FP_SUBNORMAL) f = copysignf(0, f);
  return canonical_f32(f);
}

static uint64_t int_to_float(const Ins *i, uint64_t v) {
  Type to = (Type)i->type;
  bool s = type_signed((Type)i->from);
  uint64_t bits = 0;
  direct((Round)i->round);
  if (to == TYPE_f32) {
    volatile float f = s ? (float)(int64_t)v : (float)v;
    float g = f;
    memcpy(&bits, &g, 4);
  } else if (to == TYPE_f64) {
    volatile double f = s ? (double)(int64_t)v : (double)v;
    double g = f;
    memcpy(&bits, &g, 8);
  }
  direct_back((Round)i->round);
  return to == TYPE_f32 || to == TYPE_f64 ? bits : float_put(i, s ? (double)(int64_t)v : (double)v);
}

static uint64_t float_to_int(const Ins *i, double v) {
  Type to = (Type)i->type;
  unsigned bits = 8 * type_bytes(to);
  if (isnan(v)) return 0;
  v = to_integer(v, (Round)i->round);
  if (type_signed(to)) {
    double limit = ldexp(1, (int)bits - 1);
    if (v >= limit) return ((uint64_t)1 << (bits - 1)) - 1;
    return v < -limit ? (uint64_t)1 << (bits - 1) : (uint64_t)(int64_t)v;
  }
  if (v >= ldexp(1, (int)bits)) return bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
  return v < 0 ? 0 : (uint64_t)v;
}

static uint64_t int_saturate(const Ins *i, uint64_t v) {
  Type to = (Type)i->type;
  unsigned bits = 8 * type_bytes(to);
  bool from_signed = type_signed((Type)i->from);
  if (type_signed(to)) {
    int64_t hi = (int64_t)(((uint64_t)1 << (bits - 1)) - 1), lo = -hi - 1;
    if (!from_signed) return v > (uint64_t)hi ? (uint64_t)hi : v;
    return (int64_t)v > hi ? (uint64_t)hi : (int64_t)v < lo ? (uint64_t)lo : v;
  }
  if (from_signed && (int64_t)v < 0) return 0;
  uint64_t hi = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
  return v > hi ? hi : v;
}

void exec_cvt(Warp *w, const Ins *i, uint32_t mask) {
  Type to = (Type)i->type, from = (Type)i->from;
  FOR_LANES(l, mask) {
    uint64_t in = lane_bits(w, &i->opd[1], (int)l), out;
    if (type_float(from)) {
      double v = float_of(from, in);
      if (i->mods & MOD_FTZ && from == TYPE_f32 && fabs(v) < 0x1p-126) v = copysign(0, v);
      if (type_float(to)) {
        out = float_put(i, i->mode ? to_integer(v, (Round)i->round) : v);
      } else {
        out = extend(float_to_int(i, v), to);
      }
    } else {
      in = extend(in, from);
      out = type_float(to) ? int_to_float(i, in) : int_saturate(i, in);
    }
    lane_set(w, &i->opd[0], (int)l, out);
  }
}

/* cvt.rn.bf16x2.f32 d, a, b: a above, b below. */
void exec_cvt_pair(Warp *w, const Ins *i, uint32_t mask) {
  Ins one = *i;
  one.type = i->type == TYPE_bf16x2 ? TYPE_bf16 : TYPE_f16;
  FOR_LANES(l, mask) {
    uint64_t hi = float_put(&one, float_of(TYPE_f32, slot32(w, &i->opd[1])[l]));
    uint64_t lo = float_put(&one, float_of(TYPE_f32, slot32(w, &i->opd[2])[l]));
    slot32(w, &i->opd[0])[l] = (uint32_t)(hi << 16 | lo);
  }
}

/* ---- comparison ---- */
/* Of 32-bit sources, for all lanes. */
#define RELATE(T)                                                                                  \
  {                                                                                                \
    const uint32_t *x = slot32(w, pa), *y = slot32(w, pb);                                         \
    for (int l = 0; l < LANES; l++) {                                                              \
      T a = (T)x[l], b = (T)y[l];                                                                  \
      unsigned rel = a < b ? REL_LESS : a > b ? REL_MORE : REL_EQUAL;                              \
      yes |= (uint32_t)((rel & i->mode) != 0) << l;                                                \
    }                                                                                              \
  }
static uint32_t compare_f32(const float *x, const float *y, unsigned mode, bool flush) {
  uint32_t yes = 0;
  for (int l = 0; l < LANES; l++) {
    float a = flush && fabsf(x[l]) < 0x1p-126f ? 0 : x[l];
    float b = flush && fabsf(y[l]) < 0x1p-126f ? 0 : y[l];
    unsigned rel = a < b ? REL_LESS : a > b ? REL_MORE : a == b ? REL_EQUAL : REL_NAN;
    yes |= (uint32_t)((rel & mode) != 0) << l;
  }
  return yes;
}

static uint32_t compare(Warp *w, const Ins *i, uint32_t mask, const Opd *pa, const Opd *pb) {
  Type t = (Type)i->from;
  uint32_t yes = 0;
  if (t == TYPE_f32) {
    yes = compare_f32((const float *)slot32(w, pa), (const float *)slot32(w, pb), i->mode,
                      i->mods & MOD_FTZ);
  } else if (type_float(t)) {
    FOR_LANES(l, mask) {
      double a = float_of(t, lane_bits(w, pa, (int)l)), b = float_of(t, lane_bits(w, pb, (int)l));
      unsigned rel = a < b ? REL_LESS : a > b ? REL_MORE : a == b ? REL_EQUAL : REL_NAN;
      yes |= (uint32_t)((rel & i->mode) != 0) << l;
    }
  } else if (t == TYPE_s32) {
    RELATE(int32_t)
  } else if (t == TYPE_u32 || t == TYPE_b32) {
    RELATE(uint32_t)
  } else {
    FOR_LANES(l, mask) {
      uint64_t a = extend(lane_bits(w, pa, (int)l), t), b = extend(lane_bits(w, pb, (int)l), t);
      bool less = type_signed(t) ? (int64_t)a < (int64_t)b : a < b;
      unsigned rel = a == b ? REL_EQUAL : less ? REL_LESS : REL_MORE;
      yes |= (uint32_t)((rel & i->mode) != 0) << l;
    }
  }
  return yes;
}

static uint32_t combine(const Ins *i, uint32_t yes, uint32_t with) {
  return i->mode2 == 0 ? yes : i->mode2 == 1 ? yes & with : i->mode2 == 2 ? yes | with : yes ^ with;
}

void exec_setp(Warp *w, const Ins *i, uint32_t mask) {
  uint32_t yes = compare(w, i, mask, &i->opd[2], &i->opd[3]);
  uint32_t with = i->mode2 ? pred_lanes(w, &i->opd[4]) : 0;
  put_pred(w, &i->opd[0], mask, combine(i, yes, with));
  put_pred(w, &i->opd[1], mask, combine(i, ~yes, with));
}

void exec_set(Warp *w, const Ins *i, uint32_t mask) {
  uint32_t yes = compare(w, i, mask, &i->opd[1], &i->opd[2]);
  yes = combine(i, yes, i->mode2 ? pred_lanes(w, &i->opd[3]) : 0);
  uint32_t one = i->type == TYPE_f32 ? 0x3f800000 : ~0u;
  FOR_LANES(l, mask) slot32(w, &i->opd[0])[l] = yes >> l & 1 ? one : 0;
}

void exec_testp(Warp *w, const Ins *i, uint32_t mask) {
  uint32_t r = 0;
  FOR_LANES(l, mask) {
    uint64_t bits = lane_bits(w, &i->opd[1], (int)l);
    double v = float_of((Type)i->from, bits);
    bool tiny = v != 0 && fabs(v) < (i->from == TYPE_f32 ? 0x1p-126 : 0x1p-1022);
    bool normal = isfinite(v) && v != 0 && !tiny;
    const bool answers[] = {isfinite(v), isinf(v), !isnan(v), isnan(v), normal, tiny};
    r |= (uint32_t)answers[i->mode] << l;
  }
  put_pred(w, &i->opd[0], mask, r);
}

/* ---- choice: only the chosen side must be defined ---- */
void exec_selp(Warp *w, const Ins *i, uint32_t mask) {
  const Opd *d = &i->opd[0], *a = &i->opd[1], *b = &i->opd[2], *p = &i->opd[3];
  uint32_t yes = pred_lanes(w, p);
  if (d->cls == SLOT_32) {
    uint32_t *o = slot32(w, d);
    const uint32_t *x = slot32(w, a), *y = slot32(w, b);
    if (mask == ~0u) {
      for (int l = 0; l < LANES; l++) o[l] = yes >> l & 1 ? x[l] : y[l];
    } else {
      FOR_LANES(l, mask) o[l] = yes >> l & 1 ? x[l] : y[l];
    }
  } else {
    FOR_LANES(l, mask) lane_set(w, d, (int)l, lane_bits(w, yes >> l & 1 ? a : b, (int)l));
  }
  uint32_t ok = (opd_defined(w, a) & yes) | (opd_defined(w, b) & ~yes);
  opd_define(w, d, mask, ok & opd_defined(w, p));
}

void exec_slct(Warp *w, const Ins *i, uint32_t mask) {
  FOR_LANES(l, mask) {
    uint32_t c = slot32(w, &i->opd[3])[l];
    float f;
    memcpy(&f, &c, 4);
    bool first = i->from == TYPE_f32 ? f >= 0 : (int32_t)c >= 0;
    lane_set(w, &i->opd[0], (int)l, lane_bits(w, &i->opd[first ? 1 : 2], (int)l));
  }
}
