/* A double of MPI for one process that says it is one of two, of which the other has the same
   numbers. What begins is over only when it is waited for, or after many tests: until then the
   operand must stay as it is, and the result as it was left. GC_MPI_EARLY=1: all is over at once.
   Only what runtime/comm/mpi.c calls. */
#ifndef GC_TESTS_FAKE_MPI_H
#define GC_TESTS_FAKE_MPI_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int MPI_Comm, MPI_Info;
typedef intptr_t MPI_Aint;
typedef enum { MPI_SUM, MPI_MAX } MPI_Op;
typedef struct {
  int bytes, kind;
} MPI_Datatype; /* kind: 'f', 'd', 'i', 'l'; 0: bytes */
typedef struct FakeWork {
  int tests; /* until it is over */
  void *out;
  uint8_t *want, *was, *in_was; /* the result; what lay there and in the operand */
  const void *in;
  size_t bytes, in_bytes;
} * MPI_Request;

enum {
  MPI_SUCCESS,
  MPI_COMM_WORLD,
  MPI_COMM_NULL,
  MPI_COMM_TYPE_SHARED,
  MPI_INFO_NULL,
  MPI_THREAD_FUNNELED,
  MPI_ERRORS_RETURN,
  MPI_MAX_ERROR_STRING = 64
};
#define MPI_IN_PLACE ((void *)-1)
#define MPI_REQUEST_NULL ((MPI_Request)0)
#define MPI_STATUS_IGNORE ((void *)0)
#define MPI_FLOAT ((MPI_Datatype){4, 'f'})
#define MPI_DOUBLE ((MPI_Datatype){8, 'd'})
#define MPI_INT32_T ((MPI_Datatype){4, 'i'})
#define MPI_INT ((MPI_Datatype){4, 'i'})
#define MPI_INT64_T ((MPI_Datatype){8, 'l'})
#define MPI_BYTE ((MPI_Datatype){1, 0})

static inline void *fake_copy(const void *x, size_t n) { return memcpy(malloc(n + 1), x, n); }

static inline int fake_end(MPI_Request *q) {
  struct FakeWork *w = *q;
  *q = MPI_REQUEST_NULL;
  if (memcmp(w->out, w->was, w->bytes) != 0 || memcmp(w->in, w->in_was, w->in_bytes) != 0) {
    fprintf(stderr, "bytes under way were touched\n");
    abort();
  }
  memcpy(w->out, w->want, w->bytes);
  free(w->want), free(w->was), free(w->in_was), free(w);
  return MPI_SUCCESS;
}

static inline int fake_begin(void *out, size_t bytes, const void *in, size_t in_bytes, void *want,
                             MPI_Request *q) {
  struct FakeWork *w = malloc(sizeof *w);
  *w = (struct FakeWork){
      .tests = 2000, .out = out, .want = want, .in = in, .bytes = bytes, .in_bytes = in_bytes};
  memset(out, 0xFF, bytes); /* nobody may read it yet */
  w->was = fake_copy(out, bytes);
  w->in_was = fake_copy(in, in_bytes);
  *q = w;
  return getenv("GC_MPI_EARLY") ? fake_end(q) : MPI_SUCCESS;
}

/* Twice the numbers, or the largest of two that are equal. */
static inline void *fake_reduced(const void *in, size_t n, MPI_Datatype t, MPI_Op op) {
  void *y = fake_copy(in, n * (size_t)t.bytes);
  for (size_t i = 0; i < n && op == MPI_SUM; i++) {
    if (t.kind == 'f') ((float *)y)[i] *= 2;
    if (t.kind == 'd') ((double *)y)[i] *= 2;
    if (t.kind == 'i') ((int32_t *)y)[i] = (int32_t)(2 * (uint32_t)((int32_t *)y)[i]);
    if (t.kind == 'l') ((int64_t *)y)[i] = (int64_t)(2 * (uint64_t)((int64_t *)y)[i]);
  }
  return y;
}

static inline int MPI_Iallreduce(const void *in, void *out, int n, MPI_Datatype t, MPI_Op op,
                                 MPI_Comm c, MPI_Request *q) {
  size_t bytes = (size_t)n * (size_t)t.bytes;
  (void)c;
  if (in == MPI_IN_PLACE) in = out;
  return fake_begin(out, bytes, in, bytes, fake_reduced(in, (size_t)n, t, op), q);
}

/* This rank is the first of the two. */
static inline int MPI_Ireduce_scatter_block(const void *in, void *out, int n, MPI_Datatype t,
                                            MPI_Op op, MPI_Comm c, MPI_Request *q) {
  size_t bytes = (size_t)n * (size_t)t.bytes;
  (void)c;
  return fake_begin(out, bytes, in, 2 * bytes, fake_reduced(in, (size_t)n, t, op), q);
}

