/* The grammar of .g. It has no conflicts; lex.c has already decided which newlines count and made
   brackets match. Contract: build.c makes every node; after an error the parse goes on at the end of
   the line, or with the block that follows, so that one run reports what it can. */
%define api.prefix {gc_parse_}
%define api.pure full
%define api.value.type union
%define api.location.type {Loc}
%define parse.error custom
%define lr.type ielr
%define parse.lac full
%define lr.default-reduction consistent
%expect 0
%locations
%param {Parser *ps}

%code requires {
#include "lang/syntax/parse_impl.h"
}
%code {
enum { YYMAXDEPTH_WANTED = 20 * AST_MAX_DEPTH };
#define YYMAXDEPTH YYMAXDEPTH_WANTED
#define YYSTACK_USE_ALLOCA 0
#define YYLLOC_DEFAULT(place, of, n) ((place) = join_places(&YYRHSLOC(of, 0), n))

/* The place of a rule: of its first line; what is empty has length 0 and does not count. */
static Loc join_places(const Loc *of, int n) {
  Loc place = of[0];
  place.len = 0;
  for (int i = 1; i <= n; i++) {
    if (!of[i].len) continue;
    place = place.len ? loc_join(place, of[i]) : of[i];
  }
  return place;
}

#define gc_parse_lex lex_next
static void gc_parse_error(const Loc *loc, Parser *ps, const char *message) {
  check_depth(ps, AST_MAX_DEPTH + 1, *loc); /* the one reason: its stack is full */
}
}

%token END 0 "the end of the value"
%token FILE_START VALUE_START
%token NEWLINE "the end of the line"
%token <int64_t> INTEGER "an integer"
%token <double> FLOAT "a number"
%token <bool> BOOLEAN "true or false"
%token <Text> STRING "a string"
%token <const char *> NAME "a name"
%token <const char *> DTYPE "a dtype"
%token LET "'let'" HYPER "'hyper'" DEF "'def'" ENTRY "'entry'" USE "'use'"
%token PARAM "'param'" STATE "'state'" FOR "'for'" SCAN "'scan'" IN "'in'"
%token IF "'if'" ELSE "'else'" SCOPE "'scope'" MINIMIZE "'minimize'" WITH "'with'"
%token RETURN "'return'" YIELD "'yield'" AND "'and'" OR "'or'" NOT "'not'" AS "'as'"
%token TRAIN "'update'" LIKE "'like'" SHARED "'shared'" FROM "'from'"
%token TRANSIENT "'transient'"
%token PIPE "'|>'" POW "'**'" UPDATE "':='"
%token QUOTIENT "'//'" EQ "'=='" NE "'!='" LE "'<='" GE "'>='"
%token ELLIPSIS "'...'" RANGE "'..'"

%type <Decl *> decl
%type <ModelDims> model_dims model_dim_list
%type <ModelDim> model_dim
%type <DeclKind> function
%type <Origin> origin
%type <Params> params param_list
%type <Param> param
%type <TypeExpr *> type type_opt kind
%type <Dims> dims dim_list
%type <Dim> dim
%type <Body> block
%type <Stmts> stmts
%type <Stmt *> stmt branch loop
%type <StmtKind> loop_kind variable
%type <LoopHead> loop_head
%type <Idents> names
%type <Ident> name
%type <Outs> outs
%type <Out> out
%type <Instance> instance named
%type <Recipe> recipe
%type <Optimizer> optimizer
%type <Arg> clause
%type <Exprs> exprs list
%type <Expr *> expr pipe cond disj conj neg cmp sum prod unary power operand atom post prim slice_end
%type <BinaryOp> cmp_op sum_op prod_op
%type <Args> args arg_list
%type <Arg> arg
%type <Indices> indices
%type <Index> index

%%

start: FILE_START file
     | VALUE_START expr NEWLINE { ps->value = $2; }
     ;

/* ---- declarations ---- */

file: %empty
    | file decl NEWLINE  { vec_push(ps->arena, &ps->reader->prog->decls, $2); }
    | file USE STRING NEWLINE  { parse_use(ps, $3, @3); }
    | file USE STRING AS name model_dims NEWLINE  { parse_use_model(ps, $3, $5, $6, @3); }
    | file stmt NEWLINE  { stray_stmt(ps, $2); }
    | file error NEWLINE  { yyerrok; }
    | file error junk NEWLINE  { yyerrok; }
    ;

model_dims: %empty  { $$ = (ModelDims){0}; }
          | '(' model_dim_list ')'  { $$ = $2; }
          ;
