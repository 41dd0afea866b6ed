/* --diagnostics=json: for tools that read what the compiler says. Keys never change their name or
   meaning. */
#include "lang/driver/command.h"
#include "lang/editor/json.h"

static void print(void *unused, Ctx *c, const Diagnostic *d) {
  (void)unused;
  json_t *o = json_object();
  json_object_set_new(o, "severity", json_string(severity_name(d->severity)));
  if (d->loc.line) {
    json_object_set_new(o, "file", json_text(ctx_source_name(c, d->loc.file)));
    json_object_set_new(o, "line", json_integer(d->loc.line));
    json_object_set_new(o, "column", json_integer(d->loc.col));
    json_object_set_new(o, "length", json_integer(d->loc.len));
  }
  json_object_set_new(o, "message", json_text(d->message));
  json_dumpf(o, stderr, JSON_COMPACT);
  fputc('\n', stderr);
  json_decref(o);
}

void diagnostics_as_json(Ctx *c) { ctx_set_sink(c, print, NULL); }
