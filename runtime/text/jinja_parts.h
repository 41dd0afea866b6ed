/* What the parts of the interpreter of chat templates share. Contract: values live until the end of
   a rendering; after an error, which is kept, everything is undefined and does nothing. */
#ifndef GCRT_JINJA_PARTS_H
#define GCRT_JINJA_PARTS_H
#include "runtime/text/jinja.h"

typedef enum JinjaKind {
  JINJA_UNDEFINED,
  JINJA_NONE,
  JINJA_BOOL,
  JINJA_INT,
  JINJA_STRING,
  JINJA_LIST,
  JINJA_DICT
} JinjaKind;
typedef struct JinjaValue JinjaValue;
typedef struct JinjaItems { /* of a list, or of a dictionary, which namespaces and loops are, too */
  Slice *key;               /* NULL: a list */
  JinjaValue *at;
  uint64_t n, room;
} JinjaItems;
struct JinjaValue {
  JinjaKind kind;
  int64_t n; /* of an integer or a bool */
  Slice s;
  JinjaItems *items;
};
typedef struct JinjaBlock {
  struct JinjaBlock *next;
} JinjaBlock;
typedef struct Jinja {
  Slice source;
  const char *at;     /* in the source, for messages */
  JinjaItems *names;  /* variables; the last one of a name counts */
  uint64_t scope;     /* those from here on belong to the innermost iteration */
  JinjaBlock *blocks; /* all memory of values */
  uint64_t bytes, work;
  Err *e;
} Jinja;

/* ---- jinja_value.c ---- */
bool jinja_fail(Jinja *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool jinja_works(Jinja *j);                 /* one more step of work; false: there was an error */
void *jinja_take(Jinja *j, uint64_t bytes); /* NULL after an error */
void jinja_free(Jinja *j);
JinjaValue jinja_string(Slice s);
JinjaValue jinja_int(int64_t n);
JinjaValue jinja_bool(bool b);
JinjaValue jinja_items(Jinja *j, bool dictionary);
bool jinja_put(Jinja *j, JinjaItems *d, Slice key, JinjaValue v); /* of a list: appends */
JinjaValue jinja_get(const JinjaItems *d, Slice key);             /* undefined: there is none */
bool jinja_true(const JinjaValue *v);
bool jinja_equal(const JinjaValue *a, const JinjaValue *b);
bool jinja_in(Jinja *j, const JinjaValue *x, const JinjaValue *all);
Slice jinja_text(Jinja *j, const JinjaValue *v); /* as it is printed */
JinjaValue jinja_join(Jinja *j, Slice a, Slice b);
JinjaValue jinja_arithmetic(Jinja *j, char op, const JinjaValue *a, const JinjaValue *b);
JinjaValue jinja_filter(Jinja *j, Slice name, const JinjaValue *v, const JinjaItems *arguments);
bool jinja_test(Jinja *j, Slice name, const JinjaValue *v);
JinjaValue jinja_method(Jinja *j, Slice name, const JinjaValue *v, const JinjaItems *arguments);
JinjaValue jinja_call(Jinja *j, Slice name, const JinjaItems *arguments);

/* ---- jinja_expr.c ---- */
typedef struct JinjaText { /* what is left of an expression */
  const char *p, *end;
} JinjaText;
JinjaValue jinja_expr(Jinja *j, JinjaText *t);      /* with `a if c else b` */
JinjaValue jinja_condition(Jinja *j, JinjaText *t); /* without */
bool jinja_takes(JinjaText *t, const char *symbol); /* a word ends where it ends */
bool jinja_name(JinjaText *t, Slice *name);
bool jinja_ends(Jinja *j, JinjaText *t); /* nothing is left; else an error */
#endif
