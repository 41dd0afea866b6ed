/* Diagnostics: one line of message, the source line and a caret range; or for a sink; see ctx.h.
   Contract: reports at once, so the order is the order of discovery; counts errors even when
   silent.
 */
#include "ir/support/ctx_impl.h"
#include "ir/support/memfile.h"

#include <stdarg.h>
#include <stdlib.h>
#include <strings.h>

enum { MAX_ERRORS = 20, MAX_LINE = 200 };

const char *severity_name(Severity s) {
  static const char *const names[] = {"error", "warning", "note", "hint", "remark"};
  return names[s];
}

/* In UTF-8 the bytes after a character's first one take no column of the screen. */
static bool starts_char(char ch) { return ((unsigned char)ch & 0xc0) != 0x80; }

/* Simple on purpose: tabs count as one column and print as one space, so the caret always fits. */
static void print_line(FILE *f, const char *p, size_t n, Loc loc) {
  if (loc.col > n + 1) return; /* the text is not what it was */
  size_t from = 0;             /* of a very long line only the part around the caret is shown */
  if (loc.col > MAX_LINE / 2 && n > MAX_LINE) from = loc.col - MAX_LINE / 2;
  size_t shown = n - from < MAX_LINE ? n - from : MAX_LINE;
  fputs("  ", f);
  for (size_t i = 0; i < shown; i++) {
    unsigned char ch = (unsigned char)p[from + i];
    fputc(ch == '\t' ? ' ' : ch < 32 || ch == 127 ? '?' : ch, f);
  }
  fputs("\n  ", f);
  for (size_t i = from; i + 1 < loc.col; i++)
    if (starts_char(p[i])) fputc(' ', f);
  fputc('^', f);
  for (size_t i = loc.col; i < n && i + 1 < (size_t)loc.col + loc.len && i < from + MAX_LINE; i++)
    if (starts_char(p[i])) fputc('~', f);
  fputc('\n', f);
}

static void print_diagnostic(FILE *f, Ctx *c, const Diagnostic *d) {
  if (d->loc.line)
    fprintf(f, "%s:%u:%u: ", ctx_source_name(c, d->loc.file), d->loc.line, d->loc.col);
  else if (d->severity == SEV_ERROR || d->severity == SEV_WARNING)
    fputs("gc: ", f);
  fprintf(f, "%s: %s\n", severity_name(d->severity), d->message);
  size_t len;
  const char *line = ctx_source_line(c, d->loc, &len);
  if (line && d->severity != SEV_REMARK) print_line(f, line, len, d->loc);
}

static void report(Ctx *c, const Diagnostic *d) {
  if (c->stream && c->sink)
    c->sink(c->sink_data, c, d);
  else if (c->stream)
    print_diagnostic(c->stream, c, d);
}

/* A program is read and compiled once for each of its targets, as sources of the same names. */
static bool is_repeated(Ctx *c, Loc loc, const char *message) {
  const char *key = intern_printf(c, "%s %s", loc_str(c, loc), message);
  uint32_t seen;
  if (map_get(&c->warnings, key, &seen)) return true;
  map_put(c->arena, &c->warnings, key, 1);
  return false;
}

void diag(Ctx *c, Severity sev, Loc loc, const char *fmt, ...) {
  if (sev == SEV_ERROR) {
    c->errors++;
    c->muted = c->errors > MAX_ERRORS;
    if (c->errors == MAX_ERRORS + 1)
      report(c, &(Diagnostic){.severity = SEV_ERROR,
                              .message = "too many errors, the rest is not shown"});
  }
  if (sev == SEV_WARNING || sev == SEV_REMARK) c->muted = sev == SEV_WARNING && c->unwarned;
  if (c->muted || !c->stream) return;
  va_list args;
  va_start(args, fmt);
  MemFile m;
  FILE *f = memfile_open(&m);
  if (c->about && (sev == SEV_ERROR || sev == SEV_WARNING)) fprintf(f, "%s: ", c->about);
  vfprintf(f, fmt, args);
  va_end(args);
  memfile_close(&m);
  c->muted = sev == SEV_WARNING && is_repeated(c, loc, m.text);
  if (!c->muted) report(c, &(Diagnostic){sev, loc, m.text});
  memfile_free(&m);
}

