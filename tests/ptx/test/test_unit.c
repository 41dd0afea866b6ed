/* Single instructions against what the PTX manual says of them, wrong texts, and checks that no
 * compiled kernel would show. Each row runs a body with %r0..%r9, %f, %rd, %h (16 bits) and
 * predicates declared and compares the 32 bits that it leaves in %r0, for lane 5 of one warp. */
#include "ptxi.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static int failures;

static const struct Row {
  const char *body;
  uint32_t want;
} rows[] = {
    {"mov.u32 %r0, %laneid;", 5},
    {"mov.b32 %r0, -1; shr.s32 %r0, %r0, 40;", 0xffffffff},
    {"mov.b32 %r1, 1; shl.b32 %r0, %r1, 32;", 0},
    {"mov.b32 %r1, -7; div.s32 %r0, %r1, 2;", (uint32_t)-3},
    {"mov.b32 %r1, -7; rem.s32 %r0, %r1, 2;", (uint32_t)-1},
    {"mov.b32 %r1, 0; div.u32 %r0, 7, %r1;", 0xffffffff},
    {"mov.b32 %r1, -2147483648; div.s32 %r0, %r1, -1;", 0x80000000},
    {"mul.hi.s32 %r0, -2, 3;", 0xffffffff},
    {"mul.hi.u32 %r0, -2, 3;", 2},
    {"mul.wide.s32 %rd1, -2, 3; cvt.u32.u64 %r0, %rd1;", (uint32_t)-6},
    {"mul24.lo.s32 %r0, 16777215, 2;", (uint32_t)-2},
    {"bfe.u32 %r0, 0xabcd1234, 8, 12;", 0xd12},
    {"bfe.s32 %r0, 0x00000f00, 8, 4;", 0xffffffff},
    {"bfe.s32 %r0, 0x80000000, 28, 20;", 0xfffffff8},
    {"bfi.b32 %r0, 0xf, 0, 28, 8;", 0xf0000000},
    {"prmt.b32 %r0, 0x33221100, 0x77665544, 0x7531U;", 0x77553311},
    {"prmt.b32 %r0, 0x00800000, 0, 0xa;", 0xff},
    {"lop3.b32 %r0, 0xf0, 0xcc, 0xaa, 0x96;", 0xf0 ^ 0xcc ^ 0xaa},
    {"shf.l.wrap.b32 %r0, 0x80000000, 1, 33;", 3},
    {"shf.r.clamp.b32 %r0, 1, 0xf, 40;", 0xf},
    {"clz.b32 %r0, 0;", 32},
    {"bfind.u32 %r0, 0x10;", 4},
    {"bfind.s32 %r0, -1;", 0xffffffff},
    {"bfind.shiftamt.u32 %r0, 0x10;", 27},
    {"brev.b32 %r0, 1;", 0x80000000},
    {"popc.b32 %r0, 0xff0f;", 12},
    {"sad.s32 %r0, -3, 4, 1;", 8},
    {"dp4a.s32.s32 %r0, 0x01ff0203, 0x01010101, 10;", 15},
    {"dp2a.lo.u32.u32 %r0, 0x00020003, 0x09090504, 10;", 10 + 3 * 4 + 2 * 5},
    {"dp2a.hi.s32.s32 %r0, 0xffff0003, 0xff020909, 10;", 10 + 3 * 2 + 1},
    {"add.sat.s32 %r0, 2147483647, 1;", 0x7fffffff},
    {"min.s16 %h1, -1, 1; cvt.u32.u16 %r0, %h1;", 0xffff},
    {"mov.b32 %r0, {1, 2};", 0x20001},
    {"mov.b64 {%r1, %r0}, 0x100000002;", 1},
    /* floats: rounding directions, ftz, sat, NaN */
    {"add.rz.f32 %f1, 0f3F800000, 0f337FFFFF; mov.b32 %r0, %f1;", 0x3f800000},
    {"add.rp.f32 %f1, 0f3F800000, 0f00000001; mov.b32 %r0, %f1;", 0x3f800001},
    {"fma.rm.f32 %f1, 0f3F800000, 0f3F800000, 0f80000001; mov.b32 %r0, %f1;", 0x3f7fffff},
    {"mul.ftz.f32 %f1, 0f00000001, 0f3F800000; mov.b32 %r0, %f1;", 0},
    {"mul.f32 %f1, 0f00000001, 0f3F800000; mov.b32 %r0, %f1;", 1},
    {"add.sat.f32 %f1, 0f3F800000, 0f3F800000; mov.b32 %r0, %f1;", 0x3f800000},
    {"max.f32 %f1, 0f7FC00000, 0fBF800000; mov.b32 %r0, %f1;", 0xbf800000},
    {"max.NaN.f32 %f1, 0f7FC00000, 0fBF800000; testp.notanumber.f32 %p1, %f1; selp.b32 %r0, 1, 0, "
     "%p1;",
     1},
    {"min.f32 %f1, 0f00000000, 0f80000000; mov.b32 %r0, %f1;", 0x80000000},
    {"rcp.rn.f32 %f1, 0f40400000; mov.b32 %r0, %f1;", 0x3eaaaaab},
    {"sqrt.rn.f32 %f1, 0f40000000; mov.b32 %r0, %f1;", 0x3fb504f3},
    {"ex2.approx.f32 %f1, 0f40400000; mov.b32 %r0, %f1;", 0x41000000},
    {"copysign.f32 %f1, 0f80000000, 0f3F800000; mov.b32 %r0, %f1;", 0xbf800000},
    {"neg.f32 %f1, 0f00000000; mov.b32 %r0, %f1;", 0x80000000},
    {"add.f32 %f1, 0f7F800000, 0fFF800000; mov.b32 %r0, %f1;", 0x7fffffff},
    {"mul.rz.f32 %f1, 0f7F800000, 0f00000000; mov.b32 %r0, %f1;", 0x7fffffff},
    {"max.f32 %f1, 0fFFC00000, 0f7FC00000; mov.b32 %r0, %f1;", 0x7fffffff},
    {"mov.b64 %rd1, 0xfff8000000000000; cvt.rn.f32.f64 %f1, %rd1; mov.b32 %r0, %f1;", 0x7fffffff},
    {"neg.f32 %f1, 0f7FC00000; mov.b32 %r0, %f1;", 0xffc00000},
    /* comparisons */
    {"setp.ne.f32 %p1, 0f7FC00000, 0f00000000; selp.b32 %r0, 1, 0, %p1;", 0},
    {"setp.neu.f32 %p1, 0f7FC00000, 0f00000000; selp.b32 %r0, 1, 0, %p1;", 1},
    {"setp.lt.s32 %p1|%p2, -1, 1; selp.b32 %r0, 1, 0, %p2;", 0},
    {"setp.lo.u32 %p1, -1, 1; selp.b32 %r0, 1, 0, %p1;", 0},
    {"setp.eq.s32 %p1, 1, 1; setp.eq.and.s32 %p2, 1, 1, !%p1; selp.b32 %r0, 1, 0, %p2;", 0},
    {"set.lt.u32.s32 %r0, -1, 1;", 0xffffffff},
    /* conversions */
    {"cvt.rzi.s32.f32 %r0, 0fC0200000;", (uint32_t)-2},
    {"cvt.rni.s32.f32 %r0, 0f40200000;", 2},
    {"cvt.rpi.s32.f32 %r0, 0f40200000;", 3},
    {"cvt.rzi.u32.f32 %r0, 0fBF800000;", 0},
    {"cvt.rzi.s32.f32 %r0, 0f7F800000;", 0x7fffffff},
    {"cvt.rzi.s32.f32 %r0, 0f7FC00000;", 0},
    {"cvt.rn.f32.u32 %f1, 16777217; mov.b32 %r0, %f1;", 0x4b800000},
    {"cvt.rp.f32.u32 %f1, 16777217; mov.b32 %r0, %f1;", 0x4b800001},
    {"mov.b32 %r1, 0x1ff; cvt.s32.s8 %r0, %r1;", 0xffffffff},
    {"mov.b32 %r1, 300; cvt.sat.u8.u32 %r0, %r1;", 255},
    {"cvt.rn.bf16.f32 %h1, 0f3F808000; cvt.u32.u16 %r0, %h1;", 0x3f80},
    {"cvt.rn.bf16.f32 %h1, 0f3F818000; cvt.u32.u16 %r0, %h1;", 0x3f82},
    {"cvt.rz.bf16.f32 %h1, 0f3F81FFFF; cvt.u32.u16 %r0, %h1;", 0x3f81},
    {"cvt.rn.bf16x2.f32 %r0, 0f3F800000, 0f40000000;", 0x3f804000},
    {"cvt.rn.f16.f32 %h1, 0f477FF000; cvt.u32.u16 %r0, %h1;", 0x7c00},
    {"cvt.rn.f16.f32 %h1, 0f33000001; cvt.u32.u16 %r0, %h1;", 1},
    {"cvt.rn.f16.f32 %h1, 0f33000000; cvt.u32.u16 %r0, %h1;", 0},
    {"mov.b16 %h1, 0x3c01; cvt.f32.f16 %f1, %h1; mov.b32 %r0, %f1;", 0x3f802000},
    {"cvt.rna.tf32.f32 %r0, 0f3F801000;", 0x3f802000},
    {"fma.rn.f16x2 %r0, 0x3c003c00, 0x40003c00, 0x3c000000;", 0x42003c00},
    {"add.rn.bf16x2 %r0, 0x3f803f80, 0x40003f80;", 0x40404000},
    /* across the warp */
    {"mov.u32 %r1, %laneid; shfl.sync.bfly.b32 %r0|%p1, %r1, 16, 31, -1;", 21},
    {"mov.u32 %r1, %laneid; shfl.sync.up.b32 %r0, %r1, 7, 0, -1;", 5},
    {"mov.u32 %r1, %laneid; shfl.sync.down.b32 %r0, %r1, 2, 0x181f, -1;", 7},
    {"mov.u32 %r1, %laneid; shfl.sync.idx.b32 %r0, %r1, 9, 0x181f, -1;", 1},
    {"mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 4; vote.sync.ballot.b32 %r0, %p1, -1;", 0xf},
    {"mov.u32 %r1, %laneid; redux.sync.add.s32 %r0, %r1, -1;", 496},
    {"mov.u32 %r1, %laneid; and.b32 %r1, %r1, 15; match.any.sync.b32 %r0, %r1, -1;", 0x00200020},
    {"mov.u32 %r0, 0; mov.u32 %r1, %laneid; setp.gt.u32 %p1, %r1, 2; @%p1 activemask.b32 %r0;",
     0xfffffff8},
    {"mov.u32 %r1, %laneid; setp.ne.u32 %p1, %r1, 5; @%p1 bra L1; mov.u32 %r0, 77; bra L2; L1: "
     "mov.u32 "
     "%r0, 1; L2: bar.warp.sync -1;",
     77},
    {"bar.red.popc.u32 %r0, 0, %p3;", 32},
    /* memory */
    {"mov.u32 %r1, %laneid; mul.lo.u32 %r2, %r1, 4; mov.u32 %r3, s; add.u32 %r3, %r3, %r2; "
     "st.shared.u32 [%r3], %r1; bar.sync 0; xor.b32 %r4, %r2, 4; mov.u32 %r3, s; add.u32 %r3, %r3, "
     "%r4; "
     "ld.shared.u32 %r0, [%r3];",
     4},
    {"mov.u64 %rd1, s; cvta.shared.u64 %rd2, %rd1; setp.eq.s32 %p1, %laneid, 5; @%p1 st.u32 "
     "[%rd2+4], 9; "
     "bar.sync 0; mov.u32 %r0, 9; @%p1 ld.u32 %r0, [%rd2+4];",
     9},
    {"st.local.v2.b32 [l+8], {3, 4}; ld.local.b32 %r0, [l+12];", 4},
    {"mov.u32 %r1, %laneid; and.b32 %r2, %r1, 3; mul.wide.u32 %rd1, %r2, 4; mov.u64 %rd2, l; "
     "add.u64 %rd1, %rd1, %rd2; st.local.u32 [%rd1], %r1; ld.local.u32 %r0, [%rd1];",
     5},
    {"st.local.u32 [l], 0x01020304; st.local.u8 [l+1], 9; ld.local.u32 %r0, [l];", 0x01020904},
    {"mov.u64 %rd1, 0x500000006; st.local.u64 [l+8], %rd1; ld.local.v2.u32 {%r1, %r0}, [l+8];", 5},
    {"mov.u64 %rd1, l; cvta.local.u64 %rd2, %rd1; st.u32 [%rd2+4], 7; ld.local.u32 %r0, [l+4];", 7},
    {"st.local.u32 [l], 3; setp.ne.s32 %p1, %laneid, 5; @%p1 st.local.u32 [l], 4; "
     "ld.local.u32 %r0, [l];",
     3},
    {"mov.u64 %rd1, s; mov.b32 %r1, 0; setp.eq.s32 %p1, %laneid, 0; @%p1 st.shared.u32 [%rd1], "
     "%r1; bar.sync 0; "
     "atom.shared.add.u32 %r2, [%rd1], 3; bar.sync 0; ld.shared.u32 %r0, [%rd1];",
     96},
    /* a pair of which one half is known */
    {"mov.b64 %rd1, {%r1, 7}; mov.b64 {%r2, %r3}, %rd1; add.u32 %r0, %r3, 1;", 8},
    {"mov.b64 %rd1, {%h1, %h1, %h2, 7}; cvt.u16.u32 %h3, 5; mov.b64 %rd2, {%r1, %r1}; mov.b64 "
     "%rd2, {9, 9}; mov.b64 {%r2, %r0}, %rd2;",
     9},
    {"bfi.b32 %r1, 1, %r2, 0, 8; bfi.b32 %r1, 2, %r1, 8, 8; bfi.b32 %r1, 3, %r1, 16, 8; "
     "bfi.b32 %r0, 4, %r1, 24, 8;",
     0x04030201},
    {"bfi.b64 %rd1, 7, %rd2, 32, 32; bfi.b64 %rd1, 0, %rd1, 0, 32; mov.b64 {%r1, %r0}, %rd1;", 7},
    {"mov.b32 %r1, {3, %h1}; mov.b32 %r2, %r1; dp2a.lo.u32.u32 %r0, 0x00020003, %r2, 10;", 19},
    {"mov.b32 %r1, {%h1, 3}; mov.b32 %r2, %r1; dp2a.hi.u32.u32 %r0, 0x00020003, %r2, 10;", 19},
    {"prmt.b32 %r3, %r1, %r2, 0x3340U; prmt.b32 %r4, 7, %r3, 0x5410U; "
     "dp2a.lo.u32.u32 %r0, 0x00020003, %r4, 10;",
     31},
    {"prmt.b32 %r3, %r1, 0x55667788, 0x7654U; add.u32 %r0, %r3, 1;", 0x55667789},
    {"mov.b32 %r1, {%h1, 3}; prmt.b32 %r0, %r1, 5, 0x4432U;", 0x05050003},
    /* sums of several words */
    {"add.cc.u32 %r1, -1, 1; addc.u32 %r0, 5, 6;", 12},
    {"add.cc.u32 %r1, -2, 1; addc.u32 %r0, 5, 6;", 11},
    {"add.cc.u32 %r1, -1, 1; addc.cc.u32 %r1, -1, 0; addc.u32 %r0, 0, 0;", 1},
    {"sub.cc.u32 %r1, 0, 1; subc.u32 %r0, 5, 2;", 2},
    {"sub.cc.u32 %r1, 0, 1; subc.cc.u32 %r1, 0, -1; subc.u32 %r0, 5, 2;", 2},
    {"mad.lo.cc.u32 %r1, 65536, 65537, -65536; madc.hi.u32 %r0, 65536, 65537, 3;", 5},
    {"mad.hi.cc.s32 %r1, -2, 3, 1; addc.u32 %r0, 0, 0;", 1},
    {"add.cc.u64 %rd1, -1, 1; addc.u64 %rd2, 0, 6; cvt.u32.u64 %r0, %rd2;", 7},
    {"mov.u32 %r1, %laneid; setp.eq.s32 %p1, %r1, 5; add.cc.u32 %r2, 1, 1; @%p1 add.cc.u32 %r2, "
     "-1, 1; addc.u32 %r0, 0, 0;",
     1},
    /* functions: a result, a choice of returns, memory of its own, one that calls another */
    {"{.param .b32 a; st.param.b32 [a+0], 20; .param .b32 b; call.uni (b), twice, (a); "
     "ld.param.b32 %r0, [b+0];}",
     40},
    {"mov.u32 %r1, %laneid; {.param .b32 a; st.param.b32 [a], %r1; .param .b32 b; call (b), "
     "choice, (a); ld.param.b32 %r0, [b];}",
     105},
    {"{.param .b32 a; st.param.b32 [a], 1; .param .b32 b; call.uni (b), deep, (a); "
     "ld.param.b32 %r1, [b];} {.param .b32 a; st.param.b32 [a], %r1; .param .b32 b; call.uni (b), "
     "deep, (a); ld.param.b32 %r0, [b];}",
     7},
};

