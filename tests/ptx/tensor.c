/* Packs and unpacks tensor maps. The 128 bytes are ours: a device's are not documented. Limits are
 * those of cuTensorMapEncodeTiled in the driver's manual; what is legal there and not known here is
 * refused too: interleaved layouts, element strides, and a fill with NaN. */
#include "tensor.h"
#include <string.h>

static const uint32_t mark = 0x70614d54; /* "TMap" */
typedef struct Packed {
  uint32_t mark;
  uint8_t rank, element, swizzle, rounds;
  uint64_t address, stride[PTX_TENSOR_RANK - 1];
  uint32_t last[PTX_TENSOR_RANK]; /* size - 1 */
  uint8_t box[PTX_TENSOR_RANK];   /* - 1 */
} Packed;
_Static_assert(sizeof(Packed) <= PTX_TENSOR_BYTES, "a tensor map has 128 bytes");

/* By CUtensorMapDataType; 0: not known here. */
enum { TFLOAT32 = 11 };
static const uint8_t element_bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 0, [TFLOAT32] = 4};

const char *ptx_tensor_map(void *map, const PtxTensor *t) {
  Packed p = {.mark = mark};
  if ((uintptr_t)map & 63) return "the map is not at a multiple of 64 bytes";
  if (t->type >= sizeof element_bytes || !element_bytes[t->type])
    return "the type of the elements is not known";
  if (t->rank < 1 || t->rank > PTX_TENSOR_RANK) return "a tensor has 1 to 5 dimensions";
  if (t->address & 15 || !t->address) return "the address is not a multiple of 16 bytes";
  if (t->interleave || t->fill) return "interleaved layouts and other fills are not known";
  if (t->swizzle > 3) return "the swizzle is not known";
  unsigned bytes = element_bytes[t->type];
  for (unsigned i = 0; i < t->rank; i++) {
    if (!t->size[i] || t->size[i] > (uint64_t)1 << 32) return "a dimension is not 1 to 2^32";
    if (!t->box[i] || t->box[i] > 256) return "a side of the box is not 1 to 256";
    if (t->step[i] != 1) return "a step of elements is not 1";
    if (i && (t->stride[i - 1] & 15 || t->stride[i - 1] >= (uint64_t)1 << 40))
      return "a stride is not a multiple of 16 bytes below 2^40";
    if (i && t->stride[i - 1] < t->size[i - 1] * (i > 1 ? t->stride[i - 2] : bytes))
      return "a stride is less than the dimension before it";
    p.last[i] = (uint32_t)(t->size[i] - 1);
    p.box[i] = (uint8_t)(t->box[i] - 1);
    if (i) p.stride[i - 1] = t->stride[i - 1];
  }
  if (t->box[0] * bytes & 15) return "the inner side of the box is not a multiple of 16 bytes";
  if (t->swizzle && t->box[0] * bytes > 16u << t->swizzle)
    return "the inner side of the box is longer than the row of the swizzle";
  p.address = t->address;
  p.rank = (uint8_t)t->rank;
  p.element = (uint8_t)bytes;
  p.swizzle = (uint8_t)t->swizzle;
  p.rounds = t->type == TFLOAT32;
  memset(map, 0, PTX_TENSOR_BYTES);
  memcpy(map, &p, sizeof p);
  return NULL;
}

bool tensor_get(Tensor *t, const void *map) {
  Packed p;
  memcpy(&p, map, sizeof p);
  if (p.mark != mark) return false;
  *t = (Tensor){.address = p.address,
                .rank = p.rank,
                .element = p.element,
                .swizzle = p.swizzle,
                .rounds = p.rounds};
  for (int i = 0; i < PTX_TENSOR_RANK; i++) {
    t->size[i] = (uint64_t)p.last[i] + 1;
    t->stride[i] = i ? p.stride[i - 1] : p.element;
    t->box[i] = p.box[i] + 1u;
  }
  return true;
}

uint64_t tensor_box_bytes(const Tensor *t) {
  uint64_t n = t->element;
  for (int i = 0; i < t->rank; i++) n *= t->box[i];
  return n;
}

uint64_t tensor_swizzle(uint64_t address, unsigned swizzle) {
  return address ^ (address >> 7 & ((1u << swizzle) - 1)) << 4;
}
