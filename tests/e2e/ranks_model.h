/* What tests of models that are one of two ranks share (ranks_lib.c over MPI, tests/nccl/library.c
   over NCCL): the net of their scripts, its batches, and failures, which are counted. */
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, WIDTH = 6, BATCHES = 3 };
static int process, failures; /* process: as messages name it */

static void expect(int ok, const char *what, const net *m) {
  if (ok) return;
  fprintf(stderr, "process %d: %s: %s\n", process, what, net_error(m));
  failures++;
}

static void says(const net *m, const char *text) {
  if (strstr(net_error(m), text)) return;
  fprintf(stderr, "process %d: '%s' instead of '%s'\n", process, net_error(m), text);
  failures++;
}

/* Batch b of all ranks has 8, 7 and 5 rows; rank 0 takes the first ones, rank 1 the others, and a
   rank below 0 all of them. `extra`: rank 1 has labels that there are not. */
static float value(int row, int k) { return (float)((row * 37 + k * 11) % 19) / 8 - 1; }
static bool step(net *m, int rank, int b, int extra) {
  static const int rows[] = {8, 7, 5}, cut[] = {4, 3, 4};
  float x[ROWS * WIDTH], loss = -1;
  uint8_t label[ROWS];
  int from = rank > 0 ? cut[b] : 0, n = rank < 0 ? rows[b] : rank ? rows[b] - cut[b] : cut[b];
  for (int i = 0; i < n; i++)
    for (int k = 0; k < WIDTH; k++) x[i * WIDTH + k] = value(8 * b + from + i, k);
  for (int i = 0; i < n; i++)
    label[i] = (uint8_t)((8 * b + from + i) % 3 + (extra && rank > 0 ? 3 : 0));
  bool ok = net_train(m, n, x, label, &loss);
  if (ok && process == 0) printf("%.6g\n", (double)loss);
  return ok;
}

#ifdef ALONE
int main(void) {
  net *m = net_open(1, 7);
  for (int b = 0; m && b < BATCHES; b++) expect(step(m, -1, b, 0), "train", m);
  expect(m && net_save(m, "one.safetensors"), "save", m);
  (void)says;
  return failures != 0;
}
#endif
