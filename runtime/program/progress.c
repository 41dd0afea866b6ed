/* How far training is: one line rewritten on a terminal, a line an epoch elsewhere; and the --log
   table. Contract: prints averages over the epoch so far; the log holds no times, so that equal
   runs write equal logs; a log that is resumed loses the rows after the checkpoint, which will be
   written again. */
#include "runtime/program/command.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void progress_start(Command *cmd, Progress *g, const Position *p) {
  *g = (Progress){.terminal = isatty(STDERR_FILENO) != 0, .begin = p->done};
  g->start = g->last = clock_now();
}

static void time_text(char out[32], double s) {
  uint64_t n = s > 0 ? (uint64_t)s : 0;
  if (n >= 3600)
    snprintf(out, 32, "%" PRIu64 ":%02d:%02d", n / 3600, (int)(n / 60 % 60), (int)(n % 60));
  else
    snprintf(out, 32, "%d:%02d", (int)(n / 60), (int)(n % 60));
}

static int averages(Command *cmd, const Position *p, char *out, int size) {
  const GcEntry *e = cmd->entry;
  int at = 0;
  for (int i = 0; i < e->noutputs && at < size; i++)
    if (tensor_count(&e->outputs[i]) == 1)
      at += snprintf(out + at, (size_t)(size - at), "  %.40s %.5g", e->outputs[i].name,
                     cmd->sums[i] / (double)p->epoch_steps);
  return at < size ? at : size - 1;
}

static void line(Command *cmd, Progress *g, const Position *p, uint64_t total, FILE *f) {
  char avg[400] = "", left[32], speed[48] = "";
  averages(cmd, p, avg, sizeof avg);
  double spent = clock_now() - g->start, done = (double)(p->done - g->begin);
  time_text(left, done > 0 ? spent / done * (double)(total - p->done) : 0);
  if (spent > 0 && cmd->data.n)
    snprintf(speed, sizeof speed, "  %.0f rows/s", done * (double)cmd->data.batch / spent);
  uint64_t epochs = (total + p->batches - 1) / p->batches;
  uint64_t rest = total - (p->done - p->batch); /* steps from the epoch's first one on */
  fprintf(f, "epoch %" PRIu64 "/%" PRIu64 "  step %" PRIu64 "/%" PRIu64 "%s%s  %s left",
          p->epoch + 1, epochs, p->batch, rest < p->batches ? rest : p->batches, avg, speed, left);
}

void progress_step(Command *cmd, Progress *g, const Position *p, uint64_t total) {
  if (cmd->options.given[OPT_QUIET]) return;
  double now = clock_now();
  if (now - g->last < (g->terminal ? 0.1 : 10.0)) return;
  g->last = now;
  if (g->terminal) {
    fputc('\r', stderr);
    line(cmd, g, p, total, stderr);
    fputs("\033[K", stderr);
    fflush(stderr);
  } else {
    line(cmd, g, p, total, stdout);
    fputc('\n', stdout);
    fflush(stdout);
  }
}

void progress_clear(const Command *cmd, const Progress *g) {
  if (g->terminal && !cmd->options.given[OPT_QUIET]) fputs("\r\033[K", stderr);
}

void progress_epoch(Command *cmd, Progress *g, const Position *p, uint64_t total) {
  if (cmd->options.given[OPT_QUIET]) return;
  progress_clear(cmd, g);
  char avg[400] = "", spent[32];
  averages(cmd, p, avg, sizeof avg);
  double t = clock_now() - g->start;
  time_text(spent, t);
  uint64_t epochs = (total + p->batches - 1) / p->batches;
  printf("epoch %" PRIu64 "/%" PRIu64 "  step %" PRIu64 "%s", p->epoch + 1, epochs, p->done, avg);
  if (cmd->data.n && t > 0)
    printf("  %.0f rows/s", (double)(p->done - g->begin) * (double)cmd->data.batch / t);
  printf("  %s\n", spent);
  fflush(stdout);
  g->last = clock_now();
}

/* ---- --log ---- */
static const char columns[] = "epoch,step";

static bool is_log(const uint8_t *p, uint64_t n) {
  return n >= sizeof columns - 1 && memcmp(p, columns, sizeof columns - 1) == 0;
}

const OutKind out_log = {"a log of training", is_log};

static void log_header(Command *cmd) {
  const GcEntry *e = cmd->entry;
  fputs(columns, cmd->log);
  for (int i = 0; i < e->noutputs; i++)
    if (tensor_count(&e->outputs[i]) == 1) fprintf(cmd->log, ",%s", e->outputs[i].name);
  fputc('\n', cmd->log);
}

/* The step of a row "epoch,step,..."; UINT64_MAX: it is none. */
static uint64_t row_step(const char *row) {
  char *end;
  strtoull(row, &end, 10);
  if (end == row || *end != ',') return UINT64_MAX;
  const char *second = end + 1;
  uint64_t step = strtoull(second, &end, 10);
  return end == second || (*end != ',' && *end != '\n') ? UINT64_MAX : step;
}

/* Where the rows after step `done` begin; 0: the file is no log. */
static long log_keep(FILE *f, uint64_t done) {
  char row[4096];
  long at = 0;
  for (bool first = true; fgets(row, sizeof row, f); first = false) {
    if (!strchr(row, '\n')) break;
    if (first && strncmp(row, columns, sizeof columns - 1) != 0) return 0;
    if (!first && row_step(row) > done) break;
    at = ftell(f);
  }
  return at;
}

bool log_open(Command *cmd, const Position *p, Err *e) {
  const char *path = cmd->options.text[OPT_LOG];
  if (!path) return true;
  long keep = 0;
  cmd->log = cmd->options.given[OPT_RESUME] ? fopen(path, "r+") : NULL;
  if (cmd->log) {
    keep = log_keep(cmd->log, p->done);
    if (fseek(cmd->log, keep, SEEK_SET) != 0 || ftruncate(fileno(cmd->log), keep) != 0) keep = -1;
  } else {
    cmd->log = fopen(path, "w");
  }
  if (!cmd->log || keep < 0) {
    err_set(e, EXIT_ENV, "%s: the log cannot be written: %s", path, strerror(errno));
    return err_hint(e, "choose a directory that you may write to");
  }
  if (keep == 0) log_header(cmd);
  fflush(cmd->log);
  return true;
}

void log_step(Command *cmd, const Position *p) {
  if (!cmd->log) return;
  const GcEntry *e = cmd->entry;
  fprintf(cmd->log, "%" PRIu64 ",%" PRIu64, p->epoch + 1, p->done);
  for (int i = 0; i < e->noutputs; i++)
    if (tensor_count(&e->outputs[i]) == 1)
      fprintf(cmd->log, ",%.9g", output_scalar(cmd, &e->outputs[i]));
  fputc('\n', cmd->log);
}

bool log_close(Command *cmd, Err *e) {
  if (!cmd->log) return true;
  bool bad = ferror(cmd->log) != 0;
  bad = fclose(cmd->log) != 0 || bad;
  cmd->log = NULL;
  if (!bad) return true;
  err_set(e, EXIT_ENV, "%s: the log could not be written to its end", cmd->options.text[OPT_LOG]);
  return err_hint(e, "free some space");
}
