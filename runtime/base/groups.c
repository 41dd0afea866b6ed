/* What the control groups of Linux, versions 1 and 2, leave a process. Contract: files that are
   missing or that nobody can read set no limit; a limit of a group around the process's own holds,
   too. In a container the group may be named as the host names it: then it is at the root. */
#include "runtime/base/groups.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = SYSTEM_TEXT, PATH = 4096 };

bool system_text(const char *path, char text[SYSTEM_TEXT]) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n = read(fd, text, TEXT - 1);
  close(fd);
  text[n > 0 ? n : 0] = 0;
  return n > 0;
}

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
    if (system_text(path, text)) lower(limit, text);
  }
}

static void lower_cpus(const char *folder, void *limit) {
  char path[PATH + 32], text[TEXT], period[TEXT];
  double quota = -1, of = 0, *least = limit;
  snprintf(path, sizeof path, "%s/cpu.max", folder);
  if (system_text(path, text) && sscanf(text, "%lf %lf", &quota, &of) != 2) quota = -1;
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
  if (system_text(path, text) && sscanf(text, "%lf", &quota) == 1) { /* -1: none */
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!system_text(path, period) || sscanf(period, "%lf", &of) != 1) quota = -1;
  }
  if (quota > 0 && of > 0 && quota / of < *least) *least = quota / of;
}

/* "cpu" is among "cpu,cpuacct". */
static bool has_controller(const char *list, const char *name) {
  size_t n = strlen(name);
  for (const char *at = list; at; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, name, n) == 0 && (!at[n] || at[n] == ',')) return true;
  }
  return false;
}

/* Visits the groups from the process's own to the root of each hierarchy that has the controller:
   lines "4:cpu,cpuacct:/path", of version 2 "0::/path". */
static void visit_groups(const GroupFiles *f, const char *controller, GroupLimit *visit,
                         void *limit) {
  char all[TEXT], folder[PATH], *save = NULL;
  if (!system_text(f->membership, all)) return;
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

const GroupFiles groups_here = {.root = "/sys/fs/cgroup", .membership = "/proc/self/cgroup"};
