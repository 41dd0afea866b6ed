/* A line on the terminal about the pass that runs, once passes take seconds: a search for less
   memory may take minutes. Contract: nothing is printed elsewhere, nor in the first seconds; what
   passes print meanwhile goes through a stream that clears the rest of the line, and the line is
   gone at the end. A thread looks at the clock, so that no pass has to. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fopencookie */
#endif
#include "lang/driver/progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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

/* Each line ends where the line about the pass may go on, in one call: the thread that looks at the
   clock writes between calls. */
static ssize_t write_lines(void *of, const char *bytes, size_t n) {
  (void)of;
  for (size_t at = 0; at < n;) {
    const char *end = memchr(bytes + at, '\n', n - at);
    const size_t length = end ? (size_t)(end - bytes) - at : n - at;
    fprintf(stderr, "%.*s%s", (int)length, bytes + at, end ? "\033[K\n" : "");
    at += length + (end != NULL);
  }
  return (ssize_t)n;
}

void progress_start(Progress *p, Ctx *c, PassOptions *o) {
  *p = (Progress){.lock = PTHREAD_MUTEX_INITIALIZER,
                  .ended = PTHREAD_COND_INITIALIZER,
                  .of_messages = ctx_stream(c),
                  .of_passes = o->out};
  if (!isatty(STDERR_FILENO)) return;
  p->runs = pthread_create(&p->thread, NULL, watch, p) == 0;
  if (!p->runs) return;
  o->stage = &p->stage;
  p->lines = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_lines});
  if (!p->lines) return;
  setvbuf(p->lines, NULL, _IOLBF, BUFSIZ);
  if (p->of_messages == stderr) ctx_set_stream(c, p->lines);
  if (p->of_passes == stderr) o->out = p->lines;
}

void progress_end(Progress *p, Ctx *c, PassOptions *o) {
  o->stage = NULL;
  if (!p->runs) return;
  if (p->lines) {
    ctx_set_stream(c, p->of_messages);
    o->out = p->of_passes;
    fclose(p->lines);
  }
  pthread_mutex_lock(&p->lock);
  p->ends = true;
  pthread_cond_signal(&p->ended);
  pthread_mutex_unlock(&p->lock);
  pthread_join(p->thread, NULL);
}
