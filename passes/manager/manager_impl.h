/* Shared by the files of the pass manager: a pass, and a pipeline as it is read.
   Contract: a pipeline was checked as a whole before its first stage runs. */
#ifndef GC_PASSES_MANAGER_IMPL_H
#define GC_PASSES_MANAGER_IMPL_H
#include "passes/manager/pass_list.h"

typedef struct Pass {
  const char *name;
  bool (*run)(PassRun *r);
  unsigned needs, forbids, gives, keeps; /* bits of Property */
  const char *args;                      /* "match=N strategy=WORD" */
  const char *help;
} Pass;

typedef struct Stage {
  const Pass *pass;
  const char *args;
} Stage;

typedef struct Pipeline {
  VEC(Stage) stages;
  const Snapshot *came; /* the program as it came, where there is a limit; else NULL */
} Pipeline;

/* ---- args.c ---- */
/* A copy of the text without the spaces around it. */
const char *manager_trim(Arena *a, const char *s, size_t n);

/* ---- run.c ---- */
/* The stages from this one on, up to another one. */
bool manager_run(Module *m, const Pipeline *p, uint32_t from, uint32_t end, const PassOptions *opt);
#endif