static const char head[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".func (.param .b32 y) twice(.param .b32 x)\n;\n"
    ".func (.param .b32 y) deep(.param .b32 x)\n{\n.local .align 4 .b8 own[8]; .reg .b32 %r<4>;\n"
    "ld.param.u32 %r1, [x]; {.param .b32 a; st.param.b32 [a], %r1; .param .b32 b;\n"
    "call.uni (b), twice, (a); ld.param.b32 %r2, [b];} st.local.b32 [own+4], %r2;\n"
    "ld.local.b32 %r3, [own+4]; add.u32 %r3, %r3, 1; st.param.b32 [y], %r3; ret;\n}\n"
    ".func (.param .b32 y) choice(.param .b32 x)\n{\n.reg .b32 %r<3>; .reg .pred %p<2>;\n"
    "ld.param.u32 %r1, [x]; setp.lt.u32 %p1, %r1, 5; @%p1 bra L1; add.u32 %r2, %r1, 100;\n"
    "st.param.b32 [y], %r2; ret; L1: st.param.b32 [y], 1; ret;\n}\n"
    ".func again()\n{\ncall.uni again; ret;\n}\n"
    ".func (.param .b32 y) silent()\n{\nret;\n}\n"
    ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<10>;\n"
    ".reg .b64 %rd<10>; .reg .f32 %f<4>; .shared .align 16 .b8 s[128]; .local .align 16 .b8 "
    "l[32];\n"
    "setp.eq.s32 %p3, 1, 1;\n";
static const char functions[] = /* behind the kernel, as NVRTC writes them */
    ".func (.param .b32 y) twice(.param .b32 x)\n{\n.reg .b32 %r<2>;\n"
    "ld.param.u32 %r1, [x]; add.u32 %r1, %r1, %r1; st.param.b32 [y+0], %r1; ret;\n}\n";
static const char tail[] =
    "\nld.param.u64 %rd9, [out]; mov.u32 %r9, %laneid; mul.wide.u32 %rd8, %r9, 4;\n"
    "add.u64 %rd9, %rd9, %rd8; st.global.u32 [%rd9], %r0; ret;\n}\n";

static PtxStatus launch(const char *body, uint32_t out[32], PtxResult *r, PtxLaunch l,
                        const char *end) {
  char text[4096], err[256];
  int n = snprintf(text, sizeof text, "%s%s%s%s", head, body, end, functions);
  PtxModule *m = ptx_module_load(text, (size_t)n, err, sizeof err);
  *r = (PtxResult){0};
  if (!m) {
    snprintf(r->error, sizeof r->error, "%s", err);
    return PTX_REFUSED;
  }
  PtxBuf buf = {out, 128, PTX_WRITE, "out", NULL, 0, 0};
  l.params = &out;
  l.params_size = 8;
  if (!l.nbufs) l.bufs = &buf;
  if (!l.nbufs) l.nbufs = 1;
  if (!l.checks) l.checks = PTX_CHECK_ALL;
  l.max_steps = 100000;
  PtxStatus s = ptx_launch(ptx_module_kernel(m, 0), &l, r);
  ptx_module_free(m);
  return s;
}

static PtxStatus run(const char *body, uint32_t out[32], PtxResult *r, unsigned threads,
                     const char *end) {
  PtxLaunch l = {.grid = {1, 1, 1}, .block = {threads, 1, 1}};
  return launch(body, out, r, l, end);
}

static void check_rows(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    uint32_t out[32] = {0};
    PtxResult r;
    PtxStatus s = run(rows[i].body, out, &r, 32, tail);
    if (s != PTX_OK || out[5] != rows[i].want) {
      fprintf(stderr, "%s\n  gives %08x, not %08x; %s %s\n", rows[i].body, out[5], rows[i].want,
              r.error, r.count ? r.findings[0].text : "");
      failures++;
    }
    ptx_result_free(&r);
  }
}

