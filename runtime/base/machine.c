/* What the system leaves this process: memory, and cores. */
#include "runtime/base/machine.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool machine_memory(uint64_t *bytes, bool *limited) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  uint64_t limit = group_memory(&groups_here);
  bool known = pages > 0 && size > 0 && checked_mul((uint64_t)pages, (uint64_t)size, bytes);
  bool group = limit != UINT64_MAX && (!known || limit < *bytes);
  if (group) *bytes = limit;
  if (limited) *limited = group;
  return known || group;
}

/* ---- cores ---- */

enum { PATH = 4096 };

/* How many CPUs of the same core that the process may use come before CPU i. "0,64" or "0-1". */
static int rank_in_core(const char *folder, const bool *cpus, int i) {
  char path[PATH], text[SYSTEM_TEXT];
  int rank = 0;
  snprintf(path, sizeof path, "%s/cpu%d/topology/thread_siblings_list", folder, i);
  const char *at = system_text(path, text) ? text : "";
  while (*at >= '0' && *at <= '9') {
    char *end;
    long from = strtol(at, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;
    for (long k = from; k <= to && k < i; k++) rank += k >= 0 && cpus[k];
    at = *end == ',' ? end + 1 : end;
  }
  return rank;
}

int cores_of(const char *folder, const bool *cpus, int n, int *order) {
  int left = 0, cores = 0, done = 0;
  for (int i = 0; i < n; i++) left += cpus[i];
  for (int rank = 0; done < left; rank++) {
    for (int i = 0; i < n; i++)
      if (cpus[i] && rank_in_core(folder, cpus, i) == rank) order[done++] = i;
    if (rank == 0) cores = done;
  }
  return cores;
}

bool cpus_list(CpuList *l) {
  *l = (CpuList){0};
  for (int most = 1024; most <= 1 << 20 && !l->n;
       most *= 4) { /* a kernel may know more than cpu_set_t */
    size_t bytes = CPU_ALLOC_SIZE((size_t)most);
    cpu_set_t *set = CPU_ALLOC((size_t)most);
    bool *may = calloc((size_t)most, sizeof *may);
    int *order = calloc((size_t)most, sizeof *order);
    if (set && may && order && sched_getaffinity(0, bytes, set) == 0) {
      for (int i = 0; i < most; i++) may[i] = CPU_ISSET_S((size_t)i, bytes, set);
      l->cpu = order, l->n = CPU_COUNT_S(bytes, set), l->most = most;
      l->cores = cores_of("/sys/devices/system/cpu", may, most, order);
    }
    if (!l->n) free(order);
    free(may);
    CPU_FREE(set);
  }
  return l->n > 0;
}

void cpus_free(CpuList *l) {
  free(l->cpu);
  *l = (CpuList){0};
}

bool cpus_pin(const CpuList *l, pthread_t thread, int i) {
  size_t bytes = CPU_ALLOC_SIZE((size_t)l->most);
  cpu_set_t *set = CPU_ALLOC((size_t)l->most);
  if (!set) return false;
  CPU_ZERO_S(bytes, set);
  CPU_SET_S((size_t)l->cpu[i % l->n], bytes, set);
  bool ok = pthread_setaffinity_np(thread, bytes, set) == 0;
  CPU_FREE(set);
  return ok;
}

typedef struct Cpus { /* of the affinity mask, at least one */
  int cores, all;
} Cpus;

static Cpus in_mask(void) {
  CpuList l;
  Cpus c = {1, 1};
  if (cpus_list(&l)) c = (Cpus){l.cores, l.n};
  cpus_free(&l);
  return c;
}

int cores_available(void) {
  int cores = in_mask().cores;
  double quota = group_cpus(&groups_here);
  return quota < cores ? (int)quota + ((int)quota < quota) : cores;
}

int cpus_at_once(void) {
  int cpus = in_mask().all;
  double quota = group_cpus(&groups_here);
  return quota < 1 ? 1 : quota < cpus ? (int)quota : cpus;
}

bool cpus_filled(int threads) {
  Cpus c = in_mask();
  return (threads == c.cores || threads == c.all) && group_cpus(&groups_here) >= threads;
}

int cores_share(const GcComm *c, int available) {
  enum { PIECE = 256 };
  CpuList l;
  bool known = cpus_list(&l);
  double cpus = 0;
  int most = c->max(c, l.most); /* all ranks send as many pieces */
  for (int from = 0; from < most; from += PIECE) {
    int users[PIECE] = {0};
    for (int i = 0; i < l.n; i++)
      if (l.cpu[i] >= from && l.cpu[i] - from < PIECE) users[l.cpu[i] - from] = 1;
    c->sum_local(c, users, PIECE);
    for (int i = 0; i < l.n; i++)
      if (l.cpu[i] >= from && l.cpu[i] - from < PIECE) cpus += 1.0 / users[l.cpu[i] - from];
  }
  double share = known ? cpus * l.cores / l.n : 1;
  if (available < l.cores && share > (double)available / c->local)
    share = (double)available / c->local;
  cpus_free(&l);
  return share > 1 ? (int)(share + 1e-6) : 1; /* a sum of thirds may be a little less */
}
