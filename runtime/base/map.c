/* Pages from the system, for the two allocations of a run.
   Contract: refuses what exceeds the memory of the machine or of a control group, since a system
   that promises too much would end the process in the middle of its work; pages that are never
   touched take no memory. What has room for a huge page begins with one. */
#include "runtime/base/checked.h"
#include "runtime/base/machine.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Not every system begins a large mapping with a huge page by itself. */
static void *map_aligned(uint64_t bytes) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), whole = align_up(bytes, page);
  const uint64_t spare = bytes < HUGE_PAGE || whole + HUGE_PAGE < bytes ? 0 : HUGE_PAGE - page;
  uint8_t *p =
      mmap(NULL, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || !spare) return p;
  const uint64_t skip = align_up((uintptr_t)p, HUGE_PAGE) - (uintptr_t)p;
  if (skip) munmap(p, skip);
  if (skip < spare) munmap(p + skip + whole, spare - skip);
  return p + skip;
}

void *pages_map(uint64_t bytes, const char *what, const char *remedy, Err *e) {
  uint64_t have;
  bool limited;
  if (machine_memory(&have, &limited) && bytes > have) {
    err_set(e, EXIT_ENV,
            limited ? "%s needs %" PRIu64
                      " bytes of memory, and the control group of this process has %" PRIu64
                    : "%s needs %" PRIu64 " bytes of memory, and this machine has %" PRIu64,
            what, bytes, have);
    err_hint(e, "%s", remedy);
    return NULL;
  }
  void *p = map_aligned(bytes);
  if (p != MAP_FAILED) return p;
  err_set(e, EXIT_ENV, "%s needs %" PRIu64 " bytes of memory: %s", what, bytes, strerror(errno));
  err_hint(e, "%s", remedy);
  return NULL;
}
