/* What the files of tables share. */
#ifndef GC_CODEGEN_TABLES_IMPL_H
#define GC_CODEGEN_TABLES_IMPL_H
#include "codegen/program/tables.h"

/* The name of a region in gcrt.h. */
const char *tables_region(PlanRegion r);
/* A GcTensor, with the extents of the entry; NULL: it has none. */
void tables_tensor(Tables *p, const Entry *e, const char *name, const Type *t, const Layout *l,
                   Address at);

/* ---- tables_steps.c ---- */
/* ID_steps, ID_loops and all they point to. */
void steps_tables(Tables *p, const Entry *e, const char *id, const Launches *l);
#endif
