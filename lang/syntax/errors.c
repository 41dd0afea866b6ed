/* Syntax errors: the expected and the found token; for a known mistake, the remedy.
   Contract: one error with its notes for each call. Decisions are by kinds of tokens; their words
   come from the token table of parse.y. */
#include "lang/syntax/hints.h"
#include "lang/syntax/parse.tab.h"
#include "lang/syntax/parse_impl.h"

/* Tokens of parse.y by their kind, so that the way one is spelled in a message decides nothing. */
typedef struct Expected {
  const int *token;
  const char *const *word; /* of each, as a message names it */
  int n;
} Expected;

static const char *expected_word(Expected e, int token) {
  for (int i = 0; i < e.n; i++)
    if (e.token[i] == token) return e.word[i];
  return NULL;
}

static bool expects(Expected e, int token) { return expected_word(e, token) != NULL; }

static bool one_of(const char *word, const char *const *list) {
  for (int i = 0; word && list[i]; i++)
    if (strcmp(word, list[i]) == 0) return true;
  return false;
}

/* Tokens said as one: where the first is expected, all are, and the group's name is enough. */
typedef struct Group {
  const char *name;
  int n;
  int token[24];
} Group;

static const Group value_group = {
    "a value", 10, {INTEGER, FLOAT, BOOLEAN, STRING, NAME, DTYPE, '(', '[', '-', NOT}};
static const Group operator_group = {
    "an operator", 24, {'+', '-', '*', '/', '%', QUOTIENT, SHARED, FROM, '@', POW, PIPE, IF,
                        AND, OR,  AS,  EQ,  NE,  '<',      LE,     '>',  GE,  '(', '[',  '\''}};
static const Group statement_group = {"a statement",
                                      17,
                                      {RETURN, YIELD, PARAM, STATE, TRANSIENT, FOR, SCAN, IF, SCOPE,
                                       MINIMIZE, LET, HYPER, DEF, ENTRY, USE, WITH, TRAIN}};
static const Group declaration_group = {"a declaration (let, hyper, def, entry or use)",
                                        18,
                                        {LET, HYPER, DEF, ENTRY, USE, RETURN, YIELD, PARAM, STATE,
                                         TRANSIENT, FOR, SCAN, IF, SCOPE, MINIMIZE, WITH, TRAIN,
                                         END}};

enum { MAX_SAID = 8 };
typedef struct Said {
  const char *at[MAX_SAID];
  int n;
} Said;

static void say(Said *s, const char *word) {
  if (s->n < MAX_SAID) s->at[s->n++] = word;
}

static bool in_group(const Group *g, int token) {
  for (int i = 0; g && i < g->n; i++)
    if (g->token[i] == token) return true;
  return false;
}

/* A quote transposes what is left of it, but who writes one elsewhere begins a string. */
static bool is_operator(int token) { return token != '\'' && in_group(&operator_group, token); }

/* The words for a message: groups first, then what is in none of them. */
static Said choose(Expected e) {
  Said s = {{0}, 0};
  const Group *used[2] = {NULL, NULL};
  bool a_type = expects(e, DTYPE) && !expects(e, INTEGER);
  const char *end_of_line = expected_word(e, NEWLINE); /* NULL: the line cannot end here */
  if (expects(e, RETURN) && !expects(e, '}')) {
    used[0] = &declaration_group;
    used[1] = &value_group;
    say(&s, declaration_group.name);
  } else if (expects(e, RETURN)) {
    used[0] = &statement_group;
    used[1] = &value_group;
    say(&s, statement_group.name);
  } else if (expects(e, INTEGER)) {
    used[0] = &value_group;
    say(&s, value_group.name);
  } else if (expects(e, '+')) {
    used[0] = &operator_group;
  }
  for (int i = 0; i < e.n; i++) {
    int t = e.token[i];
    if (in_group(used[0], t) || in_group(used[1], t)) continue;
    if (t == NAME && a_type) continue; /* few names are types */
    /* where a line may end, a list that could go on is not what was forgotten */
    if (end_of_line && (t == ',' || t == ':' || t == NEWLINE)) continue;
    say(&s, e.word[i]);
  }
  if (end_of_line && used[0] == &operator_group) say(&s, operator_group.name);
  if (end_of_line) say(&s, end_of_line);
  return s;
}

static const char *joined(Parser *ps, Said s) {
  const char *text = s.n ? s.at[0] : "nothing more";
  for (int i = 1; i < s.n; i++)
    text = intern_printf(ps->c, "%s%s%s", text, i + 1 == s.n ? " or " : ", ", s.at[i]);
  return text;
}

