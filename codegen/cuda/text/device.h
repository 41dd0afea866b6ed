/* What every kernel stands on: types, the names that the texts shared with the CPU use, and all that
   is the hardware's own, each behind one primitive. Contract: this is the only text with instructions
   in it; the same bits come from the same operands on every GPU, and from f32 operands the same as on
   the CPU. Compiled without include directories, with --fmad=false --ftz=true. */
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef float f32;
typedef double f64;
typedef uint8_t u8;
typedef int32_t i32;
typedef int64_t i64;
#define INT32_MAX 2147483647
#define INT32_MIN (-INT32_MAX - 1)
#define INT64_MAX 9223372036854775807LL
#define INT64_MIN (-INT64_MAX - 1)
#define INL static __device__ __forceinline__
#define ALL 0xffffffffu /* threads of a warp */

/* ---- names that the shared texts have from the C compiler ---- */
#define __builtin_memcpy memcpy
#define __builtin_fmaf __fmaf_rn
#define __builtin_fma __fma_rn
#define __builtin_fabsf fabsf
#define __builtin_fabs fabs
#define __builtin_sqrtf __fsqrt_rn
#define __builtin_sqrt __dsqrt_rn
#define __builtin_floorf floorf
#define __builtin_floor floor
#define __builtin_ceilf ceilf
#define __builtin_ceil ceil
#define __builtin_rintf rintf
#define __builtin_rint rint
#define __builtin_fmodf fmodf
#define __builtin_fmod fmod
#define __builtin_inff() __int_as_float(0x7f800000)
#define __builtin_inf() __longlong_as_double(0x7ff0000000000000LL)
#define __builtin_nanf(s) __int_as_float(0x7fc00000)
#define __builtin_nan(s) __longlong_as_double(0x7ff8000000000000LL)
#define __builtin_exp exp
#define __builtin_expm1 expm1
#define __builtin_log log
#define __builtin_log1p log1p
#define __builtin_sin sin
#define __builtin_cos cos
#define __builtin_tanh tanh
#define __builtin_erf erf
#define __builtin_pow pow

/* The quotient, rounded once. By name: NVRTC 13.0 with --ftz=true takes x / 3 in f32 for x times the
   rounded 1 / 3 from sm_100 on, whatever --prec-div says. */
INL f32 divide(f32 a, f32 b) { return __fdiv_rn(a, b); }
INL f64 divide(f64 a, f64 b) { return __ddiv_rn(a, b); }

/* ---- what a launch gets beside its pointers; see gcrt.h ---- */
struct GcEnv {
  uint64_t seed, step;
};
struct GcDeviceFault {
  i32 input, unused;
  int64_t row, value, limit;
};
/* The first report wins. */
INL void gc_fault(GcDeviceFault *fault, i32 input, int64_t row, int64_t value, int64_t limit) {
  if (atomicCAS(&fault->input, -1, input) != -1) return;
  fault->row = row;
  fault->value = value;
  fault->limit = limit;
}

/* ---- V elements that move together, 16 bytes at a time ---- */
template <typename T, int V> struct __align__(sizeof(T) * V < 16 ? sizeof(T) * V : 16) Vec { T at[V]; };

/* ---- threads ---- */
INL void warp_sync() { __syncwarp(ALL); }
INL void block_sync() { __syncthreads(); }
/* what the thread `by` further has; and what thread 0 of the warp has */
INL f32 warp_down(f32 x, int by) { return __shfl_down_sync(ALL, x, by); }
INL i32 warp_down(i32 x, int by) { return __shfl_down_sync(ALL, x, by); }
INL f64 warp_down(f64 x, int by) { return __shfl_down_sync(ALL, x, by); }
INL i64 warp_down(i64 x, int by) { return __shfl_down_sync(ALL, x, by); }
INL u8 warp_down(u8 x, int by) { return (u8)__shfl_down_sync(ALL, (i32)x, by); }
INL f32 warp_first(f32 x) { return __shfl_sync(ALL, x, 0); }
INL i32 warp_first(i32 x) { return __shfl_sync(ALL, x, 0); }
INL f64 warp_first(f64 x) { return __shfl_sync(ALL, x, 0); }
INL i64 warp_first(i64 x) { return __shfl_sync(ALL, x, 0); }
INL u8 warp_first(u8 x) { return (u8)__shfl_sync(ALL, (i32)x, 0); }
/* a bit for every thread of the warp whose condition holds */
INL uint32_t warp_ballot(bool x) { return __ballot_sync(ALL, x); }
#define INL_MEMBER static __device__ __forceinline__
