/* A JSON text as a tree. Contract: strings lie in the buffer that was read, which the tree keeps;
   nothing recurses; a key that an object has twice is found once. */
#ifndef GCRT_TREE_H
#define GCRT_TREE_H
#include "runtime/tokens/text.h"
#include "runtime/weights/json.h"

typedef enum TreeKind {
  TREE_NONE, /* there is no such node */
  TREE_NULL,
  TREE_BOOL,
  TREE_NUMBER,
  TREE_STRING,
  TREE_LIST,
  TREE_OBJECT
} TreeKind;
typedef struct TreeNode {
  TreeKind kind;
  uint32_t child, next, parent; /* indices; 0: none */
  uint64_t at;                  /* byte of the file, for messages */
  Slice key;                    /* in an object */
  Slice text;                   /* of a string */
  double number;                /* or 1 for true */
} TreeNode;
typedef struct Tree {
  char *buffer;
  TreeNode *node; /* the first one stands for "none", the second is the root */
  uint64_t n, room;
  const char *path, *what; /* for messages */
  Err *e;
} Tree;
enum { TREE_ROOT = 1 };

/* A file of `most` bytes at most; what: "tokenizer". The tree's errors go to e. */
bool tree_read(Tree *t, const char *path, const char *what, uint64_t most, Err *e);
/* The same of a text, which is copied; path: the place that messages name. */
bool tree_parse(Tree *t, const char *path, const char *what, Slice text, Err *e);
void tree_free(Tree *t);
/* The value of a key of an object. */
const TreeNode *tree_get(const Tree *t, const TreeNode *object, const char *key);
static inline const TreeNode *tree_root(const Tree *t) { return &t->node[TREE_ROOT]; }
static inline const TreeNode *tree_child(const Tree *t, const TreeNode *n) {
  return n->child ? &t->node[n->child] : NULL;
}
static inline const TreeNode *tree_next(const Tree *t, const TreeNode *n) {
  return n->next ? &t->node[n->next] : NULL;
}
/* There is a value, other than null. */
static inline bool tree_has(const TreeNode *n) { return n->kind > TREE_NULL; }
bool tree_fail(const Tree *t, const TreeNode *n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* What a key has, or what is taken where it is missing or null; of another kind: an error, false.
 */
bool tree_flag(const Tree *t, const TreeNode *object, const char *key, bool missing, bool *out);
bool tree_text(const Tree *t, const TreeNode *object, const char *key, Slice *out);
bool tree_count(const Tree *t, const TreeNode *n, uint64_t most, uint64_t *out);
#endif
