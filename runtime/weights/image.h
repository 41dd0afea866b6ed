/* An image of a program's globals, which processes and models map instead of reading weights: pages
   that nobody writes to are in memory once.
   Contract: an image that is not of this program, of these files, or is damaged, is never used. It
   is written as every file is: complete or not at all. */
#ifndef GCRT_WEIGHTS_IMAGE_H
#define GCRT_WEIGHTS_IMAGE_H
#include "runtime/weights/safetensors.h"
#include "runtime/weights/weights.h"

typedef void ImageJob(void *arg, int t, int nt); /* what thread t of nt does */
typedef struct ImageOf {
  const char *path; /* of the image */
  const GcProgram *program;
  const WeightsRequest *request; /* of the files that it is of, which are read together */
  int n;
  uint64_t seed;         /* of initial values, if the files do not have all */
  const uint8_t *hypers; /* the region, as the program's init reads it */
  uint8_t *stage;        /* STAGE_BYTES */
  /* Runs a job on all threads, as the kernels that read the weights will; NULL: on the caller's. */
  void (*run)(void *threads, ImageJob *job, void *arg);
  void *threads;
} ImageOf;
typedef struct Image {
  File file;
  SafeTable table;
  bool fits;       /* it is of this program and of these files, and not damaged */
  const char *why; /* there is one that is not; or NULL */
} Image;
typedef struct ImageRun { /* bytes of the region, and where they lie in the file */
  uint64_t begin, bytes, at;
} ImageRun;
/* Looks for the image; none is no error, but a file of another kind is one, which would be lost.
   To be closed in any case. */
bool image_open(Image *m, const ImageOf *of, Err *e);
void image_close(Image *m);
/* By number; what no run has is zero. False: there are no more. */
bool image_run(const Image *m, uint64_t i, ImageRun *run);
/* Before anything is read for it: that it can be written. */
bool image_prepare(OutFile *out, const ImageOf *of, Err *e);
bool image_write(OutFile *out, const ImageOf *of, const uint8_t *base, Err *e);
#endif