/* ---- findings ---- */
static const struct Wrong {
  const char *body;
  PtxKind kind;
} wrongs[] = {
    {"ld.shared.u32 %r1, [s+128];", PTX_BOUNDS},
    {"ld.shared.u32 %r1, [s+2];", PTX_ALIGN},
    {"ld.local.u32 %r1, [l+32];", PTX_BOUNDS},
    {"ld.shared.u32 %r1, [s];", PTX_UNINIT},
    {"st.local.u8 [l], 1; ld.local.u32 %r1, [l]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L1; L1: "
     "mov.u32 %r2, 0;",
     PTX_UNINIT},
    {"st.local.u8 [l], 1; mov.u64 %rd1, l; cvta.local.u64 %rd2, %rd1; ld.u32 %r1, [%rd2]; "
     "setp.eq.s32 %p1, %r1, 0; @%p1 bra L1; L1: mov.u32 %r2, 0;",
     PTX_UNINIT},
    {"setp.eq.s32 %p1, %laneid, 5; @%p1 st.local.u32 [l], 4; ld.local.u32 %r1, [l]; "
     "setp.eq.s32 %p2, %r1, 0; @%p2 bra L1; L1: mov.u32 %r2, 0;",
     PTX_UNINIT},
    {"st.local.u32 [l], 1; mov.u64 %rd1, l; cvta.local.u64 %rd2, %rd1; atom.add.u32 %r1, [%rd2], "
     "1;",
     PTX_RIGHTS},
    {"ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [%rd1];", PTX_RIGHTS},
    {"ld.param.u64 %rd1, [out]; st.global.u32 [%rd1+128], 1;", PTX_BOUNDS},
    {"ld.param.u64 %rd1, [out]; st.global.u32 [%rd1+124], 1; mov.u32 %r1, %laneid; "
     "st.global.u32 [%rd1+124], %r1;",
     PTX_RACE_GLOBAL},
    {"mov.u32 %r1, %laneid; st.shared.u32 [s], %r1;", PTX_RACE_SHARED},
    {"add.s32 %r2, %r1, 1; setp.eq.s32 %p1, %r2, 0; @%p1 bra L1; L1: mov.u32 %r3, 0;", PTX_UNINIT},
    {"mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 5; @%p1 bra L1; bar.sync 0; bra L2; L1: bar.sync "
     "0; L2: "
     "mov.u32 %r2, 0;",
     PTX_BARRIER},
    {"mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 5; @%p1 bra L1; bar.sync 0; bra L2; L1: bar.sync "
     "1; L2: "
     "mov.u32 %r2, 0;",
     PTX_BARRIER},
    {"mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 5; @%p1 bra L1; bar.warp.sync -1; bra L2; L1: "
     "bar.sync 0; "
     "L2: mov.u32 %r2, 0;",
     PTX_WARP_SYNC},
    {"mov.u32 %r1, 0; shfl.sync.idx.b32 %r2, %r1, 0, 31, 15;", PTX_WARP_SYNC},
    {"trap;", PTX_TRAP},
    {"mov.b64 %rd1, {%r1, 7}; mov.b64 {%r2, %r3}, %rd1; setp.eq.s32 %p1, %r2, 0; @%p1 bra L1; L1: "
     "mov.u32 %r4, 0;",
     PTX_UNINIT},
    {"mov.b32 %r1, {3, %h1}; dp2a.hi.u32.u32 %r2, 1, %r1, 1; setp.eq.s32 %p1, %r2, 0; @%p1 bra L1; "
     "L1: mov.u32 %r3, 0;",
     PTX_UNINIT},
    {"mov.b32 %r1, {3, %h1}; dp2a.lo.u32.u32 %r2, %r1, 1, 1; setp.eq.s32 %p1, %r2, 0; @%p1 bra L1; "
     "L1: mov.u32 %r3, 0;",
     PTX_UNINIT},
    {"mov.b32 %r1, {3, %h1}; prmt.b32 %r2, %r1, 0, 0x4402U; setp.eq.s32 %p1, %r2, 0; @%p1 bra L1; "
     "L1: mov.u32 %r3, 0;",
     PTX_UNINIT},
    {"mov.b32 %r1, {3, %h1}; mov.b32 %r2, %r1; mov.b32 {%h2, %h3}, %r2; cvt.u32.u16 %r3, %h3; "
     "setp.eq.s32 %p1, %r3, 0; @%p1 bra L1; L1: mov.u32 %r4, 0;",
     PTX_UNINIT},
    {"bfi.b32 %r1, 1, %r2, 0, 8; bfi.b32 %r1, 2, %r1, 16, 16; setp.eq.s32 %p1, %r1, 0; @%p1 bra "
     "L1; L1: mov.u32 %r3, 0;",
     PTX_UNINIT},
    {"bfi.b32 %r1, 1, 0, 0, 8; bfi.b32 %r1, %r2, %r1, 15, 1; setp.eq.s32 %p1, %r1, 0; @%p1 bra L1; "
     "L1: mov.u32 %r3, 0;",
     PTX_UNINIT},
    {"{.param .b32 b; call.uni (b), silent; ld.param.b32 %r1, [b];} setp.eq.s32 %p1, %r1, 0; "
     "@%p1 bra L1; L1: mov.u32 %r2, 0;",
     PTX_UNINIT},
    {"addc.u32 %r1, 1, 1; setp.eq.s32 %p1, %r1, 0; @%p1 bra L1; L1: mov.u32 %r2, 0;", PTX_UNINIT},
    {".param .b32 b; ld.param.b32 %r1, [b+4];", PTX_BOUNDS},
};

