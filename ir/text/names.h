/* The names of values in text, for the printer and the reader alone: unique in an entry, so that
   text reads back to the same names. */
#ifndef GC_IR_NAMES_H
#define GC_IR_NAMES_H
#include "ir/ir.h"

typedef struct Names Names;

Names *names_new(Ctx *c, Arena *a);
/* The next free name: the base itself, else base.1, base.2, … Interned; the second form takes it.
 */
const char *names_peek(Names *n, const char *base);
const char *names_take(Names *n, const char *base);
/* The base of an unnamed value: its id in digits. */
const char *names_of_id(Ctx *c, ValueId v);
/* Writes a name behind its sigil, in quotes where it is not made of letters, digits, _ and dots. */
void names_print(FILE *f, char sigil, const char *name);
/* Writes a string literal of the text form. */
void names_print_string(FILE *f, const char *s);
/* What names_print leaves bare. */
bool names_is_plain(const char *s);
#endif
