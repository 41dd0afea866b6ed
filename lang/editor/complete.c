/* Completion: the arguments of the call around the cursor, then the names that are known there.
   Works on tokens, since a text is half written while it is completed. */
#include "lang/editor/lsp.h"

#include <stdlib.h>

/* CompletionItemKind of the protocol */
enum {
  ITEM_FUNCTION = 3,
  ITEM_VARIABLE = 6,
  ITEM_PROPERTY = 10,
  ITEM_KEYWORD = 14,
  ITEM_CONSTANT = 21
};

typedef struct Items {
  json_t *list;
  json_t *known; /* labels that are there: nearer names hide farther ones */
} Items;

static void add(Items *it, const char *label, int kind, const char *detail, const char *help) {
  if (json_object_get(it->known, label)) return;
  json_object_set_new(it->known, label, json_true());
  json_t *item = json_pack("{s:o, s:i}", "label", json_text(label), "kind", kind);
  /* in the order in which they are added */
  char order[16];
  snprintf(order, sizeof order, "%06zu", json_array_size(it->list));
  json_object_set_new(item, "sortText", json_string(order));
  if (kind == ITEM_PROPERTY) {
    char text[256];
    snprintf(text, sizeof text, "%s = ", label);
    json_object_set_new(item, "insertText", json_text(text));
  }
  if (detail && *detail) json_object_set_new(item, "detail", json_text(detail));
  if (help && *help) json_object_set_new(item, "documentation", json_text(help));
  json_array_append_new(it->list, item);
}

/* The call whose argument list is open at the cursor. */
typedef struct OpenCall {
  const SourceToken *callee; /* NULL: there is none */
  json_t *named;             /* arguments that are given by name */
  int placed;                /* so many are given by their place, a value before |> included */
} OpenCall;

static bool is_before(const SourceToken *t, Loc at) {
  return t->loc.line < at.line || (t->loc.line == at.line && t->loc.col < at.col);
}

/* How many brackets of the token open, or -1. */
static int bracket_of(const SourceToken *t) {
  if (t->cls != TOKEN_SIGN) return 0;
  if (token_is(t, "(") || token_is(t, "[") || token_is(t, "{")) return 1;
  return token_is(t, ")") || token_is(t, "]") || token_is(t, "}") ? -1 : 0;
}

/* The innermost bracket that is open at the place; the number of tokens: none is. */
static uint32_t open_bracket(const Outline *o, Loc at) {
  VEC(uint32_t) open = {0};
  Arena *arena = arena_new();
  for (uint32_t i = 0; i < o->tokens.n && is_before(&o->tokens.at[i], at); i++) {
    const int by = bracket_of(&o->tokens.at[i]);
    if (by > 0) vec_push(arena, &open, i);
    if (by < 0 && open.n) open.n--;
  }
  const uint32_t found = open.n ? open.at[open.n - 1] : o->tokens.n;
  arena_free(arena);
  return found;
}

static bool is_at(const SourceToken *t, Loc at) {
  return t->loc.line == at.line && t->loc.col <= at.col && at.col <= t->loc.col + (uint32_t)t->n;
}

/* Counts the arguments before the cursor, and takes the names of those behind it on its line. */
static OpenCall open_call(Ctx *c, const Outline *o, Loc at) {
  const SourceToken *t = o->tokens.at;
  const uint32_t n = o->tokens.n, open = open_bracket(o, at);
  OpenCall call = {.named = json_object()};
  if (open == n || open == 0 || !token_is(&t[open], "(") || t[open - 1].cls != TOKEN_NAME)
    return call;
  call.callee = &t[open - 1];
  call.placed = open > 1 && token_is(&t[open - 2], "|>");
  bool named = false;
  for (uint32_t i = open + 1, depth = 0; i < n; i++) {
    const int by = bracket_of(&t[i]);
    if (by < 0 && depth == 0) break;
    if (t[i].cls == TOKEN_NEWLINE && !is_before(&t[i], at)) break;
    depth += (uint32_t)by;
    if (depth || by) continue;
    if (token_is(&t[i], ",")) {
      call.placed += !named && is_before(&t[i], at);
      named = false;
    } else if (i + 1 < n && t[i].cls == TOKEN_NAME && token_is(&t[i + 1], "=")) {
      named = true;
      if (is_at(&t[i], at)) continue;
      json_object_set_new(call.named, intern_n(c, t[i].text, (size_t)t[i].n), json_true());
    }
  }
  return call;
}

static void add_argument(Items *it, const OpenCall *call, int place, const char *name) {
  if (place >= call->placed && !json_object_get(call->named, name))
    add(it, name, ITEM_PROPERTY, "argument", NULL);
}

