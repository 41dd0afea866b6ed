/* The conformance test's comparison of a compiled op with the reference. Contract: moves,
   comparisons, integers and correctly rounded arithmetic agree in every bit; elementary functions
   within the errors stated in codegen/shared/math.h; sums relative to the sum of magnitudes. */
#include "tests/num/conformance.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum { RESULTS = 3 };

static double unit_at(Dtype dt, double v) { /* in the last place of v */
  static const int digits[DTYPES] = {[DT_F16] = 11, [DT_BF16] = 8, [DT_F32] = 24, [DT_F64] = 53};
  static const int least[DTYPES] = {
      [DT_F16] = -13, [DT_BF16] = -125, [DT_F32] = -125, [DT_F64] = -1021};
  int e;
  frexp(v, &e);
  if (v == 0 || e < least[dt]) e = least[dt];
  return ldexp(1, e - digits[dt]);
}

static double tolerance(const Case *c, double want, double magnitude, double largest) {
  Dtype dt = c->dt;
  bool half = dt == DT_F16 || dt == DT_BF16;
  double eps = dt == DT_F64 ? 0x1p-52 : 0x1p-23, last = unit_at(dt, want);
  double roundings = c->row->limit + (double)c->terms;
  switch (c->row->rule) {
  case EXACT: return 0;
  case ROUNDED: /* half a unit for the reference's own rounding; the narrow floats round f32's
                   result */
    return (half ? 1.01 : c->row->limit + 0.51) * last +
           (half ? 0 : eps * (double)(c->terms - 1) * fabs(want)) + (dt == DT_F64 ? 0 : FLT_MIN);
  case MAGNITUDES: return roundings * eps * magnitude + (half ? 1.01 * last : 0);
  case ROWS:
    if (half && op_info[c->kind].cls == CLASS_COMPOSITE) /* its parts are rounded, too */
      return 4 * unit_at(dt, (1 + largest) * (1 + largest));
    return roundings * eps * (1 + largest) * 2 + (half ? 1.01 * last : 0);
  }
  return 0;
}

static bool equal(Dtype dt, Scalar a, Scalar b, double tol) {
  if (!dtype_is_float(dt)) return a.i == b.i;
  if (a.f != a.f || b.f != b.f) return a.f != a.f && b.f != b.f;
  if (a.f == b.f) return tol > 0 || signbit(a.f) == signbit(b.f);
  return fabs(a.f - b.f) <= tol;
}

/* Of a quantized integer, or of a pair of them, each of which stands plus 8. */
static int64_t magnitude(int64_t q, Dtype dt) {
  if (dt == DT_I8) return q < 0 ? -q : q;
  int64_t lo = (q & 15) - 8, hi = (q >> 4) - 8;
  lo = lo < 0 ? -lo : lo, hi = hi < 0 ? -hi : hi;
  return (lo > 7 ? 7 : lo) + 8 + 16 * ((hi > 7 ? 7 : hi) + 8);
}

static void magnitudes(Case *c, Interp *it, Tensor *out) {
  Tensor in[8];
  for (int i = 0; i < c->n; i++) {
    in[i] = (Tensor){c->x[i].type, ARENA_ARRAY(c->m->arena, Scalar, c->x[i].type->numel + 1)};
    Dtype dt = in[i].type->dtype;
    bool quantized = c->kind == OP_QUANTIZED_MATMUL || c->kind == OP_SCALED_MATMUL;
    for (int64_t j = 0; j < in[i].type->numel; j++) {
      Scalar x = c->x[i].at[j];
      in[i].at[j] = dtype_is_float(dt) ? (Scalar){.f = fabs(x.f)}
                    : quantized        ? (Scalar){.i = magnitude(x.i, dt)}
                                       : x;
    }
  }
  interp_run(it, c->e, in, out);
}

