/* See search_math.h. The logarithm is 2 artanh((m - r) / (m + r)) of the mantissa, r the root of
   one half; the exponential is Taylor's series of x / 16, raised to the 16th power. */
#include "passes/analysis/search_math.h"

#include <math.h>

double search_log(double x) {
  int e;
  double m = frexp(x, &e), z = (m - 0.70710678118654752) / (m + 0.70710678118654752);
  double z2 = z * z, sum = 0, term = z;
  for (int k = 1; k < 24; k += 2, term *= z2) sum += term / k;
  return 2 * sum + (e - 0.5) * 0.69314718055994531;
}

double search_exp(double x) {
  enum { TERMS = 18, HALVINGS = 4 };
  double z = x / (1 << HALVINGS), sum = 1;
  for (int k = TERMS; k > 0; k--) sum = 1 + sum * z / k;
  for (int k = 0; k < HALVINGS; k++) sum *= sum;
  return sum;
}

uint64_t search_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}
