/* Calls of functions: the body is read again where it is called, with registers, labels and local
 * memory of its own, so that a call is plain code of the kernel. `ret` is a branch behind it.
 * Parameters of a call are memory of the thread, addressed in the space of parameters from
 * CALL_PARAMS on. Contract: parameters are passed in .param variables, as NVRTC passes them, and of
 * the size that the function declares; a function that calls itself is refused. */
#include "decode.h"
#include "exec_ops.h"
#include <string.h>

enum { DEPTH_MAX = 16 };

/* ---- where functions stand ---- */
static void next_or_fail(Lexer *lx, Parser *p) {
  if (lx->tok.kind == TOK_END) parse_fail(p, lx->tok.line, "the text ends too early");
  ptx_lex_next(lx);
}

/* From behind .func: notes the function if it has a body. The name stands behind the result. */
static void note_function(Parser *p, Lexer lx) {
  PtxModule *m = p->m;
  Lexer head = lx;
  if (tok_is(&lx.tok, '(')) {
    while (!tok_is(&lx.tok, ')')) next_or_fail(&lx, p);
    next_or_fail(&lx, p);
  }
  Tok name = lx.tok;
  if (name.kind != TOK_WORD) parse_fail(p, name.line, "a function has no name");
  while (!tok_is(&lx.tok, '{') && !tok_is(&lx.tok, ';')) next_or_fail(&lx, p);
  if (tok_is(&lx.tok, ';')) return;
  m->functions =
      pool_grow(&m->pool, m->functions, m->nfunctions, m->nfunctions + 1, sizeof *m->functions);
  m->functions[m->nfunctions++] = (Function){name, head};
}

void find_functions(Parser *p) {
  for (Lexer lx = p->lx; lx.tok.kind != TOK_END; ptx_lex_next(&lx)) {
    if (lx.tok.kind != TOK_DOT || !tok_eq(&lx.tok, ".func")) continue;
    Lexer behind = lx;
    ptx_lex_next(&behind);
    note_function(p, behind);
  }
}

static const Function *find_function(const Parser *p, const Tok *name) {
  const PtxModule *m = p->m;
  for (size_t i = 0; i < m->nfunctions; i++) {
    const Tok *t = &m->functions[i].name;
    if (t->size == name->size && memcmp(t->text, name->text, t->size) == 0) return &m->functions[i];
  }
  return NULL;
}

/* ---- parameters ---- */
void parse_call_param(Parser *p) {
  Decl d = parse_decl(p);
  Var *v = add_var(p, &d, SPACE_PARAM);
  v->address = CALL_PARAMS + local_place(p, v->size, d.align);
}

enum { PARAMS_MAX = 64 };
typedef struct Passed {
  int var[PARAMS_MAX]; /* variables of the module, in order */
  int n;
} Passed;

/* (param0, param1) */
static void take_passed(Decoder *d, Passed *out) {
  Parser *p = d->p;
  while (!tok_is(&p->lx.tok, ')')) {
    const Name *n =
        p->lx.tok.kind == TOK_WORD ? names_find(p->scope, p->lx.tok.text, p->lx.tok.size) : NULL;
    if (!n || n->kind != SYM_VAR || p->m->vars[n->index].space != SPACE_PARAM)
      parse_fail(p, p->lx.tok.line, "only a .param variable can be passed to a function");
    if (out->n == PARAMS_MAX) parse_fail(p, p->lx.tok.line, "too many parameters in a call");
    out->var[out->n++] = n->index;
    ptx_lex_next(&p->lx);
    if (tok_is(&p->lx.tok, ',')) ptx_lex_next(&p->lx);
  }
  ptx_lex_next(&p->lx);
}

/* (.param .b64 name, …) of the function: names for what is passed. */
static void name_params(Parser *p, const Passed *passed, int line) {
  int n = 0;
  if (tok_is(&p->lx.tok, '(')) {
    ptx_lex_next(&p->lx);
    while (!tok_is(&p->lx.tok, ')')) {
      if (!tok_eq(&p->lx.tok, ".param"))
        parse_fail(p, p->lx.tok.line, "a function's parameter is not in .param memory");
      ptx_lex_next(&p->lx);
      Decl d = parse_decl(p);
      if (n == passed->n || p->m->vars[passed->var[n]].size != d.count * type_bytes(d.type))
        parse_fail(p, line, "what is passed is not what the function takes");
      Name *name = names_add(&p->m->pool, p->scope, d.name.text, d.name.size);
      if (!name) parse_fail(p, d.name.line, "a parameter is there twice");
      name->kind = SYM_VAR;
      name->index = passed->var[n++];
      if (tok_is(&p->lx.tok, ',')) ptx_lex_next(&p->lx);
    }
    ptx_lex_next(&p->lx);
  }
  if (n != passed->n) parse_fail(p, line, "what is passed is not what the function takes");
}

/* ---- the body, in place of the call ---- */
static void splice(Parser *p, const Function *f, const Passed *results, const Passed *args,
                   int line) {
  Lexer behind = p->lx;
  Names *scope = p->scope;
  int returns = p->returns;
  if (++p->depth > DEPTH_MAX)
    parse_fail(p, line, "calls are nested deeper than %d: a function may not call itself",
               DEPTH_MAX);
  p->lx = f->head;
  p->scope = names_open(&p->m->pool, p->m->names);
  name_params(p, results, line);
  ptx_lex_next(&p->lx); /* its name */
  name_params(p, args, line);
  while (!tok_is(&p->lx.tok, '{')) next_or_fail(&p->lx, p); /* .noreturn and the like */
  p->returns = label_index(p, "end of the function", 19, line);
  parse_body(p);
  place_label(p, p->returns, line);
  p->lx = behind;
  p->scope = scope;
  p->returns = returns;
  p->depth--;
}

/* call.uni (results), name, (args); */
void decode_call(Decoder *d) {
  Parser *p = d->p;
  Passed results = {.n = 0}, args = {.n = 0};
  if (d->ins.guard.cls != SLOT_NONE)
    parse_fail(p, d->mnemonic.line, "a call that a predicate guards is not known");
  if (tok_is(&p->lx.tok, '(')) {
    ptx_lex_next(&p->lx);
    take_passed(d, &results);
    if (tok_is(&p->lx.tok, ',')) ptx_lex_next(&p->lx);
  }
  Tok name = p->lx.tok;
  const Function *f = name.kind == TOK_WORD ? find_function(p, &name) : NULL;
  if (!f)
    parse_fail(p, name.line, "'%.*s' is called, and has no body",
               (int)(name.size < 100 ? name.size : 100), name.text);
  ptx_lex_next(&p->lx);
  if (tok_is(&p->lx.tok, ',')) ptx_lex_next(&p->lx);
  if (tok_is(&p->lx.tok, '(')) {
    ptx_lex_next(&p->lx);
    take_passed(d, &args);
  }
  splice(p, f, &results, &args, d->mnemonic.line);
  d->ins.flow = FLOW_PLAIN; /* what is left of the call: nothing is done */
  d->ins.run = exec_idle;
  d->ins.own_init = true;
}
