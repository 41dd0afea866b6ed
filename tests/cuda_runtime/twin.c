/* The hand-written program of tests/runtime for two targets: the steps of "cuda" launch kernels of
   the same names, whose PTX is kernels.ptx; the CPU's are the C functions. */
#include "gcrt.h"
#define gc_program cpu_program
#include "../runtime/handmade.c"
#undef gc_program

enum { ENTRIES = sizeof entries / sizeof *entries, STEPS = 16 };

__asm__(".section .rodata\n"
        ".globl image\nimage:\n.incbin \"" KERNELS "\"\n.byte 0\n"
        ".globl image_end\nimage_end:\n.text\n");
extern const unsigned char image[], image_end[];

static const char *const kernels[] = {"init",    "forward",  "loss",     "update",
                                      "classes", "generate", "copy_rows"};
/* The image is of variant 1; launches of variant 0 would be refused. */
static const GcLaunch launches[][2] = {
    {{0}, {0, 1, 32, 0}}, {{0}, {1, 2, 32, 0}}, {{0}, {2, 1, 32, 256}}, {{0}, {3, 1, 32, 0}},
    {{0}, {4, 1, 32, 0}}, {{0}, {5, 1, 32, 0}}, {{0}, {6, 1, 32, 0}}};

static GcImage images[1];
static GcStep steps[STEPS];
static GcEntry cuda_entries[ENTRIES + 1]; /* init comes last */
static const GcDeviceCode code = {images, 1, kernels, sizeof kernels / sizeof *kernels};

__attribute__((constructor)) static void derive(void) {
  int n = 0;
  images[0] = (GcImage){"compute_80", image, (uint64_t)(image_end - image), .variant = 1};
  for (int i = 0; i <= ENTRIES; i++) {
    GcEntry *e = &cuda_entries[i];
    *e = i < ENTRIES ? entries[i] : entry_init;
    const GcStep *from = e->steps;
    e->steps = &steps[n];
    for (int s = 0; s < e->nsteps; s++) {
      steps[n] = from[s];
      steps[n].kernel = NULL;
      for (unsigned k = 0; k < sizeof kernels / sizeof *kernels; k++)
        if (strcmp(kernels[k], from[s].name) == 0) steps[n].launch = launches[k];
      n++;
    }
  }
}

const GcProgram gc_program = {.abi = GCRT_ABI,
                              .version = "0.1.0",
                              .name = "twin",
                              .target = "cuda",
                              .march = "",
                              .hash = 0x1234,
                              PART(globals, globals),
                              .globals_bytes = GLOBALS,
                              PART(hypers, hypers),
                              .entries = cuda_entries,
                              .nentries = ENTRIES,
                              .init = &cuda_entries[ENTRIES],
                              PART(sites, sites),
                              .code = &code,
                              .next = &cpu_program};
