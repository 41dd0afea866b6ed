/* The line about the pass that runs, on a terminal: a message that a pass prints meanwhile, and is
   shorter than the line, leaves nothing of it behind. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "lang/driver/progress.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct Terminal {
  int end, kept; /* the other end, and the standard error as it was */
  char said[4096];
  size_t n;
} Terminal;

static void terminal_open(Terminal *t) {
  *t = (Terminal){.end = posix_openpt(O_RDWR | O_NOCTTY)};
  assert_true(t->end >= 0 && grantpt(t->end) == 0 && unlockpt(t->end) == 0);
  int here = open(ptsname(t->end), O_RDWR | O_NOCTTY);
  assert_true(here >= 0);
  fflush(stderr);
  t->kept = dup(STDERR_FILENO);
  dup2(here, STDERR_FILENO);
  close(here);
}

/* Until the text has been said; false: not within the time. */
static bool terminal_says(Terminal *t, const char *text, int seconds) {
  const time_t end = time(NULL) + seconds;
  while (!strstr(t->said, text) && time(NULL) < end && t->n + 1 < sizeof t->said) {
    struct pollfd p = {.fd = t->end, .events = POLLIN};
    if (poll(&p, 1, 100) != 1) continue;
    ssize_t n = read(t->end, t->said + t->n, sizeof t->said - 1 - t->n);
    if (n <= 0) break;
    t->n += (size_t)n;
    t->said[t->n] = 0;
  }
  return strstr(t->said, text) != NULL;
}

static void terminal_close(Terminal *t) {
  fflush(stderr);
  dup2(t->kept, STDERR_FILENO);
  close(t->kept);
  close(t->end);
}

static void a_short_message_clears_the_line(void **state) {
  Ctx *c = ctx_new();
  Terminal t;
  Progress p;
  PassOptions o = {.out = stderr};
  terminal_open(&t);
  progress_start(&p, c, &o);
  atomic_store(o.stage, "a-pass-of-a-long-name");
  bool shown = terminal_says(&t, " s since the first\033[K\r", 60);
  diag(c, SEV_NOTE, (Loc){0}, "short");
  fprintf(o.out, "a remark\nand one\n");
  bool cleared = terminal_says(&t, "short\033[K\r\n", 60) && /* \r is the terminal's */
                 terminal_says(&t, "a remark\033[K\r\nand one\033[K\r\n", 60);
  progress_end(&p, c, &o);
  terminal_close(&t);
  assert_true(shown);
  assert_true(cleared);
  assert_ptr_equal(ctx_stream(c), stderr);
  assert_ptr_equal(o.out, stderr);
  assert_null(o.stage);
  ctx_free(c);
}

static void what_is_no_terminal_gets_nothing(void **state) {
  Ctx *c = ctx_new();
  Progress p;
  PassOptions o = {.out = stderr};
  int kept = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
  fflush(stderr);
  dup2(null, STDERR_FILENO);
  progress_start(&p, c, &o);
  bool silent = !p.runs && !o.stage && ctx_stream(c) == stderr;
  progress_end(&p, c, &o);
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(null);
  assert_true(silent);
  ctx_free(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_short_message_clears_the_line),
      cmocka_unit_test(what_is_no_terminal_gets_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
