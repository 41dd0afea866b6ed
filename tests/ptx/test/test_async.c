/* mbarriers, bulk copies, clusters and setmaxnreg: what is right must run with no finding in all
 * orders, and each planted error be found in one of them. Bodies begin with %t the thread, %w its
 * warp, %l its lane, %out 4096 bytes in words that count up, and %map a tensor over their first
 * 3,840: 20 rows of 48 words; shared memory is s, mbarriers are bar. */
#include "ptxi.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
enum { WORDS = 1024, COLUMNS = 48, ROWS = 20, ORDERS = 4 };

static const char head[] =
    ".version 8.5\n.target sm_90a\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .align 64 .b8 map[128])%s\n{\n.reg .pred %%p<9>;\n"
    ".reg .b32 %%r<20>, %%t, %%w, %%l, %%cta; .reg .b64 %%rd<20>, %%out, %%map; .reg .f32 %%f<9>;\n"
    ".shared .align 1024 .b8 s[8192]; .shared .align 8 .b64 bar[4];\n"
    "mov.u32 %%t, %%tid.x; shr.u32 %%w, %%t, 5; and.b32 %%l, %%t, 31; mov.u32 %%cta, "
    "%%cluster_ctarank;\n"
    "ld.param.u64 %%out, [out]; mov.b64 %%map, map; cvta.param.u64 %%map, %%map;\n"
    "shl.b32 %%r9, %%t, 2; mov.u32 %%r10, s; add.u32 %%r10, %%r10, %%r9; cvt.u64.u32 %%rd9, %%r9;\n"
    "add.u64 %%rd9, %%out, %%rd9; setp.eq.u32 %%p8, %%t, 0; setp.eq.u32 %%p7, %%l, 0;\n";

static PtxModule *load(const char *body, const char *limits) {
  char *text = malloc(strlen(body) + sizeof head + 512), err[256];
  if (!text) abort();
  int n = sprintf(text, head, limits);
  n += sprintf(text + n, "%s\nret;\n}\n", body);
  PtxModule *m = ptx_module_load(text, (size_t)n, err, sizeof err);
  if (!m) fprintf(stderr, "%s\n  %s\n", body, err);
  free(text);
  return m;
}

typedef struct Tile {
  unsigned swizzle, box[2];
  unsigned type;            /* of the map; 0: of 32-bit integers */
  uint32_t first, distance; /* words in memory; distance 0: their numbers */
} Tile;

static PtxStatus run(const PtxModule *m, unsigned ctas, unsigned threads, unsigned order,
                     const Tile *tile, uint32_t *out, PtxResult *r) {
  static _Alignas(64) char map[PTX_TENSOR_BYTES];
  PtxTensor t = {.type = tile->type ? tile->type : 2,
                 .rank = 2,
                 .address = (uintptr_t)out,
                 .size = {COLUMNS, ROWS},
                 .stride = {COLUMNS * 4},
                 .box = {tile->box[0], tile->box[1]},
                 .step = {1, 1},
                 .swizzle = tile->swizzle};
  const char *wrong = ptx_tensor_map(map, &t);
  if (wrong) fprintf(stderr, "the tensor map: %s\n", wrong), failures++;
  for (uint32_t i = 0; i < WORDS; i++)
    out[i] = tile->distance ? tile->first + i * tile->distance : i;
  _Alignas(64) char params[256] = {0};
  memcpy(params, &out, 8);
  memcpy(params + 64, map, sizeof map);
  PtxBuf buf = {out, WORDS * 4, PTX_RW, "out", NULL, 0, 0};
  PtxLaunch l = {.grid = {ctas, 1, 1},
                 .block = {threads, 1, 1},
                 .params = params,
                 .params_size = 192,
                 .bufs = &buf,
                 .nbufs = 1,
                 .checks = PTX_CHECK_ALL,
                 .order = order,
                 .max_steps = 200000};
  return ptx_launch(ptx_module_kernel(m, 0), &l, r);
}

/* The initialisation by thread 0, for n arrivals at each mbarrier. */
#define MAKE_ONLY(n)                                                                               \
  "@%p8 mbarrier.init.shared.b64 [bar], " n "; @%p8 mbarrier.init.shared::cta.b64 [bar+8], " n ";"
#define MAKE(n) MAKE_ONLY(n) "@%p8 fence.mbarrier_init.release.cluster; bar.sync 0;"
#define ARRIVE "mbarrier.arrive.shared.b64 %rd1, [bar];"
#define WAIT(label, bar, parity)                                                                   \
  label ": mbarrier.try_wait.parity.shared.b64 %p1, [" bar "], " parity "; @!%p1 bra " label ";"
