/* A program on several ranks: processes that run one command, of which rank 0 speaks and writes.
   Contract: a rank that fails while it prepares lets the others know, and the first of them says
   why, once; one that fails later ends all. Signals end all ranks after the same step. */
#include "runtime/program/command.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SECONDS = 600 }; /* that a rank waits for others, by default */

/* What the others do not: print and write. All ranks know the file of --save, by which
   validation_resume decides whether the best figure counts, and when a checkpoint is due, for which
   they give what they have of the state. All record a profile, since their steps begin alike. */
static void be_silent(Options *o) {
  static const int writes[] = {OPT_SAVE, OPT_LOG, OPT_PLOT, OPT_PROFILE};
  for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
    if (writes[i] != OPT_PROFILE) o->given[writes[i]] = false;
    if (writes[i] != OPT_SAVE) o->text[writes[i]] = NULL;
  }
  for (int i = 0; i < o->entry->noutputs; i++) o->outputs[i].save = NULL;
  o->given[OPT_QUIET] = true;
}

/* What mpirun and srun tell a process before the ranks meet: others than the first are silent from
 * the start. */
void ranks_begin(Command *cmd) {
  const char *rank = NULL;
  for (int i = 0; &gcrt_comm_ranks && gcrt_comm_ranks[i] && !rank; i++)
    rank = getenv(gcrt_comm_ranks[i]);
  cmd->mute = rank && strcmp(rank, "0") != 0;
  if (cmd->mute && !freopen("/dev/null", "w", stdout)) cmd->mute = false;
}

static bool no_ranks(char *why, Err *e) {
  char *hint = strchr(why, '\n');
  if (hint) *hint++ = 0;
  err_set(e, EXIT_ENV, "%s", why);
  return hint && err_hint(e, "%s", hint);
}

/* How gc makes the program that so many processes can run. */
static void compiled_with(int ranks, char *out, size_t size) {
  bool splits = true;
  for (int i = 0; i < gc_program.nentries; i++)
    if (gc_program.entries[i].training) splits &= dataset_splits(&gc_program.entries[i], ranks);
  if (ranks == 1)
    snprintf(out, size, "without --data-parallel");
  else if (splits)
    snprintf(out, size, "with gc --ranks=%d", ranks);
  else
    snprintf(out, size, "with gc --ranks=%d and another batch, a multiple of %d", ranks, ranks);
}

bool ranks_open(Command *cmd, Err *e) {
  const int ranks = gc_program.ranks;
  const Options *o = &cmd->options;
  if (!&gcrt_comm_open) return true;
  double seconds = o->given[OPT_TIMEOUT] ? (double)o->count[OPT_TIMEOUT] : SECONDS;
  char why[sizeof e->msg] = "";
  RanksStart start;
  const bool by_mpi = !gc_program.code; /* ranks of GPUs meet within the timeout */
  if (by_mpi && !ranks_start_begins(&start, "started", seconds, e)) return false;
  GcComm *c = cmd->comm = gcrt_comm_open(seconds, why, sizeof why);
  if (by_mpi) ranks_start_ends(&start);
  cmd->mute = !c && !*why;
  if (!c) return no_ranks(why, e);
  c->signal = signal_seen;
  if (c->ranks != ranks) {
    cmd->together = true;
    cmd->mute = c->rank != 0;
    err_set(e, EXIT_USAGE, "this program is for %d rank%s, and %d run%s it", ranks,
            ranks == 1 ? "" : "s", c->ranks, c->ranks == 1 ? "s" : "");
    char instead[80];
    compiled_with(c->ranks, instead, sizeof instead);
    if (ranks_on_devices(cmd))
      return err_hint(e,
                      "start %d processes with torchrun, mpirun or srun, or with GC_RANK, "
                      "GC_WORLD_SIZE and GC_MASTER set; or compile it %s",
                      ranks, instead);
    return err_hint(e, "start it with mpirun -n %d, or compile it %s", ranks, instead);
  }
  if (c->rank == 0) return true;
  be_silent(&cmd->options);
  snprintf(cmd->rank_name, sizeof cmd->rank_name, "%s (rank %d)", cmd->name, c->rank);
  cmd->name = cmd->rank_name;
  return freopen("/dev/null", "w", stdout) ||
         err_set(e, EXIT_ENV, "rank %d: cannot open /dev/null", c->rank);
}

