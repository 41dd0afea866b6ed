/* Arithmetic of dimensions when gc compiles: so many times a bounded dimension and a number.
   Contract: what it answers holds for every extent from 1 to the bound; else there is no answer. */
#include "lang/onnx/graph.h"

Axis axis_of_number(Number x) {
  return (Axis){.n = x.i, .symbol = x.symbol, .more = x.more, .counted = x.counted};
}

Number number_of_axis(Axis d) {
  return (Number){.i = d.n, .symbol = d.symbol, .more = d.more, .counted = d.counted};
}

/* n times the symbol and the rest, of a number all of it. */
static int64_t times_of(Axis d) { return d.symbol ? d.n : 0; }
static int64_t rest_of(Axis d) { return d.symbol ? d.more : d.n; }

static bool put(int64_t times, int64_t rest, int symbol, Axis *out) {
  if (times < 0 || times > INT32_MAX || (times && (rest > INT32_MAX || rest < -INT32_MAX)))
    return false;
  *out = times ? (Axis){.n = times, .symbol = symbol, .more = rest} : (Axis){.n = rest};
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
  return (Axis){.n = d.n / x, .symbol = d.symbol, .more = d.more / x};
}

/* The symbols that a dimension is the product of, and the number; a sum is a factor itself. */
static int factors_of(const Import *im, Axis d, Axis *out, int64_t *times) {
  *times = d.n;
  if (!d.symbol) return 0;
  const Symbol *s = &im->symbols[d.symbol - 1];
  out[0] = primitive(d, times);
  if (d.more || !s->nfactors) return 1; /* also of a sum of products */
  for (int i = 0; i < s->nfactors; i++) {
    const Axis sum = im->symbols[s->factors[i] - 1].sum;
    out[i] = sum.n ? sum : (Axis){.n = 1, .symbol = s->factors[i]};
  }
  return s->nfactors;
}

int dim_factors(Import *im, Axis d, Axis *out) {
  int64_t times;
  const int n = factors_of(im, d, out, &times);
  if (d.more || n < 2) return out[0] = d, 1;
  if (times == 1) return n;
  if (!out[0].more) return out[0].n = times, n;
  memmove(out + 1, out, (size_t)n * sizeof *out);
  return out[0] = (Axis){.n = times}, n + 1;
}

static int symbol_new(Import *im, Symbol s) {
  if (im->nsymbols == MOST_SYMBOLS) return 0;
  im->symbols[im->nsymbols++] = s;
  return im->nsymbols;
}

/* The symbol that a factor is, also of a sum; 0: there are too many. */
static int symbol_of_factor(Import *im, Axis d) {
  const Symbol *of = &im->symbols[d.symbol - 1];
  if (!d.more) return d.n == 1 ? d.symbol : 0;
  if (of->nfactors) return 0;
  for (int i = 0; i < im->nsymbols; i++)
    if (im->symbols[i].sum.n && dim_same(im->symbols[i].sum, d)) return i + 1;
  Symbol s = {.wish = of->wish, .times = 1, .sum = d};
  s.name = arena_printf(im->a, "(%s)", dim_text(im, d));
  if (__builtin_mul_overflow(d.n, of->bound, &s.bound) ||
      __builtin_add_overflow(s.bound, d.more, &s.bound))
    return 0;
  return symbol_new(im, s);
}

/* False: of too many, or of more elements than there can be. */
static bool product_of(Import *im, const Axis *at, int n, Axis *out) {
  Symbol p = {.name = "", .bound = 1, .times = 1};
  if (n > MOST_FACTORS) return false;
  for (int i = 0; i < n; i++) {
    int k = p.nfactors++;
    const int factor = symbol_of_factor(im, at[i]);
    if (!factor) return false;
    for (; k > 0 && p.factors[k - 1] > factor; k--) p.factors[k] = p.factors[k - 1];
    p.factors[k] = factor;
  }
  for (int i = 0; i < im->nsymbols; i++)
    if (im->symbols[i].nfactors == n &&
        memcmp(im->symbols[i].factors, p.factors, (size_t)n * sizeof *p.factors) == 0)
      return *out = (Axis){.n = 1, .symbol = i + 1}, true;
  for (int i = 0; i < n; i++) {
    const Symbol *f = &im->symbols[p.factors[i] - 1];
    p.name = arena_printf(im->a, "%s%s%s", p.name, i ? " * " : "", f->name);
    if (!i) p.wish = f->wish;
    if (__builtin_mul_overflow(p.bound, f->bound, &p.bound) || p.bound > INT32_MAX) return false;
  }
  *out = (Axis){.n = 1, .symbol = symbol_new(im, p)};
  return out->symbol > 0;
}

bool dim_join(Import *im, Axis a, Axis b, Axis *out) {
  Axis at[2 * MOST_FACTORS];
  int64_t times, more;
  if (!a.symbol || !b.symbol) return dim_times(a, b, out);
  const int n = factors_of(im, a, at, &times);
  const int all = n + factors_of(im, b, at + n, &more);
  return product_of(im, at, all, out) && !__builtin_mul_overflow(times, more, &times) &&
         dim_times(*out, (Axis){.n = times}, out);
}

bool shape_over(Import *im, const Shape *a, const Shape *b, Axis *out) {
  enum { MOST = MOST_RANK * MOST_FACTORS };
  Axis under[MOST], over[MOST], above = {.n = 1}, below = above;
  int64_t times;
  int n = 0, left = 0, k;
  for (int i = 0; i < b->rank; i++) {
    n += factors_of(im, b->at[i], under + n, &times);
    if (!dim_times(below, (Axis){.n = times}, &below)) return false;
  }
  for (int i = 0; i < a->rank; i++) {
    const int end = left + factors_of(im, a->at[i], over + left, &times);
    for (int f = left; f < end; f++) {
      for (k = 0; k < n && !dim_same(under[k], over[f]); k++) continue;
      if (k < n)
        under[k] = under[--n];
      else
        over[left++] = over[f];
    }
    if (!dim_times(above, (Axis){.n = times}, &above)) return false;
  }
  *out = (Axis){.n = 1};
  if (!below.n) return !above.n;
  if (n || !dim_over(above, below, &above)) return false;
  if (left == 1) *out = over[0];
  if (left > 1 && !product_of(im, over, left, out)) return false;
  return dim_times(*out, above, out);
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
