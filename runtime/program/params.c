/* Params that an entry reads and does not train, of a run that no file gives them. */
#include "runtime/program/command.h"

#include <string.h>

static bool reads(const GcEntry *e, const GcTensor *global) {
  for (int s = 0; s < e->nsteps; s++)
    for (int a = 0; a < e->steps[s].nargs; a++) {
      const GcArg *x = &e->steps[s].args[a];
      if (x->region == GC_GLOBALS && x->offset < global->offset + global->bytes &&
          global->offset < x->offset + x->bytes)
        return true;
    }
  return false;
}

static bool makes(const GcEntry *e, const GcTensor *global) {
  for (int s = 0; s < e->nsteps; s++)
    for (int r = 0; r < e->steps[s].nresults; r++)
      if (strcmp(e->steps[s].results[r].t.name, global->name) == 0) return true;
  return false;
}

const GcTensor *untrained_params(const Command *cmd, int *n) {
  const GcProgram *p = cmd->session.program;
  const GcTensor *first = NULL;
  *n = 0;
  if (cmd->options.given[OPT_LOAD] || cmd->options.given[OPT_RESUME]) return NULL;
  /* what it has may be those of a backbone, below layers that are trained */
  if (cmd->entry->training ? weights_are_own() : weights_own_all(p)) return NULL;
  for (int i = 0; i < p->nglobals; i++) {
    const GcGlobal *g = &p->globals[i];
    const GcTensor *t = g->master ? &g->master->t : &g->t; /* a copy is trained as that is */
    if (g->kind != GC_PARAM || !reads(cmd->entry, &g->t) || makes(cmd->entry, t)) continue;
    if (g->master && reads(cmd->entry, t)) continue;
    if (!(*n)++) first = t;
  }
  return first;
}
