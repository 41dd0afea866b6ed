/* What libgcimages.a is made of: a decoder for each format, and the table of them. */
#ifndef GCRT_IMAGE_FORMATS_H
#define GCRT_IMAGE_FORMATS_H
#include "runtime/data/image.h"

bool png_decode(const uint8_t *file, uint64_t n, Picture *p, char why[IMAGE_WHY]);
bool jpeg_decode(const uint8_t *file, uint64_t n, Picture *p, char why[IMAGE_WHY]);
#endif
