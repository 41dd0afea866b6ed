/* What every kernel stands on: types, the names that the texts shared with the CPU use, and all that
   is the hardware's own, each behind one primitive. Contract: instructions stand in this text and in
   device_sm90a.h alone; the same bits come from the same operands on every GPU, and from f32 operands the same as on
   the CPU. Compiled without include directories, with --fmad=false --ftz=true. */
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef float f32;
typedef double f64;
typedef uint8_t u8;
typedef int8_t i8;
typedef int32_t i32;
typedef int64_t i64;
#define INT32_MAX 2147483647
#define INT32_MIN (-INT32_MAX - 1)
#define INT64_MAX 9223372036854775807LL
#define INT64_MIN (-INT64_MAX - 1)
#define INL static __device__ __forceinline__
#define INL_MEMBER static __device__ __forceinline__
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
#define __builtin_log2 log2
#define __builtin_sin sin
#define __builtin_cos cos
#define __builtin_tanh tanh
#define __builtin_erf erf
#define __builtin_pow pow

#define GC_LANES /* an array of one lane is a register */

/* What code for sm_90a has instead of that for other architectures. */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define GC_SM90A 1
#define GC_EITHER(other, ...) __VA_ARGS__
#else
#define GC_SM90A 0
#define GC_EITHER(other, ...) other
#endif

/* The quotient, rounded once. By name: NVRTC 13.0 with --ftz=true takes x / 3 in f32 for x times the
   rounded 1 / 3 from sm_100 on, whatever --prec-div says. */
INL f32 divide(f32 a, f32 b) { return __fdiv_rn(a, b); }
INL f64 divide(f64 a, f64 b) { return __ddiv_rn(a, b); }

/* ---- what a launch gets beside its pointers; see gcrt.h ---- */
struct GcEnv {
  uint64_t seed, step;
};
struct GcDeviceFault {
  i32 site, unused;
  int64_t at, value, limit;
};
/* The first report wins. */
INL void gc_fault(GcDeviceFault *fault, i32 site, int64_t at, int64_t value, int64_t limit) {
  if (atomicCAS(&fault->site, -1, site) != -1) return;
  fault->at = at;
  fault->value = value;
  fault->limit = limit;
}

/* section grid_wait */
/* What each kernel begins with. From sm_90 on its grid may be launched before the one in front of it has ended
   (programmatic dependent launch): it waits for the end of that one, and of all before, and for what they wrote;
   then the grid behind it may be launched. Elsewhere a launch waits by itself. */
INL void grid_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* section prefetch_rows */
/* Asks L2 for what a block will read of a matrix, BYTES of adjacent columns of `rows` rows from `from` on, STRIDE bytes
   apart: of each PART rows the first AHEAD. Nothing is read, so a kernel may do that before grid_wait: what is written
   until then is seen all the same. */
template <int BYTES, int64_t STRIDE, int PART, int AHEAD> INL void prefetch_rows(const void *from, int rows) {
#if __CUDA_ARCH__ >= 900
  enum { LINE = 128, LINES = (BYTES + LINE - 1) / LINE };
  const int parts = (rows + PART - 1) / PART;
#pragma unroll 1
  for (int i = (int)threadIdx.x; i < parts * AHEAD * LINES; i += (int)blockDim.x) {
    const int row = i / LINES / AHEAD * PART + i / LINES % AHEAD;
    const char *at = (const char *)from + (row * STRIDE + i % LINES * LINE);
    if (row < rows) asm volatile("prefetch.global.L2 [%0];" :: "l"(at));
  }
#endif
}

/* section env_extent */
/* The run-time value of an extent of the entry. It comes with the step's seed, so that a captured graph serves every
   extent: grids are those of the bound, and blocks behind the extent leave. */
INL int env_extent(const GcEnv *env, int i) { return ((const i32 *)(env + 1))[2 + i]; /* behind the CPU's `work` */ }

/* section env_first_row */
/* The first row of the batch that this rank of a data-parallel program has; it lies behind the extents. */
INL int64_t env_first_row(const GcEnv *env) { return ((const i32 *)(env + 1))[2 + 8]; }
/* section env_rank */
/* The number of this rank; it lies behind its first row. */
INL i32 env_rank(const GcEnv *env) { return ((const i32 *)(env + 1))[2 + 9]; }

/* section constant_f32 constant_f64 constant_i32 constant_i64 constant_u64 */
/* A parameter by which launches of one kernel differ; its bits. */
INL f32 constant_f32(uint64_t bits) { return __int_as_float((i32)bits); }
INL f64 constant_f64(uint64_t bits) { return __longlong_as_double((i64)bits); }
INL i32 constant_i32(uint64_t bits) { return (i32)bits; }
INL i64 constant_i64(uint64_t bits) { return (i64)bits; }
INL uint64_t constant_u64(uint64_t bits) { return bits; }
/* section smaller */
INL i32 smaller(i32 a, i32 b) { return a < b ? a : b; }
INL i64 smaller(i64 a, i64 b) { return a < b ? a : b; }

