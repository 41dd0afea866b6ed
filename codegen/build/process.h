/* Running the C compiler: no shell, arguments as they are.
   Contract: argv ends with NULL; argv[0] is looked up in PATH. */
#ifndef GC_CODEGEN_PROCESS_H
#define GC_CODEGEN_PROCESS_H
#include "ir/ir.h"

#include <signal.h>

/* Between begin and end an interrupt (INT, TERM, HUP) ends the tool that runs, not gc, which gets
   the time to remove its files; it dies of the signal at the end. */
typedef struct ProcessGuard {
  sigset_t mask; /* before */
  struct sigaction action[3];
} ProcessGuard;
void process_guard_begin(ProcessGuard *g);
void process_guard_end(ProcessGuard *g);
bool process_interrupted(void); /* inside of a guard */

/* A tool of several that run at the same time. */
typedef struct ProcessJob {
  const char *const *argv;
  int status;   /* set as process_run gives it; PROCESS_NOT_RUN: one before it failed */
  char *output; /* set, if it ran */
} ProcessJob;
enum { PROCESS_NOT_RUN = -2 };
/* Whom process_run_all tells how many have ended. */
typedef struct ProcessWatch {
  void (*ended)(void *data, int ended, int n); /* or NULL */
  void *data;
} ProcessWatch;
/* Runs them in order, `most` at a time; once one fails, no more are started. errno of status -1. */
void process_run_all(ProcessJob *job, int n, int most, ProcessWatch watch, Arena *a);
/* Cores that this process may use. */
int process_cores(void);

/* Runs a tool to its end. Returns the exit status (128 + signal if it was killed; -1 with errno if
   it cannot be started, ENOENT: not found) and the text of its output, allocated in the arena, at
   most the first 64 KiB. */
int process_run(const char *const *argv, Arena *a, char **output);
#endif