#define WRITE "st.shared.u32 [%r10], %t;"
#define NEIGHBOUR "xor.b32 %r11, %r10, 128; ld.shared.u32 %r1, [%r11];" /* in the next warp */
#define EXPECT(bytes) "@%p8 mbarrier.arrive.expect_tx.shared.b64 _, [bar], " bytes ";"
#define LOAD(bytes)                                                                                \
  "@%p8 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%out], " bytes     \
  ", [bar];"
#define PROXY "fence.proxy.async.shared::cta;"
#define STORE "@%p8 cp.async.bulk.global.shared::cta.bulk_group [%out], [s], 256;"
#define STORED "@%p8 cp.async.bulk.commit_group; @%p8 cp.async.bulk.wait_group.read 0;"
#define CLUSTER "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
#define OTHER "xor.b32 %r5, %cta, 1; mapa.shared::cluster.u32 %r6, %r10, %r5;"
enum { FINE = PTX_KIND_COUNT };

static const struct Case {
  const char *what, *body;
  unsigned ctas, threads;
  int kind;      /* FINE: nothing is wrong */
  uint32_t want; /* in the last word of out, if it is not 0 */
} cases[] = {
    {"waits for the grid in front", "griddepcontrol.wait; ld.global.u32 %r1, [%rd9];", 1, 64, FINE,
     0},
    {"waits for the grid in front, and lets the next one begin",
     "griddepcontrol.launch_dependents; bar.sync 0; griddepcontrol.wait; st.global.u32 [%rd9], 1;",
     1, 64, FINE, 0},
    {"a load in front of the wait", "ld.global.u32 %r1, [%rd9]; griddepcontrol.wait;", 1, 64,
     PTX_GRID, 0},
    {"a prefetch in front of the wait", "prefetch.global.L2 [%rd9]; griddepcontrol.wait;", 1, 64,
     FINE, 0},
    {"a prefetch of what is no buffer",
     "mov.u64 %rd1, 64; prefetch.global.L2 [%rd1]; griddepcontrol.wait;", 1, 64, PTX_BOUNDS, 0},
    {"a store in front of the wait", "@%p8 st.global.u32 [%out], 1; griddepcontrol.wait;", 1, 64,
     PTX_GRID, 0},
    {"a copy in front of the wait",
     MAKE("1") EXPECT("256") LOAD("256") "griddepcontrol.wait;" WAIT("L", "bar", "0"), 1, 64,
     PTX_GRID, 0},
    {"a load by threads that did not wait", "@%p7 griddepcontrol.wait; ld.global.u32 %r1, [%rd9];",
     1, 64, PTX_GRID, 0},
    {"lets the next grid begin and waits for none", "griddepcontrol.launch_dependents;", 1, 64,
     PTX_GRID, 0},
    {"arrive and wait", MAKE("64") WRITE ARRIVE WAIT("L", "bar", "0") NEIGHBOUR, 1, 64, FINE, 0},
    {"by the state of the arrival",
     MAKE("64") WRITE ARRIVE
     "L: mbarrier.test_wait.shared.b64 %p1, [bar], %rd1; @!%p1 bra L;" NEIGHBOUR,
     1, 64, FINE, 0},
    {"two phases",
     MAKE("64") WRITE ARRIVE WAIT("L", "bar", "0") NEIGHBOUR ARRIVE WAIT("M", "bar", "1") WRITE, 1,
     64, FINE, 0},
    {"no second phase",
     MAKE("64") WRITE ARRIVE WAIT("L", "bar", "0") NEIGHBOUR "add.u32 %t, %t, 1;" WRITE, 1, 64,
     PTX_RACE_SHARED, 0},
    {"no wait", MAKE("64") WRITE ARRIVE NEIGHBOUR, 1, 64, PTX_RACE_SHARED, 0},
    {"a wait that is not repeated",
     MAKE("64") WRITE ARRIVE "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;" NEIGHBOUR, 1, 64,
     PTX_RACE_SHARED, 0},
    {"the other parity", MAKE("64") WRITE ARRIVE WAIT("L", "bar", "1") NEIGHBOUR, 1, 64,
     PTX_RACE_SHARED, 0},
    {"the parity of the next phase",
     MAKE("64") WRITE ARRIVE WAIT("L", "bar", "0") NEIGHBOUR WAIT("M", "bar", "1"), 1, 64,
     PTX_MBARRIER, 0},
    {"an arrival that tells nothing",
     MAKE("64") WRITE "mbarrier.arrive.relaxed.cta.shared.b64 %rd1, [bar];" WAIT("L", "bar", "0")
         NEIGHBOUR,
     1, 64, PTX_RACE_SHARED, 0},
    {"one arrival too few", MAKE("65") WRITE ARRIVE WAIT("L", "bar", "0"), 1, 64, PTX_MBARRIER, 0},
    {"one arrival too many for the phase",
     MAKE("1") "@%p8 mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 16; setp.lt.u32 %p1, %t, 2; "
               "@%p1 " ARRIVE,
     1, 32, PTX_MBARRIER, 0},
    {"no initialisation", "@%p8 " ARRIVE, 1, 32, PTX_MBARRIER, 0},
    {"initialised twice", MAKE("1") "@%p8 mbarrier.init.shared.b64 [bar], 1;", 1, 32, PTX_MBARRIER,
     0},
    {"an initialisation nobody knows of", MAKE_ONLY("64") ARRIVE, 1, 64, PTX_MBARRIER, 0},
    {"a load of its bytes", MAKE("1") "ld.shared.u32 %r1, [bar];", 1, 32, PTX_MBARRIER, 0},
    {"a store to its bytes", MAKE("1") "@%p8 st.shared.u32 [bar+4], 1;", 1, 32, PTX_MBARRIER, 0},
    {"memory again", MAKE("1") "@%p8 mbarrier.inval.shared.b64 [bar]; @%p8 st.shared.u32 [bar], 1;",
     1, 32, FINE, 0},
    {"after its end", MAKE("1") "@%p8 mbarrier.inval.shared.b64 [bar]; @%p8 " ARRIVE, 1, 32,
     PTX_MBARRIER, 0},
    {"a thread that writes and arrives alone",
     MAKE("1") "@%p8 st.shared.u32 [s], 7; @%p8 " ARRIVE WAIT("L", "bar",
                                                              "0") "ld.shared.u32 %r1, [s];",
     1, 64, FINE, 0},
    {"one lane arrives for its warp",
     MAKE("2") WRITE "bar.warp.sync -1; @%p7 " ARRIVE WAIT("L", "bar", "0") NEIGHBOUR, 1, 64, FINE,
     0},
    {"... whose lanes it does not wait for",
     MAKE("2") WRITE "@%p7 " ARRIVE WAIT("L", "bar", "0") NEIGHBOUR, 1, 64, PTX_RACE_SHARED, 0},
    {"one lane waits for its warp",
     MAKE("64") WRITE ARRIVE "@!%p7 bra M;" WAIT("L", "bar", "0") "M: bar.warp.sync -1;" NEIGHBOUR,
     1, 64, FINE, 0},
    {"... whose lanes do not wait for it",
     MAKE("64") WRITE ARRIVE "@!%p7 bra M;" WAIT("L", "bar", "0") "M:" NEIGHBOUR, 1, 64,
     PTX_RACE_SHARED, 0},
    {"a third thread passes on what it knows",
     MAKE("1") "setp.eq.u32 %p2, %t, 33; setp.eq.u32 %p3, %t, 65; @%p8 st.shared.u32 [s], 7; "
               "@%p8 " ARRIVE "@!%p2 bra A;" WAIT(
                   "L", "bar", "0") "mbarrier.arrive.shared.b64 _, [bar+8]; A: @!%p3 bra "
                                    "B;" WAIT("M", "bar+8", "0") "ld.shared.u32 %r1, [s]; B:",
     1, 96, FINE, 0},
    {"a named barrier beside it",
     MAKE("1") "setp.ge.u32 %p2, %t, 32; @%p8 st.shared.u32 [s], 7; @%p8 " ARRIVE "@!%p2 bra A;"
               "setp.eq.u32 %p3, %t, 40; @!%p3 bra C;" WAIT("L", "bar",
                                                            "0") "C: bar.sync 1, 64; ld.shared.u32 "
                                                                 "%r1, [s]; A:",
     1, 96, FINE, 0},
    /* bulk copies of bytes */
    {"a load",
     MAKE("1") EXPECT("256") LOAD("256")
         WAIT("L", "bar", "0") "ld.shared.u32 %r1, [s+252]; st.global.u32 [%out+4092], %r1;",
     1, 1, FINE, 63},
    {"the bytes before they are expected",
     MAKE("1") LOAD("256") EXPECT("256") WAIT("L", "bar", "0") "ld.shared.u32 %r1, [s+252];", 1, 64,
     FINE, 0},
    {"a load that is not waited for",
     MAKE("1") EXPECT("256") LOAD("256") "ld.shared.u32 %r1, [%r10];", 1, 64, PTX_ASYNC, 0},
    {"... nor at the end", MAKE("1") EXPECT("256") LOAD("256"), 1, 64, PTX_ASYNC, 0},
    {"the mbarrier expects nothing",
     MAKE("1") "@%p8 " ARRIVE LOAD("256") WAIT("L", "bar", "0") "ld.shared.u32 %r1, [%r10];", 1, 64,
     PTX_ASYNC, 0},
    {"it expects too much", MAKE("1") EXPECT("272") LOAD("256") WAIT("L", "bar", "0"), 1, 64,
     PTX_MBARRIER, 0},
    {"it expects too little",
     MAKE("1") EXPECT("240") LOAD("256") WAIT("L", "bar", "0") "ld.shared.u32 %r1, [%r10];", 1, 64,
     PTX_MBARRIER, 0},
    {"a thread that does not wait",
     MAKE("1") EXPECT("256") LOAD(
         "256") "setp.lt.u32 %p2, %t, 32; @!%p2 "
                "bra M;" WAIT("L", "bar",
                              "0") "bar.sync 1, 32; M: bar.sync 2, 64; ld.shared.u32 %r1, [%r10];",
     1, 64, FINE, 0},
    {"... and is told nothing",
     MAKE("1") EXPECT("256")
         LOAD("256") "setp.lt.u32 %p2, %t, 32; @!%p2 "
                     "bra M;" WAIT("L", "bar", "0") "M: ld.shared.u32 %r1, [%r10];",
     1, 64, PTX_ASYNC, 0},
    {"an mbarrier with no fence",
     MAKE_ONLY("1") "bar.sync 0;" EXPECT("256") LOAD("256") WAIT("L", "bar", "0"), 1, 64, PTX_PROXY,
     0},
    {"two copies to one place",
     MAKE("1") EXPECT("512") LOAD("256") LOAD("256") WAIT("L", "bar", "0"), 1, 64, PTX_ASYNC, 0},
    {"a second load after all have read",
     MAKE("1") EXPECT("256") LOAD("256")
         WAIT("L", "bar", "0") "ld.shared.u32 %r1, [%r10]; bar.sync 0;" EXPECT("256") LOAD("256")
             WAIT("M", "bar", "1"),
     1, 64, FINE, 0},
    {"... after all but some have",
     MAKE("1") EXPECT("256") LOAD("256") WAIT("L", "bar", "0") "ld.shared.u32 %r1, [%r10];" EXPECT(
         "256") LOAD("256") WAIT("M", "bar", "1"),
     1, 64, PTX_RACE_SHARED, 0},
    {"a ring: the producer waits for the consumers",
     "@%p8 mbarrier.init.shared.b64 [bar], 1; @%p8 mbarrier.init.shared.b64 [bar+8], 3; @%p8 "
     "fence.mbarrier_init.release.cluster; bar.sync 0; mov.u32 %r2, 0; setp.ge.u32 %p2, %t, 32; "
     "@%p2 bra "
     "C; @!%p8 bra E; P: and.b32 %r3, %r2, 1; xor.b32 %r3, %r3, 1;" WAIT("L", "bar+8",
                                                                         "%r3") EXPECT("256")
         LOAD("256") "add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 5; @%p3 bra P; bra E;"
                     "C: and.b32 %r3, %r2, 1;" WAIT(
                         "M", "bar", "%r3") "ld.shared.u32 %r1, [s+128]; bar.warp.sync -1; "
                                            "@%p7 mbarrier.arrive.shared.b64 _, [bar+8]; add.u32 "
                                            "%r2, %r2, 1; setp.lt.u32 %p3, %r2, 5; @%p3 bra "
                                            "C; E:",
     1, 128, FINE, 0},
    {"... with the parity of the consumers",
     "@%p8 mbarrier.init.shared.b64 [bar], 1; @%p8 mbarrier.init.shared.b64 [bar+8], 3; @%p8 "
     "fence.mbarrier_init.release.cluster; bar.sync 0; mov.u32 %r2, 0; setp.ge.u32 %p2, %t, 32; "
     "@%p2 bra "
     "C; @!%p8 bra E; P: and.b32 %r3, %r2, 1;" WAIT("L", "bar+8", "%r3") EXPECT("256")
         LOAD("256") "add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 5; @%p3 bra P; bra E;"
                     "C: and.b32 %r3, %r2, 1;" WAIT(
                         "M", "bar", "%r3") "ld.shared.u32 %r1, [s+128]; bar.warp.sync -1; "
                                            "@%p7 mbarrier.arrive.shared.b64 _, [bar+8]; add.u32 "
                                            "%r2, %r2, 1; setp.lt.u32 %p3, %r2, 5; @%p3 bra "
                                            "C; E:",
     1, 128, PTX_MBARRIER, 0},
    {"... that arrive before they have read",
     "@%p8 mbarrier.init.shared.b64 [bar], 1; @%p8 mbarrier.init.shared.b64 [bar+8], 3; @%p8 "
     "fence.mbarrier_init.release.cluster; bar.sync 0; mov.u32 %r2, 0; setp.ge.u32 %p2, %t, 32; "
     "@%p2 bra "
     "C; @!%p8 bra E; P: and.b32 %r3, %r2, 1; xor.b32 %r3, %r3, 1;" WAIT("L", "bar+8", "%r3")
         EXPECT("256")
             LOAD("256") "add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 5; @%p3 bra P; bra E;"
                         "C: and.b32 %r3, %r2, 1;" WAIT(
                             "M", "bar", "%r3") "bar.warp.sync -1; @%p7 mbarrier.arrive.shared.b64 "
                                                "_, [bar+8]; ld.shared.u32 %r1, [s+128]; add.u32 "
                                                "%r2, %r2, 1; setp.lt.u32 %p3, %r2, 5; @%p3 bra C; "
                                                "E:",
     1, 128, PTX_RACE_SHARED, 0},
    {"its source is written after the wait",
     MAKE("1") EXPECT("256") LOAD("256") WAIT("L", "bar", "0") "st.global.u32 [%rd9], %t;", 1, 64,
     FINE, 0},
    {"... before",
     MAKE("1") EXPECT("256") LOAD("256") "bar.sync 0; setp.gt.u32 %p2, %t, 32; @%p2 "
                                         "st.global.u32 [%rd9], %w;" WAIT("L", "bar", "0"),
     1, 64, PTX_RACE_GLOBAL, 0},
    {"beyond the buffer", MAKE("1") EXPECT("4112") LOAD("4112") WAIT("L", "bar", "0"), 1, 32,
     PTX_BOUNDS, 0},
    {"not in units of 16", MAKE("1") EXPECT("8") LOAD("8") WAIT("L", "bar", "0"), 1, 32, PTX_ALIGN,
     0},
    {"a store", WRITE PROXY "bar.sync 0;" STORE STORED, 1, 64, FINE, 0},
    {"the fence after the barrier", WRITE "bar.sync 0;" PROXY STORE STORED, 1, 64, FINE, 0},
    {"a store with no proxy fence", WRITE "bar.sync 0;" STORE STORED, 1, 64, PTX_PROXY, 0},
    {"a fence before the write", PROXY WRITE "bar.sync 0;" STORE STORED, 1, 64, PTX_PROXY, 0},
    {"a store with no barrier", WRITE PROXY STORE STORED, 1, 64, PTX_RACE_SHARED, 0},
    {"a store that is not waited for",
     WRITE PROXY "bar.sync 0;" STORE "@%p8 cp.async.bulk.commit_group;", 1, 64, PTX_ASYNC, 0},
    {"a store that is overwritten",
     WRITE PROXY "bar.sync 0;" STORE "bar.sync 0; add.u32 %t, %t, 1;" WRITE "bar.sync 0;" STORED, 1,
     64, PTX_ASYNC, 0},
    {"written again after its wait",
     WRITE PROXY "bar.sync 0;" STORE STORED "bar.sync 0; add.u32 %t, %t, "
                 "1;" WRITE,
     1, 64, FINE, 0},
    {"... which others do not know of",
     WRITE PROXY "bar.sync 0;" STORE STORED "add.u32 %t, %t, 1;" WRITE, 1, 64, PTX_RACE_SHARED, 0},
    /* clusters */
    {"a neighbour's memory",
     OTHER "st.shared::cluster.u32 [%r6], %t;" CLUSTER "ld.shared.u32 %r1, "
           "[%r10];",
     4, 64, FINE, 0},
    {"... not waited for",
     OTHER "st.shared::cluster.u32 [%r6], %t; barrier.cluster.arrive.aligned; "
           "ld.shared.u32 %r1, [%r10]; barrier.cluster.wait.aligned;",
     4, 64, PTX_RACE_SHARED, 0},
    {"... with a barrier of the CTA",
     OTHER "st.shared::cluster.u32 [%r6], %t; bar.sync 0; ld.shared.u32 "
           "%r1, [%r10];" CLUSTER,
     4, 64, PTX_RACE_SHARED, 0},
    {"... after relaxed arrivals",
     OTHER "st.shared::cluster.u32 [%r6], %t; barrier.cluster.arrive."
           "relaxed.aligned; barrier.cluster.wait.aligned; ld.shared.u32 %r1, [%r10];" CLUSTER,
     4, 64, PTX_RACE_SHARED, 0},
    {"a CTA that has ended",
     WRITE CLUSTER "setp.eq.u32 %p1, %cta, 0; @%p1 bra E; bar.sync 1;" OTHER
                   "ld.shared::cluster.u32 %r1, [%r6]; E:",
     4, 64, PTX_CLUSTER, 0},
    {"no CTA of the cluster",
     "mapa.shared::cluster.u32 %r6, %r10, 2; ld.shared::cluster.u32 %r1, [%r6];", 2, 32,
     PTX_CLUSTER, 0},
    {"some wait with no arrival",
     "setp.eq.u32 %p1, %t, 5; @!%p1 barrier.cluster.arrive; "
     "barrier.cluster.wait;",
     2, 32, PTX_BARRIER, 0},
    {"some do not arrive",
     "setp.lt.u32 %p1, %t, 32; @!%p1 bra A; barrier.cluster.arrive; "
     "barrier.cluster.wait; bar.sync 1, 64; bra E; A: bar.sync 1, 64; E:",
     2, 64, PTX_BARRIER, 0},
    {"a neighbour's mbarrier",
     MAKE("32") CLUSTER "xor.b32 %r5, %cta, 1; mov.u32 %r7, bar; "
                        "mapa.shared::cluster.u32 %r6, %r7, %r5;" OTHER
                        "mov.u32 %r7, bar; mapa.shared::cluster.u32 %r8, "
                        "%r7, %r5; st.shared::cluster.u32 [%r6], %t; "
                        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
                        "[%r8]; L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, "
                        "[bar], 0; @!%p1 bra L; "
                        "ld.shared.u32 %r1, [%r10];" CLUSTER,
     2, 32, FINE, 0},
    {"a load for two",
     MAKE("1") CLUSTER EXPECT("256") "setp.eq.and.u32 %p2, %cta, 0, %p8; @%p2 "
                                     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                                     "bytes.multicast::cluster [s], [%out], "
                                     "256, [bar], 3;" WAIT(
                                         "L", "bar", "0") "ld.shared.u32 %r1, [%r10];" CLUSTER,
     2, 64, FINE, 0},
    {"a load for one of two",
     MAKE("1") CLUSTER EXPECT("256") "setp.eq.and.u32 %p2, %cta, 0, %p8; @%p2 "
                                     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                                     "bytes.multicast::cluster [s], [%out], "
                                     "256, [bar], 1;" WAIT(
                                         "L", "bar", "0") "ld.shared.u32 %r1, [%r10];" CLUSTER,
     2, 64, PTX_MBARRIER, 0},
    {"from one CTA to the other",
     MAKE("1") EXPECT("256") WRITE PROXY CLUSTER OTHER
     "mov.u32 %r7, bar; "
     "mapa.shared::cluster.u32 %r8, %r7, %r5; add.u32 %r6, %r6, 1024; @%p8 "
     "cp.async.bulk.shared::cluster."
     "shared::cta.mbarrier::complete_tx::bytes [%r6], [s], 256, [%r8];" WAIT(
         "L", "bar", "0") "ld.shared.u32 %r1, [%r10+1024]; st.global.u32 [%rd9+256], %r1;" CLUSTER,
     2, 64, FINE, 0},
    /* registers of a thread */
    {"fewer here, more there",
     "setp.lt.u32 %p1, %t, 128; @%p1 bra A; setmaxnreg.inc.sync.aligned.u32 "
     "232; bra E; A: setmaxnreg.dec.sync.aligned.u32 40; E:",
     1, 384, FINE, 0},
    {"more than there are",
     "setp.lt.u32 %p1, %t, 128; @%p1 bra A; setmaxnreg.inc.sync.aligned.u32 240; "
     "bra E; A: setmaxnreg.dec.sync.aligned.u32 40; E:",
     1, 384, PTX_REGISTERS, 0},
    {"more by .dec", "setmaxnreg.dec.sync.aligned.u32 232;", 1, 384, PTX_REGISTERS, 0},
    {"no multiple of 8", "setmaxnreg.dec.sync.aligned.u32 41;", 1, 384, PTX_REGISTERS, 0},
    {"one leads", "elect.sync %r1|%p1, -1; @%p1 st.global.u32 [%out+4092], 9;", 1, 32, FINE, 9},
};

