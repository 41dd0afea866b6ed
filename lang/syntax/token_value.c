/* Token values from text: numbers, strings, names, reserved words, and symbols of other languages.
   Contract: called by scan.l only. After an error, which was reported, the value has the right
   kind, so that parsing continues. */
#include "lang/syntax/hints.h"
#include "lang/syntax/parse.tab.h"
#include "lang/syntax/parse_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const struct {
  int token;
  const char *text;
} words[] = {
#define WORD(token, text) {token, text},
#include "lang/syntax/words.def"
#undef WORD
};

enum { WORDS = sizeof words / sizeof words[0] };

Loc scan_place(Parser *ps, size_t bytes) {
  Loc loc = {.line = ps->line, .col = ps->col, .file = ps->file};
  loc.len = (uint16_t)(bytes > UINT16_MAX ? UINT16_MAX : bytes ? bytes : 1);
  ps->col += (uint32_t)bytes;
  return loc;
}

void scan_newline(Parser *ps) {
  ps->line++;
  ps->col = 1;
}

/* While the parser skips to the end of a line, what stands there is not said to be wrong as well.
 */
#define scan_error(ps, ...) (lex_is_recovering(ps) ? (void)0 : parse_error(ps, __VA_ARGS__))

static int number_token(TokenValue *val, const char *text, bool *out_of_range) {
  errno = 0;
  if (!strpbrk(text, ".eE")) {
    val->INTEGER = strtoll(text, NULL, 10);
    *out_of_range = errno == ERANGE;
    return INTEGER;
  }
  val->FLOAT = strtod(text, NULL);
  *out_of_range = errno == ERANGE && (val->FLOAT == 0 || isinf(val->FLOAT));
  return FLOAT;
}

int scan_number(Parser *ps, Loc loc, const char *text, size_t n, TokenValue *val) {
  bool out_of_range;
  int token = number_token(val, text, &out_of_range);
  if (out_of_range && token == INTEGER)
    scan_error(ps, loc, "an integer this large does not fit i64; write it as a float, as in 1e20");
  else if (out_of_range && val->FLOAT == 0)
    scan_error(ps, loc, "a number this small is zero even in f64; write 0.0 if that is meant");
  else if (out_of_range)
    scan_error(ps, loc, "a number this large does not fit f64; write inf if that is meant");
  return token;
}

int scan_bad_number(Parser *ps, Loc loc, const char *text, TokenValue *val) {
  size_t digits = strspn(text, "0123456789._eE+-");
  if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X' || text[1] == 'b' || text[1] == 'o'))
    scan_error(ps, loc, "numbers are decimal; '%.40s' is not one", text);
  else if (strchr(text, '_') && text[strspn(text, "0123456789_")] == 0)
    scan_error(ps, loc, "a number has no '_' between its digits");
  else if ((text[digits] == 'f' || text[digits] == 'F' || text[digits] == 'L') && !text[digits + 1])
    scan_error(ps, loc, "a number has no suffix; it takes the dtype of what it meets");
  else {
    scan_error(ps, loc, "'%.40s' is neither a number nor a name: names do not start with a digit",
               text);
    val->NAME = intern(ps->c, text);
    return NAME;
  }
  val->INTEGER = 1;
  return INTEGER;
}

/* A wrong string has no bytes, so that no second error says that its file is missing. */
static const Text wrong_string = {NULL, 0};

int scan_string(Parser *ps, Loc loc, const char *text, size_t n, TokenValue *val) {
  char *out = arena_alloc(ps->arena, n);
  Text whole = {out, 0};
  bool bad = false;
  for (size_t i = 1; i + 1 < n; i++) {
    Loc at = loc;
    at.col += (uint32_t)i;
    at.len = text[i] == '\\' ? 2 : 1;
    char ch = text[i];
    if (ch == '\\') {
      const char *from = "nt\\\"", *to = "\n\t\\\"", *known = strchr(from, text[++i]);
      ch = known && *known ? to[known - from] : 0;
      if (!ch) scan_error(ps, at, "in a string only \\n, \\t, \\\\ and \\\" are known");
    } else if (ch == 0) {
      scan_error(ps, at, "a NUL byte stands in this string");
    }
    bad |= ch == 0;
    out[whole.n++] = ch;
  }
  val->STRING = bad ? wrong_string : whole;
  return STRING;
}

