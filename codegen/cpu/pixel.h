/* Shared by the printers of windows over images that lie [N, H, W, C]. */
#ifndef GC_CODEGEN_CPU_PIXEL_H
#define GC_CODEGEN_CPU_PIXEL_H
#include "codegen/cpu/cpu.h"
#include "codegen/print/window.h"

void cpu_conv(Gen *g, const Group *gr); /* convolutions and their gradients by the images */
/* Its statements, in kernel k; panel: columns of the panels that the filters lie in, or 0. */
void cpu_conv_text(Gen *g, Kernel *k, const Group *gr, int panel);
void cpu_amx_conv(Gen *g, const Group *gr); /* the same in tile registers */
void cpu_winograd(Gen *g, const Group *gr); /* the same by Winograd's method */
/* The copy that transforms filters for it: the statements of kernel k. */
void cpu_winograd_filters(Gen *g, Kernel *k, const Type *t, const Layout *from, const Layout *to);
/* Opens the branch of runs with transformed filters. */
void cpu_winograd_if(Gen *g, Text *x, const Entry *e, const Type *filter, const Layout *l);
/* As they lie in the others. */
const Layout *cpu_winograd_direct(Gen *g, const Type *filter, const Layout *l);
void cpu_filter(Gen *g, const Group *gr);    /* their gradients by the filters */
void cpu_depthwise(Gen *g, const Group *gr); /* the same of convolutions of one channel to one */
void cpu_pool(Gen *g, const Group *gr);

/* Images [N, H, W, C], and filters [R, S, I, O], their last axis in panels of nr unless that is 0.
 */
const Layout *pixel_layout(Ctx *c);
const Layout *filter_layout(Ctx *c, int nr);
#endif
