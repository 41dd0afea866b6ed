/* The CPU target: asks the C compiler which instructions -march means, and fills the Target.
   Contract: nothing depends on the machine gc runs on but -march=native itself. The tiles are those
   measured at 96 to 98 % of the peak: 6 rows of 4 registers with 32 registers, of 2 with 16. */
#include "codegen/cpu/target.h"
#include "codegen/cpu/cpu.h"

#include "codegen/build/process.h"
#include "codegen/program/gen.h"

#include <stdlib.h>
#include <string.h>

static int cpu_panel(const Target *t, Dtype dt) {
  const VectorMachine *m = &cpu_target(t)->machine;
  return dt == DT_F32 || dtype_is_half(dt) ? m->vectors * machine_lanes(m, 4) : 0;
}

/* As few panels as the tile's width allows, of equal widths. */
static int cpu_filter_panel(const Target *t, Dtype dt, int64_t columns) {
  if (dt != DT_F32 && !(dt == DT_BF16 && cpu_target(t)->machine.pairs)) return -1;
  return columns <= cpu_panel(t, DT_F32) ? 0 : panel_columns(&cpu_target(t)->machine, columns);
}

static uint64_t cpu_scratch(const Target *t, const Entry *e, const Op *op) {
  Arena *a = arena_new();
  const Group *g = group_of(a, e, op);
  uint64_t bytes = 0;
  if (g->form == FORM_COLS || g->form == FORM_REDUCE) bytes = cpu_reduce_scratch(g);
  if (g->form == FORM_ROWS) bytes = cpu_rows_scratch(g);
  if (g->form == FORM_WINDOW && g->root->kind == OP_CONV_FILTER_GRAD) bytes = cpu_filter_scratch(g);
  if (g->form == FORM_ATTENTION) bytes = cpu_attention_scratch(g);
  if (g->form == FORM_SINGLE && op_info[op->kind].cls == CLASS_ORDER)
    bytes = cpu_order_scratch(g);
  else if (g->form == FORM_SINGLE)
    bytes = cpu_index_scratch(g);
  arena_free(a);
  return bytes;
}

/* The least x86-64 with FMA. */
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
static const char *macros_for(Ctx *c, CodegenOptions *o) {
  int status;
  const char *march = o->march ? o->march : "native";
  o->cc_march = intern_printf(c, "-march=%s", march);
  const char *macros = macros_of(c, o->cc, o->cc_march, &status);
  if (macros && (o->march || !is_elsewhere(macros))) return macros;
  const char *plain = status < 0 ? NULL : macros_of(c, o->cc, NULL, &status);
  if (plain && !o->march && is_elsewhere(plain)) {
    o->cc_march = NULL;
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
    if (o->march) o->failed = 2;
    diag(c, SEV_ERROR, (Loc){0}, "the C compiler '%s' does not know -march=%s", o->cc, march);
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

const Target *target_cpu(Ctx *c, CodegenOptions *o) {
  Arena *a = ctx_arena(c);
  const char *cc = o->cc ? o->cc : getenv("CC");
  o->cc = cc && cc[strspn(cc, " \t\n")] ? cc : "cc";
  const char *macros = macros_for(c, o);
  if (!macros) return NULL;
  o->cc_macros = macros;
  o->cross = is_elsewhere(macros);
  if (o->cross) o->runtime_dir = intern_printf(c, "%s/%s", o->runtime_dir, processor_of(macros));
  bool avx512 = strstr(macros, "#define __AVX512F__ ") != NULL;
  bool x86 = strstr(macros, "#define __x86_64__ ") != NULL;
  bool arm = strstr(macros, "#define __aarch64__ ") != NULL;
  o->fma_march = o->fma_features = NULL;
  if (x86 && !strstr(macros, "#define __FMA__ ")) {
    int status;
    const char *more = macros_of(c, o->cc, "-march=" FMA_MARCH, &status);
    if (more) o->fma_march = FMA_MARCH, o->fma_features = features_of(a, more);
  }
  CpuTarget *t = ARENA_NEW(a, CpuTarget);
  *t = (CpuTarget){
      .t = {.name = "cpu",
            .align = 64,
            .slack = 64,
            .panel = cpu_panel,
            .filter_panel = cpu_filter_panel,
            .scratch_bytes = cpu_scratch,
            .can_fuse = gen_can_fuse,
            .multiplies_quantized = cpu_multiplies_quantized,
            .max_fused_ops = 64},
      .machine = {.vector = avx512 ? 64
                            : x86  ? 32
                                   : 16,
                  .vectors = avx512 || arm ? 4 : 2,
                  .rows = 6,
                  .pairs = has_fast_pairs(macros),
                  .l2 = 1 << 20,
                  .l3 = 4 << 20},
      .features = features_of(a, macros),
  };
  return &t->t;
}