static bool report(Case *c, const char *what, int64_t at, Scalar got, Scalar want, double tol,
                   uint64_t seed) {
  bool f = dtype_is_float(c->dt) && !(op_info[c->kind].flags & OPF_BOOL_RESULT);
  printf("%s %s seed %llu size %d: %s: element %lld ", op_info[c->kind].name, dtype_name(c->dt),
         (unsigned long long)seed, c->size, what, (long long)at);
  if (f)
    printf("is %.17g, not %.17g (tolerance %.3g);", got.f, want.f, tol);
  else
    printf("is %lld, not %lld;", (long long)got.i, (long long)want.i);
  for (int i = 0; i < c->n; i++) printf(" %s", type_str(c->ctx, c->x[i].type));
  if (c->given) printf(" to %s", type_str(c->ctx, c->given));
  for (int i = 0; i < c->n && c->x[i].type->numel; i++) {
    const Tensor *x = &c->x[i];
    if (op_info[c->kind].cls != CLASS_ELEMENT) break;
    if (dtype_is_float(x->type->dtype))
      printf(" %.17g", x->at[at].f);
    else
      printf(" %lld", (long long)x->at[at].i);
  }
  printf("\n");
  return false;
}

/* One result of a run against the reference, and against the run before where there is one. */
static bool same(Case *c, const Tensor *want, const Scalar *scale, const Tensor *got,
                 const Tensor *before, double largest, uint64_t seed) {
  Dtype dt = want->type->dtype;
  if (got->type != want->type) {
    printf("%s: %s, not %s\n", op_info[c->kind].name, type_str(c->ctx, got->type),
           type_str(c->ctx, want->type));
    return false;
  }
  for (int64_t i = 0; i < want->type->numel; i++) {
    double tol =
        dtype_is_float(dt) ? tolerance(c, want->at[i].f, scale ? fabs(scale[i].f) : 0, largest) : 0;
    if (!equal(dt, got->at[i], want->at[i], tol))
      return report(c, before ? "many threads" : "one thread", i, got->at[i], want->at[i], tol,
                    seed);
    if (before && !equal(dt, got->at[i], before->at[i], 0))
      return report(c, "many threads against one", i, got->at[i], before->at[i], 0, seed);
  }
  return true;
}

bool conformance_check(Case *c, Interp *it, Interp *wide, Compiled *p, uint64_t seed) {
  Tensor want[RESULTS], scale[RESULTS] = {0}, got[2][RESULTS];
  Ctx *ctx = c->ctx;
  int runs = c->global >= 0 ? 2 : 1, many = seed & 1 ? 3 : 17; /* few, or more than units */
  double largest = 0;
  for (int i = 0; i < c->n; i++)
    for (int64_t j = 0; dtype_is_float(c->x[i].type->dtype) && j < c->x[i].type->numel; j++)
      if (fabs(c->x[i].at[j].f) > largest) largest = fabs(c->x[i].at[j].f);
  for (int run = 0; run < runs; run++) {
    if (!interp_run(it, c->e, c->x, want)) {
      printf("%s: the reference says: %s\n", op_info[c->kind].name, it->why);
      return false;
    }
    if (c->row->rule == MAGNITUDES) magnitudes(c, wide, scale);
    for (int k = 0; k < 2; k++) {
      RunOptions ro = {
          .threads = k ? many : 1, .order = seed + (uint64_t)k, .poison = k, .seed = 77};
      if (c->global >= 0 && k) break; /* a run has its effect once */
      if (c->global >= 0) ro.threads = 1 + 2 * run;
      if (!compiled_run(p, c->e->name, &ro, c->x, got[k], ctx)) {
        printf("%s %s: fault: %s\n", op_info[c->kind].name, dtype_name(c->dt), p->fault);
        return false;
      }
      for (int i = 0; i < c->results; i++)
        if (!same(c, &want[i], scale[i].at, &got[k][i], k ? &got[0][i] : NULL, largest, seed))
          return false;
    }
  }
  return true;
}