static void check_cases(void) {
  static uint32_t out[WORDS];
  const Tile tile = {0, {8, 4}, 0, 0, 0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct Case *c = &cases[i];
    PtxModule *m = load(c->body, c->ctas > 1 ? " .explicitcluster .reqnctapercluster 2, 1, 1"
                                             : " .maxntid 384 .minnctapersm 1");
    bool found = c->kind == FINE;
    char other[300] = "nothing is found";
    for (unsigned order = 0; m && order < ORDERS; order++) {
      PtxResult r;
      PtxStatus s = run(m, c->ctas, c->threads, order, &tile, out, &r);
      if (c->kind == FINE && (s != PTX_OK || (c->want && out[WORDS - 1] != c->want))) found = false;
      for (size_t n = 0; n < r.count; n++) {
        snprintf(other, sizeof other, "order %u: %s: %s", order, ptx_kind_name(r.findings[n].kind),
                 r.findings[n].text);
        found |= (int)r.findings[n].kind == c->kind;
      }
      if (!r.count && s != PTX_OK) snprintf(other, sizeof other, "%.250s", r.error);
      ptx_result_free(&r);
    }
    if (!found || !m) {
      fprintf(stderr, "%s: %s\n", c->what, other);
      failures++;
    }
    ptx_module_free(m);
  }
}

