/* Byte pair encoding: the characters of a word are symbols; of all adjacent pairs that may merge,
   the one of the lowest rank does, the leftmost first, until none may. Candidates wait in a heap;
   one whose symbols have changed since is passed over. A long word, such as a whole text, is cut
   where no merge can reach across: between two symbols that no token has side by side.
   Contract: see parts.h. Source: R. Sennrich, B. Haddow, A. Birch, Neural machine translation of
   rare words with subword units, 2016; ties and unknown characters as in the package tokenizers. */
#include "runtime/tokens/parts.h"
#include <stdlib.h>

struct Symbol {
  uint32_t id;
  uint32_t before, next; /* indices; UINT32_MAX: none */
  bool gone;
};
typedef struct Candidate {
  uint32_t rank, at; /* at: of the left symbol */
  uint32_t left, right;
} Candidate;
enum { END = UINT32_MAX, CUT_FROM = 32 /* symbols: shorter words are merged whole */ };

/* ---- the heap: the lowest rank on top, the leftmost of those ---- */

static bool is_before(const Candidate *a, const Candidate *b) {
  return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static bool heap_push(Bpe *b, uint64_t *n, Candidate c) {
  if (!grow(&b->heap, &b->heap_room, *n + 1, sizeof c)) return false;
  uint64_t i = (*n)++;
  for (; i && is_before(&c, &b->heap[(i - 1) / 2]); i = (i - 1) / 2)
    b->heap[i] = b->heap[(i - 1) / 2];
  b->heap[i] = c;
  return true;
}

static Candidate heap_pop(Bpe *b, uint64_t *n) {
  Candidate top = b->heap[0], last = b->heap[--*n];
  uint64_t i = 0;
  for (uint64_t k; (k = 2 * i + 1) < *n; i = k) {
    if (k + 1 < *n && is_before(&b->heap[k + 1], &b->heap[k])) k++;
    if (!is_before(&b->heap[k], &last)) break;
    b->heap[i] = b->heap[k];
  }
  b->heap[i] = last;
  return top;
}

/* ---- merging ---- */

static bool consider(Bpe *b, uint64_t *n, const Symbol *s, uint32_t left) {
  uint32_t right = left == END ? END : s[left].next;
  if (right == END) return true;
  const Pair *p = pairs_find(&b->merges, pair_key(s[left].id, s[right].id));
  return !p || heap_push(b, n, (Candidate){p->rank, left, s[left].id, s[right].id});
}

/* Symbols [0, count) are merged; what is left goes out. */
static bool merge(Bpe *b, Symbol *s, uint32_t count, Ids *out) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < count; i++) {
    s[i].before = i ? i - 1 : END, s[i].next = i + 1 < count ? i + 1 : END;
    s[i].gone = false;
  }
  for (uint32_t i = 0; i < count; i++)
    if (!consider(b, &n, s, i)) return false;
  while (n) {
    Candidate c = heap_pop(b, &n);
    uint32_t left = c.at, right = s[left].next;
    if (s[left].gone || right == END || s[left].id != c.left || s[right].id != c.right) continue;
    s[left].id = pairs_find(&b->merges, pair_key(c.left, c.right))->id;
    s[left].next = s[right].next;
    s[right].gone = true;
    if (s[left].next != END) s[s[left].next].before = left;
    if (!consider(b, &n, s, s[left].before) || !consider(b, &n, s, left)) return false;
  }
  for (uint32_t i = 0; count && i != END; i = s[i].next)
    if (!ids_add(out, s[i].id)) return false;
  return true;
}

/* ---- symbols ---- */

typedef struct Word {
  Model *m;
  uint64_t n;       /* symbols */
  uint64_t unknown; /* unknown characters that are not yet one */
} Word;

static bool symbol_add(Word *w, uint32_t id) {
  Bpe *b = &w->m->bpe;
  if (w->n >= END - 1 || !grow(&b->symbols, &b->symbol_room, w->n + 1, sizeof *b->symbols))
    return false;
  b->symbols[w->n++].id = id;
  return true;
}

static bool flush_unknown(Word *w) {
  bool any = w->unknown > 0;
  w->unknown = 0;
  return !any || symbol_add(w, w->m->unknown);
}