static const char *const declaration_words[] = {"let", "hyper", "def", "entry", "use", NULL};
static const char *const statement_words[] = {"param", "state",     "for",  "scan",     "if",
                                              "scope", "else",      "with", "minimize", "return",
                                              "yield", "transient", NULL};

/* Of the word that is found and the one before it, that with a hint: for a keyword of another
   language, else for a word of this one that is a function there. */
static const char *hinted_word(const Found *f) {
  if (f->name && hint_for_keyword(f->name)) return f->name;
  if (f->before && hint_for_keyword(f->before)) return f->before;
  return f->name && word_is_reserved(f->name) && hint_for_reserved(f->name) ? f->name : f->before;
}

static const char *hint_of_word(const char *word) {
  if (!word) return NULL;
  return word_is_reserved(word) ? hint_for_reserved(word) : hint_for_keyword(word);
}

/* A name where a keyword was meant: "retrun x", "entyr train(...)". */
static void hint_keyword(Parser *ps, const char *word, bool outside) {
  if (!word) return;
  const char *hint = hint_of_word(word);
  if (hint) {
    parse_note(ps, SEV_HINT, (Loc){0}, "%s", hint);
    return;
  }
  if (word_is_reserved(word)) return;
  const char *const *list = outside ? declaration_words : statement_words;
  int n = 0;
  while (list[n]) n++;
  const char *near = nearest_name(ps->c, word, list, n);
  if (near) parse_note(ps, SEV_HINT, (Loc){0}, "did you mean '%s' instead of '%s'?", near, word);
}

/* A list stands in parentheses that call nothing. */
static bool is_listed(Expected e, const Found *f) {
  return f->open == '(' && f->token == ',' && expects(e, '+') && !expects(e, ',');
}

/* In front of such a list stands the word. */
static bool lists_behind(Expected e, const Found *f, const char *word) {
  return is_listed(e, f) && f->before_opener && strcmp(f->before_opener, word) == 0;
}

/* Of minimize and update. */
static bool hint_clause(Parser *ps, Expected e, const Found *f) {
  if ((expects(e, WITH) && !expects(e, RETURN)) || lists_behind(e, f, "minimize")) {
    parse_note(ps, SEV_HINT, (Loc){0}, "an optimizer follows: minimize loss with adamw(1e-3)");
    return true;
  }
  static const char *const clauses[] = {"by", "clip", "only", "accumulate", NULL};
  bool clause = f->name && expects(e, '+') && expects(e, NEWLINE) && one_of(f->name, clauses);
  if (clause || (f->token == '=' && f->before && strcmp(f->before, "if") == 0)) {
    parse_note(ps, SEV_HINT, (Loc){0},
               "commas separate the clauses of minimize and update: with sgd(lr), %s = …",
               clause ? f->name : "if");
    return true;
  }
  return false;
}

/* Of loops, and of what counts. */
static bool hint_loop(Parser *ps, Expected e, const Found *f) {
  if (f->token == FOR && f->open == '[') {
    parse_note(ps, SEV_HINT, (Loc){0},
               "a loop stacks what it yields: ys = for i in 0..n { yield x[i] }");
    return true;
  }
  if (f->token == RANGE && f->open == '[' && word_is_dtype(f->before_opener)) {
    parse_note(ps, SEV_HINT, (Loc){0}, "a dim that is known at run time has a bound: n <= 64");
    return true;
  }
  if (expects(e, RANGE) || lists_behind(e, f, "in") ||
      (f->token == ',' && e.n == 1 && expects(e, IN))) {
    const char *list = f->token == '{' && f->before ? f->before : "list";
    const bool named = f->token == '{' && f->before;
    parse_note(ps, SEV_HINT, (Loc){0}, "a loop counts: i in 0..n { … } runs for i = 0 to n - 1%s",
               named ? intern_printf(ps->c,
                                     "; of a list i in 0..len(%s), of a tensor i in 0..dim(%s, 0), "
                                     "with %s[i]",
                                     list, list, list)
                     : "");
    return true;
  }
  return false;
}