int scan_open_string(Parser *ps, Loc loc, TokenValue *val) {
  scan_error(ps, loc, "this string does not end on its line; it lacks a closing \"");
  return GC_PARSE_error;
}

int scan_word(Parser *ps, const char *text, size_t n, TokenValue *val) {
  for (int i = 0; i < WORDS; i++) {
    if (strncmp(words[i].text, text, n) != 0 || words[i].text[n] != 0) continue;
    switch (words[i].token) {
    case BOOLEAN: val->BOOLEAN = text[0] == 't'; break;
    case FLOAT: val->FLOAT = INFINITY; break;
    case DTYPE: val->DTYPE = intern_n(ps->c, text, n); break;
    default: break;
    }
    return words[i].token;
  }
  val->NAME = intern_n(ps->c, text, n);
  return NAME;
}

bool word_is_reserved(const char *word) {
  for (int i = 0; i < WORDS; i++)
    if (strcmp(words[i].text, word) == 0) return true;
  return false;
}

bool word_is_dtype(const char *word) {
  for (int i = 0; word && i < WORDS; i++)
    if (words[i].token == DTYPE && strcmp(words[i].text, word) == 0) return true;
  return false;
}

bool token_is_reserved(int token) {
  for (int i = 0; i < WORDS; i++)
    if (words[i].token == token) return true;
  return false;
}

int scan_foreign(Parser *ps, Loc loc, const char *text) {
  int token;
  const char *hint = hint_for_symbol(text, &token);
  if (hint && token == '=') {
    const char *x = lex_name_before(ps, loc);
    if (!x) x = "x";
    scan_error(ps, loc,
               "%s, write %.60s = %.60s %c ..., and of a param or state %.60s := %.60s %c ...",
               hint, x, x, *text, x, x, *text);
  } else if (hint)
    scan_error(ps, loc, "%s", hint);
  else
    scan_error(ps, loc, "'%s' has no meaning outside of comments and strings", text);
  return token;
}

/* "dim=1, keepdim=True" as "axis = 1, keep = true". */
static const char *arguments_here(Ctx *c, const char *text) {
  const char *out = "", *word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  while (*text) {
    size_t n = strspn(text, word), gap = strspn(text + n, " ");
    const char *name = intern_n(c, text, n ? n : 1), *here = NULL;
    const bool equals = text[n + gap] == '=' && text[n + gap + 1] != '=';
    if (n && equals) {
      here = hint_for_any_argument(name);
      out = intern_printf(c, "%s%s = ", out, here ? here : name);
      text += n + gap + 1;
      text += strspn(text, " ");
      continue;
    }
    if (strcmp(name, "True") == 0 || strcmp(name, "False") == 0)
      here = *name == 'T' ? "true" : "false";
    out = intern_printf(c, "%s%s", out, here ? here : name);
    text += n ? n : 1;
  }
  return out;
}

/* What a module's function is called with: "write where(c, x, 0)". */
static const char *module_hint(Parser *ps, Loc loc, const char *f) {
  const char *args = lex_arguments_behind(ps, loc);
  return intern_printf(ps->c, "write %.40s(%s)", f,
                       args && *args ? arguments_here(ps->c, args) : "x");
}

/* torch.nn.functional.relu: one message, at its last name. */
static bool scan_module(Parser *ps, Loc loc, const char *text) {
  const char *module = lex_chain_before(ps, loc), *library = hint_for_module(module);
  const char *hint = hint_for_name(text + 1);
  if (!library) return false;
  if (!hint) hint = hint_for_reserved(text + 1);
  if (!lex_chain_goes_on(ps, loc))
    scan_error(ps, loc, "'%s' is a module of %s, and there are no modules; %s", module, library,
               hint ? hint : module_hint(ps, loc, text + 1));
  return true;
}

