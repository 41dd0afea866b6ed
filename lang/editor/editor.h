/* What people write programs with: the formatter, the language server, syntax files. */
#ifndef GC_LANG_EDITOR_H
#define GC_LANG_EDITOR_H
#include "ir/ir.h"
#include "lang/syntax/ast.h"

/* Prints the source in gc's one style: two spaces a block, one blank line at most, comments behind
   code in one column. Newlines and comments stay where they are, so the tokens are the same ones;
   formatted text is its own format. The source has been parsed without errors. */
void format_source(FILE *f, Ctx *c, uint16_t file);

/* Syntax files for editors. */
void syntax_vim(FILE *f, Ctx *c);
void syntax_textmate(FILE *f, Ctx *c);

/* gc --lsp: answers an editor until it says exit; the exit code of the process. `plan` makes the
   memory plan of a module as `gc -O2` would, false where it cannot; `models` reads those that a
   text uses. */
typedef bool PlanModule(Ctx *c, Module *m);
int lsp_serve(FILE *in, FILE *out, PlanModule *plan, const ModelReader *models);
#endif
