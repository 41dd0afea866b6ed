/* The inside of the parser: what scan.l, token_value.c, newline.c, parse.y, nodes.c, statements.c,
   errors.c and parse.c share. A Parser reads one source; a ProgramReader belongs to the program
   with all files that it uses. Contract: an error is reported where it is found; parsing goes on
   with what was most likely meant. */
#ifndef GC_LANG_PARSE_IMPL_H
#define GC_LANG_PARSE_IMPL_H
#include "lang/syntax/ast.h"

typedef struct Parser Parser;
typedef union GC_PARSE_STYPE TokenValue; /* its members are declared in parse.y */

/* The state of reading one program, shared by the parsers of its files. */
typedef struct ProgramReader {
  Ctx *c;
  Program *prog;
  VEC(const char *) seen;    /* resolved paths, interned: each file is read once */
  int use_depth;             /* files that wait for a used one to end */
  const ModelReader *models; /* may be NULL */
  bool failed;               /* an error was reported */
  bool unreadable;           /* ... because the main file cannot be read */
} ProgramReader;

/* Words of the scanner that the grammar never sees. */
enum { RAW_NEWLINE = 1 << 16, RAW_SEMICOLON };

/* ---- growing lists of the tree ---- */
#define LIST(T)                                                                                    \
  struct {                                                                                         \
    T *at;                                                                                         \
    int n;                                                                                         \
    uint32_t cap;                                                                                  \
  }
typedef LIST(Param) Params;
typedef LIST(Index) Indices;
typedef LIST(Dim) Dims;
typedef LIST(Out) Outs;
typedef LIST(Stmt *) Stmts;

typedef struct Text { /* the value of a string literal */
  const char *bytes;
  size_t n;
} Text;

typedef struct LoopHead { /* i in a..b */
  Ident var;
  Expr *from, *to;
} LoopHead;

/* ---- scan.l calls these (token_value.c) ---- */
Loc scan_place(Parser *ps, size_t bytes);
void scan_newline(Parser *ps);
int scan_number(Parser *ps, Loc loc, const char *text, size_t n, TokenValue *val);
int scan_bad_number(Parser *ps, Loc loc, const char *text, TokenValue *val);
int scan_string(Parser *ps, Loc loc, const char *text, size_t n, TokenValue *val);
int scan_open_string(Parser *ps, Loc loc, TokenValue *val);
int scan_word(Parser *ps, const char *text, size_t n, TokenValue *val);
/* What other languages write; the token that it stands for here, 0: none. */
int scan_foreign(Parser *ps, Loc loc, const char *text);
/* "/ *" and """, which begin comments elsewhere. */
void scan_block_comment(Parser *ps, Loc loc, const char *text);
void scan_bad_bytes(Parser *ps, Loc loc, const char *text, int n);
void scan_field(Parser *ps, Loc loc, const char *text); /* .name */
int scan_foreign_name(Parser *ps, Loc loc, const char *text,
                      TokenValue *val);                        /* with other letters */
int scan_foreign_string(Parser *ps, Loc loc, TokenValue *val); /* in curly quotes */

int parse_scan(TokenValue *val, Loc *loc, void *scanner); /* the scanner itself: the next word */

/* ---- between scanner and grammar (newline.c): the newline rule and the brackets ---- */
typedef struct Lexer Lexer;
Lexer *lex_new(Parser *ps, void *scanner, int start);
int lex_next(TokenValue *val, Loc *loc, Parser *ps);
/* After a syntax error: the open "(" and "[" are given up, so that the next newline counts. */
void lex_recover(Parser *ps);
bool lex_is_recovering(Parser *ps);
/* Of "torch.nn.relu", at the place of one of its dots: the first name; whether one more follows. */
const char *lex_chain_before(Parser *ps, Loc dot);
bool lex_chain_goes_on(Parser *ps, Loc field);
/* "x" of "x.sum(1)" and "x += 1"; NULL: it is no name alone */
const char *lex_name_before(Parser *ps, Loc dot);
/* "1" of "x.sum(1)", at the place of .sum; NULL: no call follows that ends on its line. */
const char *lex_arguments_behind(Parser *ps, Loc field);
bool lex_names_a_call(Parser *ps); /* the last two words are "as NAME" */
typedef struct Found {             /* what stands where the grammar expected something else */
  const char *word;                /* as in "found WORD"; interned */
  int token;                       /* its kind */
  const char *name;                /* a name or a reserved word: itself, interned; else NULL */
  Loc loc;
  Loc last;                  /* of the word just before */
  const char *before;        /* the name or reserved word just before, interned; else NULL */
  Loc opener;                /* the innermost open bracket; line 0: none */
  char open;                 /* that bracket */
  const char *before_opener; /* the word just before it, interned; "" where it begins a statement;
                                else NULL */
  bool starts_line;
  bool reported; /* as a mistake of its own */
} Found;
Found lex_found(Parser *ps);
bool token_goes_on(int token); /* after it a newline does not end the statement */
bool word_is_reserved(const char *word);
bool word_is_dtype(const char *word); /* NULL is none */
bool token_is_reserved(int token);    /* a reserved word is of this kind */

