/* The tree of an expression, between the parser and the writer of code. */
#ifndef GCRT_REGEX_TREE_H
#define GCRT_REGEX_TREE_H
#include "runtime/tokens/regex_code.h"

enum { DEPTH = 24, NODES = 1 << 12, CODES = 1 << 14, COPIES = 4 * CODES };

typedef enum NodeKind { NODE_SET, NODE_SEQUENCE, NODE_EITHER, NODE_REPEAT, NODE_LOOK } NodeKind;
typedef struct Node {
  NodeKind kind;
  int set;
  int child, next; /* -1: none */
  uint32_t min, max;
  bool lazy, keeps, negative;
} Node;

typedef struct Parser { /* and what it has read */
  Regex *r;
  Slice s;
  uint64_t at;
  Node *nodes;
  uint64_t room;
  int n, depth;
  int copies; /* of nodes that were emitted */
  bool folds; /* upper and lower case are one */
  char *why;
} Parser;

bool regex_wrong(Parser *p, const char *what); /* the first reason counts; false */
int regex_code_add(Parser *p, Code c);         /* -1: there is no room */
bool regex_emit(Parser *p, int node);          /* appends the node's code */
#endif
