/* Whether this machine can run the program's code, known before the first instruction that it may
   lack. Contract: the compiler's `march` is a list of all instruction sets that the C compiler was
   allowed to use (codegen/cpu/features.def), with those that kernels name themselves; a name that
   is not known here counts as one that the machine lacks. On other architectures the list is
   empty. */
#include "runtime/exec/features.h"
#include "runtime/exec/amx.h"
#include <string.h>
#if defined __aarch64__
#include <sys/auxv.h>
#endif

#if defined __x86_64__ || defined __i386__
#include <cpuid.h>
#define LEAST "-march=x86-64"
typedef struct Feature {
  const char *name;
  bool here;
} Feature;

typedef struct CpuId {
  unsigned eax, ebx, ecx, edx;
} CpuId;

/* All 0 for a leaf that this processor does not have. */
static CpuId cpuid(unsigned leaf, unsigned part) {
  CpuId id = {0};
  __get_cpuid_count(leaf, part, &id.eax, &id.ebx, &id.ecx, &id.edx);
  return id;
}

/* The system saves the registers that APX adds. */
static bool saves_apx(void) {
  unsigned low, high;
  if (!(cpuid(1, 0).ecx >> 27 & 1)) return false; /* it says what it saves */
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low >> 19 & 1;
}

/* Bits of CPUID: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2. */
static bool has(const char *name, size_t n) {
  __builtin_cpu_init();
  /* not every compiler knows the name of each */
  bool avx = __builtin_cpu_supports("avx"); /* whose registers the system saves, too */
  unsigned basic_ecx = cpuid(1, 0).ecx, extended_ecx = cpuid(0x80000001, 0).ecx;
  const CpuId seven = cpuid(7, 0), more = cpuid(7, 1);
  bool avx512 = __builtin_cpu_supports("avx512f"), avx10 = avx512 && more.edx >> 19 & 1;
  const Feature all[] = {
      {"sse3", __builtin_cpu_supports("sse3")},
      {"ssse3", __builtin_cpu_supports("ssse3")},
      {"sse4.1", __builtin_cpu_supports("sse4.1")},
      {"sse4.2", __builtin_cpu_supports("sse4.2")},
      {"sse4a", __builtin_cpu_supports("sse4a")},
      {"popcnt", __builtin_cpu_supports("popcnt")},
      {"lzcnt", extended_ecx >> 5 & 1},
      {"bmi", __builtin_cpu_supports("bmi")},
      {"bmi2", __builtin_cpu_supports("bmi2")},
      {"tbm", extended_ecx >> 21 & 1},
      {"movbe", basic_ecx >> 22 & 1},
      {"f16c", avx && basic_ecx >> 29 & 1},
      {"fma", __builtin_cpu_supports("fma")},
      {"fma4", __builtin_cpu_supports("fma4")},
      {"xop", __builtin_cpu_supports("xop")},
      {"prfchw", extended_ecx >> 8 & 1},
      {"avx", __builtin_cpu_supports("avx")},
      {"avx2", __builtin_cpu_supports("avx2")},
      {"avxvnni", avx && more.eax >> 4 & 1},
      {"gfni", __builtin_cpu_supports("gfni")},
      {"avx512f", __builtin_cpu_supports("avx512f")},
      {"avx512cd", __builtin_cpu_supports("avx512cd")},
      {"avx512bw", __builtin_cpu_supports("avx512bw")},
      {"avx512dq", __builtin_cpu_supports("avx512dq")},
      {"avx512vl", __builtin_cpu_supports("avx512vl")},
      {"avx512ifma", __builtin_cpu_supports("avx512ifma")},
      {"avx512vbmi", __builtin_cpu_supports("avx512vbmi")},
      {"avx512vbmi2", __builtin_cpu_supports("avx512vbmi2")},
      {"avx512vnni", __builtin_cpu_supports("avx512vnni")},
      {"avx512bitalg", __builtin_cpu_supports("avx512bitalg")},
      {"avx512vpopcntdq", __builtin_cpu_supports("avx512vpopcntdq")},
      {"avx512bf16", __builtin_cpu_supports("avx512bf16")},
      {"avx512fp16", avx512 && seven.edx >> 23 & 1},
      {"prefetchwt1", seven.ecx & 1},
      {"avxifma", avx && more.eax >> 23 & 1},
      {"avxvnniint8", avx && more.edx >> 4 & 1},
      {"avxvnniint16", avx && more.edx >> 10 & 1},
      {"avxneconvert", avx && more.edx >> 5 & 1},
      {"avx10.2", avx10 && (cpuid(0x24, 0).ebx & 0xFF) >= 2},
      {"apxf", more.edx >> 21 & 1 && saves_apx()},
  };
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
    if (strlen(all[i].name) == n && memcmp(all[i].name, name, n) == 0) return all[i].here;
  return false;
}
#elif defined __aarch64__
#define LEAST "-march=armv8-a"
/* Bits of the kernel's two words by position: an old libc's headers do not name the newest. */
static bool has(const char *name, size_t n) {
  static const struct {
    const char *name;
    int word, bit;
  } all[] = {
      {"lse", 1, 8},       {"crc32", 1, 7},    {"rdm", 1, 12},       {"fphp", 1, 9},
      {"asimdhp", 1, 10},  {"fhm", 1, 23},     {"dotprod", 1, 20},   {"fcma", 1, 14},
      {"jscvt", 1, 13},    {"lrcpc", 1, 15},   {"aes", 1, 3},        {"sha2", 1, 6},
      {"sha3", 1, 17},     {"sha512", 1, 21},  {"sm3", 1, 18},       {"sm4", 1, 19},
      {"paca", 1, 30},     {"sve", 1, 22},     {"sve2", 2, 1},       {"frint", 2, 8},
      {"i8mm", 2, 13},     {"bf16", 2, 14},    {"svei8mm", 2, 9},    {"svef32mm", 2, 10},
      {"svef64mm", 2, 11}, {"svebf16", 2, 12}, {"svebitperm", 2, 4}, {"sveaes", 2, 2},
      {"svesha3", 2, 5},   {"svesm4", 2, 6},   {"rng", 2, 16},       {"mops", 2, 43},
  };
  const uint64_t words[] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
    if (strlen(all[i].name) == n && memcmp(all[i].name, name, n) == 0)
      return words[all[i].word - 1] >> all[i].bit & 1;
  return false;
}
#else
#define LEAST "a lower -march"
static bool has(const char *name, size_t n) { return true; }
#endif

/* A processor may have it while the system keeps it from this process. */
static bool is_amx(const char *name, size_t n) {
  return n == strlen("amx-bf16") &&
         (memcmp(name, "amx-bf16", n) == 0 || memcmp(name, "amx-int8", n) == 0 ||
          memcmp(name, "amx-tile", n) == 0);
}

bool cpu_check(const char *march, Err *e) {
  for (const char *p = march ? march : ""; *p;) {
    size_t n = strcspn(p, ",");
    const AmxState amx = is_amx(p, n) ? amx_state() : AMX_ABSENT;
    if (amx == AMX_REFUSED) {
      err_set(e, EXIT_ENV, "the system does not let this program use AMX, as its code does");
      return err_hint(e, "compile it with gc -march=x86-64-v4");
    }
    if (n && amx != AMX_HERE && !has(p, n)) {
      err_set(e, EXIT_ENV, "this machine's processor lacks %.*s, which the program's code may use",
              (int)n, p);
      return err_hint(e, "compile it on this machine, or with gc " LEAST);
    }
    p += n;
    p += strspn(p, ",");
  }
  return true;
}