/* Of a block, a list or a value that is not there. */
static bool hint_part(Parser *ps, Expected e, const Found *f) {
  if (f->token == ':' && expects(e, '{')) {
    parse_note(ps, SEV_HINT, (Loc){0}, "a block stands in braces: { … }");
    ps->braceless = true;
    return true;
  }
  if (is_listed(e, f)) {
    const char *word = f->before_opener;
    bool apart = one_of(word, (const char *const[]){"", "return", "yield", NULL});
    parse_note(ps, SEV_HINT, (Loc){0}, "%s",
               apart ? "several values stand without parentheses: a, b"
                     : "a list stands in square brackets: [1, 2]");
    return true;
  }
  if (f->token == RANGE && expects(e, ELLIPSIS)) {
    parse_note(
        ps, SEV_HINT, (Loc){0},
        "':' takes all of an axis or a list, and a:b a part of it; '...' stands for all axes "
        "that are not named");
    return true;
  }
  if (f->token == ':' && e.n == 1 && expects(e, '=')) {
    parse_note(ps, SEV_HINT, (Loc){0}, "a let has the type of its value: let N = 64");
    return true;
  }
  if (f->token == '(' && f->before && expects(e, '[') && !expects(e, '+')) {
    parse_note(ps, SEV_HINT, (Loc){0}, "a shape stands in square brackets: %s[64, 784]", f->before);
    return true;
  }
  bool in_list = (f->open == '(' || f->open == '[') && !f->starts_line;
  if (in_list && in_group(&value_group, f->token) && expects(e, ',') &&
      !hint_of_word(hinted_word(f))) {
    parse_note(ps, SEV_HINT, (Loc){0}, "commas separate what stands in brackets");
    return true;
  }
  bool typed = e.n == 1 ? !f->before : e.n == 2 && expects(e, '[');
  if (expects(e, '=') && typed) {
    parse_note(ps, SEV_HINT, (Loc){0},
               "it needs a value to begin with, as in = glorot() or = zeros()");
    return true;
  }
  return false;
}

/* What an unfinished statement still needs, or a list in parentheses that call nothing: true where
   that is known and was said. */
static bool hint_missing(Parser *ps, Expected e, const Found *f) {
  return hint_clause(ps, e, f) || hint_loop(ps, e, f) || hint_part(ps, e, f);
}

/* Of operators and names: true if it was reported. */
static bool mistaken_operator(Parser *ps, Expected e, const Found *f) {
  static const Group comparisons = {"a comparison", 6, {EQ, NE, '<', LE, '>', GE}};
  bool is_word = f->name != NULL;
  if (f->token == '=' && expects(e, '+') && !expects(e, '=')) {
    if (expects(e, EQ))
      parse_error(ps, f->loc,
                  expects(e, NEWLINE)
                      ? "only names can stand left of '='; values are immutable, write "
                        "x = dynamic_update(x, part, at)"
                      : "'=' binds a name; to compare write '=='");
    else
      parse_error(ps, f->loc, "unexpected '=' after a comparison");
    return true;
  }
  if (f->token == UPDATE && expects(e, '+') && expects(e, NEWLINE)) {
    parse_error(
        ps, f->loc,
        "only names can stand left of ':='; x := dynamic_update(x, part, at) gives a part anew");
    return true;
  }
  if (in_group(&comparisons, f->token) && expects(e, AND) && !expects(e, EQ)) {
    parse_error(ps, f->loc, "comparisons do not chain; join them with 'and': a < b and b < c");
    return true;
  }
  if (is_word && word_is_reserved(f->name) && expects(e, NAME) && !f->starts_line &&
      !expects(e, INTEGER)) {
    parse_error(ps, f->loc, "'%s' is a reserved word, it cannot be a name", f->name);
    if (f->token == DTYPE && f->open == '(')
      parse_note(ps, SEV_HINT, (Loc){0}, "a name stands in front of its type: x : f32[64, 784]");
    return true;
  }
  if (is_operator(f->token) && expects(e, PIPE) && !expects(e, '+')) {
    parse_error(ps, f->loc, "'|>' binds loosest; put what it makes in parentheses: (x |> f) + 1");
    return true;
  }
  return false;
}

/* At the begin of a line. */
static bool mistaken_begin(Parser *ps, Expected e, const Found *f) {
  if (f->token == QUOTIENT && expects(e, RETURN)) {
    parse_error(ps, f->loc, "a comment starts with '#'; '//' divides and rounds down");
    return true;
  }
  if (f->token == '@' && expects(e, RETURN) && !f->opener.line) {
    parse_error(ps, f->loc, "there are no decorators; gc compiles every entry as a whole");
    return true;
  }
  if (is_operator(f->token) && expects(e, RETURN) && f->starts_line) {
    parse_error(ps, f->loc, "a line cannot start with %s", f->word);
    parse_note(ps, SEV_HINT, (Loc){0}, "to go on with the line above, end that line with %s",
               f->word);
    return true;
  }
  return false;
}

