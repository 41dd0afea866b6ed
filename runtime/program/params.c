/* Params that an entry reads and does not train, of a run that no file gives them; and globals that
   a run neither reads nor writes, which no file has to have. */
#include "runtime/program/command.h"

#include <stdlib.h>
#include <string.h>

static bool meets(const GcTensor *global, GcRegion region, uint64_t offset, uint64_t bytes) {
  return region == GC_GLOBALS && offset < global->offset + global->bytes &&
         global->offset < offset + bytes;
}

/* An entry may return it as it is, without a step. */
static bool reads(const GcEntry *e, const GcTensor *global) {
  for (int s = 0; s < e->nsteps; s++)
    for (int a = 0; a < e->steps[s].nargs; a++) {
      const GcArg *x = &e->steps[s].args[a];
      if (meets(global, x->region, x->offset, x->bytes)) return true;
    }
  for (int i = 0; i < e->noutputs; i++) {
    const GcTensor *t = &e->outputs[i];
    if (meets(global, t->region, t->offset, t->bytes)) return true;
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

/* By itself or as its copy in another dtype. */
static bool reads_any(const GcProgram *p, const GcEntry *e, const char *name) {
  for (int i = 0; e && i < p->nglobals; i++) {
    const GcGlobal *g = &p->globals[i];
    const GcTensor *t = g->master ? &g->master->t : &g->t;
    if (strcmp(t->name, name) == 0 && reads(e, &g->t)) return true;
  }
  return false;
}

bool unused_globals(const Command *cmd, bool **unused, Err *e) {
  const Options *o = &cmd->options;
  *unused = NULL;
  if (o->given[OPT_SAVE] || o->given[OPT_CHECKPOINT] || cmd->image) return true;
  *unused = calloc((size_t)gc_program.nglobals + 1, sizeof **unused);
  if (!*unused) return err_set(e, EXIT_ENV, "no memory for the names of weights");
  for (int i = 0; i < gc_program.nglobals; i++) {
    const char *name = gc_program.globals[i].t.name;
    (*unused)[i] = !reads_any(cmd->session.program, cmd->entry, name) &&
                   !reads_any(cmd->session.program, cmd->validation.entry, name);
  }
  return true;
}