static void check_wrongs(void) {
  for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
    uint32_t out[32] = {0};
    PtxResult r;
    run(wrongs[i].body, out, &r, 32, "\nret;\n}\n");
    bool found = false;
    for (size_t n = 0; n < r.count; n++) found |= r.findings[n].kind == wrongs[i].kind;
    if (!found) {
      fprintf(stderr, "%s\n  is not found to be: %s; %s\n", wrongs[i].body,
              ptx_kind_name(wrongs[i].kind), r.error);
      failures++;
    }
    ptx_result_free(&r);
  }
}

/* ---- races, and what orders accesses: in every order of warps and CTAs that is tried ---- */
/* %rd1 is 128 bytes of zeros, for all CTAs; %r1 the lane, %r2 the CTA, %r3 the warp. */
#define PUBLISH "setp.eq.s32 %p1, %r2, 0; @!%p1 bra READER; "
static const struct Race {
  const char *what, *body;
  unsigned ctas, threads;
  int kind; /* or PTX_KIND_COUNT: nothing is wrong */
} races[] = {
    {"a fence between the data and the flag",
     PUBLISH "st.global.u32 [%rd1+16], 5; membar.gl; atom.global.add.u32 %r4, [%rd1+32], 1; ret; "
             "READER: atom.global.add.u32 %r4, [%rd1+32], 0; membar.gl; setp.ne.s32 %p2, %r4, 0; "
             "@%p2 ld.global.u32 %r5, [%rd1+16];",
     2, 1, PTX_KIND_COUNT},
    {"no fence",
     PUBLISH "st.global.u32 [%rd1+16], 5; atom.global.add.u32 %r4, [%rd1+32], 1; ret; "
             "READER: atom.global.add.u32 %r4, [%rd1+32], 0; membar.gl; setp.ne.s32 %p2, %r4, 0; "
             "@%p2 ld.global.u32 %r5, [%rd1+16];",
     2, 1, PTX_RACE_GLOBAL},
    {"no fence of the reader's",
     PUBLISH "st.global.u32 [%rd1+16], 5; membar.gl; atom.global.add.u32 %r4, [%rd1+32], 1; ret; "
             "READER: atom.global.add.u32 %r4, [%rd1+32], 0; setp.ne.s32 %p2, %r4, 0; "
             "@%p2 ld.global.u32 %r5, [%rd1+16];",
     2, 1, PTX_RACE_GLOBAL},
    {"the fence before the data",
     PUBLISH "membar.gl; st.global.u32 [%rd1+16], 5; atom.global.add.u32 %r4, [%rd1+32], 1; ret; "
             "READER: atom.global.add.u32 %r4, [%rd1+32], 0; membar.gl; setp.ne.s32 %p2, %r4, 0; "
             "@%p2 ld.global.u32 %r5, [%rd1+16];",
     2, 1, PTX_RACE_GLOBAL},
    {"data written after the flag",
     PUBLISH "membar.gl; atom.global.add.u32 %r4, [%rd1+32], 1; st.global.u32 [%rd1+16], 5; ret; "
             "READER: atom.global.add.u32 %r4, [%rd1+32], 0; membar.gl; setp.ne.s32 %p2, %r4, 0; "
             "@%p2 ld.global.u32 %r5, [%rd1+16];",
     2, 1, PTX_RACE_GLOBAL},
    {"another thread's fence, with no barrier",
     PUBLISH "setp.eq.s32 %p2, %r3, 0; @%p2 st.global.u32 [%rd1+16], 5; setp.eq.s32 %p2, %r1, 0; "
             "@!%p2 ret; setp.eq.s32 %p2, %r3, 1; @%p2 membar.gl; "
             "@!%p2 atom.global.add.u32 %r4, [%rd1+32], 1; ret; "
             "READER: atom.global.add.u32 %r4, [%rd1+32], 0; membar.gl; setp.ne.s32 %p2, %r4, 0; "
             "@%p2 ld.global.u32 %r5, [%rd1+16];",
     2, 64, PTX_RACE_GLOBAL},
    {"a barrier, then the fence and the flag of one thread for all",
     PUBLISH "mul.lo.u32 %r6, %r1, 4; cvt.u64.u32 %rd2, %r6; add.u64 %rd2, %rd1, %rd2; "
             "setp.lt.u32 %p2, %r1, 8; setp.eq.and.s32 %p2, %r3, 1, %p2; @%p2 st.global.u32 "
             "[%rd2+64], 5; bar.sync 0; add.u32 %r7, %r1, %r3; setp.ne.s32 %p2, %r7, 0; @%p2 ret; "
             "membar.gl; atom.global.add.u32 %r4, [%rd1+32], 1; ret; "
             "READER: atom.global.add.u32 %r4, [%rd1+32], 0; membar.gl; setp.ne.s32 %p2, %r4, 0; "
             "@%p2 ld.global.u32 %r5, [%rd1+76];",
     2, 64, PTX_KIND_COUNT},
    {"what one CTA learned it tells the next",
     "membar.gl; atom.global.add.u32 %r4, [%rd1+32], 1; membar.gl; setp.ne.s32 %p1, %r4, 0; "
     "@%p1 ld.global.u32 %r5, [%rd1+16]; add.u32 %r5, %r4, 7; st.global.u32 [%rd1+16], %r5; "
     "membar.gl; atom.global.add.u32 %r6, [%rd1+32], 0;",
     4, 1, PTX_KIND_COUNT},
    {"a bar.warp.sync without the writer",
     "mov.u32 %r4, s; setp.eq.s32 %p1, %r1, 5; @%p1 st.shared.u32 [%r4], 9; setp.lt.u32 %p1, %r1, "
     "2; @%p1 bar.warp.sync 3; setp.eq.s32 %p1, %r1, 0; @%p1 ld.shared.u32 %r5, [%r4];",
     1, 32, PTX_RACE_SHARED},
    {"a bar.warp.sync of all",
     "mov.u32 %r4, s; setp.eq.s32 %p1, %r1, 5; @%p1 st.shared.u32 [%r4], 9; bar.warp.sync -1; "
     "setp.eq.s32 %p1, %r1, 0; @%p1 ld.shared.u32 %r5, [%r4];",
     1, 32, PTX_KIND_COUNT},
    {"a third reader beside the writer",
     "mov.u32 %r4, s; add.u32 %r6, %r1, %r3; setp.eq.s32 %p1, %r6, 0; @%p1 st.shared.u32 [%r4], 9; "
     "bar.sync 0; setp.eq.s32 %p1, %r3, 2; @%p1 bra THIRD; setp.eq.s32 %p1, %r3, 1; @%p1 bra "
     "SECOND; "
     "setp.lt.u32 %p1, %r1, 2; @%p1 ld.shared.u32 %r5, [%r4]; bar.sync 1, 64; "
     "setp.eq.s32 %p1, %r1, 2; @%p1 st.shared.u32 [%r4], 7; ret; "
     "SECOND: setp.eq.s32 %p1, %r1, 0; @%p1 ld.shared.u32 %r5, [%r4]; ret; "
     "THIRD: bar.sync 1, 64;",
     1, 96, PTX_RACE_SHARED},
    {"readers of all warps, a barrier, a writer",
     "mov.u32 %r4, s; add.u32 %r6, %r1, %r3; setp.eq.s32 %p1, %r6, 0; @%p1 st.shared.u32 [%r4], 9; "
     "bar.sync 0; ld.shared.u32 %r5, [%r4]; bar.warp.sync -1; ld.shared.u32 %r5, [%r4]; "
     "bar.sync 0; @%p1 st.shared.u32 [%r4], 7;",
     1, 128, PTX_KIND_COUNT},
    {"a barrier that a part of a warp reaches",
     "mov.u32 %r4, s; setp.eq.s32 %p1, %r1, 5; setp.eq.and.s32 %p2, %r3, 0, %p1; @%p2 "
     "st.shared.u32 [%r4], 9; setp.lt.u32 %p1, %r1, 2; @%p1 bar.sync 1, 4; setp.eq.and.s32 %p2, "
     "%r3, 1, %p1; @%p2 ld.shared.u32 %r5, [%r4];",
     1, 64, PTX_RACE_SHARED},
    {"the read-only path, then a write",
     "ld.global.nc.u32 %r4, [%rd1]; add.u32 %r4, %r4, 1; bar.sync 0; st.global.u32 [%rd1], %r4;", 1,
     1, PTX_READ_ONLY},
    {"a write, then the read-only path",
     "st.global.u32 [%rd1], 3; bar.sync 0; ld.global.nc.u32 %r4, [%rd1];", 1, 1, PTX_READ_ONLY},
    {"the read-only path beside other bytes",
     "st.global.u32 [%rd1+4], 3; ld.global.nc.u32 %r4, [%rd1];", 1, 1, PTX_KIND_COUNT},
};

