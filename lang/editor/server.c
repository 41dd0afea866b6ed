/* The loop of the language server: reads a message, answers it, and analyses what has changed once
   no further message waits. Contract: one thread; a text that the compiler cannot take costs
   diagnostics, never the server. */
#include "ir/support/memfile.h"
#include "lang/editor/lsp.h"

#include <poll.h>
#include <stdlib.h>

/* The error codes of JSON-RPC and of the protocol */
enum {
  PARSE_ERROR = -32700,
  NOT_FOUND = -32601,
  INVALID_REQUEST = -32600,
  NOT_INITIALIZED = -32002
};

typedef struct Server {
  FILE *in, *out;
  PlanModule *plan;
  const ModelReader *models;
  Arena *arena;
  VEC(Document *) documents;
  bool initialized, stopping, ended;
} Server;

/* ---- documents ---- */

static Document *find(Server *s, const json_t *params) {
  const char *uri =
      json_string_value(json_object_get(json_object_get(params, "textDocument"), "uri"));
  for (uint32_t i = 0; uri && i < s->documents.n; i++)
    if (strcmp(s->documents.at[i]->uri, uri) == 0) return s->documents.at[i];
  return NULL;
}

static void notify(Server *s, const char *method, json_t *params) {
  rpc_write(s->out,
            json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params));
}

static void publish_one(Server *s, const char *uri, json_t *list) {
  notify(s, "textDocument/publishDiagnostics",
         json_pack("{s:s, s:o}", "uri", uri, "diagnostics", list));
}

/* What is said of this text, and of the files that it uses; what was said before is taken back. */
static void publish(Server *s, Document *d) {
  const Analysis *a = document_analysis(d);
  const char *uri;
  json_t *list, *published = json_object();
  char *own = uri_of_path(d->path);
  list = json_object_get(a->diagnostics, own);
  publish_one(s, d->uri, list ? json_incref(list) : json_array());
  json_object_foreach(a->diagnostics, uri, list) {
    if (strcmp(uri, own) == 0) continue;
    publish_one(s, uri, json_incref(list));
    json_object_set_new(published, uri, json_true());
  }
  json_t *unused;
  json_object_foreach(d->published, uri, unused) {
    if (!json_object_get(published, uri)) publish_one(s, uri, json_array());
  }
  json_decref(d->published);
  d->published = published;
  d->is_published = true;
  free(own);
}

