/* gc --format: a source in one style. Works on the tokens: what stands on a line stays there, and
   its indentation and the spaces between its tokens follow from the tokens and the open brackets
   alone, so formatting again changes nothing. */
#include "ir/support/memfile.h"
#include "lang/editor/editor.h"
#include "lang/syntax/tokens.h"

enum {
  INDENT = 2,
  CONTINUED = 4,      /* the second line of a statement that no bracket holds together */
  COMMENT_COLUMN = 46 /* of comments behind code that is no longer than that */
};

typedef struct Open {
  char sign;
  bool index;  /* "[" behind a value: a colon in it makes a slice */
  bool spaced; /* ... the present one, whose colons have spaces */
  bool ends;   /* the last token of its line */
  int indent;  /* of its line */
  int column;  /* behind it */
} Open;

typedef struct Line {
  const char *code; /* indented */
  int width;        /* characters */
  const SourceToken *comment;
  bool blank; /* a blank line comes before */
} Line;

typedef struct Format {
  FILE *f; /* of the line's code */
  VEC(Line) lines;
  Ctx *c;
  SourceTokens t;
  VEC(Open) open;
  int column;              /* where the next byte goes, in characters */
  int indent;              /* of the line */
  int statement;           /* indentation of the first line of the statement */
  bool opened;             /* the line before ends in "{" */
  const SourceToken *last; /* the last one before the line that is no comment or newline */
} Format;

static bool is_sign(const SourceToken *t, char sign) {
  return t && t->cls == TOKEN_SIGN && t->n == 1 && t->text[0] == sign;
}

static bool is_opening(const SourceToken *t) {
  return is_sign(t, '(') || is_sign(t, '[') || is_sign(t, '{');
}

static bool is_closing(const SourceToken *t) {
  return is_sign(t, ')') || is_sign(t, ']') || is_sign(t, '}');
}

/* A value ends here: what follows is an operator, a call's "(", an index's "[" or an end. */
static bool ends_value(const SourceToken *t) {
  return t && (t->cls == TOKEN_NAME || t->cls == TOKEN_VALUE || is_sign(t, ')') ||
               is_sign(t, ']') || is_sign(t, '\''));
}

static Open *innermost(Format *s) { return s->open.n ? &s->open.at[s->open.n - 1] : NULL; }

/* A minus that negates: behind anything but a value. */
static bool is_negation(const SourceToken *t, const SourceToken *before) {
  return is_sign(t, '-') && !ends_value(before);
}

static bool is_slice_colon(Format *s, const SourceToken *t) {
  Open *b = innermost(s);
  return is_sign(t, ':') && b && b->sign == '[' && b->index;
}

/* Whether a space comes between two tokens of a line; `before` is the one before p. */
static bool has_space(Format *s, const SourceToken *before, const SourceToken *p,
                      const SourceToken *t) {
  if (is_sign(t, ',') || is_sign(t, ';') || is_sign(t, '\'')) return false;
  if (is_sign(p, '{')) return !is_sign(t, '}');
  if (is_sign(t, ')') || is_sign(t, ']') || is_sign(p, '(') || is_sign(p, '[')) return false;
  if (token_is(t, "..") || token_is(p, "..") || token_is(p, "...")) return false;
  if (is_negation(p, before)) return false;
  if (is_slice_colon(s, t)) return is_sign(p, ',') || (innermost(s)->spaced && !is_sign(p, ':'));
  if (is_slice_colon(s, p)) return innermost(s)->spaced;
  if (is_sign(t, '(') || is_sign(t, '[')) return !ends_value(p);
  return true;
}

/* Whether the colons of the slice that begins behind token i have spaces: where one of its ends has
   more than one part. A minus before a number counts to it. */
static bool slice_is_spaced(const Format *s, uint32_t i) {
  int depth = 0, parts = 0;
  const SourceToken *before = NULL;
  for (uint32_t k = i + 1; k < s->t.n; k++) {
    const SourceToken *t = &s->t.at[k];
    if (t->cls == TOKEN_COMMENT || t->cls == TOKEN_NEWLINE) continue;
    if (depth == 0 && (is_sign(t, ',') || is_closing(t))) return false;
    if (depth == 0 && is_sign(t, ':'))
      parts = 0;
    else if (!is_negation(t, before) && ++parts > 1)
      return true;
    depth += is_opening(t) - is_closing(t);
    before = t;
  }
  return false;
}

/* ---- a line ---- */

static void put(Format *s, const char *text, int n) {
  fwrite(text, 1, (size_t)n, s->f);
  for (int i = 0; i < n; i++) s->column += ((unsigned char)text[i] & 0xc0) != 0x80;
}

static void put_spaces(Format *s, int n) {
  for (; n > 0; n--) put(s, " ", 1);
}

static int indent_of(Format *s, const SourceToken *first) {
  Open *b = innermost(s);
  bool closes = is_closing(first);
  if (!b || b->sign == '{') {
    bool goes_on = s->last && s->last->goes_on && !is_sign(s->last, '{') && !closes;
    s->statement = b ? b->indent + (closes ? 0 : INDENT) : 0;
    return s->statement + (goes_on || token_is(first, "|>") ? CONTINUED : 0);
  }
  if (b->ends) return b->indent + (closes ? 0 : INDENT);
  return closes ? b->column - 1 : b->column;
}

