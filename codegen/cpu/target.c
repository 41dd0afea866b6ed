/* The CPU target: asks the C compiler which instructions -march means, and fills the Target.
   Contract: nothing depends on the machine gc runs on but -march=native itself. The tiles are those
   measured at 96 to 98 % of the peak: 6 rows of 4 registers with 32 registers, of 2 with 16. */
#include "codegen/cpu/target.h"
#include "codegen/cpu/cpu.h"

#include "codegen/build/process.h"
#include "codegen/program/gen.h"
#include "codegen/schedule/amx_conv.h"
#include "codegen/schedule/product.h"
#include "codegen/schedule/winograd.h"

#include <stdlib.h>
#include <string.h>

static int cpu_panel(const Target *t, Dtype dt) {
  const VectorMachine *m = &cpu_target(t)->machine;
  return dt == DT_F32 || dtype_is_half(dt) ? m->vectors * machine_lanes(m, 4) : 0;
}

/* As few panels as the tile's width allows, of equal widths. */
static int cpu_filter_panel(const Target *t, Dtype dt, int64_t columns) {
  const VectorMachine *m = &cpu_target(t)->machine;
  if (dt != DT_F32 && !(dt == DT_BF16 && (m->pairs || m->amx))) return -1;
  return columns <= cpu_panel(t, DT_F32) ? 0 : panel_columns(m, columns);
}

/* Depthwise convolutions multiply no number by more than one. */
static bool cpu_multiplies_halves(const Target *t, Dtype in, const ConvGeom *c, OpKind kind) {
  const VectorMachine *m = &cpu_target(t)->machine;
  if (in != DT_BF16 || (c->groups > 1 && c->gin == 1 && c->gout == 1)) return false;
  if (kind == OP_CONV_FILTER_GRAD) return amx_filter_pays(m, c);
  return m->pairs || amx_conv_pays(m, c, kind == OP_CONV_INPUT_GRAD);
}

/* Tiles along columns are literal, but for those in the middle. */
static bool cpu_ends_windows(const Target *t, const Entry *e, const Op *op, int axis) {
  (void)t;
  if (axis == 2 || (op->kind != OP_CONV && op->kind != OP_CONV_INPUT_GRAD)) return true;
  const ConvGeom g = conv_geom(e, op);
  const int64_t whole = window_least_whole(&g.w, op->kind == OP_CONV_INPUT_GRAD);
  return whole > 0 && whole <= MOST_NARROW;
}

static int cpu_winograd_panel(const Target *t, const ConvGeom *g, bool back) {
  if (!winograd_wins_somewhere(g, back)) return 0;
  return panel_columns(&cpu_target(t)->machine, back ? g->cin : g->cout);
}

static uint64_t cpu_scratch(const Target *t, const Entry *e, const Op *op) {
  Arena *a = arena_new();
  const Group *g = group_of(a, e, op);
  uint64_t bytes = 0;
  if (g->form == FORM_COLS || g->form == FORM_REDUCE) bytes = cpu_reduce_scratch(g);
  if (g->form == FORM_ROWS && !cpu_sums_pixels(g)) bytes = cpu_rows_scratch(g);
  if (g->form == FORM_WINDOW && g->root->kind == OP_CONV_FILTER_GRAD) bytes = cpu_filter_scratch(g);
  if (g->form == FORM_ATTENTION) bytes = cpu_attention_scratch(t, g);
  if (g->form == FORM_SINGLE && op_info[op->kind].cls == CLASS_ORDER)
    bytes = cpu_order_scratch(g);
  else if (g->form == FORM_SINGLE)
    bytes = cpu_index_scratch(g);
  arena_free(a);
  return bytes;
}

#define SYSFS_CPU "/sys/devices/system/cpu/cpu0/"

/* The least x86-64 with FMA, which is many times as fast as what does without. */
#define FMA_MARCH "x86-64-v3"

/* Runs it on nothing with these words; its macros, or NULL with the status and what it said. */
static const char *macros_of(Ctx *c, const char *cc, const char *march, int *status) {
  const char *const options[] = {"-dM", "-E", "-x", "c", "/dev/null", march, NULL};
  VEC(const char *) words = {0};
  codegen_cc_words(ctx_arena(c), cc, &words.at, &words.n);
  words.cap = words.n;
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    vec_push(ctx_arena(c), &words, options[i]);
  char *said = NULL;
  *status = process_run(words.at, ctx_arena(c), &said);
  return *status == 0 && said && strstr(said, "#define __STDC__ ") ? said : NULL;
}

