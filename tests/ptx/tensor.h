/* Tensor maps: what cuTensorMapEncodeTiled packs into 128 bytes and bulk copies of tiles unpack. */
#ifndef PTXI_TENSOR_H
#define PTXI_TENSOR_H
#include "ptxi.h"

typedef struct Tensor {
  uint64_t address;
  uint64_t size[PTX_TENSOR_RANK];   /* elements */
  uint64_t stride[PTX_TENSOR_RANK]; /* bytes; the first is an element's */
  uint32_t box[PTX_TENSOR_RANK];    /* elements */
  int rank;
  unsigned element; /* bytes */
  unsigned swizzle; /* 0; 1, 2, 3: in rows of 32, 64, 128 bytes */
  bool rounds;      /* f32 becomes tf32 on its way to shared memory */
} Tensor;
bool tensor_get(Tensor *t, const void *map); /* false: no tensor map */
uint64_t tensor_box_bytes(const Tensor *t);
/* Units of 16 bytes change places within rows of 32, 64 or 128 bytes, by address. */
uint64_t tensor_swizzle(uint64_t address, unsigned swizzle);
#endif
