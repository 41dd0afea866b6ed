/* --log: a row per step, as CSV or as JSON lines: epoch, step, the scalar outputs, the hypers that
   the entry reads, the figures of the validating entry where it ran after that step, and the
   seconds since training began. Contract: but for the seconds, which come last, equal runs write
   equal logs; a log that is resumed loses the rows after the checkpoint, which will be written
   again; floats have as many digits as they need to be read back. */
#include "runtime/program/command.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char csv_begins[] = "epoch,step", json_begins[] = "{\"epoch\":";

static bool begins(const uint8_t *p, uint64_t n, const char *with) {
  size_t m = strlen(with);
  return n >= m && memcmp(p, with, m) == 0;
}

static bool is_log(const uint8_t *p, uint64_t n) {
  return begins(p, n, csv_begins) || begins(p, n, json_begins);
}

/* Behind the text `before`, a number with three digits behind its point, as seconds have. */
static bool ends_in_seconds(const char *row, size_t n, const char *before, const char *after) {
  size_t m = strlen(before), k = strlen(after), digits = 0;
  if (n < k || memcmp(row + n - k, after, k) != 0) return false;
  n -= k;
  while (digits < n && row[n - 1 - digits] >= '0' && row[n - 1 - digits] <= '9') digits++;
  if (digits != 3 || n < 5 || row[n - 4] != '.') return false;
  for (n -= 4; n && row[n - 1] >= '0' && row[n - 1] <= '9';) n--;
  return n >= m && memcmp(row + n - m, before, m) == 0;
}

/* Tables of others may begin with an epoch and a step: ours end with the seconds, in three digits.
   What a run that was killed has left may be less than a row. */
static const char *foreign(const File *f, const void *arg) {
  static const char other[] = "a table that --log did not write", seconds[] = ",seconds";
  char text[1 << 16];
  Err none = {0};
  uint64_t n = f->size < sizeof text ? f->size : sizeof text;
  if (!file_read(f, 0, text, n, &none)) return other;
  const char *end = memchr(text, '\n', n);
  if (!end) return f->size < sizeof text ? NULL : other;
  uint64_t first = (uint64_t)(end - text);
  if (*text == '{') return ends_in_seconds(text, first, ",\"seconds\":", "}") ? NULL : other;
  const uint64_t m = sizeof seconds - 1;
  if (first < m || memcmp(end - m, seconds, m) != 0) return other;
  const char *row = end + 1;
  end = memchr(row, '\n', n - first - 1);
  return !end || ends_in_seconds(row, (size_t)(end - row), ",", "") ? NULL : other;
}

static const OutKind log_kind = {"a log of training", is_log, foreign, NULL};

static bool is_json(const char *path) {
  static const char *const ends[] = {".jsonl", ".ndjson", ".json"};
  size_t n = strlen(path);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (n > strlen(ends[i]) && strcmp(path + n - strlen(ends[i]), ends[i]) == 0) return true;
  return false;
}

bool log_prepare(const Command *cmd, Err *e) {
  const char *path = cmd->options.text[OPT_LOG];
  return !path || out_may_replace(path, &log_kind, e);
}

/* ---- columns ---- */
typedef enum CellKind { OUTPUT, HYPER, VALIDATED, CELL_KINDS } CellKind;
typedef struct Cell { /* before the first: all 0 and i = -1 */
  CellKind kind;
  int i;
} Cell;

bool entry_reads_hyper(const GcEntry *e, int i) {
  uint64_t at = 4 * (uint64_t)i;
  for (int s = 0; s < e->nsteps; s++)
    for (int a = 0; a < e->steps[s].nargs; a++) {
      const GcArg *x = &e->steps[s].args[a];
      if (x->region == GC_HYPERS && x->offset <= at && at < x->offset + x->bytes) return true;
    }
  return false;
}

static bool has_cell(const Command *cmd, const Cell *c) {
  const GcEntry *e = cmd->entry, *v = cmd->validation.entry;
  switch (c->kind) {
  case OUTPUT: return tensor_count(&e->outputs[c->i]) == 1;
  case HYPER: return entry_reads_hyper(e, c->i);
  case VALIDATED: return validation_measures(&v->outputs[c->i]);
  case CELL_KINDS: break;
  }
  return false;
}

static bool next(const Command *cmd, Cell *c) {
  const GcEntry *e = cmd->entry, *v = cmd->validation.entry;
  const int count[] = {e->noutputs, gc_program.nhypers, v ? v->noutputs : 0};
  for (; c->kind < CELL_KINDS; c->kind++, c->i = -1)
    while (++c->i < count[c->kind])
      if (has_cell(cmd, c)) return true;
  return false;
}

