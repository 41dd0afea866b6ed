/* What the files of the command line share: cli.c reads it, cli_complete.c looks at the whole of
   it, cli_help.c prints what may stand there. */
#ifndef GCRT_CLI_H
#define GCRT_CLI_H
#include "runtime/program/command.h"

typedef enum OptKind { COUNT, SEED, REAL, TEXT, OPTIONAL, LIST, FLAG } OptKind;
typedef enum OptWhere { ALL, TRAIN, INFER } OptWhere;
typedef struct Opt {
  const char *name, *metavar;
  OptKind kind;
  OptWhere where;
  const char *help;
} Opt;
extern const Opt cli_opts[OPT_COUNT];

bool cli_usage(Err *e, const char *what, const char *found);
/* Indices; -1: none has that name. */
int cli_find_tensor(const GcTensor *t, int n, const char *name);
int cli_find_option(const char *name);
int cli_find_hyper(const char *name);
/* What follows the name of an input: FILE or NUMBER. */
static inline const char *cli_input_value(const GcTensor *t) { return t->rank ? "FILE" : "NUMBER"; }

/* ---- cli_number.c ---- */
bool cli_count(const char *s, uint64_t least, uint64_t most, uint64_t *out);
bool cli_real(const char *s, double *out);
bool cli_i32(const char *s, double *out);
/* The errors of an option whose value is none; false. */
bool cli_no_count(const char *option, const char *value, uint64_t least, Err *e);
bool cli_no_real(const char *option, const char *needs, const char *value, Err *e);

/* ---- cli_near.c ---- */
/* The error of an option that the entry does not have; false. */
bool cli_unknown(const GcEntry *en, const char *name, Err *e);

/* ---- cli_complete.c ---- */
/* Whether nothing is missing, and no two options exclude each other. */
bool cli_complete(const Options *o, Err *e);
#endif
