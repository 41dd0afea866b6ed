/* What a program does with a model as one of several ranks: ranks_lib.sh runs it with mpirun on
   four processes, which make two pairs, each with a model of two ranks. Every pair writes its
   weights. Compiled with ALONE, one process does the same steps with a model that is none of
   several. */
#include "ranks_model.h"

#ifndef ALONE
int main(int argc, char **argv) {
  int level, rank, n;
  MPI_Comm pair;
  char file[40];
  bool lost = argc > 1 && strcmp(argv[1], "lost") == 0;
  expect(!net_open(MPI_COMM_WORLD, 1, 7), "before MPI", NULL);
  says(NULL, "MPI has not begun");
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Comm_split(MPI_COMM_WORLD, process / 2, process, &pair);
  MPI_Comm_rank(pair, &rank);
  expect(n == 2 || !net_open(MPI_COMM_WORLD, 1, 7), "four", NULL);
  if (n == 4) says(NULL, "this model is for 2 ranks, and the communicator has 4");
  expect(!net_open(MPI_COMM_NULL, 1, 7), "none", NULL);
  expect(!net_open(pair, rank ? -1 : 0, 7), "a number of threads that there is not", NULL);
  says(NULL, rank ? "-1 threads" : "the call failed on rank 1 of 2");

  if (lost) { /* the other one does not open it */
    MPI_Comm spare;
    MPI_Comm_dup(pair, &spare);
    net_set_timeout(NULL, 0.3);
    expect(rank || !net_open(spare, 1, 7), "open alone", NULL);
    if (!rank) says(NULL, "the other ranks have not answered for 0.3 seconds");
    net_set_timeout(NULL, 600);
    MPI_Barrier(pair);
  }
  net *m = net_open(pair, 1, rank ? 8 : 7); /* the seed is that of rank 0 */
  net *other = net_open(pair, rank, 9);     /* several in one process */
  expect(m && other, "open", NULL);
  if (!m || !other) return MPI_Abort(MPI_COMM_WORLD, 1), 1;
  expect(net_rank(m) == rank, "rank", m);
  float x[WIDTH] = {1, -1, 0.5f};
  expect(net_predict(m, x, NULL), "predict by params that are drawn", m);
  for (int b = 0; b < BATCHES; b++) expect(step(m, rank, b, 0), "train", m);
  expect(step(other, rank, 0, 0), "train the other", other);

  /* what is wrong on one rank fails on both, and changes nothing */
  expect(!step(m, rank, 0, 1), "a label that there is not", m);
  says(m, rank ? "holds" : "the call failed on rank 1 of 2");
  expect(!net_load(m, rank ? "no such file" : "one.safetensors"), "load", m);
  says(m, rank ? "no such file" : "the call failed on rank 1 of 2");
  snprintf(file, sizeof file, "pair%d.safetensors", process / 2);
  expect(net_save(m, rank ? NULL : file), "save", m);

  /* a rank runs by itself what is not split, and reads no params in slices */
  float p[3], q[3], sum;
  expect(net_predict(m, x, p), "predict", m);
  if (!rank) expect(net_alone(m, x, &sum), "alone", m);
  expect(net_load(other, file) && net_predict(other, x, q), "predict what was saved", other);
  expect(memcmp(p, q, sizeof p) == 0, "params of the last step", m);
  expect(net_reset(other, rank ? 1 : 7), "reset", other);
  for (int b = 0; b < BATCHES; b++) expect(step(other, rank, b, 0), "train again", other);
  snprintf(file, sizeof file, "again%d.safetensors", process / 2);
  expect(net_save(other, file), "save again", other);

  if (lost && rank) { /* it does something else, and the first waits no longer than it was told */
    MPI_Barrier(pair);
    net_set_timeout(m, 0.1);
    expect(!step(m, rank, 0, 0), "too late", m);
    says(m, "rank lost");
    MPI_Barrier(pair);
    MPI_Barrier(pair); /* until the other one has said what it found */
  } else if (lost) {
    net_set_timeout(m, 0.5);
    expect(!step(m, rank, 0, 0), "alone", m);
    says(m, "rank lost: the other ranks have not answered for 0.5 seconds");
    expect(!step(m, rank, 0, 0), "lost", m);
    says(m, "close the model");
    expect(!net_save(m, "never.safetensors"), "save alone", m);
    net_close(m);
    /* what the other one sends now comes to no memory that is in use again */
    enum { SIZES = 64, OF_EACH = 32, STEP = 8 };
    static unsigned char *again[SIZES * OF_EACH], as_it_was[SIZES * STEP];
    memset(as_it_was, 165, sizeof as_it_was);
    for (size_t i = 0; i < SIZES * OF_EACH; i++)
      if ((again[i] = malloc(STEP * (i / OF_EACH + 1))))
        memcpy(again[i], as_it_was, STEP * (i / OF_EACH + 1));
    MPI_Barrier(pair);
    MPI_Barrier(pair);
    for (size_t i = 0; i < SIZES * OF_EACH; i++) {
      expect(again[i] && memcmp(again[i], as_it_was, STEP * (i / OF_EACH + 1)) == 0, "memory",
             NULL);
      free(again[i]);
    }
    fprintf(stderr, failures ? "" : "lost as expected\n");
    fflush(stderr);
    MPI_Barrier(pair);
  }
  if (lost) MPI_Abort(MPI_COMM_WORLD, failures ? 1 : 9);
  net_close(m);
  net_close(other);
  MPI_Comm_free(&pair);
  MPI_Finalize();
  return failures != 0;
}
#endif
