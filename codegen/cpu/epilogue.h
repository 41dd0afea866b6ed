/* Element-wise work on the rows of a tile, which is in a buffer of the thread. */
#ifndef GC_CODEGEN_CPU_EPILOGUE_H
#define GC_CODEGEN_CPU_EPILOGUE_H
#include "codegen/cpu/cpu.h"

typedef struct EpilogueRows {
  const char *row, *rows; /* the loop's variable, and the text of its end */
  int64_t width;          /* elements of a row, of which j is one … */
  const char *columns;    /* … or this text, which is at most the width; NULL: the width */
  bool joined;            /* the site's flat goes on from row to row: there is no panel */
  const char *compact;    /* array of what the site has, row behind row, and as many numbers behind
                             it as a register holds; NULL: they lie elsewhere */
  /* Prints declarations of what the site's texts name, for one row. */
  void (*place)(const void *of, Text *x);
  const void *of;
} EpilogueRows;

void epilogue_rows(Gen *g, Text *x, const Group *gr, const EpilogueRows *rows,
                   const EpilogueSite *s);
#endif