/* In the place of a value, a type or the name of a file. */
static bool mistaken_value(Parser *ps, Expected e, const Found *f) {
  if (f->token == '\'' && (expects(e, INTEGER) || (e.n == 1 && expects(e, STRING)))) {
    parse_error(ps, f->loc,
                "expected a value, found a single quote; strings stand in double quotes");
    return true;
  }
  if (e.n == 1 && expects(e, STRING)) {
    parse_error(ps, f->loc, "expected the name of a file in double quotes, found %s", f->word);
    return true;
  }
  if (expects(e, ':') && (e.n == 1 || (e.n == 2 && expects(e, '=')))) {
    parse_error(ps, f->loc, "expected ':' and a type, found %s", f->word);
    return true;
  }
  if (e.n == 1 && expects(e, LIKE)) {
    const bool tree = one_of(f->name, (const char *const[]){"params", "states", NULL});
    parse_error(ps, f->last, "expected ':' and a type, found '='");
    parse_note(ps, SEV_HINT, (Loc){0}, "%s",
               tree ? "a state of each param below a path: state NAME = like params(\"net\")"
                    : "its shape stands behind the name: w : f32[10, 4] = glorot()");
    return true;
  }
  if (f->token == '{' && expects(e, INTEGER) && !expects(e, RETURN) && f->open != '[') {
    parse_error(ps, f->loc, "expected a value, found '{'");
    bool returned = f->before && strcmp(f->before, "return") == 0;
    parse_note(ps, SEV_HINT, (Loc){0}, "%s",
               returned ? "outputs stand side by side: return loss, accuracy = a"
                        : "a list stands in square brackets: [1, 2]");
    return true;
  }
  if (f->token == STRING && expects(e, '\'')) {
    parse_error(ps, f->loc, "a string cannot follow a value");
    if (f->before) hint_keyword(ps, f->before, f->open != '{' && f->opener.line == 0);
    return true;
  }
  return false;
}

/* Mistakes with one known cause: true when one of them was reported. */
static bool known_mistake(Parser *ps, Expected e, const Found *f) {
  return mistaken_operator(ps, e, f) || mistaken_begin(ps, e, f) || mistaken_value(ps, e, f);
}

static const char *found_text(Parser *ps, const Found *f) {
  bool reserved = f->name && word_is_reserved(f->name) && !f->starts_line;
  return reserved ? intern_printf(ps->c, "the reserved word '%s'", f->name) : f->word;
}

static const char a_type[] =
    "a type is one of f32 f16 bf16 f64 i32 i64 u8 i8 bool and a shape: f32[64, 784], or "
    "f32[shape(x)] for the shape of x";

void syntax_error(Parser *ps, const int *token, const char *const *word, int n) {
  if (ps->stopped) return;
  Expected e = {token, word, n};
  Found f = lex_found(ps);
  if (!f.reported && !known_mistake(ps, e, &f)) {
    bool outside = f.open != '{' && f.opener.line == 0;
    parse_error(ps, f.loc, "expected %s, found %s", joined(ps, choose(e)), found_text(ps, &f));
    bool closer = expects(e, ')') || expects(e, ']');
    if (closer && f.opener.line && f.open != '{' && f.opener.line != f.loc.line)
      parse_note(ps, SEV_NOTE, f.opener, "this '%c' is still open", f.open);
    bool dangling = expects(e, INTEGER) && !expects(e, RETURN) && f.starts_line && f.last.line;
    if (dangling && f.open != '(' && f.open != '[')
      parse_note(ps, SEV_NOTE, f.last, "a value is missing behind this");
    const char *named = f.token == '[' ? f.before : f.name; /* `int` alone is a kind */
    const char *type = named ? hint_for_type(named) : NULL;
    if ((expects(e, DTYPE) && !expects(e, INTEGER)) || (type && f.token == '['))
      parse_note(ps, SEV_HINT, (Loc){0}, "%s", type ? type : a_type);
    else if (!hint_missing(ps, e, &f))
      hint_keyword(ps, hinted_word(&f), outside);
  }
  lex_recover(ps);
}

void type_error(Parser *ps) {
  static const int token[] = {DTYPE, '['};
  static const char *const word[] = {"a dtype", "'['"};
  syntax_error(ps, token, word, 2);
}