/* section Vec */
/* ---- vectors: V elements that one access loads or stores, at most 16 bytes ---- */
template <typename T, int V> struct __align__(sizeof(T) * V < 16 ? sizeof(T) * V : 16) Vec { T at[V]; };

/* section load_four */
/* Four vectors that lie STRIDE bytes apart, where no thread of the launch writes. Of f32 they are one text: NVRTC would
   compare each of many loads with each other one, and of a product of few rows that takes longer than all else. */
template <int64_t STRIDE, typename V> INL void load_four(V *to, const void *from) {
#pragma unroll
  for (int i = 0; i < 4; i++) to[i] = *(const V *)((const char *)from + i * STRIDE);
}
template <int64_t STRIDE> INL void load_four(Vec<f32, 1> *to, const void *from) {
  enum { NEAR = STRIDE < 1 << 28, ROW = NEAR ? STRIDE : 0 }; /* an instruction adds 31 bits to an address */
  if (NEAR)
    asm volatile("ld.global.f32 %0, [%4];\nld.global.f32 %1, [%4+%5];\n"
                 "ld.global.f32 %2, [%4+%6];\nld.global.f32 %3, [%4+%7];"
                 : "=f"(to[0].at[0]), "=f"(to[1].at[0]), "=f"(to[2].at[0]), "=f"(to[3].at[0])
                 : "l"(from), "n"((int)ROW), "n"(2 * ROW), "n"(3 * ROW) : "memory");
  else
    load_four<STRIDE, Vec<f32, 1>>(to, from);
}

/* section fma_where */
/* acc += a b where `on` is not 0: one instruction under a predicate, not two and a choice. */
INL void fma_where(uint32_t on, f32 a, f32 b, f32 &acc) {
  asm("{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\n@p fma.rn.ftz.f32 %0, %1, %2, %0;\n}" : "+f"(acc) : "f"(a), "f"(b), "r"(on));
}
INL void fma_where(uint32_t on, f64 a, f64 b, f64 &acc) {
  asm("{\n.reg .pred p;\nsetp.ne.b32 p, %3, 0;\n@p fma.rn.f64 %0, %1, %2, %0;\n}" : "+d"(acc) : "d"(a), "d"(b), "r"(on));
}

