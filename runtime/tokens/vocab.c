/* Hash tables with linear probing, at most half full. Contract: see vocab.h. Source of the hash:
   FNV-1a, finished as in MurmurHash3. */
#include "runtime/tokens/vocab.h"
#include <stdlib.h>

static uint64_t mix(uint64_t h) {
  h = (h ^ h >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
  h = (h ^ h >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
  return h ^ h >> 33;
}

static uint64_t hash(Slice s) {
  uint64_t h = UINT64_C(0xCBF29CE484222325);
  for (uint64_t i = 0; i < s.n; i++) h = (h ^ (unsigned char)s.s[i]) * UINT64_C(0x100000001B3);
  return mix(h);
}

bool ids_add(Ids *ids, uint32_t id) {
  if (!grow(&ids->at, &ids->room, ids->n + 1, sizeof *ids->at)) return false;
  ids->at[ids->n++] = id;
  return true;
}

/* ---- tokens ---- */

/* The slot of a token, or the free one where it belongs. */
static uint64_t place(const Vocab *v, Slice token) {
  uint64_t i = hash(token) & (v->slots - 1);
  while (v->slot[i] && !slice_is(v->token[v->slot[i] - 1], token)) i = (i + 1) & (v->slots - 1);
  return i;
}

static bool more_slots(Vocab *v) {
  Vocab old = *v;
  uint64_t slots = old.slots ? 2 * old.slots : 64;
  uint32_t *slot = calloc(slots, sizeof *slot);
  if (!slot) return false;
  v->slot = slot, v->slots = slots;
  for (uint64_t i = 0; i < old.slots; i++)
    if (old.slot[i]) v->slot[place(v, v->token[old.slot[i] - 1])] = old.slot[i];
  free(old.slot);
  return true;
}

bool vocab_add(Vocab *v, Slice token, uint32_t id) {
  if (2 * (v->used + 1) > v->slots && !more_slots(v)) return false;
  if (!grow(&v->token, &v->room, (uint64_t)id + 1, sizeof *v->token)) return false;
  while (v->n <= id) v->token[v->n++] = (Slice){0};
  uint64_t at = place(v, token);
  v->used += !v->slot[at];
  v->slot[at] = id + 1;
  v->token[id] = token;
  return true;
}

uint32_t vocab_find(const Vocab *v, Slice token) {
  return v->slots ? v->slot[place(v, token)] - 1 : NO_TOKEN;
}

Slice vocab_token(const Vocab *v, uint32_t id) { return id < v->n ? v->token[id] : (Slice){0}; }

void vocab_free(Vocab *v) {
  free(v->token);
  free(v->slot);
  *v = (Vocab){0};
}

/* ---- pairs ---- */

static uint64_t pair_place(const Pairs *p, uint64_t key) {
  uint64_t i = mix(key) & (p->slots - 1);
  while (p->slot[i].key != UINT64_MAX && p->slot[i].key != key) i = (i + 1) & (p->slots - 1);
  return i;
}

bool pairs_add(Pairs *p, Pair x) {
  if (2 * (p->used + 1) > p->slots) {
    Pairs old = *p;
    p->slots = old.slots ? 2 * old.slots : 64;
    p->slot = malloc(p->slots * sizeof *p->slot);
    if (!p->slot) return *p = old, false;
    for (uint64_t i = 0; i < p->slots; i++) p->slot[i].key = UINT64_MAX;
    for (uint64_t i = 0; i < old.slots; i++)
      if (old.slot[i].key != UINT64_MAX) p->slot[pair_place(p, old.slot[i].key)] = old.slot[i];
    free(old.slot);
  }
  uint64_t at = pair_place(p, x.key);
  if (p->slot[at].key == x.key) return true;
  p->slot[at] = x;
  p->used++;
  return true;
}

const Pair *pairs_find(const Pairs *p, uint64_t key) {
  if (!p->slots) return NULL;
  const Pair *x = &p->slot[pair_place(p, key)];
  return x->key == key ? x : NULL;
}

void pairs_free(Pairs *p) {
  free(p->slot);
  *p = (Pairs){0};
}

/* ---- tries ---- */

static bool node_add(Trie *t) {
  if (t->n >= UINT32_MAX || !grow(&t->end, &t->room, t->n + 1, sizeof *t->end)) return false;
  t->end[t->n++] = NO_TOKEN;
  return true;
}

bool trie_add(Trie *t, Slice s, uint32_t value) {
  uint32_t node = 0;
  if (!t->n && !node_add(t)) return false;
  for (uint64_t i = 0; i < s.n; i++) {
    uint32_t next = trie_step(t, node, (unsigned char)s.s[i]);
    if (!next) {
      next = (uint32_t)t->n;
      if (!node_add(t) ||
          !pairs_add(&t->edges, (Pair){.key = pair_key(node, (unsigned char)s.s[i]), .id = next}))
        return false;
    }
    node = next;
  }
  t->end[node] = value;
  return true;
}

void trie_free(Trie *t) {
  pairs_free(&t->edges);
  free(t->end);
  *t = (Trie){0};
}

/* ---- words ---- */

enum { WORDS = 1 << 17, WORD_BYTES = 128, CHUNK = 1 << 16 }; /* of the cache, at most */

bool cache_find(const Cache *c, Slice word, const uint32_t **ids, uint64_t *n) {
  uint32_t i = word.n > WORD_BYTES ? NO_TOKEN : vocab_find(&c->words, word);
  if (i == NO_TOKEN) return false;
  *ids = c->ids.at + c->begin.at[i];
  *n = c->begin.at[i + 1] - c->begin.at[i];
  return true;
}

/* Text in chunks, which do not move. */
static char *keep(Cache *c, Slice word) {
  Text *last = c->ntext ? c->text[c->ntext - 1] : NULL;
  if (!last || last->n + word.n > CHUNK) {
    Text *t = calloc(1, sizeof *t);
    if (!t || !grow(&t->s, &t->room, CHUNK, 1) ||
        !grow(&c->text, &c->text_room, c->ntext + 1, sizeof *c->text)) {
      if (t) text_free(t);
      free(t);
      return NULL;
    }
    last = c->text[c->ntext++] = t;
  }
  char *to = last->s + last->n;
  return text_add(last, word.s, word.n) ? to : NULL;
}

bool cache_add(Cache *c, Slice word, const uint32_t *ids, uint64_t n) {
  if (!word.n || word.n > WORD_BYTES) return true;
  if (c->words.n == WORDS) cache_free(c); /* what is frequent comes again soon */
  if (!c->begin.n && !ids_add(&c->begin, 0)) return false;
  char *copy = keep(c, word);
  if (!copy) return false;
  for (uint64_t i = 0; i < n; i++)
    if (!ids_add(&c->ids, ids[i])) return false;
  return ids_add(&c->begin, (uint32_t)c->ids.n) &&
         vocab_add(&c->words, (Slice){copy, word.n}, (uint32_t)c->words.n);
}

void cache_free(Cache *c) {
  for (uint64_t i = 0; i < c->ntext; i++) {
    text_free(c->text[i]);
    free(c->text[i]);
  }
  free(c->text);
  free(c->begin.at);
  free(c->ids.at);
  vocab_free(&c->words);
  *c = (Cache){0};
}