static void check_races(void) {
  static const char begin[] = "ld.param.u64 %rd1, [out]; mov.u32 %r1, %laneid; mov.u32 %r2, "
                              "%ctaid.x; mov.u32 %r3, %tid.x; shr.u32 %r3, %r3, 5;\n";
  for (size_t i = 0; i < 4 * (sizeof races / sizeof *races); i++) {
    const struct Race *t = &races[i / 4];
    uint32_t out[32] = {0};
    char body[2048];
    PtxResult r;
    PtxBuf buf = {out, sizeof out, PTX_RW, "out", NULL, 0, 0};
    PtxLaunch l = {.grid = {t->ctas, 1, 1}, .block = {t->threads, 1, 1}, .order = (unsigned)i % 4};
    l.bufs = &buf, l.nbufs = 1;
    snprintf(body, sizeof body, "%s%s", begin, t->body);
    PtxStatus s = launch(body, out, &r, l, "\nret;\n}\n");
    bool found = t->kind == PTX_KIND_COUNT && s == PTX_OK;
    for (size_t n = 0; n < r.count; n++) found |= (int)r.findings[n].kind == t->kind;
    /* the reader that comes first finds no flag */
    bool unseen = t->ctas == 2 && s == PTX_OK && out[8] == 1 && l.order % 2 == 1;
    if (!found && !unseen) {
      fprintf(stderr, "%s, order %u: %s; %s %s\n", t->what, l.order,
              t->kind == PTX_KIND_COUNT ? "nothing is wrong" : "is not found", r.error,
              r.count ? r.findings[0].text : "");
      failures++;
    }
    ptx_result_free(&r);
  }
}

