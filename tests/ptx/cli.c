/* ptxi: lists the kernels of a PTX file with their parameters, or only checks that all of it is
 * known. ptxi FILE.ptx Launches go through ptxi.h, since buffers and their rights are the caller's
 * to know. Exit 1: not PTX, or an instruction that the interpreter does not know; 2: no file. */
#include "ptxi.h"
#include <stdio.h>
#include <stdlib.h>

static char *read_all(const char *path, size_t *size) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  size_t cap = 0;
  *size = 0;
  while (f) {
    if (*size == cap) {
      char *grown = realloc(text, cap = cap ? 2 * cap : 1 << 16);
      if (!grown) break;
      text = grown;
    }
    size_t n = fread(text + *size, 1, cap - *size, f);
    if (!n) break;
    *size += n;
  }
  bool ok = f && !ferror(f);
  if (f) fclose(f);
  if (ok) return text;
  free(text);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: ptxi FILE.ptx\n");
    return 2;
  }
  size_t size;
  char err[256], *text = read_all(argv[1], &size);
  if (!text) {
    perror(argv[1]);
    return 2;
  }
  PtxModule *m = ptx_module_load(text, size, err, sizeof err);
  free(text);
  if (!m) {
    fprintf(stderr, "%s: %s\n", argv[1], err);
    return 1;
  }
  for (size_t i = 0; i < ptx_module_kernels(m); i++) {
    const PtxKernel *k = ptx_module_kernel(m, i);
    printf("%s: %zu bytes of parameters (", ptx_kernel_name(k), ptx_kernel_params_size(k));
    for (size_t p = 0; p < ptx_kernel_params(k); p++)
      printf("%s%zu", p ? " " : "", ptx_kernel_param(k, p).size);
    printf("), %zu shared, %zu local, at most %u threads\n", ptx_kernel_static_shared(k),
           ptx_kernel_local(k), ptx_kernel_max_threads(k));
  }
  ptx_module_free(m);
  return 0;
}
