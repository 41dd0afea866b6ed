/* The syntax tree of a .g program, as the parser leaves it and the elaboration reads it.
   Contract: nodes and arrays live in the context's arena, names are interned (compare with ==), and
   every node has a location whose caret range covers it (its first line, if it has several).
   No tree is nested deeper than AST_MAX_DEPTH, so walking it by recursion is safe. */
#ifndef GC_LANG_AST_H
#define GC_LANG_AST_H
#include "ir/support/ctx.h"

enum { AST_MAX_DEPTH = 1000 };

typedef struct Expr Expr;
typedef struct Stmt Stmt;

typedef struct Ident {
  const char *name; /* interned; NULL where an optional name is missing */
  Loc loc;
} Ident;

/* Of a param or state in published weights: from "h.{l}.weight"' */
typedef struct Origin {
  const char *name; /* with its braces; NULL: none */
  Loc loc;
  bool transposed;
} Origin;

/* ---- expressions ---- */

/*            name  spelling */
#define AST_UNARY_OPS(X)                                                                           \
  X(UN_NEG, "-")                                                                                   \
  X(UN_NOT, "not")

#define AST_BINARY_OPS(X)                                                                          \
  X(BIN_ADD, "+")                                                                                  \
  X(BIN_SUB, "-")                                                                                  \
  X(BIN_MUL, "*")                                                                                  \
  X(BIN_DIV, "/")                                                                                  \
  X(BIN_MOD, "%")                                                                                  \
  X(BIN_QUOTIENT, "//")                                                                            \
  X(BIN_MATMUL, "@")                                                                               \
  X(BIN_POW, "**")                                                                                 \
  X(BIN_EQ, "==")                                                                                  \
  X(BIN_NE, "!=")                                                                                  \
  X(BIN_LT, "<")                                                                                   \
  X(BIN_LE, "<=")                                                                                  \
  X(BIN_GT, ">")                                                                                   \
  X(BIN_GE, ">=")                                                                                  \
  X(BIN_AND, "and")                                                                                \
  X(BIN_OR, "or")

#define AST_ROW(name, spelling) name,
typedef enum UnaryOp { AST_UNARY_OPS(AST_ROW) UN_COUNT } UnaryOp;
typedef enum BinaryOp { AST_BINARY_OPS(AST_ROW) BIN_COUNT } BinaryOp;
#undef AST_ROW
const char *unary_spelling(UnaryOp op);
const char *binary_spelling(BinaryOp op);

/* Lists grow by vec_push while they are parsed. */
typedef struct Exprs {
  Expr **at;
  int n;
  uint32_t cap;
} Exprs;

/* "as NAME[e][e]" after a call, and the path of a scope */
typedef struct Instance {
  Ident name; /* name.name == NULL: the call has none */
  Exprs index;
  Loc loc;     /* name and indices */
  bool shared; /* "shared" follows: reaching the name again is meant */
} Instance;

typedef struct Arg {
  Ident name; /* name.name == NULL: positional (all positional ones come first) */
  Expr *value;
} Arg;

typedef struct Args {
  Arg *at;
  int n;
  uint32_t cap;
} Args;

/* One index between the brackets of x[…]. */
typedef enum IndexKind {
  INDEX_AT,      /* e: this axis goes */
  INDEX_SLICE,   /* start:stop:step, each may be NULL */
  INDEX_ELLIPSIS /* "...": all the axes between */
} IndexKind;

typedef struct Index {
  IndexKind kind;
  Expr *at;                  /* INDEX_AT */
  Expr *start, *stop, *step; /* INDEX_SLICE */
  Loc loc;
} Index;