/* The processor that it compiles for, by its name for uname and CMake. */
static const char *processor_of(const char *macros) {
  static const struct {
    const char *macro, *name;
  } all[] = {{"#define __x86_64__ ", "x86_64"}, {"#define __aarch64__ ", "aarch64"}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strstr(macros, all[i].macro)) return all[i].name;
  return GC_PROCESSOR;
}

static bool is_elsewhere(const char *macros) {
  return strcmp(processor_of(macros), GC_PROCESSOR) != 0;
}

/* What the compiler defines with the instruction set that is asked for, or NULL. Without one it is
   this machine's, unless the compiler is one for another machine, which then decides. Asked again
   without -march, a compiler that does not know the word answers, and one that fails at everything
   fails again. */
static const char *macros_for(Ctx *c, CodegenOptions *o, const char *march, CpuTarget *t) {
  int status;
  t->level = march ? march : "native";
  t->cc_march = intern_printf(c, "-march=%s", t->level);
  const char *macros = macros_of(c, o->cc, t->cc_march, &status);
  if (macros && (march || !is_elsewhere(macros))) return macros;
  const char *plain = status < 0 ? NULL : macros_of(c, o->cc, NULL, &status);
  if (plain && !march && is_elsewhere(plain)) {
    t->level = processor_of(plain);
    t->cc_march = NULL;
    return plain;
  }
  o->failed = 3;
  if (status < 0) {
    diag(c, SEV_ERROR, (Loc){0},
         "no C compiler: '%s' cannot be run; install one (Debian: apt-get install gcc) or set CC",
         o->cc);
  } else if (!plain) {
    diag(c, SEV_ERROR, (Loc){0},
         "no C compiler: '%s' runs, but does not compile an empty file (exit code %d); set CC to a "
         "C compiler, or unset it",
         o->cc, status);
  } else {
    if (march) o->failed = 2;
    diag(c, SEV_ERROR, (Loc){0}, "the C compiler '%s' does not know -march=%s", o->cc, t->level);
    if (march)
      diag(c, SEV_HINT, (Loc){0},
           "names are the C compiler's own, as x86-64-v3, skylake or armv8.2-a");
  }
  return NULL;
}

/* Every instruction set that the compiler may use, comma-separated. */
static const char *features_of(Arena *a, const char *macros) {
  static const struct {
    const char *macro, *name;
  } all[] = {
#define X86_FEATURE(MACRO, NAME) {"#define " MACRO " ", NAME},
#define X86_CPUID X86_FEATURE
#define ARM_FEATURE X86_FEATURE
#define UNUSED(MACRO)
#include "codegen/cpu/features.def"
#undef UNUSED
#undef ARM_FEATURE
#undef X86_CPUID
#undef X86_FEATURE
  };
  const char *list = "";
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strstr(macros, all[i].macro))
      list = arena_printf(a, "%s%s%s", list, *list ? "," : "", all[i].name);
  return list;
}

/* vdpbf16ps does more than FMA in f32 does. From AVX512_FP16 on, Intel's processors have AMX for
   that and take two cycles for the instruction, half of FMA's rate (measured on one of the fifth
   generation of Xeon); AMD's take one, or a half. */
static bool has_fast_pairs(const char *macros) {
  return strstr(macros, "#define __AVX512BF16__ ") &&
         (strstr(macros, "#define __znver") || !strstr(macros, "#define __AVX512FP16__ "));
}

/* The registers of AMX, and products of bf16 in these; compilers before clang 16 have other names.
   Tiles are stored by vectors of AVX-512, which each such processor has. */
static bool has_amx(const char *macros) {
  return strstr(macros, "#define __AVX512F__ ") &&
         (strstr(macros, "#define __AMX_BF16__ ") || strstr(macros, "#define __AMXBF16__ "));
}

/* Packed words of bytes are those of vpdpbusd, which products of few rows take. */
static bool has_amx_bytes(const char *macros) {
  return strstr(macros, "#define __AVX512VNNI__ ") &&
         (strstr(macros, "#define __AMX_INT8__ ") || strstr(macros, "#define __AMXINT8__ "));
}

/* Words of four integers of the depth are multiplied as they lie, where instructions take bytes. */
static bool interleaves(const char *macros) { return strstr(macros, "#define __AVX2__ ") != NULL; }

