/* Shared by the printers of windows over images that lie [N, H, W, C]. */
#ifndef GC_CODEGEN_CPU_PIXEL_H
#define GC_CODEGEN_CPU_PIXEL_H
#include "codegen/cpu/cpu.h"
#include "codegen/print/window.h"

void cpu_conv(Gen *g, const Group *gr);      /* convolutions and their gradients by the images */
void cpu_filter(Gen *g, const Group *gr);    /* their gradients by the filters */
void cpu_pool(Gen *g, const Group *gr);      /* pools, and convolutions of one channel to one */
void cpu_depthwise(Gen *g, const Group *gr); /* the gradient by the filters of the latter */

/* Images [N, H, W, C], and filters [R, S, I, O], their last axis in panels of nr unless that is 0.
 */
const Layout *pixel_layout(Ctx *c);
const Layout *filter_layout(Ctx *c, int nr);

/* A tap of the window, for the positions of one phase. */
typedef struct Reach {
  int64_t tap;
  int64_t at; /* place of the source under it at the phase's first position */
} Reach;

/* Rows or columns of the result that have their taps alike. */
typedef struct Phase {
  int64_t first, step, n; /* positions of the result */
  int64_t over;           /* places of the source from one position to the next */
  Reach *reach;           /* in the order of taps */
  int nreach;
} Phase;

/* Of one axis: one from the image to the result; back, from the result to the image, as many as the
   stride. A tap of a phase may lie beyond the source's sides. */
Phase *window_phases(Arena *a, const WindowAxis *w, bool back, int *n);
/* The same, cut where one more or one less of the taps lies on the source: those named all do. */
Phase *window_spans(Arena *a, const WindowAxis *w, bool back, int *n);
#endif
