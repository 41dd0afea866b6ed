/* A second compiler's opinion: clang makes PTX of the same source for the same GPU, by other ways
   and with none of NVIDIA's files; what the two disagree about is an error of one of them or of gc.
   Before 16 clang moves loads of shared memory over barriers (llvm issue 58626). */
#define _GNU_SOURCE
#include "codegen/build/process.h"
#include "tests/cuda/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST = 16, LATEST = 29 };

/* Its major version, or 0. */
static int version_of(const char *clang, Arena *a) {
  const char *argv[] = {clang, "--version", NULL};
  char *text = "";
  if (process_run(argv, a, &text) != 0) return 0;
  const char *at = strstr(text, "clang version ");
  return at ? atoi(at + strlen("clang version ")) : 0;
}

const char *clang_find(Arena *a) {
  const char *own = getenv("GC_CLANG");
  if (own && *own) return version_of(own, a) >= LEAST ? own : NULL;
  for (int v = LATEST; v >= LEAST; v--) {
    const char *name = arena_printf(a, "clang-%d", v);
    if (version_of(name, a) == v) return name;
  }
  return version_of("clang", a) >= LEAST ? "clang" : NULL;
}

static char *read_text(Arena *a, const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  char *text = arena_alloc(a, (size_t)n + 1);
  *size = fread(text, 1, (size_t)n, f);
  text[*size] = 0;
  fclose(f);
  return text;
}

/* Before 21 clang takes (x >> 63) & 3 for the bits 63 and 64 of x, which are not the sign twice
   (llvm pull request 130862). */
bool clang_errs(const CudaImage *image) {
  for (const char *s = (const char *)image->bytes; (s = strstr(s, "bfe.u64")); s++) {
    int from, bits;
    if (sscanf(s, "bfe.u64 %*[^,], %*[^,], %d, %d;", &from, &bits) == 2 && from + bits > 64)
      return true;
  }
  return false;
}

bool clang_compile(Arena *a, const char *source, CudaImage *out) {
  char dir[] = "/tmp/gc-test-XXXXXX";
  const char *clang = clang_find(a);
  if (!clang || !mkdtemp(dir)) return false;
  const char *from = arena_printf(a, "%s/program.cu", dir);
  const char *to = arena_printf(a, "%s/program.ptx", dir);
  FILE *f = fopen(from, "w");
  if (f) fputs(source, f), fclose(f);
  const char *argv[] = {clang,
                        "-x",
                        "cuda",
                        "--cuda-device-only",
                        "--cuda-gpu-arch=sm_80",
                        "-nocudainc",
                        "-nocudalib",
                        "-std=c++17",
                        "-O3",
                        "-ffp-contract=off",
                        "-fcuda-flush-denormals-to-zero",
                        "-w",
                        "-include",
                        CLANG_HEADER,
                        "-S",
                        from,
                        "-o",
                        to,
                        NULL};
  char *text = "";
  bool ok = process_run(argv, a, &text) == 0;
  if (!ok) printf("%s\n%s\n", clang, text);
  *out = (CudaImage){.arch = "compute_80", .ptx = true};
  out->bytes = ok ? (unsigned char *)read_text(a, to, &out->size) : NULL;
  out->size++; /* the zero counts */
  unlink(from);
  unlink(to);
  rmdir(dir);
  return out->bytes;
}
