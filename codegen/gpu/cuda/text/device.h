/* What every kernel stands on: types, the names that the texts shared with the CPU use, and all that
   is the hardware's own, each behind one primitive. Contract: this is the only text with instructions
   in it; the same bits come from the same operands on every GPU, and from f32 operands the same as on
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
/* section warp_sync block_sync */
INL void warp_sync() { __syncwarp(ALL); }
INL void block_sync() { __syncthreads(); }
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
/* As the op tf32: to 11 significant bits, ties away from zero. */
INL uint32_t round_tf32(f32 x) {
  uint32_t r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
/* 2^x by the special function unit, to two units in the last place: for kernels on tensor cores, whose bits
   are not those of the CPU. Results below the normal numbers are 0. */
INL f32 exp2_approximate(f32 x) {
  f32 r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
/* section mbarrier_init mbarrier_fence mbarrier_expect mbarrier_arrive mbarrier_wait mbarrier_arrive_at cluster_sync cluster_rank cluster_load threads_sync tensor_copy tensor_copy_to bulk_copy registers_release
   registers_take proxy_fence wgmma_matrix wgmma_octets wgmma_units wgmma_fence wgmma_commit wgmma_wait wgmma_hold wgmma_bf16 wgmma_f16 wgmma_bf16_left
   wgmma_f16_left wgmma_tf32 wgmma_tf32_left */
/* ---- sm_90a: copies of boxes by tensor maps (TMA), and products of four warps at once (wgmma) ----
   mbarrier: ends a phase when `count` threads have arrived and all bytes that they announced; mbarrier_wait returns
   when the phase of this parity has ended. Its initialisation is seen by copies after mbarrier_fence, by threads after
   a block_sync. tensor_copy: the box at an element of four axes, to a multiple of 128 bytes; zeros for what lies
   outside of the tensor. The swizzle is of 128 bytes, from multiples of 1024. bulk_copy: of bytes, all at multiples of 16. Blocks of a cluster (CTAs) run at the same time; cluster_sync is a
   barrier of all their threads, and shared memory of a CTA may be told or written until it ends.
   wgmma: c += a b, or c = a b without `add`; thread t of the four warps has elements 8 j + 2 (t % 4) and the next one of
   rows t / 4 and t / 4 + 8, from row 16 (t / 32) on, in c[0] and c[1]. TA, TB: the operand is stored across the depth.
   wgmma_left: a is in registers, each warp's 16 rows as of tensor_fma. tf32: operands in memory lie along the depth.
   wgmma_matrix: an operand in shared memory, with `piece` bytes from 64 elements across the depth to the next 64.
   wgmma_octets: one stored across the depth as units of 16 bytes, eight elements of C's side at a step of the depth; the
   units of the next steps follow, those of the next eight elements are `apart` bytes away. It may begin at any unit.
   wgmma_units: one stored along the depth as units of eight steps of it; those of C's next rows or columns follow, those
   of the next eight steps are `apart` bytes away. It may begin at any unit.
   proxy_fence: what the thread stored to shared memory is seen by wgmma of those that it tells of it.
   Results are there after wgmma_wait<N> has left at most N committed groups open, and may not be touched before. */
struct __align__(64) GcTensorMap {
  uint64_t opaque[16];
};
INL uint32_t address_of_shared(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
INL void mbarrier_init(uint64_t *b, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(address_of_shared(b)), "r"(count) : "memory");
}
INL void mbarrier_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
INL void mbarrier_expect(uint64_t *b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(address_of_shared(b)), "r"(bytes) : "memory");
}
INL void mbarrier_arrive(uint64_t *b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(address_of_shared(b)) : "memory");
}
/* The same of CTA `cta` of the cluster. */
INL void mbarrier_arrive_at(uint64_t *b, int cta) {
  asm volatile("{\n.reg .b32 at;\nmapa.shared::cluster.u32 at, %0, %1;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [at];\n}"
               :: "r"(address_of_shared(b)), "r"(cta) : "memory");
}
INL void cluster_sync() { asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory"); }
INL int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/* What CTA `cta` of the cluster has at this place of its shared memory. */
INL Vec<f32, 2> cluster_load(const Vec<f32, 2> *p, int cta) {
  Vec<f32, 2> r;
  asm volatile("{\n.reg .b32 at;\nmapa.shared::cluster.u32 at, %2, %3;\nld.shared::cluster.v2.f32 {%0, %1}, [at];\n}"
               : "=f"(r.at[0]), "=f"(r.at[1]) : "r"(address_of_shared(p)), "r"(cta) : "memory");
  return r;
}
/* A barrier of so many of the block's threads, by its number from 1 on. */
template <int THREADS> INL void threads_sync(int number) { asm volatile("bar.sync %0, %1;" :: "r"(number), "n"(THREADS) : "memory"); }
INL void mbarrier_wait(uint64_t *b, int parity) {
  asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}"
               :: "r"(address_of_shared(b)), "r"(parity) : "memory");
}
INL void tensor_copy(void *to, const GcTensorMap *map, int x, int y, int z, int w, uint64_t *b) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];"
               :: "r"(address_of_shared(to)), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(address_of_shared(b)) : "memory");
}
/* To the same place of the CTAs of the mask, whose mbarriers at the same place are told. */
INL void tensor_copy_to(int ctas, void *to, const GcTensorMap *map, int x, int y, int z, int w, uint64_t *b) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;"
               :: "r"(address_of_shared(to)), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(address_of_shared(b)), "h"((short)ctas)
               : "memory");
}
INL void bulk_copy(void *to, const void *from, int bytes, uint64_t *b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(address_of_shared(to)), "l"(from), "r"(bytes), "r"(address_of_shared(b)) : "memory");
}
template <int N> INL void registers_release() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N)); }
template <int N> INL void registers_take() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N)); }
INL uint64_t wgmma_matrix(const void *at, int piece) {
  return (uint64_t)(address_of_shared(at) >> 4 & 0x3fff) | (uint64_t)(piece >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}
INL uint64_t wgmma_octets(const void *at, int apart) {
  return (uint64_t)(address_of_shared(at) >> 4 & 0x3fff) | (uint64_t)(128 >> 4) << 16 | (uint64_t)(apart >> 4) << 32;
}
INL uint64_t wgmma_units(const void *at, int apart) {
  return (uint64_t)(address_of_shared(at) >> 4 & 0x3fff) | (uint64_t)(apart >> 4) << 16 | (uint64_t)(128 >> 4) << 32;
}
INL void proxy_fence() { asm volatile("fence.proxy.async;" ::: "memory"); }
INL void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
INL void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> INL void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory"); }
/* The compiler moves nothing that touches these registers past this point: neither what comes before the fence of a
   wgmma that takes them, nor what comes behind the wait for one. */
template <int N> INL void wgmma_hold(f32 (&c)[2][N]) {
#pragma unroll
  for (int n = 0; n < 2 * N; n++) asm volatile("" : "+f"(c[n / N][n % N]) :: "memory");
}
template <int N> INL void wgmma_hold(uint32_t (&a)[N][4]) {
#pragma unroll
  for (int n = 0; n < 4 * N; n++) asm volatile("" : "+r"(a[n / 4][n % 4]) :: "memory");
}
#define WGMMA_4(j) "+f"(c[0][2 * (j)]), "+f"(c[0][2 * (j) + 1]), "+f"(c[1][2 * (j)]), "+f"(c[1][2 * (j) + 1])
#define WGMMA_8(j) WGMMA_4(j), WGMMA_4(j + 1)
#define WGMMA_32 WGMMA_8(0), WGMMA_8(2), WGMMA_8(4), WGMMA_8(6)
#define WGMMA_40 WGMMA_32, WGMMA_8(8)
#define WGMMA_48 WGMMA_40, WGMMA_8(10)
#define WGMMA_56 WGMMA_48, WGMMA_8(12)
#define WGMMA_64 WGMMA_56, WGMMA_8(14)
#define WGMMA_72 WGMMA_64, WGMMA_8(16)
#define WGMMA_80 WGMMA_72, WGMMA_8(18)
#define WGMMA_88 WGMMA_80, WGMMA_8(20)
#define WGMMA_96 WGMMA_88, WGMMA_8(22)
#define WGMMA_104 WGMMA_96, WGMMA_8(24)
#define WGMMA_112 WGMMA_104, WGMMA_8(26)
#define WGMMA_120 WGMMA_112, WGMMA_8(28)
#define WGMMA_128 WGMMA_120, WGMMA_8(30)
#define WGMMA_REGS_32 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
  "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define WGMMA_REGS_40 WGMMA_REGS_32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define WGMMA_REGS_48 WGMMA_REGS_40 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define WGMMA_REGS_56 WGMMA_REGS_48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define WGMMA_REGS_64 WGMMA_REGS_56 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define WGMMA_REGS_72 WGMMA_REGS_64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define WGMMA_REGS_80 WGMMA_REGS_72 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define WGMMA_REGS_88 WGMMA_REGS_80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define WGMMA_REGS_96 WGMMA_REGS_88 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define WGMMA_REGS_104 WGMMA_REGS_96 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define WGMMA_REGS_112 WGMMA_REGS_104 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define WGMMA_REGS_120 WGMMA_REGS_112 ",%112,%113,%114,%115,%116,%117,%118,%119"
#define WGMMA_REGS_128 WGMMA_REGS_120 ",%120,%121,%122,%123,%124,%125,%126,%127"
/* SHAPE: columns and depth; R: sums of a thread; A, B, P, X, Y: the operands behind them; AR: A in four registers, and
   B and Y behind it */
#define WGMMA(NAME, TYPE, SHAPE, R, TN, A, B, P, X, Y)                                                                       \
  template <int TA, int TB> INL void NAME(f32 (&c)[2][TN], uint64_t a, uint64_t b, int add) {                                \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P ", 0;\nwgmma.mma_async.sync.aligned.m64" SHAPE ".f32." TYPE "." TYPE \
                 " {" WGMMA_REGS_##R "}, " A ", " B ", p, 1, 1, " X ", " Y ";\n}"                                            \
                 : WGMMA_##R : "l"(a), "l"(b), "r"(add), "n"(TA), "n"(TB) : "memory");                                       \
  }
#define WGMMA_LEFT(NAME, TYPE, SHAPE, R, TN, AR, B, Y)                                                                       \
  template <int TB> INL void NAME##_left(f32 (&c)[2][TN], const uint32_t (&a)[4], uint64_t b) {                              \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64" SHAPE ".f32." TYPE "." TYPE      \
                 " {" WGMMA_REGS_##R "}, {" AR "}, " B ", p, 1, 1, " Y ";\n}"                                                \
                 : WGMMA_##R : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(TB) : "memory");                      \
  }
