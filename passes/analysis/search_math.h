/* Logarithm and exponential for the decisions of searches: made of additions, multiplications and
   divisions alone, so that a program gets the same plan on every machine, whatever its libm. Right
   to a few units in the last place. */
#ifndef GC_PASSES_SEARCH_MATH_H
#define GC_PASSES_SEARCH_MATH_H

double search_log(double x); /* x > 0 */
double search_exp(double x); /* |x| <= 16 */
#endif
