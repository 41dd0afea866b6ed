/* Arithmetic of dimensions when gc compiles: so many times a bounded dimension and a number.
   Contract: what it answers holds for every extent from 1 to the bound; else there is no answer. */
#include "lang/onnx/graph.h"

Axis axis_of_number(Number x) { return (Axis){x.i, x.symbol, x.more}; }

Number number_of_axis(Axis d) { return (Number){.i = d.n, .symbol = d.symbol, .more = d.more}; }

/* n times the symbol and the rest, of a number all of it. */
static int64_t times_of(Axis d) { return d.symbol ? d.n : 0; }
static int64_t rest_of(Axis d) { return d.symbol ? d.more : d.n; }

static bool put(int64_t times, int64_t rest, int symbol, Axis *out) {
  if (times < 0 || times > INT32_MAX || (times && (rest > INT32_MAX || rest < -INT32_MAX)))
    return false;
  *out = times ? (Axis){times, symbol, rest} : (Axis){.n = rest};
  return true;
}

bool dim_add(Axis a, Axis b, int sign, Axis *out) {
  int64_t times, rest;
  if (a.symbol && b.symbol && a.symbol != b.symbol) return false;
  if (sign < 0 ? __builtin_sub_overflow(rest_of(a), rest_of(b), &rest)
               : __builtin_add_overflow(rest_of(a), rest_of(b), &rest))
    return false;
  times = times_of(a) + sign * times_of(b);
  return put(times, rest, a.symbol ? a.symbol : b.symbol, out);
}

bool dim_times(Axis a, Axis b, Axis *out) {
  int64_t times, rest;
  if (a.symbol && b.symbol) return false;
  if (b.symbol) return dim_times(b, a, out);
  return !__builtin_mul_overflow(times_of(a), b.n, &times) &&
         !__builtin_mul_overflow(rest_of(a), b.n, &rest) && put(times, rest, a.symbol, out);
}

bool dim_over(Axis a, Axis b, Axis *out) {
  if (b.symbol) { /* so many of them */
    const int64_t n = a.symbol == b.symbol && a.n % b.n == 0 ? a.n / b.n : 0;
    *out = (Axis){.n = n};
    return n && a.more == n * b.more;
  }
  if (b.n < 1 || times_of(a) % b.n || rest_of(a) % b.n) return false;
  return put(times_of(a) / b.n, rest_of(a) / b.n, a.symbol, out);
}

/* times * the result: of "4 * n + 2" 2 and "2 * n + 1". */
static Axis primitive(Axis d, int64_t *times) {
  int64_t x = d.n, y = d.more < 0 ? -d.more : d.more;
  while (y) {
    const int64_t rest = x % y;
    x = y, y = rest;
  }
  *times = x;
  return (Axis){d.n / x, d.symbol, d.more / x};
}

bool shape_over(const Shape *a, const Shape *b, Axis *out) {
  Axis under[MOST_RANK], one = {.n = 1}, above = one, below = one;
  int64_t times;
  int n = 0, k;
  for (int i = 0; i < b->rank; i++) {
    const bool symbolic = b->at[i].symbol != 0;
    if (symbolic) under[n++] = primitive(b->at[i], &times);
    if (!dim_times(below, symbolic ? (Axis){.n = times} : b->at[i], &below)) return false;
  }
  for (int i = 0; i < a->rank; i++) {
    Axis d = a->at[i], x = d.symbol ? primitive(d, &times) : one;
    for (k = 0; k < n && !(d.symbol && dim_same(under[k], x)); k++) continue;
    if (k < n) under[k] = under[--n], d = (Axis){.n = times};
    if (!dim_times(above, d, &above)) return false;
  }
  *out = one;
  if (!below.n) return !above.n;
  return !n && dim_over(above, below, out);
}

bool dim_apart(Import *im, Axis a, Axis b, int64_t *least, int64_t *most) {
  if (a.symbol && b.symbol && a.symbol != b.symbol) return false;
  const int symbol = a.symbol ? a.symbol : b.symbol;
  const int64_t times = times_of(a) - times_of(b),
                bound = symbol ? im->symbols[symbol - 1].bound : 1;
  int64_t rest, end;
  if (__builtin_sub_overflow(rest_of(a), rest_of(b), &rest) ||
      __builtin_add_overflow(rest, times, least) || __builtin_mul_overflow(times, bound, &end) ||
      __builtin_add_overflow(rest, end, most))
    return false;
  if (*least > *most) end = *least, *least = *most, *most = end;
  return true;
}

bool dim_at_least(Import *im, Axis a, Axis b) {
  int64_t least, most;
  return dim_apart(im, a, b, &least, &most) && least >= 0;
}
