/* The streams of an entry as a problem of scheduling, for streams*.c alone. */
#ifndef GC_PASSES_STREAMS_IMPL_H
#define GC_PASSES_STREAMS_IMPL_H
#include "passes/plan/plan_impl.h"

typedef struct Task { /* an op of the entry's body, with all that is in it if it is a loop */
  int first, last;    /* steps */
  double work;        /* 0: it moves nothing */
  int stream;
  bool communicates;      /* it is a collective */
  uint64_t private_bytes; /* bytes that it alone needs, while it runs */
  IntList after;          /* tasks that wait for it */
  int nbefore;            /* how many it waits for */
  IntList uses;           /* the storages that it shares with others */
} Task;

typedef struct LiveBuffer { /* a storage that several tasks use, or that is returned */
  uint64_t bytes;
  IntList users; /* in the given order */
  bool kept;     /* to the end */
} LiveBuffer;

typedef struct Tasks { /* in the given order, which the program allows */
  Arena *a;
  Task *at;
  int n;
  int streams;
  bool talks; /* the last stream is that of collectives */
  LiveBuffer *held;
  int nheld;
} Tasks;

/* What could be at hand at once, were there as many processors as streams. */
typedef struct StreamSchedule {
  int *order;          /* tasks as they begin */
  double *begin, *end; /* by task */
} StreamSchedule;

/* The most bytes that the given order needs, one task after the other. */
uint64_t streams_peak(const Tasks *w);
/* Which of a stream's ready tasks begins. */
typedef enum StreamRule {
  LONGEST_PATH, /* the one with the most work behind it: streams end early that wait for each other
                 */
  GIVEN_ORDER   /* the first: what a collective sums is complete as early as the program has it */
} StreamRule;
/* Never holds more than `max` bytes, which is at least the peak of the given order. */
StreamSchedule streams_schedule(const Tasks *w, StreamRule rule, uint64_t max);
#endif
