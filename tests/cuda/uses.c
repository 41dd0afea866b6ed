/* Reads what ptxas says of each kernel; see uses.h. What spills.def does not list may not spill. */
#define _GNU_SOURCE
#include "tests/cuda/uses.h"
#include "codegen/gpu/cuda/nvrtc.h"
#include "codegen/gpu/cuda/nvrtc_load.h"
#include "tests/level.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *const cuda_archs[ARCHS] = {"sm_80", "sm_100", "sm_90a"};

const Cache *cuda_cache(void) {
  static char path[CACHE_PATH];
  static Cache cache;
  if (!cache.dir) cache = cache_open(path);
  return &cache;
}

bool cuda_has_nvrtc(Ctx *c) {
  Nvrtc loaded;
  return nvrtc_version(c, NULL, NULL) && nvrtc_load(&loaded);
}

int cuda_arch_taken(const char *text) { return level_draws(text, 2); }

enum { REGISTERS = 65536 }; /* of a multiprocessor, the most that a block can have */

typedef struct Listed {
  int bytes;
  const char *what;
} Listed;

static int allowed(const CudaFunction *f) {
  static const Listed listed[] = {
#define SPILL(bytes, what) {bytes, what},
#include "spills.def"
#undef SPILL
      {0, ""}};
  for (const Listed *l = listed; l->bytes; l++) {
    size_t n = strlen(l->what);
    bool any = n && l->what[n - 1] == '*';
    if (any ? strncmp(l->what, f->what, n - 1) == 0 : strcmp(l->what, f->what) == 0)
      return l->bytes;
  }
  return 0;
}

static const CudaFunction *function_named(const CudaProgram *p, const char *name) {
  for (uint32_t i = 0; i < p->functions.n; i++)
    if (strcmp(p->functions.at[i].name, name) == 0) return &p->functions.at[i];
  return NULL;
}

int uses_approximations(const CudaProgram *p, const PtxModule *m, const char *arch) {
  int bad = 0;
  for (size_t i = 0; i < ptx_module_kernels(m); i++) {
    const PtxKernel *k = ptx_module_kernel(m, i);
    const CudaFunction *f = function_named(p, ptx_kernel_name(k));
    bool open = f && (strstr(f->body, "_mod(") || strstr(f->body, "f64") ||
                      strstr(f->body, "TensorAttention"));
    if (!ptx_kernel_approximate(k) || open) continue;
    printf("%s %s (%s): line %d of the PTX leaves bits open (.approx, .full)\n", arch,
           ptx_kernel_name(k), f ? f->what : "unknown", ptx_kernel_approximate(k));
    bad++;
  }
  return bad;
}

int uses_spills(const CudaProgram *p, const CudaImage *image, uint32_t n) {
  CudaUses uses = {0};
  int bad = 0;
  nvrtc_uses(image, p->g.a, &uses);
  if (uses.at.n != n) {
    printf("%s: %u kernels, not %u\n", image->arch, uses.at.n, n);
    bad++;
  }
  for (uint32_t k = 0; k < uses.at.n; k++) {
    const CudaUse *u = &uses.at.at[k];
    const CudaFunction *f = function_named(p, u->kernel);
    if (f && f->block * ((u->registers + 7) / 8 * 8) > REGISTERS) {
      printf("%s %s (%s): %d threads of %d registers\n", image->arch, u->kernel, f->what, f->block,
             u->registers);
      bad++;
    }
    if (f && u->spill <= allowed(f)) continue;
    printf("%s %s (%s): %d bytes of spills, %d of stack, %d registers\n", image->arch, u->kernel,
           f ? f->what : "unknown", u->spill, u->stack, u->registers);
    bad++;
  }
  return bad;
}