/* Whether a column of every row, or of a hyper, has this name. */
static bool is_taken(const GcEntry *e, const char *name) {
  static const char *const own[] = {"epoch", "step", "seconds"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    if (strcmp(name, own[i]) == 0) return true;
  for (int i = 0; i < gc_program.nhypers; i++)
    if (strcmp(name, gc_program.hypers[i].name) == 0 && entry_reads_hyper(e, i)) return true;
  return false;
}

static void name_of(const Command *cmd, const Cell *c, char out[300]) {
  const GcEntry *e = cmd->entry;
  const char *entry = c->kind == VALIDATED ? cmd->validation.entry->name
                      : c->kind == OUTPUT && is_taken(e, e->outputs[c->i].name) ? e->name
                                                                                : "";
  const char *name = c->kind == OUTPUT  ? cmd->entry->outputs[c->i].name
                     : c->kind == HYPER ? gc_program.hypers[c->i].name
                                        : cmd->validation.entry->outputs[c->i].name;
  snprintf(out, 300, "%.120s%s%.120s", entry, *entry ? "." : "", name);
}

/* "" where a validation did not run. */
static void value_of(const Command *cmd, const Cell *c, const Position *p, char out[40]) {
  const GcTensor *t = c->kind == OUTPUT ? &cmd->entry->outputs[c->i] : NULL;
  *out = 0;
  if (c->kind == OUTPUT && t->dtype == GC_F64)
    real_text(out, cmd->now[c->i]);
  else if (c->kind == OUTPUT && elem_info[t->dtype].cls != ELEM_FLOATS)
    snprintf(out, 40, "%.0f", cmd->now[c->i]);
  else if (c->kind == OUTPUT)
    float_text(out, (float)cmd->now[c->i]);
  if (c->kind == HYPER && gc_program.hypers[c->i].dtype != GC_F32) /* a bool as outputs have it */
    snprintf(out, 40, "%.0f", session_hyper(&cmd->session, c->i));
  else if (c->kind == HYPER)
    float_text(out, (float)session_hyper(&cmd->session, c->i));
  if (c->kind == VALIDATED && cmd->validation.at == p->done)
    real_text(out, cmd->validation.means[c->i]);
}

static void header(const Command *cmd, FILE *f) {
  char name[300];
  fputs(csv_begins, f);
  for (Cell c = {0, -1}; next(cmd, &c);) {
    name_of(cmd, &c, name);
    fprintf(f, ",%s", name);
  }
  fputs(",seconds\n", f);
}

/* ---- the file ---- */

/* The step of a row; UINT64_MAX: it is none. */
static uint64_t row_step(const char *row) {
  static const char second[] = ",\"step\":";
  char *end;
  bool json = strncmp(row, json_begins, sizeof json_begins - 1) == 0;
  if (json) row += sizeof json_begins - 1;
  strtoull(row, &end, 10);
  if (end == row || *end != ',' || (json && strncmp(end, second, sizeof second - 1) != 0))
    return UINT64_MAX;
  const char *at = json ? end + sizeof second - 1 : end + 1;
  uint64_t step = strtoull(at, &end, 10);
  return end == at || (*end != ',' && *end != '\n') ? UINT64_MAX : step;
}

/* What a row ends with; 0 if that is no number. */
static double row_seconds(const char *row, bool json) {
  const char *at = strrchr(row, json ? ':' : ',');
  return at ? strtod(at + 1, NULL) : 0;
}

/* Where the rows after step `done` begin; -1 after an error. Seconds go on from the last one before
   it. */
static long keep_rows(Command *cmd, FILE *f, uint64_t done, bool json, Err *e) {
  char *row = NULL, *wanted = NULL;
  size_t room = 0, size = 0;
  long at = 0;
  FILE *w = open_memstream(&wanted, &size);
  if (w) header(cmd, w);
  if (!w || fclose(w) != 0) {
    free(wanted);
    err_set(e, EXIT_ENV, "no memory for the header of a log");
    return -1;
  }
  for (bool first = true; getline(&row, &room, f) > 0; first = false) {
    if (!strchr(row, '\n')) break;
    if (first && json != (row_step(row) != UINT64_MAX && *row == '{')) {
      err_set(e, EXIT_USAGE, "%s: is a log in another format", cmd->options.text[OPT_LOG]);
      err_hint(e, "a log of JSON lines has a name that ends in .jsonl, .ndjson or .json");
      at = -1;
      break;
    }
    if (first && !json && strcmp(row, wanted) != 0) {
      err_set(e, EXIT_USAGE, "%s: is a log with other columns", cmd->options.text[OPT_LOG]);
      err_hint(e, "give the options of the run that wrote it, or name another file");
      at = -1;
      break;
    }
    if ((!first || json) && row_step(row) > done) break;
    at = ftell(f);
    cmd->logged = row_seconds(row, json);
  }
  free(row);
  free(wanted);
  return at;
}

bool log_open(Command *cmd, const Position *p, Err *e) {
  const char *path = cmd->options.text[OPT_LOG];
  if (!path) return true;
  bool json = is_json(path);
  long keep = 0;
  cmd->log = cmd->options.given[OPT_RESUME] ? fopen(path, "r+") : NULL;
  if (cmd->log) {
    keep = keep_rows(cmd, cmd->log, p->done, json, e);
    if (e->code) return false;
    if (fseek(cmd->log, keep, SEEK_SET) != 0 || ftruncate(fileno(cmd->log), keep) != 0) keep = -1;
  } else {
    cmd->log = fopen(path, "w");
  }
  if (!cmd->log || keep < 0) {
    err_set(e, EXIT_ENV, "%s: the log cannot be written: %s", path, strerror(errno));
    return err_hint(e, "choose a directory that you may write to");
  }
  if (keep == 0 && !json) header(cmd, cmd->log);
  fflush(cmd->log);
  return true;
}

void log_step(Command *cmd, const Position *p) {
  FILE *f = cmd->log;
  if (!f) return;
  bool json = is_json(cmd->options.text[OPT_LOG]);
  char name[300], value[40];
  fprintf(f, json ? "{\"epoch\":%" PRIu64 ",\"step\":%" PRIu64 : "%" PRIu64 ",%" PRIu64,
          p->epoch + 1, p->done);
  for (Cell c = {0, -1}; next(cmd, &c);) {
    name_of(cmd, &c, name);
    value_of(cmd, &c, p, value);
    if (!json)
      fprintf(f, ",%s", value);
    else if (*value) /* JSON has no NaN */
      fprintf(f, ",\"%s\":%s", name, isfinite(strtod(value, NULL)) ? value : "null");
  }
  fprintf(f, json ? ",\"seconds\":%.3f}\n" : ",%.3f\n", cmd->logged + clock_now() - cmd->started);
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
