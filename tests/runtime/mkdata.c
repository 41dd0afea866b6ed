/* Writes the small data files of the runtime's tests: mkdata FORMAT TYPE DIMS SEED FILE, where
   FORMAT is npy, idx or raw, DIMS is "64,4", and the values are small and the same each time. SEED
   "linear" makes x @ w + b of the f32 [n, 4] values of seed 1, with three columns. */
#include "runtime/data/file.h"
#include <stdlib.h>
#include <string.h>

static double value(unsigned seed, uint64_t i) {
  uint64_t x = (i + 1) * 0x9E3779B97F4A7C15ULL + seed * 77777ULL;
  x ^= x >> 29, x *= 0xBF58476D1CE4E5B9ULL, x ^= x >> 32;
  return (double)(x % 1000);
}

static double cell(const char *seed, Elem type, uint64_t i) {
  if (strcmp(seed, "linear") == 0) {
    static const double w[4][3] = {{1, -2, 3}, {0.5, 0, -1}, {2, 1, 1}, {-1, 0.25, 0}};
    double s = 0.5;
    for (uint64_t k = 0; k < 4; k++) s += (value(1, i / 3 * 4 + k) / 500 - 1) * w[k][i % 3];
    return s;
  }
  double v = value((unsigned)atoi(seed), i);
  return elem_info[type].cls == ELEM_FLOATS ? v / 500 - 1 : (double)((int)v % 3);
}

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  Elem type = ELEM_COUNT;
  for (int i = 0; i < ELEM_COUNT; i++)
    if (strcmp(argv[2], elem_info[i].name) == 0) type = (Elem)i;
  uint64_t dims[8], count = 1;
  int rank = 0;
  for (char *p = argv[3]; *p && rank < 8;) {
    dims[rank] = strtoull(p, &p, 10);
    count *= dims[rank++];
    if (*p == ',') p++;
  }
  FILE *f = fopen(argv[5], "wb");
  if (!f || type == ELEM_COUNT) return 2;
  char head[512];
  if (strcmp(argv[1], "npy") == 0) {
    uint64_t n = npy_header(head, sizeof head, type, rank, dims) - NPY_MARK;
    head[n - 1] = '\n'; /* the header that numpy writes: the file is a user's own */
    head[8] = (char)((n - 10) & 255), head[9] = (char)((n - 10) >> 8);
    fwrite(head, 1, n, f);
  }
  if (strcmp(argv[1], "idx") == 0) {
    fwrite("\0\0\x08", 1, 3, f);
    fputc(rank, f);
    for (int i = 0; i < rank; i++)
      for (int b = 3; b >= 0; b--) fputc((int)(dims[i] >> (8 * b) & 255), f);
  }
  for (uint64_t i = 0; i < count; i++) {
    double d = cell(argv[4], type, i);
    int64_t n = (int64_t)d;
    char out[8];
    if (elem_info[type].cls == ELEM_FLOATS)
      elem_convert(out, type, &d, ELEM_F64, 1);
    else
      memcpy(out, &n, 8);
    fwrite(out, 1, (size_t)elem_info[type].size, f);
  }
  return fclose(f) == 0 ? 0 : 1;
}