static bool character(Word *w, Slice c) {
  const Bpe *b = &w->m->bpe;
  uint32_t id = vocab_find(&w->m->vocab, c);
  if (id != NO_TOKEN) return flush_unknown(w) && symbol_add(w, id);
  if (b->byte_fallback && has_bytes(b->bytes, c)) {
    for (uint64_t i = 0; i < c.n; i++) /* before what is unknown, as in tokenizers */
      if (!symbol_add(w, b->bytes[(unsigned char)c.s[i]])) return false;
    return true;
  }
  if (w->m->unknown == NO_TOKEN) return true;
  if (!b->fuse_unknown && !flush_unknown(w)) return false;
  w->unknown++;
  return true;
}

/* Where symbols from `from` on are cut. */
static uint64_t cut(const Bpe *b, uint64_t from, uint64_t n) {
  uint64_t i = from + 1;
  while (i < n && pairs_find(&b->joins, pair_key(b->symbols[i - 1].id, b->symbols[i].id))) i++;
  return i;
}

bool bpe_encode(Model *m, Slice word, Ids *out, Err *e) {
  Bpe *b = &m->bpe;
  Word w = {.m = m};
  uint32_t whole = b->ignore_merges ? vocab_find(&m->vocab, word) : NO_TOKEN;
  if (whole != NO_TOKEN) return ids_add(out, whole) || no_memory(e);
  for (uint64_t at = 0, begin = 0; at < word.n; begin = at) {
    utf8_next(word, &at);
    if (!character(&w, slice_part(word, begin, at))) return no_memory(e);
  }
  if (!flush_unknown(&w)) return no_memory(e);
  for (uint64_t at = 0, end; at < w.n; at = end) {
    end = b->cuts && w.n > CUT_FROM ? cut(b, at, w.n) : w.n;
    if (!merge(b, b->symbols + at, (uint32_t)(end - at), out)) return no_memory(e);
  }
  return true;
}

/* ---- reading ---- */

/* The first and the last symbol of every token that merges make. */
typedef struct Edges {
  uint32_t *first, *last; /* NO_TOKEN: not known */
} Edges;

/* Sets an edge; false: it is another one already. */
static bool agree(uint32_t *edge, uint32_t symbol, bool *new) {
  if (*edge == symbol) return true;
  if (*edge != NO_TOKEN) return false;
  *edge = symbol;
  return *new = true;
}

/* A token that no merge makes is a symbol; one that merges make differently, or that is a symbol,
   too, has no known edges, and words are not cut. */
static bool find_joins(const Tree *t, Model *m) {
  Bpe *b = &m->bpe;
  Edges x = {malloc((m->vocab.n + 1) * sizeof(uint32_t)),
             malloc((m->vocab.n + 1) * sizeof(uint32_t))};
  bool ok = x.first && x.last, new = ok;
  for (uint64_t i = 0; ok && i < m->vocab.n; i++) x.first[i] = x.last[i] = (uint32_t)i;
  for (uint64_t i = 0; ok && i < b->merges.slots; i++)
    if (b->merges.slot[i].key != UINT64_MAX)
      x.first[b->merges.slot[i].id] = x.last[b->merges.slot[i].id] = NO_TOKEN;
  b->cuts = ok;
  for (int i = 0; b->cuts && i < 256 && b->byte_fallback; i++)
    b->cuts = b->bytes[i] == NO_TOKEN || x.first[b->bytes[i]] == b->bytes[i];
  if (b->cuts && m->unknown != NO_TOKEN) b->cuts = x.first[m->unknown] == m->unknown;
  while (new && b->cuts) { /* merges of merges: as many rounds as their order needs */
    new = false;
    for (uint64_t i = 0; b->cuts && i < b->merges.slots; i++) {
      const Pair *p = &b->merges.slot[i];
      if (p->key == UINT64_MAX) continue;
      uint32_t left = (uint32_t)(p->key >> 32), right = (uint32_t)p->key;
      if (x.first[left] == NO_TOKEN || x.last[right] == NO_TOKEN) continue;
      Slice token = vocab_token(&m->vocab, p->id);
      uint64_t one = 0;
      utf8_next(token, &one);
      b->cuts = one < token.n && agree(&x.first[p->id], x.first[left], &new) &&
                agree(&x.last[p->id], x.last[right], &new);
    }
  }
  for (uint64_t i = 0; ok && b->cuts && i < b->merges.slots; i++) {
    const Pair *p = &b->merges.slot[i];
    if (p->key == UINT64_MAX) continue;
    uint32_t left = x.last[p->key >> 32], right = x.first[(uint32_t)p->key];
    if (left == NO_TOKEN || right == NO_TOKEN)
      b->cuts = false;
    else
      ok = pairs_add(&b->joins, (Pair){.key = pair_key(left, right)});
  }
  free(x.first);
  free(x.last);
  return ok || err_set(t->e, EXIT_ENV, "%s: no memory for the merges", t->path);
}

