/* The names that a text binds and where: let, hyper, def, entry, arguments, assignments, params,
   states, loop variables. Reads tokens only; see lsp.h. */
#include "lang/editor/lsp.h"

typedef struct Walk {
  Ctx *c;
  Outline *o;
  int declaration; /* the one that the walk is in, -1 */
  int depth;       /* open brackets of all kinds */
  int parens;      /* open "(" and "[" */
  int head;        /* in the head of a def: the depth of its arguments; else 0 */
} Walk;

static const SourceToken *at(const Outline *o, uint32_t i) {
  return i < o->tokens.n ? &o->tokens.at[i] : NULL;
}

static bool is(const SourceToken *t, const char *text) { return t && token_is(t, text); }

/* The next token that is no comment, and with `lines` no newline. */
static uint32_t next(const Outline *o, uint32_t i, bool lines) {
  do i++;
  while (at(o, i) && (at(o, i)->cls == TOKEN_COMMENT || (lines && at(o, i)->cls == TOKEN_NEWLINE)));
  return i;
}

static void bind(Walk *w, NameKind kind, const SourceToken *t) {
  NameBinding b = {.kind = kind,
                   .name = intern_n(w->c, t->text, (size_t)t->n),
                   .loc = t->loc,
                   .declaration = kind <= NAME_ENTRY ? -1 : w->declaration};
  vec_push(ctx_arena(w->c), &w->o->names, b);
}

static NameKind word_kind(const SourceToken *t, bool *binds) {
  static const struct {
    const char *word;
    NameKind kind;
  } words[] = {{"let", NAME_LET},      {"hyper", NAME_HYPER},  {"def", NAME_DEF},
               {"entry", NAME_ENTRY},  {"param", NAME_PARAM},  {"state", NAME_STATE},
               {"for", NAME_ARGUMENT}, {"scan", NAME_ARGUMENT}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (t->cls == TOKEN_RESERVED && token_is(t, words[i].word)) return *binds = true, words[i].kind;
  *binds = false;
  return NAME_LOCAL;
}

/* a, b = …: the names at the start of a statement, if "=" follows them. */
static void bind_targets(Walk *w, uint32_t i) {
  const Outline *o = w->o;
  uint32_t k = i;
  while (at(o, k) && at(o, k)->cls == TOKEN_NAME && is(at(o, next(o, k, false)), ","))
    k = next(o, next(o, k, false), false);
  if (!at(o, k) || at(o, k)->cls != TOKEN_NAME || !is(at(o, next(o, k, false)), "=")) return;
  for (; i <= k; i = next(o, next(o, i, false), false)) bind(w, NAME_LOCAL, at(o, i));
}

/* A dim in the types of a head: a let, or bound there. */
static bool is_new_dim(const Walk *w, const SourceToken *t) {
  for (uint32_t i = 0; i < w->o->names.n; i++) {
    const NameBinding *b = &w->o->names.at[i];
    if ((b->kind == NAME_LET || b->declaration == w->declaration) && token_is(t, b->name))
      return false;
  }
  return true;
}

static void word(Walk *w, uint32_t i, const SourceToken *before, bool starts) {
  const SourceToken *t = at(w->o, i);
  bool binds;
  NameKind kind = word_kind(t, &binds);
  const SourceToken *name = at(w->o, next(w->o, i, true));
  bool top = kind <= NAME_ENTRY && t->loc.col == 1;
  if (binds && name && name->cls == TOKEN_NAME && (kind > NAME_ENTRY || top)) {
    bind(w, kind, name);
    if (top) {
      w->depth = w->parens = w->head = 0;
      w->declaration = kind >= NAME_DEF ? (int)w->o->names.n - 1 : -1;
      if (kind >= NAME_DEF) w->head = 1;
    }
  } else if (t->cls == TOKEN_NAME && w->head && w->depth == w->head &&
             (is(before, "(") || is(before, ",") || is(before, "..."))) {
    bind(w, NAME_ARGUMENT, t);
  } else if (t->cls == TOKEN_NAME && w->head && w->depth == w->head + 1 &&
             (is(before, "[") || is(before, ",")) && is_new_dim(w, t)) {
    bind(w, NAME_ARGUMENT, t);
  } else if (t->cls == TOKEN_NAME && starts && !w->parens && w->declaration >= 0) {
    bind_targets(w, i);
  }
}

Outline outline_of(Ctx *c, uint16_t file) {
  Outline o = {.tokens = source_tokens(c, file)};
  Walk w = {.c = c, .o = &o, .declaration = -1};
  const SourceToken *before = NULL;
  for (uint32_t i = 0; i < o.tokens.n; i++) {
    const SourceToken *t = at(&o, i);
    if (t->cls == TOKEN_COMMENT) continue;
    bool starts = !before || before->cls == TOKEN_NEWLINE || is(before, "{") || is(before, ";");
    if (t->cls == TOKEN_NEWLINE) {
      before = t;
      continue;
    }
    bool opens = is(t, "(") || is(t, "[") || is(t, "{");
    bool closes = is(t, ")") || is(t, "]") || is(t, "}");
    if (is(t, "{")) w.head = 0;
    w.depth += opens - closes;
    w.parens += (opens && !is(t, "{")) - (closes && !is(t, "}"));
    if (is(t, "{") || is(t, "}")) w.parens = 0;
    word(&w, i, before, starts);
    if (w.declaration >= 0) o.names.at[w.declaration].end = t->loc.line;
    before = t;
  }
  return o;
}

static bool covers(Loc l, Loc at) {
  return l.line == at.line && l.col <= at.col && at.col <= l.col + l.len;
}

const SourceToken *outline_token(const Outline *o, Loc at) {
  const SourceToken *found = NULL;
  for (uint32_t i = 0; i < o->tokens.n; i++) {
    const SourceToken *t = &o->tokens.at[i];
    if (t->cls == TOKEN_NEWLINE || !covers(t->loc, at)) continue;
    if (!found || t->cls == TOKEN_NAME) found = t; /* of two that touch, the name */
  }
  return found;
}

int outline_declaration(const Outline *o, Loc at) {
  int found = -1;
  for (uint32_t i = 0; i < o->names.n; i++) {
    const NameBinding *b = &o->names.at[i];
    if ((b->kind == NAME_DEF || b->kind == NAME_ENTRY) && b->loc.line <= at.line &&
        at.line <= b->end)
      found = (int)i;
  }
  return found;
}

/* Whether the name is bound at a place: by an assignment, from the next line on. */
static bool holds_at(const NameBinding *b, Loc at) {
  if (b->loc.line < at.line || covers(b->loc, at)) return true;
  return b->kind != NAME_LOCAL && b->loc.line == at.line && b->loc.col <= at.col;
}

const NameBinding *outline_find(const Outline *o, const char *name, Loc at) {
  int declaration = outline_declaration(o, at);
  const NameBinding *local = NULL, *top = NULL;
  for (uint32_t i = 0; i < o->names.n; i++) {
    const NameBinding *b = &o->names.at[i];
    if (b->name != name) continue;
    if (b->declaration < 0)
      top = top ? top : b;
    else if (b->declaration == declaration && holds_at(b, at))
      local = b;
  }
  return local ? local : top;
}