#define WGMMA_ALL(NAME, TYPE) \
  WGMMA(NAME, TYPE, "n64k16", 32, 16, "%32", "%33", "%34", "%35", "%36") \
  WGMMA(NAME, TYPE, "n80k16", 40, 20, "%40", "%41", "%42", "%43", "%44") \
  WGMMA(NAME, TYPE, "n96k16", 48, 24, "%48", "%49", "%50", "%51", "%52") \
  WGMMA(NAME, TYPE, "n112k16", 56, 28, "%56", "%57", "%58", "%59", "%60") \
  WGMMA(NAME, TYPE, "n128k16", 64, 32, "%64", "%65", "%66", "%67", "%68") \
  WGMMA(NAME, TYPE, "n144k16", 72, 36, "%72", "%73", "%74", "%75", "%76") \
  WGMMA(NAME, TYPE, "n160k16", 80, 40, "%80", "%81", "%82", "%83", "%84") \
  WGMMA(NAME, TYPE, "n176k16", 88, 44, "%88", "%89", "%90", "%91", "%92") \
  WGMMA(NAME, TYPE, "n192k16", 96, 48, "%96", "%97", "%98", "%99", "%100") \
  WGMMA(NAME, TYPE, "n208k16", 104, 52, "%104", "%105", "%106", "%107", "%108") \
  WGMMA(NAME, TYPE, "n224k16", 112, 56, "%112", "%113", "%114", "%115", "%116") \
  WGMMA(NAME, TYPE, "n240k16", 120, 60, "%120", "%121", "%122", "%123", "%124") \
  WGMMA(NAME, TYPE, "n256k16", 128, 64, "%128", "%129", "%130", "%131", "%132") \
  WGMMA_LEFT(NAME, TYPE, "n64k16", 32, 16, "%32, %33, %34, %35", "%36", "%37") \
  WGMMA_LEFT(NAME, TYPE, "n128k16", 64, 32, "%64, %65, %66, %67", "%68", "%69")
