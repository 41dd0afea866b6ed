/* The data caches that schedules are made for: of -march=native the machine's, as Linux describes
   them, else those of a table. Contract: only time depends on them; results do not, so a program
   runs on processors with others. What the system does not say, or what cannot be a core's, is the
   table's: a virtual machine may show the third level of a host of which it has few cores. */
#include "codegen/cpu/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A larger share of a third level is not believed: few processors have one, and virtual machines
   that show a host's are many. */
enum { MOST_SHARE = 16 << 20 };

Caches caches_of(const char *march) {
  static const struct {
    const char *march;
    int l1, ways, l2, l3;
  } all[] = {
#define CACHES(march, l1, ways, l2, l3) {march, l1, ways, l2, l3},
#include "codegen/cpu/caches.def"
#undef CACHES
  };
  size_t at = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i].march, march) == 0) at = i;
  return (Caches){.l1 = (int64_t)all[at].l1 << 10,
                  .ways = all[at].ways,
                  .l2 = (int64_t)all[at].l2 << 10,
                  .l3 = (int64_t)all[at].l3 << 10};
}

/* The first line of a file of the system; "" if there is none. */
static const char *line_of(char *line, int size, const char *folder, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "%s%s", folder, name);
  FILE *f = fopen(path, "r");
  line[0] = 0;
  if (f && !fgets(line, size, f)) line[0] = 0;
  if (f) fclose(f);
  line[strcspn(line, "\n")] = 0;
  return line;
}

/* How many CPUs "0-3,8" has. */
static int64_t cpus_in(const char *list) {
  int64_t n = 0;
  for (char *end; *list >= '0' && *list <= '9'; list = *end ? end + 1 : end) {
    int64_t first = strtol(list, &end, 10), last = first;
    if (*end == '-') last = strtol(end + 1, &end, 10);
    n += last >= first ? last - first + 1 : 1;
  }
  return n ? n : 1;
}

/* "48K", "2M" */
static int64_t bytes_of(const char *size) {
  char *end;
  int64_t n = strtol(size, &end, 10);
  return n << (*end == 'K' ? 10 : *end == 'M' ? 20 : 0);
}

Caches caches_here(const char *folder) {
  const Caches table = caches_of("");
  Caches c = table;
  char line[256], index[512];
  int64_t threads = cpus_in(line_of(line, sizeof line, folder, "topology/thread_siblings_list"));
  for (int i = 0; i < 8; i++) {
    snprintf(index, sizeof index, "%scache/index%d/", folder, i);
    int64_t cores =
        (cpus_in(line_of(line, sizeof line, index, "shared_cpu_list")) + threads - 1) / threads;
    int64_t bytes = bytes_of(line_of(line, sizeof line, index, "size")) / cores;
    long level = strtol(line_of(line, sizeof line, index, "level"), NULL, 10);
    long ways = strtol(line_of(line, sizeof line, index, "ways_of_associativity"), NULL, 10);
    line_of(line, sizeof line, index, "type");
    if (bytes <= 0 || (strcmp(line, "Data") != 0 && strcmp(line, "Unified") != 0)) continue;
    if (level == 1) c.l1 = bytes, c.ways = ways > 0 ? (int)ways : table.ways;
    if (level == 2) c.l2 = bytes;
    if (level == 3) c.l3 = bytes <= MOST_SHARE ? bytes : table.l3;
  }
  return c.l2 >= c.l1 ? c : table;
}
