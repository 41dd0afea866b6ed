/* What the system leaves this process: memory, cores. */
#ifndef GCRT_MACHINE_H
#define GCRT_MACHINE_H
#include "runtime/base/groups.h"
#include "runtime/base/rt.h"
#include <pthread.h>

/* Bytes that the process may use: the machine's, or fewer by the limit of a control group. False:
   nobody knows. */
bool machine_memory(uint64_t *bytes, bool *limited);

/* For as many threads there is work: physical cores of the affinity mask, or as many as the quota
   of a control group pays for, rounded up. */
int cores_available(void);
/* So many threads run at the same time, on all CPUs of the mask and within the quota: more of them
   must not spin. */
int cpus_at_once(void);
/* Whether so many threads are one for each core of the mask, or for each CPU, within the quota:
   then the scheduler has no better place for any of them. */
bool cpus_filled(int threads);

typedef struct CpuList { /* of the affinity mask: one of each core, then the second ones, … */
  int *cpu;
  int n, cores; /* CPUs, and cores that have them */
  int most;     /* CPUs that a mask has room for */
} CpuList;
bool cpus_list(CpuList *l); /* false: nobody knows */
void cpus_free(CpuList *l);
/* The thread stays on CPU i of the list. False: the system does not allow it. */
bool cpus_pin(const CpuList *l, pthread_t thread, int i);

/* Threads of this rank, at least 1. Each CPU is divided among the ranks of the machine whose
   affinity masks have it; a quota below the cores, of which `available` are paid for, is all
   ranks'. */
int cores_share(const GcComm *c, int available);

/* ---- by files, for tests ---- */

/* Cores that have one of the CPUs, whose order is as in a CpuList; folder:
   "/sys/devices/system/cpu". */
int cores_of(const char *folder, const bool *cpus, int n, int *order);
#endif
