/* What prints the gradient of a convolution's filters, and the tiles of it; see filter.c. */
#ifndef GC_CODEGEN_CPU_FILTER_H
#define GC_CODEGEN_CPU_FILTER_H
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/tile.h"

typedef struct Filter {
  Gen *g;
  const Group *gr;
  const Op *op;
  const Layout *layout;
  FilterSchedule s;
} Filter;

/* Rows and columns of y: numbers, or those of the run. */
const char *filter_rows(const Filter *f);
const char *filter_columns(const Filter *f);
/* The first row of a tile. Where their number depends on that of threads, `count` of them have
   `step` rows >> 32. */
const char *filter_row_text(const Filter *f, const char *tile);
/* Text of how many tiles there are. */
const char *filter_tiles_text(const Filter *f);
/* Where unit u lies: group g, panel q, filter row r, run v of channels, tile k: rows from m on. Of
   blocks of tiles, `few` from `block` on, each meets one panel after the other. */
void filter_unit(const Filter *f, Text *x);
/* Declares e rows and w columns of the unit's tile. */
void filter_extent(const Filter *f, Text *x);
/* The products of the unit's tile, of the width that its panel has. */
void filter_panels(const Filter *f, Text *x);
#endif