int ctx_errors(const Ctx *c) { return c->errors; }
bool ctx_has_enough_errors(const Ctx *c) { return c->errors > MAX_ERRORS; }
void ctx_set_stream(Ctx *c, FILE *f) { c->stream = f; }
FILE *ctx_stream(const Ctx *c) { return c->stream; }
void ctx_set_warnings(Ctx *c, bool shown) { c->unwarned = !shown; }

Attempt ctx_attempt(Ctx *c) {
  const Attempt before = {c->stream, c->errors, c->muted};
  c->stream = NULL;
  return before;
}

void ctx_attempt_end(Ctx *c, const Attempt *before) {
  c->stream = before->stream;
  c->errors = before->errors;
  c->muted = before->muted;
}

void ctx_set_about(Ctx *c, const char *what) { c->about = what; }

void ctx_set_sink(Ctx *c, DiagnosticSink *sink, void *data) {
  c->sink = sink;
  c->sink_data = data;
}

const char *loc_str(Ctx *c, Loc loc) {
  if (!loc.line) return "<none>";
  return intern_printf(c, "%s:%u:%u", ctx_source_name(c, loc.file), loc.line, loc.col);
}

/* Edits from a to b: a letter more, fewer or other, or two neighbours swapped (optimal string
   alignment), by three rows of the table. */
static int edits(const char *a, const char *b) {
  enum { LONGEST = 63 };
  size_t na = strlen(a), nb = strlen(b);
  if (na > LONGEST || nb > LONGEST) return LONGEST;
  int row[3][LONGEST + 1];
  for (size_t j = 0; j <= nb; j++) row[0][j] = (int)j;
  for (size_t i = 1; i <= na; i++) {
    int *prev = row[(i - 1) % 3], *cur = row[i % 3];
    cur[0] = (int)i;
    for (size_t j = 1; j <= nb; j++) {
      int best = prev[j - 1] + (a[i - 1] != b[j - 1]);
      if (prev[j] + 1 < best) best = prev[j] + 1;
      if (cur[j - 1] + 1 < best) best = cur[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && row[(i - 2) % 3][j - 2] + 1 < best) best = row[(i - 2) % 3][j - 2] + 1;
      cur[j] = best;
    }
  }
  return row[na % 3][nb];
}

const char *nearest_name(Ctx *c, const char *name, const char *const *names, int n) {
  (void)c;
  for (int i = 0; i < n; i++) /* SGD for sgd: nearer than any other letter */
    if (names[i] && strcasecmp(name, names[i]) == 0 && strcmp(name, names[i]) != 0) return names[i];
  enum { BEGINNING = 3 }; /* letters: fewer begin too many names */
  const char *best = NULL;
  const size_t length = strlen(name);
  for (int i = 0; i < n && length >= BEGINNING; i++) /* lin for linear */
    if (names[i] && strlen(names[i]) > length && strncmp(name, names[i], length) == 0)
      if (!best || strlen(names[i]) < strlen(best)) best = names[i];
  if (best) return best;
  int limit = (int)length / 3 + 1, best_edits = limit + 1;
  for (int i = 0; i < n; i++) {
    int d = names[i] ? edits(name, names[i]) : best_edits;
    if (d > 0 && d < best_edits && d < (int)length) {
      best = names[i];
      best_edits = d;
    }
  }
  return best;
}

void ctx_set_bug_hook(Ctx *c, void (*hook)(void *data), void *data) {
  c->bug_hook = hook;
  c->bug_data = data;
}

void gc_bug(Ctx *c, const char *fmt, ...) {
  fputs("gc: internal error: ", stderr);
  va_list args;
  va_start(args, fmt);
  vfprintf(stderr, fmt, args);
  va_end(args);
  fputc('\n', stderr);
  if (c && c->bug_hook) {
    void (*hook)(void *) = c->bug_hook;
    c->bug_hook = NULL; /* a failure inside the hook must not come back here */
    hook(c->bug_data);
  }
  exit(70);
}