/* A: in shared memory or, as AREGS in braces, in registers */
#define WGMMA_TF32(NAME, LEFT, N, R, TN, A, B, P, ...)                                                                       \
  INL void NAME(f32 (&c)[2][TN], LEFT, uint64_t b, int add) {                                                                \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " P ", 0;\nwgmma.mma_async.sync.aligned.m64n" N "k8.f32.tf32.tf32"        \
                 " {" WGMMA_REGS_##R "}, " A ", " B ", p, 1, 1;\n}"                                                          \
                 : WGMMA_##R : __VA_ARGS__, "l"(b), "r"(add) : "memory");                                                    \
  }
#define WGMMA_TF32_BOTH(N, R, TN, A0, A1, A2, A3, B, P)                                                                      \
  WGMMA_TF32(wgmma_tf32, uint64_t a, N, R, TN, A0, A1, A2, "l"(a))                                                           \
  WGMMA_TF32(wgmma_tf32_left, const uint32_t(&a)[4], N, R, TN, "{" A0 ", " A1 ", " A2 ", " A3 "}", B, P, "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]))
WGMMA_TF32_BOTH("64", 32, 16, "%32", "%33", "%34", "%35", "%36", "%37")
WGMMA_TF32_BOTH("128", 64, 32, "%64", "%65", "%66", "%67", "%68", "%69")
WGMMA_TF32_BOTH("192", 96, 48, "%96", "%97", "%98", "%99", "%100", "%101")
WGMMA_TF32_BOTH("256", 128, 64, "%128", "%129", "%130", "%131", "%132", "%133")
WGMMA_ALL(wgmma_bf16, "bf16")
WGMMA_ALL(wgmma_f16, "f16")
