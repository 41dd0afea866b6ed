/* What an op is: kinds, attributes, classes, flags, and the table whose rows are in ops.def, with
   the types of the functions that an op brings: shape, gradient, evaluation, expansion. */
#ifndef GC_IR_OP_TABLE_H
#define GC_IR_OP_TABLE_H
#include "ir/type.h"

typedef uint32_t ValueId, OpId;
#define NO_ID UINT32_MAX

typedef enum OpKind {
#define OP(KIND, ...) OP_##KIND,
#include "ops.def"
#undef OP
  OP_KINDS
} OpKind;

typedef enum AttrKind { ATTR_NONE, ATTR_INT, ATTR_BOOL, ATTR_NUM, ATTR_INTS, ATTR_STR } AttrKind;

/* ATTR_NUM is a scalar of the result's dtype: f for floats, i for integers and bool. Hash-consing
   and equality compare the 64 bits of i, so NaN equals itself and -0 differs from 0. */
typedef union Attr {
  int64_t i;
  double f;
  const Ints *ints; /* interned */
  const char *str;  /* interned */
} Attr;

enum { MAX_ATTRS = 7 };

typedef struct AttrSpec {
  const char *name; /* "axes"; the printer leaves out attributes that are zero or NULL */
  AttrKind kind;
} AttrSpec;

typedef struct Op Op;
typedef struct Entry Entry;
typedef struct Module Module;
typedef struct Builder Builder;
typedef void RebuildFn(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data);

/* The class of an op, for passes and targets. */
typedef enum OpClass {
  CLASS_LEAF,       /* without tensor operands: const, iota, random */
  CLASS_GLOBAL,     /* load, store */
  CLASS_ELEMENT,    /* same shape in and out, element by element */
  CLASS_VIEW,       /* moves elements: reshape, transpose, broadcast, slice, … */
  CLASS_REDUCE,     /* fewer elements out */
  CLASS_CONTRACT,   /* matmul */
  CLASS_ATTENTION,  /* attention and its gradient */
  CLASS_WINDOW,     /* windows over images: convolutions, pools */
  CLASS_INDEX,      /* run-time indices: gather, scatter */
  CLASS_ORDER,      /* sequential along one axis: cumsum, argsort */
  CLASS_COLLECTIVE, /* communication between ranks */
  CLASS_ROWS,       /* along the last axis, row by row: softmax, xent */
  CLASS_COMPOSITE,  /* has its own gradient rule; autodiff then decomposes it */
  CLASS_REGION,     /* kernel, scan */
  CLASS_META        /* grad, stop_gradient, yield, return: no arithmetic of their own */
} OpClass;

typedef enum OpFlags {
  OPF_COMMUTATIVE = 1,
  OPF_EFFECT = 2,       /* not removed, merged or moved over another effect on the same global */
  OPF_TYPED = 4,        /* the result type is part of the op, not inferred: const, broadcast, … */
  OPF_TERMINATOR = 8,   /* ends a block */
  OPF_BOOL_RESULT = 16, /* element-wise with a bool result of the operands' shape */
  OPF_POSITION = 32,    /* element-wise, but depends on the element's index: no scalar text */
  OPF_LIBRARY =
      64 /* of f64 it takes a function of the C library, each of which rounds its own way */
} OpFlags;

enum {
  WHY_BYTES = 256,   /* of the reason that a shape rule gives */
  SMALL_OPERANDS = 8 /* up to as many, a list of operands or results lies on the stack */
};

/* Shape inference. Returns the type of one result, or NULL with a one-line reason in why. The same
   function serves the elaborator, which reports the reason, the builder and the verifier. */
typedef struct ShapeIn {
  Ctx *ctx;
  OpKind kind;
  int result; /* which one is asked for */
  int n;
  const Type *const *type; /* of each operand */
  const Attr *attr;
  const Type *given;  /* OPF_TYPED: the wanted result; else NULL */
  const Type *wanted; /* the result that the caller has or asks for, if any: what decides where a
                         rule leaves the choice of a bounded axis */
  char *why;          /* WHY_BYTES */
} ShapeIn;
typedef const Type *ShapeFn(const ShapeIn *in);

/* Gradient rule of y = f(x…): dy is the gradient of y. The rule builds the gradient of every
   operand that grad_needs and passes it to grad_to. The forward values that it reads are saved. For
   an op with several results, dy is the gradient of the first, NO_ID if it has none; grad_of gives
   the others. */
typedef struct GradCtx GradCtx;
typedef void GradFn(GradCtx *g, const Op *op, ValueId dy);

/* The decomposition of a composite into primitive ops, on operands x, with op's attributes, to a
   result of this type. */
typedef ValueId ExpandFn(Builder *b, const Op *op, const Type *to, const ValueId *x);

/* Reference semantics; see interp.h. */
typedef struct EvalCtx EvalCtx;
typedef void EvalFn(EvalCtx *e, const Op *op);

typedef struct OpInfo {
  const char *name; /* mnemonic in text */
  OpClass cls;
  int operands; /* count; -1: any */
  int results;  /* count; -1: any */
  int blocks;   /* nested blocks */
  int flags;    /* OpFlags */
  AttrSpec attr[MAX_ATTRS];
  ShapeFn *shape; /* NULL: the caller of build_op gives the types (regions, meta) */
  GradFn *grad;   /* NULL: no gradient flows (comparisons, indices, randoms) */
  EvalFn *eval;
  ExpandFn *expand;  /* CLASS_COMPOSITE, and contractions that not every target has */
  const char *expr;  /* CLASS_ELEMENT: scalar C text over a, b, c for floats; see ops.def */
  const char *iexpr; /* the same for integers and bool; NULL: not defined for them */
  const char *help;  /* one line for docs and --help=ops */
} OpInfo;

extern const OpInfo op_info[OP_KINDS];

/* The slots of the attributes by name, AT_AXES and so on: op->attr[AT_AXES]. */
#include "ir/attributes.h"

#endif
