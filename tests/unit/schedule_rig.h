/* What tests of schedules share: machines, and shapes to sweep over. */
#ifndef GC_TESTS_SCHEDULE_RIG_H
#define GC_TESTS_SCHEDULE_RIG_H
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "codegen/schedule/schedule.h"

enum { AVX2, SMALL_CACHES, AVX512, NEON, AVX512_BF16, MACHINES };
static const VectorMachine machines[MACHINES] = {
    [AVX2] = {.vector = 32, .vectors = 2, .rows = 6, .cache = {32 << 10, 1 << 20, 4 << 20, 8}},
    [SMALL_CACHES] = {.vector = 32,
                      .vectors = 2,
                      .rows = 6,
                      .cache = {32 << 10, 256 << 10, 2 << 20, 8}},
    [AVX512] = {.vector = 64, .vectors = 4, .rows = 6, .cache = {32 << 10, 1 << 20, 4 << 20, 8}},
    [NEON] = {.vector = 16, .vectors = 4, .rows = 6, .cache = {32 << 10, 1 << 20, 4 << 20, 8}},
    [AVX512_BF16] = {.vector = 64,
                     .vectors = 4,
                     .rows = 6,
                     .pairs = true,
                     .cache = {32 << 10, 1 << 20, 4 << 20, 8}},
};
static const GridMachine grid = {.warp = 32,
                                 .block = 256,
                                 .blocks = 128,
                                 .multiprocessors = 132,
                                 .shared = 99 << 10,
                                 .scratch = 4,
                                 .launch = 5e5};

static inline int registers_of(const VectorMachine *m) { return m->vectors == 4 ? 32 : 16; }

/* Extents around every border that schedules have. */
static const int64_t extents[] = {1,    2,    3,    5,    6,     7,     8,    13,   16,
                                  31,   32,   33,   64,   65,    100,   127,  128,  129,
                                  255,  256,  384,  385,  513,   768,   1000, 1024, 1025,
                                  2049, 4096, 8192, 8193, 16384, 16385, 50257};
enum { EXTENTS = sizeof extents / sizeof *extents };
#endif
