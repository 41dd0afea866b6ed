/* Unigram models: of all ways to cut a word into tokens, the one whose scores add up to most, by
   Viterbi's algorithm over byte positions; a character that is no token of its own may be unknown,
   at a penalty. Contract: see parts.h. Source: T. Kudo, Subword regularization, 2018; ties and
   unknown characters as in the package tokenizers. */
#include "runtime/tokens/parts.h"
#include <math.h>
#include <stdlib.h>

typedef struct Best { /* the best way to a position */
  double score;
  uint64_t from;
  uint32_t id;
  bool any;
} Best;

static void reach(Best *to, double score, uint64_t from, uint32_t id) {
  if (!to->any || score > to->score) *to = (Best){score, from, id, true};
}

static void search(const Model *m, Slice word, Best *best) {
  const Unigram *u = &m->unigram;
  memset(best, 0, (word.n + 1) * sizeof *best);
  for (uint64_t at = 0, next = 0; at < word.n; at = next) {
    bool single = false;
    uint32_t node = 0;
    utf8_next(word, &next);
    for (uint64_t i = at; i < word.n; i++) {
      node = trie_step(&u->trie, node, (unsigned char)word.s[i]);
      if (!node) break;
      uint32_t id = u->trie.end[node];
      if (id == NO_TOKEN) continue;
      reach(&best[i + 1], u->score[id] + best[at].score, at, id);
      single = single || i + 1 == next;
    }
    if (!single) reach(&best[next], u->unknown_score + best[at].score, at, m->unknown);
  }
}

/* A token, or unknown characters in a row, which may be one all the same. Bytes go out last first.
 */
static bool put(const Model *m, Slice s, uint32_t id, Ids *out) {
  const Unigram *u = &m->unigram;
  if (id == m->unknown) id = vocab_find(&m->vocab, s);
  if (id != NO_TOKEN) return ids_add(out, id);
  if (!u->byte_fallback || !has_bytes(u->bytes, s)) return ids_add(out, m->unknown);
  for (uint64_t i = s.n; i; i--)
    if (!ids_add(out, u->bytes[(unsigned char)s.s[i - 1]])) return false;
  return true;
}

/* From the end of the word to its beginning; then turned round. */
bool unigram_encode(Model *m, Slice word, Ids *out, Err *e) {
  Unigram *u = &m->unigram;
  uint64_t first = out->n;
  if (!grow(&u->best, &u->best_room, word.n + 1, sizeof *u->best)) return no_memory(e);
  const Best *best = u->best;
  search(m, word, u->best);
  for (uint64_t at = word.n, begin; at; at = begin) {
    uint32_t id = best[at].id;
    begin = best[at].from;
    while (id == m->unknown && begin && best[begin].id == id) begin = best[begin].from;
    if (!put(m, slice_part(word, begin, at), id, out)) return no_memory(e);
  }
  for (uint64_t low = first, high = out->n; low + 1 < high; low++) {
    uint32_t other = out->at[--high];
    out->at[high] = out->at[low], out->at[low] = other;
  }
  return true;
}

/* [["token", score], …]: the number of a token is its place. */
static bool read_scores(const Tree *t, const TreeNode *list, Model *m) {
  Unigram *u = &m->unigram;
  uint64_t room = 0, n = 0;
  double least = INFINITY;
  for (const TreeNode *x = tree_child(t, list); x; x = tree_next(t, x), n++) {
    const TreeNode *token = tree_child(t, x), *score = token ? tree_next(t, token) : NULL;
    if (!score || token->kind != TREE_STRING || score->kind != TREE_NUMBER || n == TOKENS)
      return tree_fail(t, x, "an entry of the vocabulary is no token and score");
    if (!grow(&u->score, &room, n + 1, sizeof *u->score) ||
        !vocab_add(&m->vocab, token->text, (uint32_t)n) ||
        !trie_add(&u->trie, token->text, (uint32_t)n))
      return err_set(t->e, EXIT_ENV, "%s: no memory for the vocabulary", t->path);
    u->score[n] = score->number;
    least = fmin(least, score->number);
  }
  u->unknown_score = least - 10; /* the penalty of SentencePiece */
  return n || tree_fail(t, list, "the vocabulary is empty");
}

bool unigram_read(const Tree *t, const TreeNode *node, Model *m) {
  Unigram *u = &m->unigram;
  uint64_t unknown;
  const TreeNode *list = tree_get(t, node, "vocab"), *id = tree_get(t, node, "unk_id");
  if (list->kind != TREE_LIST) return tree_fail(t, node, "the model has no list of tokens");
  if (!read_scores(t, list, m)) return false;
  if (!tree_has(id)) return tree_fail(t, node, "a unigram model without unk_id");
  if (!tree_count(t, id, m->vocab.n - 1, &unknown) ||
      !tree_flag(t, node, "byte_fallback", false, &u->byte_fallback))
    return false;
  m->unknown = (uint32_t)unknown;
  model_bytes(m, u->bytes);
  return true;
}

void unigram_free(Unigram *u) {
  free(u->score);
  free(u->best);
  trie_free(&u->trie);
}
