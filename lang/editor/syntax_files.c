/* Syntax files for editors, from the word tables of the language, its prelude and its built-in
   functions: Vim's and the grammar of TextMate, which VS Code, Sublime Text and others read too. */
#include "ir/support/memfile.h"
#include "lang/editor/lsp.h"

/* The classes of words that editors tell apart. */
typedef enum WordClass { WORD_KEYWORD, WORD_TYPE, WORD_CONSTANT, WORD_CLASSES } WordClass;

typedef struct Word {
  const char *token, *text;
} Word;

static const Word words[] = {
#define WORD(token, text) {#token, text},
#include "lang/syntax/words.def"
#undef WORD
};

static WordClass class_of(const Word *w) {
  if (strcmp(w->token, "DTYPE") == 0) return WORD_TYPE;
  bool value = strcmp(w->token, "BOOLEAN") == 0 || strcmp(w->token, "FLOAT") == 0;
  return value ? WORD_CONSTANT : WORD_KEYWORD;
}

static void put_words(FILE *f, WordClass cls, const char *between) {
  int n = 0;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (class_of(&words[i]) == cls) fprintf(f, "%s%s", n++ ? between : "", words[i].text);
  if (cls == WORD_CONSTANT) fprintf(f, "%snone", between);
}

/* The functions of the prelude, then the built-in ones. */
static void put_functions(FILE *f, Ctx *c, const char *between) {
  const char *file, *text;
  int n = 0;
  for (int k = 0; (text = prelude_text(c, k, &file)); k++) {
    const Program *p = parse_text(c, file, text, strlen(text));
    for (uint32_t i = 0; i < p->decls.n; i++)
      if (p->decls.at[i]->kind == DECL_DEF)
        fprintf(f, "%s%s", n++ ? between : "", p->decls.at[i]->name.name);
  }
  for (int i = 0; i < builtin_count(); i++) fprintf(f, "%s%s", n++ ? between : "", builtin_name(i));
}

void syntax_vim(FILE *f, Ctx *c) {
  fputs("\" Vim syntax of gc's programs; printed by gc --help=vim\n"
        "if exists('b:current_syntax') | finish | endif\n"
        "syntax keyword gcKeyword ",
        f);
  put_words(f, WORD_KEYWORD, " ");
  fputs("\nsyntax keyword gcType ", f);
  put_words(f, WORD_TYPE, " ");
  fputs("\nsyntax keyword gcConstant ", f);
  put_words(f, WORD_CONSTANT, " ");
  fputs("\nsyntax keyword gcFunction ", f);
  put_functions(f, c, " ");
  fputs("\nsyntax match gcDeclared /\\v(^(let|hyper|def|entry)\\s+)@<=\\h\\w*/\n"
        "syntax match gcNumber /\\v<\\d+(\\.\\.)@!(\\.\\d*)?([eE][-+]?\\d+)?/\n"
        "syntax region gcString start=/\"/ skip=/\\\\./ end=/\"/ oneline\n"
        "syntax match gcComment /#.*/ contains=@Spell\n"
        "highlight default link gcKeyword Keyword\n"
        "highlight default link gcType Type\n"
        "highlight default link gcConstant Constant\n"
        "highlight default link gcFunction Function\n"
        "highlight default link gcDeclared Identifier\n"
        "highlight default link gcNumber Number\n"
        "highlight default link gcString String\n"
        "highlight default link gcComment Comment\n"
        "let b:current_syntax = 'gc'\n",
        f);
}

static json_t *pattern(const char *scope, const char *match) {
  return json_pack("{s:s, s:s}", "name", scope, "match", match);
}

static json_t *words_pattern(Ctx *c, const char *scope, WordClass cls) {
  MemFile m;
  FILE *f = memfile_open(&m);
  fputs("\\b(", f);
  if (cls == WORD_CLASSES)
    put_functions(f, c, "|");
  else
    put_words(f, cls, "|");
  fputs(")\\b", f);
  return pattern(scope, memfile_intern(c, &m));
}

void syntax_textmate(FILE *f, Ctx *c) {
  json_t *string =
      json_pack("{s:s, s:s, s:s, s:[o]}", "name", "string.quoted.double.gc", "begin", "\"", "end",
                "\"|$", "patterns", pattern("constant.character.escape.gc", "\\\\."));
  json_t *grammar = json_pack(
      "{s:s, s:s, s:[s], s:[o, o, {s:s, s:{s:{s:s}, s:{s:s}}}, o, o, o, o, o]}", "name", "gc",
      "scopeName", "source.gc", "fileTypes", "g", "patterns",
      pattern("comment.line.number-sign.gc", "#.*$"), string, "match",
      "^(let|hyper|def|entry)\\s+([A-Za-z_]\\w*)", "captures", "1", "name", "keyword.control.gc",
      "2", "name", "entity.name.function.gc", words_pattern(c, "keyword.control.gc", WORD_KEYWORD),
      words_pattern(c, "storage.type.gc", WORD_TYPE),
      words_pattern(c, "constant.language.gc", WORD_CONSTANT),
      words_pattern(c, "support.function.gc", WORD_CLASSES),
      pattern("constant.numeric.gc", "\\b\\d+(?!\\.\\.)(\\.\\d*)?([eE][-+]?\\d+)?"));
  json_dumpf(grammar, f, JSON_INDENT(2));
  fputc('\n', f);
  json_decref(grammar);
}
