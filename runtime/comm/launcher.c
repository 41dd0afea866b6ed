/* What the launcher of a program says in the environment: GC_RANK, GC_WORLD_SIZE, GC_MASTER, or the
   variables of torchrun, mpirun (OpenMPI, MPICH) and srun. Contract: the first that names a rank
   and how many there are is believed. */
#include "runtime/comm/tcp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Launcher {
  const char *rank, *ranks, *local, *locals;
} Launcher;
static const Launcher launchers[] = {
    {"GC_RANK", "GC_WORLD_SIZE", "GC_LOCAL_RANK", NULL},
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", NULL}, /* torchrun */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}, /* MPICH */
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL},
};
enum { MOST_PORT = 65535 };
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

const char *const gcrt_comm_ranks[] = {"GC_RANK",  "RANK",         "OMPI_COMM_WORLD_RANK",
                                       "PMI_RANK", "SLURM_PROCID", NULL};

/* A number from `least` on, or -1 after an error. */
static int number(const char *name, int least, Err *e) {
  const char *s = getenv(name);
  size_t digits = s ? strspn(s, "0123456789") : 0;
  int n = digits && digits < 8 && !s[digits] ? atoi(s) : -1;
  if (n >= least) return n;
  err_set(e, EXIT_ENV, "%s=%s is no number from %d on", name, s, least);
  return -1;
}

/* HOST:PORT, [HOST]:PORT, or a file's path. */
static bool set_address(Place *p, const char *name, const char *text, Err *e) {
  const char *colon = strrchr(text, ':');
  size_t n = colon ? (size_t)(colon - text) : 0,
         digits = colon ? strspn(colon + 1, "0123456789") : 0;
  if (strchr(text, '/')) {
    if (strlen(text) < sizeof p->file) return snprintf(p->file, sizeof p->file, "%s", text) > 0;
    return err_set(e, EXIT_ENV, "%s: the path has more than %d bytes", name, PLACE_NAME - 1);
  }
  bool ok = n > 0 && n < sizeof p->host && digits > 0 && digits < 6 && !colon[1 + digits];
  int port = ok ? atoi(colon + 1) : 0;
  if (port < 1 || port > MOST_PORT) {
    err_set(e, EXIT_ENV, "%s=%s is no place to meet", name, text);
    return err_hint(e,
                    "write HOST:PORT, where rank 0 listens, or the path of a file that all ranks "
                    "see, with a / in it");
  }
  if (text[0] == '[' && text[n - 1] == ']') text++, n -= 2;
  snprintf(p->host, sizeof p->host, "%.*s", (int)n, text);
  snprintf(p->port, sizeof p->port, "%s", colon + 1);
  return true;
}

/* torchrun's own store listens at its port: ranks take the next one. */
static bool of_torchrun(Place *p, Err *e) {
  const char *host = getenv("MASTER_ADDR"), *store = getenv("TORCHELASTIC_USE_AGENT_STORE");
  char text[PLACE_NAME + 32];
  if (!host || !getenv("MASTER_PORT")) return false;
  int port = number("MASTER_PORT", 1, e);
  if (port < 0) return false;
  if (store && strcmp(store, "True") == 0) port++;
  if (port == MOST_PORT + 1) {
    err_set(e, EXIT_ENV, "MASTER_PORT=%d is torchrun's own, and no port follows it for the ranks",
            MOST_PORT);
    return err_hint(e, "give torchrun another --master-port, or set GC_MASTER=HOST:PORT");
  }
  snprintf(text, sizeof text, "%s:%d", host, port);
  return set_address(p, "MASTER_ADDR", text, e);
}

/* The first of "node[03-05,7],other": node03. */
static void first_node(const char *list, char *out, size_t size) {
  size_t stem = strcspn(list, "[,"), n = 0;
  const char *in = list[stem] == '[' ? list + stem + 1 : "";
  n = strcspn(in, "-,]");
  snprintf(out, size, "%.*s%.*s", (int)stem, list, (int)n, in);
}

/* A port by the job's number, so that jobs of one machine have others. */
static bool of_slurm(Place *p, Err *e) {
  enum { FIRST_PORT = 20000, PORTS = 20000 };
  const char *list = getenv("SLURM_STEP_NODELIST"), *job = getenv("SLURM_JOB_ID");
  const char *step = getenv("SLURM_STEP_ID");
  char host[PLACE_NAME], text[PLACE_NAME + 32];
  if (!list || !job) return false;
  first_node(list, host, sizeof host);
  unsigned long name = 31 * strtoul(job, NULL, 10) + strtoul(step ? step : "0", NULL, 10);
  snprintf(text, sizeof text, "%s:%lu", host, FIRST_PORT + name % PORTS);
  return set_address(p, "SLURM_STEP_NODELIST", text, e);
}

/* mpirun on one machine: a file that the job's name makes its own. */
static bool of_one_machine(Place *p, const Launcher *l, Err *e) {
  const char *folder = getenv("TMPDIR"), *job = getenv("PMIX_NAMESPACE");
  char name[64], text[PLACE_NAME];
  if (!l->locals || !getenv(l->locals) || number(l->locals, 1, e) != p->ranks) return false;
  snprintf(name, sizeof name, "%s", job ? job : "");
  for (char *s = name; *s; s++)
    if (*s == '/') *s = '-';
  if (!job) snprintf(name, sizeof name, "%ld", (long)getppid());
  int n = snprintf(text, sizeof text, "%s/gc-ranks-%ld-%s", folder ? folder : "/tmp",
                   (long)getuid(), name);
  return n < (int)sizeof text && set_address(p, "TMPDIR", text, e);
}

bool place_find(Place *p, Err *e) {
  *p = (Place){.ranks = 1, .local = -1};
  const Launcher *l = NULL;
  for (int i = LAUNCHERS - 1; i >= 0; i--)
    if (getenv(launchers[i].rank) && getenv(launchers[i].ranks)) l = &launchers[i];
  if (!l) return true;
  p->rank = number(l->rank, 0, e), p->ranks = number(l->ranks, 1, e);
  if (p->rank < 0 || p->ranks < 0) return false;
  if (getenv(l->local) && (p->local = number(l->local, 0, e)) < 0) return false;
  if (p->rank >= p->ranks)
    return err_set(e, EXIT_ENV, "%s=%d: ranks are numbered from 0 to %s - 1, which is %d", l->rank,
                   p->rank, l->ranks, p->ranks - 1);
  if (p->ranks == 1) return true;
  const char *master = getenv("GC_MASTER");
  if (master) return set_address(p, "GC_MASTER", master, e);
  if (of_torchrun(p, e) || e->code) return !e->code;
  if (of_slurm(p, e) || e->code) return !e->code;
  if (of_one_machine(p, l, e) || e->code) return !e->code;
  err_set(e, EXIT_ENV, "nothing says where the %d ranks meet", p->ranks);
  return err_hint(e,
                  "set GC_MASTER=HOST:PORT, where rank 0 listens, or GC_MASTER=PATH, a file that "
                  "all ranks see");
}
