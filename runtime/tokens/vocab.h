/* Tokens and their numbers, prefixes of tokens, and the cache of words. Contract: strings belong to
   the caller and stay; what returns false had no memory. */
#ifndef GCRT_VOCAB_H
#define GCRT_VOCAB_H
#include "runtime/tokens/text.h"

enum { TOKENS = 1 << 24 }; /* numbers of tokens are below */
#define NO_TOKEN UINT32_MAX

typedef struct Ids {
  uint32_t *at;
  uint64_t n, room;
} Ids;
bool ids_add(Ids *ids, uint32_t id);

typedef struct Vocab {
  Slice *token; /* by number; s = NULL: there is none */
  uint64_t n, room;
  uint32_t *slot; /* 1 + number; 0: it is free */
  uint64_t used, slots;
} Vocab;
/* A token that is there gets the new number, too, and is found by it. */
bool vocab_add(Vocab *v, Slice token, uint32_t id);
uint32_t vocab_find(const Vocab *v, Slice token); /* NO_TOKEN: there is none */
Slice vocab_token(const Vocab *v, uint32_t id);   /* s = NULL: there is none */
void vocab_free(Vocab *v);

typedef struct Pair { /* of numbers, and what it stands for */
  uint64_t key;       /* left << 32 | right */
  uint32_t rank, id;
} Pair;
typedef struct Pairs {
  Pair *slot; /* key UINT64_MAX: it is free */
  uint64_t used, slots;
} Pairs;
static inline uint64_t pair_key(uint32_t a, uint32_t b) { return (uint64_t)a << 32 | b; }
/* One that is there stays. */
bool pairs_add(Pairs *p, Pair x);
const Pair *pairs_find(const Pairs *p, uint64_t key);
void pairs_free(Pairs *p);

/* A trie of bytes: the edges are pairs of a node and a byte. */
typedef struct Trie {
  Pairs edges;   /* their id: the node below */
  uint32_t *end; /* of a node: the value that ends there, or NO_TOKEN */
  uint64_t n, room;
} Trie;
bool trie_add(Trie *t, Slice s, uint32_t value); /* the last value of a string counts */
/* The node below, 0: there is none. The root is 0, too. */
static inline uint32_t trie_step(const Trie *t, uint32_t node, unsigned char byte) {
  const Pair *p = pairs_find(&t->edges, pair_key(node, byte));
  return p ? p->id : 0;
}
void trie_free(Trie *t);

/* Words and the tokens that they were. */
typedef struct Cache {
  Vocab words; /* copies in `text` */
  Ids begin;   /* by number of the word: in `ids`; one more is the end */
  Ids ids;
  Text **text;
  uint64_t ntext, text_room;
} Cache;
bool cache_find(const Cache *c, Slice word, const uint32_t **ids, uint64_t *n);
bool cache_add(Cache *c, Slice word, const uint32_t *ids, uint64_t n);
void cache_free(Cache *c);
#endif