const Target *target_cpu_level(Ctx *c, CodegenOptions *o, const char *march) {
  Arena *a = ctx_arena(c);
  CpuTarget *t = ARENA_NEW(a, CpuTarget);
  const char *cc = o->cc ? o->cc : getenv("CC");
  o->cc = cc && cc[strspn(cc, " \t\n")] ? cc : "cc";
  const char *macros = macros_for(c, o, march, t);
  if (!macros) return NULL;
  o->cc_macros = macros;
  o->processor = processor_of(macros);
  if (is_elsewhere(macros) && !o->cross) /* another level of it has said so before */
    o->runtime_dir = intern_printf(c, "%s/%s", o->runtime_dir, o->processor);
  o->cross = is_elsewhere(macros);
  bool avx512 = strstr(macros, "#define __AVX512F__ ") != NULL;
  bool x86 = strstr(macros, "#define __x86_64__ ") != NULL;
  bool arm = strstr(macros, "#define __aarch64__ ") != NULL;
  bool native = strcmp(t->level, "native") == 0;
  const char *more = NULL;
  if (x86 && !strstr(macros, "#define __FMA__ ")) {
    int status;
    more = macros_of(c, o->cc, "-march=" FMA_MARCH, &status);
  }
  *t = (CpuTarget){
      .t = {.name = "cpu",
            .speed = 8e10,           /* a core: 10 GB/s of its share of memory, or 80 Gflops */
            .link = {20e-6, 1.25e9}, /* 10 Gb/s Ethernet */
            .align = 64,
            .slack = 64,
            .panel = cpu_panel,
            .filter_panel = cpu_filter_panel,
            .multiplies_halves = cpu_multiplies_halves,
            .ends_windows = cpu_ends_windows,
            .winograd_panel = o->exact ? NULL : cpu_winograd_panel,
            .scratch_bytes = cpu_scratch,
            .can_fuse = gen_can_fuse,
            .moves_in_place = true,
            .compact_inputs = true,
            .strided_attention = true,
            .multiplies_quantized = cpu_multiplies_quantized,
            .quantizes = cpu_quantizes,
            .interleaved = interleaves(macros) ? WORD_BYTES : 0,
            .max_fused_ops = 64},
      .machine = {.vector = avx512 ? 64
                            : x86  ? 32
                                   : 16,
                  .vectors = avx512 || arm ? 4 : 2,
                  .rows = 6,
                  .pairs = has_fast_pairs(macros),
                  .amx = has_amx(macros),
                  .amx_bytes = has_amx_bytes(macros),
                  .cache = native && !o->cross ? caches_here(SYSFS_CPU) : caches_of(t->level)},
      .level = t->level,
      .features = features_of(a, macros),
      .cc_march = t->cc_march,
      .cc_macros = macros,
      .fma_level = more ? FMA_MARCH : NULL,
      .fma_features = more ? features_of(a, more) : NULL,
  };
  return &t->t;
}

const Target *target_cpu(Ctx *c, CodegenOptions *o) { return target_cpu_level(c, o, o->march); }

/* ---- several levels ---- */

/* Whether a list of instruction sets has all those of another. */
static bool has_all(const char *list, const char *of) {
  for (size_t n; *of; of += n + (of[n] == ',')) {
    n = strcspn(of, ",");
    const char *p = list;
    while (*p && !(strcspn(p, ",") == n && strncmp(p, of, n) == 0))
      p += strcspn(p, ","), p += *p == ',';
    if (!*p) return false;
  }
  return true;
}

bool target_cpu_levels(Ctx *c, const CodegenPart *p, int n, CodegenOptions *o, int *at,
                       const char **march) {
  *march = NULL;
  for (int i = 0; i < n; i++) {
    const CpuTarget *low = cpu_target(p[i].target);
    for (int k = i + 1; k < n; k++) {
      const CpuTarget *high = cpu_target(p[k].target);
      if (!has_all(low->features, high->features)) continue;
      diag(c, SEV_ERROR, (Loc){0},
           "-march: %s would never run: each processor that has its instructions has those of %s, "
           "which is tried first",
           low->level, high->level);
      diag(c, SEV_HINT, (Loc){0}, "list the levels from the lowest to the highest, each once");
      o->failed = 2;
      return false;
    }
  }
  for (int i = 0; i < n && !*march; i++) {
    const char *wanted = cpu_target(p[i].target)->fma_features;
    bool held = !wanted;
    for (int k = i + 1; k < n && !held; k++) {
      const char *has = cpu_target(p[k].target)->features;
      held = has_all(has, "fma") && has_all(wanted, has);
    }
    if (held) continue;
    *at = i, *march = cpu_target(p[i].target)->fma_level;
    for (int k = i + 1; k < n; k++) /* behind those that it includes: the last one runs */
      if (has_all(wanted, cpu_target(p[k].target)->features)) *at = k;
  }
  return true;
}
