/* A program as a language model: tokens in, logits of the next one out.
   Contract: the program has an entry that does not train, takes integers [1, t] and the number of
   tokens before them, and returns `logits` and `room`, how many tokens may still follow. */
#ifndef GCRT_CHAT_MODEL_H
#define GCRT_CHAT_MODEL_H
#include "runtime/embed.h"
#include "runtime/tokens/vocab.h"

typedef struct ChatModel {
  GcModel *model;
  int entry, tokens, at, logits_at, room_at; /* indices */
  uint32_t chunk;                            /* tokens of a run, at most */
  uint32_t size;                             /* of the logits */
  int64_t limit;                             /* of the tokens' numbers; 0: there is none */
  float *logits;
  void *in, *start, **outputs;
  const void **inputs;
  uint64_t read; /* tokens that the caches have */
  uint64_t room; /* that may follow; UINT64_MAX: not known yet */
} ChatModel;

typedef struct ChatPlace { /* where it runs */
  const char *device;      /* NULL: the best there is */
  int threads;
  const char *const *load; /* files and folders of weights; none: the program's own */
  int nload;
} ChatPlace;
bool chat_model_open(ChatModel *m, const ChatPlace *p, Err *e);
/* Reads tokens behind those that were read, in chunks; *full: not all had room. */
bool chat_model_read(ChatModel *m, const uint32_t *ids, uint64_t n, bool *full, Err *e);
/* What was read from there on is read anew. */
void chat_model_rewind(ChatModel *m, uint64_t to);
void chat_model_close(ChatModel *m);
#endif
