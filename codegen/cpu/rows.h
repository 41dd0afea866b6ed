/* What the printers of kernels over rows share: rows.c, and rows_chunks.c for few long rows. */
#ifndef GC_CODEGEN_CPU_ROWS_H
#define GC_CODEGEN_CPU_ROWS_H
#include "codegen/cpu/cpu.h"
#include "codegen/print/reduction.h"

enum { ROW_OF_VECTORS = 16 }; /* numbers that a vector has at most: shorter rows have few of them */

/* ---- rows_schedule.c ---- */
RowsSchedule cpu_rows_schedule(const Group *gr);
/* The result has the full shape. */
bool cpu_rows_is_full(const Group *gr, int yield);
/* An operand that lies in panels, as the gradient of a weight does: the row is all of it, and its
   columns are whole panels (see the pass layout). NULL if there is none. */
const Value *cpu_rows_in_panels(const Group *gr);

/* ---- rows.c ---- */
/* Begins the texts of a launch. */
RowLoops cpu_rows_start(RowsPrinter *r);
/* The loops over a row, in blocks of lanes and, where the row is long, in chunks; split: over the
   unit's chunk alone, whose partial results go to scratch. */
void cpu_rows_pass(RowsPrinter *r, Kernel *k, int number, const RowLoops *l, bool split);
/* Names the coordinates of a row's elements. */
void cpu_rows_name(RowsPrinter *r, const RowLoops *l);
/* The loops over elements c = c0 + l, l < w, in order of the row whatever the operands' layout.
   Where that is panels, elements side by side are so many as a panel is wide. Gives how many are
   open. */
int cpu_rows_elements(RowsPrinter *r, Text *row, const char *c0, const char *w);
/* The values of the full shape at the loop's element, then their stores: one may lie over what
   another is made of. Tells whether there are any. */
bool cpu_rows_full_results(RowsPrinter *r);
/* Values of one element a row, then those of the full shape where `full`, from what the passes have
   bound. */
void cpu_rows_results(RowsPrinter *r, const RowLoops *l, bool full);
/* Ends it, as a loop over units u. */
void cpu_rows_finish(RowsPrinter *r, Kernel *k, const char *from, const char *to);

/* Elements of a row: a number, or a factor of extents. */
const char *cpu_rows_length(const RowsPrinter *r);

/* ---- rows_exps.c ---- */
/* Declares rows of exps, and says of each sum of them where its arguments go. Of chunks those of
   one pass, which are not kept. */
void cpu_rows_keep_exps(RowsPrinter *r, Kernel *kernel);
void cpu_rows_chunk_exps(RowsPrinter *r, int pass);
/* ... which passes from `number` on read. */
void cpu_rows_bind_exps(RowsPrinter *r, int number);
/* Where those of the lanes from c0 on begin. */
const char *cpu_rows_arguments(const RowsPrinter *r, const Work *w);

/* ---- rows_chunks.c ---- */
/* The launches of long rows, whose chunks are units; k is the first one. */
void cpu_rows_in_chunks(RowsPrinter *r, Kernel *k, const RowLoops *first);
/* A unit's chunk of operands in panels is copied together before it is summed: in order of the row,
   a loop over it would take a line of every panel by turns, all from few sets of the cache. */
void cpu_rows_copy_chunks(RowsPrinter *r, Kernel *k, Text *row);
/* Where the partial results of reduction `work` begin in scratch, a number for each chunk of each
   row at its bound; and the places of those of an argmax. */
long long cpu_rows_partial(const RowsPrinter *r, uint32_t work);
long long cpu_rows_places(const RowsPrinter *r, uint32_t work);
#endif
