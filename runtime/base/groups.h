/* Limits of control groups, which the compiler reads as its programs do; see groups.c. */
#ifndef GCRT_GROUPS_H
#define GCRT_GROUPS_H
#include <stdbool.h>
#include <stdint.h>

typedef struct GroupFiles {
  const char *root;       /* "/sys/fs/cgroup" */
  const char *membership; /* "/proc/self/cgroup" */
} GroupFiles;
extern const GroupFiles groups_here;

uint64_t group_memory(const GroupFiles *f); /* bytes; UINT64_MAX: no limit */
double group_cpus(const GroupFiles *f);     /* of a quota; 1e9: none */

enum { SYSTEM_TEXT = 4096 };
/* A small file of the system, ended by 0; false: there is none, or it is empty. */
bool system_text(const char *path, char text[SYSTEM_TEXT]);
#endif
