/* A line on the terminal while passes run; see progress.c. */
#ifndef GC_LANG_PROGRESS_H
#define GC_LANG_PROGRESS_H
#include "passes/passes.h"

#include <pthread.h>

typedef struct Progress {
  pthread_t thread;
  bool runs, ends;
  pthread_mutex_t lock; /* of `ends` */
  pthread_cond_t ended;
  _Atomic(const char *) stage; /* the pass that runs; NULL: none has begun */
  FILE *lines;                 /* of what is printed meanwhile; NULL: nothing else would be there */
  FILE *of_messages, *of_passes; /* the streams in whose place it is */
} Progress;

void progress_start(Progress *p, Ctx *c, PassOptions *o);
void progress_end(Progress *p, Ctx *c, PassOptions *o);
#endif
