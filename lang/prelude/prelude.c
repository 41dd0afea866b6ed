/* The texts of the prelude: the files NAME.g beside this one, compiled into gc. Contract: see
 * elab.h. */
#include "lang/prelude/prelude.h"
#include "lang/elab/elab.h"

const char *prelude_text(Ctx *c, int i, const char **name) {
  for (int k = 0; k < i; k++)
    if (!lang_prelude[2 * k]) return NULL;
  if (!lang_prelude[2 * i]) return NULL;
  *name = intern_printf(c, "prelude/%s.g", lang_prelude[2 * i]);
  return lang_prelude[2 * i + 1];
}
