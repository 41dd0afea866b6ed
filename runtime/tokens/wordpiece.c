/* WordPiece: the longest token that a word begins with, then the longest continuation, and so on;
   one unknown token if a part has none. Contract: see parts.h. Source: the package tokenizers. */
#include "runtime/tokens/parts.h"

static uint64_t longest(const Trie *t, Slice s, uint32_t *id) {
  uint32_t node = 0;
  uint64_t n = 0;
  for (uint64_t i = 0; i < s.n && t->n; i++) {
    node = trie_step(t, node, (unsigned char)s.s[i]);
    if (!node) break;
    if (t->end[node] != NO_TOKEN) n = i + 1, *id = t->end[node];
  }
  return n;
}

bool wordpiece_encode(Model *m, Slice word, Ids *out, Err *e) {
  const WordPiece *w = &m->wordpiece;
  uint64_t first = out->n, chars = 0;
  for (uint64_t at = 0; at < word.n && chars <= w->longest; chars++) utf8_next(word, &at);
  bool known = chars <= w->longest;
  for (uint64_t at = 0, n; known && at < word.n; at += n) {
    uint32_t id = NO_TOKEN;
    n = longest(at ? &w->rest : &w->first, slice_part(word, at, word.n), &id);
    known = n > 0;
    if (known && !ids_add(out, id)) return no_memory(e);
  }
  if (known) return true;
  out->n = first;
  return ids_add(out, m->unknown) || no_memory(e);
}

bool wordpiece_read(const Tree *t, const TreeNode *node, Model *m) {
  WordPiece *w = &m->wordpiece;
  Slice prefix;
  const TreeNode *most = tree_get(t, node, "max_input_chars_per_word");
  w->longest = 100;
  if (!model_vocab_read(t, tree_get(t, node, "vocab"), m) ||
      !tree_text(t, node, "continuing_subword_prefix", &prefix) ||
      !tree_text(t, node, "unk_token", &m->unknown_text) ||
      (tree_has(most) && !tree_count(t, most, UINT32_MAX, &w->longest)))
    return false;
  if (!prefix.s) prefix = slice_of("##");
  m->unknown = vocab_find(&m->vocab, m->unknown_text.s ? m->unknown_text : slice_of("[UNK]"));
  if (m->unknown == NO_TOKEN) return tree_fail(t, node, "unk_token is not in the vocabulary");
  for (uint32_t i = 0; i < m->vocab.n; i++) {
    Slice s = m->vocab.token[i];
    bool rest = s.s && s.n > prefix.n && memcmp(s.s, prefix.s, prefix.n) == 0;
    if ((s.n && !trie_add(&w->first, s, i)) ||
        (rest && !trie_add(&w->rest, slice_part(s, prefix.n, s.n), i)))
      return err_set(t->e, EXIT_ENV, "%s: no memory for the vocabulary", t->path);
  }
  return true;
}

void wordpiece_free(WordPiece *w) {
  trie_free(&w->first);
  trie_free(&w->rest);
}