/* ---- tiles of a tensor ---- */
/* What shared memory holds: rows of `bytes`, units of 16 bytes exchanged as the manual draws it. */
static uint32_t tile_word(const Tile *t, int x, int y, unsigned at) {
  const unsigned bytes = t->box[0] * 4;
  for (unsigned row = 0; row < t->box[1]; row++)
    for (unsigned unit = 0; unit < bytes / 16; unit++) {
      unsigned place = row * bytes / 16 + unit, line = place / 8 % 8;
      unsigned moved = t->swizzle == 3   ? place ^ line
                       : t->swizzle == 2 ? place ^ (line & 3)
                       : t->swizzle == 1 ? place ^ (line & 1)
                                         : place;
      if (moved != at / 16) continue;
      int col = x + (int)(unit * 4 + at % 16 / 4), line_at = y + (int)row;
      bool in = col >= 0 && col < COLUMNS && line_at >= 0 && line_at < ROWS;
      return in ? (uint32_t)(line_at * COLUMNS + col) : 0;
    }
  return 0xffffffff;
}

static const char tile_in[] = MAKE("1") EXPECT(
    "%r14") "@%p8 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[s], "
            "[%map, {%r12, %r13}], [bar];" WAIT("L", "bar", "0");
static const char words_out[] = "setp.lt.u32 %p2, %t, %r15; @%p2 ld.shared.u32 %r1, [%r10]; @%p2 "
                                "st.global.u32 [%rd9], %r1;";