bool ranks_join(Command *cmd) {
  const DeviceOps *ops = cmd->session.device->ops;
  return !cmd->comm || !ops->join || ops->join(&cmd->session, &cmd->err);
}

bool ranks_on_devices(const Command *cmd) { return cmd->comm && !cmd->comm->sum; }

bool ranks_speaks(const Command *cmd) { return !cmd->comm || cmd->comm->rank == 0; }

/* The first rank that failed speaks for all; its code is everyone's. */
bool ranks_agree(Command *cmd, bool ok) {
  const GcComm *c = cmd->comm;
  enum { CODES = 256 };
  if (!c) return ok;
  int mine = ok ? 0 : (c->ranks - c->rank) * CODES + (cmd->err.code ? cmd->err.code : EXIT_ENV);
  int first = c->max(c, mine);
  if (!first) return true;
  cmd->together = true;
  cmd->mute = mine != first;
  cmd->err.code = first % CODES;
  return false;
}

bool ranks_finite(Command *cmd) {
  const GcComm *c = cmd->comm;
  const int left = cmd->inspection.left;
  if (!c || !cmd->options.given[OPT_FINITE] || (cmd->session.err.code && !left)) return true;
  const int most = c->max(c, left), mine = left == most ? c->ranks - c->rank : 0;
  if (!most) return true;
  cmd->together = true;
  cmd->mute = c->max(c, mine) != mine;
  cmd->err = cmd->session.err;
  cmd->err.code = EXIT_WRONG;
  return false;
}

void ranks_signal(Command *cmd) {
  if (cmd->comm && !cmd->session.err.code) /* a device that failed here may keep the others */
    cmd->signal = cmd->comm->max(cmd->comm, signal_seen());
}

int command_signal(const Command *cmd) { return cmd->comm ? cmd->signal : signal_seen(); }

int ranks_threads(const Command *cmd, int threads) {
  if (!cmd->comm || cmd->options.given[OPT_THREADS]) return threads;
  return cores_share(cmd->comm, threads);
}

double ranks_waited(const Command *cmd) {
  return cmd->comm ? cmd->comm->waited + cmd->session.device->waited : 0;
}

bool ranks_near(const Command *cmd) { return cmd->comm && cmd->comm->local > 1; }

static bool nothing_failed(void *arg, char *text, size_t size) { return false; }
static void do_nothing(void *arg) {}

void ranks_let_first(Command *cmd) {
  static const GcWatched nothing = {nothing_failed, do_nothing, NULL};
  enum { WHILE = 300000000 /* ns */ };
  const GcComm *c = cmd->comm;
  if (!c || !cmd->err.code || cmd->together) return;
  if (!gcrt_near_speaks(c)) cmd->mute = true;
  if (!c->watch || !c->rank) return;
  c->watch(c, &nothing);
  nanosleep(&(struct timespec){.tv_nsec = WHILE}, NULL);
  c->watch(c, NULL);
}

void ranks_fail(Command *cmd) {
  cmd->together = true;
  cmd->mute = cmd->comm && cmd->comm->rank != 0;
}

void ranks_close(const Command *cmd, int code) {
  const GcComm *c = cmd->comm;
  if (!c) return;
  if (code && !cmd->together && !cmd->signal) c->stop(c, gcrt_near_said(c, code));
  RanksStart end;
  Err ignored = {0};
  const bool watched =
      !ranks_on_devices(cmd) && ranks_start_begins(&end, "ended", c->timeout, &ignored);
  c->close(c);
  if (watched) ranks_start_ends(&end);
}
