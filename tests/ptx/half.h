/* The 16-bit floats in software: f16 (IEEE binary16) and bf16, to and from double.
 * Conversions to 16 bits round once, in the given direction, so that no double rounding occurs. */
#ifndef PTXI_HALF_H
#define PTXI_HALF_H
#include "module.h"

double half_get(uint16_t h);
double bfloat_get(uint16_t b);
uint16_t half_put(double v, Round round);
uint16_t bfloat_put(double v, Round round);
uint32_t tf32_put(float v, bool away); /* ties away (.rna) or to even (.rn) */
/* It has bits that the tensor cores leave out: whoever multiplies it has not rounded it. */
static inline bool tf32_is_cut(uint32_t u) { return u & 0x1fff && (u & 0x7f800000) != 0x7f800000; }
/* The bits of a result in f32: of NaN the one that the hardware makes. */
uint32_t canonical_f32(float v);
#endif
