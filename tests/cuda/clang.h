/* What CUDA C means to clang, as far as gc's source needs it, without a file of NVIDIA's: put
   before the source by -include. Contract: f32 is rounded once with subnormal numbers taken for 0,
   as NVRTC does with --ftz=true; f64's functions, which CUDA has from a library of its own, are
   right to 1e-13, relative, or absolute below 1; the sine of numbers above 1e15 is NaN. */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))
#define OWN static __device__ __forceinline__

struct ThreadIndex {
  __declspec(property(get = get)) unsigned x;
  static __device__ __forceinline__ unsigned get() { return __nvvm_read_ptx_sreg_tid_x(); }
};
struct BlockIndex {
  __declspec(property(get = get)) unsigned x;
  static __device__ __forceinline__ unsigned get() { return __nvvm_read_ptx_sreg_ctaid_x(); }
};
struct GridSize {
  __declspec(property(get = get)) unsigned x;
  static __device__ __forceinline__ unsigned get() { return __nvvm_read_ptx_sreg_nctaid_x(); }
};
extern const __device__ __attribute__((weak)) GridSize gridDim;
extern const __device__ __attribute__((weak)) ThreadIndex threadIdx;
extern const __device__ __attribute__((weak)) BlockIndex blockIdx;

/* ---- bits ---- */
OWN float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
OWN double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
OWN int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
OWN long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
OWN unsigned long long __cvta_generic_to_shared(const void *p) {
  return (unsigned long long)(__attribute__((address_space(3))) const void *)p;
}
#define memcpy __builtin_memcpy
OWN int __ffs(int x) { return __builtin_ffs(x); }

/* ---- arithmetic, rounded once; f32 with --ftz=true ---- */
OWN float __fmaf_rn(float a, float b, float c) { return __nvvm_fma_rn_ftz_f(a, b, c); }
OWN double __fma_rn(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }
OWN float __fdiv_rn(float a, float b) { return __nvvm_div_rn_ftz_f(a, b); }
OWN double __ddiv_rn(double a, double b) { return __nvvm_div_rn_d(a, b); }
OWN float __fsqrt_rn(float a) { return __nvvm_sqrt_rn_ftz_f(a); }
OWN double __dsqrt_rn(double a) { return __nvvm_sqrt_rn_d(a); }
#define BOTH(name, call)                                                                           \
  OWN float name##f(float x) { return call##f(x); }                                                \
  OWN double name(double x) { return call(x); }
BOTH(fabs, __builtin_fabs)
BOTH(floor, __builtin_floor)
BOTH(ceil, __builtin_ceil)
BOTH(rint, __builtin_rint)
/* The remainder of a / b with the sign of a, which is exact: long division of the significands. */
template <typename T, typename U, int BITS, bool FLUSH> OWN T remainder_of(T a, T b) {
  const U one = (U)1 << BITS, top = (U)1 << (sizeof(U) * 8 - 1), inf = top - one;
  U x = __builtin_bit_cast(U, a), y = __builtin_bit_cast(U, b);
  const U sign = x & top;
  x &= ~top, y &= ~top;
  if (FLUSH) x = x < one ? 0 : x, y = y < one ? 0 : y;
  if (y == 0 || x >= inf || y > inf) return __builtin_bit_cast(T, (U)(inf | one >> 1));
  if (x < y) return __builtin_bit_cast(T, (U)(sign | x));
  int ex = (int)(x >> BITS), ey = (int)(y >> BITS); /* of subnormal numbers 1 */
  x = ex ? (x & (one - 1)) | one : x, y = ey ? (y & (one - 1)) | one : y;
  ex += !ex, ey += !ey;
  for (; ex > ey; ex--) x = (x >= y ? x - y : x) << 1;
  if (x >= y) x -= y;
  for (; x && x < one && ex > 1; ex--) x <<= 1;
  if (x >= one) return __builtin_bit_cast(T, (U)(sign | (U)ex << BITS | (x & (one - 1))));
  return __builtin_bit_cast(T, (U)(sign | (FLUSH ? 0 : x)));
}
OWN float fmodf(float a, float b) { return remainder_of<float, unsigned, 23, true>(a, b); }
OWN double fmod(double a, double b) {
  return remainder_of<double, unsigned long long, 52, false>(a, b);
}

