/* How far training is: one line rewritten on a terminal, a line an epoch elsewhere. Contract:
   prints averages over the epoch so far; the terminal's line ends with the loss of the run so far,
   drawn in blocks, where that fits. */
#include "runtime/program/command.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void progress_start(Command *cmd, Progress *g, const Position *p) {
  *g = (Progress){.terminal = isatty(STDERR_FILENO) != 0, .begin = p->done};
  g->start = g->last = g->since = clock_now();
  g->waited = ranks_waited(cmd);
  cmd->started = g->start;
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
  double weight = cmd->data.n ? dataset_weight(&cmd->data, p->batch - p->epoch_steps, p->batch)
                              : (double)p->epoch_steps;
  for (int i = 0; i < e->noutputs && at < size; i++)
    if (tensor_count(&e->outputs[i]) == 1)
      at += snprintf(out + at, (size_t)(size - at), "  %.40s %.5g", e->outputs[i].name,
                     aggregate_of(GC_MEAN, cmd->sums[i], weight));
  return at < size ? at : size - 1;
}

/* From the first one of the epoch on. */
static uint64_t steps_left(const Position *p, uint64_t total) {
  return total - (p->done - p->batch);
}

/* Those before this one may have had another number of steps. */
static uint64_t epochs(const Position *p, uint64_t total) {
  return p->epoch + (steps_left(p, total) + p->batches - 1) / p->batches;
}

/* " on 4 ranks  waiting 12 %": the share of time in which this rank stood still for messages. */
static void ranks_text(const Command *cmd, const Progress *g, double spent, char *out, int size) {
  const GcComm *c = cmd->comm;
  *out = 0;
  if (!c || !cmd->entry->ranks) return;
  int at = snprintf(out, (size_t)size, " on %d ranks", c->ranks);
  double waited = spent > 0 ? 100 * (ranks_waited(cmd) - g->waited) / spent : 0;
  if (waited > 100) waited = 100; /* it may be an estimate */
  if (!isnan(waited)) snprintf(out + at, (size_t)(size - at), "  waiting %.0f %%", waited);
}

static double speed_of(const Progress *g, double now) {
  return now > g->since ? g->rows / (now - g->since) : 0;
}

static void count_rows(const Command *cmd, Progress *g, const Position *p, double now) {
  if (!cmd->data.n) return;
  if (p->done == g->begin + 2) g->rows = 0, g->since = g->first;
  g->rows += (double)dataset_rows(&cmd->data, p->batch - 1, p->batch);
  if (p->done == g->begin + 1) g->first = now;
}

/* The columns that it took. */
static int line(Command *cmd, Progress *g, const Position *p, uint64_t total, FILE *f) {
  char avg[400] = "", left[32], speed[128] = "";
  averages(cmd, p, avg, sizeof avg);
  double spent = clock_now() - g->start, done = (double)(p->done - g->begin);
  time_text(left, done > 0 ? spent / done * (double)(total - p->done) : 0);
  char ranks[48];
  ranks_text(cmd, g, spent, ranks, sizeof ranks);
  if (spent > 0 && cmd->data.n)
    snprintf(speed, sizeof speed, "  %.0f rows/s%s", speed_of(g, g->start + spent), ranks);
  double waited = spent > 0 ? 100 * dataset_waited(&cmd->data) / spent : 0;
  if (waited >= 1 && cmd->data.n) {
    size_t at = strlen(speed);
    snprintf(speed + at, sizeof speed - at, "  reading %.0f %%", waited);
  }
  uint64_t rest = steps_left(p, total);
  return fprintf(f, "epoch %" PRIu64 "/%" PRIu64 "  step %" PRIu64 "/%" PRIu64 "%s%s  %s left",
                 p->epoch + 1, epochs(p, total), p->batch, rest < p->batches ? rest : p->batches,
                 avg, speed, left);
}

static int columns_of(int fd) {
  struct winsize w;
  return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : 80;
}

static void sparkline(const Command *cmd, int room, FILE *f) {
  enum { CELLS = 16 };
  static const char *const block[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                      "\u2585", "\u2586", "\u2587", "\u2588"};
  double v[CELLS], low = INFINITY, high = -INFINITY;
  int n = cmd->entry->loss >= 0 ? history_cells(cmd, cmd->entry->loss, v, CELLS) : 0;
  if (n < 2 || room < n + 3) return;
  for (int i = 0; i < n; i++)
    if (isfinite(v[i])) low = fmin(low, v[i] / 2), high = fmax(high, v[i] / 2);
  fputs("  ", f);
  for (int i = 0; i < n; i++) { /* halves: the range of doubles is none */
    double level = 7.99 * ((v[i] / 2 - low) / (high - low));
    fputs(block[isfinite(v[i]) && level > 0 ? (int)fmin(level, 7) : 0], f);
  }
}

void progress_step(Command *cmd, Progress *g, const Position *p, uint64_t total) {
  if (cmd->options.given[OPT_QUIET]) return;
  double now = clock_now();
  count_rows(cmd, g, p, now);
  if (now - g->last < (g->terminal ? 0.1 : 10.0)) return;
  g->last = now;
  if (g->terminal) {
    fputc('\r', stderr);
    int taken = line(cmd, g, p, total, stderr);
    sparkline(cmd, columns_of(STDERR_FILENO) - taken, stderr);
    fputs("\033[K", stderr);
    fflush(stderr);
  } else {
    line(cmd, g, p, total, stdout);
    fputc('\n', stdout);
    fflush(stdout);
  }
}

void progress_clear(const Command *cmd, const Progress *g) {
  if (!g->terminal || cmd->options.given[OPT_QUIET]) return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
}

/* Where the run waits for data for a tenth of its time, once; a moment is too short to judge. */
static void say_slow(Command *cmd, Progress *g) {
  double spent = clock_now() - g->start, waited = dataset_waited(&cmd->data);
  char remedy[512];
  if (g->slow || spent < 0.25 || waited * 10 < spent) return;
  g->slow = true;
  dataset_slow(&cmd->data, remedy, sizeof remedy);
  note(cmd, "the reader cannot keep up: %.0f %% of the time was spent waiting for rows; %s",
       100 * waited / spent, remedy);
}

void progress_epoch(Command *cmd, Progress *g, const Position *p, uint64_t total) {
  if (cmd->options.given[OPT_QUIET]) return;
  progress_clear(cmd, g);
  char avg[400] = "", spent[32], ranks[48];
  averages(cmd, p, avg, sizeof avg);
  double t = clock_now() - g->start;
  time_text(spent, t);
  printf("epoch %" PRIu64 "/%" PRIu64 "  step %" PRIu64 "%s", p->epoch + 1, epochs(p, total),
         p->done, avg);
  ranks_text(cmd, g, t, ranks, sizeof ranks);
  if (cmd->data.n && t > 0) printf("  %.0f rows/s%s", speed_of(g, g->start + t), ranks);
  printf("  %s\n", spent);
  fflush(stdout);
  say_slow(cmd, g);
  g->last = clock_now();
}