static const char tile_out[] = /* one column to the right, two rows down */
    "add.u32 %r12, %r12, 1; add.u32 %r13, %r13, 2; @%p8 "
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {%r12, %r13}], [s];" STORED;

/* A tile goes into shared memory, which is then looked at word by word, or goes out elsewhere. */
static void check_tile(const Tile *t, int x, int y, bool store) {
  static uint32_t out[WORDS];
  char body[2048];
  const unsigned words = t->box[0] * t->box[1];
  snprintf(body, sizeof body,
           "mov.b32 %%r12, %d; mov.b32 %%r13, %d; mov.b32 %%r14, %u; mov.b32 %%r15, %u; %s%s", x, y,
           4 * words, words, tile_in, store ? tile_out : words_out);
  PtxModule *m = load(body, "");
  PtxResult r = {0};
  if (!m || run(m, 1, 256, 0, t, out, &r) != PTX_OK) {
    fprintf(stderr, "swizzle %u, tile at %d, %d: %s\n", t->swizzle, x, y,
            r.count ? r.findings[0].text : r.error);
    failures++;
  }
  for (unsigned i = 0; i < WORDS; i++) {
    int col = (int)i % COLUMNS - 1 - x, row = (int)i / COLUMNS - 2 - y;
    bool moved = row >= 0 && row < (int)t->box[1] && col >= 0 && col < (int)t->box[0];
    bool in = moved && i < ROWS * COLUMNS && x + col >= 0 && y + row >= 0 && x + col < COLUMNS;
    uint32_t want = i;
    if (store && moved && i < ROWS * COLUMNS) want = in ? i - 2 * COLUMNS - 1 : 0;
    if (!store && i < words) want = tile_word(t, x, y, 4 * i);
    if (out[i] == want) continue;
    fprintf(stderr, "swizzle %u, tile at %d, %d: word %u is %u, not %u\n", t->swizzle, x, y, i,
            out[i], want);
    failures++;
    break;
  }
  ptx_result_free(&r);
  ptx_module_free(m);
}