/* ---- whose pointer it is; what an architecture has; forms that leave bits open ---- */
static void check_launches(void) {
  static const char text[] =
      ".version 8.0\n.target sm_86\n.address_size 64\n"
      ".visible .entry k(.param .u64 a, .param .u64 b)\n{\n.reg .b64 %rd<4>; .reg .b32 %r<2>;\n"
      "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.global.u32 %r1, [%rd1+64];\n"
      "st.global.u32 [%rd2], %r1; ret;\n}\n"
      ".visible .entry near()\n{\n.reg .f32 %f<3>;\nmov.f32 %f1, 0f3F800000;\n"
      "add.rn.f32 %f1, %f1, %f1;\ndiv.full.f32 %f2, %f1, %f1; ret;\n}\n";
  char err[256];
  PtxModule *m = ptx_module_load(text, sizeof text - 1, err, sizeof err);
  if (!m) {
    fprintf(stderr, "%s\n", err);
    failures++;
    return;
  }
  const PtxKernel *k = ptx_module_kernel(m, 0), *near = ptx_module_kernel(m, 1);
  uint32_t bytes[32] = {0};
  for (int tagged = 0; tagged < 2; tagged++) { /* b lies behind a */
    PtxBuf bufs[] = {{bytes, 64, PTX_READ, "a", NULL, 0, (unsigned)tagged},
                     {bytes + 16, 64, PTX_RW, "b", NULL, 0, 2u * (unsigned)tagged}};
    uint64_t params[] = {ptx_tagged(bufs[0].base, bufs[0].tag),
                         ptx_tagged(bufs[1].base, bufs[1].tag)};
    PtxLaunch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .params = params, .params_size = 16};
    l.bufs = bufs, l.nbufs = 2, l.checks = PTX_CHECK_ALL;
    PtxResult r;
    PtxStatus s = ptx_launch(k, &l, &r);
    if (s != (tagged ? PTX_FOUND : PTX_OK) || (tagged && r.findings[0].kind != PTX_BOUNDS)) {
      fprintf(stderr, "from one argument into the next, tags %d: %s\n", tagged, r.error);
      failures++;
    }
    ptx_result_free(&r);
    for (size_t bytes_shared = 101376; bytes_shared <= 101380; bytes_shared += 4) {
      l.dynamic_shared = bytes_shared;
      s = ptx_launch(k, &l, &r);
      if ((s == PTX_REFUSED) != (bytes_shared > 101376)) {
        fprintf(stderr, "%zu bytes of shared memory on sm_86: %s\n", bytes_shared, r.error);
        failures++;
      }
      ptx_result_free(&r);
    }
  }
  if (ptx_kernel_approximate(k) || ptx_kernel_approximate(near) != 15) {
    fprintf(stderr, "div.full is found in lines %d and %d\n", ptx_kernel_approximate(k),
            ptx_kernel_approximate(near));
    failures++;
  }
  ptx_module_free(m);
}

