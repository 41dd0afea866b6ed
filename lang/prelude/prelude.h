/* The texts of the prelude, which is compiled into gc. */
#ifndef GC_LANG_PRELUDE_H
#define GC_LANG_PRELUDE_H
extern const char *const lang_prelude[]; /* made from *.g: names and texts in turn, then NULL */
#endif
