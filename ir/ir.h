/* The intermediate representation: what a .g program is between the parser and the kernels.
   SSA: a module holds globals and entries; an entry holds a block of ops; an op has operands,
   results, attributes, a source location, a scope and sometimes nested blocks. Values and ops
   are dense ids into arrays of their entry, so an analysis is a plain array indexed by id.
   Ownership: everything lives in the module's arena. Nothing here is thread-safe.
   This header is all of it: what builder.h includes, the rules of gradients, text, verifier. */
#ifndef GC_IR_IR_H
#define GC_IR_IR_H
#include "ir/builder.h"
#include "ir/support/arena.h"
#include "ir/support/checked.h"

/* ---------------------------------------------------------------- gradient - */

struct GradCtx {
  Builder *b;
  const Entry *e; /* where op lives: also the builder's entry */
  void *state;    /* of the caller: the pass autodiff, a test */
  bool (*needs)(const GradCtx *g, const Op *op, int operand);   /* behind grad_needs */
  ValueId (*of)(const GradCtx *g, const Op *op, int result);    /* behind grad_of */
  void (*to)(GradCtx *g, const Op *op, int operand, ValueId d); /* behind grad_to */
  void (*region)(GradCtx *g, const Op *op); /* the backward pass of an op with a block */
};
bool grad_needs(const GradCtx *g, const Op *op, int operand);
ValueId grad_of(const GradCtx *g, const Op *op, int result);    /* NO_ID: none */
void grad_to(GradCtx *g, const Op *op, int operand, ValueId d); /* d has the operand's type */

/* ---------------------------------------------------------------- text ----- */

/* Prints in the text form, which module_read reads back exactly. With a plan, each op's line ends
   in
   `; ws+0x4000 live 12..31 in place of %7`, through the hook that passes/ gives. */
typedef struct PrintOptions {
  bool locs; /* source locations and scopes */
  /* Called at the end of each op's line, may write "   ; text" without a newline; may be NULL. */
  void (*note)(FILE *f, const Entry *e, const Op *op, void *data);
  void *data;
} PrintOptions;
void module_print(FILE *f, const Module *m, const PrintOptions *o);
void entry_print(FILE *f, const Entry *e, const PrintOptions *o);
/* Names used in text, unique in the entry: "%logits", "%logits.1", "%12". Interned. */
const char *value_str(const Entry *e, ValueId v);
/* Reads IR text added as a source; NULL after diagnostics. */
Module *module_read(Ctx *c, uint16_t file);

/* ---------------------------------------------------------------- verifier - */

/* Checks the invariants of module.h; false after printing each violation ("op %12 matmul: …"). */
bool module_verify(const Module *m,
                   const char *after); /* after: pass name for the message, or NULL */
bool entry_verify(const Entry *e, const char *after);
/* The op table is complete and consistent; called once by gc and by a unit test. */
bool op_table_check(FILE *f);
/* Prints docs/ops.md: every op, by class, from the table. */
void op_table_markdown(FILE *f);

#endif
