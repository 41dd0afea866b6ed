/* What the system leaves this process: memory, cores. */
#ifndef GCRT_MACHINE_H
#define GCRT_MACHINE_H
#include "runtime/base/rt.h"

/* Bytes that the process may use: the machine's, or fewer by the limit of a control group. False:
   nobody knows. */
bool machine_memory(uint64_t *bytes, bool *limited);

/* For as many threads there is work: physical cores of the affinity mask, or as many as the quota
   of a control group pays for, rounded up. */
int cores_available(void);
/* So many threads run at the same time, on all CPUs of the mask and within the quota: more of them
   must not spin. */
int cpus_at_once(void);

/* ---- by files, for tests ---- */

typedef struct GroupFiles {
  const char *root;       /* "/sys/fs/cgroup" */
  const char *membership; /* "/proc/self/cgroup" */
} GroupFiles;
uint64_t group_memory(const GroupFiles *f); /* bytes; UINT64_MAX: no limit */
double group_cpus(const GroupFiles *f);     /* of a quota; 1e9: none */
/* Cores that have one of the CPUs; folder: "/sys/devices/system/cpu". */
int cores_of(const char *folder, const bool *cpus, int n);
#endif