static void check_tiles(void) {
  static const Tile tiles[] = {{0, {8, 4}, 0, 0, 0},  {0, {36, 5}, 0, 0, 0},
                               {1, {8, 20}, 0, 0, 0}, {2, {16, 9}, 0, 0, 0},
                               {3, {32, 8}, 0, 0, 0}, {3, {16, 12}, 0, 0, 0}};
  static const int at[][2] = {{0, 0}, {4, 3}, {-3, -2}, {40, 17}, {45, -1}, {-40, 30}};
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
    for (size_t k = 0; k < sizeof at / sizeof *at; k++)
      for (int store = 0; store < 2; store++) check_tile(&tiles[i], at[k][0], at[k][1], store);
}

/* ---- tiles of f32 that become tf32 ---- */
static uint32_t nearest_tf32(uint32_t u) {
  float f;
  int e;
  memcpy(&f, &u, 4);
  if (!isfinite(f)) return u;
  const double m = frexp((double)f, &e); /* 11 bits of it stay */
  f = (float)ldexp(rint(ldexp(m, 11)), e - 11);
  memcpy(&u, &f, 4);
  return u;
}

/* Ties, carries into the exponent and beyond the largest number, infinities and NaN. */
static void check_rounding(void) {
  static const uint32_t first[] = {0x3f800000, 0x3ffc0000, 0x7f7e0000, 0xbf7ff000, 0x40490fdb};
  static uint32_t out[WORDS];
  char body[2048];
  snprintf(body, sizeof body,
           "mov.b32 %%r12, 0; mov.b32 %%r13, 0; mov.b32 %%r14, 1024; mov.b32 %%r15, 256; %s%s",
           tile_in, words_out);
  for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
    const Tile t = {3, {32, 8}, 11, first[i], 0x800};
    PtxModule *m = load(body, "");
    PtxResult r = {0};
    if (!m || run(m, 1, 256, 0, &t, out, &r) != PTX_OK) {
      fprintf(stderr, "rounding: %s\n", r.count ? r.findings[0].text : r.error);
      failures++;
    }
    for (unsigned at = 0; at < 256; at++) {
      const unsigned line = at / 32, unit = at / 4 % 8 ^ line; /* rows of 128 bytes */
      const uint32_t word = line * COLUMNS + unit * 4 + at % 4;
      const uint32_t was = t.first + word * t.distance, want = nearest_tf32(was);
      if (out[at] == want) continue;
      fprintf(stderr, "%08x becomes %08x, not %08x\n", was, out[at], want);
      failures++;
      break;
    }
    ptx_result_free(&r);
    ptx_module_free(m);
  }
}