typedef enum ExprKind {
  EX_INT,       /* integer */
  EX_FLOAT,     /* number; also inf */
  EX_BOOL,      /* boolean */
  EX_STRING,    /* string */
  EX_NAME,      /* name: a value, constant or function */
  EX_DTYPE,     /* name is the dtype word, as an argument: iota(n, f32) */
  EX_LIST,      /* list */
  EX_UNARY,     /* unary */
  EX_BINARY,    /* binary; also "and", "or" and comparisons */
  EX_COND,      /* cond: then if test else other */
  EX_CALL,      /* call; x |> f(a) as n is already f(x, a) as n */
  EX_INDEX,     /* index: base[…] */
  EX_TRANSPOSE, /* operand': the last two axes swapped */
} ExprKind;

struct Expr {
  ExprKind kind;
  int depth; /* 1 for a leaf */
  Loc loc;
  union {
    int64_t integer;
    double number;
    bool boolean;
    struct {
      const char *bytes;
      size_t n;
    } string; /* NUL-terminated, never with a NUL inside */
    const char *name;
    Exprs list;
    struct {
      UnaryOp op;
      Expr *operand;
    } unary;
    struct {
      BinaryOp op;
      Expr *left, *right;
      Loc op_loc;
    } binary;
    struct {
      Expr *then, *test, *other;
    } cond;
    struct {
      Ident callee; /* a def, a built-in function or a dtype word (a conversion) */
      Args args;
      Instance as;
      bool piped; /* the first argument came from the left of |> */
    } call;
    struct {
      Expr *base;
      Index *at;
      int n;
    } index;
    Expr *operand; /* EX_TRANSPOSE */
  };
};

/* ---- types as written: f32[n, 3], [..., d], u8 ---- */

typedef struct Dim {
  bool ellipsis; /* "...": any leading dims; expr is NULL */
  Expr *expr;    /* a lone EX_NAME that means nothing yet is bound by a signature */
  Loc loc;
} Dim;

typedef enum ArgKind {            /* what a word says in the place of a type */
                       ARG_TYPED, /* none: a type is written */
#define KIND(NAME, WORD, WANTED) ARG_##NAME,
#include "lang/syntax/kinds.def"
#undef KIND
                       ARG_KINDS
} ArgKind;
extern const char *const arg_kind_word[ARG_KINDS]; /* "floats" … */

typedef struct TypeExpr {
  ArgKind kind;      /* what follows is of ARG_TYPED */
  const char *dtype; /* the interned word; NULL where none is written */
  Dim *dims;
  int n; /* 0: a scalar */
  Loc loc;
} TypeExpr;

/* ---- statements ---- */

typedef struct Body { /* statements between braces (the IR has the name Block) */
  Stmt **at;
  int n;
  int depth; /* 0 when empty */
  Loc loc;   /* the opening brace */
  Loc end;   /* the closing brace */
} Body;

/* An optimizer of a minimize or update, for the params that meet the condition. */
typedef struct Optimizer {
  Expr *call;      /* always an EX_CALL */
  Expr *condition; /* NULL: for all */
} Optimizer;

/* What follows "with": optimizers, then clauses, name = value. */
typedef struct Recipe {
  Optimizer *at;
  int n;
  uint32_t cap;
  Args clauses;
} Recipe;

typedef struct Idents {
  Ident *at;
  int n;
  uint32_t cap;
} Idents;

typedef struct Out {
  Ident name; /* name.name == NULL: none was written (a plain name is then its own output name) */
  Expr *value;
  TypeExpr *type; /* NULL: not checked */
  Loc loc;
} Out;

typedef enum StmtKind {
  ST_ASSIGN,   /* assign: a, b = e [, e] [: type] */
  ST_UPDATE,   /* update: w := e */
  ST_PARAM,    /* variable: param w : type = init */
  ST_STATE,    /* variable: state m : type = init */
  ST_FOR,      /* loop, unrolled; with targets where it stands right of "=" */
  ST_SCAN,     /* loop, kept */
  ST_IF,       /* branch; "else if" is an other of one statement */
  ST_SCOPE,    /* scope */
  ST_WITH,     /* with: calls inside read these trees in the place of params */
  ST_MINIMIZE, /* train: minimize LOSS with … */
  ST_TRAIN,    /* train: update TREE with … */
  ST_RETURN,   /* outs */
  ST_YIELD,    /* values */
  ST_CALL,     /* call: a call on a line of its own, for what it assigns */
} StmtKind;