static bool input_waits(Server *s) {
  struct pollfd p = {.fd = fileno(s->in), .events = POLLIN};
  return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

static void analyse_changed(Server *s) {
  for (uint32_t i = 0; i < s->documents.n; i++)
    if (!s->documents.at[i]->is_published && !input_waits(s)) publish(s, s->documents.at[i]);
}

static void did_open(Server *s, const json_t *params) {
  const json_t *t = json_object_get(params, "textDocument");
  const char *uri = json_string_value(json_object_get(t, "uri"));
  const char *text = json_string_value(json_object_get(t, "text"));
  if (!uri || !text) return;
  Document *d = find(s, params);
  if (d)
    document_change(d, text);
  else
    vec_push(s->arena, &s->documents, document_new(uri, text, s->models));
}

/* The server asks for whole texts; the last one counts. */
static void did_change(Server *s, const json_t *params) {
  Document *d = find(s, params);
  const json_t *changes = json_object_get(params, "contentChanges");
  size_t n = json_array_size(changes);
  const char *text =
      n ? json_string_value(json_object_get(json_array_get(changes, n - 1), "text")) : NULL;
  if (d && text) document_change(d, text);
}

static void did_close(Server *s, const json_t *params) {
  Document *d = find(s, params);
  for (uint32_t i = 0; d && i < s->documents.n; i++)
    if (s->documents.at[i] == d) s->documents.at[i] = s->documents.at[--s->documents.n];
  if (!d) return;
  const char *uri;
  json_t *unused;
  publish_one(s, d->uri, json_array());
  json_object_foreach(d->published, uri, unused) publish_one(s, uri, json_array());
  document_free(d);
}

/* ---- requests ---- */

static json_t *initialize(Server *s, const json_t *params) {
  (void)params;
  s->initialized = true;
  return json_pack("{s:{s:i, s:b, s:b, s:b, s:b, s:{s:[s]}}, s:{s:s}}", "capabilities",
                   "textDocumentSync", 1, "hoverProvider", 1, "definitionProvider", 1,
                   "documentFormattingProvider", 1, "documentSymbolProvider", 1,
                   "completionProvider", "triggerCharacters", "(", "serverInfo", "name", "gc");
}

static json_t *shutdown_server(Server *s, const json_t *params) {
  (void)params;
  s->stopping = true;
  return json_null();
}

static json_t *hover(Server *s, const json_t *params) {
  Document *d = find(s, params);
  if (!d) return json_null();
  Analysis *a = document_analysis(d);
  Loc at = loc_of_position(a->c, a->file, json_object_get(params, "position"));
  return hover_answer(d, at, s->plan);
}

static json_t *location(Ctx *c, const char *uri, Loc loc) {
  char *own = uri ? NULL : uri_of_path(ctx_source_name(c, loc.file));
  json_t *l = json_pack("{s:s, s:o}", "uri", uri ? uri : own, "range", range_of_loc(c, loc));
  free(own);
  return l;
}

/* In the text as it is; else in a file that the last good text used. */
static json_t *definition(Server *s, const json_t *params) {
  Document *d = find(s, params);
  if (!d) return json_null();
  Analysis *a = document_analysis(d), *good = d->good;
  Loc at = loc_of_position(a->c, a->file, json_object_get(params, "position"));
  Outline o = outline_of(a->c, a->file);
  const SourceToken *t = outline_token(&o, at);
  if (!t || t->cls != TOKEN_NAME) return json_null();
  const char *name = intern_n(a->c, t->text, (size_t)t->n);
  const NameBinding *b = outline_find(&o, name, at);
  if (b) return location(a->c, d->uri, b->loc);
  const Decl *used = good ? program_find(good->prog, name) : NULL;
  return used && used->loc.file != good->file ? location(good->c, NULL, used->name.loc)
                                              : json_null();
}

static json_t *completion(Server *s, const json_t *params) {
  Document *d = find(s, params);
  return d ? complete_answer(d, json_object_get(params, "position")) : json_null();
}

/* One edit that replaces the whole; none where the text has errors or is formatted. */
static json_t *formatting(Server *s, const json_t *params) {
  Document *d = find(s, params);
  if (!d) return json_null();
  Analysis *a = document_analysis(d);
  if (!a->prog) return json_null();
  MemFile m;
  format_source(memfile_open(&m), a->c, a->file);
  memfile_close(&m);
  json_t *edits = json_array();
  if (strcmp(m.text, d->text) != 0) {
    int lines = 0;
    for (const char *p = d->text; *p; p++) lines += *p == '\n';
    json_array_append_new(edits,
                          json_pack("{s:{s:{s:i, s:i}, s:{s:i, s:i}}, s:o}", "range", "start",
                                    "line", 0, "character", 0, "end", "line", lines + 1,
                                    "character", 0, "newText", json_text(m.text)));
  }
  memfile_free(&m);
  return edits;
}

static json_t *symbols(Server *s, const json_t *params) {
  enum { SYMBOL_FUNCTION = 12, SYMBOL_CONSTANT = 14, SYMBOL_INTERFACE = 11 };
  Document *d = find(s, params);
  if (!d) return json_null();
  Analysis *a = document_analysis(d);
  Outline o = outline_of(a->c, a->file);
  json_t *list = json_array();
  for (uint32_t i = 0; i < o.names.n; i++) {
    const NameBinding *b = &o.names.at[i];
    if (b->declaration >= 0) continue;
    int kind = b->kind == NAME_DEF     ? SYMBOL_FUNCTION
               : b->kind == NAME_ENTRY ? SYMBOL_INTERFACE
                                       : SYMBOL_CONSTANT;
    Loc end = b->loc;
    if (b->end) end = (Loc){.line = b->end, .col = 1, .file = a->file, .len = 1};
    json_t *range = range_of_loc(a->c, b->loc);
    json_t *whole = json_pack("{s:O, s:o}", "start", json_object_get(range, "start"), "end",
                              json_incref(json_object_get(range_of_loc(a->c, end), "end")));
    json_array_append_new(list, json_pack("{s:o, s:i, s:o, s:o}", "name", json_text(b->name),
                                          "kind", kind, "range", whole, "selectionRange", range));
  }
  return list;
}

/* ---- the loop ---- */

static const struct {
  const char *method;
  json_t *(*answer)(Server *s, const json_t *params); /* a new reference */
} requests[] = {{"initialize", initialize},
                {"shutdown", shutdown_server},
                {"textDocument/hover", hover},
                {"textDocument/definition", definition},
                {"textDocument/completion", completion},
                {"textDocument/formatting", formatting},
                {"textDocument/documentSymbol", symbols}};

static const struct {
  const char *method;
  void (*take)(Server *s, const json_t *params);
} notifications[] = {{"textDocument/didOpen", did_open},
                     {"textDocument/didChange", did_change},
                     {"textDocument/didClose", did_close}};

static void fail(Server *s, json_t *id, int code, const char *message) {
  rpc_write(s->out, json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id, "error",
                              "code", code, "message", message));
}