model_dim_list: model_dim  { $$ = (ModelDims){0}; model_dims_add(ps, &$$, $1); }
              | model_dim_list ',' model_dim  { $$ = $1; model_dims_add(ps, &$$, $3); }
              ;
model_dim: name '=' prim  { $$ = model_dim(ps, $1, false, 1, $3); }
         | name LE prim  { $$ = model_dim(ps, $1, true, 1, $3); }
         | INTEGER '*' name LE prim  { $$ = model_dim(ps, $3, true, $1, $5); }
         ;

/* The blocks of what was not understood: read, so that what is wrong in them is reported. */
junk: block
    | junk ELSE block
    | junk ELSE IF expr block
    ;

decl: LET name '=' expr  { $$ = make_constant(ps, DECL_LET, $2, NULL, $4, loc_join(@1, @4)); }
    | HYPER name type_opt '=' expr
        { $$ = make_constant(ps, DECL_HYPER, $2, $3, $5, loc_join(@1, @5)); }
    | variable name '=' LIKE expr  { $$ = make_tree_state(ps, $1, $2, $5, @$); }
    | function name '(' params ')' block
        { $$ = make_function(ps, $1, $2, $4, $6, loc_join(@1, @5)); }
    ;
function: DEF { $$ = DECL_DEF; } | ENTRY { $$ = DECL_ENTRY; } ;

params: %empty  { $$ = (Params){0}; }
      | param_list
      | param_list ','
      ;
param_list: param  { $$ = (Params){0}; params_add(ps, &$$, $1); }
          | param_list ',' param  { $$ = $1; params_add(ps, &$$, $3); }
          ;
param: name type_opt  { $$ = (Param){$1, $2, NULL, @$, false}; }
     | name type_opt '=' expr  { $$ = (Param){$1, $2, $4, @$, false}; }
     | ELLIPSIS name type_opt  { $$ = (Param){$2, $3, NULL, @$, true}; }
     ;

type_opt: %empty { $$ = NULL; } | ':' type { $$ = $2; } ;
type: DTYPE  { $$ = make_type(ps, $1, (Dims){0}, @$); }
    | DTYPE '[' dims ']'  { $$ = make_type(ps, $1, $3, @$); }
    | '[' dims ']'  { $$ = make_type(ps, NULL, $2, @$); }
    | kind
    ;
kind: NAME
        { $$ = make_kind(ps, (Ident){$1, @1});
          if (!$$) {
            type_error(ps);
            YYERROR;
          } }
    ;
dims: %empty  { $$ = (Dims){0}; }
    | dim_list
    | dim_list ','
    ;
dim_list: dim  { $$ = (Dims){0}; vec_push(ps->arena, &$$, $1); }
        | dim_list ',' dim  { $$ = $1; vec_push(ps->arena, &$$, $3); }
        ;
dim: ELLIPSIS  { $$ = (Dim){true, NULL, @1}; }
   | expr  { $$ = (Dim){false, $1, @1}; }
   ;

/* ---- statements ---- */

block: '{' stmts '}'  { $$ = make_body(ps, $2, @1, @3); } ;

stmts: %empty  { $$ = (Stmts){0}; }
     | stmts stmt NEWLINE  { $$ = $1; stmts_add(ps, &$$, $2, YYRECOVERING()); }
     | stmts decl NEWLINE  { $$ = $1; nested_decl(ps, $2); }
     | stmts USE STRING NEWLINE  { $$ = $1; nested_use(ps, @2); }
     | stmts error NEWLINE  { $$ = $1; yyerrok; }
     | stmts error junk NEWLINE  { $$ = $1; yyerrok; }
     ;

stmt: names '=' exprs type_opt  { $$ = make_assign(ps, $1, $3, $4, @$); }
    | names '=' loop  { $$ = $3; $$->loop.targets = $1; $$->loc = loc_join(@1, $3->loc); }
    | name UPDATE expr
        { $$ = make_stmt(ps, ST_UPDATE, @$); $$->update.name = $1; $$->update.value = $3; }
    | variable name ':' type '=' expr origin
        { $$ = make_stmt(ps, $1, @$); $$->variable.name = $2; $$->variable.type = $4;
          $$->variable.init = $6; $$->variable.origin = $7; }
    | TRANSIENT STATE name ':' type '=' expr
        { $$ = make_stmt(ps, ST_STATE, @$); $$->variable.name = $3; $$->variable.type = $5;
          $$->variable.init = $7; $$->variable.transient = true; }
    | loop
    | branch
    | SCOPE named block
        { $$ = make_scope(ps, $2, $3, loc_join(@1, @2)); }
    | WITH exprs block  { $$ = make_with(ps, $2, $3, loc_join(@1, @2)); }
    | MINIMIZE expr WITH recipe  { $$ = make_train(ps, ST_MINIMIZE, $2, $4, @$); }
    | TRAIN expr WITH recipe  { $$ = make_train(ps, ST_TRAIN, $2, $4, @$); }
    | RETURN outs  { $$ = make_return(ps, $2, @$); }
    | RETURN outs ','  { $$ = make_return(ps, $2, @$); }
    | YIELD exprs  { $$ = make_stmt(ps, ST_YIELD, @$); $$->values = $2; }
    | expr  { $$ = make_bare(ps, $1); }
    ;
