/* Rows that were decoded once and are kept for the next epoch: the first ones in memory, those
   behind them in a temporary file. */
#ifndef GCRT_DECODED_H
#define GCRT_DECODED_H
#include "runtime/data/temporary.h"

typedef struct Decoded {
  uint64_t row;            /* bytes of one */
  uint64_t kept, filed;    /* rows in memory, and behind them in the file */
  uint8_t *memory;         /* NULL: none is kept there, yet */
  int fd;                  /* -1: there is no file */
  _Atomic(uint8_t) *state; /* of each row; see decoded.c */
} Decoded;

/* A file for the rows [kept, kept + rows): for the first ones of them. The disk's blocks are
   reserved. Without room `filed` is 0, and the folder says why. False, with an error: see
   temporary_open. */
bool decoded_file(Decoded *d, TemporaryFolder *folder, uint64_t rows, Err *e);
/* Both from any thread. False: the row is not there; whoever asks decodes it. */
bool decoded_get(const Decoded *d, uint64_t r, uint8_t *to);
void decoded_put(const Decoded *d, uint64_t r, const uint8_t *from);
void decoded_free(Decoded *d);
#endif