/* Runs of these numbers of elements, of which the first is this rank's. */
static inline int MPI_Ireduce_scatter(const void *in, void *out, const int *n, MPI_Datatype t,
                                      MPI_Op op, MPI_Comm c, MPI_Request *q) {
  size_t bytes = (size_t)n[0] * (size_t)t.bytes, all = bytes + (size_t)n[1] * (size_t)t.bytes;
  (void)c;
  return fake_begin(out, bytes, in, all, fake_reduced(in, (size_t)n[0], t, op), q);
}

static inline int MPI_Iallgatherv(const void *in, int n, MPI_Datatype t, void *out, const int *m,
                                  const int *at, MPI_Datatype to, MPI_Comm c, MPI_Request *q) {
  size_t size = (size_t)t.bytes, bytes = (size_t)(m[0] + m[1]) * size;
  uint8_t *y = malloc(bytes + 1);
  (void)c, (void)to;
  for (int r = 0; r < 2; r++) memcpy(y + (size_t)at[r] * size, in, (size_t)m[r] * size);
  return fake_begin(out, bytes, in, (size_t)n * size, y, q);
}

static inline int MPI_Iallgather(const void *in, int n, MPI_Datatype t, void *out, int m,
                                 MPI_Datatype to, MPI_Comm c, MPI_Request *q) {
  size_t block = (size_t)t.bytes, bytes = (size_t)n * block;
  if (in == MPI_IN_PLACE) in = out;
  uint8_t *y = malloc(2 * bytes + 1);
  (void)c, (void)m, (void)to;
  for (int i = 0; i < 2 * n; i++)
    memcpy(y + (size_t)i * block, (const uint8_t *)in + (size_t)(i / 2) * block, block);
  return fake_begin(out, 2 * bytes, in, bytes, y, q);
}

static inline int MPI_Ibcast(void *at, int n, MPI_Datatype t, int root, MPI_Comm c,
                             MPI_Request *q) {
  (void)at, (void)n, (void)t, (void)root, (void)c;
  *q = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

static inline int MPI_Test(MPI_Request *q, int *done, void *status) {
  (void)status;
  *done = !*q || --(*q)->tests < 0;
  return *q && *done ? fake_end(q) : MPI_SUCCESS;
}

static inline int MPI_Type_contiguous(int n, MPI_Datatype t, MPI_Datatype *y) {
  *y = (MPI_Datatype){n * t.bytes, 0};
  return MPI_SUCCESS;
}
static inline int MPI_Type_vector(int n, int block, int stride, MPI_Datatype t, MPI_Datatype *y) {
  (void)n, (void)block, (void)stride;
  *y = t;
  return MPI_SUCCESS;
}
static inline int MPI_Type_create_resized(MPI_Datatype t, MPI_Aint from, MPI_Aint bytes,
                                          MPI_Datatype *y) {
  (void)from, (void)bytes;
  *y = t;
  return MPI_SUCCESS;
}
static inline int MPI_Type_commit(MPI_Datatype *t) { return (void)t, MPI_SUCCESS; }
static inline int MPI_Type_free(MPI_Datatype *t) { return (void)t, MPI_SUCCESS; }
static inline int MPI_Init_thread(int *n, char ***v, int want, int *have) {
  (void)n, (void)v, *have = want;
  return MPI_SUCCESS;
}
static inline int MPI_Comm_set_errhandler(MPI_Comm c, int h) {
  return (void)c, (void)h, MPI_SUCCESS;
}
static inline int MPI_Comm_rank(MPI_Comm c, int *rank) { return (void)c, *rank = 0, MPI_SUCCESS; }
static inline int MPI_Comm_size(MPI_Comm c, int *n) { return (void)c, *n = 2, MPI_SUCCESS; }
static inline int MPI_Comm_split_type(MPI_Comm c, int type, int key, MPI_Info info, MPI_Comm *y) {
  (void)type, (void)key, (void)info, *y = c;
  return MPI_SUCCESS;
}
static inline int MPI_Comm_idup(MPI_Comm c, MPI_Comm *y, MPI_Request *q) {
  return *y = c, *q = MPI_REQUEST_NULL, MPI_SUCCESS;
}
static inline int MPI_Initialized(int *yes) { return *yes = 1, MPI_SUCCESS; }
static inline int MPI_Finalized(int *yes) { return *yes = 0, MPI_SUCCESS; }
static inline int MPI_Query_thread(int *level) { return *level = MPI_THREAD_FUNNELED, MPI_SUCCESS; }
static inline int MPI_Is_thread_main(int *yes) { return *yes = 1, MPI_SUCCESS; }
static inline int MPI_Comm_free(MPI_Comm *c) { return (void)c, MPI_SUCCESS; }
static inline int MPI_Finalize(void) { return MPI_SUCCESS; }
static inline int MPI_Abort(MPI_Comm c, int code) {
  (void)c;
  _Exit(code);
}
static inline int MPI_Error_string(int error, char *text, int *n) {
  *n = snprintf(text, MPI_MAX_ERROR_STRING, "%d", error);
  return MPI_SUCCESS;
}
#endif