static void answer(Server *s, json_t *id, const char *method, const json_t *params) {
  if (!s->initialized && strcmp(method, "initialize") != 0)
    return fail(s, id, NOT_INITIALIZED, "the first request is initialize");
  if (s->stopping) return fail(s, id, INVALID_REQUEST, "the server has shut down");
  for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
    if (strcmp(method, requests[i].method) == 0) {
      json_t *result = requests[i].answer(s, params);
      rpc_write(s->out, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
      return;
    }
  fail(s, id, NOT_FOUND, "this method is not served");
}

static void take(Server *s, json_t *message) {
  const char *method = json_string_value(json_object_get(message, "method"));
  json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
  if (!method) return; /* an answer: the server asks for nothing */
  if (id)
    answer(s, id, method, params);
  else if (strcmp(method, "exit") == 0)
    s->ended = true;
  for (size_t i = 0; !id && i < sizeof notifications / sizeof notifications[0]; i++)
    if (strcmp(method, notifications[i].method) == 0) notifications[i].take(s, params);
}

int lsp_serve(FILE *in, FILE *out, PlanModule *plan, const ModelReader *models) {
  Server s = {.in = in, .out = out, .plan = plan, .models = models, .arena = arena_new()};
  RpcResult result = RPC_MESSAGE;
  setvbuf(in, NULL, _IONBF, 0); /* so that poll sees what waits */
  while (!s.ended && (result == RPC_MESSAGE || result == RPC_NO_JSON)) {
    json_t *message;
    analyse_changed(&s);
    result = rpc_read(in, &message);
    if (result == RPC_NO_JSON) fail(&s, json_null(), PARSE_ERROR, "the message is no JSON object");
    if (result != RPC_MESSAGE) continue;
    take(&s, message);
    json_decref(message);
  }
  if (result == RPC_NO_FRAME)
    fprintf(stderr, "gc: error: --lsp: a message is no JSON-RPC with a Content-Length\n");
  while (s.documents.n) document_free(s.documents.at[--s.documents.n]);
  arena_free(s.arena);
  /* exit without shutdown is an error */
  return result == RPC_NO_FRAME ? 2 : s.stopping || !s.ended ? 0 : 1;
}
