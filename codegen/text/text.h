/* Text that grows in an arena, of which generated source is made, and how names and strings of the
   user's appear in it. */
#ifndef GC_CODEGEN_TEXT_H
#define GC_CODEGEN_TEXT_H
#include "ir/ir.h"

typedef struct Text {
  Arena *a;
  VEC(char) s; /* not terminated; text_str terminates */
  int indent;  /* of text_line, in steps of two spaces */
  int base;    /* ... of the first line */
} Text;
Text text_new(Arena *a, int indent);
void text_add(Text *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* one whole line, indented */
void text_line(Text *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_open(Text *x, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));  /* line, then deeper */
void text_close(Text *x, const char *line); /* shallower, then the line: "}" */
const char *text_str(Text *x);
/* The lines of y, as deep in x as a line would be now. */
void text_append(Text *x, const Text *y);

/* Texts of positions, as a person would write them: "0" and factors of 0 and 1 leave no trace. A
   factor is a name, a number, a product, or in parentheses. */
const char *text_times(Arena *a, const char *factor, int64_t n);   /* x * n: a factor */
const char *text_plus(Arena *a, const char *x, const char *y);     /* x + y: a sum */
const char *text_sum(Arena *a, const char *x, const char *y);      /* (x + y): a factor */
const char *text_minus(Arena *a, const char *x, const char *name); /* (x - y): a factor */

/* A string literal of C. */
const char *text_quoted(Arena *a, const char *s);
/* Letters, digits and _ of a name. */
const char *text_mangled(Arena *a, const char *s);
/* Safe inside a comment. */
const char *text_comment(Arena *a, const char *s);
#endif
