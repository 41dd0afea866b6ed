/* Tokens that are looked for in a text before anything else is done with it, or once it has been
   normalized: the longest at the leftmost place. Contract: see parts.h. Source: the package
   tokenizers. */
#include "runtime/tokens/parts.h"
#include <stdlib.h>

/* ---- search ---- */

static bool is_word_char(uint32_t c) {
  return UNICODE_WORD >> unicode_category(c) & 1 || c == 0x200C || c == 0x200D;
}

static bool touches_word(Slice s, uint64_t begin, uint64_t end) {
  uint64_t before = begin ? utf8_before(s, begin) : 0;
  return (begin && is_word_char(utf8_next(s, &before))) ||
         (end < s.n && is_word_char(utf8_next(s, &end)));
}

/* The longest token at `at`; NULL: there is none. */
static const Added *token_at(const AddedSet *a, const Trie *t, Slice s, uint64_t at,
                             uint64_t *end) {
  const Added *found = NULL;
  uint32_t node = 0;
  for (uint64_t i = at; i < s.n; i++) {
    node = trie_step(t, node, (unsigned char)s.s[i]);
    if (!node) break;
    if (t->end[node] != NO_TOKEN) found = &a->at[t->end[node]], *end = i + 1;
  }
  return found;
}

bool added_split(const AddedSet *a, const Trie *t, Slice s, bool first, PieceTake *take, void *to,
                 Err *e) {
  uint64_t done = 0, end = 0;
  for (uint64_t at = 0; t->n && at < s.n;) {
    const Added *x = token_at(a, t, s, at, &end);
    if (!x) {
      at++;
      continue;
    }
    uint64_t begin = at;
    at = end; /* a match that is not taken is passed over, too */
    if (x->word && touches_word(s, begin, end)) continue;
    while (x->left && begin > done) {
      uint64_t before = utf8_before(s, begin), next = before;
      if (!unicode_is_space(utf8_next(s, &next))) break;
      begin = before;
    }
    for (uint64_t next = end; x->right && next < s.n && unicode_is_space(utf8_next(s, &next));)
      end = next;
    if (begin < done) begin = done;
    if (done < begin && !take(to, slice_part(s, done, begin), first && done == 0, NULL, e))
      return false;
    if (!take(to, (Slice){s.s + begin, 0}, false, x, e)) return false;
    if (end > done) done = end;
  }
  return done >= s.n || take(to, slice_part(s, done, s.n), first && done == 0, NULL, e);
}

const Added *added_by_id(const AddedSet *a, uint32_t id) {
  return id < a->size && a->by_id[id] ? &a->at[a->by_id[id] - 1] : NULL;
}

/* ---- reading ---- */

static bool read_one(const Tree *t, const TreeNode *node, Added *x) {
  uint64_t id;
  if (!tree_text(t, node, "content", &x->text) ||
      !tree_count(t, tree_get(t, node, "id"), TOKENS - 1, &id) ||
      !tree_flag(t, node, "special", false, &x->special) ||
      !tree_flag(t, node, "normalized", !x->special, &x->normalized) ||
      !tree_flag(t, node, "lstrip", false, &x->left) ||
      !tree_flag(t, node, "rstrip", false, &x->right) ||
      !tree_flag(t, node, "single_word", false, &x->word))
    return false;
  x->id = (uint32_t)id;
  return true;
}

/* Its normalized form, which the set keeps. */
static bool normalize(AddedSet *a, const Normal *n, int count, Added *x, Err *e) {
  Text work[2] = {0}, *copy = NULL;
  Slice s = {0};
  bool ok = normal_run(n, count, x->text, work, &s, e);
  if (ok) {
    copy = calloc(1, sizeof *copy);
    ok = (copy && text_add(copy, s.s, s.n) &&
          grow(&a->text, &a->text_room, a->ntext + 1, sizeof *a->text)) ||
         no_memory(e);
  }
  text_free(&work[0]);
  text_free(&work[1]);
  if (!ok) {
    if (copy) text_free(copy);
    free(copy);
    return false;
  }
  a->text[a->ntext++] = copy;
  x->text = text_slice(copy);
  return true;
}

static bool keep(AddedSet *a, Added x, Err *e) {
  uint64_t size = a->size;
  if (!grow(&a->by_id, &size, (uint64_t)x.id + 1, sizeof *a->by_id)) return no_memory(e);
  while (a->size < size) a->by_id[a->size++] = 0;
  a->at[a->n] = x;
  a->by_id[x.id] = (uint32_t)a->n + 1;
  return (!x.text.n || trie_add(x.normalized ? &a->normal : &a->raw, x.text, (uint32_t)a->n)) ||
         no_memory(e);
}

bool added_read(const Tree *t, const TreeNode *node, const Normal *n, int count, const Vocab *v,
                AddedSet *a) {
  for (const TreeNode *x = tree_child(t, node); x; x = tree_next(t, x)) {
    Added one = {0};
    if (!read_one(t, x, &one)) return false;
    if (!one.text.n) continue;
    uint32_t known = vocab_find(v, one.text);
    if (known != NO_TOKEN) one.id = known; /* the model's number counts */
    if (!grow(&a->at, &a->room, a->n + 1, sizeof one) || !vocab_add(&a->names, one.text, one.id))
      return no_memory(t->e);
    if (one.normalized && count && !normalize(a, n, count, &one, t->e)) return false;
    if (!keep(a, one, t->e)) return false;
    a->n++;
  }
  return true;
}

void added_free(AddedSet *a) {
  for (uint64_t i = 0; i < a->ntext; i++) {
    text_free(a->text[i]);
    free(a->text[i]);
  }
  free(a->text);
  free(a->at);
  free(a->by_id);
  vocab_free(&a->names);
  trie_free(&a->raw);
  trie_free(&a->normal);
}
