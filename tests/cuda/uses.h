/* What kernels take of a GPU: none may spill, but for those that spills.def lists. */
#ifndef GC_TESTS_CUDA_USES_H
#define GC_TESTS_CUDA_USES_H
#include "codegen/gpu/emit.h"
#include "ptxi.h"

/* What kernels are compiled for; NVRTC makes code for sm_100 by another way than for sm_80. */
enum { ARCHS = 3 };
extern const char *const cuda_archs[ARCHS];
/* The one for which this run of the tests compiles the text; others on each commit. At the level
   full it is all of them. None is sm_90a, for which NVRTC makes, but for products of halves, what
   it makes for sm_80. */
int cuda_arch_taken(const char *text);
/* Whether there is an NVRTC. If so it is loaded here already: each process that compiles, and there
   are thousands, has it a hundredth of a second sooner. */
bool cuda_has_nvrtc(Ctx *c);
/* What NVRTC made of the same source in an earlier run is taken from there. */
const Cache *cuda_cache(void);

/* How many kernels of the module leave bits open by an .approx or .full form, after saying which;
   but for those with a remainder, or with functions of f64, for which CUDA's library has such
   forms: the first it corrects to the exact one, the others are not part of what --exact promises.
 */
int uses_approximations(const CudaProgram *p, const PtxModule *m, const char *arch);

/* How many of the program's kernels in the image spill, after saying which; n: how many kernels
   the image must have, of which one that lacks counts, too. */
int uses_spills(const CudaProgram *p, const CudaImage *image, uint32_t n);
#endif
