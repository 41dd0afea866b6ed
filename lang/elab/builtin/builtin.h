/* The handlers of builtins.def. A handler gets its arguments by name, checked against their kinds:
   arg(s, "axis"). */
#ifndef GC_LANG_ELAB_BUILTIN_H
#define GC_LANG_ELAB_BUILTIN_H
#include "lang/elab/elab_impl.h"

#define BUILTIN(NAME, ARGS, HANDLER, ...) Handler HANDLER;
#include "lang/elab/builtin/builtins.def"
#undef BUILTIN

/* x with this axis and the last one exchanged; x itself for the last. In sort.c. */
ValueId swap_last(Elab *e, ValueId x, int64_t axis);
#endif