static void track_brackets(Format *s, uint32_t i, const SourceToken *p, bool ends_line) {
  const SourceToken *t = &s->t.at[i];
  if (is_closing(t) && s->open.n) s->open.n--;
  if (is_sign(t, ',') && innermost(s) && innermost(s)->index)
    innermost(s)->spaced = slice_is_spaced(s, i);
  if (!is_opening(t)) return;
  Open b = {.sign = t->text[0], .ends = ends_line, .indent = s->indent, .column = s->column};
  if (b.sign == '{') b.indent = s->statement;
  b.index = b.sign == '[' && ends_value(p);
  b.spaced = b.index && slice_is_spaced(s, i);
  vec_push(ctx_arena(s->c), &s->open, b);
}

/* The tokens from `from` up to `to`, the newline. */
static void add_line(Format *s, uint32_t from, uint32_t to, bool blank) {
  const SourceToken *before = NULL, *p = NULL, *last = &s->t.at[to - 1];
  MemFile m;
  Line line = {.blank = blank};
  if (last->cls == TOKEN_COMMENT && to - from > 1) line.comment = &s->t.at[--to];
  s->f = memfile_open(&m);
  s->column = 0;
  s->indent = indent_of(s, &s->t.at[from]);
  put_spaces(s, s->indent);
  for (uint32_t i = from; i < to; i++) {
    const SourceToken *t = &s->t.at[i];
    if (p && has_space(s, before ? before : s->last, p, t)) put_spaces(s, 1);
    put(s, t->text, t->n);
    if (t->cls == TOKEN_COMMENT) break; /* a line of its own */
    track_brackets(s, i, p ? p : s->last, i + 1 == to);
    before = p;
    p = t;
  }
  s->opened = p && is_sign(p, '{');
  if (p) s->last = p;
  line.code = memfile_intern(s->c, &m);
  line.width = s->column;
  vec_push(ctx_arena(s->c), &s->lines, line);
}

static bool is_long(const Line *l) { return l->comment && l->width + 2 > COMMENT_COLUMN; }

/* Where the comment of a line goes, the first of its run; those behind long code on lines that
   follow each other go into one column. */
static int comment_column(const Format *s, uint32_t i) {
  if (!is_long(&s->lines.at[i])) return COMMENT_COLUMN;
  int column = s->lines.at[i].width + 2;
  for (uint32_t k = i + 1; k < s->lines.n && is_long(&s->lines.at[k]) && !s->lines.at[k].blank; k++)
    if (s->lines.at[k].width + 2 > column) column = s->lines.at[k].width + 2;
  return column;
}

/* ---- the whole ---- */

/* Where the line that begins at token i ends: its newline, or the end. */
static uint32_t line_end(const SourceTokens *t, uint32_t i) {
  while (i < t->n && t->at[i].cls != TOKEN_NEWLINE) i++;
  return i;
}

static void add_all(Format *s) {
  bool blank = false;
  for (uint32_t i = 0; i < s->t.n;) {
    uint32_t end = line_end(&s->t, i);
    bool edge = !s->lines.n || s->opened || is_sign(&s->t.at[i], '}');
    if (end > i) add_line(s, i, end, blank && !edge);
    blank = end == i;
    i = end + 1;
  }
}

static void print_lines(const Format *s, FILE *f) {
  int column = 0;
  for (uint32_t i = 0; i < s->lines.n; i++) {
    const Line *l = &s->lines.at[i];
    if (l->blank) fputc('\n', f);
    fputs(l->code, f);
    bool follows = i && is_long(&s->lines.at[i - 1]) && is_long(l) && !l->blank;
    if (l->comment && !follows) column = comment_column(s, i); /* one for all that follow */
    if (l->comment) fprintf(f, "%*s%.*s", column - l->width, "", l->comment->n, l->comment->text);
    fputc('\n', f);
  }
}

/* Formatting moves tokens, it never changes one. */
static void check_same(Ctx *c, const SourceTokens *t, const char *text, size_t n) {
  uint32_t i = 0;
  SourceTokens made = source_tokens(c, ctx_add_source(c, "formatted", text, n));
  for (uint32_t k = 0; k < made.n; k++) {
    const SourceToken *m = &made.at[k];
    if (m->cls == TOKEN_NEWLINE) continue;
    while (i < t->n && t->at[i].cls == TOKEN_NEWLINE) i++;
    if (i == t->n || t->at[i].n != m->n || memcmp(t->at[i].text, m->text, (size_t)m->n) != 0)
      gc_bug(c, "formatting would change line %u", i < t->n ? t->at[i].loc.line : 0);
    i++;
  }
  while (i < t->n && t->at[i].cls == TOKEN_NEWLINE) i++;
  if (i < t->n) gc_bug(c, "formatting would lose line %u", t->at[i].loc.line);
}

void format_source(FILE *f, Ctx *c, uint16_t file) {
  MemFile m;
  Format s = {.c = c, .t = source_tokens(c, file)};
  add_all(&s);
  print_lines(&s, memfile_open(&m));
  memfile_close(&m);
  check_same(c, &s.t, m.text, m.n);
  fwrite(m.text, 1, m.n, f);
  memfile_free(&m);
}