/* "a b", or ["a", "b"]. */
static bool merge_parts(const Tree *t, const TreeNode *n, Slice *a, Slice *b) {
  if (n->kind == TREE_LIST) {
    const TreeNode *x = tree_child(t, n), *y = x ? tree_next(t, x) : NULL;
    if (!y || tree_next(t, y) || x->kind != TREE_STRING || y->kind != TREE_STRING)
      return tree_fail(t, n, "a merge is no pair of tokens");
    return *a = x->text, *b = y->text, true;
  }
  const char *space = n->kind == TREE_STRING ? memchr(n->text.s, ' ', n->text.n) : NULL;
  if (!space) return tree_fail(t, n, "a merge is no pair of tokens");
  uint64_t at = (uint64_t)(space - n->text.s);
  *a = slice_part(n->text, 0, at), *b = slice_part(n->text, at + 1, n->text.n);
  return true;
}

static bool read_merges(const Tree *t, const TreeNode *list, Model *m) {
  Text both = {0};
  uint32_t rank = 0;
  bool ok = true;
  for (const TreeNode *n = tree_child(t, list); ok && n; n = tree_next(t, n), rank++) {
    Slice a, b;
    if (!merge_parts(t, n, &a, &b)) break;
    both.n = 0;
    ok = text_add(&both, a.s, a.n) && text_add(&both, b.s, b.n);
    if (!ok) break;
    uint32_t left = vocab_find(&m->vocab, a), right = vocab_find(&m->vocab, b),
             id = vocab_find(&m->vocab, text_slice(&both));
    if (left == NO_TOKEN || right == NO_TOKEN || id == NO_TOKEN || !a.n || !b.n) {
      tree_fail(t, n, "a merge of tokens that the vocabulary does not have");
      break;
    }
    const Pair p = {pair_key(left, right), rank, id};
    Pair *old = (Pair *)pairs_find(&m->bpe.merges, p.key);
    if (old)
      old->rank = rank; /* the last one counts */
    else
      ok = pairs_add(&m->bpe.merges, p);
  }
  text_free(&both);
  if (!ok) err_set(t->e, EXIT_ENV, "%s: no memory for the merges", t->path);
  return !t->e->code;
}

static bool refuse(const Tree *t, const TreeNode *node, const char *key) {
  Slice text;
  return tree_text(t, node, key, &text) &&
         (!text.n || tree_fail(t, node, "%s is not known here", key));
}

bool bpe_read(const Tree *t, const TreeNode *node, Model *m) {
  Bpe *b = &m->bpe;
  const TreeNode *merges = tree_get(t, node, "merges"), *dropout = tree_get(t, node, "dropout");
  if (!model_vocab_read(t, tree_get(t, node, "vocab"), m) ||
      !refuse(t, node, "continuing_subword_prefix") || !refuse(t, node, "end_of_word_suffix") ||
      !tree_flag(t, node, "fuse_unk", false, &b->fuse_unknown) ||
      !tree_flag(t, node, "byte_fallback", false, &b->byte_fallback) ||
      !tree_flag(t, node, "ignore_merges", false, &b->ignore_merges) ||
      !tree_text(t, node, "unk_token", &m->unknown_text))
    return false;
  if (tree_has(dropout) && dropout->number != 0)
    return tree_fail(t, dropout, "dropout of merges is not known here");
  if (m->unknown_text.n) {
    m->unknown = vocab_find(&m->vocab, m->unknown_text);
    if (m->unknown == NO_TOKEN) return tree_fail(t, node, "unk_token is not in the vocabulary");
  }
  if (merges->kind != TREE_LIST) return tree_fail(t, node, "the model has no list of merges");
  model_bytes(m, b->bytes);
  return read_merges(t, merges, m) && find_joins(t, m);
}

void bpe_free(Bpe *b) {
  pairs_free(&b->merges);
  pairs_free(&b->joins);
  free(b->symbols);
  free(b->heap);
}
