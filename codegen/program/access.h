/* How threads share a launch, and what each of them touches: what barriers are decided from. */
#ifndef GC_CODEGEN_ACCESS_H
#define GC_CODEGEN_ACCESS_H
#include <stdbool.h>
#include <stdint.h>

/* A launch has `units` equal units of work; thread t does [units*t/nt, units*(t+1)/nt). With one
   unit thread 0 does all of it. What a unit touches of an argument is one of two things: anything
   (rows = 0), or its own slice: of each of `rows` rows, `stride` bytes apart, the `width` bytes are
   divided evenly among the units, in their order. Contiguous slices have one row. Where `parts` is
   not 0, a slice is divided among so many parts, each of several units: a thread owns what it
   touches only if the number of threads divides that of the parts. */
typedef struct Access {
  bool read, write;
  int64_t rows, parts;
  uint64_t stride, width, offset; /* bytes; offset of the first slice from the argument's start */
} Access;
#endif