/* ---- f64's functions, which CUDA has in a library of its own: to some 1e-14, plainly ---- */
OWN double two_to(int k) { return __longlong_as_double((long long)(k + 1023) << 52); }
OWN double exp(double x) {
  if (!(x > -746)) return x != x ? x : 0;
  if (x > 710) return __longlong_as_double(0x7ff0000000000000LL);
  const double n = rint(x * 1.4426950408889634);
  const double r = __fma_rn(n, -1.9082149292705877e-10, __fma_rn(n, -0.69314718036912382, x));
  double y = 1;
  for (int i = 14; i; i--) y = 1 + r * y / i;
  return y * two_to((int)n / 2) * two_to((int)n - (int)n / 2);
}
OWN double expm1(double x) {
  if (!(fabs(x) < 0.5)) return exp(x) - 1;
  double y = 1;
  for (int i = 16; i > 1; i--) y = 1 + x * y / i;
  return x * y;
}
/* 2 atanh(s) of a small s */
OWN double twice_atanh(double s) {
  double y = 0;
  for (int i = 12; i >= 0; i--) y = y * s * s + 1.0 / (2 * i + 1);
  return 2 * s * y;
}
OWN double log(double x) {
  const double inf = __longlong_as_double(0x7ff0000000000000LL);
  if (!(x > 0)) return x == 0 ? -inf : __longlong_as_double(0x7ff8000000000000LL);
  if (x == inf) return x;
  const int small = x < 0x1p-1000 ? 54 : 0;
  const long long i = __builtin_bit_cast(long long, small ? x * 0x1p54 : x);
  const long long e = (i - 0x3fe6a09e667f3bcd) >> 52;
  const double m = __longlong_as_double(i - (e << 52)), n = (double)(e - small);
  return n * 0.69314718036912382 + (n * 1.9082149292705877e-10 + twice_atanh((m - 1) / (m + 1)));
}
OWN double log2(double x) { return log(x) * 1.4426950408889634; }
OWN double log1p(double x) { return fabs(x) < 0.25 ? twice_atanh(x / (2 + x)) : log(1 + x); }
/* of x + quarter right angles */
OWN double circle(double x, int quarter) {
  const double n = rint(x * 0.63661977236758134);
  if (!(fabs(n) < 0x1p50)) return x - x == 0 ? __longlong_as_double(0x7ff8000000000000LL) : x - x;
  const double low = __fma_rn(n, -6.123233995736766e-17, __fma_rn(n, -1.5707963267948966, x));
  const double r = __fma_rn(n, 1.4973849048591833e-33, low);
  const long long q = (long long)n + quarter;
  double y = 1;
  for (int i = 20; i > 0; i -= 2) y = 1 - r * r * y / (q & 1 ? i * (i - 1) : i * (i + 1));
  if (!(q & 1)) y *= r;
  return q & 2 ? -y : y;
}
OWN double sin(double x) { return circle(x, 0); }
OWN double cos(double x) { return circle(x, 1); }
OWN double tanh(double x) {
  const double t = expm1(2 * fabs(x)), y = fabs(x) > 22 ? 1 : t / (t + 2);
  return x < 0 ? -y : y;
}
OWN double erf(double x) {
  const double a = fabs(x);
  double term = a, sum = a;
  if (a > 6) return x < 0 ? -1 : 1;
  for (int k = 1; term > sum * 1e-18; k++) {
    term *= 2 * a * a / (2 * k + 1);
    sum += term;
  }
  const double y = 1.1283791670955126 * exp(-a * a) * sum;
  return x < 0 ? -y : x != x ? x : y;
}
OWN double pow(double a, double b) {
  const bool whole = rint(b) == b, odd = whole && rint(b / 2) != b / 2;
  if (b == 0 || a == 1) return 1;
  if (a != a || b != b) return a + b;
  if (a < 0 && !whole && a != -__longlong_as_double(0x7ff0000000000000LL))
    return __longlong_as_double(0x7ff8000000000000LL);
  const double l = log(fabs(a)), y = l == 0 ? 1 : exp(b * l);
  return odd && __builtin_bit_cast(long long, a) < 0 ? -y : y;
}

