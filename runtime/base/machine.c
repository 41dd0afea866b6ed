/* What the system leaves this process: control groups of Linux, versions 1 and 2, and cores.
   Contract: files that are missing or that nobody can read set no limit; a limit of a group around
   the process's own holds, too. In a container the group may be named as the host names it: then it
   is at the root. */
#include "runtime/base/machine.h"
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 4096, PATH = 4096 };

static bool read_text(const char *path, char text[TEXT]) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, text, TEXT - 1);
  close(fd);
  text[n > 0 ? n : 0] = 0;
  return n > 0;
}

/* ---- control groups ---- */

/* Lowers the limit by the files of one group. */
typedef void GroupLimit(const char *folder, void *limit);

static void lower(uint64_t *limit, const char *text) {
  char *end;
  uint64_t n = strtoull(text, &end, 10); /* "max": none */
  if (end != text && n < *limit) *limit = n;
}

static void lower_memory(const char *folder, void *limit) {
  static const char *const names[] = {"memory.max", "memory.limit_in_bytes"};
  char path[PATH + 32], text[TEXT];
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    if (read_text(path, text)) lower(limit, text);
  }
}

static void lower_cpus(const char *folder, void *limit) {
  char path[PATH + 32], text[TEXT], period[TEXT];
  double quota = -1, of = 0, *least = limit;
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (read_text(path, text) && sscanf(text, "%lf %lf", &quota, &of) != 2) quota = -1;
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  if (read_text(path, text) && sscanf(text, "%lf", &quota) == 1) { /* -1: none */
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_text(path, period) || sscanf(period, "%lf", &of) != 1) quota = -1;
  }
  if (quota > 0 && of > 0 && quota / of < *least) *least = quota / of;
}

/* "cpu" is among "cpu,cpuacct". */
static bool has_controller(const char *list, const char *name) {
  size_t n = strlen(name);
  for (const char *at = list; at; at = strchr(at, ','), at += at != NULL)
    if (strncmp(at, name, n) == 0 && (!at[n] || at[n] == ',')) return true;
  return false;
}

/* Visits the groups from the process's own to the root of each hierarchy that has the controller:
   lines "4:cpu,cpuacct:/path", of version 2 "0::/path". */
static void visit_groups(const GroupFiles *f, const char *controller, GroupLimit *visit,
                         void *limit) {
  char all[TEXT], folder[PATH], *save = NULL;
  if (!read_text(f->membership, all)) return;
  for (char *line = strtok_r(all, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
    if (!path) continue;
    *path++ = 0, list++;
    if (*list && !has_controller(list, controller)) continue;
    for (;;) {
      const char *base = *list ? controller : "";
      int n = snprintf(folder, sizeof folder, "%s%s%s%s", f->root, *base ? "/" : "", base, path);
      if (n > 0 && n < PATH) visit(folder, limit);
      char *up = strrchr(path, '/');
      if (!up) break;
      *up = 0;
    }
  }
}

uint64_t group_memory(const GroupFiles *f) {
  uint64_t limit = UINT64_MAX;
  visit_groups(f, "memory", lower_memory, &limit);
  return limit;
}

double group_cpus(const GroupFiles *f) {
  double limit = 1e9;
  visit_groups(f, "cpu", lower_cpus, &limit);
  return limit;
}

static const GroupFiles groups = {.root = "/sys/fs/cgroup", .membership = "/proc/self/cgroup"};

bool machine_memory(uint64_t *bytes, bool *limited) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  uint64_t limit = group_memory(&groups);
  bool known = pages > 0 && size > 0 && checked_mul((uint64_t)pages, (uint64_t)size, bytes);
  bool group = limit != UINT64_MAX && (!known || limit < *bytes);
  if (group) *bytes = limit;
  if (limited) *limited = group;
  return known || group;
}

/* ---- cores ---- */

/* How many CPUs of the same core that the process may use come before CPU i. "0,64" or "0-1". */
static int rank_in_core(const char *folder, const bool *cpus, int i) {
  char path[PATH], text[TEXT];
  int rank = 0;
  snprintf(path, sizeof path, "%s/cpu%d/topology/thread_siblings_list", folder, i);
  const char *at = read_text(path, text) ? text : "";
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
  double quota = group_cpus(&groups);
  return quota < cores ? (int)quota + ((int)quota < quota) : cores;
}

int cpus_at_once(void) {
  int cpus = in_mask().all;
  double quota = group_cpus(&groups);
  return quota < 1 ? 1 : quota < cpus ? (int)quota : cpus;
}

bool cpus_filled(int threads) {
  Cpus c = in_mask();
  return (threads == c.cores || threads == c.all) && group_cpus(&groups) >= threads;
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