variable: PARAM { $$ = ST_PARAM; } | STATE { $$ = ST_STATE; } ;
origin: %empty  { $$ = (Origin){0}; }
      | FROM STRING  { $$ = (Origin){$2.bytes, @2, false}; }
      | FROM STRING '\''  { $$ = (Origin){$2.bytes, @2, true}; }
      ;

recipe: optimizer  { $$ = (Recipe){0}; recipe_add(ps, &$$, $1); }
      | clause  { $$ = (Recipe){0}; args_add(ps, &$$.clauses, $1); }
      | recipe ',' optimizer  { $$ = $1; recipe_add(ps, &$$, $3); }
      | recipe ',' clause  { $$ = $1; args_add(ps, &$$.clauses, $3); }
      ;
optimizer: disj  { $$ = (Optimizer){$1, NULL}; }
         | disj IF disj  { $$ = (Optimizer){$1, $3}; }
         ;
clause: name '=' expr  { $$ = (Arg){$1, $3}; }
      | IF '=' expr  { $$ = (Arg){{intern(ps->c, "if"), @1}, $3}; }
      ;

loop: loop_kind loop_head block  { $$ = make_loop(ps, $1, $2, $3, loc_join(@1, @2)); } ;
loop_kind: FOR { $$ = ST_FOR; } | SCAN { $$ = ST_SCAN; } ;
loop_head: name IN expr RANGE expr  { $$ = (LoopHead){$1, $3, $5}; } ;

branch: IF expr block  { $$ = make_branch(ps, $2, $3, (Body){0}, false, loc_join(@1, @2)); }
      | IF expr block ELSE block  { $$ = make_branch(ps, $2, $3, $5, true, loc_join(@1, @2)); }
      | IF expr block ELSE branch
          { Stmts one = {0};
            vec_push(ps->arena, &one, $5);
            $$ = make_branch(ps, $2, $3, make_body(ps, one, @5, @5), true, loc_join(@1, @2)); }
      ;

names: name  { $$ = (Idents){0}; vec_push(ps->arena, &$$, $1); }
     | names ',' name  { $$ = $1; vec_push(ps->arena, &$$, $3); }
     ;
name: NAME  { $$ = (Ident){$1, @1}; } ;

outs: out  { $$ = (Outs){0}; vec_push(ps->arena, &$$, $1); }
    | outs ',' out  { $$ = $1; vec_push(ps->arena, &$$, $3); }
    ;
out: expr type_opt  { $$ = (Out){{0}, $1, $2, @$}; }
   | name '=' expr type_opt  { $$ = (Out){$1, $3, $4, @$}; }
   ;

named: instance
     | instance SHARED  { $$ = $1; $$.shared = true; }
     ;
instance: name  { $$ = (Instance){$1, {0}, @1}; }
        | instance '[' expr ']'
            { $$ = $1; vec_push(ps->arena, &$$.index, $3); $$.loc = @$; check_depth(ps, $3->depth, @3); }
        ;

/* ---- expressions, loosest first ---- */

exprs: expr  { $$ = (Exprs){0}; vec_push(ps->arena, &$$, $1); }
     | exprs ',' expr  { $$ = $1; vec_push(ps->arena, &$$, $3); }
     ;
expr: pipe ;
pipe: cond
    | pipe PIPE atom  { $$ = make_pipe(ps, $1, $3, @$); }
    ;
cond: disj
    | disj IF disj ELSE cond  { $$ = make_cond(ps, $1, $3, $5); }
    ;
disj: conj
    | disj OR conj  { $$ = make_binary(ps, BIN_OR, @2, $1, $3); }
    ;
conj: neg
    | conj AND neg  { $$ = make_binary(ps, BIN_AND, @2, $1, $3); }
    ;
neg: cmp
   | NOT neg  { $$ = make_unary(ps, UN_NOT, $2, @$); }
   ;
cmp: sum
   | sum cmp_op sum  { $$ = make_binary(ps, $2, @2, $1, $3); }
   ;