struct Stmt {
  StmtKind kind;
  int depth;
  Loc loc; /* the first line of the statement; of one with a block, its head */
  union {
    struct {
      Idents names;
      Exprs values;
      TypeExpr *type; /* NULL: none */
    } assign;
    struct {
      Ident name;
      Expr *value;
    } update;
    struct {
      Ident name;
      TypeExpr *type; /* NULL: none */
      Expr *init;
      Origin origin;
      bool transient; /* not among the weights that are saved */
    } variable;
    struct {
      Idents targets; /* n == 0: the loop stands alone */
      Ident var;
      Expr *from, *to; /* from..to, to is exclusive */
      Body body;
    } loop;
    struct {
      Expr *test;
      Body then, other;
      bool has_else;
    } branch;
    struct {
      Instance path;
      Body body;
    } scope;
    struct {
      Exprs trees;
      Body body;
    } with;
    struct {
      Expr *what; /* the loss, or the tree */
      Recipe recipe;
    } train;
    struct {
      Out *at;
      int n;
    } outs;
    Exprs values;
    Expr *call; /* EX_CALL */
  };
};

/* ---- declarations ---- */

typedef struct Param {
  Ident name;
  TypeExpr *type; /* NULL: any */
  Expr *init;     /* the default; NULL: none */
  Loc loc;
  bool rest; /* "...more", the last: a list of the positional arguments from here on */
} Param;

typedef enum DeclKind {
  DECL_LET,   /* value */
  DECL_HYPER, /* type, value */
  DECL_STATE, /* value: state NAME = like TREE */
  DECL_DEF,   /* function */
  DECL_ENTRY  /* function */
} DeclKind;

typedef struct Decl {
  DeclKind kind;
  Ident name;
  Loc loc; /* the head: from the keyword to the end of its first line, without "{" */
  union {
    struct {
      Expr *value;
      TypeExpr *type; /* NULL: that of the value */
    };
    struct {
      Param *params;
      int n;
      Body body;
    } function;
  };
} Decl;

/* What "use" names stands in place of the use, so decls is in order of reading. */
typedef struct Program {
  uint16_t file; /* the main source */
  VEC(Decl *) decls;
} Program;

/* A model that a program uses as a def: use "net.onnx" as net(batch = N, length <= 64) */
typedef struct ModelDim {
  Ident name;
  int64_t n;
  const char *let; /* interned; that gives the number; NULL: none */
  bool bounded;
  int64_t times; /* 4 * height <= 64: of 4 */
} ModelDim;
typedef struct ModelDims {
  ModelDim *at;
  int n;
  uint32_t cap;
} ModelDims;
typedef struct ModelUse {
  const char *path; /* of the file */
  const char *name; /* of the def; interned */
  ModelDims dims;
  Loc loc;
} ModelUse;
/* Reads models for the parser, which knows nothing of their form: the text of a def with that name;
   NULL after a diagnostic. */
typedef struct ModelReader {
  const char *(*read)(void *data, Ctx *c, const ModelUse *use);
  void *data;
} ModelReader;

/* Read a file (or a text with the name that its messages show) and all it uses; models may be NULL:
   a use of one is an error. What is wrong has been reported through diag; the result is then NULL.
   *unreadable says, where given, whether it is the file at path itself that cannot be read. */
Program *parse_file(Ctx *c, const char *path, const ModelReader *models, bool *unreadable);
Program *parse_document(Ctx *c, const char *name, const char *text, size_t len,
                        const ModelReader *models);
Program *parse_text(Ctx *c, const char *name, const char *text, size_t len); /* without models */

/* A constant as "gc -D NAME=V" takes it: an expression; NULL when it is wrong (reported). */
Expr *parse_value(Ctx *c, const char *name, const char *text);

/* gc --emit=ast: the program in one canonical form, which reads back to the same tree. */
void ast_print(FILE *f, const Program *prog);
#endif
