/* The tables that the runtime runs, gcrt.h's GcProgram and all it points to, as C: common to all
   targets. Contract: the launches of every entry are printed in order; what a step runs is the
   target's to say. Names in the tables are the user's, as escaped string literals. */
#ifndef GC_CODEGEN_TABLES_H
#define GC_CODEGEN_TABLES_H
#include "codegen/program/launch.h"

typedef struct Tables Tables;
typedef struct StepText {
  const char *kernel;     /* of GcStep.kernel: a function, or "NULL" */
  const char *launch;     /* of GcStep.launch; NULL: none */
  const char *collective; /* the fields of GcStep.collective; NULL: none */
} StepText;

struct Tables {
  Gen *g;
  StepText (*step)(Tables *t, const Entry *e, const Launch *l, int depth); /* of its strides */
  void *target; /* the target's own, for `step` */
  GlobalsPlan globals;
  Text text; /* a target may put its own tables before those of a step */
  Text entries, init, gather;
  int nglobals, nhypers;
  Map shared; /* by a table's interned type and rows: which of `names` it has */
  VEC(const char *) names;
};

/* Prints all entries of g->m into the texts; g, step and target are given. */
void tables_make(Tables *t);
/* Writes them: `symbol` is the name of the GcProgram, level and march what it is
   compiled for and needs of the processor, code the name of its GcDeviceCode, or NULL, next the
   symbol of the program for another target or level, or NULL. */
void tables_write(Tables *t, FILE *f, const char *symbol, const char *level, const char *march,
                  const char *code, const char *next);

/* ---- hypers.c ---- */
void hypers_table(Tables *p);
/* Puts GcEntry.unread into the row of an entry of the user's that reads not all of them. */
void hypers_unread(Tables *p, const Entry *e, const char *id, Text *row);
#endif