/* ---- tensor maps that the driver refuses ---- */
static void check_maps(void) {
  static _Alignas(64) char map[PTX_TENSOR_BYTES];
  const PtxTensor good = {.type = 9,
                          .rank = 3,
                          .address = 4096,
                          .size = {64, 10, 3},
                          .stride = {128, 1280},
                          .box = {64, 8, 1},
                          .step = {1, 1, 1},
                          .swizzle = 3};
  PtxTensor bad[9];
  for (int i = 0; i < 9; i++) bad[i] = good;
  bad[0].type = 12;
  bad[1].rank = 6;
  bad[2].address = 4104;
  bad[3].stride[0] = 136;
  bad[4].box[1] = 257;
  bad[5].box[0] = 4;
  bad[6].swizzle = 2;
  bad[7].size[2] = 0;
  bad[8].stride[1] = 1264;
  if (ptx_tensor_map(map, &good)) fprintf(stderr, "a good tensor map is refused\n"), failures++;
  for (int i = 0; i < 9; i++)
    if (!ptx_tensor_map(map, &bad[i]))
      fprintf(stderr, "tensor map %d is not refused\n", i), failures++;
}

int main(void) {
  check_cases();
  check_tiles();
  check_rounding();
  check_maps();
  if (failures) fprintf(stderr, "%d failures\n", failures);
  return failures != 0;
}
