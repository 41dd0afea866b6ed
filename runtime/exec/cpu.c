/* Whether this machine can run the program's code, said before the first instruction that it may
   lack. Contract: the compiler's `march` is a list of feature names; a feature implies the ones its
   code uses with it (avx2 code uses fma). On other architectures the system compiler has chosen
   what is safe. */
#include "runtime/exec/cpu.h"
#include <string.h>

#if defined __x86_64__ || defined __i386__
typedef struct Feature {
  const char *name;
  bool here;
} Feature;

static bool has(const char *name, size_t n) {
  __builtin_cpu_init();
  const Feature all[] = {
      {"sse4.2", __builtin_cpu_supports("sse4.2")},
      {"avx", __builtin_cpu_supports("avx")},
      {"fma", __builtin_cpu_supports("fma")},
      {"avx2", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
      {"avx512f", __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma")},
      {"avx512bw", __builtin_cpu_supports("avx512bw")},
      {"avx512dq", __builtin_cpu_supports("avx512dq")},
      {"avx512vl", __builtin_cpu_supports("avx512vl")},
      {"avx512vnni", __builtin_cpu_supports("avx512vnni")},
      {"bmi2", __builtin_cpu_supports("bmi2")},
      {"x86-64", true},
      {"x86-64-v3", __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi2")},
      {"x86-64-v4", __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")},
  };
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
    if (strlen(all[i].name) == n && memcmp(all[i].name, name, n) == 0) return all[i].here;
  return false;
}
#else
static bool has(const char *name, size_t n) { return true; }
#endif

bool cpu_check(const char *march, Err *e) {
  for (const char *p = march ? march : ""; *p;) {
    size_t n = strcspn(p, ", +");
    if (n && !has(p, n)) {
      err_set(e, EXIT_ENV,
              "this machine's processor lacks %.*s, which the program was compiled for", (int)n, p);
      return err_hint(e, "compile it on this machine, or with gc -march=x86-64");
    }
    p += n;
    p += strspn(p, ", +");
  }
  return true;
}
