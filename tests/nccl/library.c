/* What a program does with a model as one of two ranks on GPUs; library.sh runs two processes of
   it: `library RANK WHAT`. Rank 0 makes the id, and a file brings it to rank 1. Each step has 8
   rows at most, which the ranks share; compiled with ALONE, one process does the steps with a model
   that is none of several.
   - all: trains, saves, loads, fails on both where one fails
   - lost: rank 1 goes away; rank 0 hears of it within the time that it set
   - broken: a call of NCCL fails on one rank; both end with a message
   - late: rank 1 does not come; rank 0 hears of it while it opens the model
   - stuck: a communicator cannot be freed; the model is closed all the same
   - within: the ranks are those of a communicator of this program's */
#include "../e2e/ranks_model.h"
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#ifndef ALONE
enum { ID = 128 };
static int rank;

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
  for (int b = 0; b < BATCHES; b++) expect(step(m, rank, b, 0), "train", m);
  expect(step(other, rank, 0, 0), "train the other", other);
  expect(!step(m, rank, 0, 1), "a label that there is not", m);
  says(m, rank ? "holds" : "the call failed on rank 1 of 2");
  expect(!net_load(m, rank ? "no such file" : "one.safetensors"), "load", m);
  says(m, rank ? "no such file" : "the call failed on rank 1 of 2");
  expect(net_save(m, rank ? NULL : "two.safetensors"), "save", m);
  expect(net_predict(m, x, p), "predict", m);
  expect(net_load(other, "two.safetensors") && net_predict(other, x, q), "predict again", other);
  expect(memcmp(p, q, sizeof p) == 0, "params of the last step", m);
  expect(net_reset(other, rank ? 1 : 7), "reset", other);
  for (int b = 0; b < BATCHES; b++) expect(step(other, rank, b, 0), "train again", other);
  expect(net_save(other, "again.safetensors"), "save again", other);
}

/* The other rank has left without a word. */
static void lost(net *m) {
  if (rank) _exit(0);
  net_set_timeout(m, 0.5);
  expect(!step(m, rank, 0, 0), "alone", m);
  says(m, "rank lost: the other ranks have not answered for 0.5 seconds");
  expect(!step(m, rank, 0, 0), "lost", m);
  says(m, "close the model");
  expect(!net_save(m, "never.safetensors"), "save alone", m);
}

static int broken(net *m) {
  net_set_timeout(m, 1);
  for (int b = 0; b < BATCHES; b++)
    if (!step(m, rank, b, 0)) return fprintf(stderr, "rank %d: %s\n", rank, net_error(m)), 4;
  return 0;
}

/* ---- a communicator of the caller's ---- */

typedef struct Id {
  char at[ID];
} Id;
static void *symbol(const char *library, const char *name) {
  void *in = dlopen(library, RTLD_NOW), *f = in ? dlsym(in, name) : NULL;
  if (!f) exit(8);
  return f;
}
#define CALL(library, name, params, ...)                                                           \
  do {                                                                                             \
    int(*f) params;                                                                                \
    *(void **)&f = symbol(library, name);                                                          \
    expect(f(__VA_ARGS__) == 0, name, NULL);                                                       \
  } while (0)
#define DRIVER "libcuda.so.1"
#define NCCL "libnccl.so.2"

static void *communicator(int ranks, int rank_there, const char *bytes) {
  Id id;
  void *comm = NULL, *context = NULL;
  memcpy(&id, bytes, sizeof id);
  CALL(DRIVER, "cuInit", (unsigned), 0);
  CALL(DRIVER, "cuDevicePrimaryCtxRetain", (void **, int), &context, 0);
  CALL(DRIVER, "cuCtxSetCurrent", (void *), context);
  CALL(NCCL, "ncclCommInitRank", (void **, int, Id, int), &comm, ranks, id, rank_there);
  return comm;
}

static void within(void) {
  char id[ID];
  expect(net_make_id(id), "an id", NULL);
  void *alone = communicator(1, 0, id);
  meet("id.0", id);
  void *comm = communicator(2, rank, id);
  expect(!net_open_within(NULL, NULL, 1, 7), "no communicator", NULL);
  says(NULL, "no communicator");
  expect(!net_open_within(alone, NULL, 1, 7), "a communicator of one rank", NULL);
  says(NULL, "this model is for 2 ranks, and the communicator has 1");
  expect(!net_open_within(comm, "cuda:1", 1, 7), "another device", NULL);
  says(NULL, "the communicator is of cuda:0, and the model of cuda:1");
  net *m = net_open_within(comm, "cuda:0", 1, rank ? 8 : 7);
  expect(m != NULL, "open", NULL);
  for (int b = 0; m && b < BATCHES; b++) expect(step(m, rank, b, 0), "train", m);
  expect(m && net_save(m, rank ? NULL : "within.safetensors"), "save", m);
  net_close(m);
  CALL(NCCL, "ncclCommDestroy", (void *), comm); /* still the caller's */
  CALL(NCCL, "ncclCommDestroy", (void *), alone);
}

int main(int argc, char **argv) {
  char id[ID];
  const char *what = argc > 2 ? argv[2] : "all";
  rank = process = argc > 1 ? atoi(argv[1]) : 0;
  expect(!net_open(NULL, rank, 1, 7), "no id", NULL);
  says(NULL, "there is no id");
  expect(!net_open(id, 2, 1, 7), "a rank that there is not", NULL);
  says(NULL, "rank 2 is not in 0 to 1");
  expect(!net_make_id(NULL), "no room for an id", NULL);
  says(NULL, "there is no room for an id");
  if (strcmp(what, "within") == 0) return within(), failures != 0;
  meet("id.0", id);
  if (strcmp(what, "late") == 0) {
    if (rank) return 0;
    net_set_timeout(NULL, 0.5);
    expect(!net_open(id, rank, 1, 7), "alone", NULL);
    says(NULL, "the other ranks have not answered for 0.5 seconds");
    return failures != 0;
  }
  net *m = net_open(id, rank, 1, rank ? 8 : 7); /* the seed is that of rank 0 */
  if (!m) return fprintf(stderr, "rank %d: %s\n", rank, net_error(NULL)), 3;
  expect(net_rank(m) == rank, "rank", m);
  if (strcmp(what, "broken") == 0) return broken(m);
  if (strcmp(what, "lost") == 0) {
    lost(m);
  } else if (strcmp(what, "stuck") == 0) {
    expect(step(m, rank, 0, 0), "train", m);
    net_set_timeout(m, 0.3);
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
