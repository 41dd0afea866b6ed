/* The functions that convolutions are made of: one for each kind of tile
   (codegen/schedule/window.h). */
#ifndef GC_CODEGEN_CPU_TILE_H
#define GC_CODEGEN_CPU_TILE_H
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/target.h"
#include "codegen/schedule/window.h"

/* The name of a function
     (const f32 *a, long ar, long an, const f32 *b, long br, long bn, f32 *c, long ldc,
      long rows, long images …)
   which adds up the runs for `images` images an and bn apart, of `rows` rows ar and br apart, in
   order, and writes them to c. What tile_arguments gives comes next; of a tile that adds, then
   `int first`: 0 adds the sum to c. */
const char *tile_function(Gen *g, const Tile *t);
/* ", depth, lk, lb" of a tile with a general function, else "", or ", less" if it has a middle. */
const char *tile_arguments(Gen *g, const Tile *t);
/* The name of a function with this text, printed once a program: it follows from the text. */
const char *tile_helper(Gen *g, const char *kind, const char *parameters, const char *body);
#endif