/* x.f(a): write f(x, a) or x |> f(a) */
static void scan_method(Parser *ps, Loc loc, const char *f) {
  const char *args = lex_arguments_behind(ps, loc), *x = lex_name_before(ps, loc);
  args = args ? arguments_here(ps->c, args) : "";
  if (!x) x = "x";
  if (strcmp(f, "reshape") == 0 && *args && !strchr(args, '['))
    args = intern_printf(ps->c, "[%s]", args);
  scan_error(ps, loc,
             "values have no fields or methods; write %.40s(%.40s%s%s) or %.40s |> %.40s%s%s%s", f,
             x, *args ? ", " : "", args, x, f, *args ? "(" : "", args, *args ? ")" : "");
}

/* The text with the value that a field is asked of in the place of x: "write rank(h)". */
static const char *of_value(Ctx *c, const char *text, const char *value) {
  const char *out = "", *word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  for (size_t n; *text; text += n ? n : 1) {
    n = strspn(text, word);
    const bool is_x = n == 1 && *text == 'x';
    out = intern_printf(c, "%s%s", out, is_x ? value : intern_n(c, text, n ? n : 1));
  }
  return out;
}

static void scan_known_field(Parser *ps, Loc loc, const char *name) {
  const char *x = lex_name_before(ps, loc), *call = hint_for_call(name);
  scan_error(ps, loc, "values have no fields or methods; %s",
             call && x && strlen(x) <= 40 ? of_value(ps->c, call, x) : hint_for_name(name));
}

static bool is_config(const char *name) {
  static const char *const names[] = {"config", "cfg", "hparams", "args"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

void scan_field(Parser *ps, Loc loc, const char *text) {
  if (scan_module(ps, loc, text)) return;
  ps->field = loc;
  if (strcmp(lex_chain_before(ps, loc), "self") == 0)
    scan_error(ps, loc,
               "there are no objects; write %.40s = linear(x, 10) as %.40s where the layer is used",
               text + 1, text + 1);
  else if (strcmp(text, ".step") == 0 || strcmp(text, ".minimize") == 0)
    scan_error(ps, loc, "values have no methods; write minimize loss with adamw(1e-3)");
  else if (strcmp(text, ".at") == 0)
    scan_error(ps, loc, "values are immutable; write y = dynamic_update(x, part, at)");
  else if (strcmp(text, ".T") == 0)
    scan_error(ps, loc, "values have no fields; a transpose is x'");
  else if (lex_names_a_call(ps))
    scan_error(ps, loc,
               "'as' gives one name; to put another in front of it write scope NAME { … }");
  else if (strcmp(text, ".params") == 0 || strcmp(text, ".parameters") == 0)
    scan_error(ps, loc, "values have no fields or methods; write params(\"%.60s\")",
               lex_chain_before(ps, loc));
  else if (is_config(lex_chain_before(ps, loc)))
    scan_error(
        ps, loc,
        "values have no fields; let %.60s = 12 has the number, and gc --config=config.json or "
        "-D %.60s=… gives another one",
        text + 1, text + 1);
  else if (hint_for_name(text + 1))
    scan_known_field(ps, loc, text + 1);
  else
    scan_method(ps, loc, text + 1);
}

void scan_block_comment(Parser *ps, Loc loc, const char *text) {
  scan_error(ps, loc, "a comment starts with '#' and ends with the line; there is no '%s'", text);
}

int scan_foreign_name(Parser *ps, Loc loc, const char *text, TokenValue *val) {
  scan_error(ps, loc, "names are made of A-Z, a-z, 0-9 and _; '%.60s' is not one", text);
  val->NAME = intern(ps->c, text);
  return NAME;
}

int scan_foreign_string(Parser *ps, Loc loc, TokenValue *val) {
  scan_error(ps, loc, "a string stands in plain double quotes (\"), not in “ ”");
  val->STRING = wrong_string;
  return STRING;
}

void scan_bad_bytes(Parser *ps, Loc loc, const char *text, int n) {
  unsigned char byte = (unsigned char)text[0];
  if (n == 3)
    scan_error(ps, loc, "a byte order mark may only start a file");
  else if (byte == 0)
    scan_error(ps, loc, "a NUL byte stands here; is this a text file?");
  else if (byte >= 0x80)
    scan_error(ps, loc, "byte 0x%02x is not UTF-8; is this a text file?", byte);
  else
    scan_error(ps, loc, "control character 0x%02x stands here; is this a text file?", byte);
}
