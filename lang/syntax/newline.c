/* The filter between scanner and grammar: selects the newlines that end a statement, and repairs
   brackets, so that the grammar gets matching brackets only.
   Contract: a NEWLINE ends every statement and declaration, also before "}" and the end of the
   file; there are never two in a row. An unclosed "{" is noticed where the next declaration starts.
 */
#include "lang/syntax/parse.tab.h"
#include "lang/syntax/parse_impl.h"

typedef struct Token {
  int kind;
  TokenValue val;
  Loc loc;
  bool after_newline; /* the first of its line */
} Token;

typedef struct Bracket {
  char open;
  Loc loc;
} Bracket;

struct Lexer {
  void *scanner;
  bool is_value; /* of parse_value */
  int start;     /* the token that says what to read, not yet handed out; 0: done */
  bool ended;    /* the scanner has reached the end */
  bool has_held;
  Token held;       /* read, not yet handed out */
  Token last;       /* handed out before `found` */
  Token found;      /* handed out last */
  bool unwritten;   /* found is an implicit NEWLINE: the held token follows on the line */
  Bracket given_up; /* the innermost bracket that was dropped by the last NEWLINE */
  VEC(Bracket) open;
  bool closing; /* an unclosed "{" was reported, its "}" and those around it are being supplied */
  bool recovering; /* from a syntax error to the next NEWLINE: no more is said about brackets */
};

Lexer *lex_new(Parser *ps, void *scanner, int start) {
  Lexer *lx = ARENA_NEW(ps->arena, Lexer);
  lx->scanner = scanner;
  lx->start = start;
  lx->is_value = start == VALUE_START;
  return lx;
}

bool token_goes_on(int token) {
  static const int tokens[] = {NEWLINE, ',',      '{',  '=',   '+',  '-',        '*',        '/',
                               '%',     QUOTIENT, '@',  POW,   PIPE, OR,         AND,        NOT,
                               EQ,      NE,       '<',  LE,    '>',  GE,         UPDATE,     ':',
                               IF,      ELSE,     WITH, RANGE, IN,   FILE_START, VALUE_START};
  for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++)
    if (tokens[i] == token) return true;
  return false;
}

/* On the first place of a line these cannot be inside of "(" or "[". */
static bool starts_statement(int token) {
  return token == LET || token == HYPER || token == DEF || token == ENTRY || token == USE ||
         token == PARAM || token == STATE || token == FOR || token == SCAN || token == SCOPE ||
         token == MINIMIZE || token == TRAIN || token == RETURN || token == YIELD;
}

static bool starts_declaration(int token) {
  return token == LET || token == HYPER || token == DEF || token == ENTRY || token == USE;
}

static int closer_of(char open) { return open == '(' ? ')' : open == '[' ? ']' : '}'; }

static Bracket *top(Lexer *lx) { return lx->open.n ? &lx->open.at[lx->open.n - 1] : NULL; }

static bool in_parens(Lexer *lx) { return top(lx) && top(lx)->open != '{'; }

static void drop_parens(Lexer *lx) {
  while (in_parens(lx)) {
    if (!lx->given_up.open) lx->given_up = *top(lx);
    lx->open.n--;
  }
}

static void read_held(Parser *ps) {
  Lexer *lx = ps->lex;
  Token *t = &lx->held;
  t->after_newline = false;
  while ((t->kind = parse_scan(&t->val, &t->loc, lx->scanner)) == RAW_NEWLINE)
    t->after_newline = true;
  lx->has_held = true;
  if (t->kind == END) lx->ended = true;
}

static int hand_out(Lexer *lx, Token t, TokenValue *val, Loc *loc) {
  if (t.kind != NEWLINE) lx->given_up = (Bracket){0};
  lx->last = lx->found;
  lx->found = t;
  *val = t.val;
  *loc = t.loc;
  return t.kind;
}

