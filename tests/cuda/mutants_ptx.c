/* PTX of edited sources. The same edits are tried on each commit, so what NVRTC made of a source in
   an earlier run is taken from the tests' cache, by the library's file, the options and the source.
   What does not compile is compiled again. NVRTC that optimises less takes a tenth of the time, and
   more of what is edited is left in the PTX; but not for sm_90a, where registers stay where wgmma
   leaves them by all of it alone. */
#include "tests/cuda/mutants.h"
#include "tests/cuda/uses.h"
#include "tests/ptx/test/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool subject_can_be_less(const Subject *s) {
  return nvrtc_is_new(s->nvrtc) && !cuda_variant(s->arch);
}

char *subject_ptx(const Subject *s, const char *source, bool less, bool quiet) {
  char arch[64];
  snprintf(arch, sizeof arch, "--gpu-architecture=%s", s->arch);
  const char *const options[] = {arch,
                                 "--std=c++17",
                                 "--fmad=false",
                                 "--ftz=true",
                                 "--prec-div=true",
                                 "--prec-sqrt=true",
                                 "--disable-warnings",
                                 "--Ofast-compile=mid"};
  const int count = (int)(sizeof options / sizeof *options) - !less;
  const Cache *cache = cuda_cache();
  const char *identity = nvrtc_identity(s->nvrtc);
  const bool keeps = cache->dir && *identity;
  Hash key = hash_with_text(hash_of("mutant", 6), identity);
  for (int i = 0; i < count; i++) key = hash_with_text(key, options[i]);
  key = hash_with_text(key, source);
  size_t n = 0;
  char *ptx = keeps ? cache_read(cache, key, &n) : NULL;
  if (ptx && n && !ptx[n - 1]) return ptx;
  free(ptx);
  ptx = nvrtc_ptx(s->nvrtc, source, options, count, quiet);
  if (ptx && keeps) cache_keep(cache, key, ptx, strlen(ptx) + 1);
  return ptx;
}
