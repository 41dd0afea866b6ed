/* Reads files and texts and runs the parser on them; follows "use". See ast.h for the contract.
   A file is known by its resolved path and read once; a used path is relative to the using file. */
#include "lang/syntax/parse.tab.h"
#include "lang/syntax/parse_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

enum { MAX_USE_DEPTH = 100 };

/* flex's interface */
int gc_scan_lex_init_extra(Parser *extra, void **out);
void *gc_scan__scan_buffer(char *text, size_t size, void *scanner);
int gc_scan_lex_destroy(void *scanner);

static void report(Parser *ps, Severity sev, Loc loc, const char *fmt, va_list args) {
  if (ps->stopped) return;
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, fmt, args);
  char *text = arena_alloc(ps->arena, (size_t)n + 1);
  vsnprintf(text, (size_t)n + 1, fmt, again);
  va_end(again);
  diag(ps->c, sev, loc, "%s", text);
}

void parse_error(Parser *ps, Loc loc, const char *fmt, ...) {
  ps->reader->failed = true;
  va_list args;
  va_start(args, fmt);
  report(ps, SEV_ERROR, loc, fmt, args);
  va_end(args);
  ps->stopped |= ctx_has_enough_errors(ps->c);
}

void parse_note(Parser *ps, Severity sev, Loc loc, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  report(ps, sev, loc, fmt, args);
  va_end(args);
}

bool scan_open(Parser *ps, Scan *s) {
  size_t len;
  const char *text = ctx_source_text(ps->c, ps->file, &len);
  *s = (Scan){0};
  if (len > INT32_MAX - 2) {
    parse_error(ps, (Loc){0}, "%s is larger than 2 GB", ctx_source_name(ps->c, ps->file));
    return false;
  }
  s->copy = malloc(len + 2); /* flex writes into what it scans and wants two NULs after it */
  if (!s->copy || gc_scan_lex_init_extra(ps, &s->scanner) != 0) out_of_memory();
  memcpy(s->copy, text, len);
  s->copy[len] = s->copy[len + 1] = 0;
  gc_scan__scan_buffer(s->copy, len + 2, s->scanner);
  return true;
}

void scan_close(Scan *s) {
  gc_scan_lex_destroy(s->scanner);
  free(s->copy);
}

/* Parses one source into the reader's program; the value of parse_value. */
static Expr *parse_source(ProgramReader *r, uint16_t file, int start) {
  Parser ps = {.c = r->c, .arena = ctx_arena(r->c), .reader = r, .file = file, .line = 1, .col = 1};
  Scan scan;
  if (!scan_open(&ps, &scan)) return NULL;
  ps.lex = lex_new(&ps, scan.scanner, start);
  if (gc_parse_parse(&ps) != 0) r->failed = true;
  scan_close(&scan);
  return ps.value;
}

/* ---- files ---- */

static void report_unreadable(ProgramReader *r, Loc use, const char *path) {
  r->failed = true;
  r->unreadable = !use.line;
  diag(r->c, SEV_ERROR, use, "cannot read %s: %s", path, strerror(errno));
}

/* Reads a file that was not yet read; use: the place that asks for it, line 0 for the main file. */
static void read_file(ProgramReader *r, const char *path, Loc use) {
  char *resolved = realpath(path, NULL);
  const char *identity = intern(r->c, resolved ? resolved : path);
  free(resolved);
  for (uint32_t i = 0; i < r->seen.n; i++)
    if (r->seen.at[i] == identity) return;
  uint16_t file;
  if (!ctx_read_source(r->c, path, &file)) {
    report_unreadable(r, use, path);
    return;
  }
  vec_push(ctx_arena(r->c), &r->seen, identity);
  if (!use.line) r->prog->file = file;
  parse_source(r, file, FILE_START);
}

/* Relative to the using file; NULL after an error. */
static const char *used_path(Parser *ps, Text path, Loc loc) {
  if (ps->stopped || !path.bytes) return NULL;
  if (!path.n) {
    parse_error(ps, loc, "the name of a file is missing");
    return NULL;
  }
  const char *user = ctx_source_name(ps->c, ps->file), *slash = strrchr(user, '/');
  int dir = path.bytes[0] != '/' && slash ? (int)(slash - user) + 1 : 0;
  return intern_printf(ps->c, "%.*s%.*s", dir, user, (int)path.n, path.bytes);
}

