/* Logarithm, exponential and random numbers for the decisions of searches: made of additions,
   multiplications and divisions alone, so that a program gets the same plan on every machine,
   whatever its libm. Right to a few units in the last place. */
#ifndef GC_PASSES_SEARCH_MATH_H
#define GC_PASSES_SEARCH_MATH_H
#include <stdint.h>

double search_log(double x); /* x > 0 */
double search_exp(double x); /* |x| <= 16 */
/* The next of a sequence of random numbers, xorshift64 (Marsaglia, 2003); the state is not 0. */
uint64_t search_random(uint64_t *state);
#endif
