/* From a syntax tree to the IR: names, values, calls, shapes, parameters, minimize.
   Contract: `prog` came from parse_file or parse_text without errors, so inputs have types and
   names in a signature differ; every -D names a let of it. What is wrong is reported through diag
   and gives NULL. The module owns its arena; it passes module_verify. */
#ifndef GC_LANG_ELAB_H
#define GC_LANG_ELAB_H
#include "ir/ir.h"
#include "lang/syntax/ast.h"

typedef struct DefineFlag { /* gc -D NAME=V */
  const char *name;         /* interned */
  Expr *value;              /* from parse_value */
} DefineFlag;

/* What an expression, or a name where it is bound, stood for: once for each time that the
   elaboration comes there, as a def is inlined at each call. */
typedef struct Seen {
  Loc at;
  const Type *type;  /* of a tensor; else NULL */
  const char *value; /* "f32[64,10]", "the number 3", "a list of 2"; interned */
  const char *entry; /* that is elaborated; "" in a let */
  const char *scope; /* the path of the calls around it: "net.fc1" */
  const char *path;  /* of a param, state or hyper; else NULL */
} Seen;

/* Extents of inputs that an attempt takes as multiples, until windows along them have all numbers
   that their strides need. */
typedef struct Multiples {
  const char *name[8]; /* of extents */
  int64_t factor[8];   /* what the extent is a multiple by */
  struct {
    int64_t times, more, bound; /* 2 * h + 1 <= 49 */
  } written[8];                 /* how its declaration has it */
  int n;
  const char *entry; /* whose windows count */
  const char *lacks; /* set to the extent that a stride does not divide, and by what more */
  int64_t by;
} Multiples;

typedef struct ElabOptions {
  const DefineFlag *defines; /* of one name the last counts */
  int n;
  const char **wrong; /* or NULL; set to the name of a -D whose value is wrong */
  bool imported;      /* the text is the import's, which has said what is to be said of its loss */
  bool reassociate;   /* sizes decide in which order the tensors of an einsum are multiplied */
  Multiples *multiples;                    /* or NULL; of an attempt */
  void (*seen)(void *data, const Seen *s); /* or NULL; for editors */
  void *data;
} ElabOptions;

Module *elaborate(Ctx *c, const Program *prog, const ElabOptions *opts);

/* The built-in functions, in the order of builtins.def: for --help, docs and "did you mean". */
typedef struct BuiltinDoc {
  const char *name;
  const char *args; /* "x, axis = none, keep = false" */
  const char *help; /* one line */
} BuiltinDoc;
int builtin_count(void);
const char *builtin_name(int i);
const BuiltinDoc *builtin_docs(Ctx *c); /* of all */

/* Whether every generated program has an option of this name, so that no input or hyper may. */
bool program_has_option(const char *name);

/* File i of the prelude, which is compiled into gc, with the name that messages show,
   "prelude/layers.g"; NULL behind the last. */
const char *prelude_text(Ctx *c, int i, const char **name);
#endif
