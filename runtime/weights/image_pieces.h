/* The pieces of an image's runs; see image_pieces.c. */
#ifndef GCRT_WEIGHTS_IMAGE_PIECES_H
#define GCRT_WEIGHTS_IMAGE_PIECES_H
#include "runtime/weights/image.h"

enum { IMAGE_PIECE = 1 << 22 };

/* Visits all pieces of these bytes of the region, on all threads. */
typedef void ImagePiece(void *arg, uint64_t at, uint64_t n);
void image_pieces(const ImageOf *of, uint64_t begin, uint64_t bytes, ImagePiece *visit, void *arg);
/* Of nt threads, the one that reads these bytes of the region, piece i of a run. */
int image_reader(const GcProgram *p, uint64_t begin, uint64_t bytes, uint64_t i, int nt);
#endif
