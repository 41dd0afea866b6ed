/* The inside of the language server: messages (rpc.c), open documents and what the compiler says of
   them (document.c), the names of a text (outline.c), answers (hover.c, complete.c), the loop
   (server.c). The protocol is version 3.17 of the Language Server Protocol; lines and columns count
   from 0 there, columns in UTF-16 units. */
#ifndef GC_LANG_LSP_H
#define GC_LANG_LSP_H
#include "lang/editor/editor.h"
#include "lang/editor/json.h"
#include "lang/elab/elab.h"
#include "lang/syntax/tokens.h"

/* ---- rpc.c ---- */
typedef enum RpcResult { RPC_MESSAGE, RPC_END, RPC_NO_FRAME, RPC_NO_JSON } RpcResult;
/* The next message; behind RPC_NO_JSON the next one can be read, behind RPC_NO_FRAME none. */
RpcResult rpc_read(FILE *in, json_t **message);
void rpc_write(FILE *out, json_t *message); /* takes the reference */

/* ---- document.c ---- */
/* What the compiler made of a text. */
typedef struct Analysis {
  Ctx *c;
  uint16_t file;       /* the text */
  const Program *prog; /* NULL: it does not parse */
  Module *m;           /* NULL: it has errors */
  bool planned, has_plan;
  VEC(Seen) seen;
  json_t *diagnostics; /* from a file's URI to what is said of it */
  json_t *last;        /* the error that notes and hints belong to; borrowed */
} Analysis;

typedef struct Document {
  char *uri, *path, *text;
  Analysis *now;     /* of the text; NULL: it has changed since */
  Analysis *good;    /* of the last text without syntax errors, which may be `now`; else NULL */
  bool is_published; /* what is said of the text */
  const ModelReader *models;
  json_t *published; /* the URIs that have diagnostics of this document */
} Document;

Document *document_new(const char *uri, const char *text, const ModelReader *models);
void document_free(Document *d);
void document_change(Document *d, const char *text);
/* The analysis of the text as it is. */
Analysis *document_analysis(Document *d);
/* The memory plan of the analysed module; false where there is none. */
bool analysis_plan(Analysis *a, PlanModule *plan);
char *uri_of_path(const char *path); /* to be freed */

/* {line, character} as a place in the source, its column in bytes, and back. */
Loc loc_of_position(Ctx *c, uint16_t file, const json_t *position);
json_t *range_of_loc(Ctx *c, Loc loc);

/* ---- outline.c ---- */
typedef enum NameKind { /* of a place where a name is bound */
                        NAME_LET,
                        NAME_HYPER,
                        NAME_DEF,
                        NAME_ENTRY,
                        NAME_ARGUMENT, /* of a def, a dim of its types, a variable of a loop */
                        NAME_LOCAL,
                        NAME_PARAM,
                        NAME_STATE
} NameKind;

typedef struct NameBinding {
  NameKind kind;
  const char *name; /* interned */
  Loc loc;
  int declaration; /* index of the binding of the def or entry around it; -1: at the top */
  uint32_t end;    /* of a declaration: the line of its last token */
} NameBinding;

typedef struct Outline {
  SourceTokens tokens;
  VEC(NameBinding) names;
} Outline;

/* The names that a text binds, from its tokens alone, so that it works on half-written programs. */
Outline outline_of(Ctx *c, uint16_t file);
/* The token at a place or that ends there; NULL: none. */
const SourceToken *outline_token(const Outline *o, Loc at);
/* The declaration around a place, -1 at the top. */
int outline_declaration(const Outline *o, Loc at);
/* Where the name that is used at a place is bound: the last binding before it in its declaration,
   else one at the top; NULL: not in this text. */
const NameBinding *outline_find(const Outline *o, const char *name, Loc at);

/* ---- hover.c ---- */
/* A def's head as it is written, on one line, and the comment above it; of any file. */
const char *head_of(Ctx *c, const Decl *d);
const char *comment_above(Ctx *c, const Decl *d);
const Decl *program_find(const Program *p, const char *name);
json_t *hover_answer(Document *d, Loc at, PlanModule *plan);

/* ---- complete.c ---- */
json_t *complete_answer(Document *d, const json_t *position);
#endif
