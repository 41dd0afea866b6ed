/* The text of the prelude: prelude.g, compiled into gc as an array. Contract: see elab.h. */
#include "lang/elab/elab.h"

extern const char lang_text_prelude[]; /* made from prelude.g when gc is built; ends with a NUL */

const char *prelude_text(size_t *len) {
  *len = strlen(lang_text_prelude);
  return lang_text_prelude;
}
