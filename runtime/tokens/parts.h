/* The parts that a tokenizer is made of, as the files of this folder share them. */
#ifndef GCRT_TOKENS_PARTS_H
#define GCRT_TOKENS_PARTS_H
#include "runtime/tokens/regex.h"
#include "runtime/tokens/tokenizer.h"
#include "runtime/tokens/tree.h"

/* ---- normalize.c: from text to text ---- */
typedef struct Normal Normal;
typedef bool NormalRun(const Normal *n, Slice s, Text *out, Err *e);
struct Normal {
  NormalRun *run;
  Regex *regex; /* of a replacement */
  Slice text;   /* what is put in */
  bool left, right;
};
bool normal_run(const Normal *n, int count, Slice s, Text work[2], Slice *out, Err *e);
/* The normalizers of a tokenizer.json, in order; they are added to *n. */
bool normal_read(const Tree *t, const TreeNode *node, Normal **n, int *count);
void normal_free(Normal *n, int count);

/* ---- split.c: from text to words ---- */
typedef enum Behavior { /* what becomes of a match */
                        SPLIT_REMOVED,
                        SPLIT_ISOLATED,
                        SPLIT_PREVIOUS,
                        SPLIT_NEXT,
                        SPLIT_CONTIGUOUS
} Behavior;
typedef enum StepKind { STEP_SPLIT, STEP_SPACE, STEP_BYTES, STEP_META } StepKind;
typedef struct Step {
  StepKind kind;
  Regex *regex;
  Behavior behavior;
  bool invert;
  Slice meta;         /* what stands for a space */
  bool always, first; /* it is put before every text, or before the first one */
  Text work;
} Step;
typedef bool WordTake(void *to, Slice word, Err *e);
/* first: the text begins where the whole text does. */
bool split_run(Step *steps, int n, Slice s, bool first, WordTake *take, void *to, Err *e);
bool split_read(const Tree *t, const TreeNode *node, Step **steps, int *n);
void split_free(Step *steps, int n);
bool bytes_encode(Text *to, Slice s); /* each byte becomes a character that can be seen */
int bytes_decode(uint32_t c);         /* -1: it stands for none */
/* The pattern of a Split or a Replace. */
Regex *pattern_read(const Tree *t, const TreeNode *node);

/* ---- bpe.c ---- */
typedef struct Model Model;
typedef struct Symbol Symbol;
typedef struct Bpe {
  Pairs merges;
  Pairs joins; /* adjacent symbols that some token has inside */
  bool cuts;   /* a word is cut where two symbols are not of `joins` */
  bool fuse_unknown, byte_fallback, ignore_merges;
  uint32_t bytes[256]; /* tokens "<0x00>"…, or NO_TOKEN */
  Symbol *symbols;
  uint64_t symbol_room;
  struct Candidate *heap;
  uint64_t heap_room;
} Bpe;
bool bpe_read(const Tree *t, const TreeNode *node, Model *m);
bool bpe_encode(Model *m, Slice word, Ids *out, Err *e);
void bpe_free(Bpe *b);

/* ---- unigram.c, wordpiece.c ---- */
typedef struct Unigram {
  double *score;
  Trie trie;
  double unknown_score;
  bool byte_fallback;
  uint32_t bytes[256];
  struct Best *best;
  uint64_t best_room;
} Unigram;
bool unigram_read(const Tree *t, const TreeNode *node, Model *m);
bool unigram_encode(Model *m, Slice word, Ids *out, Err *e);
void unigram_free(Unigram *u);

typedef struct WordPiece {
  Trie first, rest; /* tokens at the beginning of a word; behind it, without their prefix */
  uint64_t longest; /* characters of a word */
} WordPiece;
bool wordpiece_read(const Tree *t, const TreeNode *node, Model *m);
bool wordpiece_encode(Model *m, Slice word, Ids *out, Err *e);
void wordpiece_free(WordPiece *w);

typedef struct ModelKind {
  const char *name;
  bool (*read)(const Tree *t, const TreeNode *node, Model *m);
  bool (*encode)(Model *m, Slice word, Ids *out, Err *e);
} ModelKind;
struct Model {
  const ModelKind *kind;
  Vocab vocab;
  uint32_t unknown; /* NO_TOKEN: there is none */
  Slice unknown_text;
  Bpe bpe;
  Unigram unigram;
  WordPiece wordpiece;
  Cache cache;
};
bool model_vocab_read(const Tree *t, const TreeNode *node, Model *m); /* {"token": number} */
/* The tokens "<0x00>" to "<0xFF>". */
void model_bytes(const Model *m, uint32_t bytes[256]);
static inline bool has_bytes(const uint32_t bytes[256], Slice s) {
  for (uint64_t i = 0; i < s.n; i++)
    if (bytes[(unsigned char)s.s[i]] == NO_TOKEN) return false;
  return true;
}
bool model_read(const Tree *t, const TreeNode *node, Model *m);
bool model_encode(Model *m, Slice word, Ids *out, Err *e); /* by the cache */
void model_free(Model *m);

/* ---- added.c: tokens that are looked for before all else ---- */
typedef struct Added {
  Slice text; /* as it is decoded and, where it is normalized, looked for */
  uint32_t id;
  bool special, left, right, word, normalized;
} Added;
typedef struct AddedSet {
  Added *at;
  uint64_t n, room;
  Vocab names; /* of all of them, as written */
  Trie raw, normal;
  uint32_t *by_id; /* 1 + index in `at`; 0: it is none */
  uint64_t size;   /* of by_id */
  Text **text;     /* normalized forms */
  uint64_t ntext, text_room;
} AddedSet;
/* v: the model's tokens, whose numbers count. */
bool added_read(const Tree *t, const TreeNode *node, const Normal *n, int count, const Vocab *v,
                AddedSet *a);
const Added *added_by_id(const AddedSet *a, uint32_t id); /* NULL: it is none */
void added_free(AddedSet *a);
typedef bool PieceTake(void *to, Slice part, bool first, const Added *token, Err *e);
/* The parts of a text: between tokens (token = NULL), and tokens. */
bool added_split(const AddedSet *a, const Trie *t, Slice s, bool first, PieceTake *take, void *to,
                 Err *e);

/* ---- decode.c ---- */
typedef struct Decoder Decoder;
typedef struct Texts { /* the strings of tokens, on their way to a text */
  Text *at;
  uint64_t n, room;
} Texts;
typedef bool DecoderRun(const Decoder *d, Texts *t, Err *e); /* false without an error: no memory */
struct Decoder {
  DecoderRun *run;
  Regex *regex;
  Slice text;
  uint64_t start, stop;
  bool flag;
};
bool decoder_read(const Tree *t, const TreeNode *node, Decoder **d, int *n);
void decoder_free(Decoder *d, int n);

struct Tokenizer {
  Tree tree; /* its buffer has the strings */
  Normal *normals;
  int nnormals;
  Step *steps;
  int nsteps;
  Model model;
  AddedSet added;
  Decoder *decoders;
  int ndecoders;
  Ids before, behind; /* tokens around a text */
  Text work[2];
  Texts texts;
};

static inline bool no_memory(Err *e) {
  return err_set(e, EXIT_ENV, "no memory for the tokens of a text");
}
#endif
