/* Shared by the printers of convolutions and of their gradients on the GPU. */
#ifndef GC_CODEGEN_GPU_CONV_H
#define GC_CODEGEN_GPU_CONV_H
#include "codegen/gpu/gpu.h"
#include "codegen/schedule/window.h"

/* "struct Geometry { enum { N = 8, … }; };", with FRAME and CHUNK where chunks are given. */
void cuda_conv_geometry(Text *x, const ConvGeom *c, const PixelChunks *chunks);
#endif
