/* Device attributes, by the numbers of CUdevice_attribute; the values are those of a large device.
 */
#ifndef FAKE_ATTRIBUTES_H
#define FAKE_ATTRIBUTES_H
enum {
  ATTRIBUTE_MULTIPROCESSORS = 16,
  ATTRIBUTE_MAJOR = 75,
  ATTRIBUTE_MINOR = 76,
  FUNCTION_MAX_DYNAMIC = 8,
  FUNCTION_CARVEOUT = 9,
  SHARED_OPT_IN = 232448,
};
static const struct {
  int id, value;
} attributes[] = {
    {1, 1024}, /* threads a block */
    {2, 1024}, /* block x, y, z */
    {3, 1024},
    {4, 64},
    {5, 2147483647}, /* grid x, y, z */
    {6, 65535},
    {7, 65535},
    {8, 49152},    /* shared memory a block, without opting in */
    {9, 65536},    /* constant memory */
    {10, 32},      /* warp */
    {12, 65536},   /* registers a block */
    {13, 1980000}, /* kHz */
    {14, 512},     /* alignment of textures */
    {16, 132},     /* multiprocessors */
    {17, 0},       /* limit on a kernel's time */
    {18, 0},       /* integrated */
    {19, 1},       /* maps host memory */
    {20, 0},       /* compute mode */
    {31, 1},       /* concurrent kernels */
    {32, 0},       /* ECC */
    {33, 1},
    {34, 0},        /* PCI bus and device */
    {36, 2619000},  /* memory, kHz */
    {37, 5120},     /* memory bus, bits */
    {38, 52428800}, /* L2 */
    {39, 2048},     /* threads a multiprocessor */
    {40, 3},        /* copy engines */
    {41, 1},        /* unified addressing */
    {50, 0},        /* PCI domain */
    {78, 1},        /* stream priorities */
    {81, 233472},   /* shared memory a multiprocessor */
    {82, 65536},    /* registers a multiprocessor */
    {83, 0},        /* managed memory */
    {95, 0},        /* cooperative launch: CTAs run one after another */
    {97, SHARED_OPT_IN},
    {115, 0}, /* memory pools */
};
#endif
