/* From the bytes of an image file to a row of an input. Decoders lie in an archive of their own,
   libgcimages.a (runtime/images), which only programs compiled with --images link.
   Contract: no size that a file claims is allocated before it is bounded; a decoder says in a few
   words what is wrong, and whoever calls it names the file. */
#ifndef GCRT_IMAGE_H
#define GCRT_IMAGE_H
#include "runtime/base/rt.h"

enum {
  IMAGE_SIDE = 65535,     /* pixels of a picture's width or height, at most */
  IMAGE_PIXELS = 1 << 27, /* and of both */
  IMAGE_WHY = 200         /* bytes of what is wrong */
};

typedef struct Picture {
  uint32_t width, height;
  int channels;    /* 1: gray; 3: red, green and blue of a pixel side by side */
  bool indices;    /* given: of a palette, its indices in the place of its colours */
  uint8_t *pixels; /* malloc'ed; row by row */
} Picture;
/* Memory for its pixels, once width, height and channels are set. */
bool picture_make(Picture *p, char why[IMAGE_WHY]);

typedef struct ImageFormat {
  const char *name, *begins; /* "PNG", and the first bytes of such a file */
  bool (*decode)(const uint8_t *file, uint64_t n, Picture *p, char why[IMAGE_WHY]);
} ImageFormat;
/* Ends with a name of NULL. Weak: of address NULL where the program links no decoders. */
extern const ImageFormat gcrt_image_formats[] __attribute__((weak));

/* ---- resample.c ---- */
typedef struct ImageShape { /* of a row */
  uint32_t width, height;
  int channels; /* 1 or 3 */
  bool planar;  /* one channel after the other; else those of a pixel side by side */
  bool classes; /* pixels are numbers of classes, between which there is no mean */
} ImageShape;
/* The largest centred part of the picture that has the shape's aspect, resampled to its size: each
   pixel is the mean of those below a triangle around it, as wide as the scale; of classes it is the
   one below its centre. A picture of that size stays as it is. False: no memory. */
bool picture_resample(const Picture *p, const ImageShape *s, uint8_t *to);
#endif