cmp_op: EQ { $$ = BIN_EQ; } | NE { $$ = BIN_NE; } | LE { $$ = BIN_LE; } | GE { $$ = BIN_GE; }
      | '<' { $$ = BIN_LT; } | '>' { $$ = BIN_GT; } ;
sum: prod
   | sum sum_op prod  { $$ = make_binary(ps, $2, @2, $1, $3); }
   ;
sum_op: '+' { $$ = BIN_ADD; } | '-' { $$ = BIN_SUB; } ;
prod: unary
    | prod prod_op unary  { $$ = make_binary(ps, $2, @2, $1, $3); }
    ;
prod_op: '*' { $$ = BIN_MUL; } | '/' { $$ = BIN_DIV; } | '%' { $$ = BIN_MOD; }
       | QUOTIENT { $$ = BIN_QUOTIENT; } | '@' { $$ = BIN_MATMUL; } ;
unary: power
     | '-' unary  { $$ = make_unary(ps, UN_NEG, $2, @$); }
     ;
power: operand
     | operand POW unary  { $$ = make_binary(ps, BIN_POW, @2, $1, $3); }
     ;
operand: atom  { $$ = check_operand(ps, $1); } ;
atom: post
    | post AS named  { $$ = make_named(ps, $1, $3, @$); }
    ;
post: prim
    | post '(' args ')'  { $$ = make_call(ps, $1, $3, @$); }
    | post '[' indices ']'  { $$ = make_index(ps, $1, $3, @$); }
    | post '[' indices ',' ']'  { $$ = make_index(ps, $1, $3, @$); }
    | post '\''  { $$ = make_transpose(ps, $1, @$); }
    ;
prim: INTEGER  { $$ = make_expr(ps, EX_INT, @1); $$->integer = $1; }
    | FLOAT  { $$ = make_expr(ps, EX_FLOAT, @1); $$->number = $1; }
    | BOOLEAN  { $$ = make_expr(ps, EX_BOOL, @1); $$->boolean = $1; }
    | STRING
        { $$ = make_expr(ps, EX_STRING, @1); $$->string.bytes = $1.bytes; $$->string.n = $1.n; }
    | NAME  { $$ = make_expr(ps, EX_NAME, @1); $$->name = $1; }
    | DTYPE  { $$ = make_expr(ps, EX_DTYPE, @1); $$->name = $1; }
    | '(' expr ')'  { $$ = $2; $$->loc = @$; }
    | '[' list ']'  { $$ = make_list(ps, $2, @$); }
    ;
list: %empty  { $$ = (Exprs){0}; }
    | exprs
    | exprs ','
    ;
args: %empty  { $$ = (Args){0}; }
    | arg_list
    | arg_list ','
    ;
arg_list: arg  { $$ = (Args){0}; args_add(ps, &$$, $1); }
        | arg_list ',' arg  { $$ = $1; args_add(ps, &$$, $3); }
        ;
arg: expr  { $$ = (Arg){{0}, $1}; }
   | name '=' expr  { $$ = (Arg){$1, $3}; }
   ;
indices: index  { $$ = (Indices){0}; vec_push(ps->arena, &$$, $1); }
       | indices ',' index  { $$ = $1; vec_push(ps->arena, &$$, $3); }
       ;
index: expr  { $$ = (Index){.kind = INDEX_AT, .at = $1, .loc = @$}; }
     | ELLIPSIS  { $$ = (Index){.kind = INDEX_ELLIPSIS, .loc = @$}; }
     | slice_end ':' slice_end
         { $$ = (Index){.kind = INDEX_SLICE, .start = $1, .stop = $3, .loc = @$}; }
     | slice_end ':' slice_end ':' slice_end
         { $$ = (Index){.kind = INDEX_SLICE, .start = $1, .stop = $3, .step = $5, .loc = @$}; }
     ;
slice_end: %empty { $$ = NULL; } | expr ;

%%

/* The kind that the scanner gives a token; Bison numbers its symbols in another way. */
static int token_of(yysymbol_kind_t kind) {
  int t = 0;
  while (t < YYMAXUTOK && YYTRANSLATE(t) != kind) t++;
  return t;
}

/* Bison asks for a message: the tokens that could stand here, to errors.c. */
static int yyreport_syntax_error(const yypcontext_t *at, Parser *ps) {
  yysymbol_kind_t kinds[YYNTOKENS];
  int tokens[YYNTOKENS];
  const char *words[YYNTOKENS];
  int n = yypcontext_expected_tokens(at, kinds, YYNTOKENS);
  for (int i = 0; i < n; i++) {
    tokens[i] = token_of(kinds[i]);
    words[i] = yysymbol_name(kinds[i]);
  }
  syntax_error(ps, tokens, words, n);
  return 0;
}
