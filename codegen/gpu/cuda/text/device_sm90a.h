/* Primitives of sm_90a: copies of boxes by tensor maps (TMA), and products of four warps at once (wgmma), with what orders
   them. Contract: that of device.h. */
/* section mbarrier_init mbarrier_fence mbarrier_expect mbarrier_arrive mbarrier_wait mbarrier_arrive_at cluster_sync cluster_rank cluster_load threads_sync tensor_copy tensor_copy_to bulk_copy registers_release
   registers_take proxy_fence wgmma_matrix wgmma_octets wgmma_units wgmma_fence wgmma_commit wgmma_wait wgmma_hold wgmma_bf16 wgmma_f16 wgmma_bf16_left
   wgmma_f16_left wgmma_tf32 wgmma_tf32_left */
/* mbarrier: ends a phase when `count` threads have arrived and all bytes that they announced; mbarrier_wait returns
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