/* The place just after the last token: where a missing word would stand. */
static Loc after_found(Lexer *lx) {
  Loc loc = lx->found.loc;
  if (!loc.line) return lx->held.loc;
  loc.col += loc.len;
  loc.len = 1;
  return loc;
}

static int hand_out_newline(Lexer *lx, TokenValue *val, Loc *loc) {
  Token t = {.kind = NEWLINE, .loc = after_found(lx)};
  bool written = lx->held.after_newline && !in_parens(lx) && !token_goes_on(lx->found.kind);
  lx->unwritten = !written;
  if (!written && lx->held.kind != END) t.loc = lx->held.loc;
  lx->given_up = (Bracket){0};
  drop_parens(lx);
  lx->recovering = false;
  return hand_out(lx, t, val, loc);
}

/* Whether a NEWLINE comes before the held token. */
static bool newline_is_due(Lexer *lx) {
  int next = lx->held.kind, last = lx->found.kind;
  if (last == NEWLINE || last == FILE_START || last == VALUE_START || last == '{') return false;
  if (next == END || next == '}') return true;
  if (next == RAW_SEMICOLON) return !in_parens(lx);
  if (!lx->held.after_newline) return false;
  if (in_parens(lx)) return starts_statement(next);
  if (token_goes_on(last)) /* "x = 3 +" and then "return x": the rest of the line was forgotten */
    return starts_statement(next) && next != FOR && next != SCAN;
  return next != PIPE && next != ELSE && next != '{';
}

/* A "{" that never closed: a declaration at the left margin, or the end, comes before its "}". */
static bool block_is_unclosed(Lexer *lx) {
  if (!lx->open.n) return false;
  return lx->held.kind == END ||
         (starts_declaration(lx->held.kind) && lx->held.loc.col == 1 && lx->held.after_newline);
}

static void report_unclosed(Parser *ps) {
  Lexer *lx = ps->lex;
  if (lx->recovering) return;
  parse_error(ps, top(lx)->loc, "this '{' is never closed");
  if (lx->held.kind != END)
    parse_note(ps, SEV_NOTE, lx->held.loc, "the next declaration starts here");
}

/* The held token is a closing bracket: false when it is to be dropped. */
static bool closing_fits(Parser *ps) {
  Lexer *lx = ps->lex;
  Token *t = &lx->held;
  char open = top(lx) ? top(lx)->open : 0;
  if (open && t->kind == closer_of(open)) {
    lx->open.n--;
    return true;
  }
  if (!open || open == '{') { /* a "}" never meets an open "(": a NEWLINE was due before it */
    if (!lx->recovering) parse_error(ps, t->loc, "this '%c' closes nothing", t->kind);
    return false;
  }
  if (lx->recovering) return false;
  parse_error(ps, t->loc, "expected '%c', found '%c'", closer_of(open), t->kind);
  parse_note(ps, SEV_NOTE, top(lx)->loc, "to close this '%c'", open);
  t->kind = closer_of(open);
  lx->open.n--;
  return true;
}

static void open_bracket(Parser *ps, const Token *t) {
  Lexer *lx = ps->lex;
  vec_push(ps->arena, &lx->open, (Bracket){(char)t->kind, t->loc});
  check_depth(ps, (int)lx->open.n, t->loc);
}

static const char *source_text(Parser *ps, Loc loc);
static bool is_word_char(char c);

/* Words that are reserved only where no name can stand: "update T with" begins a statement, "like"
   follows "=", "shared" an instance name, a string "from", and "state" "transient". */
