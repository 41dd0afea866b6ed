/* Element by element; see compare.h. */
#include "tests/num/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool scalar_same(Scalar x, Scalar y, Dtype dt) {
  if (!dtype_is_float(dt)) return x.i == y.i;
  return (x.f != x.f && y.f != y.f) || (x.f == y.f && signbit(x.f) == signbit(y.f));
}

static bool within(Scalar x, Scalar y, double eps) {
  if (x.f != x.f || y.f != y.f) return x.f != x.f && y.f != y.f;
  return x.f == y.f || fabs(x.f - y.f) <= eps * fmax(1, fmax(fabs(x.f), fabs(y.f)));
}

bool scalar_close(Scalar x, Scalar y, Dtype dt) {
  return dt == DT_F64 ? within(x, y, 1e-12) : scalar_same(x, y, dt);
}

bool scalar_near(Scalar x, Scalar y, Dtype dt) {
  if (!dtype_is_float(dt)) return x.i == y.i;
  double eps = dt == DT_F64 ? 1e-11 : dt == DT_F32 ? 1e-4 : dt == DT_F16 ? 4e-3 : 3e-2;
  return within(x, y, eps); /* halves have 8 or 11 bits */
}

int tensor_compare(const char *what, const char *name, const Tensor *want, const Tensor *got,
                   ScalarSame *same) {
  const Type *t = want->type;
  int64_t wrong = 0, first = -1;
  if (memcmp(want->at, got->at, (size_t)t->numel * sizeof *want->at) == 0) return 0;
  for (int64_t i = 0; i < t->numel; i++) {
    if (same(want->at[i], got->at[i], t->dtype)) continue;
    if (!wrong++) first = i;
  }
  if (!wrong) return 0;
  const Scalar *x = &want->at[first], *y = &got->at[first];
  bool real = dtype_is_float(t->dtype);
  printf("%s: %s: %lld of %lld differ, element %lld is %.9g, not %.9g\n", what, name,
         (long long)wrong, (long long)t->numel, (long long)first, real ? y->f : (double)y->i,
         real ? x->f : (double)x->i);
  return 1;
}

int tensor_compare_size(const char *what, const char *name, const Tensor *want, const Tensor *got,
                        double part) {
  const Type *t = want->type;
  double off = 0, size = 0;
  for (int64_t i = 0; dtype_is_float(t->dtype) && i < t->numel; i++) {
    double x = want->at[i].f, y = got->at[i].f;
    if (!isfinite(x) || !isfinite(y)) {
      if (!scalar_same(want->at[i], got->at[i], t->dtype)) off = INFINITY;
      continue;
    }
    off += (y - x) * (y - x);
    size += x * x;
  }
  if (off <= part * part * size) return 0;
  printf("%s: %s: off by %.3g of its size\n", what, name, size > 0 ? sqrt(off / size) : off);
  return 1;
}
