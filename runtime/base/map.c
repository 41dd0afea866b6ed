/* Pages from the system, for the two allocations of a run.
   Contract: refuses what exceeds the machine's memory, since a system that promises too much would
   end the process in the middle of its work; pages that are never touched take no memory. */
#include "runtime/base/rt.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool machine_memory(uint64_t *bytes) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 && checked_mul((uint64_t)pages, (uint64_t)size, bytes);
}

void *pages_map(uint64_t bytes, const char *what, const char *remedy, Err *e) {
  uint64_t have;
  if (machine_memory(&have) && bytes > have) {
    err_set(e, EXIT_ENV, "%s needs %" PRIu64 " bytes of memory, and this machine has %" PRIu64,
            what, bytes, have);
    err_hint(e, "%s", remedy);
    return NULL;
  }
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p != MAP_FAILED) return p;
  err_set(e, EXIT_ENV, "%s needs %" PRIu64 " bytes of memory: %s", what, bytes, strerror(errno));
  err_hint(e, "%s", remedy);
  return NULL;
}