/* ---- threads ---- */
OWN void __syncwarp(unsigned who) { __nvvm_bar_warp_sync(who); }
OWN unsigned __ballot_sync(unsigned who, bool x) { return __nvvm_vote_ballot_sync(who, x); }
OWN unsigned atomicAdd(unsigned *p, unsigned x) {
  return (unsigned)__nvvm_atom_add_gen_i((int *)p, (int)x);
}
OWN unsigned long long atomicAdd(unsigned long long *p, unsigned long long x) {
  return (unsigned long long)__nvvm_atom_add_gen_ll((long long *)p, (long long)x);
}
OWN unsigned atomicInc(unsigned *p, unsigned most) { return __nvvm_atom_inc_gen_ui(p, most); }
OWN unsigned atomicExch(unsigned *p, unsigned x) {
  return (unsigned)__nvvm_atom_xchg_gen_i((int *)p, (int)x);
}
OWN unsigned long long atomicExch(unsigned long long *p, unsigned long long x) {
  return (unsigned long long)__nvvm_atom_xchg_gen_ll((long long *)p, (long long)x);
}
OWN void __threadfence() { __nvvm_membar_gl(); }
OWN int atomicCAS(int *p, int was, int is) { return __nvvm_atom_cas_gen_i(p, was, is); }
/* all 32 lanes are one group */
OWN int __shfl_down_sync(unsigned who, int x, int by) {
  return __nvvm_shfl_sync_down_i32(who, x, by, 31);
}
OWN int __shfl_sync(unsigned who, int x, int from) {
  return __nvvm_shfl_sync_idx_i32(who, x, from, 31);
}
OWN float __shfl_down_sync(unsigned who, float x, int by) {
  return __nvvm_shfl_sync_down_f32(who, x, by, 31);
}
OWN float __shfl_xor_sync(unsigned who, float x, int by) {
  return __nvvm_shfl_sync_bfly_f32(who, x, by, 31);
}
OWN float __shfl_sync(unsigned who, float x, int from) {
  return __nvvm_shfl_sync_idx_f32(who, x, from, 31);
}
OWN double __shfl_xor_sync(unsigned who, double x, int by) {
  struct Pair {
    int low, high;
  } p = __builtin_bit_cast(Pair, x);
  p.low = __nvvm_shfl_sync_bfly_i32(who, p.low, by, 31);
  p.high = __nvvm_shfl_sync_bfly_i32(who, p.high, by, 31);
  return __builtin_bit_cast(double, p);
}
template <typename T> OWN T halves(T x, unsigned who, int by, bool down) {
  struct Pair {
    int low, high;
  } p = __builtin_bit_cast(Pair, x);
  p.low = down ? __shfl_down_sync(who, p.low, by) : __shfl_sync(who, p.low, by);
  p.high = down ? __shfl_down_sync(who, p.high, by) : __shfl_sync(who, p.high, by);
  return __builtin_bit_cast(T, p);
}
OWN double __shfl_down_sync(unsigned who, double x, int by) { return halves(x, who, by, true); }
OWN double __shfl_sync(unsigned who, double x, int from) { return halves(x, who, from, false); }
OWN long long __shfl_down_sync(unsigned who, long long x, int by) {
  return halves(x, who, by, true);
}
OWN long long __shfl_sync(unsigned who, long long x, int from) {
  return halves(x, who, from, false);
}
