/* Names of functions and arguments in NumPy and PyTorch, and what does the same here. */
#ifndef GC_LANG_ELSEWHERE_H
#define GC_LANG_ELSEWHERE_H

/* "write concat([x, y], axis = 0)" for "cat"; NULL: the name means nothing there, or the same here.
 */
const char *known_elsewhere(const char *name);

/* Which of n names of arguments means what `name` does there; NULL: none. */
const char *known_argument(const char *name, const char *const *names, int n);

/* What to write instead of a keyword of another language; NULL: it is none, or word is NULL. */
const char *known_keyword(const char *word);

#endif
