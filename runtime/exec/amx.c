/* Whether this process may use the tile registers of AMX. Linux saves their 8 KiB for processes
   alone that ask for them, and refuses where a thread's stack for signals is too small for them, or
   where a filter of system calls does not know the question. */
#include "runtime/exec/amx.h"

#if defined __x86_64__ && defined __linux__
#include <cpuid.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Bits of CPUID: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2. Each
   processor with the registers has multiplied bf16 and bytes in them so far. */
enum { BF16 = 22, TILE = 24, OSXSAVE = 27, TILE_CONFIG = 17, TILE_DATA = 18 };
enum { REQUEST_PERMISSION = 0x1023 }; /* ARCH_REQ_XCOMP_PERM, which old headers lack */

static bool has_registers(void) {
  unsigned eax, ebx, ecx, edx, low, high;
  if (!__get_cpuid_count(1, 0, &eax, &ebx, &ecx, &edx) || !(ecx >> OSXSAVE & 1)) return false;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  if (!(edx >> BF16 & 1) || !(edx >> TILE & 1)) return false;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low >> TILE_CONFIG & 1) && (low >> TILE_DATA & 1);
}

AmxState amx_state(void) {
  if (!has_registers()) return AMX_ABSENT;
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0 ? AMX_HERE : AMX_REFUSED;
}
#else
AmxState amx_state(void) { return AMX_ABSENT; }
#endif