static int word_in_place(Parser *ps, const Token *t) {
  const Lexer *lx = ps->lex;
  int last = lx->found.kind;
  const char *next = source_text(ps, t->loc) + t->loc.len;
  bool spaced = *next == ' ' || *next == '\t';
  while (*next == ' ' || *next == '\t') next++;
  bool before_name = spaced && is_word_char(*next);
  if (strcmp(t->val.NAME, "update") == 0 && before_name && (last == NEWLINE || last == '{'))
    return TRAIN;
  if (strcmp(t->val.NAME, "transient") == 0 && before_name && (last == NEWLINE || last == '{') &&
      strncmp(next, "state", 5) == 0 && !is_word_char(next[5]))
    return TRANSIENT;
  if (strcmp(t->val.NAME, "like") == 0 && before_name && last == '=') return LIKE;
  if (strcmp(t->val.NAME, "shared") == 0 && !t->after_newline && (last == NAME || last == ']'))
    return SHARED;
  bool text = *next == '"' || (spaced && *next == '\''); /* an error names single quotes */
  if (strcmp(t->val.NAME, "from") == 0 && !t->after_newline && text) return FROM;
  return NAME;
}

int lex_next(TokenValue *val, Loc *loc, Parser *ps) {
  Lexer *lx = ps->lex;
  if (lx->start) {
    Token t = {.kind = lx->start, .loc = {.line = 1, .col = 1, .file = ps->file}};
    lx->start = 0;
    return hand_out(lx, t, val, loc);
  }
  for (;;) {
    if (ps->stopped) return hand_out(lx, (Token){.kind = END, .loc = lx->found.loc}, val, loc);
    if (!lx->has_held) read_held(ps);
    if (newline_is_due(lx)) return hand_out_newline(lx, val, loc);
    if (block_is_unclosed(lx)) {
      drop_parens(lx);
      if (!lx->closing) report_unclosed(ps);
      lx->closing = --lx->open.n > 0;
      Token t = {.kind = '}', .loc = lx->held.loc};
      return hand_out(lx, t, val, loc);
    }
    Token t = lx->held;
    if (t.kind == END) return hand_out(lx, t, val, loc);
    lx->has_held = false;
    lx->unwritten = false;
    switch (t.kind) {
    case RAW_SEMICOLON:
      if (!in_parens(lx)) continue; /* its NEWLINE was handed out, or there was nothing to end */
      if (!lx->recovering)
        parse_error(ps, t.loc, "';' ends a statement, it cannot stand inside of '%c'",
                    top(lx)->open);
      t.kind = ',';
      break;
    case '{':
      if (t.after_newline && !token_goes_on(lx->found.kind) && !lx->recovering && !in_parens(lx))
        parse_error(ps, t.loc, "a '{' cannot start a line; move it to the end of the line above");
      open_bracket(ps, &t);
      break;
    case '(':
    case '[': open_bracket(ps, &t); break;
    case ')':
    case ']':
    case '}':
      lx->held = t;
      if (!closing_fits(ps)) continue;
      t = lx->held;
      break;
    case NAME: t.kind = word_in_place(ps, &t); break;
    default: break;
    }
    int kind = hand_out(lx, t, val, loc);
    if (kind == GC_PARSE_error) lex_recover(ps); /* the scanner has said what is wrong */
    return kind;
  }
}

void lex_recover(Parser *ps) {
  Lexer *lx = ps->lex;
  Bracket *b = top(lx);
  bool keep = b && b->open == '{' && lx->found.kind == '{';
  if (keep) lx->open.n--; /* the "{" that was found stays: a block follows it */
  drop_parens(lx);
  if (keep) vec_push(ps->arena, &lx->open, (Bracket){'{', lx->found.loc});
  lx->recovering = lx->found.kind != NEWLINE;
}

bool lex_is_recovering(Parser *ps) { return ps->lex && ps->lex->recovering; }

static const char *source_text(Parser *ps, Loc loc) {
  size_t len;
  return ctx_source_line(ps->c, loc, &len) + loc.col - 1;
}

/* A name, or a reserved word; but a FLOAT, which one of these is, is a number. */
static bool is_word(int kind) { return kind == NAME || (kind != FLOAT && token_is_reserved(kind)); }