/* "x, axis = none": a name up to each comma that no bracket holds. */
static void add_written(Items *it, Ctx *c, const OpenCall *call, const char *args) {
  for (int place = 0; *args; place++) {
    args += strspn(args, " .,");
    size_t n = strspn(args, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (n) add_argument(it, call, place, intern_n(c, args, n));
    int depth = 0;
    for (; *args && (depth || *args != ','); args++) depth += (*args == '[') - (*args == ']');
  }
}

static void add_arguments(Items *it, Ctx *c, const Program *p, const Program *const *prelude,
                          const OpenCall *call) {
  const char *name = intern_n(c, call->callee->text, (size_t)call->callee->n);
  const Decl *d = program_find(p, name);
  for (; !d && *prelude; prelude++) d = program_find(*prelude, name);
  if (d && d->kind == DECL_DEF) {
    for (int i = 0; i < d->function.n; i++)
      add_argument(it, call, i, d->function.params[i].name.name);
    return;
  }
  const BuiltinDoc *b = builtin_docs(c);
  for (int i = 0; i < builtin_count(); i++)
    if (strcmp(b[i].name, name) == 0) add_written(it, c, call, b[i].args);
}

static const char *kind_word(NameKind k) {
  static const char *const words[] = {"let",      "hyper", "def",   "entry",
                                      "argument", "local", "param", "state"};
  return words[k];
}

static void add_names(Items *it, const Outline *o, Loc at) {
  int declaration = outline_declaration(o, at);
  for (uint32_t i = o->names.n; i-- > 0;) {
    const NameBinding *b = &o->names.at[i];
    if (b->declaration >= 0 && b->declaration == declaration && b->loc.line <= at.line)
      add(it, b->name, ITEM_VARIABLE, kind_word(b->kind), NULL);
  }
  for (uint32_t i = 0; i < o->names.n; i++) {
    const NameBinding *b = &o->names.at[i];
    if (b->declaration < 0 && b->kind != NAME_ENTRY)
      add(it, b->name, b->kind == NAME_DEF ? ITEM_FUNCTION : ITEM_CONSTANT, kind_word(b->kind),
          NULL);
  }
}

static void add_program(Items *it, Ctx *c, const Program *p) {
  for (uint32_t i = 0; p && i < p->decls.n; i++) {
    const Decl *d = p->decls.at[i];
    if (d->kind == DECL_DEF)
      add(it, d->name.name, ITEM_FUNCTION, head_of(c, d), comment_above(c, d));
    else if (d->kind != DECL_ENTRY)
      add(it, d->name.name, ITEM_CONSTANT, head_of(c, d), NULL);
  }
}

static void add_words(Items *it) {
  static const char *const words[] = {
#define WORD(token, text) text,
#include "lang/syntax/words.def"
#undef WORD
  };
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    add(it, words[i], ITEM_KEYWORD, NULL, NULL);
}

/* The files of the prelude, and NULL. */
static const Program **parse_prelude(Ctx *c) {
  const char *name, *text;
  VEC(const Program *) p = {0};
  for (int k = 0; (text = prelude_text(c, k, &name)); k++)
    vec_push(ctx_arena(c), &p, parse_text(c, name, text, strlen(text)));
  vec_push(ctx_arena(c), &p, NULL);
  return p.at;
}

json_t *complete_answer(Document *d, const json_t *position) {
  Ctx *c = ctx_new();
  ctx_set_stream(c, NULL);
  uint16_t file = ctx_add_source(c, d->path, d->text, strlen(d->text));
  Loc at = loc_of_position(c, file, position);
  Outline o = outline_of(c, file);
  Items it = {json_array(), json_object()};
  const SourceToken *t = outline_token(&o, at);
  bool text = t && (t->cls == TOKEN_COMMENT || (t->cls == TOKEN_VALUE && t->text[0] == '"'));
  if (!text) {
    const Program **prelude = parse_prelude(c);
    Ctx *good = d->good ? d->good->c : NULL;
    const Program *p = d->good ? d->good->prog : NULL;
    const OpenCall call = open_call(c, &o, at);
    if (call.callee) add_arguments(&it, c, p, prelude, &call);
    json_decref(call.named);
    add_names(&it, &o, at);
    if (p) add_program(&it, good, p);
    for (; *prelude; prelude++) add_program(&it, c, *prelude);
    const BuiltinDoc *b = builtin_docs(c);
    for (int i = 0; i < builtin_count(); i++)
      add(&it, b[i].name, ITEM_FUNCTION, b[i].args, b[i].help);
    add_words(&it);
  }
  json_decref(it.known);
  ctx_free(c);
  return json_pack("{s:b, s:o}", "isIncomplete", 0, "items", it.list);
}
