/* Operators that are several of ONNX's own: contrib operators of ONNX Runtime, which its optimizer
   and its quantization tools write. Contract: what an operator of ONNX refuses, the one that is
   made of it refuses; after that every call gives NULL. */
#ifndef GC_LANG_ONNX_COMPOSE_H
#define GC_LANG_ONNX_COMPOSE_H
#include "lang/onnx/graph.h"

typedef const Onnx__AttributeProto *With;
typedef struct Compose {
  Node *n; /* the one that is composed */
  bool failed;
} Compose;

#define IN(...)                                                                                    \
  (Tensor *const[]){__VA_ARGS__}, (int)(sizeof((Tensor *const[]){__VA_ARGS__}) / sizeof(Tensor *))
#define WITH(...)                                                                                  \
  (const With[]) { __VA_ARGS__, NULL }
#define WITHOUT ((const With[]){NULL})

With with_int(Compose *c, const char *name, int64_t i);
With with_real(Compose *c, const char *name, double f);
With with_string(Compose *c, const char *name, const char *s);
const With *with_its_own(Compose *c); /* the attributes of the composed node */

/* The first output of a node of the operator; inputs that are left out are NULL. */
Tensor *compose(Compose *c, const char *op, Tensor *const *in, int nin, const With *with);
/* All of them, which are not wanted where `out` is NULL at the call. */
void compose_all(Compose *c, const char *op, Tensor *const *in, int nin, const With *with,
                 Tensor **out, int nout);
/* A variable of this expression. */
Tensor *compose_value(Compose *c, int type, const Shape *s, const char *expression);
Tensor *compose_ints(Compose *c, const int64_t *at, int count); /* known */
Tensor *compose_real(Compose *c, int type, double x);           /* known; [] */
Tensor *compose_transposed(Compose *c, Tensor *v, const int64_t *perm);

/* Output i is this value; false after refusing. */
bool compose_give(Compose *c, int i, Tensor *v);

/* ---- contrib.c ---- */
Tensor *compose_sum(Compose *c, Tensor *a, Tensor *b); /* b NULL: a */
/* ---- contrib_quantized.c ---- */
/* What zero points take off dequantized integers of 4 or 8 bits: they less the usual one, times the
   scales, for each of so many rows and blocks. Those of 4 bits are pairs in bytes. */
const char *contrib_block_zeros(Node *n, const char *zeros, int type, int64_t bits, Axis rows,
                                int64_t blocks, const char *scales, const char *dtype);
#endif