static bool is_word_char(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

const char *lex_chain_before(Parser *ps, Loc dot) {
  const char *to = source_text(ps, dot), *line = to - (dot.col - 1), *from = to;
  while (from > line && (is_word_char(from[-1]) || from[-1] == '.')) from--;
  for (to = from; is_word_char(*to);) to++;
  return intern_n(ps->c, from, (size_t)(to - from));
}

bool lex_chain_goes_on(Parser *ps, Loc field) {
  const char *next = source_text(ps, field) + field.len;
  return next[0] == '.' && is_word_char(next[1]);
}

const char *lex_name_before(Parser *ps, Loc dot) {
  const char *to = source_text(ps, dot), *line = to - (dot.col - 1);
  while (to > line && to[-1] == ' ') to--;
  const char *from = to;
  while (from > line && is_word_char(from[-1])) from--;
  bool whole = from < to && (*from < '0' || *from > '9') && (from == line || from[-1] != '.');
  const char *name = whole ? intern_n(ps->c, from, (size_t)(to - from)) : NULL;
  return name && !word_is_reserved(name) ? name : NULL;
}

const char *lex_arguments_behind(Parser *ps, Loc field) {
  const char *from = source_text(ps, field) + field.len, *to = from + 1;
  if (*from++ != '(') return NULL;
  for (int depth = 1; depth; to++) {
    if (!*to || strchr("\n#\"", *to) || to - from > 60) return NULL;
    depth += (*to == '(' || *to == '[') - (*to == ')' || *to == ']');
  }
  for (to--; from < to && *from == ' ';) from++;
  while (from < to && to[-1] == ' ') to--;
  return intern_n(ps->c, from, (size_t)(to - from));
}

bool lex_names_a_call(Parser *ps) {
  const Lexer *lx = ps->lex;
  return lx && lx->found.kind == NAME && lx->last.kind == AS;
}

/* What stands left of a bracket on its line: see Found. */
static const char *word_before(Parser *ps, Loc bracket) {
  if (!bracket.line) return NULL;
  const char *to = source_text(ps, bracket), *line = to - (bracket.col - 1);
  while (to > line && (to[-1] == ' ' || to[-1] == '\t')) to--;
  const char *from = to;
  while (from > line && is_word_char(from[-1])) from--;
  bool begins = to == line || to[-1] == '{' || to[-1] == ';';
  return from < to || begins ? intern_n(ps->c, from, (size_t)(to - from)) : NULL;
}

Found lex_found(Parser *ps) {
  Lexer *lx = ps->lex;
  Token t = lx->found;
  if (t.kind == NEWLINE && lx->unwritten) t = lx->held;
  Found f = {
      .loc = lx->found.loc, .last = lx->last.loc, .token = t.kind, .starts_line = t.after_newline};
  if (t.kind == END)
    f.word = lx->is_value ? "the end of the value" : "the end of the file";
  else if (t.kind == NEWLINE)
    f.word = "the end of the line";
  else if (t.kind == RAW_SEMICOLON)
    f.word = "';'";
  else if (t.kind == STRING)
    f.word = "a string";
  else if (t.kind == '\'')
    f.word = "\"'\"";
  else {
    const char *text = source_text(ps, t.loc);
    int shown = t.loc.len > 40 ? 40 : t.loc.len;
    f.word = intern_printf(ps->c, t.loc.len > 40 ? "'%.*s...'" : "'%.*s'", shown, text);
    f.reported = t.kind == ',' && text[0] == ';';
    if (is_word(t.kind)) f.name = intern_n(ps->c, text, t.loc.len);
  }
  if (is_word(lx->last.kind))
    f.before = intern_n(ps->c, source_text(ps, lx->last.loc), lx->last.loc.len);
  Bracket b = lx->given_up.open ? lx->given_up : top(lx) ? *top(lx) : (Bracket){0};
  if (b.open && lx->found.kind == b.open && b.loc.line == lx->found.loc.line &&
      b.loc.col == lx->found.loc.col) /* the bracket that was found is not the one around it */
    b = lx->open.n > 1 ? lx->open.at[lx->open.n - 2] : (Bracket){0};
  f.opener = b.loc;
  f.open = b.open;
  f.before_opener = word_before(ps, b.loc);
  return f;
}
