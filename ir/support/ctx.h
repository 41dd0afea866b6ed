/* The context of a compilation, in place of global variables: interned strings, types and lists,
   source texts, diagnostics. Single-threaded.
   Ownership: all results of these functions live in the context's arena until ctx_free. */
#ifndef GC_IR_CTX_H
#define GC_IR_CTX_H
#include "ir/support/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct Ctx Ctx;

/* A source location. line and col count from 1; line 0: none. The caret range is [col, col + len)
   on that line. Columns are bytes. */
typedef struct Loc {
  uint32_t line, col;
  uint16_t file; /* index from ctx_add_source */
  uint16_t len;  /* at least 1, unless line is 0 */
} Loc;

Ctx *ctx_new(void);
void ctx_free(Ctx *c);
Arena *ctx_arena(Ctx *c);

/* What a reader of programs keeps here of what they all share, parsed into this context once; NULL
   before that. */
const void *ctx_library(const Ctx *c);
void ctx_keep_library(Ctx *c, const void *library);

/* ---- interning: equal content is the same pointer ---- */
const char *intern(Ctx *c, const char *s);
const char *intern_n(Ctx *c, const char *s, size_t n);
const char *intern_printf(Ctx *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

typedef struct Ints { /* an interned list of integers: axes, starts, permutations */
  int n;
  int64_t at[];
} Ints;
const Ints *intern_ints(Ctx *c, const int64_t *at, int n);

/* ---- sources ---- */
uint16_t ctx_add_source(Ctx *c, const char *name, const char *text, size_t len); /* copies both */
/* Adds the whole of a file; false with errno set. */
bool ctx_read_source(Ctx *c, const char *path, uint16_t *file);
const char *ctx_source_name(const Ctx *c, uint16_t file);
const char *ctx_source_text(const Ctx *c, uint16_t file, size_t *len);
/* The text of a location's line, and its bytes without the newline; NULL if there is none. */
const char *ctx_source_line(const Ctx *c, Loc loc, size_t *len);
int ctx_source_count(const Ctx *c);

/* ---- diagnostics ---- */
typedef enum Severity { SEV_ERROR, SEV_WARNING, SEV_NOTE, SEV_HINT, SEV_REMARK } Severity;

/* Prints "file:line:col: error: message", the line and a caret range, to the context's stream;
   without a location "gc: error: message".
   Notes and hints belong to the error or warning before them, and are dropped with it. A warning is
   given once. After 20 errors one line says so, and further errors are counted only. A message is
   one line, without a full stop. */
void diag(Ctx *c, Severity sev, Loc loc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int ctx_errors(const Ctx *c);
bool ctx_has_enough_errors(const Ctx *c); /* further ones are counted only */
/* Goes in front of the messages of errors and warnings: what is done at the time, of several alike;
   NULL: nothing does. */
void ctx_set_about(Ctx *c, const char *what);
void ctx_set_stream(Ctx *c, FILE *f); /* default stderr; NULL: silent, still counted */
FILE *ctx_stream(const Ctx *c);
void ctx_set_warnings(Ctx *c, bool shown); /* as at first, or not, with their notes */

/* What is done in an attempt is neither shown nor counted. */
typedef struct Attempt {
  FILE *stream;
  int errors;
  bool muted;
} Attempt;
Attempt ctx_attempt(Ctx *c);
void ctx_attempt_end(Ctx *c, const Attempt *before);

/* A reader of diagnostics in place of the stream: called in order for each one that would be
   printed, so not where the stream is NULL; the message lives for the call. */
typedef struct Diagnostic {
  Severity severity;
  Loc loc; /* line 0: none */
  const char *message;
} Diagnostic;
typedef void DiagnosticSink(void *data, Ctx *c, const Diagnostic *d);
void ctx_set_sink(Ctx *c, DiagnosticSink *sink, void *data); /* NULL: to the stream again */
const char *severity_name(Severity s);                       /* "error" */

/* The text "mnist.g:4:7", or "<none>"; interned. */
const char *loc_str(Ctx *c, Loc loc);

/* For "did you mean", of n names the shortest that begins with this one, or the nearest within a
   third of its length in edits; NULL if none. */
const char *nearest_name(Ctx *c, const char *name, const char *const *names, int n);

/* An internal error: prints it, calls the hook, which writes a reproducer, and exits with 70. */
_Noreturn void gc_bug(Ctx *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ctx_set_bug_hook(Ctx *c, void (*hook)(void *data), void *data);
#endif
