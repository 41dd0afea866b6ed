/* Shared by the parser of the spec (einsum_spec.c) and the products (einsum.c). */
#ifndef GC_LANG_ELAB_EINSUM_H
#define GC_LANG_ELAB_EINSUM_H
#include "lang/elab/builtin/builtin.h"

enum {
  LETTERS = 128,
  MAX_WRITTEN = 63, /* letters of a tensor */
  MAX_DOTS = 31,    /* axes that "..." stands for: the codes 1 … 31, from the last axis on */
  MAX_AXES = MAX_WRITTEN + MAX_DOTS
};

typedef struct Side {
  Val x;
  const char *written;     /* its part of the spec */
  char axis[MAX_AXES + 1]; /* the letter of each axis, in order; ends with 0 */
} Side;

typedef struct Einsum {
  BuiltinCall *s;
  const char *spec;
  Side *in;
  int n;
  char out[MAX_AXES + 1];
  int64_t axis[LETTERS]; /* by letter, as type_get takes it; 0: not met, or no elements */
} Einsum;

static inline bool einsum_has(const char *axes, char c) { return c && strchr(axes, c) != NULL; }

/* Parses the spec against the tensors of m->in. Afterwards no letter occurs twice in a tensor, and
   every letter has one extent. False after an error. */
bool einsum_read(Einsum *m);
#endif
