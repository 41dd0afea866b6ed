/* The sum by which an image is known to be whole; see image_sum.c. */
#ifndef GCRT_WEIGHTS_IMAGE_SUM_H
#define GCRT_WEIGHTS_IMAGE_SUM_H
#include "runtime/weights/image.h"

/* Of accidents, not of attacks; every changed word changes the result. */
uint64_t image_hash(uint64_t h, const void *data, uint64_t n);
/* Of a run that begins there in the region. mapped: it is a file's, whose pages are left to the
   system again, so that the process has in memory what its kernels read, and no more. */
uint64_t image_sum(const ImageOf *of, uint64_t begin, const uint8_t *data, uint64_t bytes,
                   bool mapped);
#endif
