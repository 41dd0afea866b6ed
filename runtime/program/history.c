/* The scalars of a run in a bounded number of points. Contract: a full series halves its points,
   each of which then stands for the mean of twice as many values; the memory is the session's. A
   plot holds them as text, a line for each series, so that a run that is resumed goes on with it.
 */
#include "runtime/program/command.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_kept(const GcEntry *e, int i) {
  const GcTensor *t = &e->outputs[i];
  return e->training ? tensor_count(t) == 1 : validation_measures(t);
}

uint64_t history_bytes(const GcEntry *e) {
  uint64_t n = 0;
  for (int i = 0; i < e->noutputs; i++) n += is_kept(e, i);
  return n * (sizeof(Series) + 128) + (uint64_t)e->noutputs * sizeof(Series *) + 128;
}

static Series **take(Memory *m, const GcEntry *e) {
  Series **all = memory_take(m, (uint64_t)e->noutputs * sizeof(Series *));
  for (int i = 0; all && i < e->noutputs; i++) {
    Series *s = is_kept(e, i) ? memory_take(m, sizeof *s) : NULL;
    if (s) s->per = 1;
    all[i] = s;
  }
  return all;
}

bool history_take(Command *cmd, Err *e) {
  Memory *m = &cmd->session.memory;
  cmd->history = take(m, cmd->entry);
  if (cmd->validation.entry) cmd->validation.history = take(m, cmd->validation.entry);
  return memory_sound(m, e);
}

static void add(Series *s, uint64_t step, double value) {
  s->steps += (double)step, s->sum += value, s->count++;
  if (s->count < s->per) return;
  s->at[s->n++] = (Point){s->steps / (double)s->count, s->sum / (double)s->count};
  s->steps = s->sum = 0, s->count = 0;
  if (s->n < HISTORY_POINTS) return;
  s->n /= 2, s->per *= 2;
  for (uint64_t i = 0; i < s->n; i++) {
    const Point *a = &s->at[2 * i], *b = a + 1;
    s->at[i] = (Point){(a->step + b->step) / 2, (a->value + b->value) / 2};
  }
}

void history_step(Command *cmd, const Position *p) {
  for (int i = 0; i < cmd->entry->noutputs; i++)
    if (cmd->history[i]) add(cmd->history[i], p->done, cmd->now[i]);
}

void history_validation(Command *cmd, uint64_t done) {
  const GcEntry *v = cmd->validation.entry;
  for (int i = 0; i < v->noutputs; i++)
    if (cmd->validation.history[i]) add(cmd->validation.history[i], done, cmd->validation.means[i]);
}

int history_cells(const Command *cmd, int output, double *cells, int n) {
  const Series *s = cmd->history[output];
  uint64_t have = s->n < (uint64_t)n ? s->n : (uint64_t)n;
  for (uint64_t c = 0; c < have; c++) {
    uint64_t from = c * s->n / have, to = (c + 1) * s->n / have;
    cells[c] = 0;
    for (uint64_t i = from; i < to; i++) cells[c] += s->at[i].value / (double)(to - from);
  }
  return (int)have;
}

/* ---- as text ---- */
static const char series_begins[] = "series ";

static void put(FILE *f, const GcEntry *e, Series *const *all) {
  for (int i = 0; e && i < e->noutputs; i++) {
    const Series *s = all[i];
    if (!s) continue;
    fprintf(f, "%s%s.%s %" PRIu64, series_begins, e->name, e->outputs[i].name, s->per);
    for (uint64_t k = 0; k < s->n; k++) fprintf(f, " %.17g %.17g", s->at[k].step, s->at[k].value);
    fputc('\n', f);
  }
}

void history_put(const Command *cmd, FILE *f) {
  put(f, cmd->entry, cmd->history);
  put(f, cmd->validation.entry, cmd->validation.history);
}

static Series *find(const GcEntry *e, Series *const *all, const char *name, size_t n) {
  size_t m = e ? strlen(e->name) : 0;
  if (!e || n < m || memcmp(name, e->name, m) != 0 || name[m] != '.') return NULL;
  for (int i = 0; i < e->noutputs; i++)
    if (strlen(e->outputs[i].name) == n - m - 1 &&
        memcmp(e->outputs[i].name, name + m + 1, n - m - 1) == 0)
      return all[i];
  return NULL;
}

/* The points of one line whose values are all of steps up to `done`. */
static bool get_line(Series *s, const char *at, uint64_t done) {
  char *end;
  uint64_t per = strtoull(at, &end, 10);
  if (end == at || per == 0) return false;
  for (s->per = per, s->n = 0, at = end; *at == ' ' && s->n + 1 < HISTORY_POINTS; at = end) {
    Point p;
    p.step = strtod(at, &end);
    if (end == at || *end != ' ') return false;
    at = end, p.value = strtod(at, &end);
    if (end == at) return false;
    if (p.step + ((double)per - 1) / 2 > (double)done) break;
    s->at[s->n++] = p;
  }
  return true;
}

bool history_get(Command *cmd, const char *text, uint64_t done) {
  const size_t m = sizeof series_begins - 1;
  bool any = false;
  for (const char *line = text; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (strncmp(line, series_begins, m) != 0) continue;
    size_t n = strcspn(line + m, " \n");
    Series *s = find(cmd->entry, cmd->history, line + m, n);
    if (!s) s = find(cmd->validation.entry, cmd->validation.history, line + m, n);
    if (!s) continue;
    bool ok = line[m + n] == ' ' && get_line(s, line + m + n + 1, done);
    if (!ok) *s = (Series){.per = 1};
    any |= ok && s->n > 0;
  }
  return any;
}