/* ---- a part of the grid ---- */
static const struct Grid {
  unsigned some;
  bool ends;
  const char *ran; /* of 12 CTAs */
} grids[] = {
    {0, false, "111111111111"}, {4, false, "100100010001"}, {4, true, "110000000011"},
    {1, false, "100000000000"}, {5, true, "110000000111"},  {12, true, "111111111111"},
    {20, true, "111111111111"},
};

static void check_grids(void) {
  static const char mark[] = "ld.param.u64 %rd9, [out]; mov.u32 %r9, %ctaid.x;\n"
                             "mul.wide.u32 %rd8, %r9, 4; add.u64 %rd9, %rd9, %rd8;\n"
                             "mov.u32 %r0, 1; st.global.u32 [%rd9], %r0;";
  for (size_t i = 0; i < 3 * (sizeof grids / sizeof *grids); i++) {
    const struct Grid *g = &grids[i / 3];
    uint32_t out[32] = {0};
    char ran[13] = "";
    PtxResult r;
    PtxLaunch l = {.grid = {12, 1, 1}, .block = {1, 1, 1}, .some = g->some, .ends = g->ends};
    l.order = (unsigned)(i % 3);
    PtxStatus s = launch(mark, out, &r, l, "\nret;\n}\n");
    for (int k = 0; k < 12; k++) ran[k] = out[k] ? '1' : '0';
    if (s != PTX_OK || strcmp(ran, g->ran) != 0) {
      fprintf(stderr, "some %u: %s ran, not %s; %s\n", g->some, ran, g->ran, r.error);
      failures++;
    }
    ptx_result_free(&r);
  }
}

