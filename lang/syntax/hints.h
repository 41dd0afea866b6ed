/* Names and syntax of other libraries and languages, and their equivalents here. */
#ifndef GC_LANG_HINTS_H
#define GC_LANG_HINTS_H
#include <stdbool.h>

/* "write concat([x, y], axis = 0)" for "cat"; NULL: the name means nothing there, or the same here.
 */
const char *hint_for_name(const char *name);
/* The same of a function alone, whose hint is an expression of x. */
const char *hint_for_call(const char *name);

/* What to write for the name of a type; NULL: it is not known. */
const char *hint_for_type(const char *name);

/* "its layer declares parameters: bn(images) as n1" for "batch_norm"; NULL: there is none. */
const char *hint_for_layer(const char *name);

/* The library that has a module of the name; NULL: none. */
const char *hint_for_module(const char *name);
/* Of a word of this language that is a function in other ones. */
const char *hint_for_reserved(const char *word);

/* The equivalent of the argument `name` among n names; NULL: none. */
const char *hint_for_argument(const char *name, const char *const *names, int n);

/* What does the same as an argument that no function has here, for one with n arguments of these
   names; NULL: unknown. */
const char *hint_for_lacking(const char *name, const char *const *names, int n);

/* The loop that a recurrent layer is a step of; NULL: it is none. */
const char *hint_for_step(const char *name);

/* The equivalent that it most likely has. */
const char *hint_for_any_argument(const char *name);

/* The hint for a keyword of another language; NULL: none, or word is NULL. */
const char *hint_for_keyword(const char *word);

/* What to say of a text that is no token here, and which token it stands for (0: none); NULL: it is
   not known. */
const char *hint_for_symbol(const char *text, int *token);

#endif