/* section choose_bytes */
/* Four of the bytes of two words, of which x has 0 to 3 and y has 4 to 7: the hex digits of `choice`, the lowest first. */
INL uint32_t choose_bytes(uint32_t x, uint32_t y, uint32_t choice) {
  uint32_t r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y), "r"(choice));
  return r;
}
/* section bits_within */
/* The bits `mask` of x, and those of y: one instruction, which NVRTC makes two of if mask and y are constants. */
INL uint32_t bits_within(uint32_t x, uint32_t mask, uint32_t y) {
  uint32_t r;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(x), "r"(mask), "r"(y));
  return r;
}
/* section fma_bf16x2 */
/* a * b + c of both halves of words, each rounded once. */
INL uint32_t fma_bf16x2(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t r;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
/* section fma_f16x2 */
INL uint32_t fma_f16x2(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t r;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
/* section warp_sync block_sync */
INL void warp_sync() { __syncwarp(ALL); }
INL void block_sync() { __syncthreads(); }
/* section next_block */
/* A number for each of so many blocks that call it for a count which was 0, as they begin: those of lower numbers run, or
   have ended, so a block may wait for them. The count is 0 again behind. By all threads of a block. */
INL unsigned next_block(unsigned *count, unsigned blocks) {
  __shared__ unsigned number;
  if (threadIdx.x == 0) number = atomicInc(count, blocks - 1);
  block_sync();
  return number;
}
/* section last_block */
/* Of so many blocks that call it for a count which was 0, the last one is told so; it then knows what the others had
   stored. The count is 0 again behind. By all threads of a block. */
INL bool last_block(unsigned *count, unsigned blocks) {
  __shared__ unsigned before;
  block_sync();
  if (threadIdx.x == 0) {
    __threadfence();
    before = atomicInc(count, blocks - 1);
    __threadfence();
  }
  block_sync();
  return before + 1 == blocks;
}
/* section warp_down warp_first */
/* warp shuffles: the value of the thread `by` further, and that of thread 0 of the warp */
INL f32 warp_down(f32 x, int by) { return __shfl_down_sync(ALL, x, by); }
INL i32 warp_down(i32 x, int by) { return __shfl_down_sync(ALL, x, by); }
INL f64 warp_down(f64 x, int by) { return __shfl_down_sync(ALL, x, by); }
INL i64 warp_down(i64 x, int by) { return __shfl_down_sync(ALL, x, by); }
INL u8 warp_down(u8 x, int by) { return (u8)__shfl_down_sync(ALL, (i32)x, by); }
INL i8 warp_down(i8 x, int by) { return (i8)__shfl_down_sync(ALL, (i32)x, by); }
INL f32 warp_first(f32 x) { return __shfl_sync(ALL, x, 0); }
INL i32 warp_first(i32 x) { return __shfl_sync(ALL, x, 0); }
INL f64 warp_first(f64 x) { return __shfl_sync(ALL, x, 0); }
INL i64 warp_first(i64 x) { return __shfl_sync(ALL, x, 0); }
INL u8 warp_first(u8 x) { return (u8)__shfl_sync(ALL, (i32)x, 0); }
INL i8 warp_first(i8 x) { return (i8)__shfl_sync(ALL, (i32)x, 0); }
/* section warp_at */
/* what thread `i` of the warp has */
INL f32 warp_at(f32 x, int i) { return __shfl_sync(ALL, x, i); }
INL i32 warp_at(i32 x, int i) { return __shfl_sync(ALL, x, i); }
INL f64 warp_at(f64 x, int i) { return __shfl_sync(ALL, x, i); }
INL i64 warp_at(i64 x, int i) { return __shfl_sync(ALL, x, i); }
INL u8 warp_at(u8 x, int i) { return (u8)__shfl_sync(ALL, (i32)x, i); }
INL i8 warp_at(i8 x, int i) { return (i8)__shfl_sync(ALL, (i32)x, i); }
/* section warp_xor */
/* what the thread has whose number differs in the bits of `by` */
INL f32 warp_xor(f32 x, int by) { return __shfl_xor_sync(ALL, x, by); }
INL f64 warp_xor(f64 x, int by) { return __shfl_xor_sync(ALL, x, by); }
/* section warp_ballot */
/* a bit for every thread of the warp whose condition holds */
INL uint32_t warp_ballot(bool x) { return __ballot_sync(ALL, x); }

/* section async_copy async_commit async_wait matrix_load matrix_load_t tensor_fma_bf16 tensor_fma_f16 tensor_fma_tf32
   pack_bf16 pack_f16 round_tf32 exp2_approximate */
/* ---- asynchronous copies from global to shared memory (cp.async): 4, 8 or 16 BYTES, aligned to that. The
   first `valid` are read, and zeros follow. The copies that a thread began before async_commit are one group.
   async_wait<N> returns when all but its last N groups have arrived; other threads of the block see them after
   a block_sync. ---- */
INL uint32_t shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
template <int BYTES> INL void async_copy(void *to, const void *from, int valid) {
  if (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(to)), "l"(from), "r"(valid) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :: "r"(shared_address(to)), "l"(from), "n"(BYTES), "r"(valid) : "memory");
}
INL void async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> INL void async_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }

/* ---- tensor cores: a warp's part of a product in registers (ldmatrix, mma.sync) ----
   matrix_load: four matrices of 8 rows of 16 bytes in shared memory; thread 8 i + r names row r of
   matrix i; thread t gets of each the 4 bytes t % 4 of row t / 4 in r[i]. The other one transposes
   matrices of 2-byte elements: thread t gets elements 2 (t % 4) and the next one of column t / 4.
   tensor_fma: c += a b; a is 16 rows of 32 bytes, b 8 columns of 32 bytes: 16 elements of f16 or
   bf16, 8 of f32, of which the hardware reads the first 11 bits of the significand. With g = t / 4
   and q = t % 4, thread t has the 4 bytes q of a's row g in a[0], of row g + 8 in a[1], the 4 bytes
   q + 4 of those in a[2] and a[3]; of b's column g likewise in b[0] and b[1]; of c elements 2 q and
   the next of rows g and g + 8. Sums are in f32; their order is the hardware's, the same each time. */
INL void matrix_load(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}
INL void matrix_load_t(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(row)) : "memory");
}
#define TENSOR_FMA(NAME, SHAPE, TYPE)                                                             \
  INL void NAME(f32 &c0, f32 &c1, f32 &c2, f32 &c3, const uint32_t *a, const uint32_t *b) {       \
    asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE ".f32 "                  \
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                          \
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));             \
  }
TENSOR_FMA(tensor_fma_bf16, "m16n8k16", "bf16")
TENSOR_FMA(tensor_fma_f16, "m16n8k16", "f16")
TENSOR_FMA(tensor_fma_tf32, "m16n8k8", "tf32")
/* Two elements of 2 bytes, rounded to nearest even; `low` in the lower half. */
INL uint32_t pack_bf16(f32 low, f32 high) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
INL uint32_t pack_f16(f32 low, f32 high) {
  uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
/* As the op tf32: to 11 significant bits, ties to even, but before sm_90 away from zero. */
INL uint32_t round_tf32(f32 x) {
  uint32_t r;
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
#else
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
#endif
  return r;
}
/* 2^x by the special function unit, to two units in the last place: for kernels on tensor cores, whose bits
   are not those of the CPU. Results below the normal numbers are 0. */
INL f32 exp2_approximate(f32 x) {
  f32 r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