/* ---- errors.c ---- */
void syntax_error(Parser *ps, const int *token, const char *const *word, int n); /* n expected */
void type_error(Parser *ps); /* the last word is no type */

/* ---- parse.y (the generated parser) ---- */
int gc_parse_parse(Parser *ps);

/* ---- nodes.c: expressions, and the checks that need no names ---- */
Loc loc_join(Loc a, Loc b);
Expr *make_expr(Parser *ps, ExprKind kind, Loc loc);
Expr *make_unary(Parser *ps, UnaryOp op, Expr *operand, Loc loc);
Expr *make_binary(Parser *ps, BinaryOp op, Loc op_loc, Expr *left, Expr *right);
Expr *make_cond(Parser *ps, Expr *then, Expr *test, Expr *other);
Expr *make_list(Parser *ps, Exprs list, Loc loc);
Expr *make_call(Parser *ps, Expr *callee, Args args, Loc loc);
Expr *make_named(Parser *ps, Expr *call, Instance as, Loc loc);
Expr *make_index(Parser *ps, Expr *base, Indices at, Loc loc);
Expr *make_transpose(Parser *ps, Expr *operand, Loc loc);
Expr *make_pipe(Parser *ps, Expr *left, Expr *stage, Loc loc);
Expr *check_operand(Parser *ps, Expr *e); /* "f as n" without arguments is only a stage of |> */
void args_add(Parser *ps, Args *args, Arg arg);
/* A tree too deep is reported once and ends the parse. */
void check_depth(Parser *ps, int depth, Loc loc);

/* ---- statements.c: types, signatures, statements and declarations ---- */
void params_add(Parser *ps, Params *params, Param param);
TypeExpr *make_kind(Parser *ps, Ident word); /* NULL: it is none */
TypeExpr *make_type(Parser *ps, const char *dtype, Dims dims, Loc loc);
Body make_body(Parser *ps, Stmts stmts, Loc open, Loc close);
Stmt *make_stmt(Parser *ps, StmtKind kind, Loc loc);
Stmt *make_assign(Parser *ps, Idents names, Exprs values, TypeExpr *type, Loc loc);
Stmt *make_loop(Parser *ps, StmtKind kind, LoopHead head, Body body, Loc loc);
Stmt *make_scope(Parser *ps, Instance path, Body body, Loc loc);
Stmt *make_branch(Parser *ps, Expr *test, Body then, Body other, bool has_else, Loc loc);
Stmt *make_with(Parser *ps, Exprs trees, Body body, Loc loc);
Stmt *make_train(Parser *ps, StmtKind kind, Expr *what, Recipe recipe, Loc loc);
void recipe_add(Parser *ps, Recipe *recipe, Optimizer o);
Stmt *make_return(Parser *ps, Outs outs, Loc loc);
Stmt *make_bare(Parser *ps, Expr *value);
void stmts_add(Parser *ps, Stmts *stmts, Stmt *s, bool quiet);
Decl *make_function(Parser *ps, DeclKind kind, Ident name, Params params, Body body, Loc loc);
Decl *make_tree_state(Parser *ps, StmtKind kind, Ident name, Expr *value, Loc loc);
Decl *make_constant(Parser *ps, DeclKind kind, Ident name, TypeExpr *type, Expr *value, Loc loc);
void nested_decl(Parser *ps, const Decl *d);
void nested_use(Parser *ps, Loc loc);
void stray_stmt(Parser *ps, const Stmt *s);

/* ---- parse.c ---- */
typedef struct Scan { /* of one source */
  void *scanner;
  char *copy; /* the text; it is written into */
} Scan;
bool scan_open(Parser *ps, Scan *s); /* of ps->file; false after an error */
void scan_close(Scan *s);
struct Parser {
  Ctx *c;
  Arena *arena;
  ProgramReader *reader;
  uint16_t file;
  uint32_t line, col; /* of the scanner: the place of the next byte */
  Lexer *lex;
  Expr *value;    /* the result of parse_value */
  Loc field;      /* the last one that was reported, as of x.item() */
  bool braceless; /* a ':' stood for a brace: indented statements behind it are its block */
  bool stopped;   /* nothing more is read or reported */
};
void parse_error(Parser *ps, Loc loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void parse_note(Parser *ps, Severity sev, Loc loc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void parse_use(Parser *ps, Text path, Loc loc);
/* As a def of a name, which has no text where there is none; with dims or without. */
void parse_use_model(Parser *ps, Text path, Ident name, ModelDims dims, Loc loc);
/* A dim that a literal gives, or a let before the use. */
ModelDim model_dim(Parser *ps, Ident name, bool bounded, int64_t times, Expr *value);
void model_dims_add(Parser *ps, ModelDims *list, ModelDim dim);
#endif
