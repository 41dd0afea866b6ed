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

/* The callee whose argument list is open at the place; NULL: none. */
static const SourceToken *open_call(const Outline *o, Loc at) {
  VEC(uint32_t) open = {0};
  Arena *arena = arena_new();
  for (uint32_t i = 0; i < o->tokens.n; i++) {
    const SourceToken *t = &o->tokens.at[i];
    if (t->loc.line > at.line || (t->loc.line == at.line && t->loc.col >= at.col)) break;
    if (t->cls != TOKEN_SIGN) continue;
    if (token_is(t, "(") || token_is(t, "[") || token_is(t, "{"))
      vec_push(arena, &open, i);
    else if ((token_is(t, ")") || token_is(t, "]") || token_is(t, "}")) && open.n)
      open.n--;
  }
  const SourceToken *callee = NULL;
  if (open.n) {
    uint32_t i = open.at[open.n - 1];
    if (token_is(&o->tokens.at[i], "(") && i && o->tokens.at[i - 1].cls == TOKEN_NAME)
      callee = &o->tokens.at[i - 1];
  }
  arena_free(arena);
  return callee;
}

/* "x, axis = none": a name up to each comma that no bracket holds. */
static void add_written(Items *it, Ctx *c, const char *args) {
  for (const char *s = args; *s;) {
    s += strspn(s, " .,");
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (n) add(it, intern_n(c, s, n), ITEM_PROPERTY, "argument", NULL);
    int depth = 0;
    for (; *s && (depth || *s != ','); s++) depth += (*s == '[') - (*s == ']');
  }
}

static void add_params(Items *it, const Decl *d) {
  for (int i = 0; i < d->function.n; i++)
    add(it, d->function.params[i].name.name, ITEM_PROPERTY, "argument", NULL);
}

static void add_arguments(Items *it, Ctx *c, const Program *p, const Program *const *prelude,
                          const SourceToken *callee) {
  const char *name = intern_n(c, callee->text, (size_t)callee->n);
  const Decl *d = program_find(p, name);
  for (; !d && *prelude; prelude++) d = program_find(*prelude, name);
  if (d && d->kind == DECL_DEF) {
    add_params(it, d);
    return;
  }
  const BuiltinDoc *b = builtin_docs(c);
  for (int i = 0; i < builtin_count(); i++)
    if (strcmp(b[i].name, name) == 0) add_written(it, c, b[i].args);
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
    const SourceToken *callee = open_call(&o, at);
    if (callee) add_arguments(&it, c, p, prelude, callee);
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
