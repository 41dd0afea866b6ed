/* The kinds of models, and what they share: the vocabulary and the cache of words. */
#include "runtime/tokens/parts.h"

static const ModelKind kinds[] = {{"BPE", bpe_read, bpe_encode},
                                  {"Unigram", unigram_read, unigram_encode},
                                  {"WordPiece", wordpiece_read, wordpiece_encode}};
enum { KINDS = sizeof kinds / sizeof *kinds };

bool model_vocab_read(const Tree *t, const TreeNode *node, Model *m) {
  uint64_t id;
  if (node->kind != TREE_OBJECT || !tree_child(t, node))
    return tree_fail(t, node, "the model has no vocabulary");
  for (const TreeNode *n = tree_child(t, node); n; n = tree_next(t, n)) {
    if (!tree_count(t, n, TOKENS - 1, &id)) return false;
    if (vocab_token(&m->vocab, (uint32_t)id).s)
      return tree_fail(t, n, "two tokens of the vocabulary have one number");
    if (!vocab_add(&m->vocab, n->key, (uint32_t)id))
      return err_set(t->e, EXIT_ENV, "%s: no memory for the vocabulary", t->path);
  }
  return true;
}

void model_bytes(const Model *m, uint32_t bytes[256]) {
  static const char digit[] = "0123456789ABCDEF";
  char text[] = "<0x00>";
  for (int i = 0; i < 256; i++) {
    text[3] = digit[i >> 4], text[4] = digit[i & 15];
    bytes[i] = vocab_find(&m->vocab, slice_of(text));
  }
}

/* Files of older versions do not name the kind. */
static const char *guess(const Tree *t, const TreeNode *node) {
  if (tree_has(tree_get(t, node, "merges"))) return "BPE";
  return tree_get(t, node, "vocab")->kind == TREE_LIST ? "Unigram" : "WordPiece";
}

bool model_read(const Tree *t, const TreeNode *node, Model *m) {
  Slice type;
  m->unknown = NO_TOKEN;
  if (node->kind != TREE_OBJECT) return tree_fail(t, node, "there is no model");
  if (!tree_text(t, node, "type", &type)) return false;
  if (!type.s) type = slice_of(guess(t, node));
  for (int i = 0; i < KINDS; i++) {
    if (!slice_is(type, slice_of(kinds[i].name))) continue;
    m->kind = &kinds[i];
    return kinds[i].read(t, node, m);
  }
  return tree_fail(t, node, "the model %.*s is not known here", (int)(type.n < 60 ? type.n : 60),
                   type.s);
}

bool model_encode(Model *m, Slice word, Ids *out, Err *e) {
  const uint32_t *known;
  uint64_t n, first = out->n;
  if (cache_find(&m->cache, word, &known, &n)) {
    for (uint64_t i = 0; i < n; i++)
      if (!ids_add(out, known[i])) return no_memory(e);
    return true;
  }
  return m->kind->encode(m, word, out, e) &&
         (cache_add(&m->cache, word, out->at + first, out->n - first) || no_memory(e));
}

void model_free(Model *m) {
  vocab_free(&m->vocab);
  cache_free(&m->cache);
  bpe_free(&m->bpe);
  unigram_free(&m->unigram);
  wordpiece_free(&m->wordpiece);
}
