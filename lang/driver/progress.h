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
} Progress;

void progress_start(Progress *p, PassOptions *o);
void progress_end(Progress *p, PassOptions *o);
#endif
