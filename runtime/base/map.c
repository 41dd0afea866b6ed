/* Pages from the system, for the two allocations of a run.
   Contract: refuses what exceeds the memory of the machine or of a control group, since a system
   that promises too much would end the process in the middle of its work; pages that are never
   touched take no memory. */
#include "runtime/base/machine.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

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
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p != MAP_FAILED) return p;
  err_set(e, EXIT_ENV, "%s needs %" PRIu64 " bytes of memory: %s", what, bytes, strerror(errno));
  err_hint(e, "%s", remedy);
  return NULL;
}
