/* Builds the tree with the strict reader of runtime/weights/json.h. Contract: see tree.h. */
#include "runtime/tokens/tree.h"
#include "runtime/data/file.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool scalar(Json *j, TreeNode *n) {
  static const struct {
    const char *word;
    TreeKind kind;
    double number;
  } words[] = {{"null", TREE_NULL, 0}, {"true", TREE_BOOL, 1}, {"false", TREE_BOOL, 0}};
  for (int i = 0; i < 3; i++) {
    size_t length = strlen(words[i].word);
    if ((size_t)(j->end - j->p) < length || memcmp(j->p, words[i].word, length) != 0) continue;
    j->p += length;
    n->kind = words[i].kind, n->number = words[i].number;
    return true;
  }
  n->kind = TREE_NUMBER;
  return json_number(j, &n->number);
}

static TreeNode *add(Tree *t, Json *j, uint32_t parent, uint32_t *last) {
  if (t->n >= UINT32_MAX - 1 || !grow(&t->node, &t->room, t->n + 1, sizeof *t->node)) {
    err_set(t->e, EXIT_ENV, "%s: no memory for the %s", t->path, t->what);
    return NULL;
  }
  uint32_t at = (uint32_t)t->n++;
  t->node[at] = (TreeNode){.parent = parent, .at = (uint64_t)(j->p - j->begin)};
  if (*last)
    t->node[*last].next = at;
  else
    t->node[parent].child = at;
  *last = at;
  return &t->node[at];
}

/* One value; `open` is the list or object that it lies in, and becomes it where it is one. */
static bool value(Tree *t, Json *j, uint32_t *open, uint32_t *last) {
  JsonText text;
  Slice key = {0};
  if (t->node[*open].kind == TREE_OBJECT) {
    if (!json_string(j, &text) || !json_expect(j, ':')) return false;
    key = (Slice){text.s, text.n};
  }
  TreeNode *n = add(t, j, *open, last);
  if (!n) return false;
  n->key = key;
  bool list = json_take(j, '[');
  if (list || json_take(j, '{')) {
    n->kind = list ? TREE_LIST : TREE_OBJECT;
    *open = *last, *last = 0;
    return true;
  }
  if (!json_sees(j, '"')) return scalar(j, n);
  if (!json_string(j, &text)) return false;
  n->kind = TREE_STRING, n->text = (Slice){text.s, text.n};
  return true;
}

static bool parse(Tree *t, Json *j) {
  uint32_t open = 0, last = 0;
  if (!grow(&t->node, &t->room, 2, sizeof *t->node))
    return err_set(t->e, EXIT_ENV, "%s: no memory for the %s", t->path, t->what);
  t->node[0] = (TreeNode){0}, t->n = 1;
  if (!value(t, j, &open, &last)) return false;
  while (open) {
    char close = t->node[open].kind == TREE_LIST ? ']' : '}';
    bool first = !last;
    if (json_take(j, close)) {
      last = open, open = t->node[open].parent;
      continue;
    }
    if (!first && !json_expect(j, ',')) return false;
    if (!value(t, j, &open, &last)) return false;
  }
  t->node[0].child = 0; /* the root is nobody's child */
  return json_end(j);
}

/* The n bytes of the buffer, which has one more. */
static bool parse_buffer(Tree *t, uint64_t n) {
  t->buffer[n] = 0; /* where numbers end */
  Json j = {.p = t->buffer,
            .begin = t->buffer,
            .end = t->buffer + n,
            .path = t->path,
            .what = t->what,
            .zeros = true,
            .e = t->e};
  return parse(t, &j);
}

bool tree_read(Tree *t, const char *path, const char *what, uint64_t most, Err *e) {
  File f;
  *t = (Tree){.path = path, .what = what, .e = e};
  if (!file_open(&f, path, e)) return false;
  if (f.size > most)
    err_set(e, EXIT_WRONG, "%s: a %s of more than %" PRIu64 " MB", path, what, most >> 20);
  else if (!(t->buffer = malloc(f.size + 1)))
    err_set(e, EXIT_ENV, "%s: no memory for the %s", path, what);
  bool ok = t->buffer && file_read(&f, 0, t->buffer, f.size, e) && parse_buffer(t, f.size);
  file_close(&f);
  if (!ok) tree_free(t);
  return ok;
}

bool tree_parse(Tree *t, const char *path, const char *what, Slice text, Err *e) {
  *t = (Tree){.path = path, .what = what, .buffer = malloc(text.n + 1), .e = e};
  if (!t->buffer) return err_set(e, EXIT_ENV, "%s: no memory for the %s", path, what);
  memcpy(t->buffer, text.s, text.n);
  if (parse_buffer(t, text.n)) return true;
  tree_free(t);
  return false;
}

void tree_free(Tree *t) {
  free(t->buffer);
  free(t->node);
  t->buffer = NULL, t->node = NULL, t->n = t->room = 0;
}

const TreeNode *tree_get(const Tree *t, const TreeNode *object, const char *key) {
  const Slice k = slice_of(key);
  if (object->kind == TREE_OBJECT)
    for (const TreeNode *n = tree_child(t, object); n; n = tree_next(t, n))
      if (slice_is(n->key, k)) return n;
  return &t->node[0];
}

bool tree_fail(const Tree *t, const TreeNode *n, const char *fmt, ...) {
  char what[400];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  if (!n->at) return err_set(t->e, EXIT_WRONG, "%s: %s", t->path, what);
  return err_set(t->e, EXIT_WRONG, "%s: byte %" PRIu64 ": %s", t->path, n->at, what);
}

bool tree_flag(const Tree *t, const TreeNode *object, const char *key, bool missing, bool *out) {
  const TreeNode *n = tree_get(t, object, key);
  *out = tree_has(n) ? n->number != 0 : missing;
  return !tree_has(n) || n->kind == TREE_BOOL ||
         tree_fail(t, n, "%s is neither true nor false", key);
}

bool tree_text(const Tree *t, const TreeNode *object, const char *key, Slice *out) {
  const TreeNode *n = tree_get(t, object, key);
  *out = n->text;
  return !tree_has(n) || n->kind == TREE_STRING || tree_fail(t, n, "%s is no string", key);
}

bool tree_count(const Tree *t, const TreeNode *n, uint64_t most, uint64_t *out) {
  bool ok = n->kind == TREE_NUMBER && n->number >= 0 && n->number <= (double)most;
  *out = ok ? (uint64_t)n->number : 0;
  if (ok && (double)*out == n->number) return true;
  return tree_fail(t, n, "a whole number from 0 to %" PRIu64 " was expected", most);
}
