/* Regular expressions of pre-tokenizers, by backtracking over code points: alternatives, groups,
   (?i:…), classes with \p{…}, greedy and lazy quantifiers, possessive ones of one character,
   lookahead. Contract: what is not one of these is refused when it is compiled, with the reason; a
   search that goes back for too long fails. */
#ifndef GCRT_REGEX_H
#define GCRT_REGEX_H
#include "runtime/tokens/unicode.h"

typedef struct Regex Regex;
enum { REGEX_WHY = 160 };
/* NULL: why it cannot be. */
Regex *regex_compile(Slice pattern, char why[REGEX_WHY]);
Regex *regex_literal(Slice text, char why[REGEX_WHY]); /* that matches the text alone */
void regex_free(Regex *r);

typedef enum Found { FOUND, FOUND_NONE, FOUND_TOO_LONG } Found;
/* The first match that begins at *from or behind. The searches of a text, of which the first begins
   at 0, together take a number of steps in proportion to its length. */
Found regex_find(Regex *r, Slice s, uint64_t *from, uint64_t *to);
#endif
