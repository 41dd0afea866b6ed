/* What the two halves of einsum share: the spec's axes (elab_einsum_spec.c) and the products
   (einsum.c). */
#ifndef GC_LANG_ELAB_EINSUM_H
#define GC_LANG_ELAB_EINSUM_H
#include "lang/elab/builtin/builtin.h"

enum {
  LETTERS = 128,
  MOST_WRITTEN = 63, /* letters of a tensor */
  MOST_DOTS = 31,    /* axes that "..." stands for: the codes 1 … 31, from the last axis on */
  MOST_AXES = MOST_WRITTEN + MOST_DOTS
};

typedef struct Side {
  Val x;
  const char *written;      /* its part of the spec */
  char axis[MOST_AXES + 1]; /* the letter of each axis, in order; ends with 0 */
} Side;

typedef struct Einsum {
  BuiltinCall *s;
  const char *spec;
  Side *in;
  int n;
  char out[MOST_AXES + 1];
  int64_t dim[LETTERS]; /* by letter; 0: not met, or no elements */
} Einsum;

static inline bool einsum_has(const char *axes, char c) { return c && strchr(axes, c) != NULL; }

/* Reads the spec against the tensors of m->in. Behind it no letter stands twice in a side, and
   every letter has one extent. False after an error. */
bool einsum_read(Einsum *m);
#endif