/* ---- what accesses of a warp cost the banks of shared memory: lane l's address is %r9 ---- */
static const struct Banks {
  const char *body;
  uint64_t turns, needed;
} banks[] = {
    {"shl.b32 %r9, %r9, 2; st.shared.u32 [%r9], %r9;", 1, 1},
    {"shl.b32 %r9, %r9, 3; st.shared.u32 [%r9], %r9;", 2, 1},
    {"shl.b32 %r9, %r9, 7; st.shared.u32 [%r9], %r9;", 32, 1},
    {"mul.lo.s32 %r9, %r9, 132; st.shared.u32 [%r9], %r9;", 1, 1},
    {"shr.u32 %r9, %r9, 1; st.shared.u8 [%r9], %r9;", 1, 1},           /* lanes share words */
    {"shl.b32 %r9, %r9, 1; st.shared.u16 [%r9], 7;", 1, 1},            /* likewise */
    {"shl.b32 %r9, %r9, 3; st.shared.u64 [%r9], 7;", 2, 2},            /* halves of the warp */
    {"shl.b32 %r9, %r9, 7; st.shared.u64 [%r9], 7;", 32, 2},           /* 16 conflicts in each */
    {"shl.b32 %r9, %r9, 4; st.shared.v4.u32 [%r9], {1,2,3,4};", 4, 4}, /* quarters */
    {"shl.b32 %r9, %r9, 5; st.shared.v4.u32 [%r9], {1,2,3,4};", 8, 4},
    {"setp.lt.u32 %p1, %r9, 3; shl.b32 %r9, %r9, 7; @%p1 st.shared.u32 [%r9], %r9;", 3, 1},
};

static void check_banks(void) {
  for (size_t i = 0; i < sizeof banks / sizeof *banks; i++) {
    uint32_t out[32] = {0};
    char body[300];
    PtxResult r;
    PtxLaunch l = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
    l.checks = PTX_COUNT;
    snprintf(body, sizeof body, "mov.u32 %%r9, %%laneid; %s", banks[i].body);
    PtxStatus s = launch(body, out, &r, l, "\nret;\n}\n");
    /* also of bytes that are not there, which are found */
    if (s == PTX_REFUSED || r.turns != banks[i].turns || r.turns_needed != banks[i].needed) {
      fprintf(stderr, "%s\n  takes %u of %u turns, not %u of %u; %s\n", banks[i].body,
              (unsigned)r.turns, (unsigned)r.turns_needed, (unsigned)banks[i].turns,
              (unsigned)banks[i].needed, r.error);
      failures++;
    }
    ptx_result_free(&r);
  }
}

/* ---- texts that are refused, with what the message must say ---- */
static const struct Refused {
  const char *body, *says;
} refused[] = {
    {"frob.u32 %r0, %r1;", "unknown instruction 'frob.u32'"},
    {"wgmma.fence.sync;", "unknown instruction 'wgmma.fence.sync'"},
    {"add.s32 %r0, %rd1, 1;", "wrong width"},
    {"add.s32 %r10, %r1, 1;", "beyond those declared"},
    {"mov.u32 %q, 1;", "not a register"},
    {"bra nowhere;", "not in this scope"},
    {"add.s32 %r0, %r1;", "','"},
    {"call (x), f, (y);", "only a .param variable can be passed"},
    {"call.uni vprintf;", "'vprintf' is called, and has no body"},
    {"call.uni again;", "may not call itself"},
    {"call.uni twice;", "not what the function takes"},
    {".param .b64 a; .param .b32 b; call (b), twice, (a);", "not what the function takes"},
    {".param .b32 a; @%p3 call twice, (a);", "guards"},
    {"addc.f32 %f1, %f1, %f1;", "unknown instruction 'addc.f32'"},
    {"bar.sync 16;", "no barrier 16"},
    {"L0: bra L0;", "step limit"},
    {"mov.u32 %r0, 1", "';' expected"},
};

static void check_refused(void) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    uint32_t out[32] = {0};
    PtxResult r;
    PtxStatus s = run(refused[i].body, out, &r, 32, "\nret;\n}\n");
    if (s != PTX_REFUSED || !strstr(r.error, refused[i].says)) {
      fprintf(stderr, "%s\n  is answered '%s', not '%s'\n", refused[i].body, r.error,
              refused[i].says);
      failures++;
    }
    ptx_result_free(&r);
  }
}

int main(void) {
  check_rows();
  check_wrongs();
  check_races();
  check_launches();
  check_grids();
  check_banks();
  check_refused();
  if (failures) fprintf(stderr, "%d failures\n", failures);
  return failures != 0;
}
