/* Open documents, and what the compiler says of each: diagnostics, the values of expressions, the
   memory plan. A text is analysed in a context of its own, as the compiler would read the file;
   files that it uses are read from disk. */
#include "lang/editor/lsp.h"
#include "passes/plan.h"

#include <stdlib.h>

static char *copy_of(const char *s) {
  char *copy = strdup(s);
  if (!copy) out_of_memory();
  return copy;
}

/* ---- URIs ---- */

static int hex_digit(char c) {
  static const char digits[] = "0123456789abcdef";
  const char *at = c ? strchr(digits, c | 0x20) : NULL;
  return at ? (int)(at - digits) : -1;
}

/* file:///a%20b is /a b; what is no file keeps its URI as its name. */
static char *path_of_uri(const char *uri) {
  if (strncmp(uri, "file://", 7) != 0) return copy_of(uri);
  const char *from = uri + 7;
  char *path = copy_of(from), *to = path;
  while (*from) {
    int high = from[0] == '%' ? hex_digit(from[1]) : -1, low = high < 0 ? -1 : hex_digit(from[2]);
    *to++ = low < 0 ? *from : (char)(high * 16 + low);
    from += low < 0 ? 1 : 3;
  }
  *to = 0;
  return path;
}

char *uri_of_path(const char *path) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  char *uri = malloc(3 * strlen(path) + 8), *to = uri;
  if (!uri) out_of_memory();
  to += sprintf(to, "file://");
  for (; *path; path++)
    to += sprintf(to, strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
  return uri;
}

/* ---- places ---- */

/* The UTF-16 units of the first `bytes` bytes of a line. */
static int units_in(const char *line, size_t bytes) {
  int n = 0;
  for (size_t i = 0; i < bytes; i++) {
    unsigned char b = (unsigned char)line[i];
    n += (b & 0xc0) != 0x80;
    n += b >= 0xf0;
  }
  return n;
}

static json_t *position(Ctx *c, Loc loc, size_t col) {
  size_t len;
  const char *line = ctx_source_line(c, loc, &len);
  size_t bytes = col - 1 < len ? col - 1 : len;
  int unit = line ? units_in(line, bytes) : 0;
  return json_pack("{s:i, s:i}", "line", loc.line ? (int)loc.line - 1 : 0, "character", unit);
}

json_t *range_of_loc(Ctx *c, Loc loc) {
  return json_pack("{s:o, s:o}", "start", position(c, loc, loc.line ? loc.col : 1), "end",
                   position(c, loc, loc.line ? (size_t)loc.col + loc.len : 1));
}

Loc loc_of_position(Ctx *c, uint16_t file, const json_t *p) {
  Loc loc = {.line = (uint32_t)json_integer_value(json_object_get(p, "line")) + 1,
             .col = 1,
             .file = file,
             .len = 1};
  int unit = (int)json_integer_value(json_object_get(p, "character"));
  size_t len, i = 0;
  const char *line = ctx_source_line(c, loc, &len);
  while (line && i < len && units_in(line, i + 1) <= unit) i++;
  while (line && i < len && ((unsigned char)line[i] & 0xc0) == 0x80) i++;
  loc.col = (uint32_t)i + 1;
  return loc;
}

/* ---- an analysis ---- */

/* Where the compiler says something without a place it is said of the first line. */
static void add_diagnostic(void *data, Ctx *c, const Diagnostic *d) {
  Analysis *a = data;
  bool belongs = d->severity == SEV_NOTE || d->severity == SEV_HINT;
  if (belongs && a->last) {
    const char *message = json_string_value(json_object_get(a->last, "message"));
    const char *more =
        intern_printf(c, "%s\n%s: %s", message, severity_name(d->severity), d->message);
    json_object_set_new(a->last, "message", json_text(more));
    if (!d->loc.line) return;
    json_t *related = json_object_get(a->last, "relatedInformation");
    if (!related) json_object_set_new(a->last, "relatedInformation", related = json_array());
    char *uri = uri_of_path(ctx_source_name(c, d->loc.file));
    json_array_append_new(related,
                          json_pack("{s:{s:s, s:o}, s:o}", "location", "uri", uri, "range",
                                    range_of_loc(c, d->loc), "message", json_text(d->message)));
    free(uri);
    return;
  }
  char *uri = uri_of_path(ctx_source_name(c, d->loc.line ? d->loc.file : a->file));
  json_t *list = json_object_get(a->diagnostics, uri);
  if (!list) json_object_set_new(a->diagnostics, uri, list = json_array());
  free(uri);
  a->last =
      json_pack("{s:o, s:i, s:s, s:o}", "range", range_of_loc(c, d->loc), "severity",
                d->severity == SEV_ERROR ? 1 : 2, "source", "gc", "message", json_text(d->message));
  json_array_append_new(list, a->last);
}

static void add_seen(void *data, const Seen *s) {
  Analysis *a = data;
  if (s->at.file == a->file) vec_push(ctx_arena(a->c), &a->seen, *s);
}

static Analysis *analysis_new(const char *path, const char *text, const ModelReader *models) {
  Analysis *a = calloc(1, sizeof *a);
  if (!a) out_of_memory();
  a->c = ctx_new();
  a->diagnostics = json_object();
  ctx_set_sink(a->c, add_diagnostic, a);
  a->prog = parse_document(a->c, path, text, strlen(text), models);
  if (a->prog) a->m = elaborate(a->c, a->prog, &(ElabOptions){.seen = add_seen, .data = a});
  return a;
}

static void analysis_free(Analysis *a) {
  if (!a) return;
  if (a->m) module_free(a->m);
  json_decref(a->diagnostics);
  ctx_free(a->c);
  free(a);
}

bool analysis_plan(Analysis *a, PlanModule *plan) {
  if (a->planned || !a->m) return a->has_plan;
  a->planned = true;
  ctx_set_stream(a->c, NULL);
  a->has_plan = plan(a->c, a->m);
  return a->has_plan;
}

/* ---- a document ---- */

Document *document_new(const char *uri, const char *text, const ModelReader *models) {
  Document *d = calloc(1, sizeof *d);
  if (!d) out_of_memory();
  *d = (Document){.uri = copy_of(uri),
                  .path = path_of_uri(uri),
                  .text = copy_of(text),
                  .models = models,
                  .published = json_object()};
  return d;
}

static void drop(Document *d) {
  if (d->now != d->good) analysis_free(d->now);
  d->now = NULL;
}

void document_free(Document *d) {
  drop(d);
  analysis_free(d->good);
  json_decref(d->published);
  free(d->uri);
  free(d->path);
  free(d->text);
  free(d);
}

void document_change(Document *d, const char *text) {
  drop(d);
  d->is_published = false;
  free(d->text);
  d->text = copy_of(text);
}

Analysis *document_analysis(Document *d) {
  if (d->now) return d->now;
  d->now = analysis_new(d->path, d->text, d->models);
  if (d->now->prog) {
    analysis_free(d->good);
    d->good = d->now;
  }
  return d->now;
}