static bool is_model(const char *path) {
  size_t n = strlen(path);
  return n > 5 && strcmp(path + n - 5, ".onnx") == 0;
}

void parse_use(Parser *ps, Text path, Loc loc) {
  ProgramReader *r = ps->reader;
  const char *whole = used_path(ps, path, loc);
  if (!whole) return;
  if (is_model(whole)) {
    parse_error(ps, loc, "a model is used as a def, which needs a name");
    parse_note(ps, SEV_HINT, (Loc){0}, "use \"%.*s\" as net", (int)path.n, path.bytes);
    return;
  }
  if (r->use_depth == MAX_USE_DEPTH) {
    parse_error(ps, loc, "files use each other more than %d deep", MAX_USE_DEPTH);
    return;
  }
  r->use_depth++;
  read_file(r, whole, loc);
  r->use_depth--;
}

/* ---- models ---- */

void parse_use_model(Parser *ps, Text path, Ident name, ModelDims dims, Loc loc) {
  ProgramReader *r = ps->reader;
  const char *whole = used_path(ps, path, loc);
  if (!whole || !name.name) return;
  if (!is_model(whole)) {
    parse_error(ps, loc, "only a model, NAME.onnx, is used as a def");
    parse_note(ps, SEV_HINT, (Loc){0}, "use \"%.*s\"", (int)path.n, path.bytes);
    return;
  }
  for (int i = 0; i < dims.n; i++)
    if (dims.at[i].n < 1) return; /* said */
  if (!r->models) {
    parse_error(ps, loc, "models are not read here");
    return;
  }
  ModelUse use = {whole, name.name, dims, loc};
  const char *text = r->models->read(r->models->data, ps->c, &use);
  if (!text) {
    r->failed = true;
    return;
  }
  parse_source(r, ctx_add_source(ps->c, whole, text, strlen(text)), FILE_START);
}

void model_dims_add(Parser *ps, ModelDims *list, ModelDim dim) { vec_push(ps->arena, list, dim); }

ModelDim model_dim(Parser *ps, Ident name, bool bounded, int64_t times, Expr *value) {
  ModelDim d = {.name = name, .bounded = bounded, .times = times};
  const Program *prog = ps->reader->prog;
  for (uint32_t i = prog->decls.n; value->kind == EX_NAME && i-- > 0;)
    if (prog->decls.at[i]->kind == DECL_LET && prog->decls.at[i]->name.name == value->name) {
      d.let = value->name;
      value = prog->decls.at[i]->value;
    }
  if (value->kind == EX_INT && value->integer >= 1)
    d.n = value->integer;
  else
    parse_error(ps, name.loc, "the dimension %s takes a number from 1 on, or a let of one",
                name.name ? name.name : "");
  return d;
}

static ProgramReader reader_new(Ctx *c) {
  return (ProgramReader){.c = c, .prog = ARENA_NEW(ctx_arena(c), Program)};
}

Program *parse_file(Ctx *c, const char *path, const ModelReader *models, bool *unreadable) {
  ProgramReader r = reader_new(c);
  r.models = models;
  read_file(&r, path, (Loc){0});
  if (unreadable) *unreadable = r.unreadable;
  return r.failed ? NULL : r.prog;
}

Program *parse_text(Ctx *c, const char *name, const char *text, size_t len) {
  return parse_document(c, name, text, len, NULL);
}

Program *parse_document(Ctx *c, const char *name, const char *text, size_t len,
                        const ModelReader *models) {
  ProgramReader r = reader_new(c);
  r.models = models;
  r.prog->file = ctx_add_source(c, name, text, len);
  parse_source(&r, r.prog->file, FILE_START);
  return r.failed ? NULL : r.prog;
}

Expr *parse_value(Ctx *c, const char *name, const char *text) {
  ProgramReader r = reader_new(c);
  Expr *e = parse_source(&r, ctx_add_source(c, name, text, strlen(text)), VALUE_START);
  return r.failed ? NULL : e;
}
