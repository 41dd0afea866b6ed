/* A line on the terminal about the pass that runs, once passes take seconds: a search for less
   memory may take minutes. Contract: nothing is printed elsewhere, nor in the first seconds; what
   else is printed overwrites the line, and it is gone at the end. A thread looks at the clock, so
   that no pass has to. */
#include "lang/driver/progress.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { SILENT = 2 }; /* seconds */

static void *watch(void *of) {
  Progress *p = of;
  struct timespec next;
  bool shown = false;
  clock_gettime(CLOCK_REALTIME, &next);
  pthread_mutex_lock(&p->lock);
  for (int seconds = 1; !p->ends; seconds++) {
    next.tv_sec++;
    while (!p->ends && pthread_cond_timedwait(&p->ended, &p->lock, &next) != ETIMEDOUT) continue;
    const char *stage = p->stage;
    if (p->ends || seconds <= SILENT || !stage) continue;
    fprintf(stderr, "gc: the pass %s, %d s since the first\033[K\r", stage, seconds);
    shown = true;
  }
  pthread_mutex_unlock(&p->lock);
  if (shown) fputs("\033[K", stderr);
  return NULL;
}

void progress_start(Progress *p, PassOptions *o) {
  *p = (Progress){.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
  if (!isatty(STDERR_FILENO)) return;
  p->runs = pthread_create(&p->thread, NULL, watch, p) == 0;
  if (p->runs) o->stage = &p->stage;
}

void progress_end(Progress *p, PassOptions *o) {
  o->stage = NULL;
  if (!p->runs) return;
  pthread_mutex_lock(&p->lock);
  p->ends = true;
  pthread_cond_signal(&p->ended);
  pthread_mutex_unlock(&p->lock);
  pthread_join(p->thread, NULL);
}
