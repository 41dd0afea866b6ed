/* What the printers of gather and of its gradient share; see gather.c. */
#ifndef GC_CODEGEN_CPU_GATHER_H
#define GC_CODEGEN_CPU_GATHER_H
#include "codegen/cpu/cpu.h"
#include "codegen/print/gather.h"

/* Opens the loop over ids, each at i as they lie: by number u where inner axes are bounded. */
void gather_open_ids(Gen *g, const Group *gr, Text *x, const Type *ids, const char *from,
                     const char *to);
/* Loads id i and leaves it in `id`; `skip` runs for one out of range. */
void gather_id(Gen *g, const Group *gr, Text *x, const Gather *s, const char *skip);
/* The loop over the pieces of a row, if there are several: piece r begins at the text returned. */
const char *gather_open_pieces(Text *x, const RowPieces *p);
void gather_close_pieces(Text *x, const RowPieces *p);

void cpu_gather_grad(Gen *g, const Group *gr);
#endif
