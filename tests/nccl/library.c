/* What a program does with a model as one of two ranks on GPUs; library.sh runs two processes of
   it: `library RANK WHAT`. Rank 0 makes the id, and a file brings it to rank 1. Each step has 8
   rows at most, which the ranks share; compiled with ALONE, one process does the steps with a model
   that is none of several.
   - all: trains, saves, loads, fails on both where one fails
   - lost: rank 1 goes away; rank 0 hears of it within the time that it set
   - broken: a call of NCCL fails on one rank; both end with a message */
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 8, WIDTH = 6, BATCHES = 3, ID = 128 };
static int rank = -1, failures;

static void expect(int ok, const char *what, const net *m) {
  if (ok) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, net_error(m));
  failures++;
}

static void says(const net *m, const char *text) {
  if (strstr(net_error(m), text)) return;
  fprintf(stderr, "rank %d: '%s' instead of '%s'\n", rank, net_error(m), text);
  failures++;
}

/* Batch b of all ranks has 8, 7 and 5 rows. `extra`: rank 1 has labels that there are not. */
static float value(int row, int k) { return (float)((row * 37 + k * 11) % 19) / 8 - 1; }
static bool step(net *m, int b, int extra) {
  static const int rows[] = {8, 7, 5}, cut[] = {4, 3, 4};
  float x[ROWS * WIDTH], loss = -1;
  uint8_t label[ROWS];
  int from = rank > 0 ? cut[b] : 0, n = rank < 0 ? rows[b] : rank ? rows[b] - cut[b] : cut[b];
  for (int i = 0; i < n; i++)
    for (int k = 0; k < WIDTH; k++) x[i * WIDTH + k] = value(8 * b + from + i, k);
  for (int i = 0; i < n; i++)
    label[i] = (uint8_t)((8 * b + from + i) % 3 + (extra && rank > 0 ? 3 : 0));
  return net_train(m, n, x, label, &loss);
}

#ifdef ALONE
int main(void) {
  net *m = net_open(1, 7);
  for (int b = 0; m && b < BATCHES; b++) expect(step(m, b, 0), "train", m);
  expect(m && net_save(m, "one.safetensors"), "save", m);
  (void)says;
  return failures != 0;
}
#else
static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); }

/* The file appears whole. */
static void meet(const char *file, char id[ID]) {
  size_t n = 0;
  if (rank == 0) {
    expect(net_make_id(id), "an id", NULL);
    FILE *f = fopen("id.tmp", "wb");
    if (!f || fwrite(id, 1, ID, f) != ID || fclose(f) != 0 || rename("id.tmp", file) != 0) exit(9);
    return;
  }
  for (FILE *f; n != ID; nap())
    if ((f = fopen(file, "rb"))) n = fread(id, 1, ID, f), fclose(f);
}

static void all(net *m, net *other) {
  float x[WIDTH] = {1, -1, 0.5f}, p[3], q[3];
  expect(net_predict(m, x, NULL), "predict by params that are drawn", m);
  for (int b = 0; b < BATCHES; b++) expect(step(m, b, 0), "train", m);
  expect(step(other, 0, 0), "train the other", other);
  expect(!step(m, 0, 1), "a label that there is not", m);
  says(m, rank ? "holds" : "the call failed on rank 1 of 2");
  expect(!net_load(m, rank ? "no such file" : "one.safetensors"), "load", m);
  says(m, rank ? "no such file" : "the call failed on rank 1 of 2");
  expect(net_save(m, rank ? NULL : "two.safetensors"), "save", m);
  expect(net_predict(m, x, p), "predict", m);
  expect(net_load(other, "two.safetensors") && net_predict(other, x, q), "predict again", other);
  expect(memcmp(p, q, sizeof p) == 0, "params of the last step", m);
  expect(net_reset(other, rank ? 1 : 7), "reset", other);
  for (int b = 0; b < BATCHES; b++) expect(step(other, b, 0), "train again", other);
  expect(net_save(other, "again.safetensors"), "save again", other);
}

/* The other rank has left without a word. */
static void lost(net *m) {
  if (rank) _exit(0);
  net_set_timeout(m, 0.5);
  expect(!step(m, 0, 0), "alone", m);
  says(m, "rank lost: the other ranks have not answered for 0.5 seconds");
  expect(!step(m, 0, 0), "lost", m);
  says(m, "close the model");
  expect(!net_save(m, "never.safetensors"), "save alone", m);
}

static int broken(net *m) {
  net_set_timeout(m, 1);
  for (int b = 0; b < BATCHES; b++)
    if (!step(m, b, 0)) return fprintf(stderr, "rank %d: %s\n", rank, net_error(m)), 4;
  return 0;
}

int main(int argc, char **argv) {
  char id[ID];
  const char *what = argc > 2 ? argv[2] : "all";
  rank = argc > 1 ? atoi(argv[1]) : 0;
  expect(!net_open(NULL, rank, 1, 7), "no id", NULL);
  says(NULL, "there is no id");
  expect(!net_open(id, 2, 1, 7), "a rank that there is not", NULL);
  says(NULL, "rank 2 is not in 0 to 1");
  meet("id.0", id);
  net *m = net_open(id, rank, 1, rank ? 8 : 7); /* the seed is that of rank 0 */
  if (!m) return fprintf(stderr, "rank %d: %s\n", rank, net_error(NULL)), 3;
  expect(net_rank(m) == rank, "rank", m);
  if (strcmp(what, "broken") == 0) return broken(m);
  if (strcmp(what, "lost") == 0) {
    lost(m);
  } else {
    meet("id.1", id);
    net *other = net_open_on(id, rank, "cuda:0", 1, 9); /* several in one process */
    expect(other != NULL, "open another", NULL);
    if (other) all(m, other);
    net_close(other);
  }
  net_close(m);
  return failures != 0;
}
#endif
