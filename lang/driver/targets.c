/* What the command line says of processors: --target and --arch.
   Contract: an architecture is named as NVIDIA names it, sm_80 or sm_90a; whether the compiler
   knows it is NVRTC's to say. Without --target an executable is for this machine: for its
   processor, and for its GPU, too, if it has one. */
#include "codegen/codegen.h"
#include "lang/driver/command.h"

#include <stdlib.h>
#include <string.h>

/* sm_, digits, and perhaps a letter. */
static bool is_arch(const char *s) {
  if (strncmp(s, "sm_", 3) != 0) return false;
  size_t n = strspn(s + 3, "0123456789");
  if (n < 2 || n > 3) return false;
  const char *end = s + 3 + n;
  return !*end || ((*end == 'a' || *end == 'f') && !end[1]);
}

/* The targets of this machine, and its GPU's architecture where NVRTC knows that. */
static const char *native(Ctx *c, const char **arch) {
  bool knows = false;
  const char *gpu = codegen_native_gpu(c);
  if (!gpu) return "cpu";
  if (!codegen_nvrtc(c, gpu, &knows)) {
    diag(c, SEV_NOTE, (Loc){0},
         "no NVRTC was found, so the program will not use this machine's GPU");
    diag(c, SEV_HINT, (Loc){0}, "%s; or say --target=cpu", codegen_nvrtc_remedy);
    return "cpu";
  }
  if (knows) *arch = gpu;
  return "cuda,cpu";
}

int targets_choose(Ctx *c, const Options *o, Targets *out) {
  const char *emit = option_value(o, OPT_EMIT, "exe"), *all = "sm_80,sm_90,sm_100";
  bool here =
      !option_given(o, OPT_TARGET) && !option_given(o, OPT_ARCH) && strcmp(emit, "exe") == 0;
  const char *list = here ? native(c, &all) : option_value(o, OPT_TARGET, "cpu");
  *out = (Targets){0};
  for (const char *s = list; *s;) {
    size_t n = strcspn(s, ",");
    if (n == 3) out->cpu = true;
    if (n == 4) out->cuda = true;
    s += n + (s[n] == ',');
  }
  bool kernels =
      strcmp(emit, "cuda") == 0 || strcmp(emit, "ptx") == 0 || strcmp(emit, "cubin") == 0;
  if (kernels && option_given(o, OPT_TARGET) && !out->cuda)
    return usage_error("--emit=%s is for --target=cuda, not %s", emit, list);
  if (strcmp(emit, "exe") == 0 || strcmp(emit, "lib") == 0) out->cpu = true;
  out->cuda |= kernels;
  if (option_given(o, OPT_ARCH) && !out->cuda) return usage_error("--arch is for --target=cuda");
  bool one = !option_given(o, OPT_ARCH) && strcmp(emit, "ptx") == 0;
  for (const char *s = option_value(o, OPT_ARCH, one ? "sm_80" : all); *s;) {
    size_t n = strcspn(s, ",");
    const char *arch = intern_n(c, s, n);
    if (!is_arch(arch))
      return usage_error("--arch takes names such as sm_80 or sm_90a, not '%s'", arch);
    const char **more = ARENA_ARRAY(ctx_arena(c), const char *, out->narch + 1);
    for (int i = 0; i < out->narch; i++) {
      if (strcmp(out->arch[i], arch) == 0) return usage_error("--arch: %s is given twice", arch);
      more[i] = out->arch[i];
    }
    more[out->narch++] = arch;
    out->arch = more;
    if (!out->old_gpu && atoi(arch + strlen("sm_")) < 80) out->old_gpu = arch;
    s += n + (s[n] == ',');
  }
  return EXIT_DONE;
}
