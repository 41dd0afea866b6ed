/* Shared by the printers of convolutions and of their gradients on the GPU. */
#ifndef GC_CODEGEN_GPU_CONV_H
#define GC_CODEGEN_GPU_CONV_H
#include "codegen/gpu/gpu.h"
#include "codegen/schedule/flat.h"
#include "codegen/schedule/grid_conv.h"
#include "codegen/schedule/window.h"

/* Its operands are of few enough bits for tensor cores. */
bool cuda_conv_narrow(const Group *gr);
/* conv_schedule.c. `tensor`: sums may be added up in the order of tensor cores. */
GridConvSchedule cuda_conv_schedule(const CudaTarget *t, const Group *gr, bool tensor);
/* The same convolution of as many images as are usual, of so many rows and columns of the result.
   Their schedule decides in which order sums are added up: between warps and warpgroups that of the
   small ones, of which warpgroups compute more that is not in the result. */
enum { CUDA_CONV_SIDE = 28, CUDA_CONV_SMALL_SIDE = 7 };
ConvGeom cuda_conv_usual(const ConvGeom *c, int side);
/* Numbers of its pixels are ints, with gaps, and with those of boxes behind the end. */
enum { CUDA_CONV_PIXELS = INT32_MAX / 2 };
bool cuda_conv_is_small(const ConvGeom *c);
/* Reports bounds of more pixels, whose runs would add up in another order than programs that are
   compiled for less. */
void cuda_conv_check_bounds(Gen *g, const Group *gr, const ConvGeom *c);
/* filter_schedule.c: the same of a gradient with respect to filters. */
GridFilterSchedule cuda_filter_schedule(const CudaTarget *t, const Group *gr, bool tensor);
/* Pixels that it sums over, or boxes of them: those of an image; of a unit of PixelParts. `flat`:
   with gaps. Elements of both operands in an image. */
typedef struct PixelCount {
  int64_t of_image, of_unit;
} PixelCount;
PixelCount cuda_filter_pixels(const ConvGeom *c, const PixelParts *p, const GridTensorBox *b,
                              bool flat);
int64_t cuda_filter_image(const ConvGeom *c);
/* How thread blocks of a schedule by warps share them, of images as wide as those of `c`. */
PixelParts cuda_filter_parts(const CudaTarget *t, const Group *gr, const ConvGeom *c,
                             const GridFilterSchedule *f);
/* filter_parts.c: units of a part of the pixels at hand, and the most parts that a run has; pixels
   of a part of `pixels`, a factor, in a run, or boxes. */
int64_t cuda_filter_divide(const CudaTarget *t, const ConvGeom *c, const PixelParts *p,
                           const PixelCount *n, Dtype sums, int64_t *most);
/* Parts whose sums have room in scratch: of so many images, and of a run's, a factor. */
int64_t cuda_filter_room(const CudaTarget *t, const ConvGeom *c, Dtype sums, int64_t images);
const char *cuda_filter_room_text(Gen *g, const Group *gr, const ConvGeom *c);
const char *cuda_filter_length(Gen *g, const Group *gr, const ConvGeom *c, const PixelParts *p,
                               const char *pixels);
/* The same of boxes. */
const char *cuda_filter_boxes(Gen *g, const Group *gr, const ConvGeom *c,
                              const GridFilterSchedule *f);
/* "struct Geometry { enum { N = 8, … }; };", with FRAME and CHUNK where chunks are given. */
void cuda_conv_geometry(Text *x, const ConvGeom *c, const PixelChunks *chunks);
/* "struct Sizes { int N; enum { H = 8, … }; }; const Sizes size = {…};": those of the run, which
   are the Geometry's if nothing is bounded. FRAME and CHUNK, texts, or NULL. */
void cuda_conv_size(Gen *g, const Entry *e, Text *x, const ConvGeom *c, const char *frame,
                    const char *chunk);
/* "struct Flat { int PITCH; enum { ROWS = 29, … }; }; const Flat flat = {…};" of the numbered
   pixels of `c`, or those of its gradient with respect to the image; of tiles that read `span`
   places of a plane behind those of their pixels. */
typedef struct FlatTile {
  bool back, by_rows, patches;
  int64_t span;
} FlatTile;
void cuda_flat_numbers(Gen *g, const Entry *e, Text *x, const ConvGeom *c, const FlatTile *tile);
/* Places of all images of a run of a convolution, a factor. */
const char *cuda_flat_places(Gen *g, const Entry *e, const ConvGeom *c);
/* "ConvForward<Geometry, int>", or what else says where operands lie; `along` as of schedules. */
const char *cuda_conv_source(Gen *g, const Group *gr, int along);
/* Prints what follows the sum `acc` of channel `m` of a group at the ConvPixel `of`. */
void cuda_conv_result(Gen *g, const Group *gr, Text *x, const char *group, const char *acc);
/* By boxes of pixels on tensor cores (text/tensor_box.h): threads of a block; this run's boxes; the
   types of a block of a gradient with respect to filters, and its shared memory; prints its sum of
   so many boxes of a part, a factor; a convolution or its gradient with respect to the image as a
   whole. */
int cuda_tensor_box_threads(const GridTensorBox *b);
const char *cuda_tensor_boxes(Gen *g, const Group *gr, const ConvGeom *c, const GridTensorBox *b);
void cuda_tensor_filter_box(Gen *g, Text *x, const ConvGeom *c, const GridFilterSchedule *s,
                            const char *element);
void cuda_tensor_filter_run(Gen *g, const Group *gr, Text *x, const ConvGeom *c, const char *part,
                            const char *boxes);
/* Of values for boxes of 8, 16 and 32 columns that of this run, whose result may have fewer columns
   than at the bound: a factor. */
enum { CUDA_BOXES = 3 };
const char *cuda_box_choice(Gen *g, const Group *gr, const ConvGeom *c, const int of[CUDA_BOXES]);
void cuda_tensor_conv_box(Gen *g, const Group *gr, Kernel *k, const ConvGeom *c,
                          const GridConvSchedule *s);
/* For sm_90a: the launch that puts filters in order, which no other architecture has, and the code
   of the convolution behind it. */
void cuda_conv_pack(Gen *g, const Group *gr, const ConvGeom *c, const GridConvSchedule *s);
void cuda_conv_sm90a(Gen *g, const Group *gr, Kernel *k, const ConvGeom *c,
                     const GridConvSchedule *s);
/* Adds to the kernel of partial sums the code for sm_90a. Declares the pixels of a part in a run,
   and returns the parts of that, a factor. */
void cuda_filter_sm90a(Gen *g, const Group *gr, Kernel *k, const ConvGeom *c,
                       const WgmmaFilterSchedule *s);
const char *cuda_filter_sm90a_parts(Gen *g, const Group *gr, Text *x, const ConvGeom *c,
                                    const WgmmaFilterSchedule *s);
#endif
