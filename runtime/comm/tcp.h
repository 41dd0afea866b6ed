/* Ranks of GPUs: processes that meet over TCP. What moves here is small: who is there, signals,
   NCCL's id, slices of checkpoints; a device's collectives are NCCL's. Contract: a star, whose
   middle is rank 0. All ranks call the same functions in the same order; a rank that ends without a
   farewell, or does not answer in time, ends all. */
#ifndef GCRT_TCP_H
#define GCRT_TCP_H
#include "runtime/base/rt.h"
#include <pthread.h>

/* ---- launcher.c: which rank this process is, and where rank 0 is, by the environment ---- */
enum { PLACE_NAME = 256 };
typedef struct Place {
  int rank, ranks;
  int local;                       /* among the ranks of this machine; -1: nothing says it */
  char host[PLACE_NAME], port[16]; /* where rank 0 listens … */
  char file[PLACE_NAME];           /* … or the file in which it says that; "": host and port */
} Place;
/* ranks is 1 where nothing says that there are others. */
bool place_find(Place *p, Err *e);

typedef struct Tcp {
  GcComm c; /* first: a GcComm * of tcp_comm is a Tcp * */
  Place place;
  int *peer;    /* rank 0: the socket of each other rank; others: that of rank 0; -1: none */
  int *machine; /* rank 0: by rank, the first rank of its machine */
  bool reports; /* it says that rank 0 is gone: one of each machine does */
  pthread_mutex_t lock;
  pthread_cond_t change;
  const GcWatched *watched; /* while the main thread waits for a device; NULL: it does not */
  double since;             /* of that */
  bool watching, ending;    /* the thread runs, and is asked to end */
  pthread_t thread;
} Tcp;

/* ---- meet.c ---- */
/* Opens t->peer and t->machine, and says what t->c has of numbers. False: *e says why; without a
   message another rank does. */
bool tcp_meet(Tcp *t, Err *e);

/* ---- wire.c ---- */
typedef enum FrameKind { FRAME_DATA = 1, FRAME_STOP, FRAME_END } FrameKind;
/* Ends this rank and all others with the code. What it says, it has said. */
_Noreturn void tcp_end(Tcp *t, int code);
/* Messages of n bytes; a failure ends all ranks. */
void tcp_send(Tcp *t, int rank, FrameKind kind, const void *bytes, size_t n);
void tcp_receive(Tcp *t, int rank, FrameKind kind, void *bytes, size_t n);
/* Ends all ranks if one of them is gone or has ended them. */
void tcp_look(Tcp *t);
_Noreturn void tcp_late(Tcp *t);
/* Moves n bytes within `seconds`, without looking at others. */
bool tcp_move(int socket, void *bytes, size_t n, bool out, double seconds);
#endif
