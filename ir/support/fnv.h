/* FNV-1a, 64 bits, byte by byte. The numbers stand in files and key random streams: they stay. */
#ifndef GC_IR_FNV_H
#define GC_IR_FNV_H
#include <stddef.h>
#include <stdint.h>

#define FNV_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t fnv_add(uint64_t h, const void *bytes, size_t n) {
  const unsigned char *s = bytes;
  for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * UINT64_C(0x100000001b3);
  return h;
}
#endif
