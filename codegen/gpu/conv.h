/* Shared by the printers of convolutions and of their gradients on the GPU. */
#ifndef GC_CODEGEN_GPU_CONV_H
#define GC_CODEGEN_GPU_CONV_H
#include "codegen/gpu/gpu.h"
#include "codegen/schedule/grid_conv.h"
#include "codegen/schedule/window.h"

/* "struct Geometry { enum { N = 8, … }; };", with FRAME and CHUNK where chunks are given. */
void cuda_conv_geometry(Text *x, const ConvGeom *c, const PixelChunks *chunks);
/* Adds to the kernel of partial sums the code for sm_90a. */
void cuda_filter_sm90a(Gen *g, const Group *gr, Kernel *k, const ConvGeom *c,
                       const WgmmaFilterSchedule *s);
#endif
